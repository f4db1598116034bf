/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of a block can change: see block.h. */
#include "decoder/mca/model/block.h"

#define REGISTER_WORDS ((MCA_REGISTER_COUNT + 63) / 64)

static void touch(uint64_t *touched, unsigned int reg)
{
	touched[reg / 64] |= UINT64_C(1) << reg % 64;
}

bool mca_find_touched(struct pesa_mca_block *block)
{
	uint64_t touched[REGISTER_WORDS] = {0};

	for (unsigned int i = 0; i < block->count; i++)
		for (unsigned int j = 0; j < block->lowered[i].writes; j++) {
			const struct mca_lowered_write *write = &block->lowered[i].write[j];

			touch(touched, write->reg);
			for (unsigned int k = 0; k < write->parts->count; k++)
				touch(touched, write->parts->part[k]);
		}
	for (unsigned int word = 0; word < REGISTER_WORDS; word++)
		block->touched_count += (unsigned int)__builtin_popcountll(touched[word]);
	block->touched =
		mca_arena_take_raw(&block->arena, block->touched_count * sizeof(*block->touched));
	if (!block->touched)
		return false;
	block->touched_count = 0;
	for (unsigned int word = 0; word < REGISTER_WORDS; word++)
		for (uint64_t rest = touched[word]; rest; rest &= rest - 1)
			block->touched[block->touched_count++] =
				64 * word + (unsigned int)__builtin_ctzll(rest);
	return true;
}

void mca_find_units(struct pesa_mca_block *block)
{
	const struct pesa_mca_model *model = block->model;
	uint64_t used = 0;

	for (unsigned int i = 0; i < block->description_count; i++) {
		used |= block->descriptions[i]->buffers;
		for (unsigned int j = 0; j < block->descriptions[i]->usages; j++)
			used |= block->descriptions[i]->usage[j].mask;
	}
	for (unsigned int i = 0; i < model->resource_count; i++)
		if (model->masks[i] & used)
			block->unit[block->unit_count++] = mca_top_bit(model->masks[i]);
}
