/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accessors of a model. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/model.h"
#include "decoder/mca/model/registers.h"

const char *pesa_mca_model_name(const struct pesa_mca_model *model)
{
	return model->name;
}

bool pesa_mca_model_is_out_of_order(const struct pesa_mca_model *model)
{
	return model->micro_op_buffer > 1;
}

unsigned int pesa_mca_model_mispredict_penalty(const struct pesa_mca_model *model)
{
	return model->mispredict_penalty;
}

unsigned int pesa_mca_model_issue_width(const struct pesa_mca_model *model)
{
	return model->issue_width;
}

unsigned int pesa_mca_model_reorder_buffer(const struct pesa_mca_model *model)
{
	if (!pesa_mca_model_is_out_of_order(model))
		return 0;
	return model->reorder_buffer ? model->reorder_buffer : model->micro_op_buffer;
}

unsigned int pesa_mca_model_micro_op_buffer(const struct pesa_mca_model *model)
{
	return model->micro_op_buffer;
}

const struct pesa_mca_processor *pesa_mca_model_processor(const struct pesa_mca_model *model,
							  const char *name)
{
	for (unsigned int i = 0; i < model->processor_count; i++)
		if (!name || !strcmp(model->processors[i].name, name))
			return &model->processors[i];
	return NULL;
}

bool pesa_mca_model_has_feature(const struct pesa_mca_model *model, const char *name)
{
	for (unsigned int i = 0; i < model->condition_count; i++)
		if (model->conditions[i].feature && !strcmp(model->conditions[i].feature, name))
			return true;
	return false;
}

unsigned int pesa_mca_model_resources(const struct pesa_mca_model *model)
{
	return model->resource_count;
}

const struct pesa_mca_resource *pesa_mca_model_resource(const struct pesa_mca_model *model,
							unsigned int index)
{
	return &model->resources[index];
}

unsigned int pesa_mca_model_resource_of(const struct pesa_mca_model *model, unsigned int bit)
{
	return model->of_bit[bit];
}

uint64_t pesa_mca_model_resource_mask(const struct pesa_mca_model *model, unsigned int index)
{
	return model->masks[index];
}

const char *pesa_mca_register_name(unsigned int reg)
{
	return mca_register_name(reg);
}

uint16_t mca_model_class(const struct pesa_mca_model *model, unsigned int opcode,
			 enum pesa_mca_lmul lmul, unsigned int sew)
{
	const uint16_t *vector = mca_model_vector(model, opcode);

	if (vector && lmul != PESA_MCA_LMUL_NONE)
		return vector[mca_vector_place(lmul, sew) - 1];
	return model->opcode_class[opcode];
}

static bool class_has(const struct pesa_mca_model *model, uint16_t class, const bool *chosen)
{
	const struct mca_variant *variant;
	bool any = false;

	if (class == MCA_CLASS_UNSUPPORTED)
		return false;
	if (!(class & MCA_CLASS_VARIANT))
		return chosen[class];
	variant = &model->variants[class & ~MCA_CLASS_VARIANT];
	for (unsigned int i = 0; i < variant->alternatives && !any; i++) {
		uint16_t one = model->alternatives[variant->alternative + i].class;

		any = one != MCA_CLASS_UNSUPPORTED && chosen[one];
	}
	return any;
}

bool mca_model_opcode_has(const struct pesa_mca_model *model, unsigned int opcode,
			  const bool *chosen)
{
	const uint16_t *vector = mca_model_vector(model, opcode);
	bool any = class_has(model, model->opcode_class[opcode], chosen);

	for (unsigned int i = 0; vector && i < MCA_LMULS * MCA_SEWS && !any; i++)
		any = class_has(model, vector[i], chosen);
	return any;
}

void pesa_mca_model_free(struct pesa_mca_model *model)
{
	if (!model)
		return;
	for (unsigned int i = 0; model->resources && i < model->resource_count; i++)
		free((void *)model->resources[i].member);
	if (model->base) {
		mca_model_free_opcodes(model);
		free(model->resources);
		free(model->classes);
		free(model->writes);
		free(model->uses);
		free(model->advances);
		free(model);
		return;
	}
	for (unsigned int i = 0; i < model->processor_count; i++)
		free((void *)model->processors[i].tuning);
	if (!model->table) {
		free(model->vector_class);
		free(model->vector_row);
		free(model->opcode_class);
		free(model->super);
		free(model->classes);
		free(model->writes);
		free(model->uses);
		free(model->advances);
		free(model->variants);
		free(model->alternatives);
	}
	free(model->processors);
	free(model->resources);
	free(model->identities);
	free(model->reads);
	free(model->conditions);
	free(model->text);
	free(model);
}

static void *copy_of(const void *source, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (copy && size)
		memcpy(copy, source, size);
	return copy;
}

static bool copy_members(struct pesa_mca_model *model)
{
	bool done = true;

	for (unsigned int i = 0; i < model->resource_count; i++) {
		struct pesa_mca_resource *resource = &model->resources[i];

		if (!resource->member)
			continue;
		resource->member =
			copy_of(resource->member, resource->members * sizeof(*resource->member));
		done &= resource->member != NULL;
	}
	return done;
}

struct pesa_error *pesa_mca_model_vary(const struct pesa_mca_model *base,
				       struct pesa_mca_model **variation)
{
	struct pesa_mca_model *model = copy_of(base, sizeof(*base));
	bool done;

	if (!model)
		return pesa_error_no_memory();
	model->base = base->base ? base->base : base;
	model->table = NULL;
	model->own_opcodes = false;
	model->resources =
		copy_of(base->resources, base->resource_count * sizeof(*base->resources));
	model->classes = copy_of(base->classes, base->class_count * sizeof(*base->classes));
	model->writes = copy_of(base->writes, base->write_count * sizeof(*base->writes));
	model->uses = copy_of(base->uses, base->use_count * sizeof(*base->uses));
	model->advances = copy_of(base->advances, base->advance_count * sizeof(*base->advances));
	done = model->resources && copy_members(model);
	if (!done || !model->classes || !model->writes || !model->uses || !model->advances) {
		pesa_mca_model_free(model);
		return pesa_error_no_memory();
	}
	if (base->own_opcodes) {
		struct pesa_error *error = mca_model_own_opcodes(model);

		if (error) {
			pesa_mca_model_free(model);
			return error;
		}
	}
	*variation = model;
	return NULL;
}
