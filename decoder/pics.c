/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Per-instruction cycle stacks, added up: see profile_private.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile_private.h"

#define NONE UINT32_MAX

struct node {
	uint64_t address;
	uint32_t dso;
	uint32_t bucket, edge; /* heads of lists in the pools */
	struct pics_sums sums;
};

struct bucket_node {
	uint64_t weight, samples;
	uint32_t next;
	uint16_t cause;
	uint8_t state, group;
};

struct edge_node {
	uint64_t target, count;
	uint32_t target_dso, next;
};

struct pool {
	void *items;
	uint32_t count, capacity;
};

struct pics {
	struct pool nodes, buckets, edges;
	uint32_t *slots; /* index of a node or NONE; a power of two of them, at most 3/4 in use */
	uint32_t slot_count;
	uint32_t last; /* the node found last */
};

struct pics *pics_create(void)
{
	struct pics *pics = calloc(1, sizeof(*pics));

	if (!pics)
		return NULL;
	pics->last = NONE;
	pics->slot_count = 1024;
	pics->slots = malloc(pics->slot_count * sizeof(*pics->slots));
	if (!pics->slots) {
		free(pics);
		return NULL;
	}
	memset(pics->slots, 0xff, pics->slot_count * sizeof(*pics->slots));
	return pics;
}

void pics_free(struct pics *pics)
{
	if (!pics)
		return;
	free(pics->nodes.items);
	free(pics->buckets.items);
	free(pics->edges.items);
	free(pics->slots);
	free(pics);
}

/* The index of a new, zeroed item, or NONE. */
static uint32_t pool_add(struct pool *pool, size_t size)
{
	if (pool->count == pool->capacity) {
		uint32_t capacity = pool->capacity ? 2 * pool->capacity : 256;
		void *items =
			pool->capacity > NONE / 4 ? NULL : realloc(pool->items, capacity * size);

		if (!items)
			return NONE;
		pool->items = items;
		pool->capacity = capacity;
	}
	memset((char *)pool->items + pool->count * size, 0, size);
	return pool->count++;
}

static struct node *node_at(const struct pics *pics, uint32_t index)
{
	return &((struct node *)pics->nodes.items)[index];
}

static uint32_t hash(uint32_t dso, uint64_t address)
{
	uint64_t mixed = (address ^ ((uint64_t)dso << 48)) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(mixed >> 32);
}

static bool grow(struct pics *pics)
{
	uint32_t slot_count = 2 * pics->slot_count;
	uint32_t *slots = malloc(slot_count * sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, slot_count * sizeof(*slots));
	for (uint32_t i = 0; i < pics->nodes.count; i++) {
		const struct node *node = node_at(pics, i);
		uint32_t slot = hash(node->dso, node->address) & (slot_count - 1);

		while (slots[slot] != NONE)
			slot = (slot + 1) & (slot_count - 1);
		slots[slot] = i;
	}
	free(pics->slots);
	pics->slots = slots;
	pics->slot_count = slot_count;
	return true;
}

static struct node *node_get(struct pics *pics, uint32_t dso, uint64_t address)
{
	uint32_t slot, index;
	struct node *node;

	if (pics->last != NONE) {
		node = node_at(pics, pics->last);
		if (node->address == address && node->dso == dso)
			return node;
	}
	if (pics->nodes.count >= pics->slot_count / 4 * 3 && !grow(pics))
		return NULL;
	slot = hash(dso, address) & (pics->slot_count - 1);
	for (; pics->slots[slot] != NONE; slot = (slot + 1) & (pics->slot_count - 1)) {
		node = node_at(pics, pics->slots[slot]);
		if (node->address == address && node->dso == dso) {
			pics->last = pics->slots[slot];
			return node;
		}
	}
	index = pool_add(&pics->nodes, sizeof(*node));
	if (index == NONE)
		return NULL;
	pics->slots[slot] = index;
	pics->last = index;
	node = node_at(pics, index);
	node->address = address;
	node->dso = dso;
	node->bucket = NONE;
	node->edge = NONE;
	return node;
}

bool pics_add(struct pics *pics, uint32_t dso, uint64_t address, const struct pics_sums *sums)
{
	struct node *node = node_get(pics, dso, address);

	if (!node)
		return false;
	node->sums.weight += sums->weight;
	node->sums.executions += sums->executions;
	node->sums.retired_samples += sums->retired_samples;
	node->sums.samples += sums->samples;
	node->sums.transfers_known += sums->transfers_known;
	node->sums.transfers_taken += sums->transfers_taken;
	node->sums.weight_squared += sums->weight_squared;
	node->sums.weight_times_retired += sums->weight_times_retired;
	node->sums.retired_squared += sums->retired_squared;
	return true;
}

bool pics_add_bucket(struct pics *pics, uint32_t dso, uint64_t address, uint8_t state,
		     uint16_t cause, uint8_t group, uint64_t weight, uint64_t samples)
{
	struct node *node = node_get(pics, dso, address);
	struct bucket_node *buckets = pics->buckets.items;
	uint32_t index;

	if (!node)
		return false;
	for (index = node->bucket; index != NONE; index = buckets[index].next)
		if (buckets[index].state == state && buckets[index].cause == cause &&
		    buckets[index].group == group)
			break;
	if (index == NONE) {
		index = pool_add(&pics->buckets, sizeof(*buckets));
		if (index == NONE)
			return false;
		buckets = pics->buckets.items;
		buckets[index] = (struct bucket_node){
			.next = node->bucket, .cause = cause, .state = state, .group = group};
		node->bucket = index;
	}
	buckets[index].weight += weight;
	buckets[index].samples += samples;
	return true;
}

bool pics_add_edge(struct pics *pics, uint32_t dso, uint64_t address, uint32_t target_dso,
		   uint64_t target, uint64_t count)
{
	struct node *node = node_get(pics, dso, address);
	struct edge_node *edges = pics->edges.items;
	uint32_t index;

	if (!node)
		return false;
	for (index = node->edge; index != NONE; index = edges[index].next)
		if (edges[index].target == target && edges[index].target_dso == target_dso)
			break;
	if (index == NONE) {
		index = pool_add(&pics->edges, sizeof(*edges));
		if (index == NONE)
			return false;
		edges = pics->edges.items;
		edges[index] = (struct edge_node){
			.target = target, .target_dso = target_dso, .next = node->edge};
		node->edge = index;
	}
	edges[index].count += count;
	return true;
}

/* ---- The finished table ---------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int by_key(const void *left, const void *right)
{
	const struct bucket_node *a = left, *b = right;

	if (a->state != b->state)
		return a->state - b->state;
	if (a->cause != b->cause)
		return a->cause - b->cause;
	return a->group - b->group;
}

static int by_weight(const void *left, const void *right)
{
	const struct pesa_bucket *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	if (a->state != b->state)
		return a->state - b->state;
	return a->cause - b->cause;
}

static int by_count(const void *left, const void *right)
{
	const struct pesa_edge *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->target_dso != b->target_dso)
		return a->target_dso < b->target_dso ? -1 : 1;
	return (a->target > b->target) - (a->target < b->target);
}

/* Where the next buckets, shares and edges go. */
struct tail {
	struct pesa_bucket *bucket;
	struct pesa_share *share;
	struct pesa_edge *edge;
};

/* Fold a node's buckets: those that differ in the group only become one with shares. */
static void finish_buckets(const struct pics *pics, const struct node *node,
			   struct bucket_node *scratch, struct pesa_instruction *instruction,
			   struct tail *tail)
{
	const struct bucket_node *buckets = pics->buckets.items;
	unsigned int count = 0;

	for (uint32_t index = node->bucket; index != NONE; index = buckets[index].next)
		scratch[count++] = buckets[index];
	qsort(scratch, count, sizeof(*scratch), by_key);
	instruction->bucket = tail->bucket;
	for (unsigned int i = 0; i < count; i++) {
		struct pesa_bucket *bucket = tail->bucket - 1;

		if (!i || scratch[i - 1].state != scratch[i].state ||
		    scratch[i - 1].cause != scratch[i].cause) {
			bucket = tail->bucket++;
			*bucket = (struct pesa_bucket){.state = scratch[i].state,
						       .cause = scratch[i].cause,
						       .share = tail->share};
			instruction->buckets++;
		}
		bucket->weight += scratch[i].weight;
		bucket->samples += scratch[i].samples;
		if (scratch[i].group) {
			*tail->share++ = (struct pesa_share){.group = scratch[i].group,
							     .cycles = scratch[i].samples};
			bucket->shares++;
		}
	}
	qsort(tail->bucket - instruction->buckets, instruction->buckets, sizeof(*tail->bucket),
	      by_weight);
}

static void finish_edges(const struct pics *pics, const struct node *node,
			 struct pesa_instruction *instruction, struct tail *tail)
{
	const struct edge_node *edges = pics->edges.items;

	instruction->edge = tail->edge;
	for (uint32_t index = node->edge; index != NONE; index = edges[index].next) {
		*tail->edge++ = (struct pesa_edge){.target = edges[index].target,
						   .target_dso = edges[index].target_dso,
						   .count = edges[index].count};
		instruction->edges++;
	}
	qsort(tail->edge - instruction->edges, instruction->edges, sizeof(*tail->edge), by_count);
}

bool pics_finish(struct pics *pics, struct pics_table *table)
{
	uint32_t count = pics->nodes.count, buckets = pics->buckets.count,
		 edges = pics->edges.count;
	struct bucket_node *scratch = malloc((buckets + 1) * sizeof(*scratch));
	struct node *nodes = pics->nodes.items;
	struct tail tail;

	*table = (struct pics_table){
		.instruction = calloc(count + 1, sizeof(*table->instruction)),
		.buckets = calloc(buckets + 1, sizeof(*table->buckets)),
		.shares = calloc(buckets + 1, sizeof(*table->shares)),
		.edges = calloc(edges + 1, sizeof(*table->edges)),
		.count = count,
	};
	tail = (struct tail){table->buckets, table->shares, table->edges};
	if (!scratch || !table->instruction || !table->buckets || !table->shares || !table->edges) {
		free(scratch);
		pics_free(pics);
		return false;
	}
	if (count)
		qsort(nodes, count, sizeof(*nodes), by_place);
	for (uint32_t i = 0; i < count; i++) {
		struct pesa_instruction *instruction = &table->instruction[i];
		const struct pics_sums *sums = &nodes[i].sums;

		*instruction = (struct pesa_instruction){
			.dso = nodes[i].dso,
			.address = nodes[i].address,
			.weight = sums->weight,
			.executions = sums->executions,
			.retired_samples = sums->retired_samples,
			.samples = sums->samples,
			.transfers_known = sums->transfers_known,
			.transfers_taken = sums->transfers_taken,
			.weight_squared = sums->weight_squared,
			.weight_times_retired = sums->weight_times_retired,
			.retired_squared = sums->retired_squared,
		};
		finish_buckets(pics, &nodes[i], scratch, instruction, &tail);
		finish_edges(pics, &nodes[i], instruction, &tail);
	}
	free(scratch);
	pics_free(pics);
	return true;
}
