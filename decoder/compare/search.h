/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for wrong entries of the model: forward selection with backward elimination and
 * exchange, under a penalised likelihood.
 *
 * Each number of a class or resource that the paths use gives a candidate (candidates.c): the model
 * with that number changed.  Its effect (effect.c) is what the paths take with the change and did
 * not take without it.  The likelihood is that of the differences that are left when the effects of
 * the findings are taken off (residual.c, fit.c); each finding costs a penalty, so that a chance
 * likeness is not worth it.
 *
 *	 candidates.c          all changes of one number
 *	      |
 *	 forward_selection.c   +-> residuals of the model with the findings so far
 *	      |                |   effect of each candidate, first of a small step
 *	      |                |   of those that explain most: the value that explains most
 *	      |                +-- significant: it is a finding (finding.c), the model has it now
 *	      |
 *	 exchange.c                backward elimination: each finding is taken back and selected
 *	      |                    again, on the model with all the others
 *	      |                    exchange: findings that together stand for another one are
 *	      |                    replaced by it, if that has the higher penalised likelihood
 *	      v
 *	 findings                  state.c keeps and restores where the search is
 *
 * struct compare_search is the state of the search; what is searched for, candidates with their
 * effects, is in fit.h.
 */
#ifndef DECODER_COMPARE_SEARCH_H
#define DECODER_COMPARE_SEARCH_H

#include "decoder/compare/fit.h"
#include "decoder/compare/misfit.h"

struct compare_region_sum {
	double predicted, measured, variance;
};

struct compare_search {
	struct pesa_compare *compare;
	struct pesa_mca_model *original; /* before anything was found */
	struct compare_residuals residuals;
	double *executions; /* by node: those of its straight piece of code */
	double *change;	    /* by node: scratch */
	bool *touched;	    /* by piece: scratch */
	struct compare_candidate *candidate;
	unsigned int candidates, room;
	struct compare_predicted *trial; /* by step */
	uint8_t *affected;		 /* by path, of the change at hand */
	bool *class_used;
	struct compare_region_sum *sum;	       /* by region */
	struct compare_difference *difference; /* scratch */
	double misfit;			       /* of regions */
	double shift; /* of where in a piece of code the time is, relative */
	double core;
	/* What search->trial holds: nothing is executed twice. */
	const struct compare_candidate *simulated;
	int simulated_value;
	unsigned int generation; /* of the model: how often it was corrected */
	double deviations;	 /* that are significant, over all candidates */
};

/* All changes of one number of a class or resource that is used. */
struct pesa_error *compare_list_candidates(struct compare_search *search);
/* Whether two resources are units that are in the same groups and used by nothing else: a model
 * with their names exchanged is the same model. */
bool compare_is_interchangeable(const struct pesa_mca_model *model, unsigned int one,
				unsigned int other);
/* Whether a class, or a group that has nothing else, needs a resource: it keeps its last unit. */
bool compare_is_needed(const struct pesa_mca_model *model, unsigned int resource);
/* Instructions of a straight piece of code were executed as often as each other. */
bool compare_pool_executions(struct compare_search *search);
/* What is left of the differences on the model as it is now, and its misfit. */
void compare_make_residuals(struct compare_search *search);
/* The misfit of regions with part of a candidate's effect. */
double compare_misfit_beside(struct compare_search *search,
			     const struct compare_candidate *candidate, double part);

/* Whether a change touches the instructions of a class; -1, no class: it does not.  `model` has all
 * units: those that were taken away touch nothing. */
bool compare_touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int class);
/* The text of a change, as pesa_mca_model_change() takes it. */
void compare_describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		      int value, char *text, size_t size);
/* Execute all paths that a changed model affects; their steps are in search->trial. */
struct pesa_error *compare_simulate(struct compare_search *search,
				    const struct compare_candidate *candidate, int value);
/* From now on the model, and all predictions, are with the candidate's change. */
struct pesa_error *compare_adopt(struct compare_search *search,
				 const struct compare_candidate *candidate);
/* From now on they are without a finding, which the candidate has led to. */
struct pesa_error *compare_take_back(struct compare_search *search,
				     const struct compare_candidate *candidate);
/* How well the effect of a candidate explains what is left. */
struct pesa_error *compare_fit_effect(struct compare_search *search,
				      struct compare_candidate *candidate);
/* Determine the effect of a value, and fit it. */
struct pesa_error *compare_try(struct compare_search *search, struct compare_candidate *candidate,
			       int value);

/* ---- Forward selection (forward_selection.c) --------------------------------------------------- */

#define FINDINGS_MAX 12

/*
 * Whether the differences show an effect whole: numbers of a model are whole ones, and part of a
 * step is misfit.  That all of the effect explains more than nothing of it means that it is nearer
 * to all.
 */
bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate);
/*
 * A small step shows what is exposed already.  Where that shows nothing, a large one may: most of a
 * latency is hidden until it is long.
 */
struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate);
/*
 * Give a candidate the value whose effect explains most when it is taken whole, from the one on
 * that was tried, on the model as it is now; if it is visible at all.
 */
struct pesa_error *compare_choose_value(struct compare_search *search,
					struct compare_candidate *candidate);
/* The candidate is a finding, with the value that was tried last: the model has it from now on. */
struct pesa_error *compare_add_finding(struct compare_search *search,
				       struct compare_candidate *candidate);
/* The model has another value now: what else this class and resource do depends on it. */
void compare_value_changed(struct compare_search *search, struct compare_candidate *changed,
			   int value);
/*
 * Of the candidates that are not refused the one that explains most becomes a finding, if one is
 * significant.
 */
struct pesa_error *compare_select_one(struct compare_search *search, bool *found);
/* One after the other of all candidates, until none is significant. */
struct pesa_error *compare_select_forward(struct compare_search *search);

/* ---- Findings (finding.c) ---------------------------------------------------------------------- */

void compare_describe_finding(const struct compare_search *search,
			      struct compare_candidate *candidate,
			      struct pesa_compare_finding *finding);
/* Another candidate that explains about as much. */
void compare_add_tie(struct compare_search *search, struct pesa_compare_finding *finding,
		     const struct compare_candidate *candidate);

/* ---- Backward elimination and exchange (exchange.c) -------------------------------------------- */

struct pesa_error *compare_exchange(struct compare_search *search);

/* ---- Where the search is (state.c) -------------------------------------------------- */

struct compare_state;

/* The findings, the model with them and what it predicts.  Free with compare_state_free(). */
struct pesa_error *compare_state_keep(const struct compare_search *search,
				      struct compare_state **state);
/* The search is there again. */
struct pesa_error *compare_state_restore(struct compare_search *search,
					 const struct compare_state *state);
void compare_state_free(struct compare_state *state);

#endif
