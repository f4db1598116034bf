/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predictions: paths executed on a model.
 *
 * Each step of a path gets the cycles of core time that the model's engine needs for it, split into
 * retiring and stalled cycles.
 */
#ifndef DECODER_COMPARE_PREDICT_H
#define DECODER_COMPARE_PREDICT_H

#include "decoder/compare/path.h"

/* Core time of a step, cycles. */
struct compare_predicted {
	float retiring, stalled;
};

struct compare_predictor {
	const struct compare_code *code;
	const struct compare_paths *paths;
	const char *processor;
	struct pesa_compare_core core;
	/* In order: stall cycles of the first instruction after a mispredicted branch, in addition to
	 * those of the engine. */
	double redirect_stall;
	uint64_t instructions;			  /* number executed so far */
	struct pesa_mca_instruction *instruction; /* the instructions of the current path */
	unsigned int room;
};

/* Execute one path.  `predicted` has an element for each step of the path.  `classes` (may be NULL)
 * gets the scheduling class of each step, -1 if the model has none. */
struct pesa_error *compare_predict_path(struct compare_predictor *predictor,
					const struct pesa_mca_model *model,
					const struct compare_path *path,
					struct compare_predicted *predicted, int32_t *classes);
/* Whether the step before this one of the path was mispredicted. */
bool compare_is_flushed_before(const struct compare_predictor *predictor,
			       const struct compare_path *path, unsigned int step);
void compare_predictor_free(struct compare_predictor *predictor);

#endif
