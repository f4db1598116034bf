/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that miss, as measured.
 *
 * What a miss stalls is no core time.  But while the oldest instruction waits for it, younger ones
 * execute, and are done when it is: without the miss they would be predicted to stall.  So loads miss
 * on the paths as often as they did.  How much longer than the model's latency a miss takes is not
 * measured, for part of it is hidden; it is chosen so that the predicted stalls of the load are the
 * measured ones.  Where most is hidden that may be far longer than all stalls shared among the misses:
 * each misses for so long, or a few do for longer and most are hidden for good.  Which of these it is
 * shows in the time of what depends on the loads, and is chosen by it.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/alternatives.h"

#define ROUNDS	       3
#define MATCHED_ROUNDS 6   /* for what is hidden, at most */
#define NEAR	       0.1 /* of what was measured: no more rounds */
#define HIDDEN_MOST    8   /* cycles of a miss for each one that is exposed */
#define HIDDEN_LEAST   1.5 /* times what all stalls shared among the misses are */
#define NEARER	       0.005 /* share of the program's cycles by which longer misses have to be nearer */
#define CHOSEN_LEAST   0.003  /* likewise: stalls of a load from which it is tried alone */
#define LATE_MOST      4000.0 /* cycles */
#define LEAST	       0.001 /* share of the program's cycles: below, misses of an instruction are ignored */
#define MISS_CAUSES    (PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS)

/* Retirements of a load that had missed, as a share of all. */
static double share_of_misses(const struct pesa_instruction *measured)
{
	double missed = 0;

	for (unsigned int i = 0; i < measured->buckets; i++) {
		const struct pesa_bucket *bucket = &measured->bucket[i];

		if (bucket->state == PESA_STATE_RETIRING && bucket->cause & MISS_CAUSES)
			missed += (double)bucket->samples;
	}
	return measured->retired_samples ? missed / (double)measured->retired_samples : 0;
}

static bool is_load(const struct compare_node *node)
{
	return pesa_opcode_get(node->insn.opcode)->properties &
	       (PESA_OPCODE_LOAD | PESA_OPCODE_ATOMIC);
}

/*
 * A sample of a cycle in which several instructions retire names the cause of one of them, the oldest.
 * A load that stalls on misses but is never named retires with another one that is: it misses as
 * often as that, of the loads before it in its basic block.
 */
static double share_beside(const struct compare_code *code, uint32_t index)
{
	uint32_t group = code->node[index].group;
	double most = 0;

	for (uint32_t i = index; i-- > 0 && code->node[i].group == group;)
		if (code->node[i].decoded && code->node[i].measured && is_load(&code->node[i]))
			most = fmax(most, share_of_misses(code->node[i].measured));
	return most;
}

/* Whether there are loads that miss. */
static bool find_misses(struct pesa_compare *compare)
{
	double least = LEAST * compare->totals.cycles;
	bool any = false;

	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];

		node->misses = node->late = 0;
		if (!node->decoded || !node->measured || !is_load(node) ||
		    node->time.event < least || !(node->executions > 0))
			continue;
		node->misses = fmin(share_of_misses(node->measured), 1);
		if (!(node->misses > 0))
			node->misses = fmin(share_beside(&compare->code, i), 1);
		/* All that is stalled is exposed by one miss at least. */
		if (node->misses > 0)
			node->late = fmin(node->time.event / (node->misses * node->executions),
					  LATE_MOST);
		any |= node->misses > 0;
	}
	return any;
}

/* ---- How long ---------------------------------------------------------------------------------- */

/* What was predicted of a load in the round before. */
struct before {
	double late, event;
};

/*
 * Move the latency of misses by what the predicted stalls are off: as if all of it were exposed, or with
 * `before` by as much as the stalls of the last two rounds say.  As long as all of a miss is hidden a longer
 * one changes nothing.  Returns whether any is far off.
 */
static bool correct(struct pesa_compare *compare, struct before *before)
{
	bool is_off = false;

	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];
		struct before now = {.late = node->late};
		double off, longer, slope = node->misses;

		if (!(node->misses > 0) || !(node->occurrences > 0))
			continue;
		now.event = node->event / node->occurrences;
		off = node->time.event / node->executions - now.event;
		longer = before ? now.late - before[i].late : 0;
		if (fabs(longer) >= 1 && before[i].late > 0)
			slope = fmin(fmax((now.event - before[i].event) / longer,
					  node->misses / HIDDEN_MOST),
				     node->misses);
		if (before)
			before[i] = now;
		node->late = fmin(fmax(node->late + off / slope, 0), LATE_MOST);
		is_off |= fabs(off) > NEAR * node->time.event / node->executions;
	}
	return is_off;
}

static void copy_late(const struct compare_code *code, double *late)
{
	for (uint32_t i = 0; i < code->count; i++)
		late[i] = code->node[i].late;
}

static void set_late(struct compare_code *code, const double *late)
{
	for (uint32_t i = 0; i < code->count; i++)
		code->node[i].late = late[i];
}

/* ---- Which of both ------------------------------------------------------------------------------ */

struct ways {
	double *exposed, *matched; /* by node: cycles that its misses take longer */
	double *nearer;		   /* of these, what is nearest to the measurement so far */
	double *scratch;	   /* by basic block */
	double nearest;
	double least; /* cycles by which the longer one has to be nearer */
};

static bool is_hidden(const struct ways *ways, uint32_t node)
{
	return ways->matched[node] > HIDDEN_LEAST * (ways->exposed[node] + 1);
}

/* Take the longer one of a load, or of all (COMPARE_NONE), if it is nearer. */
static struct pesa_error *try_longer(struct pesa_compare *compare,
				     const struct compare_path_options *options, struct ways *ways,
				     uint32_t only)
{
	struct compare_code *code = &compare->code;
	struct pesa_error *error;
	double distance;

	for (uint32_t i = 0; i < code->count; i++)
		code->node[i].late = is_hidden(ways, i) && (only == COMPARE_NONE || i == only)
					     ? ways->matched[i]
					     : ways->nearer[i];
	error = compare_predict_all(compare, options);
	if (error)
		return error;
	distance = compare_block_distance(compare, NULL, ways->scratch);
	if (distance + ways->least > ways->nearest)
		return NULL;
	ways->nearest = distance;
	copy_late(code, ways->nearer);
	return NULL;
}

/* Of loads whose misses are hidden: whether they take as long as their stalls say, all or one by one. */
static struct pesa_error *choose_late(struct pesa_compare *compare,
				      const struct compare_path_options *options, struct ways *ways)
{
	struct compare_code *code = &compare->code;
	double share = CHOSEN_LEAST * compare->totals.cycles, before;
	struct pesa_error *error;

	set_late(code, ways->exposed);
	error = compare_predict_all(compare, options);
	if (error)
		return error;
	before = ways->nearest = compare_block_distance(compare, NULL, ways->scratch);
	error = try_longer(compare, options, ways, COMPARE_NONE);
	if (ways->nearest < before)
		return error;
	for (uint32_t i = 0; i < code->count && !error; i++)
		if (is_hidden(ways, i) && code->node[i].time.event >= share)
			error = try_longer(compare, options, ways, i);
	return error;
}

static bool any_is_hidden(const struct compare_code *code, const struct ways *ways)
{
	for (uint32_t i = 0; i < code->count; i++)
		if (is_hidden(ways, i))
			return true;
	return false;
}

static struct pesa_error *learn_ways(struct pesa_compare *compare,
				     const struct compare_path_options *options, struct ways *ways,
				     struct before *before)
{
	struct compare_code *code = &compare->code;
	struct pesa_error *error = NULL;
	bool is_off = true;

	for (unsigned int round = 0; round < ROUNDS && !error; round++) {
		error = compare_predict_all(compare, options);
		if (!error)
			correct(compare, NULL);
	}
	copy_late(code, ways->exposed);
	copy_late(code, ways->nearer);
	for (unsigned int round = 0; round < MATCHED_ROUNDS && is_off && !error; round++) {
		error = compare_predict_all(compare, options);
		if (!error)
			is_off = correct(compare, before);
	}
	copy_late(code, ways->matched);
	if (!error && any_is_hidden(code, ways))
		error = choose_late(compare, options, ways);
	set_late(code, ways->exposed);
	return error;
}

struct pesa_error *compare_learn_misses(struct pesa_compare *compare,
					const struct compare_path_options *options, double *longer,
					bool *any)
{
	uint32_t count = compare->code.count;
	struct before *before;
	struct ways ways;
	struct pesa_error *error;

	*any = false;
	if (!find_misses(compare))
		return NULL;
	before = calloc(count + 1, sizeof(*before));
	ways = (struct ways){
		.exposed = calloc(count + 1, sizeof(double)),
		.matched = calloc(count + 1, sizeof(double)),
		.nearer = longer,
		.scratch = calloc(compare->regions.groups + 1, sizeof(double)),
		.least = NEARER * compare->totals.cycles,
	};
	error = before && ways.exposed && ways.matched && ways.scratch
			? learn_ways(compare, options, &ways, before)
			: pesa_error_no_memory();
	for (uint32_t i = 0; i < count && !error; i++)
		*any |= longer[i] > ways.exposed[i];
	free(before);
	free(ways.exposed);
	free(ways.matched);
	free(ways.scratch);
	return error;
}
