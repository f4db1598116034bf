// SPDX-License-Identifier: GPL-2.0-or-later
/* The profile store: see store.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/store.h"

#define NONE UINT32_MAX

struct instruction {
	uint64_t address;
	uint32_t dso;
	uint32_t first_bucket, first_edge; /* NONE: end of list */
	uint64_t weight, executions, retired_samples, samples;
	uint64_t transfers_known, transfers_taken, mispredicted[2];
	double weight_squared, weight_times_retired, retired_squared;
};

struct bucket {
	uint64_t weight, samples;
	uint32_t instruction, next;
	uint16_t cause;
	uint8_t state, group; /* group 0: from samples */
};

struct edge {
	uint64_t target, count;
	uint32_t target_dso, next;
	uint32_t instruction;
};

/* Hash table of item numbers: open addressing, at most half full, NONE: free slot. */
struct index {
	uint32_t *slot, mask;
};

struct pesa_profile_store {
	struct instruction *instruction;
	uint32_t instructions, instruction_room;
	struct bucket *bucket;
	uint32_t buckets, bucket_room, exact_buckets; /* exact_buckets: those with a group */
	struct edge *edge;
	uint32_t edges, edge_room;
	struct index by_address, by_bucket, by_edge;
};

#define FIRST_INDEX 1024u

static bool index_create(struct index *index, uint32_t size)
{
	index->slot = size ? malloc(size * sizeof(*index->slot)) : NULL;
	if (!index->slot)
		return false;
	memset(index->slot, 0xff, size * sizeof(*index->slot));
	index->mask = size - 1;
	return true;
}

static void index_put(struct index *index, uint32_t hash, uint32_t item)
{
	uint32_t at = hash & index->mask;

	while (index->slot[at] != NONE)
		at = (at + 1) & index->mask;
	index->slot[at] = item;
}

/* Add item `count` to an index that has `count` items.  Returns false if out of memory. */
static bool index_add(struct index *index, uint32_t count, const struct pesa_profile_store *store,
		      uint32_t (*hash_of)(const struct pesa_profile_store *store, uint32_t item))
{
	struct index grown;

	if (count >= index->mask / 2) {
		if (!index_create(&grown, (index->mask + 1) * 2))
			return false;
		for (uint32_t i = 0; i < count; i++)
			index_put(&grown, hash_of(store, i), i);
		free(index->slot);
		*index = grown;
	}
	index_put(index, hash_of(store, count), count);
	return true;
}

struct pesa_profile_store *pesa_profile_store_create(void)
{
	struct pesa_profile_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	if (!index_create(&store->by_address, FIRST_INDEX) ||
	    !index_create(&store->by_bucket, FIRST_INDEX) ||
	    !index_create(&store->by_edge, FIRST_INDEX)) {
		pesa_profile_store_free(store);
		return NULL;
	}
	return store;
}

void pesa_profile_store_free(struct pesa_profile_store *store)
{
	if (!store)
		return;
	free(store->instruction);
	free(store->bucket);
	free(store->edge);
	free(store->by_address.slot);
	free(store->by_bucket.slot);
	free(store->by_edge.slot);
	free(store);
}

/* Room for one more element of an array; false if out of memory or of 32-bit numbers. */
static bool reserve(void **array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t wanted;
	void *grown;

	if (count < *room)
		return true;
	if (*room >= NONE / 2)
		return false;
	wanted = *room ? *room + *room / 2 : 1024;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

static uint32_t hash(uint64_t first, uint64_t second)
{
	uint64_t mixed = (first ^ second << 48 ^ second >> 16) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32);
}

static uint32_t hash_instruction(const struct pesa_profile_store *store, uint32_t item)
{
	return hash(store->instruction[item].address, store->instruction[item].dso);
}

uint32_t pesa_profile_store_get(struct pesa_profile_store *store, uint32_t dso, uint64_t address)
{
	uint32_t mask = store->by_address.mask, at = hash(address, dso) & mask, item;

	for (; (item = store->by_address.slot[at]) != NONE; at = (at + 1) & mask)
		if (store->instruction[item].address == address &&
		    store->instruction[item].dso == dso)
			return item;
	if (!reserve((void **)&store->instruction, store->instructions, &store->instruction_room,
		     sizeof(*store->instruction)))
		return NONE;
	store->instruction[store->instructions] = (struct instruction){
		.address = address,
		.dso = dso,
		.first_bucket = NONE,
		.first_edge = NONE,
	};
	if (!index_add(&store->by_address, store->instructions, store, hash_instruction))
		return NONE;
	return store->instructions++;
}

static uint32_t hash_bucket_key(uint32_t instruction, uint8_t state, uint16_t cause, uint8_t group)
{
	return hash(instruction, (uint64_t)cause | (uint64_t)state << 10 | (uint64_t)group << 13);
}

static uint32_t hash_bucket(const struct pesa_profile_store *store, uint32_t item)
{
	const struct bucket *bucket = &store->bucket[item];

	return hash_bucket_key(bucket->instruction, bucket->state, bucket->cause, bucket->group);
}

static struct bucket *bucket_get(struct pesa_profile_store *store, uint32_t number, uint8_t state,
				 uint16_t cause, uint8_t group)
{
	uint32_t mask = store->by_bucket.mask, item;
	uint32_t at = hash_bucket_key(number, state, cause, group) & mask;
	struct bucket *bucket;

	for (; (item = store->by_bucket.slot[at]) != NONE; at = (at + 1) & mask) {
		bucket = &store->bucket[item];
		if (bucket->instruction == number && bucket->state == state &&
		    bucket->cause == cause && bucket->group == group)
			return bucket;
	}
	if (!reserve((void **)&store->bucket, store->buckets, &store->bucket_room,
		     sizeof(*store->bucket)))
		return NULL;
	bucket = &store->bucket[store->buckets];
	*bucket = (struct bucket){
		.instruction = number,
		.next = store->instruction[number].first_bucket,
		.state = state,
		.cause = cause,
		.group = group,
	};
	if (!index_add(&store->by_bucket, store->buckets, store, hash_bucket))
		return NULL;
	store->instruction[number].first_bucket = store->buckets++;
	store->exact_buckets += group > 0;
	return bucket;
}

bool pesa_profile_store_add(struct pesa_profile_store *store, uint32_t number,
			    const struct pesa_times *times, const struct pesa_part *parts,
			    unsigned int part_count, const struct pesa_retirements *retired)
{
	struct instruction *instruction = &store->instruction[number];
	uint32_t weight = 0;
	double fraction;

	for (unsigned int i = 0; i < part_count; i++) {
		struct bucket *bucket =
			bucket_get(store, number, parts[i].state, parts[i].cause, 0);

		if (!bucket)
			return false;
		bucket->weight += parts[i].weight * times->periods;
		bucket->samples += times->samples;
		weight += parts[i].weight;
	}
	fraction = (double)weight / PESA_CYCLE;
	instruction->weight += weight * times->periods;
	instruction->executions += retired->all * times->periods;
	instruction->retired_samples += retired->all * times->samples;
	if (weight)
		instruction->samples += times->samples;
	instruction->transfers_known += retired->transfers_known * times->samples;
	instruction->transfers_taken += retired->transfers_taken * times->samples;
	for (unsigned int i = 0; i < 2; i++)
		instruction->mispredicted[i] += retired->mispredicted[i] * times->samples;
	instruction->weight_squared += fraction * fraction * times->periods_squared;
	instruction->weight_times_retired += fraction * retired->all * times->periods_squared;
	instruction->retired_squared +=
		(double)retired->all * retired->all * times->periods_squared;
	return true;
}

static uint32_t hash_edge_key(uint32_t instruction, uint32_t dso, uint64_t target)
{
	return hash(target, instruction ^ (uint64_t)dso << 32);
}

static uint32_t hash_edge(const struct pesa_profile_store *store, uint32_t item)
{
	const struct edge *edge = &store->edge[item];

	return hash_edge_key(edge->instruction, edge->target_dso, edge->target);
}

bool pesa_profile_store_edge(struct pesa_profile_store *store, uint32_t number, uint32_t target_dso,
			     uint64_t target, uint64_t count)
{
	uint32_t mask = store->by_edge.mask, item;
	uint32_t at = hash_edge_key(number, target_dso, target) & mask;

	for (; (item = store->by_edge.slot[at]) != NONE; at = (at + 1) & mask) {
		struct edge *edge = &store->edge[item];

		if (edge->target != target || edge->target_dso != target_dso ||
		    edge->instruction != number)
			continue;
		edge->count += count;
		return true;
	}
	if (!reserve((void **)&store->edge, store->edges, &store->edge_room, sizeof(*store->edge)))
		return false;
	store->edge[store->edges] = (struct edge){
		.target = target,
		.count = count,
		.target_dso = target_dso,
		.instruction = number,
		.next = store->instruction[number].first_edge,
	};
	if (!index_add(&store->by_edge, store->edges, store, hash_edge))
		return false;
	store->instruction[number].first_edge = store->edges++;
	return true;
}

bool pesa_profile_store_exact(struct pesa_profile_store *store, uint32_t number,
			      const struct pesa_exact_bucket *exact)
{
	struct instruction *instruction = &store->instruction[number];
	struct bucket *bucket = bucket_get(store, number, exact->state, exact->cause, exact->group);

	if (!bucket)
		return false;
	bucket->weight += exact->weight;
	bucket->samples += exact->count;
	instruction->weight += exact->weight;
	instruction->samples += exact->count;
	return true;
}

void pesa_profile_store_executions(struct pesa_profile_store *store, uint32_t number,
				   uint64_t executions)
{
	store->instruction[number].executions += executions;
	store->instruction[number].retired_samples += executions;
}

void pesa_profile_store_taken(struct pesa_profile_store *store, uint32_t number, uint64_t known,
			      uint64_t taken)
{
	store->instruction[number].transfers_known += known;
	store->instruction[number].transfers_taken += taken;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

void pesa_profile_store_dsos(const struct pesa_profile_store *store, bool *used)
{
	for (uint32_t i = 0; i < store->instructions; i++)
		used[store->instruction[i].dso] = true;
	for (uint32_t i = 0; i < store->edges; i++)
		used[store->edge[i].target_dso] = true;
}

static int by_dso_and_address(const void *left, const void *right)
{
	const struct instruction *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Largest first; the order of equal ones does not depend on the order of the samples. */
static int bucket_order(const struct bucket *a, const struct bucket *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return a->cause < b->cause ? -1 : a->cause > b->cause;
}

static int by_state_and_cause(const void *left, const void *right)
{
	const struct bucket *a = left, *b = right;

	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	if (a->cause != b->cause)
		return a->cause < b->cause ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

static int by_count(const void *left, const void *right)
{
	const struct pesa_edge *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->target_dso != b->target_dso)
		return a->target_dso < b->target_dso ? -1 : 1;
	return a->target < b->target ? -1 : a->target > b->target;
}

/* Buckets that differ only in their group: scratch[first] up to scratch[first + groups]. */
struct folded {
	struct bucket sum;
	uint32_t first, groups;
};

static int by_weight(const void *left, const void *right)
{
	return bucket_order(&((const struct folded *)left)->sum,
			    &((const struct folded *)right)->sum);
}

/* An instruction has at most states * causes * groups buckets; more means a damaged store. */
struct scratch {
	struct bucket *bucket;
	struct folded *folded;
	uint32_t room;
};

static bool scratch_reserve(struct scratch *scratch, uint32_t count)
{
	struct bucket *bucket;
	struct folded *folded;

	if (count <= scratch->room)
		return true;
	bucket = realloc(scratch->bucket, count * 2 * sizeof(*bucket));
	if (!bucket)
		return false;
	scratch->bucket = bucket;
	folded = realloc(scratch->folded, count * 2 * sizeof(*folded));
	if (!folded)
		return false;
	scratch->folded = folded;
	scratch->room = count * 2;
	return true;
}

/* Move the buckets of one instruction into the arrays.  `buckets` and `shares` are the numbers of
 * elements stored so far. */
static bool finish_buckets(const struct pesa_profile_store *store,
			   const struct instruction *instruction, struct scratch *scratch,
			   struct pesa_profile_arrays *arrays, size_t *buckets, size_t *shares,
			   unsigned int *added)
{
	uint32_t count = 0, folds = 0;

	for (uint32_t i = instruction->first_bucket; i != NONE; i = store->bucket[i].next) {
		if (!scratch_reserve(scratch, count + 1))
			return false;
		scratch->bucket[count++] = store->bucket[i];
	}
	if (count)
		qsort(scratch->bucket, count, sizeof(*scratch->bucket), by_state_and_cause);
	for (uint32_t i = 0; i < count; i++) {
		const struct bucket *one = &scratch->bucket[i];
		struct folded *last = folds ? &scratch->folded[folds - 1] : NULL;

		if (last && last->sum.state == one->state && last->sum.cause == one->cause) {
			last->sum.weight += one->weight;
			last->sum.samples += one->samples;
			last->groups++;
		} else {
			scratch->folded[folds++] = (struct folded){*one, i, 1};
		}
	}
	if (folds)
		qsort(scratch->folded, folds, sizeof(*scratch->folded), by_weight);
	for (uint32_t i = 0; i < folds; i++) {
		const struct folded *folded = &scratch->folded[i];
		struct pesa_bucket *bucket = &arrays->bucket[*buckets];

		*bucket = (struct pesa_bucket){
			.state = folded->sum.state,
			.cause = folded->sum.cause,
			.weight = folded->sum.weight,
			.samples = folded->sum.samples,
		};
		for (uint32_t j = 0; j < folded->groups; j++) {
			const struct bucket *one = &scratch->bucket[folded->first + j];

			if (!one->group)
				continue;
			if (!bucket->shares++)
				bucket->share = &arrays->share[*shares];
			arrays->share[(*shares)++] = (struct pesa_share){one->group, one->samples};
		}
		(*buckets)++;
	}
	*added = folds;
	return true;
}

static unsigned int finish_edges(const struct pesa_profile_store *store,
				 const struct instruction *instruction, const uint32_t *renumber,
				 struct pesa_edge *edges)
{
	unsigned int count = 0;

	for (uint32_t i = instruction->first_edge; i != NONE; i = store->edge[i].next)
		edges[count++] = (struct pesa_edge){
			.target = store->edge[i].target,
			.target_dso = renumber[store->edge[i].target_dso],
			.count = store->edge[i].count,
		};
	if (count)
		qsort(edges, count, sizeof(*edges), by_count);
	return count;
}

static bool arrays_allocate(const struct pesa_profile_store *store,
			    struct pesa_profile_arrays *arrays)
{
	*arrays = (struct pesa_profile_arrays){
		.instruction = calloc(store->instructions + 1u, sizeof(*arrays->instruction)),
		.bucket = malloc((store->buckets + 1u) * sizeof(*arrays->bucket)),
		.edge = malloc((store->edges + 1u) * sizeof(*arrays->edge)),
		.share = malloc((store->exact_buckets + 1u) * sizeof(*arrays->share)),
	};
	return arrays->instruction && arrays->bucket && arrays->edge && arrays->share;
}

bool pesa_profile_store_finish(struct pesa_profile_store *store, const uint32_t *renumber,
			       struct pesa_profile_arrays *arrays)
{
	struct scratch scratch = {0};
	size_t buckets = 0, shares = 0, edges = 0;
	bool done = arrays_allocate(store, arrays);

	for (uint32_t i = 0; i < store->instructions; i++)
		store->instruction[i].dso = renumber[store->instruction[i].dso];
	if (store->instructions)
		qsort(store->instruction, store->instructions, sizeof(*store->instruction),
		      by_dso_and_address);
	for (uint32_t i = 0; done && i < store->instructions; i++) {
		const struct instruction *from = &store->instruction[i];
		struct pesa_instruction *to = &arrays->instruction[arrays->instructions];

		*to = (struct pesa_instruction){
			.dso = from->dso,
			.address = from->address,
			.weight = from->weight,
			.executions = from->executions,
			.retired_samples = from->retired_samples,
			.samples = from->samples,
			.transfers_known = from->transfers_known,
			.transfers_taken = from->transfers_taken,
			.mispredicted = {from->mispredicted[0], from->mispredicted[1]},
			.weight_squared = from->weight_squared,
			.weight_times_retired = from->weight_times_retired,
			.retired_squared = from->retired_squared,
			.bucket = &arrays->bucket[buckets],
			.edge = &arrays->edge[edges],
		};
		done = finish_buckets(store, from, &scratch, arrays, &buckets, &shares,
				      &to->buckets);
		to->edges = finish_edges(store, from, renumber, &arrays->edge[edges]);
		edges += to->edges;
		arrays->instructions++;
	}
	free(scratch.bucket);
	free(scratch.folded);
	if (!done)
		pesa_profile_arrays_free(arrays);
	return done;
}

void pesa_profile_arrays_free(struct pesa_profile_arrays *arrays)
{
	free(arrays->instruction);
	free(arrays->bucket);
	free(arrays->edge);
	free(arrays->share);
	*arrays = (struct pesa_profile_arrays){0};
}
