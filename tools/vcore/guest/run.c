// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Divides translated blocks into runs: straight-line code of which the emulator reports only the
 * start and the memory accesses.
 *
 * A run lies in one translated block, which is left early only by an exception.  In a run only
 * memory accesses raise exceptions.  Each such instruction makes exactly one access, which the
 * emulator reports, so the number of accesses tells where a run was left.  An instruction with
 * another number of accesses, one that traps, and one that changes how the next is executed is a
 * run of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/guest/run.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/process.h"

/* The instruction is a load or store that always makes exactly one access. */
static bool accesses_once(const struct insn *insn)
{
	uint32_t quadrant = insn->bits & 3, compressed = insn->bits >> 13 & 7;
	uint32_t width = insn->bits >> 12 & 7;

	if (insn->length == 2)
		/* Except for cm.push and cm.pop, which use the encoding of c.fsdsp. */
		return quadrant == 0 || (quadrant == 2 && compressed != 5);
	switch (insn->bits & 0x7f) {
	case 0x03: /* LOAD */
	case 0x23: /* STORE */
		return insn->length == 4;
	case 0x07: /* LOAD-FP: 16, 32 and 64 bits; other widths are vector */
	case 0x27: /* STORE-FP */
		return insn->length == 4 && width >= 1 && width <= 3;
	default:
		return false;
	}
}

/* The instruction may trap for other reasons than its accesses. */
static bool may_trap(const struct insn *insn)
{
	uint32_t opcode = insn->bits & 0x7f;

	return opcode == 0x0f /* MISC-MEM */ || opcode == 0x73 /* SYSTEM */;
}

/* Execution continues with the next instruction unless an access faults. */
static bool is_plain(const struct insn *insn)
{
	if (may_trap(insn) || insn->flow != PESA_FLOW_NEXT || insn->shape == SHAPE_ANY ||
	    insn->flags & ~(INSN_LOAD | INSN_STORE))
		return false;
	return !(insn->flags & (INSN_LOAD | INSN_STORE)) || accesses_once(insn);
}

static bool is_transfer(const struct insn *insn)
{
	return insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP && !insn->flags;
}

bool run_continues(const struct insn *insn, const struct insn *next)
{
	return is_plain(insn) && next->pc == insn->pc + insn->length &&
	       (is_plain(next) || is_transfer(next));
}

static uint32_t accesses_of(const struct insn *insn)
{
	if (!insn_accesses(insn))
		return 0;
	return is_plain(insn) ? 1 : RUN_SOME;
}

static bool is_run_of(const struct run *run, struct insn *const *insn, size_t insns)
{
	size_t same = 0;

	while (run->steps == insns && same < insns && run->step[same].insn == insn[same])
		same++;
	return same == insns;
}

struct run *run_get(struct process *process, struct insn *const *insn, size_t insns)
{
	struct run *run;

	for (run = insn[0]->runs; run; run = run->next)
		if (is_run_of(run, insn, insns))
			return run;
	run = calloc(1, sizeof(*run) + RUN_ROOM(insns) * sizeof(run->step[0]));
	if (!run)
		return NULL;
	run->sequel = RUN_SEQUEL_UNKNOWN;
	run->steps = (uint32_t)insns;
	run->pc = insn[0]->pc;
	run->last = insn[insns - 1];
	run->end = run->last->pc + run->last->length;
	for (size_t i = 0; i < insns; i++) {
		uint32_t accesses = accesses_of(insn[i]);

		run->step[i].insn = insn[i];
		run->step[i].shape = insn[i]->shape;
		run->step[i].accesses = accesses == RUN_SOME ? 0 : accesses;
		run->step[i].fetch = i ? run_fetch_after(process->core, insn[i - 1], insn[i]) : 0;
		run->accesses = accesses == RUN_SOME ? RUN_SOME : run->accesses + accesses;
		run->counts += insn[i]->counts;
	}
	run->next = insn[0]->runs;
	insn[0]->runs = run;
	return run;
}
