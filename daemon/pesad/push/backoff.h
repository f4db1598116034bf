/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Back-off: how long to wait before the next attempt.
 *
 * The n-th failure in a row waits least * 2^n, at most `most`, of which a random part of up to one
 * half is taken off, so that a thousand daemons whose store came back do not all knock at once.
 * What the server itself asked for (Retry-After) is waited for in full where it is longer, up to
 * PESA_RETRY_AFTER_MOST: a server must not be able to switch a daemon off.
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

/* Nanoseconds to wait after a failure.  `random`: any 32 bits; `asked`: ns, 0: the server asked for
 * nothing. */
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
