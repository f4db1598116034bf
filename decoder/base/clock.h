/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's clocks, in ns.  Durations are measured by the monotonic clock; the wall clock is for
 * file names and for times shown to users.
 */
#ifndef DECODER_BASE_CLOCK_H
#define DECODER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t pesa_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t pesa_monotonic(void)
{
	return pesa_clock(CLOCK_MONOTONIC);
}

/* Since 1970. */
static inline uint64_t pesa_wall_clock(void)
{
	return pesa_clock(CLOCK_REALTIME);
}

#endif
