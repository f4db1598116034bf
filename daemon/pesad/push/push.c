// SPDX-License-Identifier: GPL-2.0-or-later
/* Every finished interval goes to a profile store.  See push.h. */
#include "daemon/pesad/push/push.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <syslog.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/push/backoff.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define WAIT_MOST     (60 * NS_PER_SECOND)

struct pending {
	char *path;
	uint64_t from, until;
};

struct pesa_push {
	struct pesa_push_options options;
	struct pesa_spool *spool;
	struct pesa_sender *sender;
	struct pesa_backoff backoff;
	pthread_t converter, deliverer;
	bool converting, delivering; /* threads that were started */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop;
	struct pending pending[PESA_PUSH_PENDING_MAX]; /* a ring */
	unsigned int first, count;
	struct pesa_push_counts counts;
};

static void __attribute__((format(printf, 3, 4)))
say(struct pesa_push *push, int priority, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	push->options.log(push->options.context, priority, line);
}

static void say_error(struct pesa_push *push, struct pesa_error *error)
{
	say(push, LOG_WARNING, "push: %s", error->message);
	pesa_error_free(error);
}

static void count(struct pesa_push *push, uint64_t *counter, uint64_t number)
{
	pthread_mutex_lock(&push->lock);
	*counter += number;
	pthread_mutex_unlock(&push->lock);
}

static bool stopping(struct pesa_push *push)
{
	bool stop;

	pthread_mutex_lock(&push->lock);
	stop = push->stop;
	pthread_mutex_unlock(&push->lock);
	return stop;
}

/* ---- Conversion ---------------------------------------------------------------------------- */

/* Wait for an interval.  false: stop. */
static bool next_pending(struct pesa_push *push, struct pending *pending)
{
	bool any;

	pthread_mutex_lock(&push->lock);
	while (!push->count && !push->stop)
		pthread_cond_wait(&push->changed, &push->lock);
	any = !push->stop;
	if (any) {
		*pending = push->pending[push->first];
		push->first = (push->first + 1) % PESA_PUSH_PENDING_MAX;
		push->count--;
	}
	pthread_mutex_unlock(&push->lock);
	return any;
}

static void convert(struct pesa_push *push, const struct pending *pending)
{
	struct pesa_error *error;
	char *profile = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&profile, &size);

	if (!out) {
		error = pesa_error_no_memory();
	} else {
		error = push->options.convert(push->options.context, pending->path, pending->from,
					      pending->until, out);
		if (fclose(out) && !error)
			error = pesa_error_no_memory();
	}
	if (error) {
		count(push, &push->counts.dropped_unconverted, 1);
		say_error(push, pesa_error_prefix(error, "%s is not sent: ", pending->path));
	} else {
		error = pesa_spool_put(push->spool, pending->from, pending->until, profile, size,
				       pesa_wall_clock());
		if (error)
			say_error(push, error);
		pesa_sender_wake(push->sender, false);
	}
	free(profile);
	if (push->options.settled)
		push->options.settled(push->options.context, pending->path);
}

static void *run_converter(void *context)
{
	struct pesa_push *push = context;
	struct pending pending;

	while (next_pending(push, &pending)) {
		convert(push, &pending);
		free(pending.path);
	}
	return NULL;
}

/* ---- Delivery ------------------------------------------------------------------------------ */

static uint32_t random_bits(void)
{
	uint32_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = (uint32_t)pesa_monotonic();
	return bits;
}

/* Deliver one profile, if any.  Returns the ns until the next attempt. */
static uint64_t deliver(struct pesa_push *push)
{
	const char *url = push->options.sender.target.url;
	struct pesa_sent_result result;
	struct pesa_spool_entry entry;
	struct pesa_error *error;
	uint64_t wait = 0;
	void *profile;

	if (!pesa_spool_borrow(push->spool, pesa_wall_clock(), &entry, &profile, &error)) {
		if (error)
			say_error(push, error);
		return error ? 0 : WAIT_MOST;
	}
	result = pesa_sender_send(push->sender, &entry, profile, entry.bytes);
	free(profile);
	switch (result.sent) {
	case PESA_SENT_DELIVERED:
		if (push->backoff.failures)
			say(push, LOG_NOTICE, "push: %s takes profiles again", url);
		pesa_spool_remove(push->spool, &entry);
		pesa_backoff_succeeded(&push->backoff);
		pthread_mutex_lock(&push->lock);
		push->counts.sent++;
		push->counts.sent_bytes += entry.bytes;
		push->counts.last_sent = pesa_wall_clock();
		pthread_mutex_unlock(&push->lock);
		break;
	case PESA_SENT_REFUSED:
		if (push->options.sender.target.kind == PESA_STORE_CLICKHOUSE)
			pesa_spool_set_aside(push->spool, &entry);
		else
			pesa_spool_remove(push->spool, &entry);
		pesa_backoff_succeeded(&push->backoff);
		count(push, &push->counts.refused, 1);
		say(push, LOG_WARNING, "push: %s refused profile %s, %s: %s", url, entry.id,
		    push->options.sender.target.kind == PESA_STORE_CLICKHOUSE
			    ? "kept in the spool as refused-*"
			    : "dropped",
		    result.why);
		break;
	case PESA_SENT_FAILED:
		pesa_spool_return(push->spool, &entry);
		wait = pesa_backoff_failed(&push->backoff, random_bits(), result.retry_after);
		count(push, &push->counts.failures, 1);
		/* Log the first failure in a row, then with decreasing frequency. */
		if (!(push->backoff.failures & (push->backoff.failures - 1)))
			say(push, LOG_WARNING,
			    "push: %s: attempt %u failed, the next in %.1f s: %s", url,
			    push->backoff.failures, (double)wait / (double)NS_PER_SECOND,
			    result.why);
		break;
	case PESA_SENT_STOPPED:
		pesa_spool_return(push->spool, &entry);
		break;
	}
	return wait;
}

/* Log how many profiles the spool dropped since the last call. */
static void report_dropped(struct pesa_push *push, uint64_t *reported)
{
	struct pesa_spool_counts counts = pesa_spool_counts(push->spool);
	uint64_t dropped = counts.dropped_full + counts.dropped_old;

	if (dropped == *reported)
		return;
	say(push, LOG_WARNING,
	    "push: %s: %" PRIu64 " profiles dropped for want of room, %" PRIu64
	    " for their age; %" PRIu64 " wait (%" PRIu64 " bytes)",
	    push->options.spool, counts.dropped_full, counts.dropped_old, counts.entries,
	    counts.bytes);
	*reported = dropped;
}

static void *run_deliverer(void *context)
{
	struct pesa_push *push = context;
	uint64_t not_before = 0, reported = 0;

	while (!stopping(push)) {
		uint64_t now = pesa_monotonic();
		uint64_t wait = now < not_before ? not_before - now : deliver(push);

		if (now >= not_before && push->backoff.failures)
			not_before = pesa_monotonic() + wait;
		report_dropped(push, &reported);
		if (wait)
			pesa_sender_wait(push->sender, wait < WAIT_MOST ? wait : WAIT_MOST);
	}
	return NULL;
}

/* ---- From outside -------------------------------------------------------------------------- */

static void destroy(struct pesa_push *push)
{
	pesa_sender_free(push->sender);
	pesa_spool_close(push->spool);
	for (; push->count; push->count--) {
		free(push->pending[push->first].path);
		push->first = (push->first + 1) % PESA_PUSH_PENDING_MAX;
	}
	pthread_cond_destroy(&push->changed);
	pthread_mutex_destroy(&push->lock);
	free(push);
}

struct pesa_error *pesa_push_start(const struct pesa_push_options *options,
				   struct pesa_push **result)
{
	struct pesa_push *push = calloc(1, sizeof(*push));
	struct pesa_error *error;

	if (!push)
		return pesa_error_no_memory();
	push->options = *options;
	push->backoff = (struct pesa_backoff){options->retry_least, options->retry_most, 0};
	pthread_mutex_init(&push->lock, NULL);
	pthread_cond_init(&push->changed, NULL);
	error = pesa_sender_create(&options->sender, &push->sender);
	if (!error)
		error = pesa_spool_open(options->spool, &options->limits, pesa_wall_clock(),
					&push->spool);
	if (error) {
		destroy(push);
		return pesa_error_prefix(error, "push: ");
	}
	push->converting = !pthread_create(&push->converter, NULL, run_converter, push);
	push->delivering =
		push->converting && !pthread_create(&push->deliverer, NULL, run_deliverer, push);
	if (!push->delivering) {
		pesa_push_stop(push);
		return pesa_error_create(PESA_ERROR_SYSTEM, "push: cannot start a thread");
	}
	*result = push;
	return NULL;
}

void pesa_push_offer(struct pesa_push *push, const char *path, uint64_t from, uint64_t until)
{
	struct pending pending = {strdup(path), from, until};
	bool dropped = !pending.path;

	pthread_mutex_lock(&push->lock);
	push->counts.offered++;
	if (pending.path) {
		if (push->count == PESA_PUSH_PENDING_MAX) {
			dropped = true;
			free(push->pending[push->first].path);
			push->first = (push->first + 1) % PESA_PUSH_PENDING_MAX;
			push->count--;
		}
		push->pending[(push->first + push->count) % PESA_PUSH_PENDING_MAX] = pending;
		push->count++;
	}
	push->counts.dropped_pending += dropped;
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
	if (dropped)
		say(push, LOG_WARNING,
		    "push: conversion does not keep up, an interval is not sent");
}

struct pesa_push_counts pesa_push_counts(struct pesa_push *push)
{
	struct pesa_push_counts counts;

	pthread_mutex_lock(&push->lock);
	counts = push->counts;
	counts.pending = push->count;
	pthread_mutex_unlock(&push->lock);
	counts.spool = pesa_spool_counts(push->spool);
	return counts;
}

void pesa_push_stop(struct pesa_push *push)
{
	if (!push)
		return;
	pthread_mutex_lock(&push->lock);
	push->stop = true;
	if (push->count)
		say(push, LOG_WARNING, "push: %u intervals were not converted and are not sent",
		    push->count);
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
	pesa_sender_wake(push->sender, true);
	if (push->delivering)
		pthread_join(push->deliverer, NULL);
	if (push->converting)
		pthread_join(push->converter, NULL);
	destroy(push);
}
