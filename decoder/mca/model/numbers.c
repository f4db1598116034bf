/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a model as a digest, see numbers.h. */
#include "decoder/mca/model/numbers.h"

#include <string.h>

void mca_numbers_of_model(const struct pesa_mca_model *model, struct pesa_digest *digest)
{
	pesa_digest_word(digest, (uint64_t)model->issue_width << 32 | model->micro_op_buffer);
	pesa_digest_word(digest, (uint64_t)model->load_latency << 32 | model->mispredict_penalty);
	pesa_digest_word(digest, (uint64_t)model->reorder_buffer << 32 | model->retire_width);
	pesa_digest_word(digest, (uint64_t)model->load_queue << 32 | model->store_queue);
	for (unsigned int i = 0; i < model->resource_count; i++) {
		const struct pesa_mca_resource *resource = &model->resources[i];

		pesa_digest_word(digest, model->masks[i]);
		pesa_digest_word(digest, (uint64_t)(uint32_t)resource->buffer << 32 |
						 (uint32_t)model->super[i]);
		pesa_digest_word(digest, resource->units);
	}
}

static void add_costs(const struct pesa_mca_model *model, const struct mca_class *class,
		      struct pesa_digest *digest)
{
	pesa_digest_word(digest, (uint64_t) class->micro_ops << 32 | class->flags);
	pesa_digest_word(digest, (uint64_t) class->writes << 32 | (uint32_t) class->uses << 16 |
					 class->advances);
	for (unsigned int i = 0; i < class->writes; i++) {
		const struct mca_write *write = &model->writes[class->write + i];

		pesa_digest_word(digest, (uint64_t)write->latency << 32 | write->name);
	}
	for (unsigned int i = 0; i < class->uses; i++) {
		const struct pesa_mca_use *use = &model->uses[class->use + i];

		pesa_digest_word(digest, use->resource);
		pesa_digest_word(digest, (uint64_t)use->acquire << 32 | use->release);
	}
	for (unsigned int i = 0; i < class->advances; i++) {
		const struct mca_advance *advance = &model->advances[class->advance + i];

		pesa_digest_word(digest, (uint64_t)advance->operand << 32 |
						 (uint32_t)advance->write << 16 |
						 (uint16_t)advance->cycles);
	}
}

static uint16_t class_of(const struct pesa_mca_model *model, const struct pesa_insn *instruction,
			 enum pesa_mca_lmul lmul, unsigned int sew)
{
	const char *name = pesa_opcode_get(instruction->opcode)->name;
	int opcode = mca_opcode_find(name, strlen(name));

	return opcode < 0 ? MCA_CLASS_UNSUPPORTED
			  : mca_model_class(model, (unsigned int)opcode, lmul, sew);
}

/* Add the costs of a class (`costs`) or its number; of a class with variants those of all. */
static void add_class(const struct pesa_mca_model *model, uint16_t class, bool costs,
		      struct pesa_digest *digest)
{
	const struct mca_variant *variant;

	if (class == MCA_CLASS_UNSUPPORTED || (!(class & MCA_CLASS_VARIANT) && !costs)) {
		pesa_digest_word(digest, class);
		return;
	}
	if (!(class & MCA_CLASS_VARIANT)) {
		add_costs(model, &model->classes[class], digest);
		return;
	}
	variant = &model->variants[class & ~MCA_CLASS_VARIANT];
	for (unsigned int i = 0; i < variant->alternatives; i++)
		add_class(model, model->alternatives[variant->alternative + i].class, costs,
			  digest);
}

void mca_numbers_of_instruction(const struct pesa_mca_model *model,
				const struct pesa_insn *instruction, enum pesa_mca_lmul lmul,
				unsigned int sew, struct pesa_digest *digest)
{
	add_class(model, class_of(model, instruction, lmul, sew), true, digest);
}

void mca_numbers_of_class(const struct pesa_mca_model *model, const struct pesa_insn *instruction,
			  enum pesa_mca_lmul lmul, unsigned int sew, struct pesa_digest *digest)
{
	add_class(model, class_of(model, instruction, lmul, sew), false, digest);
}
