// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals that have ended.  See intervals.h. */
#include "daemon/pesad/intervals.h"

#include <pthread.h>
#include <stdlib.h>

#include "daemon/clock.h"

#define NS_PER_SECOND UINT64_C(1000000000)

struct pesad_intervals {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int channel;
	bool stop;
	struct pesad_message *kept; /* a ring of PESAD_INTERVALS_KEPT */
	size_t first, count;
};

struct pesad_intervals *pesad_intervals_create(int channel)
{
	struct pesad_intervals *intervals = calloc(1, sizeof(*intervals));
	pthread_condattr_t attributes;

	if (!intervals)
		return NULL;
	intervals->kept = calloc(PESAD_INTERVALS_KEPT, sizeof(*intervals->kept));
	if (!intervals->kept) {
		free(intervals);
		return NULL;
	}
	intervals->channel = channel;
	pthread_mutex_init(&intervals->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&intervals->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return intervals;
}

void pesad_intervals_free(struct pesad_intervals *intervals)
{
	if (!intervals)
		return;
	pthread_cond_destroy(&intervals->changed);
	pthread_mutex_destroy(&intervals->lock);
	free(intervals->kept);
	free(intervals);
}

void pesad_intervals_add(struct pesad_intervals *intervals, const struct pesad_message *message)
{
	pthread_mutex_lock(&intervals->lock);
	if (intervals->count == PESAD_INTERVALS_KEPT) {
		intervals->first = (intervals->first + 1) % PESAD_INTERVALS_KEPT;
		intervals->count--;
	}
	intervals->kept[(intervals->first + intervals->count) % PESAD_INTERVALS_KEPT] = *message;
	intervals->count++;
	pthread_cond_broadcast(&intervals->changed);
	pthread_mutex_unlock(&intervals->lock);
}

void pesad_intervals_stop(struct pesad_intervals *intervals)
{
	pthread_mutex_lock(&intervals->lock);
	intervals->stop = true;
	pthread_cond_broadcast(&intervals->changed);
	pthread_mutex_unlock(&intervals->lock);
}

/* What is waited for: the oldest known interval of which both hold. */
struct wanted {
	uint64_t ends;	/* at or behind this moment */
	uint32_t after; /* serial number */
};

static const struct pesad_message *search(const struct pesad_intervals *intervals,
					  const struct wanted *wanted)
{
	for (size_t i = 0; i < intervals->count; i++) {
		const struct pesad_message *message =
			&intervals->kept[(intervals->first + i) % PESAD_INTERVALS_KEPT];

		if (message->serial > wanted->after && message->monotonic_until >= wanted->ends)
			return message;
	}
	return NULL;
}

static void wait_until(struct pesad_intervals *intervals, uint64_t moment)
{
	struct timespec deadline = {.tv_sec = (time_t)(moment / NS_PER_SECOND),
				    .tv_nsec = (long)(moment % NS_PER_SECOND)};

	pthread_cond_timedwait(&intervals->changed, &intervals->lock, &deadline);
}

static bool wait_for(struct pesad_intervals *intervals, const struct wanted *wanted,
		     uint64_t cut_at, uint64_t patience, struct pesad_message *message)
{
	const struct pesad_message *found = NULL;
	bool cut = false;

	pthread_mutex_lock(&intervals->lock);
	while (!intervals->stop && !(found = search(intervals, wanted))) {
		uint64_t now = pesa_monotonic();

		if (now < cut_at) {
			wait_until(intervals, cut_at);
		} else if (now - cut_at > patience) {
			break;
		} else if (!cut) {
			/* What comes of an error is that nothing follows. */
			pesa_error_free(pesad_channel_cut(intervals->channel));
			cut = true;
		} else {
			wait_until(intervals, cut_at + patience + 1);
		}
	}
	if (found)
		*message = *found;
	pthread_mutex_unlock(&intervals->lock);
	return found;
}

bool pesad_intervals_wait(struct pesad_intervals *intervals, uint64_t moment, uint64_t patience,
			  struct pesad_message *message)
{
	struct wanted wanted = {.ends = moment};

	return wait_for(intervals, &wanted, moment, patience, message);
}

bool pesad_intervals_wait_after(struct pesad_intervals *intervals, uint32_t after, uint64_t moment,
				uint64_t patience, struct pesad_message *message)
{
	struct wanted wanted = {.ends = after ? 0 : pesa_monotonic(), .after = after};

	return wait_for(intervals, &wanted, moment, patience, message);
}

bool pesad_intervals_find(struct pesad_intervals *intervals, uint32_t serial,
			  struct pesad_message *message)
{
	struct wanted wanted = {.after = serial - 1};
	const struct pesad_message *found;

	pthread_mutex_lock(&intervals->lock);
	found = search(intervals, &wanted);
	if (found)
		*message = *found;
	pthread_mutex_unlock(&intervals->lock);
	return found && message->serial == serial;
}
