// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functional warming.
 *
 * Between the windows of a sampled recording (windows.h) the pipeline stands still, and only that
 * changes which outlives thousands of instructions: lines of the caches, entries of the TLBs and of
 * the walk cache, branch history, targets, the return stack.  The lines of code, the accesses and the
 * transfers of a trace go to a batch, which changes each of them in program order as the pipeline
 * does (core/batch.c).
 *
 * What is left out: everything that has a cycle.  Whatever is fetched is there at once, so that no
 * prefetch is dropped because MSHRs are taken; a load that the pipeline would have served from an
 * older store on its way reads its line; dependences between loads and stores are learned in the
 * pipeline only.
 */
#include "tools/vcore/guest/contents.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/guest/outcome.h"

struct follower {
	struct hart *hart;
	uint64_t *touched; /* the next entry of the batch */
	uint32_t line_shift;
	uint64_t line; /* of the newest instruction's last byte */
	uint64_t instructions;
};

/* The lines of code from `start` up to `end`. */
static inline void fetch(struct follower *follower, uint64_t start, uint64_t end)
{
	uint64_t line = start >> follower->line_shift, last = (end - 1) >> follower->line_shift;
	uint64_t *at = follower->touched;

	if (line != follower->line)
		*at++ = batch_line(line);
	while (line < last)
		*at++ = batch_line(++line);
	follower->touched = at;
	follower->line = last;
}

/*
 * A run that did not end as runs mostly do: instructions that are not straight-line code, faults,
 * instructions that the emulator started over, signals.  `made`: its accesses.
 */
static __attribute__((noinline)) void follow_rest(struct follower *follower, const struct run *run,
						  size_t made, bool is_last, uint64_t next)
{
	struct hart *hart = follower->hart;
	struct step step[RUN_ROOM(RUN_INSNS)];
	const struct step *end;
	size_t steps = run->steps;
	bool unused;

	for (size_t i = 0; i < steps; i++)
		step[i] = run->step[i];
	if (made != run->accesses)
		steps = outcome_count_begun(run, step, &made);
	if (is_last && hart->dies)
		next = outcome_pc_of_death(&step[steps - 1]);
	else if (is_last)
		next = step[steps - 1].insn->pc + step[steps - 1].insn->length;
	end = &step[steps - 1];
	if ((end->insn->shape == SHAPE_ANY || next != end->insn->pc + end->insn->length) &&
	    !outcome_of_flow(hart, &step[steps - 1], next, &unused))
		steps--;
	for (size_t i = 0; i < steps; i++)
		follower->instructions += !step[i].faulted;
	if (!steps)
		return;
	hart->placed = step[steps - 1].insn;
	follower->line = (hart->placed->pc + hart->placed->length - 1) >> follower->line_shift;
}

const uint64_t *contents_follow(struct hart *hart, bool all)
{
	const uint64_t *word = hart->trace, *end = hart->cursor;
	const uint64_t *last = all || word == end ? end : outcome_last_run(hart);
	const struct insn *placed = hart->placed;
	struct batch *batch = hart->batch;
	struct follower follower = {
		.hart = hart,
		.touched = batch->touched,
		.line_shift = (uint32_t)__builtin_ctz(hart->process->core->line),
	};

	follower.line =
		placed ? (placed->pc + placed->length - 1) >> follower.line_shift : UINT64_MAX;
	batch_begin_contents(batch);
	/* A terminator for the accesses of the last instruction. */
	*hart->cursor = 0;
	while (word < last) {
		const struct run *run = trace_run_of(*word);
		const uint64_t *next = word + 1;
		const struct insn *by = run->last;
		uint64_t pc;
		size_t made;

		fetch(&follower, run->pc, run->end);
		while (*next & TRACE_ACCESS)
			*follower.touched++ = *next++;
		made = (size_t)(next - word) - 1;
		word = next;
		pc = next < end ? trace_run_of(*next)->pc : run->end;
		hart->placed = by;
		if (__builtin_expect(made == run->accesses, 1)) {
			if (by->shape != SHAPE_ANY && pc == run->end &&
			    __builtin_expect(next < end, 1)) {
				follower.instructions += run->steps;
				continue;
			}
			if (by->turning_shape == SHAPE_BRANCH && pc != by->pc && next < end &&
			    (pc == run->end || !by->target || pc == by->target)) {
				bool taken = pc != run->end || by->flow != PESA_FLOW_BRANCH;

				batch_add_transfer(batch, by, taken, pc);
				follower.instructions += run->steps;
				continue;
			}
		}
		follow_rest(&follower, run, made, next >= end, pc);
	}
	batch->touches = (size_t)(follower.touched - batch->touched);
	hart->slot->totals.instructions += follower.instructions;
	return word;
}
