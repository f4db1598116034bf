// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an instruction did is known when the next one begins.  The next pc shows whether a branch
 * was taken, and whether the instruction completed:
 *   - the same pc again, and no jump to itself: the emulator restarted the instruction;
 *   - another pc after a load or store without an access, or after an instruction that traps: an
 *     exception, the instruction did not retire;
 *   - another pc otherwise: the instruction retired, then a signal was delivered.
 */
#include "tools/vcore/guest/outcome.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/predictor.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/step.h"

bool outcome_jumps_to_itself(const struct insn *insn)
{
	switch (insn->flow) {
	case PESA_FLOW_BRANCH:
	case PESA_FLOW_JUMP:
	case PESA_FLOW_CALL:
		return insn->target == insn->pc;
	case PESA_FLOW_NEXT:
	case PESA_FLOW_TRAP:
		return false;
	default:
		return true;
	}
}

static bool faulted(const struct step *step)
{
	const struct insn *insn = step->insn;

	if (insn->flags & (INSN_LOAD | INSN_STORE))
		return !step->accesses && insn->flow == PESA_FLOW_NEXT;
	/*
	 * ecall continues where the kernel says (sigreturn); ebreak and illegal instructions fault.
	 */
	return (insn->flags & INSN_TRAP) && (uint32_t)insn->bits != 0x73;
}

/* The first instruction of a run. */
static const struct insn *insn_of(uint64_t word)
{
	return trace_run_of(word)->step[0].insn;
}

static uint16_t serialise_cause(const struct pesa_core *core)
{
	int bit = core->event_bit[PESA_CORE_EVENT_SERIALISE];

	return bit < 0 ? 0 : (uint16_t)(1u << bit);
}

/* Predict a transfer that was executed. */
static enum steer predict(struct hart *hart, struct step *step, uint64_t next)
{
	if (hart->batch->contents) {
		batch_add_transfer(hart->batch, step->insn, step->taken, next);
		return STEER_NEXT;
	}
	switch (predictor_step(hart->predictor, step->insn, step->taken, next)) {
	case PREDICTION_WRONG:
		if (pesa_core_is_ideal(&hart->process->control->ideal, PESA_CORE_IDEAL_PREDICT,
				       step->insn->pc))
			return step->taken ? STEER_TAKEN : STEER_NEXT;
		step->cause |= PESA_CAUSE_BRANCH_MISPREDICT;
		return STEER_FLUSH + FLUSH_MISPREDICT;
	case PREDICTION_LATE:
		return STEER_LATE;
	default:
		return step->taken ? STEER_TAKEN : STEER_NEXT;
	}
}

bool outcome_of_flow(struct hart *hart, struct step *step, uint64_t next, bool *several)
{
	const struct insn *insn = step->insn;
	bool jumped = next != insn->pc + insn->length, interrupted = false;

	step->shape = insn->turning_shape;
	if (next == insn->pc && !outcome_jumps_to_itself(insn))
		return false;
	step->faulted = jumped && faulted(step);
	if (step->faulted) {
		step->steer = STEER_FLUSH + FLUSH_EXCEPTION;
	} else if (insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP) {
		step->taken = jumped || insn->flow != PESA_FLOW_BRANCH;
		/* A direct transfer that continued elsewhere was interrupted by a signal. */
		interrupted = jumped && insn->target && next != insn->target;
		if (!interrupted)
			step->steer = predict(hart, step, next);
	} else if (jumped) {
		step->taken = true;
		interrupted = true;
	}
	if (interrupted)
		step->steer = STEER_FLUSH + FLUSH_INTERRUPT;
	if (insn->flags & (INSN_SERIALISE_BEFORE | INSN_FLUSH_AFTER))
		step->cause |= serialise_cause(hart->process->core);
	if ((insn->flags & INSN_FLUSH_AFTER) && !step->faulted)
		step->steer = STEER_FLUSH + FLUSH_SERIALISE;
	step->vector_type = (uint8_t)hart->vector_type;
	if (insn->flags & INSN_VECTOR_TYPE)
		hart->vector_type = insn->vector_type;
	else if (insn->flags & INSN_VECTOR)
		insn_vector_cost(hart->process, insn, hart->vector_type);
	if (step->shape == SHAPE_ANY && step_cost(step)->micro_ops > 1)
		*several = true;
	return true;
}

static uint8_t fetch_after(const struct hart *hart, const struct insn *before,
			   const struct insn *insn)
{
	return run_fetch_after(hart->process->core, before, insn);
}

/* Once a run continued with the next instruction in memory, cache which run begins there. */
static void cache_sequel(const struct hart *hart, const struct run *run, uint64_t next)
{
	struct run *place = (struct run *)(uintptr_t)run;
	const struct insn *last = run->step[run->steps - 1].insn;

	/* Other harts may store the same value. */
	__atomic_store_n(&place->sequel, next | fetch_after(hart, last, insn_of(next)),
			 __ATOMIC_RELAXED);
}

const uint64_t *outcome_last_run(const struct hart *hart)
{
	const uint64_t *word = hart->cursor - 1;

	while (*word & TRACE_ACCESS)
		word--;
	return word;
}

size_t outcome_count_begun(const struct run *run, struct step *step, size_t *accesses)
{
	size_t left = *accesses;

	if (run->accesses == RUN_SOME) {
		step->accesses = (uint32_t)left;
		return 1;
	}
	for (size_t i = 0; i < run->steps; i++) {
		if (!step[i].accesses)
			continue;
		if (!left) {
			step[i].accesses = 0;
			return i + 1;
		}
		left--;
	}
	*accesses -= left;
	return run->steps;
}

uint64_t outcome_pc_of_death(const struct step *step)
{
	const struct insn *insn = step->insn;

	return faulted(step) ? ~insn->pc : insn->pc + insn->length;
}

static uint64_t count_insns(const struct step *step, size_t steps)
{
	uint64_t counts = 0;

	for (size_t i = 0; i < steps; i++)
		counts += step[i].insn->counts;
	return counts;
}

const uint64_t *outcome_resolve(struct hart *hart, struct batch *batch, bool all)
{
	const uint64_t *word = hart->trace, *end = hart->cursor;
	const uint64_t *last = all || word == end ? end : outcome_last_run(hart), *stop;
	const ptrdiff_t some = COUNTERS_FIELD_MOST / RUN_INSNS;
	const struct insn *placed = hart->placed;
	struct step *step = batch->step;
	uint64_t *access = batch->access, fetch, counts;

	batch->contents = false;
	batch->several = false;
	batch->kinds = (struct counters_kinds){0};
	/* A terminator for the accesses of the last instruction. */
	*hart->cursor = 0;
	fetch = word < end ? fetch_after(hart, placed, insn_of(*word)) : 0;
	for (; word < last; counters_unpack(&batch->kinds, counts)) {
		stop = last - word > some ? word + some : last;
		counts = 0;
		while (word < stop) {
			const struct run *run = trace_run_of(*word);
			const uint64_t *next = word + 1;
			const struct insn *insn;
			uint64_t *more = access, sequel, pc;
			size_t steps = run->steps, made;
			bool straight;

			while (*next & TRACE_ACCESS)
				*more++ = *next++;
			made = (size_t)(more - access);
			/* Copy two at a time: RUN_ROOM() and the batch have room for it. */
			for (size_t i = 0; i < steps; i += 2) {
				step[i] = run->step[i];
				step[i + 1] = run->step[i + 1];
			}
			step->fetch = fetch;
			sequel = __atomic_load_n(&run->sequel, __ATOMIC_RELAXED) ^ *next;
			if (sequel <= RUN_SEQUEL_FETCH &&
			    __builtin_expect(made == run->accesses, 1)) {
				/* The cached sequel is right. */
				counts += run->counts;
				placed = run->step[steps - 1].insn;
				fetch = sequel;
				word = next;
				access = more;
				step += steps;
				continue;
			}
			if (__builtin_expect(made != run->accesses, 0)) {
				steps = outcome_count_begun(run, step, &made);
				more = access + made;
			}
			insn = step[steps - 1].insn;
			pc = next < end	  ? insn_of(*next)->pc
			     : hart->dies ? outcome_pc_of_death(&step[steps - 1])
					  : insn->pc + insn->length;
			straight = insn->shape != SHAPE_ANY && pc == insn->pc + insn->length;
			if (straight && next < end && made == run->accesses)
				cache_sequel(hart, run, *next);
			if (!straight &&
			    !outcome_of_flow(hart, &step[steps - 1], pc, &batch->several)) {
				steps--;
				more -= step[steps].accesses;
			}
			counts += steps == run->steps ? run->counts : count_insns(step, steps);
			if (steps)
				placed = step[steps - 1].insn;
			access = more;
			step += steps;
			fetch = next < end ? fetch_after(hart, placed, insn_of(*next)) : 0;
			word = next;
		}
	}
	hart->placed = placed;
	batch->steps = (size_t)(step - batch->step);
	if (batch->steps)
		batch->next = word < end ? insn_of(*word)->pc : placed->pc + placed->length;
	return word;
}
