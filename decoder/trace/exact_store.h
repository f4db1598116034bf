/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An exact profile under construction: cycles of each static instruction by state, group and cause,
 * and its transfers.  Counts are in cycles; they are converted to weights when the profile is
 * written.
 *
 * Entries do not move until the store is freed.
 */
#ifndef DECODER_TRACE_EXACT_STORE_H
#define DECODER_TRACE_EXACT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/pipeline_trace.h"

#define EXACT_PLAIN 8u /* array for retirement in a group of up to this size without causes */

struct exact_node {
	uint32_t next; /* node + 1, 0: none */
	uint32_t key;  /* of a bucket */
	uint64_t target, count;
};

struct exact_insn {
	uint64_t pc;
	uint64_t plain[EXACT_PLAIN];
	uint32_t buckets, transfers; /* first node + 1 */
	/* from the text */
	bool text_read, serialises;
	uint8_t status; /* enum pesa_text_status */
	struct pesa_text_insn text;
};

struct exact_store {
	struct exact_insn **chunk;
	uint32_t *slot; /* hash table of entry + 1 */
	struct exact_node *node;
	size_t count, chunks, slots, nodes, node_room;
};

void exact_store_free(struct exact_store *store);
/* The entry of an instruction, which is added if missing; NULL: out of memory. */
struct exact_insn *exact_store_get(struct exact_store *store, uint64_t pc);
/* Add cycles. */
struct pesa_error *exact_store_add(struct exact_store *store, struct exact_insn *insn,
				   unsigned int state, unsigned int group, uint16_t cause,
				   uint64_t cycles);
struct pesa_error *exact_store_transfer(struct exact_store *store, struct exact_insn *insn,
					uint64_t target);
struct pesa_error *
exact_store_each(const struct exact_store *store,
		 struct pesa_error *(*emit)(void *context, const struct pesa_pipeline_exact *exact),
		 void *context);

#endif
