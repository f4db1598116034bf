/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splitting an opcode off its class, so that its costs can be changed alone.
 *
 * Of a changed model, what follows from an opcode is shared with the original until an opcode is
 * split off: most changes are those of classes, and search for findings makes thousands of them.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/parse.h"

/* Copy `count` elements into memory with room for `more` after them. */
static bool copy_array(void *array, size_t count, size_t more, size_t size)
{
	void **pointer = array, *copy = malloc((count + more) * size + 1);

	if (copy && count)
		memcpy(copy, *pointer, count * size);
	*pointer = copy;
	return copy;
}

/* Make room for `more` elements after `count`. */
static bool extend(void *array, size_t count, size_t more, size_t size)
{
	void **pointer = array, *larger = realloc(*pointer, (count + more) * size + 1);

	if (larger)
		*pointer = larger;
	return larger;
}

void mca_model_free_opcodes(struct pesa_mca_model *model)
{
	if (!model->own_opcodes)
		return;
	free(model->vector_class);
	free(model->vector_row);
	free(model->opcode_class);
	free(model->identities);
	free(model->variants);
	free(model->alternatives);
}

struct pesa_error *mca_model_own_opcodes(struct pesa_mca_model *model)
{
	bool done;

	if (!model->base || model->own_opcodes)
		return NULL;
	model->own_opcodes = true;
	done = copy_array(&model->opcode_class, mca_opcode_count, 0, sizeof(*model->opcode_class));
	done &= copy_array(&model->vector_row, mca_opcode_count, 0, sizeof(*model->vector_row));
	done &= copy_array(&model->vector_class, model->vector_rows, 0,
			   sizeof(*model->vector_class));
	done &= copy_array(&model->identities, model->class_count, 0, sizeof(*model->identities));
	done &= copy_array(&model->variants, model->variant_count, 0, sizeof(*model->variants));
	done &= copy_array(&model->alternatives, model->alternative_count, 0,
			   sizeof(*model->alternatives));
	return done ? NULL : pesa_error_no_memory();
}

static struct pesa_error *repeat_class(struct pesa_mca_model *model, uint16_t class,
				       uint16_t *repeated)
{
	struct mca_class costs = model->classes[class];

	if (model->class_count >= MCA_CLASSES_MAX)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "the model %s would have more than %d classes",
					 model->name, MCA_CLASSES_MAX);
	if (!extend(&model->writes, model->write_count, costs.writes, sizeof(*model->writes)) ||
	    !extend(&model->uses, model->use_count, costs.uses, sizeof(*model->uses)) ||
	    !extend(&model->advances, model->advance_count, costs.advances,
		    sizeof(*model->advances)) ||
	    !extend(&model->classes, model->class_count, 1, sizeof(*model->classes)) ||
	    !extend(&model->identities, model->class_count, 1, sizeof(*model->identities)))
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < costs.writes; i++)
		model->writes[model->write_count + i] = model->writes[costs.write + i];
	for (unsigned int i = 0; i < costs.uses; i++)
		model->uses[model->use_count + i] = model->uses[costs.use + i];
	for (unsigned int i = 0; i < costs.advances; i++)
		model->advances[model->advance_count + i] = model->advances[costs.advance + i];
	costs.write = model->write_count;
	costs.use = model->use_count;
	costs.advance = model->advance_count;
	model->write_count += costs.writes;
	model->use_count += costs.uses;
	model->advance_count += costs.advances;
	model->identities[model->class_count] = model->identities[class];
	model->classes[model->class_count] = costs;
	*repeated = (uint16_t)model->class_count++;
	return NULL;
}

/* A variant whose alternatives are classes of their own. */
static struct pesa_error *repeat_variant(struct pesa_mca_model *model, uint16_t class,
					 uint16_t *repeated)
{
	struct mca_variant variant = model->variants[class & ~MCA_CLASS_VARIANT];
	struct pesa_error *error = NULL;

	if (model->variant_count >= MCA_CLASSES_MAX)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "the model %s would have more than %d variants",
					 model->name, MCA_CLASSES_MAX);
	if (!extend(&model->variants, model->variant_count, 1, sizeof(*model->variants)) ||
	    !extend(&model->alternatives, model->alternative_count, variant.alternatives,
		    sizeof(*model->alternatives)))
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < variant.alternatives && !error; i++) {
		struct mca_alternative alternative = model->alternatives[variant.alternative + i];

		if (alternative.class != MCA_CLASS_UNSUPPORTED)
			error = repeat_class(model, alternative.class, &alternative.class);
		model->alternatives[model->alternative_count + i] = alternative;
	}
	if (error)
		return error;
	variant.alternative = model->alternative_count;
	model->alternative_count += variant.alternatives;
	*repeated = (uint16_t)(MCA_CLASS_VARIANT | model->variant_count);
	model->variants[model->variant_count++] = variant;
	return NULL;
}

/* Give an opcode a row of vector_class that no other one has. */
static struct pesa_error *own_row(struct pesa_mca_model *model, unsigned int opcode)
{
	const unsigned int row = model->vector_row[opcode];
	unsigned int sharers = 0;

	for (unsigned int i = 0; row && i < mca_opcode_count && sharers < 2; i++)
		sharers += model->vector_row[i] == row;
	if (sharers < 2)
		return NULL;
	if (!extend(&model->vector_class, model->vector_rows, 1, sizeof(*model->vector_class)))
		return pesa_error_no_memory();
	memcpy(model->vector_class[model->vector_rows], model->vector_class[row - 1],
	       sizeof(*model->vector_class));
	model->vector_row[opcode] = (uint16_t)++model->vector_rows;
	return NULL;
}

struct pesa_error *mca_model_split_opcode(struct pesa_mca_model *model, unsigned int opcode)
{
	/* Split the class without an LMUL and the classes by LMUL and SEW: equal classes stay
	 * equal. */
	uint16_t *slot[1 + MCA_LMULS * MCA_SEWS], before[1 + MCA_LMULS * MCA_SEWS], *vector;
	unsigned int slots = 0;
	struct pesa_error *error = mca_model_own_opcodes(model);

	if (!error)
		error = own_row(model, opcode);
	if (error)
		return error;
	slot[slots++] = &model->opcode_class[opcode];
	vector = mca_model_vector(model, opcode);
	for (unsigned int i = 0; vector && i < MCA_LMULS * MCA_SEWS; i++)
		slot[slots++] = &vector[i];
	for (unsigned int i = 0; i < slots; i++)
		before[i] = *slot[i];
	for (unsigned int i = 0; i < slots && !error; i++) {
		unsigned int same = 0;

		while (before[same] != before[i])
			same++;
		if (same < i)
			*slot[i] = *slot[same];
		else if (before[i] == MCA_CLASS_UNSUPPORTED)
			continue;
		else if (before[i] & MCA_CLASS_VARIANT)
			error = repeat_variant(model, before[i], slot[i]);
		else
			error = repeat_class(model, before[i], slot[i]);
	}
	return error;
}
