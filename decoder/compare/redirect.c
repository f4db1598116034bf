/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What redirects of the front end cost: flushed cycles for each taken transfer of control, and for
 * each misprediction; and on an in-order core, extra cycles after a mispredicted branch, beyond the
 * engine's.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/inside.h"
#include "pesa/csr.h"
#include "pesa/record.h"

#define FEW_CYCLES  0.0005 /* minimum share of all cycles for a row */
#define SHARE_LEAST 0.25 /* minimum share of an instruction's executions that follow a mispredict */
#define STALL_MAX   16.0 /* cycles */

/* ---- Stalls after a mispredict, in order ---------------------------------------------------- */

/*
 * In the engine the first instruction of the right path issues in the cycle in which it arrives,
 * and retires in the cycle in which it is complete.  A core may have stages in between.  For other
 * instructions they overlap with those of older ones; this instruction they stall.  The profile
 * shows for how many cycles: the excess over the prediction, per mispredict, of instructions that
 * often follow one.
 */

/* The excess of one instruction. */
struct shown {
	double stall;  /* cycles per mispredict */
	double weight; /* mispredicts */
};

static int by_stall(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;

	return a->stall < b->stall ? -1 : a->stall > b->stall;
}

/* Count how often each node is the first one after a mispredict on the paths. */
static void count_flushed(const struct pesa_compare *compare, double *flushed)
{
	for (size_t i = 0; i < compare->paths.count; i++) {
		const struct compare_path *path = &compare->paths.path[i];

		for (unsigned int j = path->warm; j < path->count; j++)
			if (compare_is_flushed_before(&compare->predictor, path, j))
				flushed[compare->paths.step[path->first + j].node] += path->weight;
	}
}

/* The weighted median, because some instructions have another excess: the model is wrong about
 * them, or they wait for a result. */
static double median(struct shown *shown, size_t count)
{
	double total = 0, sum = 0;

	qsort(shown, count, sizeof(*shown), by_stall);
	for (size_t i = 0; i < count; i++)
		total += shown[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += shown[i].weight;
		if (2 * sum >= total)
			return shown[i].stall;
	}
	return 0;
}

static void add_stall(struct pesa_compare *compare, double stall)
{
	for (size_t i = 0; i < compare->paths.count; i++) {
		const struct compare_path *path = &compare->paths.path[i];

		for (unsigned int j = 0; j < path->count; j++) {
			size_t at = path->first + j;

			if (!compare_is_flushed_before(&compare->predictor, path, j))
				continue;
			compare->predicted[at].stalled += (float)stall;
			if (j >= path->warm)
				compare->code.node[compare->paths.step[at].node].stalled +=
					path->weight * stall;
		}
	}
}

struct pesa_error *compare_learn_redirect_stall(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count;
	double *flushed = calloc(nodes + 1, sizeof(*flushed)), stall;
	struct shown *shown = calloc(nodes + 1, sizeof(*shown));
	size_t count = 0;

	if (!flushed || !shown) {
		free(flushed);
		free(shown);
		return pesa_error_no_memory();
	}
	count_flushed(compare, flushed);
	for (uint32_t i = 0; i < nodes; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double share = node->occurrences > 0 ? flushed[i] / node->occurrences : 0;

		if (share < SHARE_LEAST || !(node->executions > 0) || node->class < 0)
			continue;
		shown[count].stall = (node->time.core / node->executions -
				      (node->retiring + node->stalled) / node->occurrences) /
				     share;
		shown[count++].weight = share * node->executions;
	}
	stall = round(median(shown, count));
	free(flushed);
	free(shown);
	stall = stall > 0 ? stall : 0;
	compare->predictor.redirect_stall = stall < STALL_MAX ? stall : STALL_MAX;
	add_stall(compare, compare->predictor.redirect_stall);
	return NULL;
}

/* ---- Flushed cycles -------------------------------------------------------------------------- */

static const enum pesa_compare_redirect_kind kind_of[] = {
	[PESA_FLOW_NEXT] = PESA_COMPARE_REDIRECT_OTHER,
	[PESA_FLOW_BRANCH] = PESA_COMPARE_REDIRECT_BRANCH,
	[PESA_FLOW_JUMP] = PESA_COMPARE_REDIRECT_JUMP,
	[PESA_FLOW_INDIRECT] = PESA_COMPARE_REDIRECT_INDIRECT,
	[PESA_FLOW_CALL] = PESA_COMPARE_REDIRECT_CALL,
	[PESA_FLOW_INDIRECT_CALL] = PESA_COMPARE_REDIRECT_INDIRECT,
	[PESA_FLOW_RETURN] = PESA_COMPARE_REDIRECT_RETURN,
	[PESA_FLOW_COROUTINE] = PESA_COMPARE_REDIRECT_RETURN,
	[PESA_FLOW_TRAP] = PESA_COMPARE_REDIRECT_TRAP,
};

static double taken_of(const struct compare_node *node)
{
	const struct pesa_instruction *measured = node->measured;

	if (node->flow != PESA_FLOW_BRANCH)
		return node->flow == PESA_FLOW_NEXT ? 0 : node->executions;
	return measured->transfers_known ? node->executions * (double)measured->transfers_taken /
						   (double)measured->transfers_known
					 : 0;
}

/* Share of a node's transfers that go to a multiple of four bytes; -1: unknown. */
static double aligned_share(const struct pesa_compare *compare, const struct compare_node *node)
{
	const struct pesa_instruction *measured = node->measured;
	double aligned = 0, all = 0;

	if (node->target != COMPARE_NONE)
		return compare->code.node[node->target].address % 4 == 0;
	for (unsigned int i = 0; i < measured->edges; i++) {
		all += (double)measured->edge[i].count;
		aligned += measured->edge[i].target % 4 ? 0 : (double)measured->edge[i].count;
	}
	return all > 0 ? aligned / all : -1;
}

/* Flushed cycles of a node: of mispredictions, and of the rest. */
static void split_flushed(const struct compare_node *node, double *mispredicted, double *rest)
{
	*mispredicted = *rest = 0;
	for (unsigned int i = 0; i < node->measured->buckets; i++) {
		const struct pesa_bucket *bucket = &node->measured->bucket[i];
		double cycles = (double)bucket->weight / PESA_CYCLE;

		if (bucket->state == PESA_STATE_FLUSHED)
			*(bucket->cause & PESA_CAUSE_BRANCH_MISPREDICT ? mispredicted : rest) +=
				cycles;
	}
}

struct transfers {
	enum pesa_compare_redirect_kind kind;
	double aligned; /* share of them; -1: unknown */
	bool mispredicted;
	double count, cycles;
};

static void add(struct pesa_compare *compare, const struct transfers *transfers)
{
	double aligned = transfers->aligned < 0 ? 1 : transfers->aligned;

	for (unsigned int i = 0; i < 2; i++) {
		struct pesa_compare_redirect *row =
			&compare->redirect[4 * (unsigned int)transfers->kind + 2 * i +
					   transfers->mispredicted];
		double share = i ? 1 - aligned : aligned;

		row->count += share * transfers->count;
		row->cycles += share * transfers->cycles;
	}
}

/* Mispredictions of a node, not taken and taken.  An exact profile that does not mark any: those that
 * were taken. */
static void count_missed(const struct pesa_compare *compare, const struct compare_node *node,
			 double taken, double missed[2])
{
	bool exact = pesa_profile_totals(compare->profile)->exact,
	     marked = !exact || compare_marked_mispredicts(node) > 0;
	/* An exact profile's own number, rather than the mean of its basic block. */
	double own =
		exact && node->executions > 0 ? node->measured->executions / node->executions : 1;

	missed[0] = marked ? own * node->mispredicts[0] * (node->executions - taken) : 0;
	missed[1] = marked ? own * node->mispredicts[1] * taken : taken;
}

static void add_node(struct pesa_compare *compare, const struct compare_node *node)
{
	enum pesa_compare_redirect_kind kind = kind_of[node->flow];
	double mispredicted, rest, taken = taken_of(node), missed[2] = {0}, all, aligned;

	split_flushed(node, &mispredicted, &rest);
	aligned = aligned_share(compare, node);
	if (mispredicted > 0)
		count_missed(compare, node, taken, missed);
	all = missed[0] + missed[1];
	if (missed[0] > 0)
		add(compare, &(struct transfers){PESA_COMPARE_REDIRECT_NOT_TAKEN, -1, true,
						 missed[0], mispredicted * missed[0] / all});
	if (missed[1] > 0)
		add(compare, &(struct transfers){kind, aligned, true, missed[1],
						 mispredicted * missed[1] / all});
	if (!(all > 0) && mispredicted > 0)
		add(compare, &(struct transfers){kind, aligned, true, 0, mispredicted});
	if (taken > missed[1])
		add(compare, &(struct transfers){kind, aligned, false, taken - missed[1], rest});
	else if (rest > 0)
		add(compare, &(struct transfers){PESA_COMPARE_REDIRECT_OTHER, -1, false, 0, rest});
}

void compare_sum_redirects(struct pesa_compare *compare)
{
	const unsigned int rows = 4 * PESA_COMPARE_REDIRECTS;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < rows; i++)
		compare->redirect[i] = (struct pesa_compare_redirect){
			.kind = (enum pesa_compare_redirect_kind)(i / 4),
			.unaligned = i & 2,
			.mispredicted = i & 1};
	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].decoded && compare->code.node[i].measured)
			add_node(compare, &compare->code.node[i]);
	for (unsigned int i = 0; i < rows; i++) {
		struct pesa_compare_redirect row = compare->redirect[i];

		if (!(row.count > 0) && !(row.cycles > FEW_CYCLES * compare->totals.cycles))
			continue;
		row.model = row.mispredicted ? pesa_mca_model_mispredict_penalty(compare->base) : 0;
		compare->redirect[kept++] = row;
	}
	compare->redirects = kept;
}

unsigned int pesa_compare_redirect_count(const struct pesa_compare *compare)
{
	return compare->redirects;
}

const struct pesa_compare_redirect *pesa_compare_redirect(const struct pesa_compare *compare,
							  unsigned int index)
{
	return &compare->redirect[index];
}

const char *pesa_compare_redirect_name(enum pesa_compare_redirect_kind kind)
{
	static const char *const names[PESA_COMPARE_REDIRECTS] = {
		[PESA_COMPARE_REDIRECT_BRANCH] = "taken branch",
		[PESA_COMPARE_REDIRECT_JUMP] = "jump",
		[PESA_COMPARE_REDIRECT_CALL] = "call",
		[PESA_COMPARE_REDIRECT_INDIRECT] = "indirect",
		[PESA_COMPARE_REDIRECT_RETURN] = "return",
		[PESA_COMPARE_REDIRECT_TRAP] = "trap",
		[PESA_COMPARE_REDIRECT_NOT_TAKEN] = "branch not taken",
		[PESA_COMPARE_REDIRECT_OTHER] = "other",
	};

	return names[kind];
}
