/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of the hot code: loops, and the parts of functions outside of loops.
 *
 * Differences between measured and predicted are reported by region. region.c finds the loops in
 * the control flow; functions come from symbols.
 */
#ifndef DECODER_COMPARE_REGION_H
#define DECODER_COMPARE_REGION_H

#include "decoder/compare/code.h"

struct compare_region {
	uint32_t dso;
	uint64_t start, end;
	uint32_t head; /* its first node */
	bool loop;
};

struct compare_regions {
	struct compare_region *region;
	uint32_t count, room;
	uint32_t groups; /* basic blocks; no region boundary is inside one */
};

/* Sets `region` and `group` of every node. */
struct pesa_error *compare_regions_make(struct compare_code *code, struct pesa_symbols *symbols,
					struct compare_regions *regions);
void compare_regions_free(struct compare_regions *regions);

#endif
