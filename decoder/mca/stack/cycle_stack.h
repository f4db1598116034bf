/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps by which a cycle stack follows a run (pesa/mca.h): the listener takes them for the events
 * that it gets, the fast path for an in-order processor without events.  `number`: of the instruction in
 * the run.
 */
#ifndef DECODER_MCA_STACK_CYCLE_STACK_H
#define DECODER_MCA_STACK_CYCLE_STACK_H

#include "pesa/mca.h"

void mca_cycle_stack_begin(struct pesa_mca_cycle_stack *stack);
/* It was dispatched; in order, it issued. */
void mca_cycle_stack_dispatched(struct pesa_mca_cycle_stack *stack, unsigned int number);
/* In order: it waits to issue, for operands or units. */
void mca_cycle_stack_stalled(struct pesa_mca_cycle_stack *stack, unsigned int number);
struct pesa_error *mca_cycle_stack_missed(struct pesa_mca_cycle_stack *stack, unsigned int number);
struct pesa_error *mca_cycle_stack_mispredicted(struct pesa_mca_cycle_stack *stack,
						unsigned int number);
void mca_cycle_stack_executed(struct pesa_mca_cycle_stack *stack, unsigned int number);
struct pesa_error *mca_cycle_stack_retired(struct pesa_mca_cycle_stack *stack, unsigned int number);
/* The cycle is over, and `more` cycles after it in which nothing happens, if none retired in it. */
void mca_cycle_stack_end(struct pesa_mca_cycle_stack *stack, uint64_t more);

#endif
