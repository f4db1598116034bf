/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The private caches and TLBs of a hart; see memory.c for what is modelled.
 *
 * All cycles are the hart's own.  Virtual addresses are used as physical ones in user mode.
 */
#ifndef TOOLS_VCORE_MEMORY_MEMORY_H
#define TOOLS_VCORE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"
#include "daemon/vcore/channel.h"
#include "decoder/core/core.h"

struct memory;
struct shared;

/* The result of an access. */
struct access {
	uint64_t ready; /* cycle in which the data is available */
	bool cache_miss, tlb_miss, l2_miss, llc_miss, walk;
};

/* Event counts go to `counters`. */
struct pesa_error *memory_create(const struct pesa_core *core, struct vcore_counters *counters,
				 struct shared *shared, struct memory **memory);
void memory_free(struct memory *memory);
/* In the child after a fork: no other hart shares the last level. */
void memory_refork(struct memory *memory);
/*
 * Untimed accesses change what the caches and TLBs hold, and nothing that takes time: what they
 * fetch is there at once, and no MSHR, page walker or memory bandwidth is taken.  Their `cycle` is
 * any cycle after all timed ones.
 */
void memory_set_untimed(struct memory *memory, bool untimed);
/*
 * Before the hart continues: apply what other harts did to its lines.  Time of the process = cycle
 * of the hart + `offset`.
 */
void memory_resume(struct memory *memory, uint64_t offset);
/* Translate a data address in `cycle`; returns the cycles that it takes. */
uint64_t memory_translate(struct memory *memory, uint64_t address, uint64_t cycle,
			  struct access *access);
/* Access one line in `cycle`: data, or instructions including their translation. */
void memory_data(struct memory *memory, uint64_t address, uint64_t cycle, bool store,
		 struct access *access);
void memory_fetch(struct memory *memory, uint64_t address, uint64_t cycle, struct access *access);
/* Bring the line of a data address and its page in `cycle` as if they had been there already. */
void memory_bring(struct memory *memory, uint64_t address, uint64_t cycle);
/*
 * Fast paths in which everything hits.  On false, or 0 instead of the cycle in which the data is
 * available, nothing has changed.  memory_read_hit() includes the translation.
 */
bool memory_translate_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_read_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_write_hit(struct memory *memory, uint64_t address, uint64_t cycle);
/* Both memory_translate_hit() and memory_write_hit(). */
bool memory_store_hit(struct memory *memory, uint64_t address, uint64_t cycle);
bool memory_fetch_hit(struct memory *memory, uint64_t address, uint64_t cycle);

#endif
