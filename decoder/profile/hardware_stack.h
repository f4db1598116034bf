/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call chains from call stacks that the hardware keeps: branch stacks of
 * PERF_SAMPLE_BRANCH_CALL_STACK (control transfer records of Ssctr with RASEMU, LBRs of x86).
 *
 * Each entry is a call of user mode that has not returned, the newest first.  The kernel's part of
 * the chain is that of the sample's PERF_SAMPLE_CALLCHAIN.
 *
 * The hardware's stack is that at the end of the sampled cycle.  A chain is of the oldest
 * instruction of the cycle: calls and returns of the cycle are taken back.  After a return that
 * flushed the pipeline the place of the call is gone; its function is known, by where the call
 * before it went, and its first instruction stands for the place.
 */
#ifndef DECODER_PROFILE_HARDWARE_STACK_H
#define DECODER_PROFILE_HARDWARE_STACK_H

#include "decoder/profile/loader.h"

/* Whether the branches of an attribute's samples are a call stack. */
bool hardware_stack_is_of(const struct perf_event_attr *attr);
/* Replace the user part of the sample's chain by that of its call stack, and count the chain. */
struct pesa_error *hardware_stack_take(struct profile_loader *loader,
				       const struct pesa_layout *layout,
				       const struct pesa_record *record,
				       struct pesa_sample *sample);
void hardware_stack_free(struct hardware_stack *stack);

#endif
