/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where interrupts are taken, from loops that wait for nothing but latencies.
 *
 * In a block that jumps to itself and has no load, the model knows who has which part of the cycles,
 * and the samples say how many there are.  Then only the shares of the ways are unknown, and their
 * likelihood has one maximum, which expectation maximisation finds: from cycles that are unknown, too,
 * it may end in another one, where samples that land far away are taken for others that land nearby.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/deskid/inside.h"

#define STEPS	    3000
#define PRUNE_EVERY 300
#define LATER	    8	 /* cycles: see begin() */
#define FRONT_FIRST 1e-3 /* of the others */

struct learning {
	struct pesa_deskid *deskid;
	uint32_t nodes;
	double *cycles; /* by node: of blocks that are looked at, else 0 */
	double *landed; /* by way and node */
	double *expected;
};

static bool is_known(const struct pesa_deskid *deskid, uint32_t number)
{
	const struct flow_graph *graph = deskid->code.graph;
	const struct pesa_control_flow_block *block = &graph->block[number];
	uint32_t first = graph->measured[number].first;
	bool repeats = false;

	for (uint32_t i = block->first_edge; i < block->first_edge + block->edges; i++)
		repeats |= graph->edge[i].taken && graph->edge[i].to == number;
	for (uint32_t i = first; i < first + block->instructions; i++)
		if (!deskid->code.insn[i].length ||
		    pesa_opcode_get(deskid->code.insn[i].opcode)->properties & PESA_OPCODE_LOAD)
			return false;
	return repeats;
}

/* The samples of a block, divided as the model says. */
static void know_block(struct learning *learning, uint32_t number)
{
	const struct pesa_deskid *deskid = learning->deskid;
	const struct flow_graph *graph = deskid->code.graph;
	const struct deskid_paths *paths = &deskid->paths;
	uint32_t first = graph->measured[number].first;
	uint32_t end = first + graph->block[number].instructions;
	double samples = 0, each = 0;

	for (uint32_t i = first; i < end; i++) {
		samples += deskid->code.samples[i];
		if (paths->occurrences[i] > 0)
			each += paths->weight[deskid_source(i, DESKID_CORE)] /
				paths->occurrences[i];
	}
	for (uint32_t i = first; i < end && each > 0; i++)
		if (paths->occurrences[i] > 0)
			learning->cycles[i] = samples / each *
					      paths->weight[deskid_source(i, DESKID_CORE)] /
					      paths->occurrences[i];
}

/* Where the cycles of each way land. */
static void land(struct learning *learning)
{
	const struct pesa_deskid *deskid = learning->deskid;
	const struct deskid_paths *paths = &deskid->paths;

	for (size_t p = 0; p < paths->pieces; p++)
		for (size_t c = paths->piece[p].first; c < paths->piece[p].end; c++) {
			const struct deskid_cycle *cycle = &paths->cycle[c];
			double samples = 0;

			for (uint32_t i = cycle->blame; i < cycle->blame + cycle->blames; i++) {
				const struct deskid_blame *blame = &paths->blame[i];
				double weight = paths->weight[blame->source];

				if (blame->source % DESKID_KINDS == DESKID_CORE && weight > 0)
					samples += learning->cycles[blame->node] *
						   (double)blame->weight / weight;
			}
			for (unsigned int w = 0; w < deskid->ways && samples > 0; w++)
				learning->landed[(size_t)w * learning->nodes +
						 deskid_landing(paths, c, &deskid->way[w])] +=
					samples;
		}
}

static void step(struct learning *learning)
{
	struct pesa_deskid *deskid = learning->deskid;
	uint32_t nodes = learning->nodes;
	double all = 0;

	memset(learning->expected, 0, nodes * sizeof(double));
	for (unsigned int w = 0; w < deskid->ways; w++)
		for (uint32_t i = 0; i < nodes && deskid->way[w].share > 0; i++)
			learning->expected[i] +=
				deskid->way[w].share * learning->landed[(size_t)w * nodes + i];
	for (unsigned int w = 0; w < deskid->ways; w++) {
		double got = 0;

		for (uint32_t i = 0; i < nodes && deskid->way[w].share > 0; i++)
			if (learning->expected[i] > 0)
				got += learning->landed[(size_t)w * nodes + i] *
				       deskid->code.samples[i] / learning->expected[i];
		deskid->way[w].share *= got;
		all += deskid->way[w].share;
	}
	for (unsigned int w = 0; w < deskid->ways && all > 0; w++)
		deskid->way[w].share /= all;
}

/*
 * Some cycles later the oldest instruction and the front end are elsewhere, but seen from all cycles of
 * a loop they are at each place as often: the samples do not tell how many cycles later.  So none are
 * taken for the oldest one, and of the front end one number stands for all.  On a processor in order the
 * front end is an instruction behind the oldest one or two: the former is as good, and is preferred.
 */
static void begin(struct pesa_deskid *deskid)
{
	for (unsigned int w = 0; w < deskid->ways; w++) {
		struct pesa_deskid_way *way = &deskid->way[w];

		if (way->stage == PESA_DESKID_OLDEST)
			way->share = 0;
		else if (way->stage == PESA_DESKID_FRONT)
			way->share = way->number == LATER / 2 ? FRONT_FIRST : 0;
		else
			way->share = 1;
	}
}

/* What the front end got is for some cycles, each as often.  Ways with few samples get none, and those
 * that are left are all. */
static void finish(struct pesa_deskid *deskid)
{
	double front = 0, all = 0;

	for (unsigned int w = 0; w < deskid->ways; w++)
		front += deskid->way[w].stage == PESA_DESKID_FRONT ? deskid->way[w].share : 0;
	for (unsigned int w = 0; w < deskid->ways; w++)
		if (deskid->way[w].stage == PESA_DESKID_FRONT)
			deskid->way[w].share =
				deskid->way[w].number >= 1 && deskid->way[w].number <= LATER
					? front / LATER
					: 0;
	deskid_drop_ways(deskid);
	for (unsigned int w = 0; w < deskid->ways; w++)
		all += deskid->way[w].share;
	for (unsigned int w = 0; w < deskid->ways; w++)
		deskid->way[w].share /= all;
}

struct pesa_error *deskid_learn_ways(struct pesa_deskid *deskid)
{
	struct learning learning = {.deskid = deskid, .nodes = deskid->code.graph->instructions};
	size_t nodes = learning.nodes;
	double all = 0;

	learning.cycles = calloc(2 * nodes + 1, sizeof(double));
	learning.landed = calloc(nodes * deskid->ways + 1, sizeof(double));
	if (!learning.cycles || !learning.landed) {
		free(learning.cycles);
		free(learning.landed);
		return pesa_error_no_memory();
	}
	learning.expected = learning.cycles + nodes;
	for (uint32_t i = 0; i < deskid->code.graph->blocks; i++)
		if (is_known(deskid, i))
			know_block(&learning, i);
	for (size_t i = 0; i < nodes; i++)
		all += learning.cycles[i];
	land(&learning);
	begin(deskid);
	for (unsigned int i = 1; i <= STEPS; i++) {
		step(&learning);
		if (i % PRUNE_EVERY == 0)
			for (unsigned int w = 0; w < deskid->ways; w++)
				if (deskid->way[w].share < DESKID_WAY_LEAST)
					deskid->way[w].share = 0;
	}
	finish(deskid);
	free(learning.cycles);
	free(learning.landed);
	return all > 0 ? NULL
		       : pesa_error_create(PESA_ERROR_ARGUMENT,
					   "there are no samples of loops to learn from");
}
