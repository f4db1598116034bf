// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts and their traces.
 *
 * The emulator's callbacks only append words to a hart's trace: a run of static instructions when
 * it begins (run.c), and the address of each access that it made.  A full trace is given to the
 * pipeline as a whole, which keeps the model's code and data in the host's caches.
 * outcome.c finds out what the instructions did.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/guest/trace.h"
#include "tools/vcore/guest/contents.h"
#include "tools/vcore/guest/outcome.h"
#include "tools/vcore/guest/sampled.h"
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
	if (!error && hart->process->control->sampled)
		error = sampled_create(hart);
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
	sampled_free(hart);
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
	if (process->control->sampled)
		sampled_begin(hart);
	turn_join(hart);
	if (hart->tid != (uint32_t)process->pid)
		announce(hart);
	turn_begun(hart);
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

/* The trace goes on behind the words that are kept: to the end of its room, or of the phase. */
static void end_trace(struct hart *hart)
{
	hart->end = hart->trace + hart->batch->room;
	if (!hart->windows.on)
		return;
	hart->kept = (size_t)(hart->cursor - hart->trace);
	if ((uint64_t)(hart->end - hart->cursor) > hart->windows.left)
		hart->end = hart->cursor + hart->windows.left;
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
	end_trace(hart);
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
static const uint64_t *run_pipeline(struct hart *hart, bool all)
{
	const uint64_t *rest;

	rest = outcome_resolve(hart, hart->batch, all);
	hart->waits = rest != hart->cursor;
	batch_run(hart, hart->batch);
	batch_account(hart, hart->batch);
	if (all)
		account_close(hart);
	counters_publish(hart);
	return rest;
}

/* Handle the trace.  Returns the first word that stays. */
static const uint64_t *run_trace(struct hart *hart, bool all)
{
	const uint64_t *rest;
	uint64_t words;

	relay_drain(hart);
	if (!hart->windows.on)
		return run_pipeline(hart, all);
	words = (uint64_t)(hart->cursor - hart->trace) - hart->kept;
	if (hart->windows.phase == WINDOWS_CONTENTS) {
		/* With several threads there is no relay. */
		memory_resume(pipeline_memory(hart->pipeline), hart->turn_offset);
		rest = contents_follow(hart, all);
		batch_run(hart, hart->batch);
		hart->waits = rest != hart->cursor;
		if (all)
			account_close(hart);
	} else {
		rest = run_pipeline(hart, all);
	}
	sampled_pass(hart, words);
	if (all)
		sampled_publish(hart);
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
	size_t words, added = (size_t)(hart->cursor - hart->trace) - hart->kept;

	if (!relay_ready(hart)) {
		hart_consume(hart, false);
		return;
	}
	rest = hart->windows.on ? contents_follow(hart, false)
				: outcome_resolve(hart, batch, false);
	/* An instruction with very many accesses: grow the trace. */
	words = (size_t)(hart->cursor - rest);
	if (words >= TRACE_WORDS / 2) {
		relay_drain(hart);
		batch_run(hart, batch);
		batch_account(hart, batch);
		counters_publish(hart);
		sampled_pass(hart, added);
		keep_rest(hart, rest);
		return;
	}
	batch = relay_hand(hart);
	sampled_pass(hart, added);
	memmove(hart->trace, rest, words * sizeof(*rest));
	hart->cursor = hart->trace + words;
	end_trace(hart);
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
	if (process->control->sampled) {
		sampled_begin(hart);
		end_trace(hart);
	}
	message.time = process->fork_time;
	channel_send(process, &message, NULL, 0);
}
