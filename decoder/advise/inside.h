/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Advice: data shared by its parts.
 *
 * 	code.c      the code with its loops
 * 	values.c    addresses of loads in loops
 * 	report.c    measured cycles, what the model says, the list of remarks
 * 	loads.c     loads that miss
 * 	calls.c     calls that could be inlined
 * 	branches.c  branches: how they are laid out, how they are predicted
 * 	unroll.c    loops that could be unrolled
 * 	spills.c    values that go through the stack
 * 	advise.c    runs these steps
 */
#ifndef DECODER_ADVISE_INSIDE_H
#define DECODER_ADVISE_INSIDE_H

#include "decoder/advise/values.h"
#include "pesa/advise.h"

struct pesa_advice {
	const struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	struct pesa_why *why; /* NULL: no model */
	struct pesa_advice_options options;
	struct advise_code code;
	double least; /* cycles */
	struct pesa_advice_remark *remark;
	size_t count, room;
};

/* Instructions that would be other ones, while they are collected. */
struct advise_edits {
	struct pesa_why_edited *edit;
	size_t count, room;
};

/* What was measured of the instruction at a place; NULL: nothing. */
const struct pesa_instruction *advise_measured(const struct pesa_advice *advice, uint32_t block,
					       uint32_t instruction);
/* Its cycles, in all states. */
double advise_cycles(const struct pesa_advice *advice, uint32_t block, uint32_t instruction);

struct pesa_error *advise_edit(const struct pesa_advice *advice, struct advise_edits *edits,
			       uint32_t block, uint32_t instruction, enum pesa_why_edit edit,
			       unsigned int number);
/* Fill in `saved`, `modelled` and `cycles` of a remark by what the edits would save; without a model
 * by the measured cycles of the instructions that they remove. */
struct pesa_error *advise_try(const struct pesa_advice *advice, const struct advise_edits *edits,
			      struct pesa_advice_remark *remark);
/* Fill in `saved` and `modelled` of a remark by what the model says of a change of its instruction;
 * without that by `cycles`, a part of what was measured there. */
void advise_estimate(const struct pesa_advice *advice, const struct pesa_instruction *measured,
		     enum pesa_why_change change, struct pesa_advice_remark *remark);
/* Add a remark, if it is large enough. */
struct pesa_error *advise_add(struct pesa_advice *advice, const struct pesa_advice_remark *remark);
/* Fill in `loop`. */
void advise_describe_loop(const struct pesa_advice *advice, uint32_t loop,
			  struct pesa_advice_remark *remark);
/* Whether what is looked for is this kind. */
bool advise_wants(const struct pesa_advice *advice, enum pesa_advice_kind kind);

/* Each finds the remarks of one kind, the branches those of two. */
struct pesa_error *advise_loads(struct pesa_advice *advice);
struct pesa_error *advise_calls(struct pesa_advice *advice);
struct pesa_error *advise_branches(struct pesa_advice *advice);
struct pesa_error *advise_unroll(struct pesa_advice *advice);
struct pesa_error *advise_spills(struct pesa_advice *advice);

#endif
