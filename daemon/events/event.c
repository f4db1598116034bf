// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/event.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pesa/csr.h"
#include "pesa/record.h"

#define DEFAULT_FREQUENCY 4000u	    /* samples per second */
#define FIXED_CONFIG	  (1u << 8) /* the term `fixed` of the PMU pesa: no jitter */
#define AUTORUN_CONFIG	  (1u << 9) /* the term `autorun` of the PMU pesa: no jitter either */
#define JITTER_SHIFT	  3	    /* jitter is +- one eighth of the period */

/* The call stack of the program, as stock perf asks for it: without what makes no call. */
#define CALL_STACK_BRANCHES                                                                       \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES | \
	 PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX)
/* Most entries of a branch stack: those of the largest sctrdepth. */
#define BRANCHES_MAX ((size_t)PESA_CTR_DEPTH_MOST)

/* The registers for unwinding: all that the kernel saves of a program. */
#if defined(__riscv)
#define USER_REGISTERS ((UINT64_C(1) << PERF_REG_RISCV_MAX) - 1)
#elif defined(__x86_64__)
#define USER_REGISTERS                                                       \
	(((UINT64_C(1) << PERF_REG_X86_64_MAX) - 1) &                        \
	 ~(UINT64_C(1) << PERF_REG_X86_DS | UINT64_C(1) << PERF_REG_X86_ES | \
	   UINT64_C(1) << PERF_REG_X86_FS | UINT64_C(1) << PERF_REG_X86_GS))
#elif defined(__aarch64__)
#define USER_REGISTERS ((UINT64_C(1) << (PERF_REG_ARM64_PC + 1)) - 1)
#else
#define USER_REGISTERS 0
#endif

long pesa_kernel_setting(const char *name, long otherwise)
{
	char path[128], line[32];
	long value = otherwise;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	stream = fopen(path, "re");
	if (!stream)
		return otherwise;
	if (fgets(line, sizeof(line), stream)) {
		char *end;
		long number = strtol(line, &end, 10);

		if (end != line)
			value = number;
	}
	fclose(stream);
	return value;
}

/* ---- Periods ------------------------------------------------------------------------------- */

void pesa_event_periods(const struct pesa_event_name *event, uint64_t *least, uint64_t *most)
{
	const struct pesa_capabilities *capabilities = &event->pmu.capabilities;
	/* range + 1 would be written as 0, which stops the counter. */
	uint64_t range = (UINT64_C(1) << capabilities->counter_bits) - 1;
	bool fixed = event->attr.config & (FIXED_CONFIG | AUTORUN_CONFIG);

	*least = capabilities->minimum_period;
	/* The longest period that fits into the counter with its jitter. */
	*most = fixed ? range : range * 8 / 9;
	while (!fixed && *most + 1 + ((*most + 1) >> JITTER_SHIFT) <= range)
		++*most;
}

/* A period, raised to the least that the PMU can do. */
static uint64_t possible_period(const struct pesa_event_name *event, uint64_t period)
{
	uint64_t least, most;

	if (!event->pmu.has_capabilities)
		return period;
	pesa_event_periods(event, &least, &most);
	return period < least ? least : period;
}

static struct pesa_error *check_period(const struct pesa_event_name *event, uint64_t period)
{
	uint64_t least, most;

	if (!event->pmu.has_capabilities)
		return NULL;
	pesa_event_periods(event, &least, &most);
	if (period >= least && period <= most)
		return NULL;
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "a period of %" PRIu64
				 " cycles is outside of what the PMU %s can do: %" PRIu64
				 " to %" PRIu64,
				 period, event->pmu.name, least, most);
}

/* As many samples a second as the kernel and the PMU allow. */
static uint64_t highest_frequency(const struct pesa_event_name *event)
{
	long most = pesa_kernel_setting("perf_event_max_sample_rate", DEFAULT_FREQUENCY);
	uint64_t frequency = most > 0 ? (uint64_t)most : DEFAULT_FREQUENCY;
	uint64_t least_period, most_period, cycles = event->pmu.capabilities.frequency;

	if (!event->pmu.has_capabilities || !cycles)
		return frequency;
	pesa_event_periods(event, &least_period, &most_period);
	return cycles / frequency < least_period ? cycles / least_period : frequency;
}

static struct pesa_error *check_frequency(const struct pesa_event_name *event, uint64_t frequency)
{
	long most = pesa_kernel_setting("perf_event_max_sample_rate", LONG_MAX);
	uint64_t least_period, most_period, cycles = event->pmu.capabilities.frequency;

	if (most > 0 && frequency > (uint64_t)most)
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%" PRIu64 " samples a second are more than the kernel allows, %ld: raise "
			"/proc/sys/kernel/perf_event_max_sample_rate (as root), or give a period with -c",
			frequency, most);
	if (!event->pmu.has_capabilities || !cycles)
		return NULL;
	pesa_event_periods(event, &least_period, &most_period);
	if (cycles / frequency >= least_period && cycles / frequency <= most_period)
		return NULL;
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "%" PRIu64
				 " samples a second are outside of what the PMU %s can do at "
				 "%" PRIu64 " cycles a second: %" PRIu64 " to %" PRIu64,
				 frequency, event->pmu.name, cycles, cycles / (most_period + 1) + 1,
				 cycles / least_period);
}

/*
 * No rate was given: about 4000 samples per second, of equal weight if the clock frequency is
 * known.
 */
static void default_rate(const struct pesa_event_name *event, uint64_t *period, uint64_t *frequency)
{
	long most = pesa_kernel_setting("perf_event_max_sample_rate", DEFAULT_FREQUENCY);
	uint64_t rate =
		most > 0 && most < (long)DEFAULT_FREQUENCY ? (uint64_t)most : DEFAULT_FREQUENCY;
	uint64_t cycles = event->pmu.has_capabilities ? event->pmu.capabilities.frequency : 0;
	uint64_t least, most_period;

	*frequency = rate;
	if (event->period) {
		*period = event->period;
		*frequency = 0;
		return;
	}
	if (!cycles)
		return;
	pesa_event_periods(event, &least, &most_period);
	*period = cycles / rate;
	if (*period < least)
		*period = least;
	if (*period > most_period)
		*period = most_period;
	*frequency = 0;
}

/* ---- Attributes ---------------------------------------------------------------------------- */

static void set_common(struct perf_event_attr *attr, const struct pesa_sampling *sampling)
{
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->disabled = 1;
	attr->inherit = sampling->inherit;
	attr->enable_on_exec = sampling->enable_on_exec;
	if (!sampling->tracking)
		return;
	attr->mmap = 1;
	attr->mmap2 = 1;
	/*
	 * Do not set build_id: kernels such as 6.12 then set its flag in the map records of all
	 * readers, which find a build id where there is none; stock perf 6.1 crashes.  See
	 * pesa_sideband_complete().
	 */
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->ksymbol = 1;
	attr->bpf_event = 1;
	attr->cgroup = sampling->cgroups;
	/* Unwind tables are in maps that are not executable. */
	attr->mmap_data = sampling->callchain == PESA_CALLCHAIN_DWARF;
}

bool pesa_event_is_autorun(const struct pesa_event_name *event)
{
	return event->pmu.has_capabilities && event->attr.config & AUTORUN_CONFIG;
}

/* The PMU says whether its harts can, which is a better message than the kernel's refusal. */
static struct pesa_error *check_call_stacks(const struct pesa_event_name *event,
					    const struct pesa_sampling *sampling)
{
	if (sampling->callchain != PESA_CALLCHAIN_HARDWARE || !event->pmu.has_capabilities ||
	    event->pmu.capabilities.call_stacks)
		return NULL;
	return pesa_error_create(
		PESA_ERROR_UNSUPPORTED,
		"event %s: the harts keep no call stacks (%s); use -g fp or -g dwarf", event->name,
		event->pmu.capabilities.ctr_depth ? "their control transfer records lack RASEMU"
						  : "they lack control transfer records");
}

/* Refuse options that only samples taken by the kernel support. */
static struct pesa_error *check_autorun(const struct pesa_event_name *event,
					const struct pesa_sampling *sampling, uint64_t frequency)
{
	const char *what = NULL;

	if (frequency)
		what = "a frequency: give a period with -c";
	else if (sampling->callchain != PESA_CALLCHAIN_NONE)
		what = "call chains (-g)";
	else if (sampling->backward)
		what = "snapshots";
	else if (sampling->cgroups)
		what = "control groups";
	if (!what || !pesa_event_is_autorun(event))
		return NULL;
	return pesa_error_create(PESA_ERROR_ARGUMENT, "event %s: AutoRun cannot have %s",
				 event->name, what);
}

struct pesa_error *pesa_event_attribute(struct pesa_event_name *event,
					const struct pesa_sampling *sampling)
{
	uint64_t period = sampling->period, frequency = sampling->frequency;
	struct perf_event_attr *attr = &event->attr;
	struct pesa_error *error;

	if (!period && !frequency)
		default_rate(event, &period, &frequency);
	else if (frequency == PESA_FREQUENCY_MAX)
		frequency = highest_frequency(event);
	else if (!frequency)
		period = possible_period(event, period);
	error = check_autorun(event, sampling, frequency);
	if (!error)
		error = check_call_stacks(event, sampling);
	if (!error)
		error = frequency ? check_frequency(event, frequency) : check_period(event, period);
	if (error)
		return error;
	set_common(attr, sampling);
	if (!event->has_precision)
		attr->precise_ip = event->max_precise;
	/* SWITCH records give AutoRun samples of a CPU their task. */
	attr->context_switch = pesa_event_is_autorun(event) && sampling->system_wide;
	attr->write_backward = sampling->backward;
	attr->freq = frequency != 0;
	if (frequency)
		attr->sample_freq = frequency;
	else
		attr->sample_period = period;
	/* The PMU varies the intervals, so each sample needs its period. */
	if (frequency || event->pmu.has_capabilities)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (event->pmu.has_capabilities)
		attr->sample_type |= PERF_SAMPLE_RAW;
	if (sampling->callchain != PESA_CALLCHAIN_NONE)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (sampling->callchain == PESA_CALLCHAIN_HARDWARE) {
		attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = CALL_STACK_BRANCHES;
	}
	if (sampling->cgroups)
		attr->sample_type |= PERF_SAMPLE_CGROUP;
	if (sampling->callchain != PESA_CALLCHAIN_DWARF)
		return NULL;
	if (!USER_REGISTERS)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "call chains by DWARF are not supported on this "
					 "architecture; use -g fp");
	attr->exclude_callchain_user = 1;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = USER_REGISTERS;
	attr->sample_stack_user = sampling->stack_dump;
	return NULL;
}

void pesa_event_tracking(struct pesa_event_name *event, const struct pesa_sampling *sampling)
{
	*event = (struct pesa_event_name){
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .config = PERF_COUNT_SW_DUMMY,
			 .exclude_guest = 1},
		.has_modes = true,
		.name = "dummy:u",
	};
	set_common(&event->attr, sampling);
	event->attr.sample_period = 1;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
}

int pesa_event_open_in(struct perf_event_attr *attr, pid_t task, int cpu, int leader)
{
	return (int)syscall(SYS_perf_event_open, attr, task, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

int pesa_event_open(struct perf_event_attr *attr, pid_t task, int cpu)
{
	return pesa_event_open_in(attr, task, cpu, -1);
}

static bool without_kernel(struct pesa_event_name *event)
{
	size_t length = strlen(event->name);
	const char *slash = strrchr(event->name, '/'), *colon = strrchr(event->name, ':');

	if (event->has_modes || event->attr.exclude_kernel || length + 3 > sizeof(event->name))
		return false;
	event->attr.exclude_kernel = 1;
	event->attr.exclude_hv = 1;
	event->user_only = true;
	/* Append a modifier: after a slash, after existing modifiers, or after a colon. */
	strcat(event->name, slash || (colon && event->has_precision) ? "u" : ":u");
	return true;
}

bool pesa_event_relax(struct pesa_event_name *event, pid_t task, int refusal)
{
	struct perf_event_attr *attr = &event->attr;

	if (refusal == EACCES || refusal == EPERM)
		return task >= 0 && without_kernel(event);
	if (refusal != EINVAL && refusal != EOPNOTSUPP)
		return false;
	if (attr->precise_ip && !event->has_precision) {
		attr->precise_ip--;
		return true;
	}
	if (refusal == EINVAL && attr->exclude_guest && !event->has_guest) {
		attr->exclude_guest = 0;
		return true;
	}
	return false;
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static struct pesa_error *no_privilege(const struct pesa_event_name *event, pid_t task)
{
	long paranoid = pesa_kernel_setting("perf_event_paranoid", 2);
	const char *what = "recording";
	long needed = 2;

	if (task < 0) {
		what = "recording whole CPUs";
		needed = 0;
	} else if (!event->attr.exclude_kernel) {
		what = "sampling the kernel";
		needed = 1;
	}
	if (paranoid > needed)
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"%s needs CAP_PERFMON, or /proc/sys/kernel/perf_event_paranoid at %ld or "
			"less: it is %ld; run as root, 'setcap cap_perfmon+ep' on pesa, or 'sysctl "
			"kernel.perf_event_paranoid=%ld'%s",
			what, needed, paranoid, needed,
			needed == 1 ? "; or add the modifier u to the event" : "");
	if (task > 0)
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"process %d may not be observed: it belongs to another user, or runs with "
			"more privileges; run as root or with CAP_PERFMON",
			(int)task);
	return pesa_error_create(
		PESA_ERROR_SYSTEM,
		"the kernel does not permit recording (%s): a security module or a container's "
		"seccomp filter forbids perf_event_open; allow it there, or run as root outside of the container",
		event->name);
}

static struct pesa_error *no_call_stacks(const struct pesa_event_name *event)
{
	return pesa_error_create(
		PESA_ERROR_SYSTEM,
		"event %s: the kernel has no call stacks of the hardware (-g lbr) for "
		"it; use -g fp or -g dwarf",
		event->name);
}

static struct pesa_error *bad_argument(const struct pesa_event_name *event)
{
	uint64_t least, most;

	if (!event->pmu.has_capabilities)
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"the kernel refuses event %s: its terms, period or rate "
			"are nothing that it knows, or the kernel is older than Linux 6.0",
			event->name);
	pesa_event_periods(event, &least, &most);
	return pesa_error_create(PESA_ERROR_SYSTEM,
				 "the PMU %s refuses event %s: periods are %" PRIu64 " to %" PRIu64
				 " cycles, and %s/format shows the terms that there are",
				 event->pmu.name, event->name, least, most, event->pmu.directory);
}

struct pesa_error *pesa_event_refusal(const struct pesa_event_name *event, pid_t task, int cpu,
				      int refusal)
{
	struct rlimit files = {0};

	switch (refusal) {
	case EACCES:
	case EPERM:
		return no_privilege(event, task);
	case EINVAL:
		return event->attr.branch_sample_type ? no_call_stacks(event) : bad_argument(event);
	case ENOENT:
		return pesa_error_create(
			PESA_ERROR_SYSTEM, "nothing on this machine counts event %s%s", event->name,
			event->attr.type == PERF_TYPE_HARDWARE
				? ": it has no hardware counters; -e cpu-clock samples by a timer, as "
				  "does what is taken without -e"
				: "");
	case ENODEV:
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "CPU %d is offline, or the driver of event %s has gone: "
					 "choose other CPUs with -C, or load the driver again",
					 cpu, event->name);
	case ESRCH:
		return pesa_error_create(PESA_ERROR_SYSTEM, "there is no process or thread %d",
					 (int)task);
	case EBUSY:
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"the counter of event %s is in use: a hart has one; end the other recording first",
			event->name);
	case EOPNOTSUPP:
		if (event->attr.branch_sample_type)
			return no_call_stacks(event);
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"event %s cannot be sampled here: its PMU has no interrupt, or does not "
			"give what was asked for; without -e the best source that works is taken",
			event->name);
	case EMFILE:
	case ENFILE:
		getrlimit(RLIMIT_NOFILE, &files);
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"too many open files (the limit is %llu): every thread needs one on every "
			"CPU; raise it ('ulimit -n'), choose CPUs with -C, or record with -a",
			(unsigned long long)files.rlim_cur);
	case ENOSYS:
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "this kernel has no perf events: it needs "
					 "CONFIG_PERF_EVENTS");
	case E2BIG:
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "this kernel is too old for event %s: Linux 6.0 is needed",
					 event->name);
	default:
		return pesa_error_system(refusal, "cannot open event %s", event->name);
	}
}

struct pesa_error *pesa_ring_refusal(size_t bytes, int refusal)
{
	long limit = pesa_kernel_setting("perf_event_mlock_kb", 516);

	if (refusal != EPERM && refusal != ENOMEM && refusal != EAGAIN)
		return pesa_error_system(refusal, "cannot map a ring of %zu KiB", bytes / 1024);
	if (refusal == ENOMEM)
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "no memory for a ring of %zu KiB on every CPU: use a "
					 "smaller one with -m",
					 bytes / 1024);
	return pesa_error_create(
		PESA_ERROR_SYSTEM,
		"rings of %zu KiB are more than may be locked: "
		"/proc/sys/kernel/perf_event_mlock_kb is %ld (for each CPU and user, 4 KiB of each "
		"ring included); use fewer pages with -m, raise it or 'ulimit -l', or run with CAP_IPC_LOCK",
		bytes / 1024, limit);
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* Fields of 8 bytes, which come before those of variable size. */
#define FIXED_FIELDS                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |  \
	 PERF_SAMPLE_PERIOD)

size_t pesa_event_sample_bytes(const struct perf_event_attr *attr)
{
	const size_t word = sizeof(uint64_t);
	size_t bytes = sizeof(struct perf_event_header) +
		       word * (size_t)__builtin_popcountll(attr->sample_type & FIXED_FIELDS);

	/* The count, the addresses, and the context markers. */
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		bytes += word *
			 (1 + (size_t)pesa_kernel_setting("perf_event_max_stack", 127) +
			  (size_t)pesa_kernel_setting("perf_event_max_contexts_per_stack", 8));
	if (attr->sample_type & PERF_SAMPLE_RAW)
		bytes += word + sizeof(struct pesa_record);
	/* The count, the index, and the entries. */
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		bytes += 2 * word + BRANCHES_MAX * sizeof(struct perf_branch_entry);
	if (attr->sample_type & PERF_SAMPLE_REGS_USER)
		bytes += word * (1 + (size_t)__builtin_popcountll(attr->sample_regs_user));
	if (attr->sample_type & PERF_SAMPLE_CGROUP)
		bytes += word;
	/* The size before and after the dump. */
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		bytes += 2 * word + attr->sample_stack_user;
	return bytes;
}

const uint8_t *pesa_sample_raw(uint64_t sample_type, const uint8_t *record, size_t size,
			       uint32_t *raw_size)
{
	size_t at = sizeof(struct perf_event_header) +
		    8 * (size_t)__builtin_popcountll(sample_type & FIXED_FIELDS);
	uint64_t callers;
	uint32_t raw;

	if (!(sample_type & PERF_SAMPLE_RAW) || sample_type & PERF_SAMPLE_READ || at > size)
		return NULL;
	if (sample_type & PERF_SAMPLE_CALLCHAIN) {
		if (size - at < sizeof(callers))
			return NULL;
		memcpy(&callers, record + at, sizeof(callers));
		at += sizeof(callers);
		if (callers > (size - at) / sizeof(uint64_t))
			return NULL;
		at += callers * sizeof(uint64_t);
	}
	if (size - at < sizeof(raw))
		return NULL;
	memcpy(&raw, record + at, sizeof(raw));
	at += sizeof(raw);
	if (raw > size - at)
		return NULL;
	*raw_size = raw;
	return record + at;
}
