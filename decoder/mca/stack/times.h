/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each instruction of a run was dispatched, had executed, and retired: cycles, by its number. */
#ifndef DECODER_MCA_STACK_TIMES_H
#define DECODER_MCA_STACK_TIMES_H

#include <stdint.h>

#include "decoder/mca/model/block.h"

struct pesa_mca_cycle_stack;

struct mca_times {
	uint64_t *dispatched, *executed, *retired;
	bool has_events; /* loads that miss and mispredicted branches are events of the run */
};

/* Fill an empty cycle stack from the times of a run of one iteration, out of order. */
void mca_cycle_stack_from_times(struct pesa_mca_cycle_stack *stack,
				const struct pesa_mca_block *block, const struct mca_times *times);

#endif
