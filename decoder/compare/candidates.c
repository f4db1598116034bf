/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The candidates of the search: which changes of the model are tried.  See search.h. */
#include <stdlib.h>

#include "decoder/compare/search.h"

static bool add_candidate(struct compare_search *search, struct compare_candidate candidate)
{
	if (search->candidates == search->room) {
		unsigned int room = search->room ? 2 * search->room : 64;
		struct compare_candidate *larger =
			realloc(search->candidate, room * sizeof(*larger));

		if (!larger)
			return false;
		search->candidate = larger;
		search->room = room;
	}
	candidate.base_value = candidate.model_value;
	candidate.finding = COMPARE_NONE;
	search->candidate[search->candidates++] = candidate;
	return true;
}

static int latency_of(const struct pesa_mca_model *model, unsigned int class)
{
	int longest = -1;

	for (unsigned int i = 0; i < model->classes[class].writes; i++)
		if (model->writes[model->classes[class].write + i].latency > longest)
			longest = model->writes[model->classes[class].write + i].latency;
	return longest;
}

static bool add_class(struct compare_search *search, unsigned int class)
{
	const struct pesa_mca_model *model = search->compare->model;
	const struct mca_class *costs = &model->classes[class];
	struct compare_candidate candidate = {.class = class};
	bool done = true, advances = false;

	candidate.model_value = latency_of(model, class);
	candidate.unpipelined = -1;
	for (unsigned int i = 0; i < costs->uses && !pesa_mca_model_is_out_of_order(model); i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		if (!use->acquire && (int)use->release == candidate.model_value)
			candidate.unpipelined = (int)use->resource;
	}
	if (candidate.model_value >= 0)
		done = add_candidate(search, candidate);
	for (unsigned int i = 0; i < costs->uses && done; i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		candidate.kind = PESA_COMPARE_CYCLES;
		candidate.resource = use->resource;
		candidate.model_value = (int)use->release;
		if (use->release > use->acquire)
			done = add_candidate(search, candidate);
	}
	for (unsigned int i = 0; i < costs->advances; i++)
		advances |= model->advances[costs->advance + i].cycles > 0;
	candidate.resource = 0;
	if (!pesa_mca_model_is_out_of_order(model) && costs->micro_ops && done) {
		candidate.kind = PESA_COMPARE_ISSUE;
		candidate.model_value =
			(int)((costs->micro_ops + model->issue_width - 1) / model->issue_width);
		done = add_candidate(search, candidate);
	}
	candidate.kind = PESA_COMPARE_ADVANCE;
	candidate.model_value = costs->advances ? model->advances[costs->advance].cycles : 0;
	if (advances && done)
		done = add_candidate(search, candidate);
	return done;
}

/* Whether a resource is a unit that is used only through groups. */
static bool is_anonymous(const struct pesa_mca_model *model, unsigned int resource)
{
	if (model->resources[resource].group)
		return false;
	for (unsigned int i = 0; i < model->use_count; i++)
		if (model->uses[i].resource == resource)
			return false;
	return true;
}

static bool is_member(const struct pesa_mca_resource *group, unsigned int resource)
{
	for (unsigned int i = 0; i < group->members; i++)
		if (group->member[i] == resource)
			return true;
	return false;
}

bool compare_is_interchangeable(const struct pesa_mca_model *model, unsigned int one,
				unsigned int other)
{
	const struct pesa_mca_resource *a = &model->resources[one], *b = &model->resources[other];

	if (a->units != b->units || a->buffer != b->buffer || model->super[one] != -1 ||
	    model->super[other] != -1 || !is_anonymous(model, one) || !is_anonymous(model, other))
		return false;
	for (unsigned int i = 0; i < model->resource_count; i++)
		if (model->resources[i].group &&
		    is_member(&model->resources[i], one) != is_member(&model->resources[i], other))
			return false;
	return true;
}

bool compare_is_needed(const struct pesa_mca_model *model, unsigned int resource)
{
	for (unsigned int i = 0; i < model->resource_count; i++) {
		const struct pesa_mca_resource *group = &model->resources[i];

		if (model->super[i] == (int)resource ||
		    (group->group && group->members == 1 && group->member[0] == resource))
			return true;
	}
	return !is_anonymous(model, resource);
}

static bool add_resource(struct compare_search *search, unsigned int resource)
{
	const struct pesa_mca_model *model = search->compare->model;
	const struct compare_candidate candidate = {
		.kind = PESA_COMPARE_UNITS,
		.resource = resource,
		.model_value = (int)model->resources[resource].units,
	};

	if (model->resources[resource].group ||
	    (candidate.model_value == 1 && compare_is_needed(model, resource)))
		return true;
	/* Interchangeable units are represented by the first of them. */
	for (unsigned int i = 0; i < resource; i++)
		if (compare_is_interchangeable(model, i, resource))
			return true;
	return add_candidate(search, candidate);
}

struct pesa_error *compare_list_candidates(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	bool done = true;

	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].class >= 0)
			search->class_used[compare->code.node[i].class] = true;
	for (unsigned int i = 0; i < compare->model->class_count && done; i++)
		if (search->class_used[i])
			done = add_class(search, i);
	for (unsigned int i = 0; i < compare->model->resource_count && done; i++)
		done = add_resource(search, i);
	return done ? NULL : pesa_error_no_memory();
}
