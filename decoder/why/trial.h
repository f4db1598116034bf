/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trials: the paths of a profile executed once more, with something changed, and what that saves.
 *
 * The saving is summed over all instructions of the paths, by state of the retire stage.  Where a
 * state becomes shorter, the measured cycles become shorter by the same share: so no more can be
 * saved than was measured.  Where it becomes longer, the predicted cycles are what else becomes
 * exposed, and are subtracted.
 *
 * A second estimate takes the predicted cycles in both cases.  The two differ where the model is off;
 * the interval includes both, the error of sampling, and the residual error of the model.
 */
#ifndef DECODER_WHY_TRIAL_H
#define DECODER_WHY_TRIAL_H

#include "decoder/why/inside.h"

struct why_trials;

/* What a change saves, in cycles. */
struct why_saved {
	struct pesa_estimate saved;
	double exposed; /* that other instructions become longer; subtracted already */
	size_t changes; /* instructions of paths that were changed */
};

/* Change the instructions of a path, or set `removed` of those that are not executed any more; by
 * step.  Returns how many were changed. */
typedef size_t why_changer(void *context, const struct compare_path *path,
			   struct pesa_mca_instruction *instruction, bool *removed);

/* A change that is tried. */
struct why_change {
	why_changer *changer;
	void *context;
	bool fewer;    /* it removes instructions */
	double misfit; /* least standard deviation, relative to the cycles that change */
	/* Measured cycles that wait for what is changed: so many may be saved even where no
	 * instruction becomes shorter on the model. */
	double waits;
	bool removes_events; /* misses or mispredictions: that costs nothing */
};

/* Execute the paths that a change is about. */
struct pesa_error *why_trial(struct pesa_why *why, const struct why_change *change,
			     struct why_saved *saved);
/* NULL is allowed. */
void why_trials_free(struct why_trials *trials);

#endif
