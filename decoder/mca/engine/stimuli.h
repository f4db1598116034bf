/* SPDX-License-Identifier: GPL-2.0-or-later */
/* External stimuli: measured branches and loads in place of those of the model. */
#ifndef DECODER_MCA_ENGINE_STIMULI_H
#define DECODER_MCA_ENGINE_STIMULI_H

#include "decoder/mca/engine/engine.h"

void mca_stimuli_cycle(struct mca_run *run);
bool mca_stimuli_delivers(const struct mca_run *run);
void mca_stimuli_delivered(struct mca_run *run, struct mca_inflight *flight);
void mca_stimuli_executed(struct mca_run *run, const struct mca_inflight *flight);
struct pesa_error *mca_stimuli_check(const struct pesa_mca_stimuli *stimuli);
/* Whether the front end can deliver the next instruction. */
static inline bool mca_delivers(const struct mca_run *run)
{
	return !run->stimuli.options || mca_stimuli_delivers(run);
}

#endif
