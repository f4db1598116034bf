// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesad: samples every CPU as long as the machine runs.
 *
 * This process reads the configuration, drops privileges, starts the workers and runs the
 * collector; see collect.h and worker.h.  SIGHUP reloads the configuration, SIGTERM and SIGINT end
 * the daemon.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/pesad/aggregate_source.h"
#include "daemon/pesad/collect.h"
#include "daemon/pesad/notify.h"
#include "daemon/pesad/privileges.h"
#include "pesa/version.h"

struct daemon {
	const char *file; /* configuration file; NULL: the default one, if it exists */
	struct pesad_config *config;
	struct pesad_metrics *metrics;
	struct pesad_log log;
	struct pesad_store *store;
	struct pesad_workers *workers;
	struct pesa_kernel_maps kernel;
	struct pesad_aggregate_source *counting; /* NULL: samples come from rings */
	struct pesad_collector *collector;
	int signals;
	bool ending;
};

static void usage(FILE *stream)
{
	fputs("Usage: pesad [--config FILE] [--check-config]\n"
	      "Sample every CPU for as long as the machine runs, and keep, send and serve the profiles.\n"
	      "\n"
	      "  -c, --config FILE   configuration (default " PESAD_CONFIG_FILE
	      ", if it is there; see pesad.conf(5))\n"
	      "      --check-config  say whether the configuration is right, and end\n"
	      "  -h, --help          this help\n"
	      "  -V, --version       version\n"
	      "\n"
	      "Example: pesad --check-config -c /etc/pesad.conf && systemctl reload pesad\n",
	      stream);
}

/* ---- Parts --------------------------------------------------------------------------------- */

static struct pesa_error *open_collector(struct daemon *daemon)
{
	struct pesa_error *error = pesad_aggregate_source_open(daemon->config, daemon->metrics,
							       &daemon->log, &daemon->counting);
	struct pesad_source source;

	if (!error && daemon->counting)
		source = pesad_aggregate_source(daemon->counting);
	if (!error)
		error = pesad_collector_open(daemon->config, daemon->counting ? &source : NULL,
					     &daemon->kernel, daemon->store, daemon->metrics,
					     &daemon->log, &daemon->collector);
	if (!error && daemon->counting)
		error = pesad_aggregate_source_check(daemon->counting,
						     pesad_collector_attribute(daemon->collector));
	if (!error)
		pesad_collector_start(daemon->collector);
	return error;
}

static void stop_collector(struct daemon *daemon)
{
	struct pesad_message message;

	if (daemon->collector) {
		if (pesad_collector_stop(daemon->collector, &message) && daemon->workers)
			pesad_workers_notify(daemon->workers, &message);
		pesad_collector_close(daemon->collector);
		daemon->collector = NULL;
	}
	pesad_aggregate_source_close(daemon->counting);
	daemon->counting = NULL;
}

static struct pesa_error *take_signals(struct daemon *daemon)
{
	static const int taken[] = {SIGHUP, SIGTERM, SIGINT, SIGCHLD, SIGPIPE};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A file size limit, or a closed pipe, is an error of write() instead. */
	signal(SIGXFSZ, SIG_IGN);
	sigdelset(&set, SIGPIPE);
	daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return daemon->signals < 0 ? pesa_error_system(errno, "cannot wait for signals") : NULL;
}

/* Continue without a filter if the kernel does not support it. */
static struct pesa_error *filter_calls(struct daemon *daemon)
{
	struct pesa_error *error = pesad_privileges_filter();

	if (!error || error->code != PESA_ERROR_UNSUPPORTED)
		return error;
	pesad_log(&daemon->log, PESAD_LOG_WARNING, "%s", error->message);
	pesa_error_free(error);
	return NULL;
}

static struct pesa_error *open_all(struct daemon *daemon)
{
	struct pesa_error *error = take_signals(daemon);
	bool hidden;

	pesad_privileges_limits();
	/* While the process may still read the kernel's addresses. */
	if (!error)
		error = pesa_kernel_maps_read("", &daemon->kernel, &hidden);
	if (!error && hidden)
		pesad_log(&daemon->log, PESAD_LOG_WARNING,
			  "the kernel hides its addresses (/proc/sys/kernel/kptr_restrict, or "
			  "CAP_SYSLOG is missing at the start): its samples will have no names");
	if (!error)
		error = pesad_privileges_keep(daemon->config, &daemon->log);
	if (!error)
		error = pesad_store_open(daemon->config, daemon->metrics, &daemon->log,
					 &daemon->store);
	if (!error)
		error = filter_calls(daemon);
	if (!error)
		error = pesad_workers_start(daemon->config, daemon->metrics, &daemon->log,
					    &daemon->workers);
	return error ? error : open_collector(daemon);
}

static void close_all(struct daemon *daemon)
{
	stop_collector(daemon);
	pesad_workers_stop(daemon->workers);
	pesad_store_close(daemon->store);
	pesa_kernel_maps_free(&daemon->kernel);
	if (daemon->signals >= 0)
		close(daemon->signals);
}

/* ---- Configuration that is read again ------------------------------------------------------ */

/* The directory or its limits changed. */
static struct pesa_error *change_store(struct daemon *daemon, const char *directory)
{
	if (daemon->store && !strcmp(directory, daemon->config->store.directory)) {
		pesad_store_limits(daemon->store, daemon->config);
		return NULL;
	}
	pesad_store_close(daemon->store);
	daemon->store = NULL;
	return pesad_store_open(daemon->config, daemon->metrics, &daemon->log, &daemon->store);
}

static struct pesa_error *restart_workers(struct daemon *daemon)
{
	pesad_workers_stop(daemon->workers);
	daemon->workers = NULL;
	return pesad_workers_start(daemon->config, daemon->metrics, &daemon->log, &daemon->workers);
}

static struct pesa_error *restart(struct daemon *daemon, struct pesad_config *config)
{
	const char *directory = daemon->config->store.directory;
	struct pesa_error *error;

	daemon->config = config;
	daemon->log.level = (enum pesad_log_level)config->daemon.log;
	error = restart_workers(daemon);
	if (!error)
		error = change_store(daemon, directory);
	return error ? error : open_collector(daemon);
}

/*
 * There is one counter per hart, so the old collector ends before the new one opens; if that fails,
 * the old configuration is restored.
 */
static struct pesa_error *reload(struct daemon *daemon)
{
	struct pesad_config *old = daemon->config, *config;
	struct pesa_error *error = pesad_config_read(daemon->file, &config);

	if (error) {
		pesad_count(&daemon->metrics->reloads_failed, 1);
		pesad_log(&daemon->log, PESAD_LOG_ERROR, "%s; the configuration stays as it was",
			  error->message);
		pesa_error_free(error);
		return NULL;
	}
	stop_collector(daemon);
	error = restart(daemon, config);
	if (!error) {
		pesad_config_free(old);
		pesad_count(&daemon->metrics->reloads, 1);
		pesad_log(&daemon->log, PESAD_LOG_INFO, "the configuration was read again");
		return NULL;
	}
	pesad_count(&daemon->metrics->reloads_failed, 1);
	pesad_log(&daemon->log, PESAD_LOG_ERROR, "%s; the configuration stays as it was",
		  error->message);
	pesa_error_free(error);
	error = restart(daemon, old);
	pesad_config_free(config);
	return error;
}

/* ---- The loop ------------------------------------------------------------------------------ */

static struct pesa_error *answer_signals(struct daemon *daemon)
{
	struct signalfd_siginfo information;
	struct pesa_error *error;
	bool again = false;

	while (read(daemon->signals, &information, sizeof(information)) == sizeof(information)) {
		if (information.ssi_signo == SIGHUP)
			again = true;
		else if (information.ssi_signo != SIGCHLD)
			daemon->ending = true;
	}
	/* A daemon that is ending needs no new configuration. */
	if (!again || daemon->ending)
		return NULL;
	pesad_notify("RELOADING=1");
	error = reload(daemon);
	pesad_notify("READY=1");
	return error;
}

static struct pesa_error *wait_for_all(struct daemon *daemon, struct pollfd **polled, size_t *room)
{
	int channels[PESAD_WORKER_COUNT];
	size_t count, used = 0;
	const struct pollfd *collector = pesad_collector_polled(daemon->collector, &count);

	if (*room < count + 1 + PESAD_WORKER_COUNT) {
		size_t wanted = count + 1 + PESAD_WORKER_COUNT;
		struct pollfd *grown = realloc(*polled, wanted * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		*polled = grown;
		*room = wanted;
	}
	(*polled)[used++] = (struct pollfd){.fd = daemon->signals, .events = POLLIN};
	pesad_workers_descriptors(daemon->workers, channels);
	for (unsigned int i = 0; i < PESAD_WORKER_COUNT; i++)
		(*polled)[used++] = (struct pollfd){.fd = channels[i], .events = POLLIN};
	memcpy(*polled + used, collector, count * sizeof(*collector));
	used += count;
	if (poll(*polled, used, pesad_collector_timeout(daemon->collector)) < 0 && errno != EINTR)
		return pesa_error_system(errno, "cannot wait for samples");
	return NULL;
}

static struct pesa_error *run(struct daemon *daemon)
{
	struct pollfd *polled = NULL;
	struct pesa_error *error = NULL;
	size_t room = 0;

	while (!error && !daemon->ending) {
		struct pesad_message message;

		error = wait_for_all(daemon, &polled, &room);
		if (!error)
			error = answer_signals(daemon);
		if (error || daemon->ending)
			break;
		pesad_workers_poll_once(daemon->workers);
		if (pesad_workers_want_flush(daemon->workers))
			pesad_collector_flush(daemon->collector);
		if (pesad_collector_poll_once(daemon->collector, &message))
			pesad_workers_notify(daemon->workers, &message);
	}
	free(polled);
	return error;
}

/* Log the totals of samples: they have to add up. */
static void say_sums(struct daemon *daemon)
{
	const struct pesad_metrics *metrics = daemon->metrics;
	uint64_t lost = 0;

	for (unsigned int i = 0; i < PESAD_LOST_COUNT; i++)
		lost += pesad_value(&metrics->lost[i]);
	pesad_log(&daemon->log, PESAD_LOG_INFO,
		  "ends: %llu samples taken, %llu written in %llu files, %llu filtered, %llu lost",
		  (unsigned long long)pesad_value(&metrics->taken),
		  (unsigned long long)pesad_value(&metrics->written),
		  (unsigned long long)pesad_value(&metrics->files_written),
		  (unsigned long long)pesad_value(&metrics->filtered), (unsigned long long)lost);
}

static int serve(const char *file, struct pesad_config *config)
{
	struct daemon daemon = {.file = file, .config = config, .signals = -1};
	struct pesa_error *error = pesad_metrics_open(&daemon.metrics);
	int status = 0;

	pesad_log_open(&daemon.log, daemon.metrics);
	daemon.log.level = (enum pesad_log_level)config->daemon.log;
	if (!error)
		error = open_all(&daemon);
	if (!error) {
		pesad_log(&daemon.log, PESAD_LOG_INFO, "samples %s on %llu CPUs into %s",
			  pesad_collector_event(daemon.collector),
			  (unsigned long long)pesad_value(&daemon.metrics->cpus),
			  config->store.directory);
		pesad_notify("READY=1");
		error = run(&daemon);
		pesad_notify("STOPPING=1");
	}
	close_all(&daemon);
	if (error) {
		pesad_log(&daemon.log, PESAD_LOG_ERROR, "%s", error->message);
		pesa_error_free(error);
		status = 1;
	} else {
		say_sums(&daemon);
	}
	pesad_config_free(daemon.config);
	pesad_metrics_close(daemon.metrics);
	return status;
}

static void report(void *context __attribute__((unused)), const char *message)
{
	fprintf(stderr, "pesad: %s\n", message);
}

/* Returns the exit status. */
static int check_config(const char *file)
{
	size_t count;
	struct pesa_error *error = pesad_config_check(file, report, NULL, &count);

	if (error) {
		report(NULL, error->message);
		pesa_error_free(error);
		return 1;
	}
	if (!count)
		printf("%s: the configuration is right\n", file ? file : PESAD_CONFIG_FILE);
	return count > 0;
}

int main(int argc, char **argv)
{
	enum { CHECK_CONFIG = 256 };
	static const struct option options[] = {{"config", required_argument, NULL, 'c'},
						{"check-config", no_argument, NULL, CHECK_CONFIG},
						{"help", no_argument, NULL, 'h'},
						{"version", no_argument, NULL, 'V'},
						{NULL, 0, NULL, 0}};
	const char *file = NULL;
	struct pesad_config *config;
	struct pesa_error *error;
	bool check = false;
	int option;

	while ((option = getopt_long(argc, argv, "c:hV", options, NULL)) >= 0) {
		switch (option) {
		case 'c':
			file = optarg;
			break;
		case CHECK_CONFIG:
			check = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			puts("pesad " PESA_VERSION);
			return 0;
		default:
			return 2; /* getopt has said why */
		}
	}
	if (optind < argc) {
		fprintf(stderr, "pesad: unexpected argument '%s'\n", argv[optind]);
		return 2;
	}
	if (check)
		return check_config(file);
	error = pesad_config_read(file, &config);
	if (error) {
		report(NULL, error->message);
		pesa_error_free(error);
		return 1;
	}
	return serve(file, config);
}
