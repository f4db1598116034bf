// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The http worker with a collector whose intervals are files that are there already.
 *
 *   serve_intervals CONFIGURATION MILLISECONDS [FILE...]
 *
 * Whenever the worker asks for what is under way, an interval ends so many milliseconds later, and
 * the next FILE is said to hold it ("-": it has none; without any FILE none ever ends).  Ends when
 * its standard input does: the worker is reported by SIGTERM, and its exit status is this program's.
 * Prints "ready" when the worker was started, and at the end how often the worker asked.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/pesad/http/server.h"

#define NS_PER_SECOND	   UINT64_C(1000000000)
#define NS_PER_MILLISECOND UINT64_C(1000000)

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "serve_intervals: %s\n", error->message);
	exit(1);
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

static int serve(const struct pesad_config *config, int channel)
{
	struct pesad_worker_context context = {.config = config, .channel = channel};
	struct pesad_log log = {.level = PESAD_LOG_DEBUG};
	struct pesa_error *error;
	sigset_t blocked;

	stop(pesad_metrics_open(&context.metrics));
	log.metrics = context.metrics;
	context.log = &log;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	error = pesad_server_run(&context);
	pesad_metrics_close(context.metrics);
	stop(error);
	return 0;
}

struct collector {
	int channel;
	uint64_t delay;
	char **files;
	int count, next;
	uint64_t from, monotonic_from, due; /* when what was asked for happens; 0: nothing was */
	unsigned int asked, serial;
};

static void end_interval(struct collector *collector)
{
	struct pesad_message message = {.kind = PESAD_MESSAGE_INTERVAL,
					.serial = ++collector->serial,
					.interval = collector->serial,
					.bytes = UINT64_MAX,
					.from = collector->from,
					.monotonic_from = collector->monotonic_from,
					.monotonic_until = now(CLOCK_MONOTONIC)};
	const char *file = collector->files[collector->next++ % collector->count];

	message.until = message.from + message.monotonic_until - message.monotonic_from;
	if (strcmp(file, "-"))
		snprintf(message.path, sizeof(message.path), "%s", file);
	send(collector->channel, &message,
	     offsetof(struct pesad_message, path) + strlen(message.path) + 1, MSG_NOSIGNAL);
	collector->from = message.until;
	collector->monotonic_from = message.monotonic_until;
	collector->due = 0;
}

/* Until standard input ends. */
static void collect(struct collector *collector)
{
	struct pollfd polled[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				  {.fd = collector->channel, .events = POLLIN}};
	struct pesad_message message;
	bool gone = false;
	char ignored[64];

	for (;;) {
		poll(polled, gone ? 1 : 2, 10);
		if (polled[0].revents && read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0)
			return;
		while (!gone && pesad_channel_take(collector->channel, &message, &gone)) {
			collector->asked++;
			if (!collector->due)
				collector->due = now(CLOCK_MONOTONIC) + collector->delay;
		}
		if (collector->due && collector->count && now(CLOCK_MONOTONIC) >= collector->due)
			end_interval(collector);
	}
}

int main(int argc, char **argv)
{
	struct collector collector = {.files = argv + 3, .count = argc - 3};
	struct pesad_config *config;
	int channels[2], status;
	pid_t worker;

	if (argc < 3) {
		fprintf(stderr, "serve_intervals: CONFIGURATION MILLISECONDS [FILE...]\n");
		return 2;
	}
	stop(pesad_config_read(argv[1], &config));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels)) {
		perror("serve_intervals: socketpair");
		return 1;
	}
	worker = fork();
	if (!worker) {
		close(channels[0]);
		status = serve(config, channels[1]);
		pesad_config_free(config);
		return status;
	}
	close(channels[1]);
	collector.channel = channels[0];
	collector.delay = strtoull(argv[2], NULL, 10) * NS_PER_MILLISECOND;
	collector.from = now(CLOCK_REALTIME);
	collector.monotonic_from = now(CLOCK_MONOTONIC);
	printf("ready\n");
	fflush(stdout);
	collect(&collector);
	kill(worker, SIGTERM);
	waitpid(worker, &status, 0);
	printf("asked %u times\n", collector.asked);
	pesad_config_free(config);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
