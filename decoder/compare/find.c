/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The complete search for findings: see search.h.
 *
 * What loads wait for, what fences order and in which order branches go was chosen with the model as
 * it is.  If several entries are wrong it was chosen to make up for them, and hides what they do.
 * So where findings lack evidence, all of it is chosen again with these findings in the model, and
 * the search begins anew on the model as it is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/search.h"
#include "decoder/compare/waits.h"

#define AGAIN_MAX      2     /* searches after the first one */
#define ORDERING_LEAST 0.001 /* executions a cycle by which what an instruction orders may matter */
/* Of what all findings explain of basic blocks, by those for which there is evidence. */
#define EXPLAINED_LEAST 0.9
#define NEARER		0.7 /* of the differences that are left, to be preferred to the search before */
#define LIKELIER \
	9.0 /* less loss in what the findings change, likewise: three standard deviations */
/* Instead of these with more findings. */
#define NEARER_MORE   0.8
#define LIKELIER_MORE 18.0
#define CHANGED	      0.02 /* part of a basic block's prediction */

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
}

static struct pesa_error *distance_of(const struct pesa_compare *compare, double *distance)
{
	double *scratch = calloc(compare->regions.groups + 1, sizeof(*scratch));

	if (!scratch)
		return pesa_error_no_memory();
	*distance = compare_block_distance(compare, NULL, scratch);
	free(scratch);
	return NULL;
}

/* Search among the candidates so far, one after the other. */
static struct pesa_error *select_forward(struct compare_search *search)
{
	/* A one-sided test, corrected for the number of candidates.  Those of single opcodes, which are
	 * added later, do not make what was found before them less certain. */
	if (search->candidates)
		search->deviations = pesa_estimate_deviations(
			1 - 2 * (1 - search->compare->options.confidence) / search->candidates);
	if (!search->entry_deviations)
		search->entry_deviations = search->deviations;
	return compare_select_forward(search);
}

static struct pesa_error *select_without_evidence(struct compare_search *search)
{
	struct pesa_error *error = select_forward(search);

	return error ? error : compare_exchange(search);
}

/* Take back the findings that lack evidence.  The model with all of them becomes the tentative one. */
static struct pesa_error *ask_for_evidence(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *tentative = NULL;
	unsigned int found = compare->findings;
	struct pesa_error *error = pesa_mca_model_vary(compare->model, &tentative);

	if (!error)
		error = compare_weigh_evidence(search);
	search->lacking = compare->findings < found;
	/* Those of whole classes come first, and are more likely than those of single opcodes. */
	if (!error && search->lacking && !compare->tentative)
		compare->tentative = tentative;
	else
		pesa_mca_model_free(tentative);
	return error;
}

static struct pesa_error *select_findings(struct compare_search *search)
{
	struct pesa_error *error = select_without_evidence(search);

	return error ? error : ask_for_evidence(search);
}

/*
 * Several wrong entries make all regions differ, so that the misfit that is estimated from these hides
 * them.  Search as if the misfit were that of other programs: if what is left with the findings is no
 * more than that, or if they make nearly all differences vanish, they explain it, and the search goes on
 * like that.  Otherwise take them back.
 *
 * Findings that lack evidence may leave more than that when they are taken back: they moved time within
 * blocks, too little to be certain.  That says nothing against the others, as long as these explain
 * nearly all that was explained of basic blocks.
 */
static struct pesa_error *select_trusting(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	double with_all = 0, left = 0;
	struct compare_state *state;
	struct pesa_error *error = compare_state_keep(search, &state);
	bool usual = false, kept = false;

	if (!error) {
		search->trusting = true;
		error = select_without_evidence(search);
	}
	if (!error)
		error = distance_of(compare, &with_all);
	if (!error) {
		usual = compare_misfit_is_usual(search);
		error = ask_for_evidence(search);
	}
	if (!error)
		error = distance_of(compare, &left);
	if (!error) {
		usual &= search->at_first - left >= EXPLAINED_LEAST * (search->at_first - with_all);
		compare_make_residuals(search);
		kept = usual || compare_are_right_together(search) ||
		       compare_misfit_is_usual(search);
	}
	if (!error && !kept) {
		search->trusting = false;
		memset(&compare->unexplained, 0, sizeof(compare->unexplained));
		error = compare_state_restore(search, state);
	}
	compare_state_free(state);
	return error;
}

/* What was found before a search that may lead astray. */
struct before {
	struct compare_state *state;
	double score;
	bool lacking;
};

static struct pesa_error *keep_before(struct compare_search *search, struct before *before)
{
	*before = (struct before){.score = compare_score(search), .lacking = search->lacking};
	return compare_state_keep(search, &before->state);
}

/* Take back what was found since, if that is less likely. */
static struct pesa_error *keep_likelier(struct compare_search *search, const struct before *before)
{
	if (compare_score(search) >= before->score)
		return NULL;
	search->lacking = before->lacking;
	return compare_state_restore(search, before->state);
}

/* Search with candidates of single opcodes as well.  What was found without them is kept if it is more
 * likely: among more candidates the search may go astray. */
static struct pesa_error *select_with_opcodes(struct compare_search *search)
{
	struct before before;
	struct pesa_error *error = keep_before(search, &before);

	if (!error)
		error = compare_list_opcodes(search);
	if (!error)
		error = select_findings(search);
	if (!error)
		error = keep_likelier(search, &before);
	compare_state_free(before.state);
	return error;
}

/*
 * Restrict findings that opcodes contradict to the others of their opcodes, and search on.  They stay as
 * they were if that is more likely: which instruction waits is chance out of order, and a finding without
 * some of its opcodes may explain nothing.
 */
static struct pesa_error *narrow_findings(struct compare_search *search, bool opcodes_listed)
{
	struct before before;
	bool narrowed = false;
	struct pesa_error *error = keep_before(search, &before);

	if (!error)
		error = compare_weigh_opcodes(search, &narrowed);
	if (!error && narrowed && !opcodes_listed)
		error = compare_list_opcodes(search);
	if (!error && narrowed)
		error = select_findings(search);
	if (!error && narrowed)
		error = keep_likelier(search, &before);
	if (!error && narrowed)
		error = compare_weigh_opcodes(search, NULL);
	compare_state_free(before.state);
	return error;
}

/* Most wrong entries of a model are wrong for all their opcodes.  If such changes do not explain
 * the measurement, or opcodes contradict a finding, changes of single opcodes are tried too. */
static struct pesa_error *select_all(struct compare_search *search)
{
	struct pesa_error *error = NULL;
	bool single = false;

	if (!compare_misfit_is_usual(search))
		error = select_trusting(search);
	if (!error)
		error = select_findings(search);
	if (!error)
		single = compare_has_unexplained_code(search);
	if (!error && single)
		error = select_with_opcodes(search);
	return error ? error : narrow_findings(search, single);
}

/* Settle the values of findings that leave much, and select what is visible with these.  What was found
 * before is kept if less is likely with what has evidence then. */
static struct pesa_error *settle_values(struct compare_search *search)
{
	struct before before;
	bool any = false;
	struct pesa_error *error = keep_before(search, &before);

	if (!error)
		error = compare_settle_values(search, &any);
	if (!error && any)
		error = compare_select_forward(search);
	if (!error && any)
		error = compare_weigh_evidence(search);
	if (!error && any)
		error = keep_likelier(search, &before);
	if (!error && any)
		error = compare_weigh_opcodes(search, NULL);
	compare_state_free(before.state);
	return error;
}

static struct pesa_error *find_all(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_error *error = select_all(search);
	bool explained;

	if (!error && compare->findings && compare_has_uncertain_regions(search))
		error = settle_values(search);
	/* No finding lacks evidence, and no region is off beside the findings. */
	explained = !error && !search->lacking && !compare_has_uncertain_regions(search) &&
		    compare_misfit_is_usual(search);
	compare->far = !error && !explained && compare_is_far(search);
	if (explained) {
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
	}
	if (error)
		return error;
	/* Before ties, which explain what the findings do, and not what is left beside these. */
	compare_name_nearest(search);
	return compare_tie_opcodes(search);
}

static struct pesa_error *find_plainly(struct compare_search *search)
{
	search->plain = true;
	return find_all(search);
}

/* Set the tentative model to that of all findings, whatever the evidence for them. */
static struct pesa_error *find_tentatively(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_error *error;

	search->trusting = true;
	error = select_forward(search);
	if (!error && compare_has_unexplained_code(search)) {
		error = compare_list_opcodes(search);
		if (!error)
			error = select_forward(search);
	}
	if (!error && compare->findings)
		error = pesa_mca_model_vary(compare->model, &compare->tentative);
	return error;
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
		.core = compare->totals.time.core,
	};
	struct pesa_error *error = NULL;

	compare->finding = calloc(FINDINGS_MAX, sizeof(*compare->finding));
	compare->opcodes = calloc(FINDINGS_MAX, sizeof(*compare->opcodes));
	if (!compare->opcodes || !search.residuals.node || !search.residuals.block ||
	    !search.touched || !search.change || !search.trial || !search.affected ||
	    !search.class_used || !compare->finding || !search.sum || !search.difference)
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_mca_model_vary(compare->model, &search.original);
	if (!error)
		error = distance_of(compare, &search.at_first);
	if (!error)
		error = compare_screen_choose(&search);
	if (!error)
		error = compare_list_candidates(&search);
	if (!error) {
		search.score_at_first = compare_score(&search);
		search.nodes_at_first = compare_instructions_left(&search);
		error = find(&search);
	}
	if (!error)
		compare_name_nearest(&search);
	if (!error)
		error = compare_find_spread(&search);
	search_free(&search);
	return error;
}

/* ---- Searching again ------------------------------------------------------------------------- */

struct chosen_node {
	double misses, late, uncertain;
	double waits_part;
	uint8_t waits;
	bool ambiguous;
};

/* What was chosen for the paths (compare_predict_ordered()), and what was found with it. */
struct outcome {
	struct chosen_node *node;
	struct compare_kinds kinds;
	bool in_sets;
	enum compare_directions directions;
	unsigned int ordered_cycles;
	struct pesa_mca_model *model; /* with the findings */
	struct pesa_compare_finding *finding;
	struct compare_opcodes *opcodes;
	unsigned int findings;
	struct pesa_compare_unexplained unexplained;
	struct pesa_compare_totals totals;
	struct compare_block_loss *loss; /* by basic block */
	double distance;
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
}

static void free_findings(struct pesa_compare *compare)
{
	compare_findings_free(compare->finding, compare->opcodes, compare->findings);
	pesa_mca_model_free(compare->model);
	forget_findings(compare);
}

static void free_outcome(struct outcome *outcome)
{
	compare_findings_free(outcome->finding, outcome->opcodes, outcome->findings);
	pesa_mca_model_free(outcome->model);
	free(outcome->node);
	free(outcome->loss);
}

/* Move the outcome out of the comparison, which has no model and no findings then. */
static struct pesa_error *take_outcome(struct pesa_compare *compare,
				       const struct compare_path_options *options,
				       struct outcome *outcome)
{
	*outcome = (struct outcome){
		.node = calloc(compare->code.count + 1, sizeof(*outcome->node)),
		.loss = calloc(compare->regions.groups + 1, sizeof(*outcome->loss)),
		.kinds = compare->kinds,
		.in_sets = compare->code.in_sets,
		.directions = options->directions,
		.ordered_cycles = compare->predictor.ordered_cycles,
		.model = compare->model,
		.finding = compare->finding,
		.opcodes = compare->opcodes,
		.findings = compare->findings,
		.unexplained = compare->unexplained,
		.totals = compare->totals,
	};
	forget_findings(compare);
	memset(&compare->unexplained, 0, sizeof(compare->unexplained));
	if (!outcome->node || !outcome->loss)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		outcome->node[i] = (struct chosen_node){.misses = node->misses,
							.late = node->late,
							.uncertain = node->uncertain,
							.waits = node->waits,
							.waits_part = node->waits_part,
							.ambiguous = node->ambiguous};
	}
	compare_block_losses(compare, outcome->loss);
	return distance_of(compare, &outcome->distance);
}

/* Move it back, in place of the present one, and predict. */
static struct pesa_error *return_outcome(struct pesa_compare *compare,
					 struct compare_path_options *options,
					 struct outcome *outcome)
{
	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];

		node->misses = outcome->node[i].misses;
		node->late = outcome->node[i].late;
		node->uncertain = outcome->node[i].uncertain;
		node->waits = outcome->node[i].waits;
		node->waits_part = outcome->node[i].waits_part;
		node->ambiguous = outcome->node[i].ambiguous;
	}
	compare->kinds = outcome->kinds;
	compare->code.in_sets = outcome->in_sets;
	options->directions = outcome->directions;
	compare->predictor.ordered_cycles = outcome->ordered_cycles;
	free_findings(compare);
	compare->model = outcome->model;
	compare->finding = outcome->finding;
	compare->opcodes = outcome->opcodes;
	compare->findings = outcome->findings;
	compare->unexplained = outcome->unexplained;
	compare->totals = outcome->totals;
	outcome->model = NULL;
	outcome->finding = NULL;
	outcome->opcodes = NULL;
	return compare_predict_all(compare, options);
}

/* Take back what was chosen for the paths, but how instructions order others. */
static void forget_chosen(struct pesa_compare *compare, struct compare_path_options *options)
{
	struct compare_code *code = &compare->code;

	for (uint32_t i = 0; i < code->count; i++) {
		code->node[i].uncertain = 0;
		code->node[i].waits = COMPARE_WAITS_AS_CODED;
		code->node[i].ambiguous = false;
	}
	code->in_sets = false;
	options->directions = COMPARE_EVENLY;
	compare->predictor.ordered_cycles = 0;
}

/* Choose all that is chosen for the paths, with the present model. */
static struct pesa_error *choose_again(struct pesa_compare *compare,
				       struct compare_path_options *options)
{
	forget_chosen(compare, options);
	return compare_predict_ordered(compare, options);
}

static bool is_chosen_alike(const struct pesa_compare *compare,
			    const struct compare_path_options *options,
			    const struct outcome *outcome)
{
	if (options->directions != outcome->directions ||
	    compare->predictor.ordered_cycles != outcome->ordered_cycles ||
	    compare->code.in_sets != outcome->in_sets)
		return false;
	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].waits != outcome->node[i].waits)
			return false;
	for (unsigned int i = 0; i < compare->kinds.count; i++)
		if (compare->kinds.kind[i].wait != outcome->kinds.kind[i].wait)
			return false;
	return true;
}

/*
 * Whether the basic blocks that findings change are so much likelier than they were in the search
 * before: other choices alone may make a prediction worse, which a finding then mends.  `plain`: with
 * these choices and without the findings.
 */
static struct pesa_error *is_likelier(const struct pesa_compare *compare,
				      const struct compare_block_loss *plain,
				      const struct outcome *before, double least, bool *likelier)
{
	struct compare_block_loss *now = calloc(compare->regions.groups + 1, sizeof(*now));
	double less = 0;

	if (!now)
		return pesa_error_no_memory();
	compare_block_losses(compare, now);
	for (uint32_t i = 0; i < compare->regions.groups; i++)
		if (fabs(now[i].predicted - plain[i].predicted) > CHANGED * plain[i].predicted)
			less += before->loss[i].loss - now[i].loss;
	free(now);
	*likelier = less > least;
	return NULL;
}

/* Search from `original` with the choices as they are.  *nearer: the outcome is better than `before`. */
static struct pesa_error *search_from(struct pesa_compare *compare,
				      const struct pesa_mca_model *original,
				      struct compare_path_options *options,
				      struct pesa_error *(*find)(struct compare_search *),
				      const struct outcome *before, bool *nearer)
{
	struct compare_block_loss *plain = calloc(compare->regions.groups + 1, sizeof(*plain));
	double distance = 0;
	bool more;
	struct pesa_error *error =
		plain ? pesa_mca_model_vary(original, &compare->model) : pesa_error_no_memory();

	if (!error)
		error = compare_predict_all(compare, options);
	if (!error) {
		compare_block_losses(compare, plain);
		compare_add_up(compare);
		error = search_once(compare, find);
	}
	if (!error)
		error = distance_of(compare, &distance);
	more = compare->findings > before->findings;
	*nearer = !error && compare->findings &&
		  distance < (more ? NEARER_MORE : NEARER) * before->distance;
	if (*nearer && more)
		error = is_likelier(compare, plain, before,
				    distance < NEARER * before->distance ? LIKELIER : LIKELIER_MORE,
				    nearer);
	free(plain);
	return error;
}

/* Choose with the tentative model, and search from `original`.  *nearer: the outcome is kept. */
static struct pesa_error *search_again(struct pesa_compare *compare,
				       const struct pesa_mca_model *original,
				       struct compare_path_options *options, bool *nearer)
{
	struct outcome before;
	struct pesa_error *error = take_outcome(compare, options, &before);

	*nearer = false;
	compare->model = compare->tentative;
	compare->tentative = NULL;
	if (!error)
		error = choose_again(compare, options);
	pesa_mca_model_free(compare->model);
	compare->model = NULL;
	if (!error && !is_chosen_alike(compare, options, &before))
		error = search_from(compare, original, options, find_all, &before, nearer);
	if (!error && !*nearer)
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
		options->directions = k;
		error = pesa_mca_model_vary(original, &compare->model);
		if (!error)
			error = compare_predict_all(compare, options);
		if (!error)
			error = search_once(compare, find_tentatively);
		if (!error)
			error = distance_of(compare, &distance);
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

	forget_chosen(compare, options);
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
	bool nearer = false;

	forget_chosen(compare, options);
	compare->kinds = nearest->kinds;
	options->directions = nearest->directions;
	if (!error)
		error = search_from(compare, original, options, find_plainly, &before, &nearer);
	if (!error && !nearer)
		error = return_outcome(compare, options, &before);
	free_outcome(&before);
	return error;
}

struct pesa_error *compare_find(struct pesa_compare *compare, struct compare_path_options *options)
{
	struct nearest nearest = {.distance = INFINITY};
	struct pesa_mca_model *original;
	struct pesa_error *error = pesa_mca_model_vary(compare->model, &original);
	bool nearer = true;

	if (error)
		return error;
	error = search_once(compare, find_all);
	for (unsigned int i = 0; i < AGAIN_MAX && compare->tentative && nearer && !error; i++) {
		if (compare_is_exhausted(compare))
			break;
		error = search_again(compare, original, options, &nearer);
	}
	if (!error && (compare->tentative || compare->far) && !compare_is_exhausted(compare)) {
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
		error = search_plainly(compare, original, options, &nearest);
		if (!error && compare->tentative) {
			error = search_again(compare, original, options, &nearer);
			if (!error && !nearer && !compare_is_exhausted(compare))
				error = search_nearest(compare, original, options, &nearest);
		}
	}
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
