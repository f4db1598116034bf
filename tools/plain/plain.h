/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain samples made useful: cycles of instructions estimated from samples whose PC skids
 * (pesa/deskid.h), with the processor model that the recording or the user names, else a generic one.
 */
#ifndef TOOLS_PLAIN_PLAIN_H
#define TOOLS_PLAIN_PLAIN_H

#include "pesa/deskid.h"
#include "tools/ui/profile_input.h"

struct plain_estimate {
	struct pesa_mca_model *model;
	const char *processor;
	bool generic;
	struct pesa_deskid *deskid; /* NULL: nothing was estimated */
};

/* Whether samples have only a PC, which may skid. */
bool plain_is_skidding(const struct profile_input *input);
/*
 * Estimate, and give the profile of `input` the estimated cycles.  Does nothing where the PC does not
 * skid.  `cpu`: as for -mcpu; NULL: what the recording names, else a generic processor.  To be closed
 * in any case, before the input.
 */
struct pesa_error *plain_estimate_open(struct plain_estimate *plain, struct profile_input *input,
				       const char *cpu);
void plain_estimate_close(struct plain_estimate *plain);
/* Lines below the header: that cycles are estimates, by which model, and what was learned of the
 * interrupts.  Nothing if nothing was estimated. */
void plain_estimate_print(const struct plain_estimate *plain, const struct ui_terminal *terminal);
/* The member "estimate"; null if nothing was estimated. */
void plain_estimate_json(const struct plain_estimate *plain, struct ui_json *json);

#endif
