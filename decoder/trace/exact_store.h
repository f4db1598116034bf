/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An exact profile that is being made: cycles of each static instruction by state, group and cause,
 * and its transfers.  Counts of cycles, not shares; they are multiplied out when it is written.
 *
 * Entries stay where they are until the store is freed.
 */
#ifndef DECODER_TRACE_EXACT_STORE_H
#define DECODER_TRACE_EXACT_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/pipeline_trace.h"

#define EXACT_PLAIN 8u /* retired as one of up to so many with no cause: an array */

struct exact_node {
	uint32_t next; /* node + 1, 0: none */
	uint32_t key;  /* of a bucket */
	uint64_t target, count;
};

struct exact_insn {
	uint64_t pc;
	uint64_t plain[EXACT_PLAIN];
	uint32_t buckets, transfers; /* first node + 1 */
	/* what the text says of it */
	bool asked, serialises;
	uint8_t status; /* enum pesa_text_status */
	struct pesa_text_insn text;
};

struct exact_store {
	struct exact_insn **chunk;
	uint32_t *slot; /* hash of entry + 1 */
	struct exact_node *node;
	size_t count, chunks, slots, nodes, node_room;
};

void exact_store_free(struct exact_store *store);
/* The entry of an instruction, made when there is none; NULL: out of memory. */
struct exact_insn *exact_store_get(struct exact_store *store, uint64_t pc);
/* So many cycles; false: out of memory. */
bool exact_store_add(struct exact_store *store, struct exact_insn *insn, unsigned int state,
		     unsigned int group, uint16_t cause, uint64_t cycles);
bool exact_store_transfer(struct exact_store *store, struct exact_insn *insn, uint64_t target);
struct pesa_error *
exact_store_each(const struct exact_store *store,
		 struct pesa_error *(*emit)(void *context, const struct pesa_pipeline_exact *exact),
		 void *context);

#endif
