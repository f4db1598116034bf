/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predictions: paths executed on a model.
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
	uint64_t instructions;			  /* executed so far */
	struct pesa_mca_instruction *instruction; /* of the path at hand */
	unsigned int room;
};

/* Execute one path.  `predicted` has as many elements as the path has steps; `classes` (may be
 * NULL) gets the class of each, -1 where the model has none. */
struct pesa_error *compare_predict_walk(struct compare_predictor *predictor,
					const struct pesa_mca_model *model,
					const struct compare_path *path,
					struct compare_predicted *predicted, int32_t *classes);
void compare_predictor_free(struct compare_predictor *predictor);

#endif
