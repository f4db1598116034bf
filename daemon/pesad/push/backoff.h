/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Back-off: how long to wait before the next attempt.
 *
 * After n failures in a row the wait is least * 2^n, at most `most`, minus a random part of up to
 * one half, so that many daemons do not retry at the same time when their store comes back.  A
 * longer wait that the server requested (Retry-After) is used in full, up to PESA_RETRY_AFTER_MOST,
 * so that a server cannot disable a daemon.
 */
#ifndef DAEMON_PESAD_PUSH_BACKOFF_H
#define DAEMON_PESAD_PUSH_BACKOFF_H

#include <stdint.h>

#define PESA_RETRY_SECONDS_MOST UINT64_C(3600)
#define PESA_RETRY_AFTER_MOST	(PESA_RETRY_SECONDS_MOST * 1000000000) /* ns */

struct pesa_backoff {
	uint64_t least, most;  /* ns */
	unsigned int failures; /* in a row */
};

/*
 * Nanoseconds to wait after a failure.  `random`: any 32 bits; `asked`: Retry-After in ns, 0: none.
 */
static inline uint64_t pesa_backoff_failed(struct pesa_backoff *backoff, uint32_t random,
					   uint64_t asked)
{
	uint64_t wait = backoff->least, half;

	for (unsigned int i = 0; i < backoff->failures && wait < backoff->most; i++)
		wait = wait > backoff->most / 2 ? backoff->most : wait * 2;
	if (wait > backoff->most)
		wait = backoff->most;
	backoff->failures++;
	/* the random part of one half, without overflow */
	half = wait / 2;
	wait -= (uint64_t)((double)half * ((double)random / 4294967296.0));
	if (asked > PESA_RETRY_AFTER_MOST)
		asked = PESA_RETRY_AFTER_MOST;
	return asked > wait ? asked : wait;
}

static inline void pesa_backoff_succeeded(struct pesa_backoff *backoff)
{
	backoff->failures = 0;
}

#endif
