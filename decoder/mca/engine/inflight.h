/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In-flight instructions: their allocation, and lists of them. */
#ifndef DECODER_MCA_ENGINE_INFLIGHT_H
#define DECODER_MCA_ENGINE_INFLIGHT_H

#include "decoder/mca/engine/engine.h"

struct pesa_error *mca_list_grow(struct mca_run *run, struct mca_inflight_list *list);
static inline void mca_list_push(struct mca_run *run, struct mca_inflight_list *list,
				 struct mca_inflight *flight)
{
	if (list->count == list->size) {
		struct pesa_error *error = mca_list_grow(run, list);

		if (error) {
			mca_fail(run, error);
			return;
		}
	}
	list->list[list->count++] = flight;
}
/* Remove entry `index`; the last entry moves to its place, as in LLVM. */
void mca_list_remove(struct mca_inflight_list *list, unsigned int index);

/* Fetch the next instruction into run->current, if there is one. */
void mca_fetch(struct mca_run *run);
/* Free a retired instruction. */
void mca_recycle(struct mca_run *run, struct mca_inflight *flight);

/*
 * Cycles without a fetch or a retirement after which the run is stuck.  The number is larger than
 * any latency, and than any sum of resource cycles of one instruction.
 */
#define MCA_STUCK_CYCLES (4u << 20)
struct pesa_error *mca_stuck(const struct pesa_mca_model *model, uint64_t instruction);

#endif
