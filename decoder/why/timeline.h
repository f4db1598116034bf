/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A timeline: one execution of a path on the model, and what held each of its instructions back.
 *
 * An instruction that is the oldest one and not done stalls until it is.  It could have been done
 * earlier if it had not missed, had found its unit free, or had had its operands earlier.  Each of
 * these delays is known from the events of the engine and the registers that the path reads and
 * writes:
 *
 *	entry       dispatched (in order: first tried to issue)
 *	  operands    until the last operand is there: from the instruction that wrote it
 *	  order       until older loads and stores are done: behind a fence
 *	  unit        until a unit is free: from the instruction that had it
 *	issue
 *	  latency     as in the model
 *	  late        longer than in the model: a miss
 *	done
 *
 * Times are cycles since the start of the run.
 */
#ifndef DECODER_WHY_TIMELINE_H
#define DECODER_WHY_TIMELINE_H

#include "decoder/compare/predict.h"
#include "decoder/mca/model/block.h"

#define WHY_NOBODY UINT32_MAX

/* An instruction of the path; producers and holders are indices in the timeline. */
struct why_flight {
	uint32_t step; /* of the path */
	uint32_t entered, issued, done, retired;
	bool has_entered;
	uint32_t operands; /* cycles from entry until the last operand */
	uint32_t order;	   /* cycles after that until older loads and stores are done */
	uint32_t unit;	   /* cycles after that until its unit is free */
	uint32_t late;	   /* cycles by which it is done later than the model's latency */
	uint32_t producer; /* that wrote the last operand; WHY_NOBODY: none delayed it */
	uint16_t reg;	   /* that operand */
	uint32_t fence;	   /* that ordered it; WHY_NOBODY: none */
	uint32_t holder;   /* of the unit; WHY_NOBODY: unknown */
	int resource;	   /* of the model, the one that was busy; -1: none */
	double stalled;	   /* stalled cycles, a miss's included */
};

struct why_timeline {
	struct why_flight *flight; /* array */
	unsigned int count;
};

/* Cycles of a step, by state; `event`: stalled, on a miss or a mispredicted branch. */
enum why_state { WHY_RETIRING, WHY_STALLED, WHY_EVENT, WHY_FLUSHED, WHY_DRAINED, WHY_STATES };
struct why_cycles {
	float in[WHY_STATES];
};

/* Execute a path.  `timeline` is freed with why_timeline_free(), also after an error. */
struct pesa_error *why_timeline_make(const struct compare_predictor *predictor,
				     const struct pesa_mca_model *model,
				     const struct compare_path *path,
				     struct why_timeline *timeline);
void why_timeline_free(struct why_timeline *timeline);
/* The cycles of an instruction of a stack. */
struct why_cycles why_read_stack(const struct pesa_mca_cycle_stack *stack, unsigned int index);

#endif
