/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The complete search for findings: see search.h.
 *
 * What loads wait for, what fences order and in which order branches go was chosen with the model as
 * it is.  If several entries are wrong it was chosen to make up for them, and hides what they do.
 * So where findings lack evidence, all of it is chosen again with these findings in the model, and
 * the search begins anew on the model as it is; at the end, with each of the models that may be right
 * (hypotheses.c), and the search begins anew for the likeliest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/chosen.h"
#include "decoder/compare/search/search.h"
#include "decoder/compare/waits.h"

#define AGAIN_MAX      2     /* searches after the first one */
#define ORDERING_LEAST 0.001 /* executions a cycle by which what an instruction orders may matter */
#define NEARER	       0.7   /* of the differences that were left: much nearer */
#define NO_FARTHER     1.1   /* of these: what is uncertain may make it likelier, though farther */

static void search_free(struct compare_search *search)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		free(search->candidate[i].effect);
	free(search->candidate);
	compare_tried_free(&search->tried);
	compare_screen_free(&search->screen);
	pesa_mca_model_free(search->original);
	free(search->residuals.node);
	free(search->residuals.block);
	free(search->change);
	free(search->touched);
	free(search->trial);
	free(search->affected);
	free(search->class_used);
	free(search->sum);
	free(search->difference);
	free(search->expected);
}

/* Infer findings with `find`, and with what has been chosen for the paths. */
static struct pesa_error *search_once(struct pesa_compare *compare,
				      struct pesa_error *(*find)(struct compare_search *))
{
	uint32_t nodes = compare->code.count, blocks = compare->regions.groups;
	struct compare_search search = {
		.compare = compare,
		.residuals = {.node = calloc(nodes + 1, sizeof(*search.residuals.node)),
			      .block = calloc(blocks + 1, sizeof(*search.residuals.block)),
			      .regions = compare->regions.count},
		.change = calloc(nodes + 1, sizeof(*search.change)),
		.touched = calloc(blocks + 1, sizeof(*search.touched)),
		.trial = calloc(compare->paths.steps + 1, sizeof(*search.trial)),
		.affected = calloc(compare->paths.count + 1, sizeof(*search.affected)),
		.class_used = calloc(compare->model->class_count + 1, sizeof(*search.class_used)),
		.sum = calloc(compare->regions.count + 1, sizeof(*search.sum)),
		.difference = calloc(nodes + 1, sizeof(*search.difference)),
		.expected = calloc(nodes + 1, sizeof(*search.expected)),
		.core = compare->totals.time.core,
	};
	struct pesa_error *error = NULL;

	compare->finding = calloc(FINDINGS_MAX, sizeof(*compare->finding));
	compare->opcodes = calloc(FINDINGS_MAX, sizeof(*compare->opcodes));
	if (!compare->opcodes || !search.residuals.node || !search.residuals.block ||
	    !search.touched || !search.change || !search.trial || !search.affected ||
	    !search.class_used || !compare->finding || !search.sum || !search.difference ||
	    !search.expected)
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_mca_model_vary(compare->model, &search.original);
	if (!error)
		error = compare_distance_left(compare, &search.at_first);
	if (!error)
		error = compare_screen_choose(&search);
	if (!error)
		error = compare_list_candidates(&search);
	if (!error) {
		search.score_at_first = compare_score(&search);
		search.nodes_at_first = compare_instructions_left(&search);
		error = find(&search);
	}
	if (!error) {
		/* With the misfit that is estimated, whatever the search took it to be. */
		search.trusting = false;
		compare->score = compare_score(&search);
		compare_name_nearest(&search);
	}
	if (!error)
		error = compare_find_spread(&search);
	search_free(&search);
	return error;
}

/* ---- Searching again ------------------------------------------------------------------------- */

/* What was chosen for the paths (compare_predict_ordered()), and what was found with it. */
struct outcome {
	struct compare_chosen chosen;
	struct pesa_mca_model *model; /* with the findings */
	struct pesa_compare_finding *finding;
	struct compare_opcodes *opcodes;
	unsigned int findings;
	struct pesa_compare_unexplained unexplained;
	struct pesa_compare_totals totals;
	struct compare_hypotheses hypotheses;
	double score, distance;
};

void compare_findings_free(struct pesa_compare_finding *finding, struct compare_opcodes *opcodes,
			   unsigned int findings)
{
	for (unsigned int i = 0; opcodes && i < findings; i++)
		free(opcodes[i].one);
	free(opcodes);
	free(finding);
}

/* Leave the comparison without model and findings; those that it had are the caller's, or freed. */
static void forget_findings(struct pesa_compare *compare)
{
	compare->model = NULL;
	compare->finding = NULL;
	compare->opcodes = NULL;
	compare->findings = 0;
	compare->hypotheses.count = 0;
}

static void free_findings(struct pesa_compare *compare)
{
	compare_findings_free(compare->finding, compare->opcodes, compare->findings);
	compare_hypotheses_free(&compare->hypotheses);
	pesa_mca_model_free(compare->model);
	forget_findings(compare);
}

static void free_outcome(struct outcome *outcome)
{
	compare_findings_free(outcome->finding, outcome->opcodes, outcome->findings);
	compare_hypotheses_free(&outcome->hypotheses);
	pesa_mca_model_free(outcome->model);
	compare_chosen_free(&outcome->chosen);
}

/* Move the outcome out of the comparison, which has no model and no findings then. */
static struct pesa_error *take_outcome(struct pesa_compare *compare,
				       const struct compare_path_options *options,
				       struct outcome *outcome)
{
	struct pesa_error *error;

	*outcome = (struct outcome){
		.model = compare->model,
		.finding = compare->finding,
		.opcodes = compare->opcodes,
		.findings = compare->findings,
		.unexplained = compare->unexplained,
		.totals = compare->totals,
		.hypotheses = compare->hypotheses,
		.score = compare->score,
	};
	forget_findings(compare);
	memset(&compare->unexplained, 0, sizeof(compare->unexplained));
	error = compare_chosen_save(compare, options, &outcome->chosen);
	return error ? error : compare_distance_left(compare, &outcome->distance);
}

/* Move it back, in place of the present one, and predict. */
static struct pesa_error *return_outcome(struct pesa_compare *compare,
					 struct compare_path_options *options,
					 struct outcome *outcome)
{
	compare_chosen_restore(compare, options, &outcome->chosen);
	free_findings(compare);
	compare->model = outcome->model;
	compare->finding = outcome->finding;
	compare->opcodes = outcome->opcodes;
	compare->findings = outcome->findings;
	compare->unexplained = outcome->unexplained;
	compare->totals = outcome->totals;
	compare->hypotheses = outcome->hypotheses;
	compare->score = outcome->score;
	outcome->hypotheses.count = 0;
	outcome->model = NULL;
	outcome->finding = NULL;
	outcome->opcodes = NULL;
	return compare_predict_all(compare, options);
}

/* Choose all that is chosen for the paths, with the present model. */
static struct pesa_error *choose_again(struct pesa_compare *compare,
				       struct compare_path_options *options)
{
	compare_chosen_forget(compare, options);
	return compare_predict_ordered(compare, options);
}

static bool is_chosen_alike(const struct pesa_compare *compare,
			    const struct compare_path_options *options,
			    const struct compare_chosen *chosen)
{
	if (options->directions != chosen->directions ||
	    compare->predictor.ordered_cycles != chosen->ordered_cycles ||
	    compare->code.in_sets != chosen->in_sets)
		return false;
	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].waits != chosen->node[i].waits)
			return false;
	for (unsigned int i = 0; i < compare->kinds.count; i++)
		if (compare->kinds.kind[i].wait != chosen->kinds.kind[i].wait)
			return false;
	return true;
}

/* Whether an outcome is to be kept in place of the one before: it is clearly likelier; or it is much nearer, and
 * not less likely, or what was found before, too, is wrong by more.  Of one region that is far off the likelihood
 * makes little. */
static bool is_to_be_kept(const struct pesa_compare *compare, double distance,
			  const struct outcome *before)
{
	double more = compare->score - before->score;

	if (!compare->findings || distance > NO_FARTHER * before->distance)
		return false;
	if (distance < NEARER * before->distance)
		return before->findings || more > 0;
	return more > COMPARE_LIKELIER;
}

/* Search from `original` with the choices as they are.  *likelier: the outcome is to be kept. */
static struct pesa_error *search_from(struct pesa_compare *compare,
				      const struct pesa_mca_model *original,
				      struct compare_path_options *options,
				      struct pesa_error *(*find)(struct compare_search *),
				      const struct outcome *before, bool *likelier)
{
	double distance = 0;
	struct pesa_error *error = pesa_mca_model_vary(original, &compare->model);

	if (!error)
		error = compare_predict_all(compare, options);
	if (!error) {
		compare_add_up(compare);
		error = search_once(compare, find);
	}
	if (!error)
		error = compare_distance_left(compare, &distance);
	*likelier = !error && is_to_be_kept(compare, distance, before);
	return error;
}

/* Choose with the tentative model, and search from `original`.  *likelier: the outcome is kept. */
static struct pesa_error *search_again(struct pesa_compare *compare,
				       const struct pesa_mca_model *original,
				       struct compare_path_options *options, bool *likelier)
{
	struct outcome before;
	struct pesa_error *error = take_outcome(compare, options, &before);

	*likelier = false;
	compare->model = compare->tentative;
	compare->tentative = NULL;
	if (!error)
		error = choose_again(compare, options);
	pesa_mca_model_free(compare->model);
	compare->model = NULL;
	if (!error && !is_chosen_alike(compare, options, &before.chosen))
		error = search_from(compare, original, options, compare_find_all, &before,
				    likelier);
	if (!error && !*likelier)
		error = return_outcome(compare, options, &before);
	free_outcome(&before);
	return error;
}

/* Let nothing wait at instructions that order others and are often executed, where no flush follows;
 * whether anything did. */
static bool forget_ordering(struct pesa_compare *compare)
{
	bool any = false;

	for (unsigned int i = 0; i < compare->kinds.count; i++) {
		struct compare_kind *kind = &compare->kinds.kind[i];

		if (kind->wait == COMPARE_WAIT_NOTHING || compare_kind_flushes(kind) ||
		    kind->executions < ORDERING_LEAST * compare->totals.cycles)
			continue;
		kind->wait = COMPARE_WAIT_NOTHING;
		any = true;
	}
	return any;
}

/* The tentative model that is nearest to the measurement so far. */
struct nearest {
	struct pesa_mca_model *model;
	double distance;
	/* What was chosen for the paths. */
	struct compare_kinds kinds;
	enum compare_directions directions;
};

/* Find a tentative model with branches in each order, and keep the nearest. */
static struct pesa_error *find_in_each_order(struct pesa_compare *compare,
					     const struct pesa_mca_model *original,
					     struct compare_path_options *options,
					     struct nearest *nearest)
{
	struct pesa_error *error = NULL;
	double distance = 0;

	for (unsigned int k = 0; k < COMPARE_DIRECTIONS && !error; k++) {
		if (nearest->model && compare_is_nearly_exhausted(compare))
			break;
		options->directions = k;
		error = pesa_mca_model_vary(original, &compare->model);
		if (!error)
			error = compare_predict_all(compare, options);
		if (!error)
			error = search_once(compare, compare_find_tentatively);
		if (!error)
			error = compare_distance_left(compare, &distance);
		if (!error && compare->tentative && distance < nearest->distance) {
			nearest->distance = distance;
			nearest->kinds = compare->kinds;
			nearest->directions = k;
			pesa_mca_model_free(nearest->model);
			nearest->model = compare->tentative;
			compare->tentative = NULL;
		}
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
		free_findings(compare);
	}
	return error;
}

/*
 * Find a tentative model while no load waits and nothing is uncertain, and also while nothing waits at
 * instructions that order others: what was chosen with a wrong model may hide what is wrong with it.
 */
static struct pesa_error *search_plainly(struct pesa_compare *compare,
					 const struct pesa_mca_model *original,
					 struct compare_path_options *options,
					 struct nearest *nearest)
{
	struct outcome before;
	struct pesa_error *error = take_outcome(compare, options, &before);

	compare_chosen_forget(compare, options);
	if (!error)
		error = find_in_each_order(compare, original, options, nearest);
	if (!error && forget_ordering(compare))
		error = find_in_each_order(compare, original, options, nearest);
	compare->tentative = nearest->model;
	nearest->model = NULL;
	if (!error)
		error = return_outcome(compare, options, &before);
	free_outcome(&before);
	return error;
}

/* Search from `original` while no load waits and nothing is uncertain, as for the nearest tentative model. */
static struct pesa_error *search_nearest(struct pesa_compare *compare,
					 const struct pesa_mca_model *original,
					 struct compare_path_options *options,
					 const struct nearest *nearest)
{
	struct outcome before;
	struct pesa_error *error = take_outcome(compare, options, &before);
	bool likelier = false;

	compare_chosen_forget(compare, options);
	compare->kinds = nearest->kinds;
	options->directions = nearest->directions;
	if (!error)
		error = search_from(compare, original, options, compare_find_plainly, &before,
				    &likelier);
	if (!error && !likelier)
		error = return_outcome(compare, options, &before);
	free_outcome(&before);
	return error;
}

/* ---- Hypotheses ------------------------------------------------------------------------------ */

static struct pesa_error *find_nothing(struct compare_search *search)
{
	(void)search;
	return NULL;
}

/* The score of the present model with what is chosen for the paths with it, but for its penalties. */
static struct pesa_error *score_of_model(struct pesa_compare *compare,
					 struct compare_path_options *options, double *score)
{
	struct pesa_error *error = choose_again(compare, options);

	if (error)
		return error;
	compare_add_up(compare);
	error = search_once(compare, find_nothing);
	*score = compare->score;
	return error;
}

/* Choose again with each hypothesis.  The one that is likeliest becomes the tentative model, if it is
 * likelier than the outcome. */
static struct pesa_error *choose_hypothesis(struct pesa_compare *compare,
					    struct compare_path_options *options)
{
	struct outcome before;
	struct pesa_error *error = take_outcome(compare, options, &before);
	double most = before.score, score = 0;

	for (unsigned int i = 0; i < before.hypotheses.count && !error; i++) {
		const struct compare_hypothesis *one = &before.hypotheses.one[i];

		error = pesa_mca_model_vary(one->model, &compare->model);
		if (!error)
			error = score_of_model(compare, options, &score);
		if (!error && score - one->penalties > most) {
			most = score - one->penalties;
			pesa_mca_model_free(compare->tentative);
			error = pesa_mca_model_vary(one->model, &compare->tentative);
		}
		free_findings(compare);
	}
	if (!error)
		error = return_outcome(compare, options, &before);
	free_outcome(&before);
	return error;
}

/* Search again as long as a hypothesis leads to something likelier. */
static struct pesa_error *search_hypotheses(struct pesa_compare *compare,
					    const struct pesa_mca_model *original,
					    struct compare_path_options *options)
{
	struct pesa_error *error = NULL;
	bool likelier = true;

	for (unsigned int i = 0; i < AGAIN_MAX && likelier && !error; i++) {
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
		/* A search that ended early begins none of its own that can be left out. */
		if (!compare->hypotheses.count || (i && compare_is_exhausted(compare)))
			break;
		error = choose_hypothesis(compare, options);
		likelier = false;
		if (!error && compare->tentative)
			error = search_again(compare, original, options, &likelier);
	}
	return error;
}

/* ---- All of it ------------------------------------------------------------------------------- */

struct pesa_error *compare_find(struct pesa_compare *compare, struct compare_path_options *options)
{
	struct nearest nearest = {.distance = INFINITY};
	struct pesa_mca_model *original;
	struct pesa_error *error = pesa_mca_model_vary(compare->model, &original);
	bool likelier = true;

	if (error)
		return error;
	error = search_once(compare, compare_find_all);
	for (unsigned int i = 0; i < AGAIN_MAX && compare->tentative && likelier && !error; i++) {
		if (compare_is_exhausted(compare))
			break;
		error = search_again(compare, original, options, &likelier);
	}
	if (!error && (compare->tentative || compare->far) && !compare_is_exhausted(compare)) {
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
		error = search_plainly(compare, original, options, &nearest);
		if (!error && compare->tentative) {
			error = search_again(compare, original, options, &likelier);
			if (!error && !likelier && !compare_is_exhausted(compare))
				error = search_nearest(compare, original, options, &nearest);
		}
	}
	if (!error)
		error = search_hypotheses(compare, original, options);
	pesa_mca_model_free(original);
	compare->totals.ended_early = compare->ended_early;
	return error;
}

unsigned int pesa_compare_finding_count(const struct pesa_compare *compare)
{
	return compare->findings;
}

const struct pesa_compare_finding *pesa_compare_finding(const struct pesa_compare *compare,
							unsigned int index)
{
	return &compare->finding[index];
}

unsigned int pesa_compare_opcode_count(const struct pesa_compare *compare, unsigned int finding)
{
	return compare->opcodes[finding].count;
}

const struct pesa_compare_opcode *pesa_compare_opcode(const struct pesa_compare *compare,
						      unsigned int finding, unsigned int index)
{
	return &compare->opcodes[finding].one[index];
}

const char *pesa_compare_evidence_name(enum pesa_compare_evidence evidence)
{
	static const char *const names[PESA_COMPARE_EVIDENCES] = {
		[PESA_COMPARE_MOVED] = "moved",
		[PESA_COMPARE_CONTRADICTS] = "contradicts",
		[PESA_COMPARE_HIDDEN] = "hidden",
		[PESA_COMPARE_NOT_EXECUTED] = "not executed",
	};

	return names[evidence];
}

const char *pesa_compare_change_name(enum pesa_compare_change kind)
{
	static const char *const names[PESA_COMPARE_CHANGES] = {
		[PESA_COMPARE_LATENCY] = "latency", [PESA_COMPARE_CYCLES] = "resource",
		[PESA_COMPARE_ADVANCE] = "advance", [PESA_COMPARE_UNITS] = "units",
		[PESA_COMPARE_ISSUE] = "issue",
	};

	return names[kind];
}
