/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search for wrong entries of the model: forward selection with backward elimination and
 * exchange, under a penalised likelihood.
 *
 * An entry of the model is a latency, an occupancy, a read-advance or a number of units.  Each
 * entry that the paths use is one candidate (candidates.c): the model with that entry changed.  Its
 * effect (effect.c) is the difference in predicted cycles with and without the change.  A candidate
 * that is selected becomes a finding: its change stays in the model.  The likelihood is that of the
 * residuals after the effects of the findings are subtracted (residual.c, fit.c).  Each finding
 * costs a penalty, so that a coincidental match is not selected.
 *
 * 	 candidates.c          all changes of one entry
 * 	      |
 * 	 forward_selection.c   +-> residuals of the model with the findings so far
 * 	      |                |   effect of each candidate, first of a small step; on
 * 	      |                |   a few paths first (effect.c)
 * 	      |                |   for those that explain most: the value that explains most
 * 	      |                +-- if significant, it becomes a finding (finding.c) in the model
 * 	      |                    significance.c: which are visible, likely and significant
 * 	      |
 * 	 exchange.c                backward elimination: each finding is removed and selected
 * 	      |                    again, on the model with all the others
 * 	      |                    exchange: findings that together imitate another one are
 * 	      |                    replaced by it, if that has the higher penalised likelihood
 * 	      |                    values of findings that leave much: likewise
 * 	      |
 * 	 local_search.c            where code stays unexplained: findings with other values, or
 * 	      |                    several in place of one, if they are likelier
 * 	      |
 * 	 evidence.c                findings that leave most of the differences they touch are
 * 	      |                    removed; traces.c: blocks that follow each other, as one;
 * 	      |                    together.c: what all findings explain together
 * 	      |
 * 	 opcodes.c                 the number that each opcode of a finding shows; opcodes that
 * 	      |                    contradict the finding are removed from it
 * 	      |
 * 	 selection.c               all this again, each finding being selected last: what is
 * 	      |                    found is kept if it is likelier
 * 	      |
 * 	 hypotheses.c              what may be right if other things are chosen for the paths
 * 	      v
 * 	 findings                  find.c: other choices for the paths; state.c saves and
 * 	                           restores the state of the search
 *
 * struct compare_search is the state of the search; candidates and their effects are in fit.h.
 */
#ifndef DECODER_COMPARE_SEARCH_H
#define DECODER_COMPARE_SEARCH_H

#include "decoder/compare/misfit.h"
#include "decoder/compare/search/fit.h"
#include "decoder/compare/search/tried.h"

struct compare_region_sum {
	double predicted, measured; /* core time, cycles */
	double variance;	    /* due to sampling and steady states; cycles^2 */
	double uncertain;	    /* cycles by which ordering may change the prediction */
};

/* What the misfit needs of a node, on the present model; nodes themselves are spread over much memory. */
struct compare_expected {
	double measured, predicted; /* core time, cycles */
	double deviation;	    /* by which it may differ, standard; without misfit */
	double uncertain;	    /* see struct compare_region_sum */
	uint32_t region;	    /* COMPARE_NONE: on no path */
};

/* Paths on which candidates are tried first (effect.c). */
struct compare_screen {
	uint8_t *path;	     /* by path: whether it is one of them */
	double *occurrences; /* by node: in the counted part of these paths */
	bool active;	     /* only these are simulated now */
};

struct compare_search {
	struct pesa_compare *compare;
	struct pesa_mca_model *original; /* without findings */
	struct compare_residuals residuals;
	double *change; /* by node: work array, contents undefined between calls */
	bool *touched;	/* by basic block: likewise */
	struct compare_candidate *candidate;
	unsigned int candidates, room;
	struct compare_predicted *trial; /* by step */
	uint8_t *affected;		 /* by path: whether the current change affects it */
	struct compare_screen screen;
	bool *class_used;		/* by class: whether an instruction of a path has it */
	struct compare_region_sum *sum; /* by region */
	struct compare_difference *difference; /* work array, contents undefined between calls */
	struct compare_expected *expected; /* by node, and 1 + of which generation; 0: of none */
	unsigned int expected_of;
	double misfit; /* of regions, relative */
	/* Regions are taken to differ from a right model by no more than those of other programs. */
	bool trusting;
	/* Nothing waits, and nothing is uncertain: what differs in few basic blocks may be such a wait. */
	bool plain;
	/* How much of a block's time may be attributed to the wrong instruction in it, relative. */
	double shift;
	double core;	       /* core time of the program, cycles */
	double at_first;       /* by how much all basic blocks differ without findings, cycles */
	double nodes_at_first; /* likewise all instructions, beyond sampling */
	double score_at_first; /* compare_score() without findings */
	/* Candidate and value of search->trial, on all paths: no model is simulated twice. */
	const struct compare_candidate *simulated;
	int simulated_value;
	struct compare_tried tried; /* effects that have been determined */
	unsigned int generation;    /* of the model: increases with each change of it */
	double deviations;	    /* required theta/error, corrected for multiple tests */
	double entry_deviations;    /* the same without the candidates of single opcodes */
	bool lacking;		    /* findings of the last selection lacked evidence */
	bool opcodes_tried;	    /* candidates of single opcodes are among the others */
};

/* Add a candidate for each entry of a used class or resource. */
struct pesa_error *compare_list_candidates(struct compare_search *search);
/* Add a candidate for each entry of a used opcode alone, split off the SchedWrite that it shares
 * with other opcodes. */
struct pesa_error *compare_list_opcodes(struct compare_search *search);
/* Whether regions, the program as a whole, or basic blocks and instructions in them, differ from the
 * prediction by more than sampling and the engine explain. */
bool compare_has_unexplained_code(struct compare_search *search);
/* Whether regions do. */
bool compare_has_unexplained_regions(struct compare_search *search);
/* Whether the prediction is so far off that other choices for the paths are worth a search. */
bool compare_is_far(struct compare_search *search);
/* Whether the search has executed so much that nothing is begun that can be left out; then it is noted
 * that the search ended early. */
bool compare_is_exhausted(struct pesa_compare *compare);
/* The same for what seldom finds more. */
bool compare_is_nearly_exhausted(struct pesa_compare *compare);
/* What is executed until it ends is not counted for these, up to a limit of its own; whether that is not
 * reached. */
bool compare_begin_apart(struct pesa_compare *compare);
void compare_end_apart(struct pesa_compare *compare);
bool compare_is_member(const struct pesa_mca_resource *group, unsigned int resource);
/* Whether two resources are units in the same groups and without other uses: exchanging their names
 * does not change the model. */
bool compare_is_interchangeable(const struct pesa_mca_model *model, unsigned int one,
				unsigned int other);
/* Whether a resource is the last unit of a class, or of a group, and so cannot be removed. */
bool compare_is_needed(const struct pesa_mca_model *model, unsigned int resource);
/* Compute the residuals of the present model, and its misfit. */
void compare_make_residuals(struct compare_search *search);
/* Take other steady states into account. */
void compare_use_stability(struct compare_search *search,
			   const struct compare_stability *stability);
/* Variance of an instruction's measured time, due to sampling, events and ordering; cycles^2. */
double compare_own_variance(const struct compare_search *search, uint32_t index);
/* Differences of what the effect of a candidate touches, beyond one standard deviation; cycles. */
struct compare_touched {
	double node[2], block[2]; /* as they are (0), and with the effect in the prediction (1) */
	double size, squares; /* of the effects on blocks: sums of absolute values and of squares */
	double sum;	      /* of the effects on blocks */
};

/* Minimum effect of a finding, relative to the core time. */
#define COMPARE_SHARE_LEAST    0.008
#define COMPARE_BLOCKS_SEVERAL 2.5 /* effective number of blocks */

/* The part of a difference beyond one standard deviation. */
double compare_beyond(double value, double variance);
struct compare_touched compare_touch(const struct compare_search *search,
				     const struct compare_candidate *candidate);
/* Whether the effects are on so many basic blocks, by the effective number. */
bool compare_is_in_blocks(const struct compare_touched *touched, double least);
/* The part of differences that is explained if so much is left of it. */
double compare_part_explained(double before, double after);
/* Whether regions, and instructions within blocks, differ from the present model by no more than those
 * of other programs do from a right one. */
bool compare_misfit_is_usual(struct compare_search *search);
/* Sum of the differences of all basic blocks from the present model, beyond chance; cycles.  After
 * compare_make_residuals(). */
double compare_all_that_is_left(const struct compare_search *search);
/* The same of all instructions, beyond sampling alone. */
double compare_instructions_left(const struct compare_search *search);
/* Misfit of regions with `part` of the candidate's effect added to the prediction. */
double compare_misfit_beside(struct compare_search *search,
			     const struct compare_candidate *candidate, double part);

/* Whether a change affects the instructions of a class; class -1 (none): false.  `model` has all
 * units: removed units affect nothing. */
bool compare_touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int class);
/* The same for an instruction of the profile; if the candidate lists opcodes, only for those. */
bool compare_touches_node(const struct pesa_mca_model *model,
			  const struct compare_candidate *candidate,
			  const struct compare_node *node);
bool compare_is_memory(const struct compare_node *node); /* a load or store */
/* Whether both change the same class, or a class that uses the same resource. */
bool compare_is_related(const struct compare_search *search, const struct compare_candidate *one,
			const struct compare_candidate *other);
/* The text of a change in the syntax of pesa_mca_model_change(); several are separated by
 * blanks. */
void compare_describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		      int value, char *text, size_t size);
/* Execute all paths that a changed model affects; the resulting steps are in search->trial. */
struct pesa_error *compare_simulate(struct compare_search *search,
				    const struct compare_candidate *candidate, int value);
/* Apply the candidate's change to the model and all predictions. */
struct pesa_error *compare_adopt(struct compare_search *search,
				 const struct compare_candidate *candidate);
/* Remove the candidate's finding from the model and all predictions. */
struct pesa_error *compare_remove_finding(struct compare_search *search,
					  const struct compare_candidate *candidate);
/* Determine the effect of a finding on one opcode.  `candidate` is a copy of the finding's,
 * restricted to that opcode.  `back`: the model contains the change for this opcode, so the effect
 * of undoing it is computed and negated. */
struct pesa_error *compare_try_opcode(struct compare_search *search,
				      struct compare_candidate *candidate, bool back);
/* Determine the effect of removing the candidate's finding. */
struct pesa_error *compare_try_without(struct compare_search *search,
				       struct compare_candidate *candidate);
/* Fit the effect of a candidate to the residuals. */
struct pesa_error *compare_fit_effect(struct compare_search *search,
				      struct compare_candidate *candidate);
/* Determine the effect of a value, and fit it. */
struct pesa_error *compare_try(struct compare_search *search, struct compare_candidate *candidate,
			       int value);

/* ---- Screening (effect.c) -------------------------------------------------------------------- */

/* Choose the paths.  While search->screen.active, compare_try() simulates these only, and marks the
 * effect as screened. */
struct pesa_error *compare_screen_choose(struct compare_search *search);
void compare_screen_free(struct compare_screen *screen);

/* ---- Selection (selection.c) ----------------------------------------------------------------- */

/* Sum over basic blocks of |measured - predicted| core time; cycles. */
struct pesa_error *compare_distance_left(const struct pesa_compare *compare, double *distance);
/* Find what is wrong with the model. */
struct pesa_error *compare_find_all(struct compare_search *search);
/* The same where nothing waits, and nothing is uncertain. */
struct pesa_error *compare_find_plainly(struct compare_search *search);
/* Set the tentative model to that of all findings, whatever the evidence for them. */
struct pesa_error *compare_find_tentatively(struct compare_search *search);

/* ---- Significance (significance.c) ----------------------------------------------------------- */

/* Whether a part of the effect is seen in the residuals, beyond chance among all candidates. */
bool compare_is_visible(const struct compare_search *search,
			const struct compare_candidate *candidate);
/* What the whole effect explains, less the penalty for the size of the change; in the unit of `whole`. */
double compare_net_gain(const struct compare_search *search,
			const struct compare_candidate *candidate);
/*
 * Whether the whole effect is present in the residuals.  Values of a model are integers, so part of
 * a step is misfit.  The whole effect explains more than no effect exactly if the measured part is
 * closer to the whole.
 */
bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate);
/*
 * Whether most of the effect is in basic blocks where a load that waits for a store may be the reason as
 * well as an opcode that takes longer, and the candidate is about that opcode, or about a load or store
 * there.  Waiting takes another time in each block, so that one number which explains several of them is
 * no such wait.  `back`: the effect is that of taking the change back.
 */
bool compare_is_ambiguous(const struct compare_search *search,
			  const struct compare_candidate *candidate, bool back);
/*
 * Penalty for the size of a change: small changes are more likely than large ones, and a class
 * rarely occupies a resource longer than its latency.  In the unit of `whole`: twice the logarithm
 * of a likelihood.
 */
double compare_size_penalty(const struct compare_search *search,
			    const struct compare_candidate *candidate, int value);
/* The penalty of a finding: that for its size, and the square of the certainty that is asked for. */
double compare_penalty(const struct compare_search *search,
		       const struct compare_candidate *candidate, int value);
/* Whether the effect on a few paths is such that it may be visible on all. */
bool compare_is_promising(const struct compare_search *search,
			  const struct compare_candidate *candidate);
/* Whether the effect of a first value is such that a better value may make it visible. */
bool compare_is_worth_a_choice(const struct compare_search *search,
			       const struct compare_candidate *candidate);
/* Whether the candidate's whole effect is present, and it may be what another one, which is visible,
 * only resembles. */
bool compare_is_rival(const struct compare_search *search,
		      const struct compare_candidate *candidate,
		      const struct compare_candidate *visible);
/* Whether both are numbers of the same instructions: results that are later, and units that are busy for
 * longer, often do the same. */
bool compare_is_beside(const struct compare_candidate *one, const struct compare_candidate *other);
/* Report the rejected candidate that explains most of the remaining differences, and the reason why
 * it is not a finding; does nothing if one is reported already. */
void compare_name_nearest(struct compare_search *search);

/* ---- Forward selection (forward_selection.c) ------------------------------------------------- */

#define FINDINGS_MAX 12

/*
 * Determine the effect of the first value to try.  A small step of a latency has an effect only if
 * the latency is exposed already.  If it has none, a large step may: most of a latency is hidden
 * until it is long.
 */
struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate);
/* The same on a few paths only: compare_select_one() tries what is promising there on all. */
struct pesa_error *compare_try_on_few(struct compare_search *search,
				      struct compare_candidate *candidate);
/*
 * Choose the value of a candidate whose whole effect explains most, starting from the value tried
 * last, on the present model, if its effect is visible.
 */
struct pesa_error *compare_choose_value(struct compare_search *search,
					struct compare_candidate *candidate);
/* Whether a model can have the value. */
bool compare_is_possible(const struct compare_search *search,
			 const struct compare_candidate *candidate, int value);
/* Whether a finding already changes this number for some of its instructions. */
bool compare_is_taken(const struct compare_search *search,
		      const struct compare_candidate *candidate);
/* Make the candidate a finding, with the value tried last, and apply it to the model. */
struct pesa_error *compare_add_finding(struct compare_search *search,
				       struct compare_candidate *candidate);
/* The model has a new value: candidates for the same class and resource are outdated. */
void compare_value_changed(struct compare_search *search, struct compare_candidate *changed,
			   int value);
/*
 * Make the candidate that explains most a finding, if one is significant.  Refused candidates
 * (fit.h) are skipped.
 */
struct pesa_error *compare_select_one(struct compare_search *search, bool *found);
/* Select candidates one by one, until none is significant. */
struct pesa_error *compare_select_forward(struct compare_search *search);
/* The same, with the certainty that the number of candidates asks for. */
struct pesa_error *compare_select_all_forward(struct compare_search *search);
/* Whether a candidate, and all that changes the same number, may be selected. */
void compare_postpone(struct compare_search *search, const struct compare_candidate *candidate,
		      bool postponed);

/* ---- Findings (finding.c) -------------------------------------------------------------------- */

void compare_describe_finding(const struct compare_search *search,
			      struct compare_candidate *candidate,
			      struct pesa_compare_finding *finding);
/* Determine whether the instructions of each finding's class show different numbers. */
struct pesa_error *compare_find_spread(struct compare_search *search);
/* Candidates that may be in place of a finding; the most likely first. */
struct compare_ties {
	const struct compare_candidate *one[PESA_COMPARE_TIES];
	unsigned int count;
};

/* Add a candidate, if it is more likely than one of them, or there is room. */
void compare_rank_tie(const struct compare_search *search, struct compare_ties *ties,
		      const struct compare_candidate *candidate);
/* Name them as ties of the finding, after those that it has. */
void compare_name_ties(const struct compare_search *search, struct pesa_compare_finding *finding,
		       const struct compare_ties *ties);
/* List the candidates that explain about as much as `best`, which becomes the finding, the most likely
 * first; on the model without it. */
void compare_add_ties(struct compare_search *search, struct pesa_compare_finding *finding,
		      const struct compare_candidate *best);

/* ---- Backward elimination and exchange (exchange.c) ------------------------------------------ */

struct pesa_error *compare_exchange(struct compare_search *search);
/*
 * Give findings the values that are most likely with all of them in the model; *any: at least one has
 * another value.  While the model is wrong by much, the misfit of its regions is large, and all values
 * of a candidate explain about as much; with the findings in the model it is estimated anew.
 */
struct pesa_error *compare_settle_values(struct compare_search *search, bool *any);
/* Give a finding another value; what else explains it as well stays as it was. */
struct pesa_error *compare_change_value(struct compare_search *search,
					struct compare_candidate *candidate, int value);
bool compare_has_number(const struct compare_candidate *candidate); /* a finding with a value */
/* Name single opcodes of other entries that are about as likely as a finding in few basic blocks as its
 * ties. */
struct pesa_error *compare_tie_opcodes(struct compare_search *search);
/* The penalties of all findings together. */
double compare_penalties(const struct compare_search *search);
/* Penalised likelihood of the findings; makes the residuals. */
double compare_score(struct compare_search *search);
/* Remove a finding from the model, to be added again with another change: it keeps its place in the
 * list, and no other candidate is listed as its tie. */
struct pesa_error *compare_take_back(struct compare_search *search,
				     struct compare_candidate *candidate);
/* Remove a finding from the model, and update everything that depends on it. */
struct pesa_error *compare_eliminate(struct compare_search *search,
				     struct compare_candidate *candidate);

/* ---- Local search (local_search.c) ----------------------------------------------------------- */

/* Where code stays unexplained, change what was found a little, and keep what is likelier. */
struct pesa_error *compare_search_nearby(struct compare_search *search);

/* ---- Hypotheses (hypotheses.c) --------------------------------------------------------------- */

/* List models that may be right, if code stays unexplained or findings lacked evidence: each finding
 * alone, and all of them with one of the candidates that explain most of what is left. */
struct pesa_error *compare_list_hypotheses(struct compare_search *search);

/* ---- Evidence (evidence.c, together.c) ------------------------------------------------------ */

/* Determine which part of the differences each finding explains, and remove those that explain too
 * little. */
struct pesa_error *compare_weigh_evidence(struct compare_search *search);
/* Whether all findings together make nearly all differences vanish, by more than chance.  After
 * compare_make_residuals(). */
bool compare_are_right_together(struct compare_search *search);
/* Whether a finding explains nearly all that it touches, and with the others nearly all that differs.  After
 * compare_weigh_evidence(). */
bool compare_any_explains_nearly_all(struct compare_search *search);

/* ---- Opcodes (opcodes.c) --------------------------------------------------------------------- */

/* Determine the number that each opcode of each finding shows.  A finding that some opcodes
 * contradict is restricted to the opcodes that show it; *narrowed: at least one was, so call again.
 * `narrowed` NULL: no finding is changed. */
struct pesa_error *compare_weigh_opcodes(struct compare_search *search, bool *narrowed);

/* ---- State of the search (state.c) ----------------------------------------------------------- */

struct compare_state;

/* Save the findings, the model with them and its predictions.  Free with compare_state_free(). */
struct pesa_error *compare_state_keep(const struct compare_search *search,
				      struct compare_state **state);
/* Restore a saved state. */
struct pesa_error *compare_state_restore(struct compare_search *search,
					 const struct compare_state *state);
void compare_state_free(struct compare_state *state);

/* ---- What is kept (kept.c) ------------------------------------------------------------------- */

/* What was found before a search that may lead astray. */
struct compare_kept {
	struct compare_state *state; /* free with compare_state_free() */
	double score;
	bool lacking;
};

/* Twice the logarithm, less penalties, by which what another search finds has to be likelier. */
#define COMPARE_LIKELIER 12.0

/* Keep what is found now. */
struct pesa_error *compare_keep(struct compare_search *search, struct compare_kept *kept);
/* Keep what is found now in place of what was, if that is clearly likelier; *likelier: it was. */
struct pesa_error *compare_keep_if_likelier(struct compare_search *search,
					    struct compare_kept *best, bool *likelier);

#endif
