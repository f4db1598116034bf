/* SPDX-License-Identifier: GPL-2.0-or-later */
/* De-skid: see include/pesa/deskid.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/deskid/inside.h"
#include "pesa/record.h"

#define PATHS_DEFAULT 400
#define LENGTH	      512 /* instructions of a path behind its warm-up */
#define WARM	      192
#define ROUNDS	      2 /* the second knows how often events are */
#define DEPTH_FIRST   8 /* instructions behind the oldest one, before anything is known */
#define BOTH_WRONG    0.7
#define WAYS_UNKNOWN  0.1 /* share of the ways that a calibration may lack */
/* Instructions between two events of a path that is run for their sake. */
#define BETWEEN_LEAST 60
#define BETWEEN_MORE  100

/* Cycles by which loads miss, in turn: a little, and for long. */
static const unsigned int late[] = {20, 100};
#define LATE_USUAL 30

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Mark events as often as they were estimated to be. */
static void mark_known_events(struct pesa_deskid *deskid, struct deskid_path *path)
{
	for (unsigned int i = 0; i < path->count; i++) {
		struct pesa_mca_instruction *one = &path->instruction[i];
		bool flushes = deskid_may_flush(&one->insn);
		uint32_t source = deskid_source(
			path->node[i], flushes && one->taken ? DESKID_TAKEN : DESKID_EVENT);

		deskid->due[source] += deskid->rate[source];
		if (deskid->due[source] < 1)
			continue;
		deskid->due[source] -= 1;
		if (flushes)
			one->mispredicted = true;
		else
			one->late = LATE_USUAL;
	}
}

/* Mark events far from each other. */
static void mark_events(struct pesa_deskid *deskid, struct deskid_path *path)
{
	unsigned int next = (unsigned int)(deskid_draw(deskid) * BETWEEN_MORE), turn = 0;

	for (unsigned int i = 0; i < path->count; i++) {
		struct pesa_mca_instruction *one = &path->instruction[i];
		bool flushes = deskid_may_flush(&one->insn);

		one->mispredicted = false;
		one->late = 0;
		if (i < next || (!flushes && !(pesa_opcode_get(one->insn.opcode)->properties &
					       PESA_OPCODE_LOAD)))
			continue;
		if (flushes)
			one->mispredicted = true;
		else
			one->late = late[turn++ % 2];
		next = i + BETWEEN_LEAST + (unsigned int)(deskid_draw(deskid) * BETWEEN_MORE);
	}
}

static struct pesa_error *run_from(struct pesa_deskid *deskid, struct deskid_walker *walker,
				   uint32_t block, struct deskid_path *path)
{
	struct pesa_error *error;

	path->warm = WARM;
	deskid_walk(walker, block, path);
	if (path->count <= PESA_DESKID_BEHIND_MAX)
		return NULL;
	mark_known_events(deskid, path);
	error = deskid_run(deskid, path, false);
	if (error)
		return error;
	mark_events(deskid, path);
	return deskid_run(deskid, path, true);
}

/* One path for each equal part of the samples. */
static struct pesa_error *run_all(struct pesa_deskid *deskid, struct deskid_walker *walker,
				  struct deskid_path *path)
{
	const struct flow_graph *graph = deskid->code.graph;
	double total = 0, passed = 0, part, next;
	struct pesa_error *error = NULL;

	deskid_paths_clear(deskid);
	deskid->random = 1;
	for (uint32_t i = 0; i < graph->instructions; i++)
		total += deskid->code.samples[i];
	for (uint32_t i = 0; i < DESKID_KINDS * graph->instructions; i++)
		deskid->due[i] = deskid_draw(deskid);
	part = total / (deskid->options.paths ? deskid->options.paths : PATHS_DEFAULT);
	next = part / 2;
	for (uint32_t i = 0; i < graph->blocks && part > 0; i++) {
		for (uint32_t k = 0; k < graph->block[i].instructions; k++)
			passed += deskid->code.samples[graph->measured[i].first + k];
		for (; passed >= next && !error; next += part)
			error = run_from(deskid, walker, i, path);
	}
	return error;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Keep the shares of a calibration. */
static void calibrate_ways(struct pesa_deskid *deskid, const struct pesa_deskid_way *known,
			   unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int w = 0; w < deskid->ways; w++)
			if (deskid->way[w].stage == known[i].stage &&
			    deskid->way[w].number == known[i].number)
				deskid->calibrated[w] = known[i].share;
}

/* Without a calibration nothing is known of the ways in which interrupts are taken. */
static void begin_ways(struct pesa_deskid *deskid)
{
	double unknown = deskid->is_calibrated ? WAYS_UNKNOWN : 1;
	unsigned int count = 0;

	for (unsigned int i = 0; i <= PESA_DESKID_BEHIND_MAX; i++)
		deskid->way[count++] = (struct pesa_deskid_way){PESA_DESKID_BEHIND, i, 0};
	for (unsigned int i = 1; i <= PESA_DESKID_BEHIND_MAX; i++)
		deskid->way[count++] = (struct pesa_deskid_way){PESA_DESKID_QUEUE, i, 0};
	for (unsigned int i = 1; i <= PESA_DESKID_CYCLES_MAX; i++)
		deskid->way[count++] = (struct pesa_deskid_way){PESA_DESKID_OLDEST, i, 0};
	for (unsigned int i = 0; i <= PESA_DESKID_CYCLES_MAX; i++)
		deskid->way[count++] = (struct pesa_deskid_way){PESA_DESKID_FRONT, i, 0};
	deskid->ways = count;
	memset(deskid->calibrated, 0, sizeof(deskid->calibrated));
	if (deskid->is_calibrated)
		calibrate_ways(deskid, deskid->options.ways, deskid->options.way_count);
	for (unsigned int i = 0; i < count; i++)
		deskid->way[i].share = unknown / count + (1 - unknown) * deskid->calibrated[i];
}

/* From the loops of pesa calibrate, as a calibration of the estimate that follows. */
static struct pesa_error *learn_ways(struct pesa_deskid *deskid, struct deskid_walker *walker,
				     struct deskid_path *path)
{
	struct pesa_error *error;

	begin_ways(deskid);
	error = run_all(deskid, walker, path);
	if (!error)
		error = deskid_learn_ways(deskid);
	memcpy(deskid->learned, deskid->way, sizeof(deskid->learned));
	deskid->options.ways = deskid->learned;
	deskid->options.way_count = deskid->ways;
	deskid->is_calibrated = true;
	return error;
}

static struct pesa_error *run_rounds(struct pesa_deskid *deskid)
{
	struct deskid_path path = {.room = WARM + LENGTH};
	struct deskid_walker *walker;
	struct pesa_error *error = deskid_walker_create(deskid, &walker);

	if (error)
		return error;
	path.instruction = calloc(path.room, sizeof(*path.instruction));
	path.node = calloc(path.room, sizeof(*path.node));
	if (!path.instruction || !path.node)
		error = pesa_error_no_memory();
	deskid->depth = DEPTH_FIRST;
	if (!error && deskid->options.learn_ways)
		error = learn_ways(deskid, walker, &path);
	for (int round = 0; round < ROUNDS && !error; round++) {
		begin_ways(deskid);
		error = run_all(deskid, walker, &path);
		if (!error)
			error = deskid_estimate(deskid);
	}
	free(path.instruction);
	free(path.node);
	deskid_walker_free(walker);
	return error;
}

/* ---- The result ------------------------------------------------------------------------------ */

/*
 * The error has three parts: the chance of sampling; how far the estimate is from what flow and model
 * alone say; and what both have wrong, a part of the cycles that was found by comparing estimates with
 * exact profiles (Documentation/plain-samples.md).
 */
static double error_of(double cycles, double predicted)
{
	double apart = cycles - predicted, wrong = BOTH_WRONG * cycles;

	return sqrt(cycles + apart * apart + wrong * wrong + 0.25);
}

/* The cycles of an instruction are blamed by the paths, or of no path. */
static double estimated(const struct pesa_deskid *deskid, uint32_t node)
{
	return deskid->blamed[node] + deskid->other[node];
}

/*
 * The blocks of a function: its samples, and the cycles that were estimated, differ.  Neither is nearer
 * to the truth as a rule, and they are wrong for different reasons: the function gets the mean of both.
 */
static void meet_samples(struct pesa_deskid *deskid, uint32_t first, uint32_t end)
{
	double samples = 0, cycles = 0, factor;

	for (uint32_t i = first; i < end; i++) {
		samples += deskid->code.samples[i];
		cycles += estimated(deskid, i);
	}
	factor = cycles > 0 ? (samples + cycles) / (2 * cycles) : 1;
	for (uint32_t i = first; i < end; i++) {
		deskid->blamed[i] *= factor;
		deskid->other[i] *= factor;
	}
}

static void meet_all_samples(struct pesa_deskid *deskid)
{
	const struct flow_graph *graph = deskid->code.graph;

	for (uint32_t i = 0, end; i < graph->blocks; i = end) {
		end = i + 1;
		if (!deskid->code.function[i])
			continue;
		while (end < graph->blocks &&
		       deskid->code.function[end] == deskid->code.function[i])
			end++;
		meet_samples(deskid, graph->measured[i].first,
			     graph->measured[end - 1].first + graph->block[end - 1].instructions);
	}
}

static void fill(struct pesa_deskid *deskid)
{
	const struct flow_graph *graph = deskid->code.graph;
	const struct deskid_paths *paths = &deskid->paths;
	double period = deskid->code.period, all = 0, got = 0, flow = 0, scale;

	meet_all_samples(deskid);
	for (uint32_t i = 0; i < graph->instructions; i++) {
		all += deskid->code.samples[i];
		got += estimated(deskid, i);
		flow += deskid->predicted[i];
	}
	scale = got > 0 ? all / got : 0;
	for (uint32_t i = 0; i < graph->instructions; i++) {
		struct pesa_deskid_instruction *one = &deskid->result[i];
		double samples = scale * estimated(deskid, i);
		double executed = paths->occurrences[i];
		double core = paths->weight[deskid_source(i, DESKID_CORE)];

		one->dso = (uint32_t)graph->instruction[i].dso;
		one->address = graph->instruction[i].address;
		one->measured = deskid->code.samples[i] * period;
		one->cycles = samples * period;
		one->by_flow = flow > 0 ? deskid->predicted[i] * all / flow * period : 0;
		one->error = period * error_of(samples, deskid->predicted[i]);
		one->executions = scale * deskid->executions[flow_graph_block(graph, i)] * period;
		one->retiring = executed > 0 ? paths->retiring[i] / executed : NAN;
		one->stalled = executed > 0 ? (core - paths->retiring[i]) / executed : NAN;
	}
}

/* ---- All of it ------------------------------------------------------------------------------- */

static struct pesa_error *make_model(struct pesa_deskid *deskid, const struct pesa_mca_model *base)
{
	deskid->out_of_order = pesa_mca_model_is_out_of_order(base);
	deskid->predictor = (struct compare_predictor){
		.processor = deskid->options.processor,
		.core = deskid->options.core,
	};
	return compare_make_model(base, &deskid->predictor, &deskid->model);
}

static struct pesa_error *allocate(struct pesa_deskid *deskid)
{
	size_t nodes = deskid->code.graph->instructions + 1, sources = DESKID_KINDS * nodes;

	deskid->cycles = calloc(sources, sizeof(double));
	deskid->rate = calloc(sources, sizeof(double));
	deskid->due = calloc(sources, sizeof(double));
	deskid->other = calloc(nodes, sizeof(double));
	deskid->blamed = calloc(nodes, sizeof(double));
	deskid->predicted = calloc(nodes, sizeof(double));
	deskid->executions = calloc(deskid->code.graph->blocks + 1u, sizeof(double));
	deskid->result = calloc(nodes, sizeof(*deskid->result));
	deskid->paths.occurrences = calloc(nodes, sizeof(double));
	deskid->paths.retiring = calloc(nodes, sizeof(double));
	deskid->paths.weight = calloc(sources, sizeof(double));
	deskid->paths.events = calloc(sources, sizeof(double));
	for (uint32_t i = 0; i < nodes - 1 && deskid->rate; i++)
		if (deskid_flushes_always(&deskid->code.insn[i]))
			deskid->rate[deskid_source(i, DESKID_EVENT)] = 1;
	return deskid->cycles && deskid->rate && deskid->due && deskid->other && deskid->blamed &&
			       deskid->predicted && deskid->executions && deskid->result &&
			       deskid->paths.occurrences && deskid->paths.retiring &&
			       deskid->paths.weight && deskid->paths.events
		       ? NULL
		       : pesa_error_no_memory();
}

/* What only the estimation needs. */
static void free_paths(struct pesa_deskid *deskid)
{
	free(deskid->paths.node);
	free(deskid->paths.cycle);
	free(deskid->paths.blame);
	free(deskid->paths.piece);
	free(deskid->paths.occurrences);
	free(deskid->paths.retiring);
	free(deskid->paths.weight);
	free(deskid->paths.events);
	deskid->paths = (struct deskid_paths){0};
}

struct pesa_error *pesa_deskid_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_mca_model *model,
				      const struct pesa_deskid_options *options,
				      struct pesa_deskid **result)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	struct pesa_deskid *deskid;
	struct pesa_error *error;
	double width;

	if (!totals->samples || totals->plain_samples != totals->samples)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the samples have more than a PC: nothing is to be moved");
	deskid = calloc(1, sizeof(*deskid));
	if (!deskid)
		return pesa_error_no_memory();
	deskid->options = *options;
	deskid->is_calibrated = options->ways;
	error = make_model(deskid, model);
	width = options->core.dispatch_width ? options->core.dispatch_width
					     : pesa_mca_model_issue_width(model);
	if (!error)
		error = deskid_flow(profile, symbols, width, &deskid->code);
	if (!error)
		error = allocate(deskid);
	if (!error)
		error = run_rounds(deskid);
	if (error) {
		pesa_deskid_free(deskid);
		return error;
	}
	fill(deskid);
	free_paths(deskid);
	*result = deskid;
	return NULL;
}

void pesa_deskid_free(struct pesa_deskid *deskid)
{
	if (!deskid)
		return;
	free_paths(deskid);
	pesa_control_flow_free(deskid->code.flow);
	free(deskid->code.insn);
	free(deskid->code.function);
	free(deskid->code.unknown);
	free(deskid->code.samples);
	free(deskid->cycles);
	free(deskid->rate);
	free(deskid->due);
	free(deskid->other);
	free(deskid->blamed);
	free(deskid->predicted);
	free(deskid->executions);
	free(deskid->result);
	pesa_mca_model_free(deskid->model);
	free(deskid);
}

size_t pesa_deskid_count(const struct pesa_deskid *deskid)
{
	return deskid->code.graph->instructions;
}

const struct pesa_deskid_instruction *pesa_deskid_at(const struct pesa_deskid *deskid, size_t index)
{
	return &deskid->result[index];
}

const struct pesa_deskid_instruction *pesa_deskid_find(const struct pesa_deskid *deskid,
						       uint32_t dso, uint64_t address)
{
	uint32_t node = flow_graph_find(deskid->code.graph, dso, address);

	return node == FLOW_NONE ? NULL : &deskid->result[node];
}

const struct pesa_deskid_way *pesa_deskid_ways(const struct pesa_deskid *deskid,
					       unsigned int *count)
{
	if (deskid->options.learn_ways) {
		*count = deskid->options.way_count;
		return deskid->learned;
	}
	*count = deskid->ways;
	return deskid->way;
}

struct pesa_error *pesa_deskid_apply(const struct pesa_deskid *deskid, enum pesa_deskid_step step,
				     struct pesa_profile *profile)
{
	size_t count = pesa_deskid_count(deskid);
	struct pesa_profile_cycles *cycles = calloc(count + 1, sizeof(*cycles));
	struct pesa_error *error = NULL;

	if (!cycles)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count; i++)
		cycles[i] = (struct pesa_profile_cycles){
			.dso = deskid->result[i].dso,
			.address = deskid->result[i].address,
			.cycles = step == PESA_DESKID_BY_FLOW ? deskid->result[i].by_flow
							      : deskid->result[i].cycles,
			.error = deskid->result[i].error,
		};
	error = pesa_profile_set_cycles(profile, cycles, count);
	free(cycles);
	return error;
}
