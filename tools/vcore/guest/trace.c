// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts and their traces.
 *
 * The emulator's callbacks only append words to a hart's trace: a run of static instructions when
 * it begins (run.c), and the address of each access that it made.  A full trace is given to the
 * pipeline as a whole, which keeps the model's code and data in the host's caches.
 *
 * What an instruction did is known when the next one begins.  The next pc shows whether a branch
 * was taken, and whether the instruction completed:
 *   - the same pc again, and no jump to itself: the emulator restarted the instruction;
 *   - another pc after a load or store without an access, or after an instruction that traps: an
 *     exception, the instruction did not retire;
 *   - another pc otherwise: the instruction retired, then a signal was delivered.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/guest/trace.h"
#include "tools/vcore/core/channel.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/pipeline.h"
#include "tools/vcore/core/pipeline_trace.h"
#include "tools/vcore/core/predictor.h"
#include "tools/vcore/core/relay.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/memory/memory.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/guest/turn.h"

#define TRACE_WORDS 768u
/* Trace size when there are several threads: a time slice ends between two batches. */
#define TURN_WORDS 256u

/* Make room for batches of at least `words` trace words. */
static struct pesa_error *make_trace(struct hart *hart, size_t words)
{
	size_t used = hart->trace ? (size_t)(hart->cursor - hart->trace) : 0;
	uint64_t *trace;
	uint8_t *sizes;

	if (words <= hart->trace_room)
		return NULL;
	sizes = realloc(hart->sizes, words * RUN_INSNS + 2 * GROUP_SIZES);
	if (!sizes)
		return pesa_error_no_memory();
	hart->sizes = sizes;
	/* One more word for the terminator, see resolve(). */
	trace = realloc(hart->trace, (words + 1) * sizeof(*trace));
	if (!trace)
		return pesa_error_no_memory();
	hart->trace = trace;
	hart->trace_room = words;
	hart->cursor = trace + used;
	return NULL;
}

/* The registers that the recording's kind of call chains needs. */
static struct pesa_error *create_register_log(struct hart *hart)
{
	/* 1 << PERF_REG_RISCV_*: ra and s0 */
	uint32_t registers = 1u << 1 | 1u << 8;

	switch (hart->process->control->call_chains) {
	case VCORE_CALL_CHAINS_DWARF:
		registers = UINT32_MAX;
		break;
	case VCORE_CALL_CHAINS_FRAME_POINTER:
		break;
	default:
		return NULL;
	}
	hart->registers = register_log_create(registers);
	return hart->registers ? NULL : pesa_error_no_memory();
}

/* Create what a hart consists of. */
static struct pesa_error *create_parts(struct hart *hart)
{
	const struct pesa_core *core = hart->process->core;
	struct pesa_error *error = pipeline_create(hart->process, &hart->meeting, &hart->pipeline);

	if (!error)
		error = batch_create(&hart->own, TRACE_WORDS);
	if (!error)
		error = make_trace(hart, TRACE_WORDS);
	if (!error)
		error = leaving_create(&hart->leaving, core->rob_entries);
	if (!error)
		error = counters_create(&hart->counters, core);
	if (error)
		return error;
	if (hart->process->control->call_chains == VCORE_CALL_CHAINS_EXACT) {
		hart->calls = call_chain_create(hart->process);
		if (!hart->calls)
			return pesa_error_no_memory();
	}
	error = create_register_log(hart);
	if (error)
		return error;
	hart->predictor = predictor_create(core);
	while (hart->retire.transfer_mask + 1 < core->ctr_depth)
		hart->retire.transfer_mask = hart->retire.transfer_mask * 2 + 1;
	hart->retire.transfers =
		calloc(hart->retire.transfer_mask + 1, sizeof(*hart->retire.transfers));
	return hart->predictor && hart->retire.transfers ? NULL : pesa_error_no_memory();
}

struct pesa_error *hart_create(struct process *process, unsigned int index, struct hart **result)
{
	struct hart *hart = calloc(1, sizeof(*hart));
	struct pesa_error *error;

	if (!hart)
		return pesa_error_no_memory();
	hart->process = process;
	hart->index = index;
	error = create_parts(hart);
	if (error) {
		hart_free(hart);
		return error;
	}
	hart->batch = &hart->own;
	/* The first append calls hart_consume() immediately, on the hart's own thread. */
	hart->end = hart->trace + 1;
	*result = hart;
	return NULL;
}

void hart_free(struct hart *hart)
{
	if (!hart)
		return;
	turn_remove(hart);
	relay_free(hart);
	batch_free(&hart->own);
	free(hart->trace);
	predictor_free(hart->predictor);
	leaving_free(&hart->leaving);
	free(hart->sizes);
	pipeline_free(hart->pipeline);
	counters_free(&hart->counters);
	free(hart->retire.transfers);
	pipeline_trace_free(hart->log);
	call_chain_free(hart->calls);
	register_log_free(hart->registers);
	free(hart);
}

/* Announce the start of a thread. */
static void announce(struct hart *hart)
{
	const struct process *process = hart->process;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_FORK,
		.cpu = (uint16_t)hart->index,
		.tid = hart->tid,
		.time = hart_sideband_time(hart),
	};

	message.task.parent_pid = (uint32_t)process->pid;
	message.task.parent_tid =
		hart->parent_tid != hart->tid ? hart->parent_tid : (uint32_t)process->pid;
	channel_send(hart->process, &message, NULL, 0);
}

/* The hart's first instruction: set up its thread, slot and time. */
static void hart_begin(struct hart *hart)
{
	struct process *process = hart->process;

	hart_set_current(hart);
	hart->tid = (uint32_t)gettid();
	hart->end = hart->trace + TRACE_WORDS;
	pthread_mutex_lock(&process->lock);
	hart->ordinal = process->harts_begun++;
	for (unsigned int i = 0; i < VCORE_HARTS && !hart->slot; i++) {
		struct vcore_hart_slot *slot = &process->region->hart[i];

		if (atomic_load(&slot->state) != VCORE_HART_FREE)
			continue;
		slot->tid = hart->tid;
		slot->index = hart->index;
		memset(&slot->totals, 0, sizeof(slot->totals));
		atomic_store(&slot->state, VCORE_HART_RUNS);
		hart->slot = slot;
	}
	pthread_mutex_unlock(&process->lock);
	if (!hart->slot) {
		atomic_fetch_add(&process->region->unwatched, 1);
		turn_begun(hart);
		return;
	}
	retire_begin(hart, 0);
	turn_join(hart);
	if (hart->tid != (uint32_t)process->pid)
		announce(hart);
	turn_begun(hart);
}

static bool jumps_to_itself(const struct insn *insn)
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

static const struct run *run_of(uint64_t word)
{
	return (const struct run *)(uintptr_t)word;
}

/* The first instruction of a run. */
static const struct insn *insn_of(uint64_t word)
{
	return run_of(word)->step[0].insn;
}

/* ---- What an instruction did --------------------------------------------------------------- */

static uint16_t serialise_cause(const struct pesa_core *core)
{
	int bit = core->event_bit[PESA_CORE_EVENT_SERIALISE];

	return bit < 0 ? 0 : (uint16_t)(1u << bit);
}

/* Predict a transfer that was executed. */
static enum steer predict(struct hart *hart, struct step *step, uint64_t next)
{
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

/*
 * Resolve a step that does not simply continue with the next instruction; execution continued at
 * `next`.  Returns false if the emulator restarted the instruction, which counts only when it
 * completes.
 */
static bool resolve_flow(struct hart *hart, struct step *step, uint64_t next)
{
	const struct insn *insn = step->insn;
	bool jumped = next != insn->pc + insn->length, interrupted = false;

	step->shape = insn->turning_shape;
	if (next == insn->pc && !jumps_to_itself(insn))
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
		hart->batch->several = true;
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

/* The last run of a trace, which is not empty. */
static const uint64_t *last_run(const struct hart *hart)
{
	const uint64_t *word = hart->cursor - 1;

	while (*word & TRACE_ACCESS)
		word--;
	return word;
}

/*
 * The run made fewer or more accesses than its steps make.  Returns the number of steps that began:
 * the last one lacks its access.  Excess accesses are not modelled.
 */
static size_t count_begun(const struct run *run, struct step *step, size_t *accesses)
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

/*
 * The next pc after the last step of a thread that dies: the step faulted, or the signal came after
 * it.
 */
static uint64_t pc_of_death(const struct step *step)
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

/*
 * Resolve the trace to steps of `batch`.  Returns the first word that is not used: the last run
 * waits for the next one, unless `all`.
 */
static const uint64_t *resolve(struct hart *hart, struct batch *batch, bool all)
{
	const uint64_t *word = hart->trace, *end = hart->cursor;
	const uint64_t *last = all || word == end ? end : last_run(hart), *stop;
	const ptrdiff_t some = COUNTERS_FIELD_MOST / RUN_INSNS;
	const struct insn *placed = hart->placed;
	struct step *step = batch->step;
	uint64_t *access = batch->access, fetch, counts;

	batch->several = false;
	batch->kinds = (struct counters_kinds){0};
	/* A terminator for the accesses of the last instruction. */
	*hart->cursor = 0;
	fetch = word < end ? fetch_after(hart, placed, insn_of(*word)) : 0;
	for (; word < last; counters_unpack(&batch->kinds, counts)) {
		stop = last - word > some ? word + some : last;
		counts = 0;
		while (word < stop) {
			const struct run *run = run_of(*word);
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
				steps = count_begun(run, step, &made);
				more = access + made;
			}
			insn = step[steps - 1].insn;
			pc = next < end	  ? insn_of(*next)->pc
			     : hart->dies ? pc_of_death(&step[steps - 1])
					  : insn->pc + insn->length;
			straight = insn->shape != SHAPE_ANY && pc == insn->pc + insn->length;
			if (straight && next < end && made == run->accesses)
				cache_sequel(hart, run, *next);
			if (!straight && !resolve_flow(hart, &step[steps - 1], pc)) {
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

/* ---- The trace ----------------------------------------------------------------------------- */

/* Double the room of an empty batch. */
static struct pesa_error *grow_trace(struct hart *hart)
{
	struct batch *batch = hart->batch, grown = {0};
	struct pesa_error *error = batch_create(&grown, 2 * batch->room);

	if (!error)
		error = make_trace(hart, 2 * batch->room);
	if (error) {
		batch_free(&grown);
		return error;
	}
	batch_free(batch);
	*batch = grown;
	return NULL;
}

/* Move the words of the waiting run to the start; a vector access can fill the whole trace. */
static void keep_rest(struct hart *hart, const uint64_t *rest)
{
	size_t words = (size_t)(hart->cursor - rest);

	memmove(hart->trace, rest, words * sizeof(*rest));
	hart->cursor = hart->trace + words;
	if (words >= hart->batch->room / 2) {
		struct pesa_error *error = grow_trace(hart);

		/* Drop accesses that do not fit: the instruction is still modelled. */
		if (error)
			hart->cursor = hart->trace + hart->batch->room / 2;
		pesa_error_free(error);
	}
	hart->end = hart->trace + hart->batch->room;
	if (hart->process->turn.active && hart->end - hart->cursor > TURN_WORDS)
		hart->end = hart->cursor + TURN_WORDS;
}

/* The hart lost the turn but must continue to the end of its block: keep the trace. */
static void keep_all(struct hart *hart)
{
	if (hart->cursor == hart->trace + hart->batch->room && !grow_trace(hart))
		hart->cursor = hart->trace + hart->batch->room / 2;
	hart->end = hart->cursor + 1;
}

/* Run the trace through the pipeline and the accounts.  Returns the first word that stays. */
static const uint64_t *run_trace(struct hart *hart, bool all)
{
	const uint64_t *rest;

	relay_drain(hart);
	rest = resolve(hart, hart->batch, all);
	hart->waits = rest != hart->cursor;
	batch_run(hart, hart->batch);
	batch_account(hart, hart->batch);
	if (all)
		account_close(hart);
	counters_publish(hart);
	return rest;
}

void hart_consume(struct hart *hart, bool all)
{
	if (!hart->tid)
		hart_begin(hart);
	if (!hart->slot) {
		hart->cursor = hart->trace;
		return;
	}
	if (turn_take(hart) == TURN_LEAVE) {
		keep_all(hart);
		return;
	}
	keep_rest(hart, run_trace(hart, all));
	if (!all && turn_point(hart) == TURN_LEAVE)
		keep_all(hart);
}

void hart_settle(struct hart *hart)
{
	const struct turn *turn = &hart->process->turn;

	if (!hart->slot || (turn->active && !turn->over && turn->holder != hart))
		return;
	keep_rest(hart, run_trace(hart, false));
}

__attribute__((noinline)) void hart_advance(struct hart *hart)
{
	struct batch *batch = hart->batch;
	const uint64_t *rest;
	size_t words;

	if (!relay_ready(hart)) {
		hart_consume(hart, false);
		return;
	}
	rest = resolve(hart, batch, false);
	/* An instruction with very many accesses: grow the trace. */
	words = (size_t)(hart->cursor - rest);
	if (words >= TRACE_WORDS / 2) {
		relay_drain(hart);
		batch_run(hart, batch);
		batch_account(hart, batch);
		counters_publish(hart);
		keep_rest(hart, rest);
		return;
	}
	batch = relay_hand(hart);
	memmove(hart->trace, rest, words * sizeof(*rest));
	hart->cursor = hart->trace + words;
	hart->end = hart->trace + batch->room;
}

void hart_end(struct hart *hart)
{
	struct process *process = hart->process;
	struct vcore_message message = {.tid = hart->tid, .cpu = (uint16_t)hart->index};

	if (!hart->slot)
		return;
	samplers_end(hart);
	pipeline_trace_end(hart->log);
	hart->log = NULL;
	message.type = VCORE_MESSAGE_EXIT;
	message.time = hart_sideband_time(hart);
	message.task.parent_pid = (uint32_t)process->pid;
	message.task.parent_tid = (uint32_t)process->pid;
	channel_send(process, &message, NULL, 0);
	message.type = VCORE_MESSAGE_HART_END;
	message.hart.slot = (uint32_t)(hart->slot - process->region->hart);
	message.hart.totals = hart->slot->totals;
	if (channel_send(process, &message, &hart->slot->counters, sizeof(hart->slot->counters)))
		atomic_store(&hart->slot->state, VCORE_HART_FREE);
	hart->slot = NULL;
}

void hart_die(struct hart *hart)
{
	if (!hart->slot)
		return;
	hart->dies = true;
	keep_rest(hart, run_trace(hart, true));
	hart_end(hart);
}

void hart_refork(struct hart *hart)
{
	struct process *process = hart->process;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_FORK,
		.cpu = (uint16_t)hart->index,
		.tid = (uint32_t)process->pid,
	};
	struct vcore_hart_slot *slot = &process->region->hart[0];

	if (!hart->slot)
		return;
	relay_refork(hart);
	memory_refork(pipeline_memory(hart->pipeline));
	message.task.parent_pid = process->region->parent_pid;
	message.task.parent_tid = hart->tid;
	hart->tid = (uint32_t)process->pid;
	slot->tid = hart->tid;
	slot->index = hart->index;
	atomic_store(&slot->state, VCORE_HART_RUNS);
	hart->slot = slot;
	retire_begin(hart, hart->retire.stage.accounted);
	message.time = process->fork_time;
	channel_send(process, &message, NULL, 0);
}
