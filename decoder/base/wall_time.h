/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Points in time as people and names of files write them; ns since 1970. */
#ifndef DECODER_BASE_WALL_TIME_H
#define DECODER_BASE_WALL_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Read a point in time: "2026-11-21 19:43", with seconds, or the date or the time of day alone, in
 * local time or, with a Z at its end, in UTC; or a time before `now`, "-90s", "-10min", "-2h", "-1d".
 * false: it is none.
 */
bool wall_time_read(const char *text, int64_t now, int64_t *time);

/* A span of time. */
struct wall_time_range {
	bool has_since, has_until; /* else it has no beginning, no end */
	int64_t since, until;
};

/* Whether something from `begin` to `end` is in it, at least in part. */
bool wall_time_overlaps(const struct wall_time_range *range, int64_t begin, int64_t end);

/* When an interval of pesad's store began, from the name of its file,
 * "pesa-20261121T194313.250Z.data"; false: another name. */
bool wall_time_of_interval(const char *name, int64_t *begin);

#endif
