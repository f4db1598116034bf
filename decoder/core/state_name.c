// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the states of a cycle. */
#include "pesa/walk.h"

const char *pesa_state_name(unsigned int state)
{
	static const char *const names[PESA_PROFILE_STATES] = {
		[PESA_STATE_RETIRING] = "retiring", [PESA_STATE_STALLED] = "stalled",
		[PESA_STATE_FLUSHED] = "flushed",   [PESA_STATE_DRAINED] = "drained",
		[PESA_STATE_UNKNOWN] = "unknown",
	};

	return names[state < PESA_PROFILE_STATES ? state : PESA_STATE_UNKNOWN];
}
