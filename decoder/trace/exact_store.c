// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact profiles under construction: see exact_store.h. */
#include "decoder/trace/exact_store.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK	    1024u /* entries */
#define FIRST_SLOTS 4096u
#define FIRST_NODES 1024u

void exact_store_free(struct exact_store *store)
{
	for (size_t i = 0; i < store->chunks; i++)
		free(store->chunk[i]);
	free(store->chunk);
	free(store->slot);
	free(store->node);
	memset(store, 0, sizeof(*store));
}

static struct exact_insn *entry(const struct exact_store *store, size_t index)
{
	return &store->chunk[index / CHUNK][index % CHUNK];
}

static size_t place(const struct exact_store *store, uint64_t pc)
{
	return (pc * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (store->slots - 1);
}

static struct pesa_error *grow_slots(struct exact_store *store)
{
	size_t slots = store->slots ? 2 * store->slots : FIRST_SLOTS;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return pesa_error_no_memory();
	free(store->slot);
	store->slot = slot;
	store->slots = slots;
	for (size_t i = 0; i < store->count; i++) {
		size_t at = place(store, entry(store, i)->pc);

		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = (uint32_t)i + 1;
	}
	return NULL;
}

static struct pesa_error *grow_chunks(struct exact_store *store)
{
	struct exact_insn **chunk = realloc(store->chunk, (store->chunks + 1) * sizeof(*chunk));

	if (!chunk)
		return pesa_error_no_memory();
	store->chunk = chunk;
	chunk[store->chunks] = calloc(CHUNK, sizeof(**chunk));
	if (!chunk[store->chunks])
		return pesa_error_no_memory();
	store->chunks++;
	return NULL;
}

struct exact_insn *exact_store_get(struct exact_store *store, uint64_t pc)
{
	struct exact_insn *insn;
	size_t at;

	if (store->count * 2 >= store->slots && grow_slots(store))
		return NULL;
	for (at = place(store, pc); store->slot[at]; at = (at + 1) & (store->slots - 1)) {
		insn = entry(store, store->slot[at] - 1);
		if (insn->pc == pc)
			return insn;
	}
	if (store->count == store->chunks * CHUNK && grow_chunks(store))
		return NULL;
	insn = entry(store, store->count);
	insn->pc = pc;
	store->slot[at] = (uint32_t)++store->count;
	return insn;
}

/* Increment the node of the list with this key and target, which is added if missing. */
static struct pesa_error *count(struct exact_store *store, uint32_t *list, uint32_t key,
				uint64_t target, uint64_t by)
{
	struct exact_node *node;

	for (uint32_t number = *list; number; number = node->next) {
		node = &store->node[number - 1];
		if (node->key == key && node->target == target) {
			node->count += by;
			return NULL;
		}
	}
	if (store->nodes == store->node_room) {
		size_t room = store->node_room ? 2 * store->node_room : FIRST_NODES;

		node = realloc(store->node, room * sizeof(*node));
		if (!node)
			return pesa_error_no_memory();
		store->node = node;
		store->node_room = room;
	}
	store->node[store->nodes] = (struct exact_node){*list, key, target, by};
	*list = (uint32_t)++store->nodes;
	return NULL;
}

struct pesa_error *exact_store_add(struct exact_store *store, struct exact_insn *insn,
				   unsigned int state, unsigned int group, uint16_t cause,
				   uint64_t cycles)
{
	if (state == PESA_STATE_RETIRING && !cause && group <= EXACT_PLAIN) {
		insn->plain[group - 1] += cycles;
		return NULL;
	}
	return count(store, &insn->buckets, state << 24 | group << 16 | cause, 0, cycles);
}

struct pesa_error *exact_store_transfer(struct exact_store *store, struct exact_insn *insn,
					uint64_t target)
{
	return count(store, &insn->transfers, 0, target, 1);
}

/* ---- Reading it out -------------------------------------------------------------------------- */

struct scratch {
	struct pesa_exact_bucket *bucket;
	struct pesa_exact_transfer *transfer;
	size_t bucket_room, transfer_room;
};

static struct pesa_error *need(void **list, size_t *room, size_t wanted, size_t size)
{
	void *grown;

	if (wanted <= *room)
		return NULL;
	grown = realloc(*list, 2 * wanted * size);
	if (!grown)
		return pesa_error_no_memory();
	*list = grown;
	*room = 2 * wanted;
	return NULL;
}

static struct pesa_exact_bucket bucket_of(uint32_t state, uint32_t group, uint32_t cause,
					  uint64_t cycles)
{
	return (struct pesa_exact_bucket){
		.weight = cycles * (PESA_CYCLE / group),
		.count = cycles,
		.cause = (uint16_t)cause,
		.state = (uint8_t)state,
		.group = (uint8_t)group,
	};
}

static size_t length_of(const struct exact_store *store, uint32_t list)
{
	size_t length = 0;

	for (; list; list = store->node[list - 1].next)
		length++;
	return length;
}

static struct pesa_error *read_out(const struct exact_store *store, const struct exact_insn *insn,
				   struct scratch *scratch, struct pesa_pipeline_exact *exact)
{
	struct pesa_error *error;

	error = need((void **)&scratch->bucket, &scratch->bucket_room,
		     EXACT_PLAIN + length_of(store, insn->buckets), sizeof(*scratch->bucket));
	if (!error)
		error = need((void **)&scratch->transfer, &scratch->transfer_room,
			     1 + length_of(store, insn->transfers), sizeof(*scratch->transfer));
	if (error)
		return error;
	*exact = (struct pesa_pipeline_exact){
		.pc = insn->pc,
		.buckets = scratch->bucket,
		.transfers = scratch->transfer,
	};
	for (unsigned int i = 0; i < EXACT_PLAIN; i++) {
		if (!insn->plain[i])
			continue;
		scratch->bucket[exact->bucket_count++] =
			bucket_of(PESA_STATE_RETIRING, i + 1, 0, insn->plain[i]);
		exact->executions += insn->plain[i];
	}
	for (uint32_t number = insn->buckets; number; number = store->node[number - 1].next) {
		const struct exact_node *node = &store->node[number - 1];

		scratch->bucket[exact->bucket_count++] = bucket_of(
			node->key >> 24, node->key >> 16 & 0xff, node->key & 0xffff, node->count);
		if (node->key >> 24 == PESA_STATE_RETIRING)
			exact->executions += node->count;
	}
	for (uint32_t number = insn->transfers; number; number = store->node[number - 1].next) {
		const struct exact_node *node = &store->node[number - 1];

		scratch->transfer[exact->transfer_count++] =
			(struct pesa_exact_transfer){node->target, node->count};
	}
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct exact_insn *const *left = a, *const *right = b;

	return ((*left)->pc > (*right)->pc) - ((*left)->pc < (*right)->pc);
}

struct pesa_error *
exact_store_each(const struct exact_store *store,
		 struct pesa_error *(*emit)(void *context, const struct pesa_pipeline_exact *exact),
		 void *context)
{
	const struct exact_insn **sorted = malloc((store->count + 1) * sizeof(*sorted));
	struct pesa_error *error = sorted ? NULL : pesa_error_no_memory();
	struct pesa_pipeline_exact exact;
	struct scratch scratch = {0};

	for (size_t i = 0; !error && i < store->count; i++)
		sorted[i] = entry(store, i);
	if (!error)
		qsort(sorted, store->count, sizeof(*sorted), by_address);
	for (size_t i = 0; !error && i < store->count; i++) {
		error = read_out(store, sorted[i], &scratch, &exact);
		if (!error && (exact.bucket_count || exact.transfer_count))
			error = emit(context, &exact);
	}
	free(scratch.bucket);
	free(scratch.transfer);
	free(sorted);
	return error;
}
