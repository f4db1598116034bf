// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events other than cycles that the board's period counter can count.
 *
 * They occur at one instruction and are known when it retires: the sample has the PC of that
 * instruction.  Names and meanings are in decoder/core/events.h.  The conditions here are a second
 * implementation, in terms of a single instruction, so the event counters are a check of the
 * samples.
 */
#include "tools/vcore/board/event.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/retire.h"

#define FLOW(name)     (1u << PESA_FLOW_##name)
#define INDIRECT_FLOWS (FLOW(INDIRECT) | FLOW(INDIRECT_CALL))
#define TRANSFER_FLOWS \
	(FLOW(BRANCH) | FLOW(JUMP) | FLOW(CALL) | INDIRECT_FLOWS | FLOW(RETURN) | FLOW(COROUTINE))
#define MISPREDICT   PESA_CAUSE_BRANCH_MISPREDICT
#define FIRST_NUMBER 2u

/* Conditions on the instruction, 0: none.  In the order of the event numbers. */
static const struct condition {
	enum vcore_event event;
	uint16_t cause; /* PESA_CAUSE_* that it met, one of */
	uint16_t flows; /* mask of enum pesa_flow */
	uint8_t flags;	/* INSN_* */
	uint8_t length; /* bytes */
	bool taken;
} conditions[] = {
	{.event = VCORE_EVENT_INSTRUCTIONS},
	{.event = VCORE_EVENT_BRJMP, .flows = TRANSFER_FLOWS},
	{.event = VCORE_EVENT_TAKEN, .flows = TRANSFER_FLOWS, .taken = true},
	{.event = VCORE_EVENT_MISPRED, .cause = MISPREDICT},
	{.event = VCORE_EVENT_MISPRED_BRANCH, .cause = MISPREDICT, .flows = FLOW(BRANCH)},
	{.event = VCORE_EVENT_MISPRED_INDIRECT, .cause = MISPREDICT, .flows = INDIRECT_FLOWS},
	{.event = VCORE_EVENT_MISPRED_RETURN, .cause = MISPREDICT, .flows = FLOW(RETURN)},
	{.event = VCORE_EVENT_LOADS, .flags = INSN_LOAD},
	{.event = VCORE_EVENT_STORES, .flags = INSN_STORE},
	{.event = VCORE_EVENT_VECTORS, .flags = INSN_VECTOR},
	{.event = VCORE_EVENT_COMPRESSED, .length = 2},
	{.event = VCORE_EVENT_MISSED_L1I, .cause = PESA_CAUSE_ICACHE_MISS},
	{.event = VCORE_EVENT_MISSED_ITLB, .cause = PESA_CAUSE_ITLB_MISS},
	{.event = VCORE_EVENT_MISSED_L1D, .cause = PESA_CAUSE_DCACHE_MISS},
	{.event = VCORE_EVENT_MISSED_DTLB, .cause = PESA_CAUSE_DTLB_MISS},
};

static const char *const names[] = {
#define EVENT(id, name, unit, description) name,
	VCORE_EVENTS(EVENT)
#undef EVENT
};

unsigned int board_events(struct board_event events[BOARD_EVENTS])
{
	_Static_assert(sizeof(conditions) / sizeof(conditions[0]) == BOARD_EVENTS,
		       "an event for each condition");
	for (unsigned int i = 0; i < BOARD_EVENTS; i++)
		events[i] = (struct board_event){
			.name = names[conditions[i].event],
			.number = FIRST_NUMBER + i,
		};
	return BOARD_EVENTS;
}

enum vcore_event board_event_counter(unsigned int number)
{
	return conditions[number - FIRST_NUMBER].event;
}

bool board_event_happened(unsigned int number, const struct passage *passage)
{
	const struct condition *condition = &conditions[number - FIRST_NUMBER];
	const struct insn *insn = passage->insn;

	return (!condition->cause || passage->cause & condition->cause) &&
	       (!condition->flows || condition->flows >> insn->flow & 1) &&
	       (!condition->flags || insn->flags & condition->flags) &&
	       (!condition->length || insn->length == condition->length) &&
	       (!condition->taken || passage->taken);
}
