/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampled recordings: takes a hart through the phases of tools/vcore/windows/windows.h. */
#ifndef TOOLS_VCORE_GUEST_SAMPLED_H
#define TOOLS_VCORE_GUEST_SAMPLED_H

#include "tools/vcore/core/hart.h"

struct pesa_error *sampled_create(struct hart *hart);
void sampled_free(struct hart *hart);
/* The hart begins, or goes on in the child after a fork. */
void sampled_begin(struct hart *hart);
/* `words` of the trace were handled in the current phase: begin the next one if it has ended. */
void sampled_pass(struct hart *hart, uint64_t words);
/* Publish the estimates of all that the hart has executed. */
void sampled_publish(struct hart *hart);

#endif
