/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals that have ended: what the http worker knows of the collector's files.
 *
 * The worker's first thread adds each interval that the collector tells of; threads that answer a
 * request wait for one, and ask the collector to end one when it does not end by itself.
 */
#ifndef DAEMON_PESAD_INTERVALS_H
#define DAEMON_PESAD_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/worker.h"

#define PESAD_INTERVALS_KEPT 128u

struct pesad_intervals;

/* `channel` is where cuts are asked for.  NULL: out of memory. */
struct pesad_intervals *pesad_intervals_create(int channel);
void pesad_intervals_free(struct pesad_intervals *intervals);
void pesad_intervals_add(struct pesad_intervals *intervals, const struct pesad_message *message);
/* Every wait ends, also those that are begun later. */
void pesad_intervals_stop(struct pesad_intervals *intervals);

/*
 * Wait for an interval that ends at `moment` (monotonic, ns) or behind it.  What is under way then
 * is cut.  false: it was stopped, or nothing came within `patience` ns of the moment.
 */
bool pesad_intervals_wait(struct pesad_intervals *intervals, uint64_t moment, uint64_t patience,
			  struct pesad_message *message);
/*
 * Wait for the oldest interval that is known with a serial number above `after`; it is cut at
 * `moment` if it has not ended by then.  `after` 0: one that ends from now on.
 */
bool pesad_intervals_wait_after(struct pesad_intervals *intervals, uint32_t after, uint64_t moment,
				uint64_t patience, struct pesad_message *message);
/* A known interval; false: it is not known (any more). */
bool pesad_intervals_find(struct pesad_intervals *intervals, uint32_t serial,
			  struct pesad_message *message);

#endif
