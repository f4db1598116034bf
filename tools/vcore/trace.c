// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Harts and their traces.
 *
 * The emulator's callbacks only append words to a hart's trace: a static instruction when it
 * begins, an address for each access that it made.  When the trace is full, it is handed to the
 * pipeline at one go, which keeps the model's code and data in the host's caches.
 *
 * What an instruction did is known when the next one begins: the next pc tells whether a branch was
 * taken, and whether the instruction was carried out at all:
 *   - the same pc again, though it is no jump to itself: the emulator started it over;
 *   - another pc after a load or store that made no access, or after an instruction that traps: an
 *     exception, the instruction did not retire;
 *   - another pc otherwise: it retired, then a signal was delivered.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/vcore.h"

#define TRACE_WORDS 1024u

static __thread struct hart *current __attribute__((tls_model("initial-exec")));

struct hart *hart_current(void)
{
	return current;
}

struct hart *hart_create(struct process *process, unsigned int index)
{
	struct hart *hart = calloc(1, sizeof(*hart));

	if (!hart)
		return NULL;
	hart->process = process;
	hart->index = index;
	hart->trace = malloc(TRACE_WORDS * sizeof(*hart->trace));
	hart->pipeline = pipeline_create(process, &hart->counters.now);
	hart->retire.branches =
		calloc(process->core->ctr_depth + 1, sizeof(*hart->retire.branches));
	if (!hart->trace || !hart->pipeline || !hart->retire.branches ||
	    !counters_create(&hart->counters, process->core)) {
		hart_free(hart);
		return NULL;
	}
	hart->cursor = hart->trace;
	hart->room = TRACE_WORDS;
	/* The first word goes to hart_consume() at once, on the hart's own thread. */
	hart->end = hart->trace + 1;
	return hart;
}

void hart_free(struct hart *hart)
{
	if (!hart)
		return;
	turn_remove(hart);
	free(hart->trace);
	pipeline_free(hart->pipeline);
	counters_free(&hart->counters);
	free(hart->retire.branches);
	free(hart);
}

static uint64_t nanoseconds(const struct hart *hart)
{
	return (uint64_t)((unsigned __int128)hart->retire.accounted * 1000000000 /
			  hart->process->core->frequency);
}

uint64_t hart_time(struct hart *hart)
{
	uint64_t time = nanoseconds(hart) + hart->time_offset;
	uint64_t newest =
		atomic_load_explicit(&hart->process->control->newest, memory_order_acquire);

	if (time < newest) {
		hart->time_offset += newest - time;
		time = newest;
	}
	if (hart->slot)
		hart->slot->time = time;
	return time;
}

uint64_t hart_sideband_time(struct hart *hart)
{
	_Atomic uint64_t *newest = &hart->process->control->newest;
	uint64_t time = hart_time(hart), seen = atomic_load(newest);

	do {
		if (time <= seen)
			time = seen + 1;
	} while (!atomic_compare_exchange_weak(newest, &seen, time));
	return hart_time(hart);
}

/* The hart's first instruction: from now on it has a thread, a slot and a time. */
static void hart_begin(struct hart *hart)
{
	struct process *process = hart->process;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_FORK,
		.cpu = (uint16_t)hart->index,
	};

	current = hart;
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
		return;
	}
	retire_begin(hart, 0);
	turn_join(hart);
	if (hart->tid == (uint32_t)process->pid)
		return;
	message.tid = hart->tid;
	message.time = hart_sideband_time(hart);
	message.task.parent_pid = (uint32_t)process->pid;
	message.task.parent_tid =
		hart->parent_tid != hart->tid ? hart->parent_tid : (uint32_t)process->pid;
	channel_send(process, &message, NULL, 0);
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

static bool faulted(const struct insn *insn, const struct outcome *outcome)
{
	if (outcome->next == insn->pc + insn->length)
		return false;
	if (insn->flags & (INSN_LOAD | INSN_STORE))
		return !outcome->access_count && insn->flow == PESA_FLOW_NEXT;
	/* ecall returns where the kernel says (sigreturn); ebreak and illegal instructions fault.
	 */
	return (insn->flags & INSN_TRAP) && (uint32_t)insn->bits != 0x73;
}

static void hart_step(struct hart *hart, const struct insn *insn, struct outcome *outcome)
{
	if (outcome->next == insn->pc && !jumps_to_itself(insn))
		return;
	outcome->faulted = faulted(insn, outcome);
	pipeline_step(hart, insn, outcome);
}

static const struct insn *insn_of(uint64_t word)
{
	return (const struct insn *)(uintptr_t)word;
}

/* Twice the room.  Returns false: out of memory. */
static bool grow_trace(struct hart *hart)
{
	size_t words = (size_t)(hart->cursor - hart->trace);
	uint64_t *trace = realloc(hart->trace, 2 * hart->room * sizeof(*trace));

	if (!trace)
		return false;
	hart->trace = trace;
	hart->cursor = trace + words;
	hart->room *= 2;
	return true;
}

/* The words of the waiting instruction move to the front; a vector access can fill the whole trace.
 */
static void keep_rest(struct hart *hart, const uint64_t *rest)
{
	size_t words = (size_t)(hart->cursor - rest);

	memmove(hart->trace, rest, words * sizeof(*rest));
	hart->cursor = hart->trace + words;
	if (words >= hart->room / 2 && !grow_trace(hart)) {
		/* Accesses that find no place are not modelled; the instruction is. */
		hart->cursor = hart->trace + hart->room / 2;
	}
	hart->end = hart->trace + hart->room;
}

/* It is not the hart's turn, but it must go on to the end of its block: keep what it does. */
static void keep_all(struct hart *hart)
{
	if (hart->cursor == hart->trace + hart->room && !grow_trace(hart))
		hart->cursor = hart->trace + hart->room / 2;
	hart->end = hart->cursor + 1;
}

void hart_consume(struct hart *hart, bool all)
{
	const uint64_t *word, *end;

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
	word = hart->trace;
	end = hart->cursor;
	memory_resume(pipeline_memory(hart->pipeline), hart->turn_offset);
	while (word < end) {
		const struct insn *insn = insn_of(*word);
		const uint64_t *next = word + 1;
		struct outcome outcome = {.accesses = next};

		while (next < end && (*next & TRACE_ACCESS))
			next++;
		if (next == end && !all)
			break;
		outcome.access_count = (unsigned int)(next - outcome.accesses);
		outcome.next = next < end ? insn_of(*next)->pc : insn->pc + insn->length;
		hart_step(hart, insn, &outcome);
		word = next;
	}
	if (all)
		retire_close(hart);
	counters_publish(hart);
	keep_rest(hart, word);
	if (!all && turn_point(hart) == TURN_LEAVE)
		keep_all(hart);
}

void hart_end(struct hart *hart)
{
	struct process *process = hart->process;
	struct vcore_message message = {.tid = hart->tid, .cpu = (uint16_t)hart->index};

	if (!hart->slot)
		return;
	samplers_end(hart);
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
	memory_refork(pipeline_memory(hart->pipeline));
	message.task.parent_pid = process->region->parent_pid;
	message.task.parent_tid = hart->tid;
	hart->tid = (uint32_t)process->pid;
	slot->tid = hart->tid;
	slot->index = hart->index;
	atomic_store(&slot->state, VCORE_HART_RUNS);
	hart->slot = slot;
	retire_begin(hart, hart->retire.accounted);
	message.time = process->fork_time;
	channel_send(process, &message, NULL, 0);
}
