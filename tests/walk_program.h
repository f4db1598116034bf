/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that tests of the walk make up, as tables of instructions: the text that the walk reads,
 * records of cycles in them, and the sum of what a walk gave out.
 */
#ifndef TESTS_WALK_PROGRAM_H
#define TESTS_WALK_PROGRAM_H

#include "pesa/walk.h"

struct insn {
	uint64_t address;
	uint8_t length; /* 0: no instruction there */
	uint8_t flow;
	uint64_t target; /* direct ones */
	enum pesa_text_status status;
};

struct program {
	const struct insn *insn;
	unsigned int count;
};

static inline bool is_direct(uint8_t flow)
{
	return flow == PESA_FLOW_BRANCH || flow == PESA_FLOW_JUMP || flow == PESA_FLOW_CALL;
}

static inline const struct insn *insn_at(const struct program *program, uint64_t address)
{
	for (unsigned int i = 0; i < program->count; i++)
		if (program->insn[i].address == address)
			return &program->insn[i];
	return NULL;
}

static inline enum pesa_text_status read_insn(void *context, uint64_t address,
					      struct pesa_text_insn *read)
{
	const struct insn *insn = insn_at(context, address);

	if (!insn)
		return PESA_TEXT_UNMAPPED;
	if (insn->status != PESA_TEXT_OK)
		return insn->status;
	*read = (struct pesa_text_insn){
		.length = insn->length,
		.flow = insn->flow,
		.has_target = is_direct(insn->flow),
		.target = insn->target,
	};
	return PESA_TEXT_OK;
}

/* A record of the given fields; bt of 0: none. */
static inline struct pesa_record record_of(uint64_t pc, struct pesa_details details, uint64_t bt1,
					   uint64_t bt2)
{
	return (struct pesa_record){
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = PESA_RECORD_SIZE,
		.flags = PESA_RECORD_HAS_DETAILS | (bt1 ? PESA_RECORD_HAS_BT1 : 0) |
			 (bt2 ? PESA_RECORD_HAS_BT2 : 0),
		.pc = pc,
		.details = pesa_details_pack(&details),
		.bt = {bt1, bt2},
	};
}

static inline uint64_t total_of(const struct pesa_walk_result *result)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < result->step_count; i++)
		total += result->step[i].weight;
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		total += result->unattributed[i];
	return total;
}

#endif
