/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regions of the hot code: loops, and what of functions is in none.
 */
#ifndef DECODER_COMPARE_REGION_H
#define DECODER_COMPARE_REGION_H

#include "decoder/compare/code.h"

struct compare_region {
	uint32_t dso;
	uint64_t start, end;
	uint32_t head; /* node: where it begins */
	bool loop;
};

struct compare_regions {
	struct compare_region *region;
	uint32_t count, room;
	uint32_t groups; /* straight pieces of code, which no region cuts */
};

/* Fills in `region` and `group` of every node. */
struct pesa_error *compare_regions_make(struct compare_code *code, struct pesa_symbols *symbols,
					struct compare_regions *regions);
void compare_regions_free(struct compare_regions *regions);

#endif
