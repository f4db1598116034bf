/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models from constants: see table.h. */
#include "decoder/mca/model/table.h"

#include <stdlib.h>
#include <string.h>

static const char *name_at(const struct mca_model_table *table, uint32_t offset)
{
	return offset ? table->names + offset : NULL;
}

/* An array that is allocated even if it has no elements. */
static void *array_of(size_t count, size_t size)
{
	return calloc(count ? count : 1, size);
}

static bool add_processors(struct pesa_mca_model *model, const struct mca_model_table *table)
{
	model->processors = array_of(table->processor_count, sizeof(*model->processors));
	if (!model->processors)
		return false;
	model->processor_count = table->processor_count;
	for (unsigned int i = 0; i < table->processor_count; i++) {
		const struct mca_table_processor *from = &table->processors[i];
		struct pesa_mca_processor *processor = &model->processors[i];
		const char **tuning = NULL;

		if (from->tunings && !(tuning = array_of(from->tunings, sizeof(*tuning))))
			return false;
		for (unsigned int j = 0; j < from->tunings; j++)
			tuning[j] = name_at(table, table->list[from->tuning + j]);
		processor->name = name_at(table, from->name);
		processor->isa = name_at(table, from->isa);
		processor->tuning = tuning;
		processor->tunings = from->tunings;
	}
	return true;
}

static bool add_resources(struct pesa_mca_model *model, const struct mca_model_table *table)
{
	model->resources = array_of(table->resource_count, sizeof(*model->resources));
	if (!model->resources)
		return false;
	model->resource_count = table->resource_count;
	for (unsigned int i = 0; i < table->resource_count; i++) {
		const struct mca_table_resource *from = &table->resources[i];
		struct pesa_mca_resource *resource = &model->resources[i];
		unsigned int *member = NULL;

		if (from->members && !(member = array_of(from->members, sizeof(*member))))
			return false;
		for (unsigned int j = 0; j < from->members; j++)
			member[j] = table->list[from->member + j];
		resource->name = name_at(table, from->name);
		resource->from = name_at(table, from->from);
		resource->group = from->group;
		resource->units = from->units;
		resource->buffer = from->buffer;
		resource->member = member;
		resource->members = from->members;
	}
	return true;
}

static bool add_names(struct pesa_mca_model *model, const struct mca_model_table *table)
{
	model->identities = malloc((table->class_count + 1) * sizeof(*model->identities));
	model->reads = array_of(table->read_count, sizeof(*model->reads));
	model->conditions = array_of(table->condition_count, sizeof(*model->conditions));
	if (!model->identities || !model->reads || !model->conditions)
		return false;
	for (unsigned int i = 0; i < table->class_count; i++) {
		const struct mca_table_identity *from = &table->identities[i];

		model->identities[i] = (struct mca_identity){
			.name = name_at(table, from->name),
			.write = name_at(table, from->write),
			.from = name_at(table, from->from),
			.reads = name_at(table, from->reads),
			.costs = from->costs,
			.entry = from->entry,
			.whole = from->whole,
		};
	}
	for (unsigned int i = 0; i < table->read_count; i++) {
		model->reads[i].name = name_at(table, table->reads[i].name);
		model->reads[i].from = name_at(table, table->reads[i].from);
	}
	for (unsigned int i = 0; i < table->condition_count; i++) {
		model->conditions[i].feature = name_at(table, table->conditions[i].feature);
		model->conditions[i].operand = table->conditions[i].operand;
		model->conditions[i].reg = table->conditions[i].reg;
	}
	model->read_count = table->read_count;
	model->condition_count = table->condition_count;
	return true;
}

struct pesa_error *mca_model_from_table(const struct mca_model_table *table,
					struct pesa_mca_model **created)
{
	struct pesa_mca_model *model = calloc(1, sizeof(*model));

	if (!model)
		return pesa_error_no_memory();
	model->table = table;
	model->name = name_at(table, table->name);
	model->issue_width = table->issue_width;
	model->micro_op_buffer = table->micro_op_buffer;
	model->load_latency = table->load_latency;
	model->mispredict_penalty = table->mispredict_penalty;
	model->reorder_buffer = table->reorder_buffer;
	model->retire_width = table->retire_width;
	model->load_queue = table->load_queue;
	model->store_queue = table->store_queue;
	model->write_name_count = table->write_name_count;
	memcpy(model->masks, table->masks, sizeof(model->masks));
	memcpy(model->of_bit, table->of_bit, sizeof(model->of_bit));
	/* Nothing writes to them: a change copies them first. */
	model->super = (int *)table->super;
	model->classes = (struct mca_class *)table->classes;
	model->writes = (struct mca_write *)table->writes;
	model->uses = (struct pesa_mca_use *)table->uses;
	model->advances = (struct mca_advance *)table->advances;
	model->variants = (struct mca_variant *)table->variants;
	model->alternatives = (struct mca_alternative *)table->alternatives;
	model->opcode_class = (uint16_t *)table->opcode_class;
	model->vector_row = (uint16_t *)table->vector_row;
	model->vector_class = (mca_vector_classes *)table->vector_class;
	model->class_count = table->class_count;
	model->write_count = table->write_count;
	model->use_count = table->use_count;
	model->advance_count = table->advance_count;
	model->variant_count = table->variant_count;
	model->alternative_count = table->alternative_count;
	model->vector_rows = table->vector_rows;
	if (!add_processors(model, table) || !add_resources(model, table) ||
	    !add_names(model, table)) {
		pesa_mca_model_free(model);
		return pesa_error_no_memory();
	}
	*created = model;
	return NULL;
}

struct pesa_error *mca_model_own_constants(struct pesa_mca_model *model)
{
	const struct {
		void *array;
		size_t size; /* bytes of all elements */
	} shared[] = {
		{&model->super, model->resource_count * sizeof(*model->super)},
		{&model->classes, model->class_count * sizeof(*model->classes)},
		{&model->writes, model->write_count * sizeof(*model->writes)},
		{&model->uses, model->use_count * sizeof(*model->uses)},
		{&model->advances, model->advance_count * sizeof(*model->advances)},
		{&model->variants, model->variant_count * sizeof(*model->variants)},
		{&model->alternatives, model->alternative_count * sizeof(*model->alternatives)},
		{&model->opcode_class, mca_opcode_count * sizeof(*model->opcode_class)},
		{&model->vector_row, mca_opcode_count * sizeof(*model->vector_row)},
		{&model->vector_class, model->vector_rows * sizeof(*model->vector_class)},
	};
	enum { COUNT = sizeof(shared) / sizeof(shared[0]) };
	void *copy[COUNT];
	bool done = true;

	if (!model->table)
		return NULL;
	for (unsigned int i = 0; i < COUNT; i++) {
		void *const *array = shared[i].array;

		copy[i] = malloc(shared[i].size + 1);
		done &= copy[i] != NULL;
		if (copy[i] && shared[i].size)
			memcpy(copy[i], *array, shared[i].size);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		void **array = shared[i].array;

		if (done)
			*array = copy[i];
		else
			free(copy[i]);
	}
	if (!done)
		return pesa_error_no_memory();
	model->table = NULL;
	return NULL;
}
