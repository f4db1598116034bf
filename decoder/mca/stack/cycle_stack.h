/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps by which a cycle stack follows a run (pesa/mca.h): the listener takes them for the events
 * that it gets, the fast path for an in-order processor without events.  `number`: of the instruction in
 * the run.
 */
#ifndef DECODER_MCA_STACK_CYCLE_STACK_H
#define DECODER_MCA_STACK_CYCLE_STACK_H

#include "pesa/mca.h"

/* Of an in-order processor: instructions of the block that have retired in the run do so in program order,
 * as the options say. */
void mca_cycle_stack_commit(struct pesa_mca_cycle_stack *stack, const struct pesa_mca_block *block,
			    const struct pesa_mca_run_options *options);
/* The run is over: what has executed retires. */
struct pesa_error *mca_cycle_stack_finish(struct pesa_mca_cycle_stack *stack);
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
/* The cycle is over, and `more` cycles after it in which nothing happens. */
struct pesa_error *mca_cycle_stack_end(struct pesa_mca_cycle_stack *stack, uint64_t more);

/* Called at the end of each cycle, for each instruction that gets a part of it.  `number` is counted
 * since the start of the run; weights as in struct pesa_mca_bucket. */
struct mca_cycle_reader {
	void (*given)(void *data, unsigned int number, unsigned int state, uint16_t cause,
		      uint64_t weight);
	void *data; /* its first argument */
};

void mca_cycle_stack_read(struct pesa_mca_cycle_stack *stack,
			  const struct mca_cycle_reader *reader);
/* The oldest instruction that has not retired, and the next one to be dispatched, since the start of
 * the run. */
unsigned int mca_cycle_stack_oldest(const struct pesa_mca_cycle_stack *stack);
unsigned int mca_cycle_stack_next(const struct pesa_mca_cycle_stack *stack);

/* Cycles of an instruction (by index in the block) in which it retires, and in which it stalls the others,
 * without an event and with one. */
struct mca_core_time {
	float retiring, stalled, event;
};

struct mca_core_time mca_cycle_stack_core_time(const struct pesa_mca_cycle_stack *stack,
					       unsigned int index);

#endif
