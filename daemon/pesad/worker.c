// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/http/server.h"
#include "daemon/pesad/privileges.h"
#include "daemon/pesad/push/push.h"
#include "daemon/pesad/base/watchdog.h"

#define SECOND	    UINT64_C(1000000000)
#define RETRY_LEAST SECOND
#define RETRY_MOST  (60 * SECOND)
#define LIVES_WELL  (60 * SECOND) /* a worker that ran this long is restarted without delay */
#define GRACE	    (SECOND / 2)  /* time to end after SIGTERM */
#define DYING	    (SECOND / 5)  /* time to exit after SIGKILL */
#define CHANNEL	    3		  /* number of the descriptor in a worker */

struct worker {
	pid_t process; /* 0: not running */
	int channel;   /* ours; -1: none */
	bool wanted;
	uint64_t since, again; /* ns monotonic: time of the start; of the next start */
	uint64_t pause;	       /* ns until the next start */
	bool floods;	       /* more messages were waiting than the last poll took */
	struct pesad_watched watched;
};

struct pesad_workers {
	const struct pesad_config *config;
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	struct worker workers[PESAD_WORKER_COUNT];
};

static const struct {
	const char *name;
	pesad_worker_function run;
} kinds[PESAD_WORKER_COUNT] = {
	[PESAD_WORKER_PUSH] = {"push", pesad_push_run},
	[PESAD_WORKER_HTTP] = {"http", pesad_server_run},
};

/* ---- Messages ------------------------------------------------------------------------------ */

void pesad_workers_notify(struct pesad_workers *workers, const struct pesad_message *message)
{
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++) {
		struct worker *worker = &workers->workers[kind];

		if (!worker->wanted)
			continue;
		if (worker->channel < 0 ||
		    send(worker->channel, message, pesad_message_bytes(message),
			 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			pesad_count(&workers->metrics->messages_dropped[kind], 1);
	}
}

bool pesad_workers_want_flush(struct pesad_workers *workers)
{
	bool wanted = false;

	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++) {
		struct worker *worker = &workers->workers[kind];

		if (worker->channel >= 0)
			wanted |= pesad_channel_wants_flush(worker->channel, &worker->floods);
	}
	return wanted;
}

void pesad_workers_descriptors(const struct pesad_workers *workers,
			       int descriptors[PESAD_WORKER_COUNT])
{
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++)
		descriptors[kind] =
			workers->workers[kind].floods ? -1 : workers->workers[kind].channel;
}

/* ---- Processes ----------------------------------------------------------------------------- */

/* Runs in the child.  Does not return. */
static void be_worker(struct pesad_workers *workers, unsigned int kind, int channel,
		      pid_t collector)
{
	const struct pesad_config *config = workers->config;
	struct pesad_worker_context context = {.config = config,
					       .metrics = workers->metrics,
					       .log = workers->log,
					       .channel = CHANNEL};
	uint64_t memory = kind == PESAD_WORKER_PUSH ? config->push.memory : config->http.memory;
	char name[16];
	struct pesa_error *error;
	sigset_t blocked;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != collector)
		_exit(1);
	snprintf(name, sizeof(name), "pesad-%s", kinds[kind].name);
	prctl(PR_SET_NAME, name);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (channel != CHANNEL)
		dup2(channel, CHANNEL);
	close_range(CHANNEL + 1, ~0u, 0);
	pesad_watch_own(workers->metrics, kind);
	error = pesad_privileges_worker(memory, kind == PESAD_WORKER_HTTP);
	if (!error)
		error = kinds[kind].run(&context);
	if (error)
		pesad_log(workers->log, PESAD_LOG_ERROR, "%s: %s", kinds[kind].name,
			  error->message);
	_exit(error ? 1 : 0);
}

static struct pesa_error *start(struct pesad_workers *workers, unsigned int kind)
{
	struct worker *worker = &workers->workers[kind];
	pid_t collector = getpid(), process;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return pesa_error_system(errno, "cannot make a channel to worker %s",
					 kinds[kind].name);
	pesad_watch_reset(workers->metrics, kind, &worker->watched);
	process = fork();
	if (process < 0) {
		int failure = errno;

		close(ends[0]);
		close(ends[1]);
		return pesa_error_system(failure, "cannot start worker %s", kinds[kind].name);
	}
	if (!process)
		be_worker(workers, kind, ends[1], collector);
	close(ends[1]);
	worker->process = process;
	worker->channel = ends[0];
	worker->since = pesa_monotonic();
	return NULL;
}

static void plan(struct worker *worker)
{
	if (pesa_monotonic() - worker->since >= LIVES_WELL)
		worker->pause = 0;
	worker->pause = worker->pause ? worker->pause * 2 : RETRY_LEAST;
	if (worker->pause > RETRY_MOST)
		worker->pause = RETRY_MOST;
	worker->again = pesa_monotonic() + worker->pause;
}

static void forget(struct worker *worker)
{
	if (worker->channel >= 0)
		close(worker->channel);
	worker->channel = -1;
	worker->process = 0;
	worker->floods = false;
}

static void tell_end(struct pesad_workers *workers, unsigned int kind, int status)
{
	char how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(how, sizeof(how), "with status %d", WEXITSTATUS(status));
	pesad_log_limited(workers->log, PESAD_LOG_WORKER, PESAD_LOG_WARNING,
			  "worker %s ended %s and is started again in %llu s", kinds[kind].name,
			  how, (unsigned long long)(workers->workers[kind].pause / SECOND));
}

static struct worker *find(struct pesad_workers *workers, pid_t process)
{
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++)
		if (workers->workers[kind].process == process)
			return &workers->workers[kind];
	return NULL;
}

/* Processes of an earlier configuration may have been killed without being waited for. */
static void reap(struct pesad_workers *workers)
{
	pid_t process;
	int status;

	while ((process = waitpid(-1, &status, WNOHANG)) > 0) {
		struct worker *worker = find(workers, process);

		if (!worker)
			continue;
		forget(worker);
		plan(worker);
		tell_end(workers, (unsigned int)(worker - workers->workers), status);
	}
}

/* Kill a worker that is stuck and forget it: it may block in the kernel for an unlimited time. */
static void watch(struct pesad_workers *workers, unsigned int kind)
{
	const struct pesad_message ping = {.kind = PESAD_MESSAGE_PING};
	uint64_t limit = workers->config->daemon.watchdog;
	struct worker *worker = &workers->workers[kind];
	bool stuck, ask;

	stuck = pesad_watch_stuck(workers->metrics, kind, &worker->watched, limit, &ask);
	/* If the channel is full, the worker has messages to receive anyway. */
	if (ask)
		send(worker->channel, &ping, pesad_message_bytes(&ping),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
	if (!stuck)
		return;
	kill(worker->process, SIGKILL);
	forget(worker);
	plan(worker);
	pesad_count(&workers->metrics->workers_stuck[kind], 1);
	pesad_log_limited(
		workers->log, PESAD_LOG_STUCK, PESAD_LOG_WARNING,
		"worker %s made no progress for %llu s: it is killed, and started again in %llu s",
		kinds[kind].name, (unsigned long long)(limit / SECOND),
		(unsigned long long)(worker->pause / SECOND));
}

void pesad_workers_poll_once(struct pesad_workers *workers)
{
	reap(workers);
	pesad_watch_tick(workers->metrics, pesa_monotonic());
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++)
		if (workers->workers[kind].process)
			watch(workers, kind);
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++) {
		struct worker *worker = &workers->workers[kind];
		struct pesa_error *error;

		if (!worker->wanted || worker->process || pesa_monotonic() < worker->again)
			continue;
		error = start(workers, kind);
		if (error)
			plan(worker);
		else
			pesad_count(&workers->metrics->worker_restarts[kind], 1);
		pesad_log_error(workers->log, PESAD_LOG_WORKER, PESAD_LOG_WARNING, error);
	}
}

struct pesa_error *pesad_workers_start(const struct pesad_config *config,
				       struct pesad_metrics *metrics, struct pesad_log *log,
				       struct pesad_workers **workers)
{
	struct pesad_workers *started = calloc(1, sizeof(*started));
	struct pesa_error *error = NULL;

	if (!started)
		return pesa_error_no_memory();
	started->config = config;
	started->metrics = metrics;
	started->log = log;
	pesad_watch_tick(metrics, pesa_monotonic());
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++)
		started->workers[kind].channel = -1;
	started->workers[PESAD_WORKER_PUSH].wanted = *config->push.url;
	started->workers[PESAD_WORKER_HTTP].wanted = *config->http.listen || *config->http.socket;
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT && !error; kind++)
		if (started->workers[kind].wanted)
			error = start(started, kind);
	if (error)
		pesad_workers_stop(started);
	else
		*workers = started;
	return error;
}

void pesad_workers_stop(struct pesad_workers *workers)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	uint64_t until = pesa_monotonic() + GRACE;
	bool running = true;

	if (!workers)
		return;
	for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++)
		if (workers->workers[kind].process)
			kill(workers->workers[kind].process, SIGTERM);
	/*
	 * A killed worker may still block in the kernel: on a slow disk, or because processes with
	 * a higher priority run.  It does nothing more, and the kernel frees its resources without
	 * us.
	 */
	while (running && pesa_monotonic() < until + DYING) {
		running = false;
		for (unsigned int kind = 0; kind < PESAD_WORKER_COUNT; kind++) {
			struct worker *worker = &workers->workers[kind];

			if (!worker->process)
				continue;
			if (pesa_monotonic() >= until)
				kill(worker->process, SIGKILL);
			if (waitpid(worker->process, NULL, WNOHANG) == worker->process)
				forget(worker);
			else
				running = true;
		}
		if (running)
			nanosleep(&pause, NULL);
	}
	free(workers);
}
