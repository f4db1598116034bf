/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executions of instructions, on their way from the emulator to the accounts: a run of static
 * instructions becomes steps (what each did), which the pipeline answers with reports (when).
 */
#ifndef TOOLS_VCORE_CORE_STEP_H
#define TOOLS_VCORE_CORE_STEP_H

#include "tools/vcore/core/insn.h"

/* Where fetch goes on after an instruction. */
enum steer {
	STEER_NEXT,
	STEER_TAKEN, /* predicted */
	STEER_LATE,  /* predicted, but the target was known at decode only */
	STEER_FLUSH, /* + enum flush_kind */
};

/* What an instruction did, from the trace.  Steps and reports are written by one thread and read by
 * another one, which has to wait for each line of them: they are small. */
struct step {
	const struct insn *insn;
	uint32_t accesses : 24; /* that it made: words behind those of the step before */
	uint32_t vector_type : 8;
	uint16_t cause;	   /* met by what it is, and at its end */
	uint8_t steer : 3; /* enum steer */
	uint8_t taken : 1;
	uint8_t faulted : 1;
	uint8_t fetch : 3; /* STEP_* */
	uint8_t shape;	   /* enum shape */
};
_Static_assert(sizeof(struct step) == 16, "four to a line");

#define STEP_OTHER_BLOCK (1u << 0) /* of fetch, than the step before */
#define STEP_OTHER_LINE	 (1u << 1) /* it begins in another line than the one before ended in */
#define STEP_TWO_LINES	 (1u << 2)

/* What the cost of a step is; vector types that it does not know were prepared. */
static inline const struct cost *step_cost(const struct step *step)
{
	const struct insn *insn = step->insn;

	if (__builtin_expect(step->shape != SHAPE_ANY || !insn->vector_cost ||
				     !insn->vector_cost[step->vector_type],
			     1))
		return &insn->cost;
	return insn->vector_cost[step->vector_type];
}

/* ---- Runs ---------------------------------------------------------------------------------- */

/*
 * Straight-line code: once the first instruction is executed all are, unless one faults.  The
 * emulator reports only that a run begins, and the accesses that it makes.
 */
struct run {
	uint64_t sequel; /* what follows it in memory, when it has gone on to that once: a
			  * trace word, and in the bits that this has left what is fetched
			  * for it then (STEP_*) */
	uint64_t counts; /* of all its instructions, see counters.h */
	uint32_t steps;
	uint32_t accesses;  /* of all its instructions */
	struct run *next;   /* that begins with the same instruction */
	struct step step[]; /* as they are carried out; what is fetched for the first one depends
			     * on what came before */
};

#define RUN_INSNS 16u /* at most */
/* Steps that there is room for: two are copied at a time. */
#define RUN_ROOM(insns)	   (((insns) + 1u) & ~(size_t)1)
#define RUN_SOME	   UINT32_MAX /* accesses: nobody knows how many; of a single instruction */
#define RUN_SEQUEL_FETCH   7u
#define RUN_SEQUEL_UNKNOWN 8u

/* What is fetched for an instruction (STEP_*) after another one; NULL: nothing was fetched. */
static inline uint8_t run_fetch_after(const struct pesa_core *core, const struct insn *before,
				      const struct insn *insn)
{
	uint64_t other_block, other_line;

	if (!before)
		return insn->fetch | STEP_OTHER_BLOCK | STEP_OTHER_LINE;
	other_block = (insn->pc ^ before->pc) & ~(uint64_t)(core->fetch_bytes - 1);
	other_line = (insn->pc ^ (before->pc + before->length - 1)) & ~(uint64_t)(core->line - 1);
	return insn->fetch | (other_block ? STEP_OTHER_BLOCK : 0) |
	       (other_line ? STEP_OTHER_LINE : 0);
}

/* ---- Reports ------------------------------------------------------------------------------- */

/*
 * What the pipeline tells of its steps, in their order.  Of a step: cycles as in struct passage. Of
 * a flush by the step before: the pipeline is emptied in cycle `complete`; without further events
 * the next one enters the reorder buffer in cycle `retired`, and what is thrown away would have had
 * places in the issue queues in cycle `supplied`.
 *
 * Cycles are their low 32 bits, see report_cycle().
 */
struct report {
	/* Most are told by these two lines alone: as the report before, and nothing. */
	uint32_t dispatched, retired;
	uint16_t front_cause, cause;
	uint8_t kind;	 /* REPORT_* */
	uint8_t turning; /* of a step: it was taken, or it faulted */
	uint16_t unused; /* 0 */
	uint32_t supplied, complete;
};
_Static_assert(sizeof(struct report) == 24, "eight to three lines");

enum report_kind {
	REPORT_STEP,
	REPORT_SQUASHED, /* likewise, of a step that comes again: thrown away by FLUSH_ORDERING */
	REPORT_FLUSH,	 /* + enum flush_kind; of FLUSH_ORDERING, by the step that follows */
};

/* A step is at most this many reports: squashed, a flush, itself, a flush. */
#define STEP_REPORTS 4u

/* A cycle of a report.  `near`: any that is less than 2^31 cycles away, as the newest accounted one
 * is: no latency of a core or a model is beyond 2^16. */
static inline uint64_t report_cycle(uint64_t near, uint32_t low)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/* ---- Traces -------------------------------------------------------------------------------- */

/* Trace words: a run of static instructions (a multiple of 8), or an access that it made. */
#define TRACE_ACCESS	    1u
#define TRACE_STORE	    2u
#define TRACE_SHIFT_SHIFT   2 /* log2 of the bytes, 3 bits */
#define TRACE_SHIFT_MASK    7u
#define TRACE_ADDRESS_SHIFT 8

static inline uint64_t trace_run(const struct run *run)
{
	return (uint64_t)(uintptr_t)run;
}

/* An access of 1 << `size_shift` bytes. */
static inline uint64_t trace_access(uint64_t address, unsigned int size_shift, bool store)
{
	return address << TRACE_ADDRESS_SHIFT |
	       (uint64_t)(size_shift & TRACE_SHIFT_MASK) << TRACE_SHIFT_SHIFT |
	       (store ? TRACE_STORE : 0) | TRACE_ACCESS;
}

#endif
