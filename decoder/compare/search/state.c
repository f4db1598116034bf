/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saving and restoring the state of the search for findings: see search.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

/* The state of a candidate, for the present model. */
struct candidate_state {
	unsigned int finding;
	int model_value;
	bool closed;
	unsigned int opcodes;
};

struct compare_state {
	struct pesa_mca_model *model;
	struct compare_predicted *predicted; /* by step */
	double (*time)[2];		     /* by node: retiring, stalled */
	struct candidate_state *candidate;
	unsigned int candidates;
	struct pesa_compare_finding *finding;
	unsigned int findings;
};

void compare_state_free(struct compare_state *state)
{
	if (!state)
		return;
	pesa_mca_model_free(state->model);
	free(state->predicted);
	free(state->time);
	free(state->candidate);
	free(state->finding);
	free(state);
}

struct pesa_error *compare_state_keep(const struct compare_search *search,
				      struct compare_state **state)
{
	const struct pesa_compare *compare = search->compare;
	size_t steps = compare->paths.steps;
	struct compare_state *kept = calloc(1, sizeof(*kept));
	struct pesa_error *error;

	*state = kept;
	if (!kept)
		return pesa_error_no_memory();
	kept->predicted = malloc((steps + 1) * sizeof(*kept->predicted));
	kept->time = malloc((compare->code.count + 1) * sizeof(*kept->time));
	kept->candidate = malloc((search->candidates + 1) * sizeof(*kept->candidate));
	kept->finding = malloc((compare->findings + 1) * sizeof(*kept->finding));
	if (!kept->predicted || !kept->time || !kept->candidate || !kept->finding)
		return pesa_error_no_memory();
	error = pesa_mca_model_vary(compare->model, &kept->model);
	if (error)
		return error;
	memcpy(kept->predicted, compare->predicted, steps * sizeof(*kept->predicted));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		kept->time[i][0] = compare->code.node[i].retiring;
		kept->time[i][1] = compare->code.node[i].stalled;
	}
	for (unsigned int i = 0; i < search->candidates; i++)
		kept->candidate[i] = (struct candidate_state){
			.finding = search->candidate[i].finding,
			.model_value = search->candidate[i].model_value,
			.closed = search->candidate[i].closed,
			.opcodes = search->candidate[i].opcodes,
		};
	kept->candidates = search->candidates;
	kept->findings = compare->findings;
	memcpy(kept->finding, compare->finding, kept->findings * sizeof(*kept->finding));
	return NULL;
}

struct pesa_error *compare_state_restore(struct compare_search *search,
					 const struct compare_state *state)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *model;
	struct pesa_error *error = pesa_mca_model_vary(state->model, &model);

	if (error)
		return error;
	pesa_mca_model_free(compare->model);
	compare->model = model;
	memcpy(compare->predicted, state->predicted,
	       compare->paths.steps * sizeof(*compare->predicted));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		compare->code.node[i].retiring = state->time[i][0];
		compare->code.node[i].stalled = state->time[i][1];
	}
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];
		/* One that was listed since then is as it was listed. */
		const struct candidate_state listed = {.finding = COMPARE_NONE,
						       .model_value = candidate->base_value,
						       .opcodes = candidate->opcodes};
		const struct candidate_state *then =
			i < state->candidates ? &state->candidate[i] : &listed;

		candidate->finding = then->finding;
		candidate->model_value = then->model_value;
		candidate->closed = then->closed;
		candidate->opcodes = then->opcodes;
		/* Others may have been tried since, of which a finding's numbers must not be. */
		if (candidate->finding != COMPARE_NONE)
			candidate->value = candidate->model_value;
		/* The effect was determined on another model. */
		free(candidate->effect);
		candidate->effect = NULL;
		candidate->effects = 0;
	}
	for (unsigned int i = state->findings; i < compare->findings; i++)
		compare->finding[i] = (struct pesa_compare_finding){0};
	compare->findings = state->findings;
	memcpy(compare->finding, state->finding, state->findings * sizeof(*state->finding));
	search->generation++;
	search->simulated = NULL;
	compare_make_residuals(search);
	return NULL;
}
