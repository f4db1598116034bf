/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycles for which the instructions of a block use each unit, over a whole run: PESA_MCA_USED.
 *
 * They are counted when instructions issue.  In a steady state each period adds the same, so what was
 * counted in one is multiplied for those that are skipped.
 */
#ifndef DECODER_MCA_ENGINE_USE_H
#define DECODER_MCA_ENGINE_USE_H

#include "decoder/mca/engine/engine.h"

/* Number of words that the counts of a block take. */
size_t mca_use_words(const struct pesa_mca_block *block);
/* `memory`: so many words. */
void mca_use_init(struct mca_use *use, const struct pesa_mca_block *block, uint64_t *memory);
/* A period may begin here. */
void mca_use_mark(struct mca_use *use);
/* One has ended, and is skipped so many times. */
void mca_use_repeat(struct mca_use *use, uint64_t times);
/* Send an event for each instruction and unit with cycles. */
struct pesa_error *mca_use_send(const struct mca_use *use, const struct pesa_mca_block *block,
				const struct pesa_mca_listener *listeners, unsigned int count);

/* The instruction at `position` of the block takes these units. */
static inline void mca_use_add(struct mca_use *use, unsigned int position,
			       const struct mca_pipe *pipes, unsigned int count)
{
	uint64_t *row = use->cycles + (size_t)position * use->units;

	for (unsigned int i = 0; i < count; i++)
		row[use->first[__builtin_ctzll(pipes[i].resource)] +
		    (unsigned int)__builtin_ctzll(pipes[i].unit)] += pipes[i].cycles;
}

#endif
