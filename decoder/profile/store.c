// SPDX-License-Identifier: GPL-2.0-or-later
/* The profile store: see store.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/hash_index.h"
#include "decoder/profile/store.h"

#define NONE HASH_INDEX_NONE

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
	uint64_t target, count, mispredicted;
	uint32_t target_dso, next;
	uint32_t instruction;
};

struct pesa_profile_store {
	/* The counts of the tables are the numbers of items. */
	struct instruction *instruction;
	uint32_t instruction_room;
	struct hash_index instructions; /* by dso and address */
	struct bucket *bucket;
	uint32_t bucket_room, exact_buckets; /* exact_buckets: those with a group */
	struct hash_index buckets;
	struct edge *edge;
	uint32_t edge_room;
	struct hash_index edges;
};

struct pesa_profile_store *pesa_profile_store_create(void)
{
	return calloc(1, sizeof(struct pesa_profile_store));
}

void pesa_profile_store_free(struct pesa_profile_store *store)
{
	if (!store)
		return;
	free(store->instruction);
	free(store->bucket);
	free(store->edge);
	hash_index_free(&store->instructions);
	hash_index_free(&store->buckets);
	hash_index_free(&store->edges);
	free(store);
}

/* Make room for one more item in an array and its table. */
static struct pesa_error *reserve(void **array, uint32_t *room, size_t size,
				  struct hash_index *index)
{
	struct pesa_error *error = hash_index_reserve(index);
	void *grown;

	if (error || index->count < *room)
		return error;
	grown = realloc(*array, index->room * size);
	if (!grown)
		return pesa_error_no_memory();
	*array = grown;
	*room = index->room;
	return NULL;
}

uint32_t pesa_profile_store_get(struct pesa_profile_store *store, uint32_t dso, uint64_t address)
{
	uint32_t hash = hash_numbers(address, dso), item;

	for (uint32_t at = hash;
	     (item = hash_index_next(&store->instructions, &at)) != HASH_INDEX_NONE;)
		if (store->instruction[item].address == address &&
		    store->instruction[item].dso == dso)
			return item;
	if (reserve((void **)&store->instruction, &store->instruction_room,
		    sizeof(*store->instruction), &store->instructions))
		return NONE;
	store->instruction[store->instructions.count] = (struct instruction){
		.address = address,
		.dso = dso,
		.first_bucket = NONE,
		.first_edge = NONE,
	};
	return hash_index_add(&store->instructions, hash);
}

static struct bucket *bucket_get(struct pesa_profile_store *store, uint32_t number, uint8_t state,
				 uint16_t cause, uint8_t group)
{
	uint32_t hash = hash_numbers(number, (uint64_t)cause | (uint64_t)state << 10 |
						     (uint64_t)group << 13);
	struct bucket *bucket;
	uint32_t item;

	for (uint32_t at = hash;
	     (item = hash_index_next(&store->buckets, &at)) != HASH_INDEX_NONE;) {
		bucket = &store->bucket[item];
		if (bucket->instruction == number && bucket->state == state &&
		    bucket->cause == cause && bucket->group == group)
			return bucket;
	}
	if (reserve((void **)&store->bucket, &store->bucket_room, sizeof(*store->bucket),
		    &store->buckets))
		return NULL;
	bucket = &store->bucket[store->buckets.count];
	*bucket = (struct bucket){
		.instruction = number,
		.next = store->instruction[number].first_bucket,
		.state = state,
		.cause = cause,
		.group = group,
	};
	store->instruction[number].first_bucket = hash_index_add(&store->buckets, hash);
	store->exact_buckets += group > 0;
	return bucket;
}

struct pesa_error *pesa_profile_store_add(struct pesa_profile_store *store, uint32_t number,
					  const struct pesa_times *times,
					  const struct pesa_part *parts, unsigned int part_count,
					  const struct pesa_retirements *retired)
{
	struct instruction *instruction = &store->instruction[number];
	uint32_t weight = 0;
	double fraction;

	for (unsigned int i = 0; i < part_count; i++) {
		struct bucket *bucket =
			bucket_get(store, number, parts[i].state, parts[i].cause, 0);

		if (!bucket)
			return pesa_error_no_memory();
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
	return NULL;
}

struct pesa_error *pesa_profile_store_edge(struct pesa_profile_store *store, uint32_t number,
					   uint32_t target_dso, uint64_t target, uint64_t count,
					   uint64_t mispredicted)
{
	uint32_t hash = hash_numbers(target, number ^ (uint64_t)target_dso << 32), item;
	struct pesa_error *error;

	for (uint32_t at = hash; (item = hash_index_next(&store->edges, &at)) != HASH_INDEX_NONE;) {
		struct edge *edge = &store->edge[item];

		if (edge->target != target || edge->target_dso != target_dso ||
		    edge->instruction != number)
			continue;
		edge->count += count;
		edge->mispredicted += mispredicted;
		return NULL;
	}
	error = reserve((void **)&store->edge, &store->edge_room, sizeof(*store->edge),
			&store->edges);
	if (error)
		return error;
	store->edge[store->edges.count] = (struct edge){
		.target = target,
		.count = count,
		.mispredicted = mispredicted,
		.target_dso = target_dso,
		.instruction = number,
		.next = store->instruction[number].first_edge,
	};
	store->instruction[number].first_edge = hash_index_add(&store->edges, hash);
	return NULL;
}

struct pesa_error *pesa_profile_store_exact(struct pesa_profile_store *store, uint32_t number,
					    const struct pesa_exact_bucket *exact)
{
	struct instruction *instruction = &store->instruction[number];
	struct bucket *bucket = bucket_get(store, number, exact->state, exact->cause, exact->group);

	if (!bucket)
		return pesa_error_no_memory();
	bucket->weight += exact->weight;
	bucket->samples += exact->count;
	instruction->weight += exact->weight;
	instruction->samples += exact->count;
	return NULL;
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
	for (uint32_t i = 0; i < store->instructions.count; i++)
		used[store->instruction[i].dso] = true;
	for (uint32_t i = 0; i < store->edges.count; i++)
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

static struct pesa_error *scratch_reserve(struct scratch *scratch, uint32_t count)
{
	struct bucket *bucket;
	struct folded *folded;

	if (count <= scratch->room)
		return NULL;
	bucket = realloc(scratch->bucket, count * 2 * sizeof(*bucket));
	if (!bucket)
		return pesa_error_no_memory();
	scratch->bucket = bucket;
	folded = realloc(scratch->folded, count * 2 * sizeof(*folded));
	if (!folded)
		return pesa_error_no_memory();
	scratch->folded = folded;
	scratch->room = count * 2;
	return NULL;
}

/* Move the buckets of one instruction into the arrays.  `buckets` and `shares` are the numbers of
 * elements stored so far. */
static struct pesa_error *finish_buckets(const struct pesa_profile_store *store,
					 const struct instruction *instruction,
					 struct scratch *scratch,
					 struct pesa_profile_arrays *arrays, size_t *buckets,
					 size_t *shares, unsigned int *added)
{
	uint32_t count = 0, folds = 0;

	for (uint32_t i = instruction->first_bucket; i != NONE; i = store->bucket[i].next) {
		struct pesa_error *error = scratch_reserve(scratch, count + 1);

		if (error)
			return error;
		scratch->bucket[count++] = store->bucket[i];
	}
	if (count > 1)
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
	if (folds > 1)
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
	return NULL;
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
			.mispredicted = store->edge[i].mispredicted,
		};
	if (count > 1)
		qsort(edges, count, sizeof(*edges), by_count);
	return count;
}

static struct pesa_error *arrays_allocate(const struct pesa_profile_store *store,
					  struct pesa_profile_arrays *arrays)
{
	*arrays = (struct pesa_profile_arrays){
		.instruction = calloc(store->instructions.count + 1u, sizeof(*arrays->instruction)),
		.bucket = malloc((store->buckets.count + 1u) * sizeof(*arrays->bucket)),
		.edge = malloc((store->edges.count + 1u) * sizeof(*arrays->edge)),
		.share = malloc((store->exact_buckets + 1u) * sizeof(*arrays->share)),
	};
	return arrays->instruction && arrays->bucket && arrays->edge && arrays->share
		       ? NULL
		       : pesa_error_no_memory();
}

struct pesa_error *pesa_profile_store_finish(struct pesa_profile_store *store,
					     const uint32_t *renumber,
					     struct pesa_profile_arrays *arrays)
{
	struct scratch scratch = {0};
	size_t buckets = 0, shares = 0, edges = 0;
	struct pesa_error *error = arrays_allocate(store, arrays);

	for (uint32_t i = 0; i < store->instructions.count; i++)
		store->instruction[i].dso = renumber[store->instruction[i].dso];
	if (store->instructions.count)
		qsort(store->instruction, store->instructions.count, sizeof(*store->instruction),
		      by_dso_and_address);
	for (uint32_t i = 0; !error && i < store->instructions.count; i++) {
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
		error = finish_buckets(store, from, &scratch, arrays, &buckets, &shares,
				       &to->buckets);
		to->edges = finish_edges(store, from, renumber, &arrays->edge[edges]);
		edges += to->edges;
		arrays->instructions++;
	}
	free(scratch.bucket);
	free(scratch.folded);
	if (error)
		pesa_profile_arrays_free(arrays);
	return error;
}

void pesa_profile_arrays_free(struct pesa_profile_arrays *arrays)
{
	free(arrays->instruction);
	free(arrays->bucket);
	free(arrays->edge);
	free(arrays->share);
	*arrays = (struct pesa_profile_arrays){0};
}
