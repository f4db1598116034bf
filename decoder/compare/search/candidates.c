/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The candidates of the search: which changes of the model are tried.  See search.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

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

/* The candidates of the numbers that the classes of a SchedWrite or of a line `class` have. */
static bool add_numbers(struct compare_search *search, struct compare_candidate candidate)
{
	const struct pesa_mca_model *model = search->original;
	const struct mca_class *costs = &model->classes[candidate.class];
	bool done = true;

	candidate.model_value = compare_latency_of(model, candidate.class);
	candidate.unpipelined = -1;
	for (unsigned int i = 0; i < costs->uses && !pesa_mca_model_is_out_of_order(model); i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		if (!use->acquire && (int)use->release == candidate.model_value)
			candidate.unpipelined = (int)use->resource;
	}
	if (candidate.model_value >= 0)
		done = add_candidate(search, candidate);
	/* The result may also be ready before the unit is. */
	if (candidate.unpipelined >= 0 && done) {
		candidate.unpipelined = -1;
		candidate.only_smaller = true;
		done = add_candidate(search, candidate);
		candidate.only_smaller = false;
	}
	for (unsigned int i = 0; i < costs->uses && done; i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		candidate.kind = PESA_COMPARE_CYCLES;
		candidate.resource = use->resource;
		candidate.model_value = (int)use->release;
		if (use->release > use->acquire)
			done = add_candidate(search, candidate);
	}
	candidate.resource = 0;
	if (!pesa_mca_model_is_out_of_order(model) && costs->micro_ops && done) {
		candidate.kind = PESA_COMPARE_ISSUE;
		candidate.model_value =
			(int)((costs->micro_ops + model->issue_width - 1) / model->issue_width);
		done = add_candidate(search, candidate);
	}
	return done;
}

/* Advances belong to SchedReads, not to SchedWrites. */
static bool add_advance(struct compare_search *search, unsigned int class)
{
	const struct pesa_mca_model *model = search->compare->model;
	const struct mca_class *costs = &model->classes[class];
	const struct compare_candidate candidate = {
		.kind = PESA_COMPARE_ADVANCE,
		.class = class,
		.model_value = costs->advances ? model->advances[costs->advance].cycles : 0,
	};

	for (unsigned int i = 0; i < costs->advances; i++)
		if (model->advances[costs->advance + i].cycles > 0)
			return add_candidate(search, candidate);
	return true;
}

/* Whether an earlier used class belongs to the same SchedWrite. */
static bool is_listed(const struct compare_search *search, unsigned int class)
{
	const struct mca_identity *identity = search->compare->model->identities;

	for (unsigned int i = 0; i < class; i++)
		if (search->class_used[i] && identity[i].entry == identity[class].entry)
			return true;
	return false;
}

/* Whether all used classes of a line `class` belong to one SchedWrite, which has no other classes:
 * then changing the line is changing the SchedWrite. */
static bool is_one_write(const struct compare_search *search, unsigned int costs)
{
	const struct mca_identity *identity = search->compare->model->identities;
	unsigned int entry = UINT_MAX;

	for (unsigned int i = 0; i < search->compare->model->class_count; i++) {
		if (!search->class_used[i] || identity[i].costs != costs)
			continue;
		if (!identity[i].write || (entry != UINT_MAX && identity[i].entry != entry))
			return false;
		entry = identity[i].entry;
	}
	for (unsigned int i = 0; i < search->compare->model->class_count; i++)
		if (search->class_used[i] && identity[i].entry == entry &&
		    identity[i].costs != costs)
			return false;
	return true;
}

/* The numbers of a vector instruction whose vector type is not known: the largest of all types, which
 * nothing was measured for. */
static bool is_worst_case(const char *write)
{
	static const char ending[] = "_WorstCase";
	size_t length = strlen(write);

	return length >= sizeof(ending) && !strcmp(write + length - (sizeof(ending) - 1), ending);
}

/* Vector loads and stores with a stride or an index take as long as the lines that they touch, which a
 * profile does not have and no number of a model says. */
static bool depends_on_addresses(const char *write)
{
	static const char *const beginnings[] = {
		"WriteVLDS",	"WriteVSTS",	"WriteVLDUX",	"WriteVLDOX",
		"WriteVSTUX",	"WriteVSTOX",	"WriteVLSSEG",	"WriteVSSSEG",
		"WriteVLUXSEG", "WriteVLOXSEG", "WriteVSUXSEG", "WriteVSOXSEG",
	};

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(write, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* Whether the numbers of a SchedWrite say something that is measured. */
static bool is_measured(const struct mca_identity *identity)
{
	return !identity->write ||
	       (!is_worst_case(identity->write) && !depends_on_addresses(identity->write));
}

/*
 * First each SchedWrite of a line `class` alone, which is the unit of definition in LLVM's files,
 * then all of them together: they usually share one hardware unit.
 */
static bool add_classes(struct compare_search *search, unsigned int costs)
{
	const struct pesa_mca_model *model = search->compare->model;
	struct compare_candidate candidate = {.class = costs};
	bool done = true, any = false;

	for (unsigned int i = costs;
	     i < model->class_count && model->identities[i].costs == costs && done; i++) {
		if (!is_measured(&model->identities[i]))
			continue;
		any |= search->class_used[i];
		candidate = (struct compare_candidate){.class = i, .narrow = true};
		if (search->class_used[i] && model->identities[i].write && !is_listed(search, i))
			done = add_numbers(search, candidate);
	}
	if (!any || !done)
		return done;
	candidate = (struct compare_candidate){.class = costs,
					       .several = model->identities[costs].write != NULL};
	if (!is_one_write(search, costs))
		done = add_numbers(search, candidate);
	return done && add_advance(search, costs);
}

/* ---- Opcodes alone --------------------------------------------------------------------------- */

/* How the code uses an opcode. */
struct opcode_use {
	int class;    /* of one of its instructions on paths; -1: none is on a path */
	bool entries; /* its instructions belong to several entries of the model */
};

static void list_uses(const struct compare_search *search, struct opcode_use *use)
{
	const struct mca_identity *identity = search->original->identities;
	const struct compare_code *code = &search->compare->code;

	for (unsigned int id = 0; id < pesa_opcode_count(); id++)
		use[id] = (struct opcode_use){.class = -1};
	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		struct opcode_use *one = &use[node->insn.opcode];

		if (node->class < 0 || !(node->occurrences > 0))
			continue;
		if (one->class < 0)
			one->class = node->class;
		else
			one->entries |= identity[one->class].entry != identity[node->class].entry;
	}
}

/* Whether another opcode of the same SchedWrite is executed. */
static bool is_shared(const struct compare_search *search, const struct opcode_use *use,
		      unsigned int id)
{
	const struct mca_identity *identity = search->original->identities;

	for (unsigned int i = 0; i < pesa_opcode_count(); i++)
		if (i != id && use[i].class >= 0 &&
		    identity[use[i].class].entry == identity[use[id].class].entry)
			return true;
	return false;
}

struct pesa_error *compare_list_opcodes(struct compare_search *search)
{
	struct opcode_use *use = calloc(pesa_opcode_count(), sizeof(*use));
	bool done = use != NULL;

	search->opcodes_tried = true;
	if (done)
		list_uses(search, use);
	for (unsigned int id = 0; id < pesa_opcode_count() && done; id++) {
		const struct compare_candidate candidate = {
			.class = (unsigned int)use[id].class,
			.only = {(uint16_t)id},
			.opcodes = 1,
			.narrow = true,
		};

		if (use[id].class >= 0 && !use[id].entries &&
		    is_measured(&search->original->identities[use[id].class]) &&
		    search->original->identities[use[id].class].write && is_shared(search, use, id))
			done = add_numbers(search, candidate);
	}
	free(use);
	return done ? NULL : pesa_error_no_memory();
}

/* ---- Resources ------------------------------------------------------------------------------- */

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

bool compare_is_member(const struct pesa_mca_resource *group, unsigned int resource)
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
		    compare_is_member(&model->resources[i], one) !=
			    compare_is_member(&model->resources[i], other))
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
		if (compare->model->identities[i].costs == i)
			done = add_classes(search, i);
	for (unsigned int i = 0; i < compare->model->resource_count && done; i++)
		done = add_resource(search, i);
	return done ? NULL : pesa_error_no_memory();
}
