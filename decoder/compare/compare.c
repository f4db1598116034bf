/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measured against predicted cycles: see include/pesa/compare.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/inside.h"
#include "decoder/compare/misfit.h"
#include "decoder/compare/waits.h"
#include "pesa/record.h"

#define PATHS_DEFAULT	  400
#define UNEXPLAINED_LEAST 0.01 /* share of the core time that is said to be unexplained */

/*
 * Number of counted instructions of a path, and of warm-up instructions before them.  The contents
 * of a reorder buffer depend on instructions far back.  An in-order processor needs little warm-up,
 * and with shorter paths there are more of them.
 */
struct shape {
	unsigned int length, warm;
};
static const struct shape in_order = {192, 64}, out_of_order = {512, 192};

void pesa_compare_options_default(struct pesa_compare_options *options)
{
	*options = (struct pesa_compare_options){
		.min_share = 0.001, .confidence = 0.95, .paths = PATHS_DEFAULT};
}

/* ---- Prediction ------------------------------------------------------------------------------ */

static bool is_predicted(const struct compare_node *node)
{
	switch (node->flow) {
	case PESA_FLOW_BRANCH:
	case PESA_FLOW_INDIRECT:
	case PESA_FLOW_INDIRECT_CALL:
	case PESA_FLOW_RETURN:
	case PESA_FLOW_COROUTINE:
		return true;
	default:
		return false;
	}
}

/* How often control continued at the next instruction, and elsewhere: of the samples that show
 * mispredictions, so not the mean of the basic block. */
static void executions_by_direction(const struct compare_node *node, double ways[2])
{
	const struct pesa_instruction *measured = node->measured;
	double taken = 1;

	if (node->flow == PESA_FLOW_BRANCH)
		taken = measured->transfers_known ? (double)measured->transfers_taken /
							    (double)measured->transfers_known
						  : 0.5;
	ways[0] = (1 - taken) * measured->executions;
	ways[1] = taken * measured->executions;
}

/*
 * Mispredictions in an exact profile, in both directions: cycles in which the branch retired and
 * was mispredicted.  If the source of the profile does not mark them, the number is computed from
 * the flushed cycles.
 */
static double count_mispredicts(const struct pesa_compare *compare, const struct compare_node *node)
{
	double penalty = compare->predictor.core.mispredict_penalty,
	       count = compare_marked_mispredicts(node);

	return !count && penalty ? node->time.flushed / penalty : count;
}

/* Whether, in an exact profile, as many branches were mispredicted as were taken: a core that fetches
 * what follows a branch and does not predict.  3 % are left to counts that are computed. */
static bool mispredicts_all_taken(const struct pesa_compare *compare)
{
	double taken = 0, apart = 0, ways[2];

	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		if (!node->decoded || !node->measured || node->flow != PESA_FLOW_BRANCH)
			continue;
		executions_by_direction(node, ways);
		taken += ways[1];
		apart += fabs(count_mispredicts(compare, node) - ways[1]);
	}
	return apart < 0.03 * taken;
}

/*
 * Mispredictions of an exact profile by direction, which it does not tell.  A counter of two bits that
 * sees a branch taken with probability p mispredicts it not taken in the share p of its mispredictions
 * (in the states from "not taken" to "taken" it is with weights 1, r, r^2, r^3, where r = p / (1 - p)).
 */
static void split_mispredicts(double count, bool all_taken, const double ways[2],
			      double mispredicts[2])
{
	double share = ways[1] / (ways[0] + ways[1]);

	mispredicts[0] = all_taken ? 0 : fmin(count * share, ways[0]);
	mispredicts[1] = count - mispredicts[0];
}

/* Samples show a misprediction where the branch retires, with its direction. */
static void estimate_mispredicts(struct pesa_compare *compare)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(compare->profile);
	bool all_taken = totals->exact && mispredicts_all_taken(compare);

	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];
		double ways[2], count[2];

		if (!node->decoded || !node->measured || !is_predicted(node))
			continue;
		executions_by_direction(node, ways);
		for (unsigned int way = 0; way < 2; way++)
			count[way] = (double)node->measured->mispredicted[way] * totals->period;
		if (totals->exact && node->measured->executions > 0)
			split_mispredicts(count_mispredicts(compare, node), all_taken, ways, count);
		for (unsigned int way = 0; way < 2; way++)
			if (count[way] > 0 && ways[way] > 0)
				node->mispredicts[way] = fmin(count[way] / ways[way], 1);
	}
}

/* ---- Results --------------------------------------------------------------------------------- */

/* What the class of an instruction is called: LLVM's name, if the model has it. */
static const char *name_of(const struct pesa_mca_model *model, int class)
{
	const struct mca_identity *identity = &model->identities[class];

	return identity->write ? identity->write : identity->name;
}

static void fill_instruction(struct pesa_compare *compare, const struct compare_node *node,
			     struct pesa_compare_instruction *instruction)
{
	*instruction = (struct pesa_compare_instruction){
		.dso = node->dso,
		.address = node->address,
		.measured = node->measured,
		.insn = node->insn,
		.scheduling_class = node->class < 0 ? NULL : name_of(compare->base, node->class),
		.time = node->time,
		.predicted = NAN,
		.waiting = node->ambiguous			   ? PESA_COMPARE_MAY_WAIT
			   : node->waits != COMPARE_WAITS_AS_CODED ? PESA_COMPARE_WAITS
								   : PESA_COMPARE_WAITS_AS_CODED,
	};
	if (node->measured)
		instruction->executions = pesa_estimate_executions(compare->profile, node->measured,
								   compare->options.confidence);
	/* An instruction without a class in the model has no prediction, rather than a prediction
	 * of 0. */
	if (node->occurrences && node->class >= 0) {
		instruction->predicted_stack[0] = node->retiring / node->occurrences;
		instruction->predicted_stack[1] = node->stalled / node->occurrences;
		instruction->predicted =
			instruction->predicted_stack[0] + instruction->predicted_stack[1];
	}
	if (node->executions)
		instruction->core.value = node->time.core / node->executions;
}

/* ---- Uncertainty ----------------------------------------------------------------------------- */

static struct pesa_estimate around(double value, double variance, double confidence, bool enough)
{
	double half = pesa_estimate_deviations(confidence) * sqrt(variance > 0 ? variance : 0);

	return (struct pesa_estimate){
		.value = value, .low = value - half, .high = value + half, .enough = enough};
}

static enum pesa_compare_verdict verdict_of(struct pesa_estimate difference)
{
	if (!difference.enough)
		return PESA_COMPARE_TOO_FEW;
	if (difference.low > 0)
		return PESA_COMPARE_SLOWER;
	return difference.high < 0 ? PESA_COMPARE_FASTER : PESA_COMPARE_AGREES;
}

#define NO_REGION SIZE_MAX

/* Estimate the misfit of instructions (`regions` false) or of regions, without one of these. */
static struct pesa_error *estimate_misfit(struct pesa_compare *compare, bool regions,
					  size_t without, double *misfit)
{
	size_t room = regions ? compare->results : compare->code.count, count = 0;
	struct compare_difference *difference = calloc(room + 1, sizeof(*difference));

	if (!difference)
		return pesa_error_no_memory();
	for (size_t i = 0; i < room; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double measured = regions ? compare->result[i].measured.value : node->time.core;
		double predicted, variance;

		if (regions) {
			predicted = compare->result[i].predicted;
			variance = compare->variance[i];
		} else {
			double each = node->occurrences
					      ? (node->retiring + node->stalled) / node->occurrences
					      : 0;

			predicted = each * node->executions;
			variance = compare_sampling_variance(compare, node, each) +
				   compare->stability.node[i];
		}
		if (!(predicted > 0) || i == without)
			continue;
		difference[count++] = (struct compare_difference){
			.relative = fabs(measured - predicted) / predicted,
			.variance = variance / (predicted * predicted),
			.weight = predicted,
		};
	}
	*misfit = regions ? compare_misfit_borrowed(difference, count)
			  : compare_misfit(difference, count);
	free(difference);
	return NULL;
}

static void judge_instruction(struct pesa_compare *compare, const struct compare_node *node,
			      struct pesa_compare_instruction *instruction)
{
	double variance, misfit;
	bool enough;

	if (!node->occurrences || !node->executions || node->class < 0)
		return;
	enough = node->measured && node->measured->retired_samples >= PESA_ESTIMATE_SAMPLES_MIN &&
		 node->occurrences >= PESA_COMPARE_OCCURRENCES_MIN;
	variance = (compare_sampling_variance(compare, node, instruction->predicted) +
		    compare->stability.node[node - compare->code.node]) /
		   (node->executions * node->executions);
	misfit = compare->totals.misfit_instruction > compare->totals.misfit_region
			 ? compare->totals.misfit_instruction
			 : compare->totals.misfit_region;
	misfit *= instruction->predicted;
	instruction->core = around(instruction->core.value,
				   compare_sampling_variance(compare, node, 0) /
					   (node->executions * node->executions),
				   compare->options.confidence, enough);
	if (instruction->core.low < 0)
		instruction->core.low = 0;
	instruction->difference =
		around(instruction->core.value - instruction->predicted, variance + misfit * misfit,
		       compare->options.confidence, enough);
	instruction->verdict = verdict_of(instruction->difference);
}

/* A region that is much of the program determines the misfit: by how much others are off tells whether it
 * is by chance.  It is off by less than they are, relative: what is wrong for some of its instructions
 * averages out. */
#define MUCH 0.2 /* of the predicted time of all */

static struct pesa_error *judge_region(struct pesa_compare *compare, size_t index)
{
	struct pesa_compare_region *region = &compare->result[index];
	double misfit = compare->totals.misfit_region, core = region->time.core, off;
	double much = MUCH * compare->totals.corrected;
	bool enough =
		region->predicted > 0 && region->covered >= PESA_COMPARE_COVERED_MIN && core > 0;
	struct pesa_error *error = NULL;

	if (region->predicted >= much)
		error = estimate_misfit(compare, true, index, &misfit);
	if (error)
		return error;
	off = fmin(misfit, COMPARE_MISFIT_MOST) * region->predicted;
	if (region->predicted > much)
		off *= sqrt(much / region->predicted);
	region->difference =
		around(region->measured.value - region->predicted,
		       compare->variance[index] + off * off, compare->options.confidence, enough);
	region->verdict = verdict_of(region->difference);
	return NULL;
}

static struct pesa_error *judge(struct pesa_compare *compare)
{
	struct pesa_error *error =
		estimate_misfit(compare, false, NO_REGION, &compare->totals.misfit_instruction);

	if (!error)
		error = estimate_misfit(compare, true, NO_REGION, &compare->totals.misfit_region);
	if (error)
		return error;
	for (size_t i = 0; i < compare->results && !error; i++) {
		struct pesa_compare_region *region = &compare->result[i];

		error = judge_region(compare, i);
		for (size_t k = 0; k < region->count; k++) {
			struct pesa_compare_instruction *instruction =
				&compare->instruction[region->first + k];

			judge_instruction(
				compare,
				&compare->code.node[compare_code_find(
					&compare->code, instruction->dso, instruction->address)],
				instruction);
		}
	}
	return error;
}

static int heavier_first(const void *left, const void *right)
{
	const struct pesa_compare_region *a = left, *b = right;
	double x = compare_time_sum(&a->time), y = compare_time_sum(&b->time);

	if (x != y)
		return x > y ? -1 : 1;
	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Variance of the difference of a region: the sum of the sampling variances of its basic blocks, and that of
 * its prediction. */
static double region_variance(const struct pesa_compare *compare,
			      const struct pesa_compare_region *region)
{
	struct compare_block_sum block = {0};
	uint32_t group = COMPARE_NONE;
	double sum = region->unstable * region->unstable;

	for (size_t k = 0; k < region->count; k++) {
		const struct pesa_compare_instruction *instruction =
			&compare->instruction[region->first + k];
		uint32_t index =
			compare_code_find(&compare->code, instruction->dso, instruction->address);
		const struct compare_node *node = &compare->code.node[index];

		if (isnan(instruction->predicted))
			continue;
		if (group != COMPARE_NONE && node->group != group) {
			sum += compare_block_variance(compare, &block);
			block = (struct compare_block_sum){0};
		}
		group = node->group;
		compare_block_add(&block, node, instruction->predicted);
	}
	return group == COMPARE_NONE ? sum : sum + compare_block_variance(compare, &block);
}

/* In the order of the results. */
static struct pesa_error *add_variances(struct pesa_compare *compare)
{
	compare->variance = calloc(compare->results + 1, sizeof(*compare->variance));
	if (!compare->variance)
		return pesa_error_no_memory();
	for (size_t i = 0; i < compare->results; i++)
		compare->variance[i] = region_variance(compare, &compare->result[i]);
	return NULL;
}

static struct pesa_error *fill_regions(struct pesa_compare *compare, struct pesa_symbols *symbols)
{
	const struct compare_regions *regions = &compare->regions;
	size_t first = 0;

	compare->result = calloc(regions->count + 1, sizeof(*compare->result));
	compare->instruction = calloc(compare->code.count + 1, sizeof(*compare->instruction));
	if (!compare->result || !compare->instruction)
		return pesa_error_no_memory();
	compare->results = regions->count;
	for (uint32_t i = 0; i < regions->count; i++) {
		const struct compare_region *region = &regions->region[i];
		const struct pesa_symbol *symbol;
		struct pesa_error *error =
			pesa_symbols_find(symbols, region->dso, region->start, &symbol);

		if (error)
			return error;
		compare->result[i] = (struct pesa_compare_region){
			.dso = region->dso,
			.start = region->start,
			.end = region->end,
			.loop = region->loop,
			.symbol = symbol ? symbol->name : NULL,
			.unstable = sqrt(compare->stability.region[i]),
		};
	}
	for (uint32_t i = 0; i < compare->code.count; i++)
		compare->result[compare->code.node[i].region].count++;
	for (uint32_t i = 0; i < regions->count; i++) {
		compare->result[i].first = first;
		first += compare->result[i].count;
		compare->result[i].count = 0;
	}
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		struct pesa_compare_region *region = &compare->result[node->region];

		fill_instruction(compare, node,
				 &compare->instruction[region->first + region->count++]);
		compare_add_time(&region->time, &node->time);
		if (!node->occurrences)
			continue;
		region->measured.value += node->time.core;
		region->predicted +=
			(node->retiring + node->stalled) / node->occurrences * node->executions;
	}
	for (uint32_t i = 0; i < regions->count; i++) {
		struct pesa_compare_region *region = &compare->result[i];

		region->covered =
			region->time.core > 0 ? region->measured.value / region->time.core : 0;
	}
	qsort(compare->result, compare->results, sizeof(*compare->result), heavier_first);
	while (compare->results && compare_time_sum(&compare->result[compare->results - 1].time) <
					   compare->options.min_share * compare->totals.cycles)
		compare->results--;
	return add_variances(compare);
}

/* ---- What no finding explains ---------------------------------------------------------------- */

/* Regions slower or faster than predicted; the direction with more cycles is kept. */
static void sum_unexplained(struct pesa_compare *compare)
{
	struct pesa_compare_unexplained sums[2] = {{0}}, *more;
	double core = compare->totals.time.core;

	for (size_t i = 0; i < compare->results; i++) {
		const struct pesa_compare_region *region = &compare->result[i];
		struct pesa_compare_unexplained *sum;

		if (region->verdict != PESA_COMPARE_SLOWER &&
		    region->verdict != PESA_COMPARE_FASTER)
			continue;
		sum = &sums[region->verdict == PESA_COMPARE_FASTER];
		sum->cycles += region->difference.value;
		sum->share += core > 0 ? region->time.core / core : 0;
		sum->regions++;
	}
	more = fabs(sums[1].cycles) > fabs(sums[0].cycles) ? &sums[1] : &sums[0];
	if (fabs(more->cycles) < UNEXPLAINED_LEAST * core)
		return;
	compare->unexplained.cycles = more->cycles;
	compare->unexplained.share = more->share;
	compare->unexplained.regions = more->regions;
}

/* ---- What was chosen ------------------------------------------------------------------------- */

static void say_what_was_chosen(struct pesa_compare *compare,
				const struct compare_path_options *options)
{
	static const char *const directions[COMPARE_DIRECTIONS] = {
		[COMPARE_EVENLY] = "evenly",
		[COMPARE_AT_RANDOM] = "at random",
		[COMPARE_IN_RUNS] = "in runs",
	};
	struct pesa_compare_chosen *chosen = &compare->totals.chosen;

	*chosen = (struct pesa_compare_chosen){
		.directions = directions[options->directions],
		.store_sets = compare->code.in_sets,
		.units_in_order = compare->predictor.ordered_cycles,
	};
	for (size_t i = 0; i < compare->results; i++)
		for (size_t k = 0; k < compare->result[i].count; k++) {
			const struct pesa_compare_instruction *one =
				pesa_compare_instruction(compare, &compare->result[i], k);

			chosen->waiting += one->waiting == PESA_COMPARE_WAITS;
			chosen->perhaps += one->waiting == PESA_COMPARE_MAY_WAIT;
		}
}

/* ---- All of it ------------------------------------------------------------------------------- */

static struct pesa_error *compare_all(struct pesa_compare *compare, struct pesa_symbols *symbols)
{
	const struct shape *shape =
		pesa_mca_model_is_out_of_order(compare->base) ? &out_of_order : &in_order;
	struct compare_path_options options = {
		/* The same number of instructions for both shapes. */
		.paths = compare->options.paths * in_order.length / shape->length,
		.length = shape->length,
		.warm = shape->warm,
		.kinds = &compare->kinds,
	};
	struct pesa_error *error =
		compare_make_model(compare->base, &compare->predictor, &compare->model);

	compare->totals.cycles = (double)pesa_profile_totals(compare->profile)->weight / PESA_CYCLE;
	if (!error)
		error = compare_code_create(compare->profile, &compare->code);
	if (!error)
		error = compare_code_set_vector_types(&compare->code, compare->profile, symbols);
	if (!error)
		error = compare_regions_make(&compare->code, symbols, &compare->regions);
	if (error)
		return error;
	error = compare_pool_executions(compare);
	if (error)
		return error;
	estimate_mispredicts(compare);
	error = compare_predict_ordered(compare, &options);
	if (!error && !pesa_mca_model_is_out_of_order(compare->model) &&
	    !compare->options.core.redirect_stall)
		error = compare_learn_redirect_stall(compare);
	if (error)
		return error;
	error = compare_learn_stability(compare, &compare->stability);
	if (error)
		return error;
	compare_sum_redirects(compare);
	compare_add_up(compare);
	error = compare->options.no_findings ? NULL : compare_find(compare, &options);
	if (error)
		return error;
	compare->totals.instructions = compare->predictor.instructions;
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		if (node->occurrences)
			compare->totals.corrected += (node->retiring + node->stalled) /
						     node->occurrences * node->executions;
	}
	error = fill_regions(compare, symbols);
	if (!error) {
		say_what_was_chosen(compare, &options);
		error = judge(compare);
	}
	if (!error)
		sum_unexplained(compare);
	return error;
}

struct pesa_error *pesa_compare_create(const struct pesa_profile *profile,
				       struct pesa_symbols *symbols,
				       const struct pesa_mca_model *model,
				       const struct pesa_compare_options *options,
				       struct pesa_compare **result)
{
	struct pesa_compare *compare = calloc(1, sizeof(*compare));
	struct pesa_error *error;

	if (!compare)
		return pesa_error_no_memory();
	compare->profile = profile;
	compare->base = model;
	compare->options = *options;
	compare->predictor = (struct compare_predictor){
		.code = &compare->code,
		.paths = &compare->paths,
		.processor = options->processor,
		.core = options->core,
		.redirect_stall = options->core.redirect_stall,
		.memo = memo_create(COMPARE_MEMO_SLOTS, COMPARE_MEMO_BYTES),
		.threads = compare_threads(options->threads),
	};
	error = compare->predictor.memo ? compare_all(compare, symbols) : pesa_error_no_memory();
	if (error) {
		pesa_compare_free(compare);
		return error;
	}
	*result = compare;
	return NULL;
}

void pesa_compare_free(struct pesa_compare *compare)
{
	if (!compare)
		return;
	compare_paths_free(&compare->paths);
	compare_regions_free(&compare->regions);
	compare_code_free(&compare->code);
	pesa_mca_model_free(compare->model);
	pesa_mca_model_free(compare->tentative);
	memo_free(compare->predictor.memo);
	compare_predictor_free(&compare->predictor);
	free(compare->predicted);
	compare_stability_free(&compare->stability);
	free(compare->variance);
	compare_findings_free(compare->finding, compare->opcodes, compare->findings);
	compare_hypotheses_free(&compare->hypotheses);
	free(compare->result);
	free(compare->instruction);
	free(compare);
}

size_t pesa_compare_region_count(const struct pesa_compare *compare)
{
	return compare->results;
}

const struct pesa_compare_region *pesa_compare_region(const struct pesa_compare *compare,
						      size_t index)
{
	return &compare->result[index];
}

const struct pesa_compare_instruction *
pesa_compare_instruction(const struct pesa_compare *compare,
			 const struct pesa_compare_region *region, size_t index)
{
	return &compare->instruction[region->first + index];
}

const struct pesa_compare_totals *pesa_compare_totals(const struct pesa_compare *compare)
{
	return &compare->totals;
}

const struct pesa_compare_unexplained *pesa_compare_unexplained(const struct pesa_compare *compare)
{
	return &compare->unexplained;
}

unsigned int pesa_compare_ordering_count(const struct pesa_compare *compare)
{
	return compare->kinds.count;
}

struct pesa_compare_ordering pesa_compare_ordering(const struct pesa_compare *compare,
						   unsigned int index)
{
	const struct compare_kind *kind = &compare->kinds.kind[index];
	const struct compare_node *example = &compare->code.node[kind->example];

	return (struct pesa_compare_ordering){
		.example = {.dso = example->dso, .address = example->address},
		.cycles = kind->cycles,
		.executions = kind->executions,
		.modelled = kind->modelled,
		.drains = kind->wait == COMPARE_WAIT_ALL,
		.memory = kind->wait == COMPARE_WAIT_MEMORY,
	};
}
