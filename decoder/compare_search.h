/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for wrong entries of the model: its state, the differences that are left
 * (compare_residual.c), and the effect of single changes on them (compare_effect.c).
 */
#ifndef DECODER_COMPARE_SEARCH_H
#define DECODER_COMPARE_SEARCH_H

#include "decoder/compare_fit.h"
#include "decoder/compare_misfit.h"

struct compare_region_sum {
	double predicted, measured, variance;
	double touched; /* by the candidate at hand, cycles */
};

struct compare_search {
	struct pesa_compare *compare;
	struct compare_residual *residual; /* by node */
	double *executions; /* by node: those of its straight piece of code */
	double *change;	    /* by node: scratch */
	struct compare_candidate *candidate;
	unsigned int candidates, room;
	struct compare_predicted *trial; /* by step */
	uint8_t *affected;		 /* by walk, of the change at hand */
	bool *class_used;
	struct compare_region_sum *sum; /* by region */
	struct compare_difference *difference;
	double misfit, core;
	/* What search->trial holds: nothing is executed twice. */
	const struct compare_candidate *simulated;
	int simulated_value;
	unsigned int generation; /* of the model: how often it was corrected */
	double deviations;	 /* that are significant, over all candidates */
};

/* Instructions of a straight piece of code were executed as often as each other. */
bool compare_pool_executions(struct compare_search *search);
/* What is left of the differences on the model as it is now, and its misfit. */
void compare_make_residuals(struct compare_search *search);
/* The misfit of the regions that a candidate (NULL: none) does not touch. */
double compare_misfit_without(struct compare_search *search,
			      const struct compare_candidate *candidate);

/* Whether a change touches the instructions of a class; -1, no class: it does not. */
bool compare_touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int class);
/* The text of a change, as pesa_mca_model_change() takes it. */
void compare_describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		      int value, char *text, size_t size);
/* Execute all walks that a changed model affects; their steps are in search->trial. */
struct pesa_error *compare_simulate(struct compare_search *search,
				    const struct compare_candidate *candidate, int value);
/* How well the effect of a candidate explains what is left. */
struct pesa_error *compare_fit_effect(struct compare_search *search,
				      struct compare_candidate *candidate);
/* Determine the effect of a value, and fit it. */
struct pesa_error *compare_try(struct compare_search *search, struct compare_candidate *candidate,
			       int value);

#endif
