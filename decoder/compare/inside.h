/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Comparison of measured with predicted cycles: data shared by its parts.
 *
 * 	code.c       the hot code, decoded: nodes
 * 	order.c      instructions that order others
 * 	ordering.c   whether this core drains at them
 * 	path.c       paths through it, along the measured control flow
 * 	memory.c     store-to-load forwarding along a path
 * 	predict.c    executes the paths on the model
 * 	redirect.c   what an in-order core needs behind a mispredict, beside the engine
 * 	region.c     loops and functions, and their differences
 * 	flushes.c    what redirects of the front end cost
 * 	variance.c   variance of measured and predicted cycles due to sampling
 * 	misfit.c     deviation of a model without wrong entries
 * 	compare.c    instructions, regions and totals, in this order
 * 	search.h     which entries of the model explain the differences
 */
#ifndef DECODER_COMPARE_INSIDE_H
#define DECODER_COMPARE_INSIDE_H

#include "decoder/compare/predict.h"
#include "decoder/compare/region.h"
#include "decoder/mca/model/model.h"

/* The opcodes of a finding, those with most executions first. */
struct compare_opcodes {
	struct pesa_compare_opcode *one;
	unsigned int count;
};

struct pesa_compare {
	const struct pesa_profile *profile;
	const struct pesa_mca_model *base;
	struct pesa_compare_options options;
	struct pesa_mca_model *model; /* with the known settings of the core */
	struct compare_code code;
	struct compare_regions regions;
	struct compare_kinds kinds;
	struct compare_paths paths;
	struct compare_predictor predictor;
	struct compare_predicted *predicted; /* by step of a path */
	struct pesa_compare_totals totals;
	struct pesa_compare_region *result; /* most cycles first */
	size_t results;
	struct pesa_compare_finding *finding;
	unsigned int findings;
	struct compare_opcodes *opcodes; /* by finding */
	struct pesa_compare_unexplained unexplained;
	struct pesa_compare_redirect redirect[4 * PESA_COMPARE_REDIRECTS];
	unsigned int redirects;
	double *variance; /* by result: sampling variance of its difference */
	struct pesa_compare_instruction *instruction; /* by region */
};

/* Sampling variance of an instruction's measured core time minus that of its executions, each of
 * `predicted` cycles; cycles squared. */
double compare_sampling_variance(const struct pesa_compare *compare,
				 const struct compare_node *node, double predicted);
/* Estimate the predictor's redirect_stall from the profile, and add it to the predictions. */
struct pesa_error *compare_learn_redirect_stall(struct pesa_compare *compare);
/* Make the paths and their prediction, anew if there are some. */
struct pesa_error *compare_predict_all(struct pesa_compare *compare,
				       const struct compare_path_options *options);
/* Predict, and choose which kinds of instructions that order others drain this core. */
struct pesa_error *compare_predict_ordered(struct pesa_compare *compare,
					   struct compare_path_options *options);
/* Fill the table of redirects; mispredictions are estimated before. */
void compare_sum_redirects(struct pesa_compare *compare);
/* Infer findings.  Afterwards the prediction is that of the corrected model. */
struct pesa_error *compare_find(struct pesa_compare *compare);

#endif
