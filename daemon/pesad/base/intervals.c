// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals and their pieces.  See intervals.h. */
#include "daemon/pesad/base/intervals.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/clock.h"

#define NS_PER_SECOND UINT64_C(1000000000)

struct pesad_intervals {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int channel;
	bool stop;
	struct pesad_piece *kept; /* a ring of PESAD_INTERVALS_KEPT */
	size_t first, count;
	struct pesad_message last; /* last message; serial 0: none */
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

static struct pesad_piece *kept(const struct pesad_intervals *intervals, size_t index)
{
	return &intervals->kept[(intervals->first + index) % PESAD_INTERVALS_KEPT];
}

/* The piece between the last message and this one. */
static void make_piece(const struct pesad_intervals *intervals, const struct pesad_message *message,
		       struct pesad_piece *piece)
{
	const struct pesad_message *last = &intervals->last;

	*piece = (struct pesad_piece){
		.serial = message->serial,
		.interval = message->interval,
		.from = message->from,
		.until = message->until,
		.monotonic_from = message->monotonic_from,
		.monotonic_until = message->monotonic_until,
		.samples = message->samples,
		.end = message->bytes,
		.ended = message->kind == PESAD_MESSAGE_INTERVAL,
	};
	memcpy(piece->path, message->path, strlen(message->path) + 1);
	if (!last->serial || last->interval != message->interval)
		return;
	piece->from = last->until;
	piece->monotonic_from = last->monotonic_until;
	piece->begin = last->bytes;
	/* A file that could not be written has no samples. */
	piece->samples -= last->samples < piece->samples ? last->samples : piece->samples;
}

void pesad_intervals_add(struct pesad_intervals *intervals, const struct pesad_message *message)
{
	pthread_mutex_lock(&intervals->lock);
	if (intervals->count == PESAD_INTERVALS_KEPT) {
		intervals->first = (intervals->first + 1) % PESAD_INTERVALS_KEPT;
		intervals->count--;
	}
	make_piece(intervals, message, kept(intervals, intervals->count++));
	intervals->last = *message;
	/* The file has its final name now. */
	for (size_t i = 0; i < intervals->count && message->kind == PESAD_MESSAGE_INTERVAL; i++) {
		struct pesad_piece *piece = kept(intervals, i);

		if (piece->interval != message->interval)
			continue;
		memcpy(piece->path, message->path, strlen(message->path) + 1);
		piece->ended = true;
	}
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

/* Wait for the oldest known piece for which both conditions hold. */
struct wanted {
	uint64_t ends;	/* it ends at this time or later */
	uint32_t after; /* serial number */
};

static const struct pesad_piece *search(const struct pesad_intervals *intervals,
					const struct wanted *wanted)
{
	for (size_t i = 0; i < intervals->count; i++) {
		const struct pesad_piece *piece = kept(intervals, i);

		if (piece->serial > wanted->after && piece->monotonic_until >= wanted->ends)
			return piece;
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
		     uint64_t ask_at, uint64_t timeout, struct pesad_piece *piece)
{
	const struct pesad_piece *found = NULL;
	bool asked = false;

	pthread_mutex_lock(&intervals->lock);
	while (!intervals->stop && !(found = search(intervals, wanted))) {
		uint64_t now = pesa_monotonic();

		if (now < ask_at) {
			wait_until(intervals, ask_at);
		} else if (now - ask_at > timeout) {
			break;
		} else if (!asked) {
			/* After an error no message follows, so the wait times out. */
			pesa_error_free(pesad_channel_flush(intervals->channel));
			asked = true;
		} else {
			wait_until(intervals, ask_at + timeout + 1);
		}
	}
	if (found)
		*piece = *found;
	pthread_mutex_unlock(&intervals->lock);
	return found;
}

bool pesad_intervals_wait(struct pesad_intervals *intervals, uint64_t moment, uint64_t timeout,
			  struct pesad_piece *piece)
{
	struct wanted wanted = {.ends = moment};

	return wait_for(intervals, &wanted, moment, timeout, piece);
}

bool pesad_intervals_wait_after(struct pesad_intervals *intervals, uint32_t after, uint64_t moment,
				uint64_t timeout, struct pesad_piece *piece)
{
	struct wanted wanted = {.ends = after ? 0 : pesa_monotonic(), .after = after};

	return wait_for(intervals, &wanted, moment, timeout, piece);
}

bool pesad_intervals_find(struct pesad_intervals *intervals, uint32_t serial,
			  struct pesad_piece *piece)
{
	struct wanted wanted = {.after = serial - 1};
	const struct pesad_piece *found;

	pthread_mutex_lock(&intervals->lock);
	found = search(intervals, &wanted);
	if (found)
		*piece = *found;
	pthread_mutex_unlock(&intervals->lock);
	return found && piece->serial == serial;
}

bool pesad_intervals_find_again(struct pesad_intervals *intervals, uint64_t timeout,
				struct pesad_piece *piece)
{
	uint64_t until = pesa_monotonic() + timeout;
	struct wanted wanted = {.after = piece->serial - 1};
	const struct pesad_piece *found;
	bool again = false;

	if (piece->ended)
		return false;
	pthread_mutex_lock(&intervals->lock);
	for (;;) {
		found = search(intervals, &wanted);
		if (!found || found->serial != piece->serial || intervals->stop)
			break;
		again = found->ended;
		if (again || pesa_monotonic() >= until)
			break;
		wait_until(intervals, until);
	}
	if (again)
		*piece = *found;
	pthread_mutex_unlock(&intervals->lock);
	return again;
}
