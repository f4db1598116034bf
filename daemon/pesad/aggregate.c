// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the BPF program that counts samples, its maps and its events.  See aggregate.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/pesad/bpf/aggregate.h"
#include "daemon/pesad/aggregate.h"
#include "daemon/pesad/aggregate_pairs.h"

/* The compiled BPF program, embedded by the Makefile. */
extern const char pesa_aggregate_program[], pesa_aggregate_program_end[];
__asm__(".pushsection .rodata\n.balign 8\n"
	".hidden pesa_aggregate_program\n.hidden pesa_aggregate_program_end\n"
	".globl pesa_aggregate_program\n.globl pesa_aggregate_program_end\n"
	"pesa_aggregate_program:\n.incbin \"" PESA_BPF_DIRECTORY "/aggregate.bpf.o\"\n"
	"pesa_aggregate_program_end:\n.popsection\n");

#define TYPE_INFORMATION "/sys/kernel/btf/vmlinux"
#define NO_JIT		 524   /* the kernel's ENOTSUPP, which libc does not define */
#define REASON_SIZE	 65536 /* size of the buffer for the verifier's log */

/* The memory of a map that is shared with the BPF program. */
struct shared {
	void *memory;
	size_t size;
};

struct pesa_aggregate {
	struct bpf_object *object;
	int program;
	struct pesa_aggregate_settings settings;
	struct shared slots, cpus, bank;
	uint64_t dropped; /* samples */
	uint64_t pairs;	  /* used slots of the fullest bank at the last drain */
};

/* ---- Loading ------------------------------------------------------------------------------- */

/* Suppress libbpf's own messages on standard error. */
static int be_quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

/* The reason is on the last line but one of the verifier's log; the last line has statistics. */
static const char *reason_in(char *text)
{
	char *line = NULL, *saved = NULL;

	for (char *next = strtok_r(text, "\n", &saved); next; next = strtok_r(NULL, "\n", &saved))
		if (strncmp(next, "processed ", strlen("processed ")))
			line = next;
	return line ? line : "";
}

static struct pesa_error *refusal(int number, char *text)
{
	const char *reason = reason_in(text);

	if (number == EPERM || number == EACCES)
		return pesa_error_create(
			PESA_ERROR_SYSTEM,
			"samples cannot be counted in the kernel: no permission "
			"to load the BPF program (CAP_BPF and CAP_PERFMON are needed)%s%s",
			*reason ? ": " : "", reason);
	if (number == ENOSYS)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples cannot be counted in the kernel: it was built "
					 "without BPF (CONFIG_BPF_SYSCALL)");
	if (number == NO_JIT)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"samples cannot be counted in the kernel: its compiler "
			"for BPF is off; 'sysctl net.core.bpf_jit_enable=1' (CONFIG_BPF_JIT)");
	if (access(TYPE_INFORMATION, R_OK))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples cannot be counted in the kernel: it has no type "
					 "information, %s (CONFIG_DEBUG_INFO_BTF)",
					 TYPE_INFORMATION);
	return pesa_error_system(number,
				 "samples cannot be counted in the kernel: it refuses the BPF "
				 "program (Linux 6.3 is needed)%s%s",
				 *reason ? ": " : "", reason);
}

static struct bpf_map *map_of(struct pesa_aggregate *aggregate, const char *name)
{
	return bpf_object__find_map_by_name(aggregate->object, name);
}

/* Set the parameters on which the sizes of the maps depend. */
static int size_maps(struct pesa_aggregate *aggregate, const struct pesa_aggregate_filter *filter)
{
	const struct pesa_aggregate_settings *settings = &aggregate->settings;
	const struct {
		const char *name;
		size_t entries;
	} maps[] = {
		{"slots", 2 * (size_t)settings->cpus * settings->slots},
		{"cpus", settings->cpus},
		{"pids", filter->pid_count},
		{"uids", filter->uid_count},
		{"comms", filter->comm_count},
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		int error =
			bpf_map__set_max_entries(map_of(aggregate, maps[i].name),
						 maps[i].entries ? (uint32_t)maps[i].entries : 1);

		if (error)
			return -error;
	}
	return -bpf_map__set_initial_value(map_of(aggregate, ".rodata"), settings,
					   sizeof(*settings));
}

static struct pesa_error *load(struct pesa_aggregate *aggregate,
			       const struct pesa_aggregate_filter *filter)
{
	char *text = calloc(1, REASON_SIZE);
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "pesa_aggregate",
		    .kernel_log_buf = text, .kernel_log_size = REASON_SIZE);
	libbpf_print_fn_t before = libbpf_set_print(be_quiet);
	struct pesa_error *error = NULL;
	int number;

	if (!text)
		return pesa_error_no_memory();
	aggregate->object = bpf_object__open_mem(
		pesa_aggregate_program,
		(size_t)(pesa_aggregate_program_end - pesa_aggregate_program), &options);
	number = aggregate->object ? size_maps(aggregate, filter) : errno;
	if (!number)
		number = -bpf_object__load(aggregate->object);
	if (number)
		error = refusal(number, text);
	else
		aggregate->program = bpf_program__fd(
			bpf_object__find_program_by_name(aggregate->object, "pesa_aggregate"));
	libbpf_set_print(before);
	free(text);
	return error;
}

static struct pesa_error *share(struct pesa_aggregate *aggregate, const char *name,
				size_t entry_size, struct shared *shared)
{
	const struct bpf_map *map = map_of(aggregate, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = entry_size * bpf_map__max_entries(map);
	void *memory;

	size = (size + page - 1) / page * page;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return pesa_error_system(errno, "cannot map %zu KiB of counters of the kernel",
					 size / 1024);
	*shared = (struct shared){.memory = memory, .size = size};
	return NULL;
}

static void unshare(const struct shared *shared)
{
	if (shared->memory)
		munmap(shared->memory, shared->size);
}

/* ---- Filters ------------------------------------------------------------------------------- */

static int put_number(int map, uint32_t number)
{
	uint8_t present = 1;

	return bpf_map_update_elem(map, &number, &present, BPF_ANY) ? errno : 0;
}

static struct pesa_error *put_comm(int map, const char *comm)
{
	char key[PESA_AGGREGATE_COMM] = "";
	uint8_t present = 1;

	if (!*comm || strlen(comm) >= sizeof(key))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"'%s' cannot be the name of a thread: it has 1 to %zu bytes", comm,
			sizeof(key) - 1);
	memcpy(key, comm, strlen(comm));
	if (bpf_map_update_elem(map, key, &present, BPF_ANY))
		return pesa_error_system(errno, "cannot filter by the name '%s'", comm);
	return NULL;
}

static struct pesa_error *put_cgroup(int map, uint32_t index, const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), number = 0;

	if (directory < 0)
		return pesa_error_system(errno, "cannot open the control group %s", path);
	if (bpf_map_update_elem(map, &index, &directory, BPF_ANY))
		number = errno;
	close(directory);
	if (number == EBADF || number == EINVAL)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s is not a control group of version 2: it has to be a "
					 "directory of the file system cgroup2",
					 path);
	return number ? pesa_error_system(number, "cannot filter by the control group %s", path)
		      : NULL;
}

static struct pesa_error *fill_filters(struct pesa_aggregate *aggregate,
				       const struct pesa_aggregate_filter *filter)
{
	struct pesa_error *error = NULL;
	int number = 0;

	for (size_t i = 0; i < filter->pid_count && !number; i++)
		number = put_number(bpf_map__fd(map_of(aggregate, "pids")), filter->pids[i]);
	for (size_t i = 0; i < filter->uid_count && !number; i++)
		number = put_number(bpf_map__fd(map_of(aggregate, "uids")), filter->uids[i]);
	if (number)
		return pesa_error_system(number, "cannot filter by process or user");
	for (size_t i = 0; i < filter->comm_count && !error; i++)
		error = put_comm(bpf_map__fd(map_of(aggregate, "comms")), filter->comms[i]);
	for (uint32_t i = 0; i < filter->cgroup_count && !error; i++)
		error = put_cgroup(bpf_map__fd(map_of(aggregate, "cgroups")), i,
				   filter->cgroups[i]);
	return error;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

static struct pesa_error *choose_settings(const struct pesa_aggregate_options *options,
					  struct pesa_aggregate_settings *settings)
{
	size_t entries = options->entries ? options->entries : PESA_AGGREGATE_ENTRIES_DEFAULT;
	int cpus = libbpf_num_possible_cpus();

	if (cpus < 0)
		return pesa_error_system(-cpus, "cannot tell how many CPUs there can be");
	if (entries < PESA_AGGREGATE_ENTRIES_MIN || entries > PESA_AGGREGATE_ENTRIES_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%zu pairs a CPU cannot be counted: %u to %u can", entries,
					 PESA_AGGREGATE_ENTRIES_MIN, PESA_AGGREGATE_ENTRIES_MAX);
	if (options->filter.cgroup_count > PESA_AGGREGATE_CGROUPS)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a filter can name %u control groups, not %zu",
					 PESA_AGGREGATE_CGROUPS, options->filter.cgroup_count);
	*settings = (struct pesa_aggregate_settings){
		.slots = PESA_AGGREGATE_ENTRIES_MIN,
		.cpus = (uint32_t)cpus,
		.threads = options->threads,
		.cgroups = (uint32_t)options->filter.cgroup_count,
		.by_pid = options->filter.pid_count != 0,
		.by_uid = options->filter.uid_count != 0,
		.by_comm = options->filter.comm_count != 0,
	};
	while (settings->slots < entries)
		settings->slots *= 2;
	if (2 * (uint64_t)cpus * settings->slots > UINT32_MAX)
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%zu pairs for each of %d CPUs are more than a map can hold", entries,
			cpus);
	return NULL;
}

/* Wait until all program runs that began before have ended. */
static bool wait_for_programs(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static struct pesa_error *open_all(struct pesa_aggregate *aggregate,
				   const struct pesa_aggregate_options *options)
{
	struct pesa_error *error = choose_settings(options, &aggregate->settings);

	if (!error && !wait_for_programs())
		error = pesa_error_system(
			errno, "samples cannot be counted in the kernel: it offers no "
			       "membarrier (it runs with nohz_full, or was built without)");
	if (!error)
		error = load(aggregate, &options->filter);
	if (!error)
		error = fill_filters(aggregate, &options->filter);
	if (!error)
		error = share(aggregate, "slots", sizeof(struct pesa_aggregate_slot),
			      &aggregate->slots);
	if (!error)
		error = share(aggregate, "cpus", sizeof(struct pesa_aggregate_cpu),
			      &aggregate->cpus);
	if (!error)
		error = share(aggregate, ".bss", sizeof(uint32_t), &aggregate->bank);
	return error;
}

struct pesa_error *pesa_aggregate_open(const struct pesa_aggregate_options *options,
				       struct pesa_aggregate **aggregate)
{
	struct pesa_aggregate *opened = calloc(1, sizeof(*opened));
	struct pesa_error *error;

	if (!opened)
		return pesa_error_no_memory();
	error = open_all(opened, options);
	if (error)
		pesa_aggregate_close(opened);
	else
		*aggregate = opened;
	return error;
}

void pesa_aggregate_close(struct pesa_aggregate *aggregate)
{
	if (!aggregate)
		return;
	unshare(&aggregate->slots);
	unshare(&aggregate->cpus);
	unshare(&aggregate->bank);
	bpf_object__close(aggregate->object);
	free(aggregate);
}

/* ---- Events -------------------------------------------------------------------------------- */

const char *pesa_aggregate_obstacle(const struct perf_event_attr *attr)
{
	const uint64_t needed =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	const uint64_t not_counted = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |
				     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
				     PERF_SAMPLE_REGS_INTR;

	if (attr->sample_type & PERF_SAMPLE_CGROUP)
		return "records that are counted do not have their control groups";
	if (attr->sample_type & not_counted)
		return "samples with call chains, branch stacks or registers are not identical";
	if ((attr->sample_type & needed) != needed)
		return "its samples have no raw record, process, time or period";
	return NULL;
}

static struct pesa_aggregate_cpu *cpu_of(const struct pesa_aggregate *aggregate, uint32_t cpu)
{
	return (struct pesa_aggregate_cpu *)aggregate->cpus.memory + cpu;
}

struct pesa_error *pesa_aggregate_attach(struct pesa_aggregate *aggregate, int event,
					 unsigned int cpu, const struct perf_event_attr *attr)
{
	const char *obstacle = pesa_aggregate_obstacle(attr);
	struct pesa_aggregate_cpu *state;
	uint64_t values[8]; /* all that read_format can request; the count is first */
	__u64 unseen = PESA_AGGREGATE_UNSEEN;

	if (obstacle)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "samples cannot be counted in the kernel: %s", obstacle);
	if (cpu >= aggregate->settings.cpus)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "CPU %u is not one of the %u that there can be", cpu,
					 aggregate->settings.cpus);
	state = cpu_of(aggregate, cpu);
	state->seen = PESA_AGGREGATE_UNSEEN;
	state->period = attr->freq ? 0 : attr->sample_period;
	state->watched = !attr->exclude_user && !attr->exclude_kernel && !attr->exclude_idle;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, aggregate->program))
		return pesa_error_system(
			errno, "the BPF program cannot be attached to the event of CPU %u", cpu);
	if (read(event, values, sizeof(values)) < (ssize_t)sizeof(values[0]))
		return pesa_error_system(errno, "cannot read the event of CPU %u", cpu);
	/* Before the first sample the count is 0, and missed samples can be detected at once. */
	if (!values[0])
		__atomic_compare_exchange_n(&state->seen, &unseen, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return NULL;
}

/* ---- Draining ------------------------------------------------------------------------------ */

struct pesa_error *pesa_aggregate_drain(struct pesa_aggregate *aggregate,
					pesa_aggregated_function take, void *context)
{
	const struct pesa_aggregate_settings *settings = &aggregate->settings;
	struct pesa_aggregate_slot *slots = aggregate->slots.memory;
	uint32_t *turned = aggregate->bank.memory, bank = *turned & 1;
	struct pesa_error *error = NULL;

	__atomic_store_n(turned, !bank, __ATOMIC_RELEASE);
	if (!wait_for_programs()) {
		error = pesa_error_system(errno, "cannot wait for the BPF program");
		__atomic_store_n(turned, bank, __ATOMIC_RELEASE);
		return error;
	}
	aggregate->pairs = 0;
	for (uint32_t cpu = 0; cpu < settings->cpus; cpu++) {
		struct pesa_aggregate_cpu *state = cpu_of(aggregate, cpu);
		uint64_t pairs = state->used[bank];

		if (pairs > aggregate->pairs)
			aggregate->pairs = pairs;
		if (!pairs)
			continue;
		aggregate_take_bank(slots + ((size_t)cpu * 2 + bank) * settings->slots,
				    settings->slots, cpu, take, context, &error,
				    &aggregate->dropped);
		state->used[bank] = 0;
	}
	return error;
}

void pesa_aggregate_counts(const struct pesa_aggregate *aggregate,
			   struct pesa_aggregate_counts *counts)
{
	*counts = (struct pesa_aggregate_counts){
		.dropped = aggregate->dropped,
		.pairs = aggregate->pairs,
		.room = aggregate->settings.slots,
	};
	for (uint32_t cpu = 0; cpu < aggregate->settings.cpus; cpu++) {
		const volatile struct pesa_aggregate_cpu *state = cpu_of(aggregate, cpu);

		counts->counted += state->counted;
		counts->filtered += state->filtered;
		counts->overflowed += state->overflowed;
		counts->passed += state->passed;
		counts->missed += state->missed;
		counts->lost += state->lost;
	}
}
