/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the golden reference of a process to exact records.
 *
 * An entry becomes one exact record, or several if its lists do not fit into one perf.data record
 * (a dispatch loop can have thousands of targets): readers add up records of the same address.
 */
#ifndef DAEMON_VCORE_EXACT_H
#define DAEMON_VCORE_EXACT_H

#include <stdbool.h>

#include "daemon/vcore/channel.h"

#define VCORE_EXACT_MAX 32768 /* maximum bytes of a record */

struct vcore_exact {
	unsigned char bytes[VCORE_EXACT_MAX];
	uint32_t size;
	uint64_t pc, weight, executions;
};

typedef struct pesa_error *(*vcore_exact_emit)(void *context, const struct vcore_exact *exact);

/*
 * Emit the entries with an index below `entries` whose pc is in [start, end) and that have counts,
 * and zero them.  They are emitted in order of pc, because the order of entries depends on the
 * scheduling of the emulator's threads.  `width`: retire width of the core; `scratch`: the caller's
 * memory.
 */
struct pesa_error *vcore_exact_take(struct vcore_region *region, uint32_t width, uint32_t entries,
				    uint64_t start, uint64_t end, struct vcore_exact *scratch,
				    vcore_exact_emit emit, void *context);

#endif
