// SPDX-License-Identifier: GPL-2.0-or-later
/* A counting run: see counting.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/record/counting.h"
#include "daemon/record/sideband.h"
#include "daemon/record/workload.h"

#define SECOND	UINT64_C(1000000000)
#define LOOK	(SECOND / 10) /* interval at which the tasks are checked */
#define GRACE	(2 * SECOND)  /* time for a program to end after a signal */
#define FOREVER UINT64_MAX

struct run {
	const struct pesa_counting_options *options;
	struct pesa_counting_result *result;
	struct pesa_counting counting;
	struct pesa_workload workload;
	struct pesa_event_count *counts;
	int signals;
	uint64_t begun, next, deadline; /* ns; `next` (interval) and `deadline` can be FOREVER */
	bool child_ended, done;
};

static uint64_t nanoseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_usec * 1000;
}

/* ---- Signals, and the program -------------------------------------------------------------- */

static void reap(struct run *run, int flags)
{
	struct rusage usage;

	if (!run->workload.process || run->child_ended ||
	    wait4(run->workload.process, &run->result->status, flags, &usage) !=
		    run->workload.process)
		return;
	run->child_ended = true;
	run->done = true;
	run->result->user = nanoseconds(&usage.ru_utime);
	run->result->system = nanoseconds(&usage.ru_stime);
}

/* Pass the signal on to the program, which may end in its own way; a second signal kills it. */
static void end_by_signal(struct run *run, const struct signalfd_siginfo *information)
{
	if (!run->workload.process || run->result->interrupted) {
		run->done = true;
	} else {
		run->deadline = pesa_monotonic() + GRACE;
		/* The terminal sends the signal to the program as well. */
		if (information->ssi_code <= 0)
			kill(run->workload.process, (int)information->ssi_signo);
	}
	run->result->interrupted = true;
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo information;

	while (read(run->signals, &information, sizeof(information)) == sizeof(information)) {
		if (information.ssi_signo == SIGCHLD)
			reap(run, WNOHANG);
		else
			end_by_signal(run, &information);
	}
}

/* The time is up and the program is still running. */
static void end_program(struct run *run)
{
	if (!run->workload.process || run->child_ended)
		return;
	if (!run->result->interrupted) {
		uint64_t until = pesa_monotonic() + GRACE;
		const struct timespec pause = {.tv_nsec = 10000000};

		kill(run->workload.process, SIGTERM);
		while (!run->child_ended && pesa_monotonic() < until) {
			nanosleep(&pause, NULL);
			reap(run, WNOHANG);
		}
	}
	if (!run->child_ended)
		kill(run->workload.process, SIGKILL);
	reap(run, 0);
}

/* ---- The loop ------------------------------------------------------------------------------ */

/* An event does not report the end of its task. */
static bool tasks_are_there(const struct run *run)
{
	for (size_t i = 0; i < run->counting.tasks.count; i++)
		if (pesa_process_of("", run->counting.tasks.task[i]))
			return true;
	return false;
}

static int timeout(const struct run *run)
{
	uint64_t time = pesa_monotonic(),
		 until = run->next < run->deadline ? run->next : run->deadline;

	if (run->counting.tasks.count && !run->workload.process && until > time + LOOK)
		until = time + LOOK;
	if (until == FOREVER)
		return -1;
	if (until <= time)
		return 0;
	until = (until - time + 999999) / 1000000;
	return until < 1000000 ? (int)until : 1000000;
}

static struct pesa_error *look(struct run *run)
{
	struct pollfd polled = {.fd = run->signals, .events = POLLIN};
	struct pesa_error *error;

	if (poll(&polled, 1, timeout(run)) < 0 && errno != EINTR)
		return pesa_error_system(errno, "cannot wait");
	take_signals(run);
	if (!run->workload.process && run->counting.tasks.count && !tasks_are_there(run))
		run->done = true;
	if (pesa_monotonic() >= run->deadline)
		run->done = true;
	/* The counts after the last interval are part of the result only. */
	if (run->done || pesa_monotonic() < run->next)
		return NULL;
	error = pesa_counting_read(&run->counting, run->counts);
	if (error)
		return error;
	run->options->look(run->options->context, pesa_monotonic() - run->begun, run->counts);
	while (run->next <= pesa_monotonic())
		run->next += run->options->interval;
	return NULL;
}

static struct pesa_error *run_until_done(struct run *run)
{
	const struct pesa_counting_options *options = run->options;
	struct pesa_error *error = NULL;

	/* The events of a program are enabled by its exec. */
	if (!run->workload.process || options->system_wide)
		pesa_counting_enable(&run->counting, true);
	run->begun = pesa_monotonic();
	if (run->workload.process)
		error = pesa_workload_go(options->program, &run->workload);
	run->next = options->interval && options->look ? run->begun + options->interval : FOREVER;
	run->deadline = options->duration ? run->begun + options->duration : FOREVER;
	while (!error && !run->done)
		error = look(run);
	if (!run->child_ended && !error)
		pesa_counting_enable(&run->counting, false);
	run->result->elapsed = pesa_monotonic() - run->begun;
	return error;
}

static struct pesa_error *make_counts(struct run *run)
{
	size_t parts = 1 + run->counting.tasks.count;

	run->counts = calloc(parts * run->options->event_count + 1, sizeof(*run->counts));
	return run->counts ? NULL : pesa_error_no_memory();
}

struct pesa_error *pesa_counting_run(const struct pesa_counting_options *options,
				     struct pesa_counting_result *result)
{
	struct pesa_counting_result counted = {0};
	struct run run = {.options = options,
			  .result = &counted,
			  .counting = {.options = options},
			  .workload = {.go = -1, .failure = -1}};
	struct pesa_error *error = NULL;
	sigset_t taken, mask;

	pesa_workload_signals(&taken);
	sigprocmask(SIG_BLOCK, &taken, &mask);
	run.signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run.signals < 0)
		error = pesa_error_system(errno, "cannot wait for signals");
	if (!error && options->program)
		error = pesa_workload_start(options->program, &mask, false, &run.workload);
	run.counting.program = run.workload.process;
	if (!error)
		error = pesa_counting_open(&run.counting);
	if (!error)
		error = make_counts(&run);
	if (!error)
		error = run_until_done(&run);
	if (run.workload.process && run.workload.go < 0)
		end_program(&run);
	if (!error)
		error = pesa_counting_read(&run.counting, run.counts);
	pesa_workload_close(&run.workload);
	if (run.signals >= 0) {
		struct signalfd_siginfo late;

		while (read(run.signals, &late, sizeof(late)) == sizeof(late))
			;
		close(run.signals);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (error) {
		free(run.counts);
	} else {
		counted.counts = run.counts;
		counted.tasks = run.counting.tasks;
		run.counting.tasks = (struct pesa_tasks){0};
		*result = counted;
	}
	pesa_counting_close(&run.counting);
	return error;
}

void pesa_counting_result_free(struct pesa_counting_result *result)
{
	free(result->counts);
	free(result->tasks.task);
	*result = (struct pesa_counting_result){0};
}
