/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predictions: paths executed on a model.
 *
 * Each step of a path gets the cycles of core time that the model's engine needs for it, split into
 * retiring and stalled cycles.
 *
 * A prediction follows from the instructions of the path and from the numbers that the model has for
 * them, and most changes of paths and models leave most paths as they were: predictions are remembered.
 */
#ifndef DECODER_COMPARE_PREDICT_H
#define DECODER_COMPARE_PREDICT_H

#include "decoder/base/memo.h"
#include "decoder/compare/path.h"

#define COMPARE_MEMO_SLOTS 131072u     /* for predictions of paths */
#define COMPARE_MEMO_BYTES (96u << 20) /* most have about 1 KB */

/* Core time of a step, and the stalls of a load that missed beside it; cycles. */
struct compare_predicted {
	float retiring, stalled, event;
};

struct compare_binder;

struct compare_predictor {
	const struct compare_code *code;
	const struct compare_paths *paths;
	const char *processor;
	struct pesa_compare_core core;
	/* In order: stall cycles of the first instruction after a mispredicted branch, in addition to
	 * those of the engine. */
	double redirect_stall;
	/* Out of order: units that are occupied for at least so many cycles are taken in program order;
	 * 0: by what is ready. */
	unsigned int ordered_cycles;
	/* By how many cycles one instruction of each path takes longer, and which one: the part of the
	 * warm-up before it.  0: none (stability.h). */
	unsigned int disturbed;
	double disturbed_at;
	struct memo *memo;     /* predictions of paths */
	unsigned int threads;  /* that execute paths, at least 1 */
	uint64_t instructions; /* number executed so far */
	/* By thread: what is bound for all models; NULL: nothing yet. */
	struct compare_binder *binder;
};

/* Free what it has of former predictions, but not what it was made from. */
void compare_predictor_free(struct compare_predictor *predictor);
/* The threads of a predictor if the caller wants `wanted`; 0: one for each processor that the process
 * may use; at most THREADS_MAX (threads.h). */
unsigned int compare_threads(unsigned int wanted);
/*
 * Execute prepared paths: those with selected[path] != 0, or all if `selected` is NULL.  `predicted` has an
 * element for each step of all paths.  `classes` (may be NULL) gets the scheduling class of each
 * step, -1 if the model has none.  The result does not depend on the number of threads.
 */
struct pesa_error *compare_predict_paths(struct compare_predictor *predictor,
					 const struct pesa_mca_model *model,
					 const uint8_t *selected,
					 struct compare_predicted *predicted, int32_t *classes);
/* The model with what is known of the core: a variation of `base`, which the caller frees.  The
 * predictor's core gets the model's penalty of a mispredict, unless it has one. */
struct pesa_error *compare_make_model(const struct pesa_mca_model *base,
				      struct compare_predictor *predictor,
				      struct pesa_mca_model **model);
/* One step of a path as an instruction to bind, with what was measured: misses, mispredicts. */
struct pesa_mca_instruction compare_path_instruction(const struct compare_predictor *predictor,
						     const struct compare_path *path,
						     unsigned int step);
/* Bind the instructions of a path to a model, as for a prediction. */
struct pesa_error *compare_path_bind(const struct compare_predictor *predictor,
				     const struct pesa_mca_model *model,
				     const struct pesa_mca_instruction *instructions,
				     unsigned int count, struct pesa_mca_block **block);
/* Execute such a block once, as for a prediction: into a new cycle stack of it. */
struct pesa_error *compare_path_stack(const struct compare_predictor *predictor,
				      const struct pesa_mca_block *block,
				      struct pesa_mca_cycle_stack *stack);
/* Likewise with listeners, to whom events of issue tell which units an instruction waited for. */
struct pesa_error *compare_path_listen(const struct compare_predictor *predictor,
				       const struct pesa_mca_block *block,
				       const struct pesa_mca_listener *listeners,
				       unsigned int count);
/* Whether the step before this one of the path was mispredicted, or flushed otherwise. */
bool compare_is_flushed_before(const struct compare_predictor *predictor,
			       const struct compare_path *path, unsigned int step);

#endif
