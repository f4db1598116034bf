/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycles of instructions from the places where samples landed: expectation maximisation.
 *
 * A sample at a place is one of the simulated cycles c whose landing by a way w is that place, each
 * with the probability (cycles of the source of c) x (share of c in its source) x (share of w), or it
 * is none of them ("other").  Each step divides the samples of a place in these proportions, and adds
 * up what each source, cycle and way got.  Sources are held to what flow and model predict by a gamma
 * prior, whose shape is worth so many samples; events and others, of which nothing is predicted, to
 * few.  How many cycles a loop has in all is told by its samples, wherever in it they land.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/union_find.h"
#include "decoder/deskid/inside.h"

#define STEPS	    15
#define PRUNE_EVERY 5

/* Priors: shapes in samples. */
#define EVENT_PART  0.05 /* mean, of the samples of an instruction */
#define EVENT_SHAPE 0.5
#define OTHER_PART  0.02
#define OTHER_SHAPE 0.05
#define OTHER_RATE  5.0 /* a sample that is no cycle of a path counts for so many more */
#define CORE_PART   0.9 /* of all samples, before events are known */
#define GROUP_SHAPE 200.0
#define TOGETHER    0.3 /* share of the executions of two blocks that goes from one to the other */
#define RATE_MAX    0.6 /* events an execution */
#define WAYS_WEIGHT 2.0 /* of a calibration's shares of ways, in that of all samples */
/* If flow and model need more than twice the cycles that were sampled, the flow has executions that
 * are stalls: samples land near the instruction that waited, in its own blocks. */
#define TOO_MANY 0.5

/* How far flow and model are believed: where a sample skids a few instructions, as on a processor in
 * order, samples tell more of the executions of a block than the flow that they were made of. */
struct belief {
	double block, instruction;
};
static const struct belief near = {11, 1000}, far = {1e6, 1e7};

struct estimating {
	struct pesa_deskid *deskid;
	struct deskid_paths *paths;
	const struct flow_graph *graph;
	struct belief belief;
	double scale;			     /* samples of one cycle an execution of a flow of 1 */
	double *each;			     /* by node: predicted cycles an execution */
	double *landed, *ratio, *other_mean; /* by node */
	double *next, *mean, *norm;	     /* by source */
	uint32_t *group;		     /* by block: sets of union_find.h */
	double *got, *wanted;		     /* by group, samples */
	double way[PESA_DESKID_WAYS_MAX];
};

/* Samples of a cycle, as estimated so far. */
static double amount(const struct pesa_deskid *deskid, const struct deskid_cycle *cycle)
{
	const struct deskid_blame *blame = &deskid->paths.blame[cycle->blame];
	double sum = 0;

	for (uint32_t i = 0; i < cycle->blames; i++)
		sum += deskid->cycles[blame[i].source] * (double)blame[i].share;
	return sum;
}

/* ---- Priors ---------------------------------------------------------------------------------- */

static bool may_have_event(const struct pesa_insn *insn)
{
	return insn->length && (deskid_may_flush(insn) ||
				pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_LOAD);
}

/* Cycles of one event. */
static double event_length(const struct deskid_paths *paths, uint32_t source)
{
	return paths->events[source] > 0 ? paths->weight[source] / paths->events[source] : 0;
}

static void begin_node(struct estimating *estimating, uint32_t node, double executions, double base)
{
	struct pesa_deskid *deskid = estimating->deskid;
	const struct deskid_paths *paths = estimating->paths;

	for (uint32_t i = deskid_source(node, DESKID_CORE);
	     i < deskid_source(node + 1, DESKID_CORE); i++) {
		double mean = executions * estimating->each[node];

		if (i != deskid_source(node, DESKID_CORE))
			mean = (may_have_event(&deskid->code.insn[node]) ? EVENT_PART * base : 0) +
			       deskid->rate[i] * executions * event_length(paths, i);
		estimating->mean[i] = paths->weight[i] > 0 ? mean : 0;
		deskid->cycles[i] = estimating->mean[i];
	}
	estimating->other_mean[node] = OTHER_PART * base;
	deskid->other[node] = estimating->other_mean[node];
}

static void begin(struct estimating *estimating)
{
	struct pesa_deskid *deskid = estimating->deskid;
	struct deskid_paths *paths = estimating->paths;
	const struct flow_graph *graph = estimating->graph;
	double all = 0, predicted = 0;

	for (uint32_t i = 0; i < graph->blocks; i++)
		for (uint32_t k = 0; k < graph->block[i].instructions; k++) {
			uint32_t node = graph->measured[i].first + k;

			if (paths->occurrences[node] > 0)
				estimating->each[node] =
					paths->weight[deskid_source(node, DESKID_CORE)] /
					paths->occurrences[node];
			all += deskid->code.samples[node];
			predicted += graph->block[i].executions * estimating->each[node];
		}
	estimating->scale = predicted > 0 ? CORE_PART * all / predicted : 0;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		double executions = graph->block[i].executions * estimating->scale, base = 0;
		uint32_t first = graph->measured[i].first;

		for (uint32_t k = first; k < first + graph->block[i].instructions; k++)
			base += deskid->code.samples[k] + executions * estimating->each[k];
		base /= 2 * graph->block[i].instructions;
		for (uint32_t k = first; k < first + graph->block[i].instructions; k++) {
			begin_node(estimating, k, executions, base);
			deskid->predicted[k] = executions * estimating->each[k];
		}
	}
	for (size_t i = 0; i < paths->blames; i++) {
		struct deskid_blame *blame = &paths->blame[i];
		double weight = paths->weight[blame->source];

		blame->share = weight > 0 ? (float)((double)blame->weight / weight) : 0;
	}
}

/* ---- One step -------------------------------------------------------------------------------- */

/* What the present estimate says of each place. */
static void predict(struct estimating *estimating)
{
	const struct pesa_deskid *deskid = estimating->deskid;
	const struct deskid_paths *paths = estimating->paths;
	uint32_t nodes = estimating->graph->instructions;

	memcpy(estimating->landed, deskid->other, nodes * sizeof(double));
	for (size_t p = 0; p < paths->pieces; p++)
		for (size_t c = paths->piece[p].first; c < paths->piece[p].end; c++) {
			double samples = amount(deskid, &paths->cycle[c]);

			for (unsigned int w = 0; w < deskid->ways && samples > 0; w++)
				estimating->landed[deskid_landing(paths, c, &deskid->way[w])] +=
					samples * deskid->way[w].share;
		}
	for (uint32_t i = 0; i < nodes; i++)
		estimating->ratio[i] = estimating->landed[i] > 0
					       ? deskid->code.samples[i] / estimating->landed[i]
					       : 0;
}

/* Divide the samples of each place. */
static void divide(struct estimating *estimating)
{
	struct pesa_deskid *deskid = estimating->deskid;
	struct deskid_paths *paths = estimating->paths;
	size_t sources = (size_t)DESKID_KINDS * estimating->graph->instructions;

	memset(estimating->way, 0, sizeof(estimating->way));
	memset(estimating->next, 0, sources * sizeof(double));
	memset(estimating->norm, 0, sources * sizeof(double));
	for (size_t p = 0; p < paths->pieces; p++)
		for (size_t c = paths->piece[p].first; c < paths->piece[p].end; c++) {
			const struct deskid_cycle *cycle = &paths->cycle[c];
			double samples = amount(deskid, cycle), got = 0;

			for (unsigned int w = 0; w < deskid->ways && cycle->blames; w++) {
				double part =
					deskid->way[w].share *
					estimating
						->ratio[deskid_landing(paths, c, &deskid->way[w])];

				got += part;
				estimating->way[w] += samples * part;
			}
			for (uint32_t k = cycle->blame; k < cycle->blame + cycle->blames; k++) {
				struct deskid_blame *blame = &paths->blame[k];

				blame->share *= (float)got;
				estimating->next[blame->source] +=
					deskid->cycles[blame->source] * (double)blame->share;
				estimating->norm[blame->source] += (double)blame->share;
			}
		}
	for (size_t i = 0; i < paths->blames; i++) {
		struct deskid_blame *blame = &paths->blame[i];

		if (estimating->norm[blame->source] > 0)
			blame->share =
				(float)((double)blame->share / estimating->norm[blame->source]);
	}
}

/*
 * Blocks that are executed about as often, one after the other, are a group: the body of a loop, as a
 * rule.  Samples hardly ever skid out of it, so they tell how many cycles it has, whatever flow says.
 */
static void find_groups(struct estimating *estimating)
{
	const struct flow_graph *graph = estimating->graph;

	for (uint32_t i = 0; i < graph->blocks; i++)
		estimating->group[i] = i;
	for (uint32_t i = 0; i < graph->edges; i++) {
		const struct pesa_control_flow_edge *edge = &graph->edge[i];

		if (edge->executions > TOGETHER * fmax(graph->block[edge->from].executions,
						       graph->block[edge->to].executions))
			estimating->group[union_find_root(estimating->group, edge->from)] =
				union_find_root(estimating->group, edge->to);
	}
}

/* How many times the cycles that flow and model give the samples give each group. */
static void update_groups(struct estimating *estimating)
{
	const struct flow_graph *graph = estimating->graph;

	for (uint32_t i = 0; i < graph->blocks; i++)
		estimating->got[i] = estimating->wanted[i] = GROUP_SHAPE;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		uint32_t group = union_find_root(estimating->group, i);
		uint32_t first = graph->measured[i].first;
		double executions = graph->block[i].executions * estimating->scale;

		for (uint32_t k = first; k < first + graph->block[i].instructions; k++) {
			estimating->got[group] += estimating->next[deskid_source(k, DESKID_CORE)];
			estimating->wanted[group] += executions * estimating->each[k];
		}
	}
}

/* What was divided, held to the priors. */
static void update_block(struct estimating *estimating, uint32_t number)
{
	struct pesa_deskid *deskid = estimating->deskid;
	const struct pesa_control_flow_block *block = &estimating->graph->block[number];
	uint32_t first = estimating->graph->measured[number].first;
	uint32_t group = union_find_root(estimating->group, number);
	double flow = block->executions * estimating->scale * estimating->got[group] /
		      estimating->wanted[group];
	double got = 0, each = 0;

	for (uint32_t i = first; i < first + block->instructions; i++) {
		got += estimating->next[deskid_source(i, DESKID_CORE)];
		each += estimating->each[i];
	}
	deskid->executions[number] = flow;
	if (!(each > 0))
		return;
	deskid->executions[number] = (got + estimating->belief.block) /
				     (each + estimating->belief.block / fmax(flow, 1e-9));
	for (uint32_t i = first; i < first + block->instructions; i++)
		estimating->mean[deskid_source(i, DESKID_CORE)] =
			deskid->executions[number] * estimating->each[i];
}

static void update(struct estimating *estimating)
{
	struct pesa_deskid *deskid = estimating->deskid;
	uint32_t nodes = estimating->graph->instructions;
	double all = 0, weight = deskid->is_calibrated ? WAYS_WEIGHT : 0;

	update_groups(estimating);
	for (uint32_t i = 0; i < estimating->graph->blocks; i++)
		update_block(estimating, i);
	for (uint32_t i = 0; i < DESKID_KINDS * nodes; i++) {
		double shape = i % DESKID_KINDS == DESKID_CORE ? estimating->belief.instruction
							       : EVENT_SHAPE;
		double mean = estimating->mean[i];

		deskid->cycles[i] =
			mean > 0 ? (estimating->next[i] + shape) / (1 + shape / mean) : 0;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		/* Where no path lands, samples stay. */
		if (estimating->landed[i] <= deskid->other[i])
			deskid->other[i] = deskid->code.samples[i];
		else
			deskid->other[i] = (deskid->other[i] * estimating->ratio[i] + OTHER_SHAPE) /
					   (1 + OTHER_RATE);
	}
	for (unsigned int w = 0; w < deskid->ways; w++)
		all += estimating->way[w];
	for (unsigned int w = 0; w < deskid->ways && all > 0; w++)
		deskid->way[w].share =
			(estimating->way[w] / all + weight * deskid->calibrated[w]) / (1 + weight);
}

void deskid_drop_ways(struct pesa_deskid *deskid)
{
	unsigned int kept = 0;

	for (unsigned int w = 0; w < deskid->ways; w++)
		if (deskid->way[w].share >= DESKID_WAY_LEAST) {
			deskid->calibrated[kept] = deskid->calibrated[w];
			deskid->way[kept++] = deskid->way[w];
		}
	deskid->ways = kept;
}

/* ---- The result ------------------------------------------------------------------------------ */

static void finish(struct estimating *estimating)
{
	struct pesa_deskid *deskid = estimating->deskid;
	const struct deskid_paths *paths = estimating->paths;
	const struct flow_graph *graph = estimating->graph;
	double behind = 0;

	memset(deskid->blamed, 0, graph->instructions * sizeof(double));
	for (size_t p = 0; p < paths->pieces; p++)
		for (size_t i = paths->cycle[paths->piece[p].first].blame;
		     i < paths->cycle[paths->piece[p].end].blame; i++)
			deskid->blamed[paths->blame[i].node] +=
				deskid->cycles[paths->blame[i].source] *
				(double)paths->blame[i].share;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		uint32_t first = graph->measured[i].first;

		for (uint32_t k = deskid_source(first, DESKID_CORE);
		     k < deskid_source(first + graph->block[i].instructions, DESKID_CORE); k++) {
			double cycles = event_length(paths, k) * deskid->executions[i];

			deskid->rate[k] =
				k % DESKID_KINDS != DESKID_CORE && cycles > 0
					? fmin(deskid->cycles[k] / cycles,
					       deskid_flushes_always(
						       &deskid->code.insn[k / DESKID_KINDS])
						       ? 1
						       : RATE_MAX)
					: 0;
		}
	}
	deskid->depth = 0;
	for (unsigned int w = 0; w < deskid->ways; w++) {
		const struct pesa_deskid_way *way = &deskid->way[w];

		if (way->stage != PESA_DESKID_BEHIND && way->stage != PESA_DESKID_QUEUE)
			continue;
		behind += way->share;
		deskid->depth += way->share * way->number;
	}
	if (behind > 0)
		deskid->depth /= behind;
}

struct pesa_error *deskid_estimate(struct pesa_deskid *deskid)
{
	size_t nodes = deskid->code.graph->instructions, sources = DESKID_KINDS * nodes;
	size_t blocks = deskid->code.graph->blocks;
	double *all = calloc(4 * nodes + 3 * sources + 2 * blocks + 1, sizeof(*all));
	struct estimating estimating = {
		.deskid = deskid,
		.paths = &deskid->paths,
		.graph = deskid->code.graph,
		.belief = deskid->out_of_order || deskid->options.generic ? far : near,
		.each = all,
		.landed = all + nodes,
		.ratio = all + 2 * nodes,
		.other_mean = all + 3 * nodes,
		.next = all + 4 * nodes,
		.mean = all + 4 * nodes + sources,
		.norm = all + 4 * nodes + 2 * sources,
		.got = all + 4 * nodes + 3 * sources,
		.wanted = all + 4 * nodes + 3 * sources + blocks,
		.group = calloc(blocks + 1, sizeof(uint32_t)),
	};

	if (!all || !estimating.group) {
		free(all);
		free(estimating.group);
		return pesa_error_no_memory();
	}
	find_groups(&estimating);
	begin(&estimating);
	if (estimating.scale * deskid->code.period < TOO_MANY)
		estimating.belief = near;
	for (unsigned int step = 1; step <= STEPS; step++) {
		predict(&estimating);
		divide(&estimating);
		update(&estimating);
		if (step % PRUNE_EVERY == 0)
			deskid_drop_ways(deskid);
	}
	finish(&estimating);
	free(estimating.group);
	free(all);
	return NULL;
}
