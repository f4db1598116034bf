/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many processors this process may use. */
#ifndef DECODER_BASE_PROCESSORS_H
#define DECODER_BASE_PROCESSORS_H

#include <sched.h>

/* At least 1, which it is where it cannot be told. */
static inline unsigned int processors_allowed(void)
{
	cpu_set_t allowed;
	int count = sched_getaffinity(0, sizeof(allowed), &allowed) ? 1 : CPU_COUNT(&allowed);

	return count > 1 ? (unsigned int)count : 1;
}

#endif
