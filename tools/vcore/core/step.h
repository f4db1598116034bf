/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executions of instructions, between the emulator and the accounts.
 *
 * The emulator reports runs of static instructions.  A run becomes steps (what each instruction
 * did); the pipeline turns steps into reports (when).
 */
#ifndef TOOLS_VCORE_CORE_STEP_H
#define TOOLS_VCORE_CORE_STEP_H

#include "tools/vcore/core/insn.h"

/* How fetch continues after an instruction. */
enum steer {
	STEER_NEXT,
	STEER_TAKEN, /* predicted */
	STEER_LATE,  /* predicted, but with a target known at decode only */
	STEER_FLUSH, /* + enum flush_kind */
};

/*
 * What an instruction did.  Steps and reports are small because one thread writes them and another
 * one reads them: each cache line has to be transferred.
 */
struct step {
	const struct insn *insn;
	uint32_t accesses : 24; /* number of accesses; their words follow those of the step
				 * before */
	uint32_t vector_type : 8;
	uint16_t cause;	   /* PESA_CAUSE_* that are known from the trace */
	uint8_t steer : 3; /* enum steer */
	uint8_t taken : 1;
	uint8_t faulted : 1;
	uint8_t fetch : 3; /* STEP_* */
	uint8_t shape;	   /* enum shape */
};
_Static_assert(sizeof(struct step) == 16, "four to a line");

#define STEP_OTHER_BLOCK (1u << 0) /* in another fetch block than the step before */
#define STEP_OTHER_LINE	 (1u << 1) /* begins in another line than the step before ends */
#define STEP_TWO_LINES	 (1u << 2)

/* The cost of a step.  Costs of unusual vector types have been created before. */
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
 * Straight-line code: if the first instruction is executed, all are, unless one faults.  The
 * emulator reports the start of a run and its memory accesses.
 */
struct run {
	uint64_t sequel; /* trace word of the run that follows in memory, once known; its low
			  * bits: STEP_* of that run's first step, or RUN_SEQUEL_UNKNOWN */
	uint64_t counts; /* packed counts of all its instructions, see counters.h */
	uint32_t steps;
	uint32_t accesses; /* by all its instructions, or RUN_SOME */
	uint64_t pc, end;  /* of its first instruction, and behind its last one */
	const struct insn *last;
	struct run *next;   /* another run that begins with the same instruction */
	struct step step[]; /* as executed; STEP_* of the first one depends on the step before */
};

#define RUN_INSNS 16u /* maximum */
/* Maximum number of lines of code that a run needs: instructions of 8 bytes, lines of 16. */
#define RUN_LINES (RUN_INSNS * 8u / 16u + 1)
/* Allocated steps: they are copied two at a time. */
#define RUN_ROOM(insns) (((insns) + 1u) & ~(size_t)1)
/* A number of accesses that differs between executions; such a run has one instruction. */
#define RUN_SOME	   UINT32_MAX
#define RUN_SEQUEL_FETCH   7u
#define RUN_SEQUEL_UNKNOWN 8u

/* STEP_* flags of the fetch of an instruction after another one; NULL: after a flush. */
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
 * The result of the pipeline, in program order.
 *
 * For a step: cycles as in struct passage.  For a flush by the step before: the pipeline is flushed
 * in cycle `complete`; without further events the next step enters the reorder buffer in cycle
 * `retired`; squashed instructions could enter the issue queues from cycle `supplied` on.
 *
 * Only the low 32 bits of a cycle are stored, see report_cycle().
 */
struct report {
	/*
	 * For most steps these two lines have it all: cycles equal to those of the step before, no
	 * cause.
	 */
	uint32_t dispatched, retired;
	uint16_t front_cause, cause;
	uint8_t kind;	 /* REPORT_* */
	uint8_t turning; /* of a step: taken or faulted */
	uint16_t unused; /* 0 */
	uint32_t supplied, complete;
};
_Static_assert(sizeof(struct report) == 24, "eight to three lines");

enum report_kind {
	REPORT_STEP,
	REPORT_SQUASHED, /* a step that FLUSH_ORDERING squashes; the step comes again */
	REPORT_FLUSH,	 /* + enum flush_kind; FLUSH_ORDERING is caused by the following step */
};

/* Maximum number of reports of a step: squashed, flush, the step itself, flush. */
#define STEP_REPORTS 4u

/*
 * Extend a cycle of a report to 64 bits.  `near`: any cycle less than 2^31 away, such as the newest
 * accounted one: no latency of a core or a model exceeds 2^16.
 */
static inline uint64_t report_cycle(uint64_t near, uint32_t low)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

/* ---- Traces -------------------------------------------------------------------------------- */

/* Trace words: a run (pointer, a multiple of 8), or an access of the last run. */
#define TRACE_ACCESS	    1u
#define TRACE_STORE	    2u
#define TRACE_SHIFT_SHIFT   2 /* position of log2 of the size in bytes, 3 bits */
#define TRACE_SHIFT_MASK    7u
#define TRACE_ADDRESS_SHIFT 8

static inline uint64_t trace_run(const struct run *run)
{
	return (uint64_t)(uintptr_t)run;
}

static inline const struct run *trace_run_of(uint64_t word)
{
	return (const struct run *)(uintptr_t)word;
}

/* An access of 1 << `size_shift` bytes. */
static inline uint64_t trace_access(uint64_t address, unsigned int size_shift, bool store)
{
	return address << TRACE_ADDRESS_SHIFT |
	       (uint64_t)(size_shift & TRACE_SHIFT_MASK) << TRACE_SHIFT_SHIFT |
	       (store ? TRACE_STORE : 0) | TRACE_ACCESS;
}

#endif
