/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycles of each unit by instruction: see use.h. */
#include <string.h>

#include "decoder/mca/engine/use.h"

static unsigned int units_of(const struct pesa_mca_model *model)
{
	unsigned int units = 0;

	for (unsigned int i = 0; i < model->resource_count; i++)
		if (!model->resources[i].group)
			units += model->resources[i].units;
	return units;
}

static size_t counts_of(const struct pesa_mca_block *block)
{
	return (size_t)block->count * units_of(block->model);
}

size_t mca_use_words(const struct pesa_mca_block *block)
{
	return 2 * counts_of(block);
}

void mca_use_init(struct mca_use *use, const struct pesa_mca_block *block, uint64_t *memory)
{
	const struct pesa_mca_model *model = block->model;
	unsigned int unit = 0;

	*use = (struct mca_use){
		.units = units_of(model), .counts = counts_of(block), .cycles = memory};
	use->then = memory + use->counts;
	memset(memory, 0, 2 * use->counts * sizeof(*memory));
	for (unsigned int i = 0; i < model->resource_count; i++) {
		if (model->resources[i].group)
			continue;
		use->first[__builtin_ctzll(model->masks[i])] = (uint16_t)unit;
		unit += model->resources[i].units;
	}
}

void mca_use_mark(struct mca_use *use)
{
	if (use->cycles)
		memcpy(use->then, use->cycles, use->counts * sizeof(*use->cycles));
}

void mca_use_repeat(struct mca_use *use, uint64_t times)
{
	for (size_t i = 0; use->cycles && i < use->counts; i++)
		use->cycles[i] += times * (use->cycles[i] - use->then[i]);
}

static struct pesa_error *send(const struct pesa_mca_event *event,
			       const struct pesa_mca_listener *listeners, unsigned int count)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < count && !error; i++)
		if (listeners[i].kinds & 1u << PESA_MCA_USED)
			error = listeners[i].event(listeners[i].data, event);
	return error;
}

struct pesa_error *mca_use_send(const struct mca_use *use, const struct pesa_mca_block *block,
				const struct pesa_mca_listener *listeners, unsigned int count)
{
	const struct pesa_mca_model *model = block->model;
	const uint64_t *cycles = use->cycles;

	for (unsigned int position = 0; use->cycles && position < block->count; position++)
		for (unsigned int i = 0; i < model->resource_count; i++)
			for (unsigned int unit = 0;
			     !model->resources[i].group && unit < model->resources[i].units;
			     unit++) {
				const struct pesa_mca_occupation occupation = {.resource = i,
									       .unit = unit};
				const struct pesa_mca_event event = {
					.kind = PESA_MCA_USED,
					.instruction = position,
					.occupation = &occupation,
					.occupations = 1,
					.used = *cycles,
				};
				struct pesa_error *error =
					*cycles++ ? send(&event, listeners, count) : NULL;

				if (error)
					return error;
			}
	return NULL;
}
