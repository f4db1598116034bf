// SPDX-License-Identifier: GPL-2.0-or-later
/* Recording on the virtual core: the recorder's end of the channel.  See record.h. */
#include "daemon/vcore/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoder/binary/program.h"

#define POLL_MS	    10
#define GRACE_MS    2000u      /* time for a program to end after a signal */
#define ROUND_BYTES (4u << 20) /* maximum bytes of messages between two FINISHED_ROUNDs */
/* maximum number of polls between two FINISHED_ROUNDs: half a second */
#define ROUND_TURNS 50u
/* A number that no kernel PMU has; names come from the event description. */
#define ATTRIBUTE_TYPE 0x70657361u

/* ---- Processes ----------------------------------------------------------------------------- */

/* A process is gone: write the totals of harts that did not end, and the golden reference. */
static struct pesa_error *finish_region(struct recorder *recorder, uint32_t index)
{
	struct watched *watched = &recorder->watched[index];
	struct vcore_region *region = watched->region;
	struct pesa_vcore_summary *summary = recorder->summary;
	struct pesa_error *error = NULL, *failed;
	uint64_t time, lost;
	off_t offset = (off_t)(VCORE_CONTROL_SIZE + (uint64_t)index * VCORE_REGION_SIZE);

	/* Each call takes at least one message. */
	while ((failed = recorder_drain(recorder, watched)))
		error = recorder_first_error(error, failed);
	time = watched->newest;
	for (uint32_t i = 0; i < VCORE_HARTS; i++) {
		const struct vcore_hart_slot *slot = &region->hart[i];

		if (atomic_load(&slot->state) != VCORE_HART_RUNS)
			continue;
		error = recorder_first_error(error,
					     recorder_end_hart(recorder, watched->pid, slot->tid,
							       &slot->totals, &slot->counters));
		if (slot->time > time)
			time = slot->time;
	}
	time = recorder_clamp(recorder, time);
	error = recorder_first_error(
		error, recorder_take_exact(recorder, watched, UINT32_MAX, 0, UINT64_MAX, time));
	lost = atomic_load(&region->lost);
	error = recorder_first_error(error, recorder_write_lost(recorder, lost, time));
	summary->golden_lost += atomic_load(&region->golden_full);
	summary->undecoded += atomic_load(&region->undecoded);
	summary->unmodelled += atomic_load(&region->unmodelled);
	summary->forced_turns += atomic_load(&region->forced_turns);
	summary->unwatched += atomic_load(&region->unwatched);
	summary->cut_traces += atomic_load(&region->cut_traces);
	summary->processes++;
	munmap(region, VCORE_REGION_SIZE);
	watched->region = NULL;
	if (watched->pidfd >= 0)
		close(watched->pidfd);
	/* Free the memory; if that fails, it is freed when the recorder exits. */
	if (fallocate(recorder->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
		      (off_t)VCORE_REGION_SIZE))
		errno = 0;
	return error;
}

static struct pesa_error *watch_new(struct recorder *recorder, uint32_t count)
{
	while (recorder->count < count) {
		uint32_t index = recorder->count;
		off_t offset = (off_t)(VCORE_CONTROL_SIZE + (uint64_t)index * VCORE_REGION_SIZE);
		struct watched *watched;
		struct vcore_region *region =
			mmap(NULL, VCORE_REGION_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_NORESERVE, recorder->memory, offset);

		if (region == MAP_FAILED)
			return pesa_error_system(errno, "cannot map a process's shared memory");
		if (atomic_load(&region->state) == VCORE_REGION_FREE) {
			/* The region is being set up. */
			munmap(region, VCORE_REGION_SIZE);
			return NULL;
		}
		watched = realloc(recorder->watched, (index + 1) * sizeof(*watched));
		if (!watched) {
			munmap(region, VCORE_REGION_SIZE);
			return pesa_error_no_memory();
		}
		recorder->watched = watched;
		watched[index].region = region;
		watched[index].newest = 0;
		watched[index].pid = region->pid;
		watched[index].pidfd = (int)syscall(SYS_pidfd_open, (pid_t)region->pid, 0);
		recorder->count++;
	}
	return NULL;
}

static bool process_gone(const struct recorder *recorder, uint32_t index)
{
	const struct watched *watched = &recorder->watched[index];
	struct pollfd poll_one = {.fd = watched->pidfd, .events = POLLIN};

	/* The same process took another region, for another program. */
	for (uint32_t i = index + 1; i < recorder->count; i++)
		if (recorder->watched[i].pid == watched->pid)
			return true;
	/* Without a pidfd (old kernel, or the process was already gone) use its pid. */
	if (watched->pidfd < 0 ? kill((pid_t)watched->pid, 0) && errno == ESRCH
			       : poll(&poll_one, 1, 0) > 0)
		return true;
	return atomic_load(&watched->region->state) == VCORE_REGION_ENDED;
}

static struct pesa_error *end_round(struct recorder *recorder)
{
	struct pesa_error *error = NULL;

	if (recorder->round_bytes < ROUND_BYTES &&
	    (!recorder->round_bytes || recorder->round_turns < ROUND_TURNS))
		return NULL;
	/*
	 * The times of concurrent processes are not synchronised.  Rounds would shift the times of
	 * the one that is behind, which depends on the host, so readers sort at the end.
	 */
	if (atomic_load(&recorder->control->forked))
		return NULL;
	recorder->round_bytes = 0;
	recorder->round_turns = 0;
	recorder->floor = recorder->round_newest;
	recorder->round_newest = recorder->newest;
	for (unsigned int i = 0; !error && i < recorder->streams; i++)
		error = pesa_perfdata_write_round(recorder->stream[i].writer);
	return error;
}

/* Poll all regions once. */
static struct pesa_error *turn(struct recorder *recorder)
{
	/*
	 * Read this before the rings: messages from before a fork are then taken before the
	 * child's.
	 */
	uint32_t count = atomic_load(&recorder->control->regions);
	struct pesa_error *error = watch_new(recorder, count);

	recorder->round_turns++;
	for (uint32_t i = 0; !error && i < recorder->count; i++) {
		if (!recorder->watched[i].region)
			continue;
		/* Check this before the ring, which is then complete. */
		if (process_gone(recorder, i))
			error = finish_region(recorder, i);
		else
			error = recorder_drain(recorder, &recorder->watched[i]);
		if (!error)
			error = end_round(recorder);
	}
	return error;
}

/* ---- The program --------------------------------------------------------------------------- */

static void run_emulator(const struct recorder *recorder, const sigset_t *mask)
{
	const struct pesa_vcore_options *options = recorder->options;
	char plugin[PATH_MAX + 128];
	size_t words = 0, count = 0;
	const char **argv;

	while (options->program[words])
		words++;
	argv = calloc(words + 10, sizeof(*argv));
	if (!argv)
		_exit(125);
	snprintf(plugin, sizeof(plugin), "%s,channel=%s", options->plugin,
		 recorder->control->channel);
	argv[count++] = options->emulator;
	argv[count++] = "-plugin";
	argv[count++] = plugin;
	if (options->cpu) {
		argv[count++] = "-cpu";
		argv[count++] = options->cpu;
	}
	if (options->sysroot) {
		argv[count++] = "-L";
		argv[count++] = options->sysroot;
	}
	memcpy(argv + count, options->program, words * sizeof(*argv));
	/* As perf does: the program's output must not mix with the stream of samples. */
	if ((options->output && pesa_perfdata_is_standard_output(options->output)) ||
	    (options->golden && pesa_perfdata_is_standard_output(options->golden)))
		dup2(STDERR_FILENO, STDOUT_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(options->emulator, (char *const *)argv);
	fprintf(stderr, "pesa record: cannot start %s: %s\n", options->emulator, strerror(errno));
	_exit(127);
}

/* Written by the signal handler. */
static volatile sig_atomic_t terminated;

static void on_terminate(int number)
{
	terminated = number;
}

/*
 * The terminal sends SIGINT and SIGQUIT to the program too; another process may have sent it to the
 * recorder only.
 */
static void on_interrupt(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0)
		terminated = number;
}

/* End a program that cannot be recorded any further, if necessary by SIGKILL. */
static void stop_child(struct recorder *recorder)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	int *status = &recorder->summary->status;

	kill(recorder->child, SIGTERM);
	for (unsigned int waited = 0; waited < GRACE_MS; waited += POLL_MS) {
		if (waitpid(recorder->child, status, WNOHANG) == recorder->child)
			return;
		nanosleep(&pause, NULL);
	}
	kill(recorder->child, SIGKILL);
	waitpid(recorder->child, status, 0);
}

/* Report the sums of the harts that have ended and of those that run. */
static void report_progress(const struct recorder *recorder)
{
	const struct pesa_vcore_options *options = recorder->options;
	const struct pesa_vcore_summary *ended = recorder->summary;
	struct pesa_vcore_progress sums = {.instructions = ended->instructions,
					   .cycles = ended->cycles,
					   .samples = ended->samples};

	if (!options->progress)
		return;
	for (uint32_t i = 0; i < recorder->count; i++) {
		const struct vcore_region *region = recorder->watched[i].region;

		for (uint32_t hart = 0; region && hart < VCORE_HARTS; hart++) {
			const struct vcore_hart_slot *slot = &region->hart[hart];

			if (atomic_load(&slot->state) != VCORE_HART_RUNS)
				continue;
			sums.instructions += slot->totals.instructions;
			sums.cycles += slot->totals.cycles;
			sums.samples += slot->totals.samples;
		}
	}
	options->progress(options->progress_context, &sums);
}

static struct pesa_error *run(struct recorder *recorder)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, term = {.sa_handler = on_terminate};
	struct sigaction interrupt = {.sa_sigaction = on_interrupt, .sa_flags = SA_SIGINFO};
	struct sigaction old_int, old_quit, old_term, old_pipe, old_hup;
	struct pesa_error *error = NULL;
	sigset_t block, mask;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGQUIT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &mask);
	terminated = 0;
	recorder->child = fork();
	if (recorder->child < 0) {
		error = pesa_error_system(errno, "cannot start a process");
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return error;
	}
	if (!recorder->child)
		run_emulator(recorder, &mask);
	/*
	 * The program's end ends the recording.  Signals that are ignored, as in a background job
	 * of a script, stay ignored.
	 */
	sigaction(SIGINT, NULL, &old_int);
	if (old_int.sa_handler != SIG_IGN)
		sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, NULL, &old_quit);
	if (old_quit.sa_handler != SIG_IGN)
		sigaction(SIGQUIT, &interrupt, NULL);
	sigaction(SIGTERM, &term, &old_term);
	sigaction(SIGHUP, NULL, &old_hup);
	if (old_hup.sa_handler != SIG_IGN) /* nohup */
		sigaction(SIGHUP, &term, NULL);
	sigaction(SIGPIPE, &ignore, &old_pipe);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while (!error && !recorder->child_gone) {
		int status;

		nanosleep(&pause, NULL);
		if (terminated) {
			kill(recorder->child, terminated);
			terminated = 0;
		}
		/* Wait before the regions are polled, so that the last poll sees everything. */
		if (waitpid(recorder->child, &status, WNOHANG) == recorder->child) {
			recorder->child_gone = true;
			recorder->summary->status = status;
		}
		error = turn(recorder);
		report_progress(recorder);
	}
	/*
	 * Nothing may wait for the recorder any more: neither the program nor processes that it
	 * left.
	 */
	atomic_store(&recorder->control->recorder_pid, 0);
	if (error && !recorder->child_gone)
		stop_child(recorder);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGQUIT, &old_quit, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	sigaction(SIGHUP, &old_hup, NULL);
	sigaction(SIGPIPE, &old_pipe, NULL);
	return error;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* Describe an event of the file: a sampler, or VCORE_SAMPLER_COUNT for the exact profile. */
static struct pesa_perfdata_writer_attribute describe(const struct pesa_vcore_options *options,
						      unsigned int sampler)
{
	static const char *const names[] = {
#define SAMPLER(id, name, event, summary) event,
		VCORE_SAMPLERS(SAMPLER)
#undef SAMPLER
			"pesa/exact/",
	};
	const bool golden = sampler == VCORE_SAMPLER_COUNT;
	struct pesa_perfdata_writer_attribute attribute = {
		.name = names[sampler],
		.attr =
			{
				.type = ATTRIBUTE_TYPE,
				.config = sampler,
				.sample_period = golden ? 1 : options->period,
				.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					       PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
				.sample_id_all = 1,
				.exclude_kernel = 1,
				.exclude_hv = 1,
				.mmap = 1,
				.mmap2 = 1,
				.build_id = 1,
				.comm = 1,
				.comm_exec = 1,
				.task = 1,
				.enable_on_exec = 1,
			},
	};

	if (golden || sampler == VCORE_SAMPLER_SHPMS)
		attribute.attr.precise_ip = 3;
	if (golden || sampler == VCORE_SAMPLER_SHPMS || sampler == VCORE_SAMPLER_DISPATCH)
		attribute.attr.sample_type |= PERF_SAMPLE_RAW;
	if (sampler == VCORE_SAMPLER_SHPMS && options->call_chains) {
		attribute.attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		attribute.attr.exclude_callchain_kernel = 1;
	}
	if (sampler == VCORE_SAMPLER_SHPMS && options->call_chains == VCORE_CALL_CHAINS_DWARF) {
		attribute.attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attribute.attr.exclude_callchain_user = 1;
		attribute.attr.sample_regs_user = UINT32_MAX;
		attribute.attr.sample_stack_user = options->stack_dump;
	}
	if (vcore_sampler_has_branches(sampler) && options->core->ctr_depth) {
		attribute.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attribute.attr.branch_sample_type =
			PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	}
	return attribute;
}

static struct pesa_error *open_stream(struct recorder *recorder, const char *path, bool golden)
{
	const struct pesa_vcore_options *options = recorder->options;
	struct stream *stream = &recorder->stream[recorder->streams];
	struct pesa_perfdata_writer_attribute attributes[VCORE_SAMPLER_COUNT];
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options writer = {
		.attributes = attributes,
		.compression = options->compression,
		.arch = "riscv64",
		.cpu_description = options->core->summary,
		.command = options->command,
		.capabilities = &capabilities,
		.cpus = RECORDER_CPUS,
		.keep_previous = true,
	};
	struct pesa_error *error;
	struct stat there;

	stream->path = path;
	stream->had_previous = !lstat(path, &there) && S_ISREG(there.st_mode) && there.st_size;
	pesa_core_capabilities(options->core, &capabilities);
	if (golden)
		attributes[writer.attribute_count++] = describe(options, VCORE_SAMPLER_COUNT);
	for (unsigned int i = 0; !golden && i < VCORE_SAMPLER_COUNT; i++) {
		if (!(options->samplers >> i & 1))
			continue;
		stream->attribute[i] = writer.attribute_count;
		attributes[writer.attribute_count++] = describe(options, i);
	}
	error = pesa_perfdata_writer_create(path, &writer, &stream->writer);
	if (error)
		return error;
	stream->golden = golden;
	recorder->streams++;
	return NULL;
}

/* Of a program that did not begin there is nothing: take the file away, and leave an earlier one as it was. */
static void take_back(const struct stream *stream)
{
	struct stat there;
	char *old;

	if (pesa_perfdata_is_standard_output(stream->path) || lstat(stream->path, &there) ||
	    !S_ISREG(there.st_mode))
		return;
	unlink(stream->path);
	if (!stream->had_previous || asprintf(&old, "%s.old", stream->path) < 0)
		return;
	rename(old, stream->path);
	free(old);
}

static struct pesa_error *open_channel(struct recorder *recorder)
{
	const struct pesa_vcore_options *options = recorder->options;
	uint64_t size = VCORE_CONTROL_SIZE + VCORE_REGION_MAX * VCORE_REGION_SIZE;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
	struct vcore_control *control;
	bool failed;
	int number;

	/*
	 * The file is sparse, but its size can exceed 'ulimit -f': return an error instead of
	 * dying.
	 */
	sigaction(SIGXFSZ, &ignore, &old);
	recorder->memory = memfd_create("pesa-vcore", MFD_CLOEXEC);
	failed = recorder->memory < 0 || ftruncate(recorder->memory, (off_t)size);
	number = errno;
	sigaction(SIGXFSZ, &old, NULL);
	if (failed)
		return pesa_error_system(number, "cannot make shared memory for the virtual core%s",
					 number == EFBIG ? " (see ulimit -f)" : "");
	control = mmap(NULL, VCORE_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       recorder->memory, 0);
	if (control == MAP_FAILED)
		return pesa_error_system(errno, "cannot map shared memory for the virtual core");
	recorder->control = control;
	atomic_store(&control->recorder_pid, (uint32_t)getpid());
	control->core = *options->core;
	snprintf(control->changes, sizeof(control->changes), "%s",
		 options->changes ? options->changes : "");
	control->ideal = options->ideal;
	control->period = options->period;
	control->jitter = options->jitter;
	control->seed = options->seed;
	control->sampled = options->sampled;
	control->samplers = options->samplers;
	control->skids = options->skids;
	control->skid_low = options->skid_low;
	control->skid_high = options->skid_high;
	control->call_chains = options->call_chains;
	control->stack_dump =
		options->stack_dump < VCORE_STACK_MAX ? options->stack_dump : VCORE_STACK_MAX;
	control->golden = options->golden != NULL;
	snprintf(control->trace, sizeof(control->trace), "%s",
		 options->trace ? options->trace : "");
	control->trace_first = options->trace_first;
	control->trace_last = options->trace_last;
	snprintf(control->emulator, sizeof(control->emulator), "%s", options->emulator);
	snprintf(control->plugin, sizeof(control->plugin), "%s", options->plugin);
	snprintf(control->channel, sizeof(control->channel), "/proc/%d/fd/%d", (int)getpid(),
		 recorder->memory);
	snprintf(control->sysroot, sizeof(control->sysroot), "%s",
		 options->sysroot ? options->sysroot : "");
	snprintf(control->cpu, sizeof(control->cpu), "%s", options->cpu ? options->cpu : "");
	control->magic = VCORE_MAGIC;
	return NULL;
}

/* Processes that still run when the program has ended continue without being recorded. */
static struct pesa_error *finish_all(struct recorder *recorder)
{
	struct pesa_error *first = NULL;

	for (uint32_t i = 0; i < recorder->count; i++) {
		if (!recorder->watched[i].region)
			continue;
		first = recorder_first_error(first, finish_region(recorder, i));
	}
	recorder->summary->refused = atomic_load(&recorder->control->refused);
	return first;
}

/* Write the totals of all harts. */
static struct pesa_error *write_counts(struct stream *stream,
				       const struct pesa_vcore_summary *summary)
{
	static const char *const names[] = {
#define EVENT(id, name, unit, description) name,
		VCORE_EVENTS(EVENT)
#undef EVENT
	};
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < VCORE_EVENT_COUNT && summary->harts; i++) {
		uint64_t sum = 0;

		for (uint32_t j = 0; j < summary->harts; j++)
			sum += summary->hart[j].counters.event[i];
		error = recorder_first_error(
			error, pesa_perfdata_write_count(stream->writer, names[i], sum));
	}
	return error;
}

struct pesa_error *pesa_vcore_record(const struct pesa_vcore_options *options,
				     struct pesa_vcore_summary *summary)
{
	struct recorder recorder = {.options = options, .summary = summary, .memory = -1};
	struct pesa_error *error;

	memset(summary, 0, sizeof(*summary));
	recorder.exact = malloc(sizeof(*recorder.exact));
	recorder.message = malloc(RECORDER_MESSAGE_MAX);
	error = recorder.exact && recorder.message ? NULL : pesa_error_no_memory();
	if (!error)
		error = open_channel(&recorder);
	if (!error && options->output)
		error = open_stream(&recorder, options->output, false);
	if (!error && options->golden)
		error = open_stream(&recorder, options->golden, true);
	if (!error)
		error = run(&recorder);
	if (recorder.control) {
		error = recorder_first_error(error, finish_all(&recorder));
		munmap(recorder.control, VCORE_CONTROL_SIZE);
	}
	for (unsigned int i = 0; i < recorder.streams; i++) {
		error = recorder_first_error(error, write_counts(&recorder.stream[i], summary));
		error = recorder_first_error(
			error, pesa_perfdata_writer_finish(recorder.stream[i].writer));
		if (!summary->harts)
			take_back(&recorder.stream[i]);
	}
	if (recorder.memory >= 0)
		close(recorder.memory);
	free(recorder.watched);
	free(recorder.exact);
	free(recorder.message);
	return error;
}

void pesa_vcore_summary_free(struct pesa_vcore_summary *summary)
{
	free(summary->hart);
	summary->hart = NULL;
	summary->harts = 0;
}
