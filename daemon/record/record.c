// SPDX-License-Identifier: GPL-2.0-or-later
/* Recording through the kernel: the main loop.  See record.h. */
#include "daemon/record/record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/record/session.h"

#define SECOND	UINT64_C(1000000000)
#define LOOK_MS 100	     /* longest time between two reads of the rings */
#define GRACE	(2 * SECOND) /* time for a program to end after a signal */

/* Indices in loop.polled. */
enum { POLLED_SIGNALS, POLLED_HOTPLUG, POLLED_DESCRIPTORS };

/* State of the main loop. */
struct loop {
	struct hardware *hardware;
	struct pollfd *polled; /* signals, hotplug messages, then the descriptors in order */
	size_t watched;	       /* number of descriptors in `polled` */
	size_t alive;	       /* descriptors whose task has not ended */
	bool child_ended;
	uint64_t deadline; /* ns; 0: none */
	bool ending;	   /* a signal arrived: the program has until the deadline */
	bool done;
	bool dump; /* a new file was requested */
};

/* ---- Signals ------------------------------------------------------------------------------- */

/* Choose the signals read from a descriptor, and those that are blocked. */
static void choose_signals(const struct pesa_hardware_options *options, sigset_t *taken,
			   sigset_t *blocked)
{
	pesa_workload_signals(taken);
	if (options->snapshot || options->switch_on_signal)
		sigaddset(taken, SIGUSR2);
	*blocked = *taken;
	/* A closed pipe is an error of write() instead. */
	sigaddset(blocked, SIGPIPE);
}

static void reap(struct loop *loop)
{
	pid_t child = loop->hardware->workload.process;

	if (!child || loop->child_ended ||
	    waitpid(child, &loop->hardware->summary->status, WNOHANG) != child)
		return;
	loop->child_ended = true;
	loop->done = true;
}

static void end_by_signal(struct loop *loop, const struct signalfd_siginfo *information)
{
	pid_t child = loop->hardware->workload.process;

	if (!child || loop->child_ended || loop->ending) {
		loop->done = true;
		return;
	}
	loop->ending = true;
	loop->deadline = pesa_monotonic() + GRACE;
	/* The terminal sends the signal to the program as well. */
	if (information->ssi_code <= 0)
		kill(child, (int)information->ssi_signo);
}

static void take_signals(struct loop *loop)
{
	struct signalfd_siginfo information;

	while (read(loop->polled[POLLED_SIGNALS].fd, &information, sizeof(information)) ==
	       sizeof(information)) {
		switch (information.ssi_signo) {
		case SIGCHLD:
			reap(loop);
			break;
		case SIGUSR2:
			loop->dump = true;
			break;
		default:
			end_by_signal(loop, &information);
			break;
		}
	}
}

/* Kill a program that is still running at the end, although it was asked to end. */
static void end_program(struct loop *loop)
{
	struct hardware *hardware = loop->hardware;
	pid_t child = hardware->workload.process;
	uint64_t until = pesa_monotonic() + GRACE;
	const struct timespec pause = {.tv_nsec = 10000000};

	if (!child || loop->child_ended)
		return;
	hardware->summary->unfinished = true;
	if (!loop->ending)
		kill(child, SIGTERM);
	else
		until = 0;
	while (pesa_monotonic() < until) {
		if (waitpid(child, &hardware->summary->status, WNOHANG) == child)
			return;
		nanosleep(&pause, NULL);
	}
	kill(child, SIGKILL);
	waitpid(child, &hardware->summary->status, 0);
}

/* ---- Rings and files ----------------------------------------------------------------------- */

/* Read the rings: the ordinary ones, or the overwritable ones. */
static struct pesa_error *drain(struct hardware *hardware, bool overwritable)
{
	struct pesa_error *error = NULL;
	bool any = false;

	for (size_t i = 0; i < hardware->ring_count && !error; i++) {
		struct hardware_ring *ring = &hardware->rings[i];

		if (ring->ring.overwritable != overwritable)
			continue;
		if (overwritable)
			ioctl(ring->owner, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
		error = hardware_take(hardware, ring, &any);
		if (overwritable)
			ioctl(ring->owner, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	}
	/*
	 * Records of overwritable rings are older than those already written: use one round for
	 * all.
	 */
	/* AutoRun records can be arbitrarily old as well. */
	if (!error && any && !hardware->options->snapshot && !hardware->autorun)
		error = pesa_perfdata_write_round(hardware->writer);
	return error;
}

static struct pesa_error *finish_file(struct hardware *hardware)
{
	struct pesa_error *error = drain(hardware, false), *failed;
	uint64_t lost = 0;

	if (!error && hardware->options->snapshot)
		error = drain(hardware, true);
	if (!error)
		error = hardware_write_lost(hardware, &lost);
	if (!error) {
		uint64_t shortest = hardware_cost_shortest(hardware);

		if (shortest > hardware->summary->shortest_period)
			hardware->summary->shortest_period = shortest;
	}
	hardware->summary->lost = lost > hardware->lost_records ? lost : hardware->lost_records;
	failed = hardware_output_finish(hardware);
	if (!error)
		return failed;
	pesa_error_free(failed);
	return error;
}

static bool wants_new_file(struct loop *loop, struct pesa_error **error)
{
	const struct pesa_hardware_options *options = loop->hardware->options;
	struct stat status;
	bool wanted = loop->dump;

	loop->dump = false;
	if (options->switch_time &&
	    pesa_monotonic() - loop->hardware->opened >= options->switch_time)
		wanted = true;
	if (!options->switch_bytes)
		return wanted;
	/* Count buffered bytes too. */
	*error = pesa_perfdata_writer_flush(loop->hardware->writer);
	return wanted || (!*error && !stat(options->output, &status) &&
			  (uint64_t)status.st_size >= options->switch_bytes);
}

static struct pesa_error *next_file(struct hardware *hardware)
{
	struct pesa_error *error = finish_file(hardware);

	if (!error)
		error = hardware_output_open(hardware);
	if (!error)
		error = hardware_sideband_kernel(hardware);
	return error ? error : hardware_sideband_tasks(hardware);
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void enable(struct hardware *hardware, unsigned long request)
{
	for (size_t i = 0; i < hardware->descriptor_count; i++)
		ioctl(hardware->descriptors[i].descriptor, request, 0);
}

/* Add new descriptors to the polled ones. */
static struct pesa_error *watch(struct loop *loop)
{
	size_t count = loop->hardware->descriptor_count;
	struct pollfd *grown;

	if (loop->polled && loop->watched == count)
		return NULL;
	grown = realloc(loop->polled, (POLLED_DESCRIPTORS + count) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	loop->polled = grown;
	for (; loop->watched < count; loop->watched++, loop->alive++)
		grown[POLLED_DESCRIPTORS + loop->watched] =
			(struct pollfd){.fd = loop->hardware->descriptors[loop->watched].descriptor,
					.events = POLLIN};
	return NULL;
}

/* The descriptors of ended tasks hang up when all children have ended too. */
static void check_tasks(struct loop *loop)
{
	for (size_t i = 0; i < loop->watched; i++) {
		struct pollfd *polled = &loop->polled[POLLED_DESCRIPTORS + i];

		if (polled->fd < 0 || !(polled->revents & (POLLHUP | POLLERR | POLLNVAL)))
			continue;
		polled->fd = -1;
		loop->alive--;
	}
	/* With a program, wait for its exit status instead; CPU events have no task. */
	if (!loop->alive && loop->hardware->tasks.count && !loop->hardware->workload.process)
		loop->done = true;
}

static int timeout(const struct loop *loop)
{
	uint64_t now = pesa_monotonic(), left;

	if (!loop->deadline)
		return LOOK_MS;
	if (now >= loop->deadline)
		return 0;
	left = (loop->deadline - now + 999999) / 1000000;
	return left < LOOK_MS ? (int)left : LOOK_MS;
}

static struct pesa_error *look(struct loop *loop)
{
	struct pesa_error *error;

	if (poll(loop->polled, POLLED_DESCRIPTORS + loop->watched, timeout(loop)) < 0 &&
	    errno != EINTR)
		return pesa_error_system(errno, "cannot wait for samples");
	take_signals(loop);
	check_tasks(loop);
	hardware_hotplug_follow(loop->hardware);
	error = watch(loop);
	if (error)
		return error;
	if (loop->deadline && pesa_monotonic() >= loop->deadline)
		loop->done = true;
	error = drain(loop->hardware, false);
	if (!error && !loop->done && loop->hardware->renames && wants_new_file(loop, &error) &&
	    !error)
		error = next_file(loop->hardware);
	return error;
}

static struct pesa_error *run(struct hardware *hardware, int signals)
{
	const struct pesa_hardware_options *options = hardware->options;
	struct loop loop = {.hardware = hardware};
	struct pesa_error *error = watch(&loop);

	if (error)
		return error;
	loop.polled[POLLED_SIGNALS] = (struct pollfd){.fd = signals, .events = POLLIN};
	loop.polled[POLLED_HOTPLUG] = (struct pollfd){.fd = hardware->hotplug, .events = POLLIN};
	/* Before recording starts: for this read the kernel formats its whole symbol table. */
	error = hardware_sideband_kernel(hardware);
	hardware_cost_begin(hardware);
	/* The events of a program are enabled by its exec. */
	if (!hardware->workload.process || options->system_wide)
		enable(hardware, PERF_EVENT_IOC_ENABLE);
	/* After enabling: a map made meanwhile is recorded twice instead of never. */
	if (!error)
		error = hardware_sideband_tasks(hardware);
	/* Drop what was recorded during the setup, to make room in the rings. */
	if (!error)
		error = drain(hardware, false);
	if (!error && hardware->workload.process)
		error = pesa_workload_go(options->program, &hardware->workload);
	if (options->duration)
		loop.deadline = pesa_monotonic() + options->duration;
	while (!error && !loop.done)
		error = look(&loop);
	enable(hardware, PERF_EVENT_IOC_DISABLE);
	if (!error)
		error = finish_file(hardware);
	if (hardware->workload.process && hardware->workload.go < 0)
		end_program(&loop);
	free(loop.polled);
	return error;
}

struct pesa_error *pesa_hardware_record(const struct pesa_hardware_options *options,
					struct pesa_hardware_summary *summary)
{
	struct hardware hardware = {
		.options = options,
		.summary = summary,
		.hotplug = -1,
		.workload = {.go = -1, .failure = -1},
		.renames = options->snapshot || options->switch_on_signal ||
			   options->switch_bytes || options->switch_time,
	};
	sigset_t taken, blocked, mask;
	struct pesa_error *error = NULL;
	int signals;

	memset(summary, 0, sizeof(*summary));
	hardware.record = malloc(PESA_RECORD_BYTES_MAX);
	if (!hardware.record)
		return pesa_error_no_memory();
	choose_signals(options, &taken, &blocked);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		error = pesa_error_system(errno, "cannot wait for signals");
	if (!error && options->program)
		error = pesa_workload_start(options->program, &mask,
					    pesa_perfdata_is_standard_output(options->output),
					    &hardware.workload);
	if (!error)
		error = hardware_open(&hardware);
	if (!error)
		error = hardware_output_open(&hardware);
	if (!error)
		error = run(&hardware, signals);
	for (size_t i = 0; i < hardware.ring_count; i++)
		summary->damaged +=
			hardware.rings[i].ring.damaged + hardware.rings[i].autorun.damaged;
	if (hardware.reader)
		summary->late_build_ids = pesa_build_id_reader_late(hardware.reader);
	pesa_perfdata_writer_abandon(hardware.writer);
	pesa_workload_close(&hardware.workload);
	hardware_close(&hardware);
	if (signals >= 0) {
		struct signalfd_siginfo late;

		/* Read the signals that arrived at the end. */
		while (read(signals, &late, sizeof(late)) == sizeof(late))
			;
		close(signals);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	free(hardware.made);
	free(hardware.record);
	return error;
}
