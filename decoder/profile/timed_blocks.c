// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timed blocks: see include/pesa/timed_blocks.h.
 *
 * The distribution of a block is kept as the distinct counts that were seen, so that it is exact: there
 * are never more of them than entries in the file.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/hash_index.h"
#include "pesa/timed_blocks.h"

/* What was seen of a block with one count of cycles. */
struct tally {
	uint32_t
		block; /* its number, in the order in which blocks were seen; then in that of blocks */
	struct pesa_timed_count count;
};

struct pesa_timed_blocks {
	struct pesa_profile_listener listener;
	struct pesa_timed_totals totals;
	struct hash_index block_index, tally_index, transfer_index;
	struct pesa_timed_transfer *transfer; /* until finish() with dso numbers */
	struct pesa_timed_block *block;	      /* until finish() with dso numbers */
	struct tally *tally;
	uint32_t *first; /* by block, and behind the last one: its first tally */
	struct pesa_timed_count *count;
	size_t blocks;
};

/* ---- Stacks ---------------------------------------------------------------------------------- */

static struct pesa_error *grow(struct hash_index *index, void **items, size_t size)
{
	uint32_t room = index->room;
	struct pesa_error *error = hash_index_reserve(index);
	void *grown;

	if (error || (index->room == room && *items))
		return error;
	grown = realloc(*items, index->room * size);
	if (!grown)
		return pesa_error_no_memory();
	*items = grown;
	return NULL;
}

/* The number of a block, which is added if it is new. */
static struct pesa_error *find_block(struct pesa_timed_blocks *blocks, struct pesa_place start,
				     uint64_t last, uint32_t *number)
{
	uint32_t hash = hash_numbers(start.address ^ (uint64_t)start.dso << 40, last);
	struct pesa_error *error;

	for (uint32_t at = hash;
	     (*number = hash_index_next(&blocks->block_index, &at)) != HASH_INDEX_NONE;) {
		const struct pesa_timed_block *block = &blocks->block[*number];

		if (block->dso == start.dso && block->start == start.address && block->last == last)
			return NULL;
	}
	error = grow(&blocks->block_index, (void **)&blocks->block, sizeof(*blocks->block));
	if (error)
		return error;
	*number = hash_index_add(&blocks->block_index, hash);
	blocks->block[*number] =
		(struct pesa_timed_block){.dso = start.dso, .start = start.address, .last = last};
	return NULL;
}

/* The tally of a block's executions with a count. */
static struct pesa_error *find_tally(struct pesa_timed_blocks *blocks, uint32_t block,
				     uint32_t cycles, struct pesa_timed_count **found)
{
	uint32_t hash = hash_numbers(block, cycles), number;
	struct pesa_error *error;

	for (uint32_t at = hash;
	     (number = hash_index_next(&blocks->tally_index, &at)) != HASH_INDEX_NONE;) {
		struct tally *tally = &blocks->tally[number];

		if (tally->block == block && tally->count.cycles == cycles) {
			*found = &tally->count;
			return NULL;
		}
	}
	error = grow(&blocks->tally_index, (void **)&blocks->tally, sizeof(*blocks->tally));
	if (error)
		return error;
	number = hash_index_add(&blocks->tally_index, hash);
	blocks->tally[number] = (struct tally){.block = block, .count.cycles = cycles};
	*found = &blocks->tally[number].count;
	return NULL;
}

static struct pesa_error *add_transfer(struct pesa_timed_blocks *blocks, struct pesa_place from,
				       struct pesa_place target, double executions)
{
	uint32_t hash = hash_numbers(from.address ^ (uint64_t)from.dso << 40, target.address);
	struct pesa_error *error;
	uint32_t number;

	for (uint32_t at = hash;
	     (number = hash_index_next(&blocks->transfer_index, &at)) != HASH_INDEX_NONE;) {
		struct pesa_timed_transfer *transfer = &blocks->transfer[number];

		if (transfer->dso != from.dso || transfer->from != from.address ||
		    transfer->target_dso != target.dso || transfer->target != target.address)
			continue;
		transfer->executions += executions;
		return NULL;
	}
	error = grow(&blocks->transfer_index, (void **)&blocks->transfer,
		     sizeof(*blocks->transfer));
	if (error)
		return error;
	number = hash_index_add(&blocks->transfer_index, hash);
	blocks->transfer[number] = (struct pesa_timed_transfer){.dso = from.dso,
								.from = from.address,
								.target_dso = target.dso,
								.target = target.address,
								.executions = executions};
	return NULL;
}

static struct pesa_branch_entry entry_of(const struct pesa_profile_branches *branches,
					 uint64_t number)
{
	struct pesa_branch_entry entry;

	memcpy(&entry, branches->entries + number * sizeof(entry), sizeof(entry));
	return entry;
}

/* What ran between two entries; each of its executions stands for `executions`. */
static struct pesa_error *add_span(struct pesa_timed_blocks *blocks,
				   const struct pesa_profile_branches *branches,
				   const struct pesa_branch_entry *older,
				   const struct pesa_branch_entry *newer, double executions)
{
	struct pesa_place start = branches->locate(branches->locator, older->to);
	struct pesa_place last = branches->locate(branches->locator, newer->from);
	uint32_t cycles = PESA_BRANCH_CYCLES(newer->flags), number;
	struct pesa_timed_block *block;
	struct pesa_timed_count *count;
	struct pesa_error *error;

	if (start.dso != last.dso || start.address > last.address ||
	    last.address - start.address >= PESA_TIMED_BLOCK_MOST) {
		blocks->totals.broken += cycles * executions;
		return NULL;
	}
	error = find_block(blocks, start, last.address, &number);
	if (!error)
		error = find_tally(blocks, number, cycles, &count);
	if (!error)
		error = add_transfer(blocks, last, branches->locate(branches->locator, newer->to),
				     executions);
	if (error)
		return error;
	block = &blocks->block[number];
	block->seen += branches->samples;
	block->saturated += cycles == PESA_BRANCH_CYCLES_MOST ? branches->samples : 0;
	block->mispredicted += newer->flags & PESA_BRANCH_MISPREDICTED ? branches->samples : 0;
	block->cycles += cycles * executions;
	block->executions += executions;
	count->seen += branches->samples;
	count->executions += executions;
	blocks->totals.seen += branches->samples;
	return NULL;
}

static struct pesa_error *take_branches(void *context, const struct pesa_profile_branches *branches)
{
	struct pesa_timed_blocks *blocks = context;
	struct pesa_branch_entry newer = entry_of(branches, 0), older;
	struct pesa_error *error = NULL;
	uint64_t cycles = 0;

	for (uint64_t i = 0; i + 1 < branches->count; i++) {
		older = entry_of(branches, i);
		cycles += PESA_BRANCH_CYCLES(older.flags);
	}
	if (!cycles) {
		blocks->totals.untimed += branches->samples;
		return NULL;
	}
	blocks->totals.samples += branches->samples;
	blocks->totals.cycles += (double)branches->period;
	for (uint64_t i = 1; i < branches->count && !error; i++) {
		older = entry_of(branches, i);
		error = add_span(blocks, branches, &older, &newer,
				 (double)branches->period / (double)cycles);
		newer = older;
	}
	return error;
}

struct pesa_timed_blocks *pesa_timed_blocks_create(void)
{
	struct pesa_timed_blocks *blocks = calloc(1, sizeof(*blocks));

	if (blocks)
		blocks->listener = (struct pesa_profile_listener){.branches = take_branches,
								  .context = blocks};
	return blocks;
}

void pesa_timed_blocks_free(struct pesa_timed_blocks *blocks)
{
	if (!blocks)
		return;
	hash_index_free(&blocks->block_index);
	hash_index_free(&blocks->tally_index);
	hash_index_free(&blocks->transfer_index);
	free(blocks->transfer);
	free(blocks->block);
	free(blocks->tally);
	free(blocks->first);
	free(blocks->count);
	free(blocks);
}

const struct pesa_profile_listener *
pesa_timed_blocks_listener(const struct pesa_timed_blocks *blocks)
{
	return &blocks->listener;
}

/* ---- Finishing ------------------------------------------------------------------------------- */

/* A block and the number that its tallies have. */
struct numbered {
	struct pesa_timed_block block;
	uint32_t number;
};

static int by_place(const void *left, const void *right)
{
	const struct pesa_timed_block *a = &((const struct numbered *)left)->block;
	const struct pesa_timed_block *b = &((const struct numbered *)right)->block;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->last < b->last ? -1 : a->last > b->last;
}

static int by_cycles(const void *left, const void *right)
{
	const struct tally *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->count.cycles < b->count.cycles ? -1 : a->count.cycles > b->count.cycles;
}

/* Sort the blocks, and give their tallies the new numbers. */
static struct pesa_error *sort_blocks(struct pesa_timed_blocks *blocks)
{
	uint32_t count = blocks->block_index.count;
	struct numbered *numbered = calloc((size_t)count + 1, sizeof(*numbered));
	uint32_t *renumbered = calloc((size_t)count + 1, sizeof(*renumbered));

	if (numbered && renumbered) {
		for (uint32_t i = 0; i < count; i++)
			numbered[i] = (struct numbered){blocks->block[i], i};
		qsort(numbered, count, sizeof(*numbered), by_place);
		for (uint32_t i = 0; i < count; i++) {
			blocks->block[i] = numbered[i].block;
			renumbered[numbered[i].number] = i;
		}
		for (uint32_t i = 0; i < blocks->tally_index.count; i++)
			blocks->tally[i].block = renumbered[blocks->tally[i].block];
		blocks->blocks = count;
	}
	free(numbered);
	free(renumbered);
	return numbered && renumbered ? NULL : pesa_error_no_memory();
}

/* Make one array of all distributions. */
static struct pesa_error *sort_tallies(struct pesa_timed_blocks *blocks)
{
	uint32_t count = blocks->tally_index.count;

	blocks->first = calloc(blocks->blocks + 1, sizeof(*blocks->first));
	blocks->count = calloc((size_t)count + 1, sizeof(*blocks->count));
	if (!blocks->first || !blocks->count)
		return pesa_error_no_memory();
	if (count)
		qsort(blocks->tally, count, sizeof(*blocks->tally), by_cycles);
	for (uint32_t i = 0; i < count; i++) {
		blocks->count[i] = blocks->tally[i].count;
		blocks->first[blocks->tally[i].block + 1] = i + 1;
	}
	return NULL;
}

struct pesa_error *pesa_timed_blocks_finish(struct pesa_timed_blocks *blocks,
					    const struct pesa_profile *profile)
{
	struct pesa_error *error;

	for (uint32_t i = 0; i < blocks->block_index.count; i++)
		blocks->block[i].dso = pesa_profile_dso_of_number(profile, blocks->block[i].dso);
	for (uint32_t i = 0; i < blocks->transfer_index.count; i++) {
		struct pesa_timed_transfer *transfer = &blocks->transfer[i];

		transfer->dso = pesa_profile_dso_of_number(profile, transfer->dso);
		transfer->target_dso = pesa_profile_dso_of_number(profile, transfer->target_dso);
	}
	error = sort_blocks(blocks);
	return error ? error : sort_tallies(blocks);
}

/* ---- Reading --------------------------------------------------------------------------------- */

const struct pesa_timed_totals *pesa_timed_blocks_totals(const struct pesa_timed_blocks *blocks)
{
	return &blocks->totals;
}

size_t pesa_timed_blocks_count(const struct pesa_timed_blocks *blocks)
{
	return blocks->blocks;
}

const struct pesa_timed_block *pesa_timed_blocks_at(const struct pesa_timed_blocks *blocks,
						    size_t index)
{
	return &blocks->block[index];
}

size_t pesa_timed_blocks_from(const struct pesa_timed_blocks *blocks, uint32_t dso,
			      uint64_t address)
{
	size_t low = 0, high = blocks->blocks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct pesa_timed_block *block = &blocks->block[middle];

		if (block->dso < dso || (block->dso == dso && block->start < address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pesa_timed_count *
pesa_timed_blocks_distribution(const struct pesa_timed_blocks *blocks, size_t index, size_t *count)
{
	*count = blocks->first[index + 1] - blocks->first[index];
	return &blocks->count[blocks->first[index]];
}

uint32_t pesa_timed_blocks_quantile(const struct pesa_timed_blocks *blocks, size_t index,
				    double share)
{
	size_t count;
	const struct pesa_timed_count *distribution =
		pesa_timed_blocks_distribution(blocks, index, &count);
	double wanted = blocks->block[index].executions * share, sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += distribution[i].executions;
		if (sum >= wanted)
			return distribution[i].cycles;
	}
	return distribution[count - 1].cycles;
}

size_t pesa_timed_blocks_transfer_count(const struct pesa_timed_blocks *blocks)
{
	return blocks->transfer_index.count;
}

const struct pesa_timed_transfer *pesa_timed_blocks_transfer(const struct pesa_timed_blocks *blocks,
							     size_t index)
{
	return &blocks->transfer[index];
}
