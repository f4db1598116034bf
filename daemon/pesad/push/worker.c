// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The push worker: offers the intervals of the collector's messages to push.h, and those in the
 * store that no worker has taken; updates the metrics.
 */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "daemon/pesad/push/database.h"
#include "daemon/pesad/push/push.h"
#include "daemon/pesad/push/progress.h"
#include "daemon/pesad/base/watchdog.h"
#include "daemon/pesad/base/channel.h"
#include "pesa/export.h"

#define METRICS_MS 1000 /* between two updates of the metrics */

struct worker {
	const struct pesad_worker_context *context;
	pthread_mutex_t lock; /* of the log, and of the progress once threads run */
	struct pesa_label *labels;
	char **texts; /* "NAME=VALUE", cut in two */
	size_t label_count;
	struct pesa_push_counts reported; /* counts already added to the metrics */
	struct push_progress progress;
	const char *converting; /* the path of an interval, or NULL */
	bool ending;
	/* Intervals found in the store; the collector may report them too. */
	struct push_missed *found;
	size_t found_count;
};

/* If the note fails (a full disk, say), the next worker does not know the state. */
static void note(struct worker *worker, const char *path, enum push_state state)
{
	pthread_mutex_lock(&worker->lock);
	if (worker->ending && state == PUSH_TAKEN)
		state = PUSH_GIVEN_BACK;
	pesa_error_free(push_progress_note(&worker->progress, path, state));
	worker->converting = state == PUSH_DONE ? NULL : path;
	pthread_mutex_unlock(&worker->lock);
}

/* The conversion may take longer than the process has to end. */
static void give_back(struct worker *worker)
{
	pthread_mutex_lock(&worker->lock);
	worker->ending = true;
	if (worker->converting)
		pesa_error_free(
			push_progress_note(&worker->progress, worker->converting, PUSH_GIVEN_BACK));
	pthread_mutex_unlock(&worker->lock);
}

/* Count the interval in `path` into a parcel for a database. */
static struct pesa_error *convert_to_parcel(void *context, const char *path, uint64_t from,
					    uint64_t until __attribute__((unused)), FILE *out)
{
	struct worker *worker = context;
	struct pesa_error *error;

	note(worker, path, PUSH_TAKEN);
	pesad_watch_begin();
	error = push_parcel_make(path, worker->context->config->push.application, from, out);
	pesad_watch_end();
	return error;
}

static struct pesa_error *convert(void *context, const char *path, uint64_t from, uint64_t until,
				  FILE *out)
{
	struct worker *worker = context;
	struct pesa_export_options options = {.format = PESA_EXPORT_PPROF,
					      .addresses_only =
						      !worker->context->config->push.symbols,
					      .began = from,
					      .duration = until - from};
	struct pesa_error *error;
	size_t refused;

	note(worker, path, PUSH_TAKEN);
	pesad_watch_begin();
	error = pesa_export_recording(path, NULL, &options, out, &refused);
	pesad_watch_end();
	pesad_count(&worker->context->metrics->maps_refused[PESAD_WORKER_PUSH], refused);
	return error;
}

/* Only now: a profile that is in memory only is lost if the worker is killed. */
static void settled(void *context, const char *path)
{
	note(context, path, PUSH_DONE);
}

static void log_line(void *context, int priority, const char *line)
{
	struct worker *worker = context;

	pthread_mutex_lock(&worker->lock);
	pesad_log_limited(worker->context->log, PESAD_LOG_PUSH,
			  priority <= LOG_WARNING ? PESAD_LOG_WARNING : PESAD_LOG_INFO, "%s", line);
	pthread_mutex_unlock(&worker->lock);
}

/* ---- Options ------------------------------------------------------------------------------- */

static void labels_free(struct worker *worker)
{
	for (size_t i = 0; i < worker->label_count; i++)
		free(worker->texts[i]);
	free(worker->texts);
	free(worker->labels);
}

static struct pesa_error *labels_make(struct worker *worker)
{
	const struct pesad_list *list = &worker->context->config->push.labels;

	worker->labels = calloc(list->count + 1, sizeof(*worker->labels));
	worker->texts = calloc(list->count + 1, sizeof(*worker->texts));
	if (!worker->labels || !worker->texts)
		return pesa_error_no_memory();
	for (size_t i = 0; i < list->count; i++) {
		char *text = strdup(list->words[i]), *equals = text ? strchr(text, '=') : NULL;

		if (!text)
			return pesa_error_no_memory();
		worker->texts[worker->label_count] = text;
		worker->labels[worker->label_count] =
			(struct pesa_label){text, equals ? equals + 1 : ""};
		worker->label_count++;
		if (equals)
			*equals = '\0';
	}
	return NULL;
}

/* NULL for what is not set. */
static const char *given(const char *text)
{
	return *text ? text : NULL;
}

static void options_make(struct worker *worker, struct pesa_push_options *options)
{
	static const enum pesa_store_kind kinds[] = {
		[PESAD_STORE_PYROSCOPE] = PESA_STORE_PYROSCOPE,
		[PESAD_STORE_PARCA] = PESA_STORE_PARCA,
		[PESAD_STORE_ALLOY] = PESA_STORE_ALLOY,
		[PESAD_STORE_PYROSCOPE_PUSH] = PESA_STORE_PYROSCOPE_PUSH,
		[PESAD_STORE_CLICKHOUSE] = PESA_STORE_CLICKHOUSE,
	};
	const struct pesad_config *config = worker->context->config;

	*options = (struct pesa_push_options){
		.sender = {.target = {.kind = kinds[config->push.kind],
				      .url = config->push.url,
				      .application = config->push.application,
				      .tenant = given(config->push.tenant),
				      .labels = worker->labels,
				      .label_count = worker->label_count},
			   .token_file = given(config->push.token_file),
			   .basic_file = given(config->push.password_file),
			   .authority = given(config->push.authority),
			   .certificate = given(config->push.certificate),
			   .key = given(config->push.key),
			   .verify = config->push.verify,
			   .timeout = config->push.timeout},
		.retry_least = config->push.retry_least,
		.retry_most = config->push.retry_most,
		.spool = config->push.spool,
		.limits = {.bytes = config->push.spool_size, .age = config->push.spool_age},
		.convert =
			config->push.kind == PESAD_STORE_CLICKHOUSE ? convert_to_parcel : convert,
		.settled = settled,
		.log = log_line,
		.context = worker,
	};
}

/* ---- Metrics ------------------------------------------------------------------------------- */

static uint64_t lost_in_spool(const struct pesa_push_counts *counts)
{
	return counts->spool.dropped_full + counts->spool.dropped_old;
}

static uint64_t lost_failed(const struct pesa_push_counts *counts)
{
	return counts->dropped_pending + counts->dropped_unconverted +
	       counts->spool.dropped_unwritten;
}

/* The metrics outlive this process: add the change since the last call. */
static void update_metrics(struct worker *worker, const struct pesa_push_counts *counts)
{
	struct pesad_metrics *metrics = worker->context->metrics;
	const struct pesa_push_counts *reported = &worker->reported;

	pesad_count(&metrics->pushed, counts->sent - reported->sent);
	pesad_count(&metrics->push_bytes, counts->sent_bytes - reported->sent_bytes);
	pesad_count(&metrics->push_failures, counts->failures - reported->failures);
	pesad_count(&metrics->push_lost[PESAD_PUSH_LOST_REFUSED],
		    counts->refused - reported->refused);
	pesad_count(&metrics->push_lost[PESAD_PUSH_LOST_SPOOL],
		    lost_in_spool(counts) - lost_in_spool(reported));
	pesad_count(&metrics->push_lost[PESAD_PUSH_LOST_FAILED],
		    lost_failed(counts) - lost_failed(reported));
	pesad_set(&metrics->spool_files, counts->spool.entries);
	pesad_set(&metrics->spool_bytes, counts->spool.bytes);
	pesad_metrics_of_process(&metrics->worker_cpu[PESAD_WORKER_PUSH],
				 &metrics->worker_memory[PESAD_WORKER_PUSH]);
	worker->reported = *counts;
}

/* ---- Intervals that were missed ------------------------------------------------------------ */

/* Offer intervals that an earlier worker missed. */
static void offer_missed(struct worker *worker, struct pesa_push *push)
{
	struct pesad_metrics *metrics = worker->context->metrics;
	struct pesa_error *error;

	if (worker->progress.state == PUSH_TAKEN) {
		pesad_count(&metrics->push_lost[PESAD_PUSH_LOST_FAILED], 1);
		/* Not limited: once in a worker's life, which may begin with a failed attempt. */
		pthread_mutex_lock(&worker->lock);
		pesad_log(worker->context->log, PESAD_LOG_WARNING,
			  "push: %s is not sent: the worker that converted it ended",
			  worker->progress.last);
		pthread_mutex_unlock(&worker->lock);
	}
	error = push_progress_missed(&worker->progress, worker->context->config->store.directory,
				     &worker->found, &worker->found_count);
	if (error) {
		log_line(worker, LOG_WARNING, error->message);
		pesa_error_free(error);
	}
	for (size_t i = 0; i < worker->found_count; i++)
		pesa_push_offer(push, worker->found[i].path, worker->found[i].from,
				worker->found[i].until);
}

static bool was_found(const struct worker *worker, const char *path)
{
	for (size_t i = 0; i < worker->found_count; i++)
		if (!strcmp(worker->found[i].path, path))
			return true;
	return false;
}

/* ---- The worker ---------------------------------------------------------------------------- */

static void follow_channel(struct worker *worker, struct pesa_push *push, int signals)
{
	struct pollfd polled[] = {{.fd = worker->context->channel, .events = POLLIN},
				  {.fd = signals, .events = POLLIN}};
	struct pesa_push_counts counts;
	struct pesad_message message;
	bool gone = false;

	while (!gone && !(polled[1].revents & POLLIN)) {
		if (poll(polled, 2, METRICS_MS) < 0 && errno != EINTR)
			break;
		while (pesad_channel_take(worker->context->channel, &message, &gone))
			if (message.kind == PESAD_MESSAGE_INTERVAL && *message.path &&
			    !was_found(worker, message.path))
				pesa_push_offer(push, message.path, message.from, message.until);
		counts = pesa_push_counts(push);
		update_metrics(worker, &counts);
	}
}

static struct pesa_error *run(struct worker *worker, int signals)
{
	struct pesa_push_options options;
	struct pesa_push_counts counts;
	struct pesa_push *push;
	struct pesa_error *error = labels_make(worker);

	if (error)
		return error;
	options_make(worker, &options);
	error = push_progress_open(&worker->progress, options.spool);
	if (!error)
		error = pesa_push_start(&options, &push);
	if (error)
		return error;
	offer_missed(worker, push);
	follow_channel(worker, push, signals);
	give_back(worker);
	/* The remaining intervals will not be converted. */
	counts = pesa_push_counts(push);
	counts.dropped_pending += counts.pending;
	update_metrics(worker, &counts);
	pesa_push_stop(push);
	return NULL;
}

struct pesa_error *pesad_push_run(const struct pesad_worker_context *context)
{
	struct worker worker = {.context = context};
	struct pesa_error *error;
	int signals;

	error = pesad_worker_begin(&signals);
	if (error)
		return error;
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		close(signals);
		return pesa_error_create(PESA_ERROR_OTHER, "libcurl cannot be used");
	}
	pthread_mutex_init(&worker.lock, NULL);
	error = run(&worker, signals);
	labels_free(&worker);
	push_missed_free(worker.found, worker.found_count);
	pthread_mutex_destroy(&worker.lock);
	curl_global_cleanup();
	close(signals);
	return error;
}
