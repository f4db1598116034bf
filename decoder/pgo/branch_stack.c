/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branch stacks, as `perf script --show-mmap-events -F ip,brstack` prints them:
 *
 *	PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xSIZE) @ OFFSET MAJOR:MINOR INODE GENERATION]: r-xp FILE
 *	 IP 0xFROM/0xTO/M or P/-/-/0  ...
 *
 * A stack is the newest branch and those before it.  No hardware recorded these: they are walks over the
 * control flow.  Every branch and every fall-through has as many executions to give as were
 * estimated, scaled; a walk takes of each, and goes where the largest share is left.  So all stacks
 * together have each branch, and each range between two, in proportion to its executions.
 *
 * Addresses are those of the ELF file, as if it were loaded there; 0 is outside of it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "decoder/pgo/write.h"
#include "pesa/image.h"

#define STACK_MAX    32	    /* branches in a stack, as in the branch records of large cores */
#define BRANCHES_MAX 320000 /* in all stacks, about: more executions are scaled down to that */
#define NONE	     SIZE_MAX
#define LEAST	     0.5 /* executions: less is not written */
/* A process id: the recording may be of several, and readers want one. */
#define PID 1

struct walking {
	const struct pgo_branches *branches;
	/* Those of the binary, and where control leaves it: `to` is 0.  By `from`. */
	struct pgo_branch *branch;
	size_t count;
	double scale;	/* executions in the stacks, of one in the profile */
	double *left;	/* by branch: executions that are to be written, scaled */
	double *missed; /* by branch: mispredictions that are due */
	double *fell;	/* by block of the binary: fall-throughs to be written, scaled */
	size_t *into;	/* by block of the binary: the branch that leads there most often; NONE */
	uint64_t records;
};

/* A branch as it is written. */
struct record {
	uint64_t from, to;
	bool mispredicted;
};

static const struct pesa_control_flow_block *block_at(const struct walking *walking,
						      uint32_t number)
{
	return pesa_control_flow_block_at(walking->branches->flow, number);
}

/* The first branch at an address or behind it. */
static size_t first_from(const struct walking *walking, uint64_t address)
{
	size_t low = 0, high = walking->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (walking->branch[middle].from < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The block that begins at an address of the binary, or PESA_CONTROL_FLOW_NONE. */
static uint32_t block_that_begins(const struct walking *walking, uint64_t address)
{
	uint32_t block =
		pesa_control_flow_find(walking->branches->flow, walking->branches->dso, address);

	return block != PESA_CONTROL_FLOW_NONE && block_at(walking, block)->start == address
		       ? block
		       : PESA_CONTROL_FLOW_NONE;
}

/* Where control falls through to from a block. */
static uint32_t next_block(const struct walking *walking, uint32_t block)
{
	uint32_t next = block + 1;

	return next < walking->branches->end &&
			       block_at(walking, next)->start == block_at(walking, block)->end
		       ? next
		       : PESA_CONTROL_FLOW_NONE;
}

static double share(double left, double wanted)
{
	return left >= LEAST && wanted > 0 ? left / wanted : 0;
}

/* Take a branch: its record. */
static struct record take(struct walking *walking, size_t number)
{
	const struct pgo_branch *branch = &walking->branch[number];
	struct record record = {.from = branch->from, .to = branch->to};

	walking->left[number] -= 1;
	walking->missed[number] += branch->mispredicted / branch->count;
	if (walking->missed[number] >= LEAST) {
		walking->missed[number] -= 1;
		record.mispredicted = true;
	}
	return record;
}

/* The next branch that is taken from a block on; NONE: nothing is left to be executed. */
static size_t follow(struct walking *walking, uint32_t block)
{
	const struct pgo_branches *branches = walking->branches;

	while (block != PESA_CONTROL_FLOW_NONE) {
		uint32_t here = block - branches->begin;
		double through = pgo_fell_through(branches, block) * walking->scale;
		double most = share(walking->fell[here], through);
		size_t best = NONE;

		for (size_t i = first_from(walking, block_at(walking, block)->last);
		     i < walking->count &&
		     walking->branch[i].from == block_at(walking, block)->last;
		     i++) {
			double wanted = walking->branch[i].count * walking->scale;

			if (share(walking->left[i], wanted) <= most)
				continue;
			most = share(walking->left[i], wanted);
			best = i;
		}
		if (best != NONE || !(most > 0))
			return best;
		walking->fell[here] -= 1;
		block = next_block(walking, block);
	}
	return NONE;
}

/* The record that begins a walk: a branch to where the blocks begin that lead to `branch`. */
static struct record enter(struct walking *walking, size_t branch)
{
	const struct pgo_branches *branches = walking->branches;
	uint32_t block =
		pesa_control_flow_find(branches->flow, branches->dso, walking->branch[branch].from);
	size_t into;

	while (walking->into[block - branches->begin] == NONE && block > branches->begin &&
	       next_block(walking, block - 1) == block &&
	       pgo_fell_through(branches, block - 1) > 0) {
		block--;
		walking->fell[block - branches->begin] -= 1;
	}
	into = walking->into[block - branches->begin];
	return (struct record){.from = into == NONE ? 0 : walking->branch[into].from,
			       .to = block_at(walking, block)->start};
}

static void write_stack(struct walking *walking, const struct record *stack, unsigned int count,
			FILE *out)
{
	fprintf(out, " %16" PRIx64, stack[count - 1].to);
	while (count--)
		fprintf(out, " 0x%" PRIx64 "/0x%" PRIx64 "/%c/-/-/0 ", stack[count].from,
			stack[count].to, stack[count].mispredicted ? 'M' : 'P');
	fputc('\n', out);
	walking->records++;
}

/* Walk from `branch` on until nothing is left to be executed.  A stack begins with the branch that the
 * one before it ended with, so that no range between two branches is lost. */
static void write_walk(struct walking *walking, size_t branch, FILE *out)
{
	struct record stack[STACK_MAX];
	unsigned int count = 1;

	stack[0] = enter(walking, branch);
	while (branch != NONE) {
		stack[count] = take(walking, branch);
		branch = follow(walking, block_that_begins(walking, stack[count++].to));
		if (count < STACK_MAX && branch != NONE)
			continue;
		write_stack(walking, stack, count, out);
		stack[0] = stack[count - 1];
		count = 1;
	}
}

/* Which branch leads to each block most often. */
static void find_into(struct walking *walking)
{
	const struct pgo_branches *branches = walking->branches;

	for (uint32_t i = branches->begin; i < branches->end; i++)
		walking->into[i - branches->begin] = NONE;
	for (size_t i = 0; i < walking->count; i++) {
		uint32_t block = block_that_begins(walking, walking->branch[i].to);
		size_t *into;

		if (block == PESA_CONTROL_FLOW_NONE)
			continue;
		into = &walking->into[block - branches->begin];
		if (*into == NONE || walking->branch[*into].count < walking->branch[i].count)
			*into = i;
	}
}

/* Executions of a block after which control goes to where no branch of the binary does. */
static double left_binary(const struct walking *walking, uint32_t number)
{
	const struct pgo_branches *branches = walking->branches;
	const struct pesa_control_flow_block *block = block_at(walking, number);
	double executions = block->executions - pgo_fell_through(branches, number);

	for (size_t i = first_from(walking, block->last);
	     i < walking->count && walking->branch[i].from == block->last; i++)
		executions -= walking->branch[i].count;
	return executions;
}

static int by_from(const void *left, const void *right)
{
	const struct pgo_branch *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* The branches of the binary, and those that leave it. */
static struct pesa_error *list_branches(struct walking *walking)
{
	const struct pgo_branches *branches = walking->branches;
	size_t blocks = branches->end - branches->begin, all;

	walking->branch = calloc(branches->count + blocks + 1, sizeof(*walking->branch));
	if (!walking->branch)
		return pesa_error_no_memory();
	for (size_t i = 0; i < branches->count; i++)
		walking->branch[i] = branches->branch[i];
	walking->count = all = branches->count;
	for (uint32_t i = branches->begin; i < branches->end; i++) {
		double executions = left_binary(walking, i);

		if (executions >= LEAST)
			walking->branch[all++] = (struct pgo_branch){
				.from = block_at(walking, i)->last, .count = executions};
	}
	walking->count = all;
	qsort(walking->branch, all, sizeof(*walking->branch), by_from);
	return NULL;
}

static struct pesa_error *prepare(struct walking *walking)
{
	const struct pgo_branches *branches = walking->branches;
	size_t blocks = branches->end - branches->begin;
	struct pesa_error *error = list_branches(walking);
	double sum = 0;

	if (error)
		return error;
	walking->left = calloc(walking->count + 1, sizeof(*walking->left));
	walking->missed = calloc(walking->count + 1, sizeof(*walking->missed));
	walking->fell = calloc(blocks + 1, sizeof(*walking->fell));
	walking->into = calloc(blocks + 1, sizeof(*walking->into));
	if (!walking->left || !walking->missed || !walking->fell || !walking->into)
		return pesa_error_no_memory();
	for (size_t i = 0; i < branches->count; i++)
		sum += branches->branch[i].count;
	walking->scale = sum > BRANCHES_MAX ? BRANCHES_MAX / sum : 1;
	for (size_t i = 0; i < walking->count; i++)
		walking->left[i] = walking->branch[i].count * walking->scale;
	for (uint32_t i = branches->begin; i < branches->end; i++)
		walking->fell[i - branches->begin] = pgo_fell_through(branches, i) * walking->scale;
	find_into(walking);
	return NULL;
}

static struct pesa_error *write_mappings(const struct pgo_branches *branches, FILE *out)
{
	const struct pesa_dso *dso = pesa_profile_dso(branches->profile, branches->dso);
	uint64_t address, offset, size;
	struct pesa_image *image;
	struct pesa_error *error;

	if (!dso->file)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: branch stacks need the file, which is not at hand",
					 dso->path);
	error = pesa_image_open(dso->file, &image);
	if (error)
		return error;
	for (unsigned int i = 0; pesa_image_segment(image, i, &address, &offset, &size); i++) {
		/* Whole pages are mapped. */
		uint64_t before = address & 0xfff;

		fprintf(out,
			"PERF_RECORD_MMAP2 %d/%d: [0x%" PRIx64 "(0x%" PRIx64 ") @ %#" PRIx64
			" 00:00 0 0]: r-xp %s\n",
			PID, PID, address - before, (size + before + 0xfff) & ~(uint64_t)0xfff,
			offset - before, dso->path);
	}
	pesa_image_close(image);
	return NULL;
}

struct pesa_error *pgo_write_branch_stack(const struct pgo_branches *branches,
					  struct pesa_pgo_summary *summary, FILE *out)
{
	struct walking walking = {.branches = branches};
	struct pesa_error *error = prepare(&walking);

	if (!error)
		error = write_mappings(branches, out);
	for (size_t i = 0; i < walking.count && !error; i++)
		while (walking.left[i] >= LEAST)
			write_walk(&walking, i, out);
	summary->records = walking.records;
	free(walking.branch);
	free(walking.left);
	free(walking.missed);
	free(walking.fell);
	free(walking.into);
	return error;
}
