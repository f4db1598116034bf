/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Caches and TLBs of a hart. */
#ifndef TOOLS_VCORE_MEMORY_MEMORY_H
#define TOOLS_VCORE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/vcore/channel.h"
#include "decoder/core/core.h"

struct memory;
struct shared;

/* What an access met. */
struct access {
	uint64_t ready; /* cycle in which the data is there */
	bool cache_miss, tlb_miss, l2_miss, llc_miss, walk;
};

/* Lookups are counted in `counters`. */
struct memory *memory_create(const struct pesa_core *core, struct vcore_counters *counters,
			     struct shared *shared);
void memory_free(struct memory *memory);
/* In the child after fork: no other hart shares anything with this one. */
void memory_refork(struct memory *memory);
/* Before the hart goes on: what other harts did to its lines.  A cycle of the hart + `offset` is a
 * time of the process. */
void memory_resume(struct memory *memory, uint64_t offset);
/* Translate a data address in `cycle`; returns the cycles that it adds. */
uint64_t memory_translate(struct memory *memory, uint64_t address, uint64_t cycle,
			  struct access *access);
/* Access one line in `cycle`: data, and instructions with their translation. */
void memory_data(struct memory *memory, uint64_t address, uint64_t cycle, bool store,
		 struct access *access);
void memory_fetch(struct memory *memory, uint64_t address, uint64_t cycle, struct access *access);
/* What of these most are: all is there that they need.  Returns false, or 0 instead of the cycle in
 * which the data is there: it is not so, and nothing has changed.  A read is translated as well. */
bool memory_translate_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_read_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_write_hit(struct memory *memory, uint64_t address, uint64_t cycle);
bool memory_fetch_hit(struct memory *memory, uint64_t address, uint64_t cycle);

#endif
