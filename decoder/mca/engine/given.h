/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * External stimuli: branches and loads as they were measured, in place of those of the model.
 */
#ifndef DECODER_MCA_ENGINE_GIVEN_H
#define DECODER_MCA_ENGINE_GIVEN_H

#include "decoder/mca/engine/engine.h"

void mca_given_cycle(struct mca_run *run);
bool mca_given_delivers(const struct mca_run *run);
void mca_given_delivered(struct mca_run *run, struct mca_flight *flight);
void mca_given_executed(struct mca_run *run, const struct mca_flight *flight);
struct pesa_error *mca_given_check(const struct pesa_mca_given *given);
/* Whether the front end has the next instruction. */
static inline bool mca_delivers(const struct mca_run *run)
{
	return !run->given.options || mca_given_delivers(run);
}

#endif
