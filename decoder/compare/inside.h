/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison of what was measured with what the model predicts: what its parts share.
 *
 *	code.c       the hot code, decoded: nodes
 *	path.c       paths through it, along the measured control flow
 *	memory.c     which loads read what was stored shortly before
 *	predict.c    the paths executed on the model
 *	region.c     loops and functions, and what of them differs
 *	variance.c   how far sampling alone puts measured and predicted apart
 *	misfit.c     and how far a model does that has no wrong entry
 *	compare.c    instructions, regions and totals, in this order
 *	search.h     which entries of the model explain the differences
 */
#ifndef DECODER_COMPARE_INSIDE_H
#define DECODER_COMPARE_INSIDE_H

#include "decoder/compare/predict.h"
#include "decoder/compare/region.h"
#include "decoder/mca/model/model.h"

struct pesa_compare {
	const struct pesa_profile *profile;
	const struct pesa_mca_model *base;
	struct pesa_compare_options options;
	struct pesa_mca_model *model; /* with what the core is known to have otherwise */
	struct compare_code code;
	struct compare_regions regions;
	struct compare_paths paths;
	struct compare_predictor predictor;
	struct compare_predicted *predicted; /* by step of a path */
	struct pesa_compare_totals totals;
	struct pesa_compare_region *result; /* most cycles first */
	size_t results;
	struct pesa_compare_finding *finding;
	unsigned int findings;
	double *variance; /* by result: of its difference, by sampling */
	struct pesa_compare_instruction *instruction; /* by region */
};

/* Variance by sampling of an instruction's measured core time less that of its executions, each of
 * `predicted` cycles; cycles squared. */
double compare_sampling_variance(const struct pesa_compare *compare,
				 const struct compare_node *node, double predicted);
/* Infer findings; the prediction is then the one of the corrected model. */
struct pesa_error *compare_find(struct pesa_compare *compare);

#endif
