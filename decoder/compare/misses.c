/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that miss, as measured.
 *
 * What a miss stalls is no core time.  But while the oldest instruction waits for it, younger ones
 * execute, and are done when it is: without the miss they would be predicted to stall.  So loads miss
 * on the paths as often as they did.  How much longer than the model's latency a miss takes is not
 * measured, for part of it is hidden; it is chosen so that the predicted stalls of the load are the
 * measured ones.
 */
#include <math.h>

#include "decoder/compare/alternatives.h"

#define ROUNDS	    3
#define LATE_MOST   4000.0 /* cycles */
#define LEAST	    0.001 /* share of the program's cycles: below, misses of an instruction are ignored */
#define MISS_CAUSES (PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS)

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

/* Move the latency of misses by what the predicted stalls are off. */
static void correct(struct pesa_compare *compare)
{
	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];
		double off;

		if (!(node->misses > 0) || !(node->occurrences > 0))
			continue;
		off = node->time.event / node->executions - node->event / node->occurrences;
		node->late = fmin(fmax(node->late + off / node->misses, 0), LATE_MOST);
	}
}

struct pesa_error *compare_learn_misses(struct pesa_compare *compare,
					const struct compare_path_options *options)
{
	struct pesa_error *error = NULL;

	if (!find_misses(compare))
		return NULL;
	for (unsigned int round = 0; round < ROUNDS && !error; round++) {
		error = compare_predict_all(compare, options);
		if (!error)
			correct(compare);
	}
	return error;
}
