// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What every cycle is, and the samples.
 *
 * Instructions arrive here in program order with the cycle in which they retire, so cycles are
 * accounted in order, each exactly once: the cycles up to an instruction's retirement when it
 * arrives, a cycle in which instructions retire when the first one of a later cycle arrives (only
 * then is it known how many they are and what blocked the next).
 *
 * The rules are those of the specification notes (Decisions 1 to 3); the record of a sampled cycle
 * and the golden reference come from the same lines.  A cause is what the instruction met on its
 * whole way through the pipeline, as hardware knows it once the instruction has retired.
 */
#include <string.h>

#include "tools/vcore/vcore.h"

/* SplitMix64 (public domain algorithm of S. Vigna). */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)random_next(state) * limit >> 64);
}

static uint64_t sample_interval(struct hart *hart)
{
	const struct vcore_control *control = hart->process->control;
	uint64_t interval = control->period;

	if (hart->process->board)
		return board_interval(hart);
	if (control->jitter)
		interval += random_below(&hart->retire.random, 2 * control->jitter + 1) -
			    control->jitter;
	return interval;
}

void retire_begin(struct hart *hart, uint64_t start)
{
	const struct vcore_control *control = hart->process->control;
	struct retire *retire = &hart->retire;
	struct pesa_branch_entry *branches = retire->branches;

	memset(retire, 0, sizeof(*retire));
	retire->branches = branches;
	retire->start = start;
	retire->width = hart->process->core->retire_width;
	retire->ctr_depth = hart->process->core->ctr_depth;
	golden_forget(hart);
	retire->accounted = start;
	counters_begin(&hart->counters, start);
	memset(&hart->met, 0, sizeof(hart->met));
	/* Each hart has a sequence of its own. */
	retire->random = control->seed;
	retire->random = random_next(&retire->random) ^ hart->process->region_index;
	retire->random = random_next(&retire->random) ^ hart->ordinal;
	samplers_begin(hart);
	if (!control->period) {
		retire->next_sample = UINT64_MAX;
		return;
	}
	/* With jitter the first sample falls anywhere in the first period, so that threads shorter
	 * than a period have their share of the samples. */
	retire->next_sample =
		start + (control->jitter ? random_below(&retire->random, control->period)
					 : control->period - 1);
}

void retire_send(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record)
{
	struct process *process = hart->process;
	struct retire *retire = &hart->retire;
	uint64_t lost = retire->lost < PESA_RECORD_LOST_MASK ? retire->lost : PESA_RECORD_LOST_MASK;
	uint32_t depth = process->core->ctr_depth;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_SAMPLE,
		.cpu = (uint16_t)hart->index,
		.tid = hart->tid,
		.time = hart_time(hart),
	};
	struct pesa_branch_entry branches[256];
	uint64_t count = retire->branch_count < depth ? retire->branch_count : depth;

	if (process->board) {
		board_deliver(hart, record);
		return;
	}
	if (sampler != VCORE_SAMPLER_SHPMS)
		count = 0;

	record->version = PESA_RECORD_VERSION;
	record->xlen = 64;
	record->size = PESA_RECORD_SIZE;
	record->flags |= (uint32_t)lost << PESA_RECORD_LOST_SHIFT;
	for (uint64_t i = 0; i < count; i++)
		branches[i] = retire->branches[(retire->branch_count - 1 - i) % depth];
	message.sample.period = process->control->period;
	message.sample.record = *record;
	message.sample.sampler = sampler;
	message.sample.branches = (uint32_t)count;
	if (channel_send(process, &message, branches, count * sizeof(branches[0]))) {
		retire->lost = 0;
		hart->slot->totals.samples++;
	} else {
		retire->lost++;
		hart->slot->totals.lost++;
	}
}

static uint64_t pack(uint64_t value, unsigned int mask, unsigned int shift)
{
	return (value & mask) << shift;
}

#define PACK(field, value) pack(value, PESA_DETAILS_##field##_MASK, PESA_DETAILS_##field##_SHIFT)

/* Cycle `cycle` is sampled: `record` tells it; the other arguments are those of samplers_take(). */
static void send_sample(struct hart *hart, uint64_t cycle, struct pesa_record *record,
			const struct insn *oldest, const struct insn *youngest)
{
	const struct samplers *samplers = &hart->retire.samplers;

	if (samplers->mask >> VCORE_SAMPLER_SHPMS & 1)
		retire_send(hart, VCORE_SAMPLER_SHPMS, record);
	if (samplers->mask & ~(1u << VCORE_SAMPLER_SHPMS))
		samplers_take(hart, cycle, oldest, youngest);
	hart->retire.next_sample += sample_interval(hart);
}

static const enum vcore_event state_events[] = {
	[PESA_STATE_RETIRING] = VCORE_EVENT_STATE_RETIRING,
	[PESA_STATE_STALLED] = VCORE_EVENT_STATE_STALLED,
	[PESA_STATE_FLUSHED] = VCORE_EVENT_STATE_FLUSHED,
	[PESA_STATE_DRAINED] = VCORE_EVENT_STATE_DRAINED,
};

/* Cycles [start, end) in which nothing retires, all of one kind. */
static void account_idle(struct hart *hart, uint64_t start, uint64_t end, const struct insn *insn,
			 unsigned int state, uint16_t cause)
{
	struct retire *retire = &hart->retire;

	if (start >= end)
		return;
	golden_bucket(hart, insn, state, 1, cause, end - start);
	hart->counters.now.event[state_events[state]] += end - start;
	counters_idle(&hart->counters, state, cause, end - start);
	if (state == PESA_STATE_STALLED &&
	    (cause & (PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS)))
		counters_miss_wait(&hart->counters, start, end);
	while (retire->next_sample < end) {
		struct pesa_record record = {
			.pc = insn->pc,
			.flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS,
			.details = PACK(RSTATE, state) | PACK(CAUSEOFFSET, cause != 0) |
				   PACK(CAUSE, cause),
		};

		retire->accounted = retire->next_sample;
		send_sample(hart, retire->next_sample, &record, NULL, retire->newest);
	}
	retire->accounted = end;
}

/* The record of the open group.  `named` is the position of the instruction whose cause it tells.
 */
static void sample_group(struct hart *hart, unsigned int named, uint16_t cause)
{
	struct retire *retire = &hart->retire;
	const struct retired *group = retire->group;
	struct pesa_record record = {
		.pc = group[0].insn->pc,
		.flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS,
	};
	unsigned int transfers = 0;

	record.details = PACK(INSTRET, retire->count) | PACK(RSTATE, PESA_STATE_RETIRING) |
			 PACK(CAUSEOFFSET, named) | PACK(CAUSE, cause);
	for (unsigned int i = 0; i < retire->count; i++) {
		if (!group[i].taken)
			continue;
		if (transfers < hart->process->core->ct_targets) {
			record.bt[transfers] = group[i].target;
			record.flags |= transfers ? PESA_RECORD_HAS_BT2 : PESA_RECORD_HAS_BT1;
			record.details |=
				transfers ? PACK(CTOFFSET2, i + 1) : PACK(CTOFFSET1, i + 1);
		}
		transfers++;
	}
	record.details |= PACK(CTS, transfers);
	send_sample(hart, retire->cycle, &record, group[0].insn, group[retire->count - 1].insn);
}

/* Account the cycle of the open group.  `waits`: the next instruction is in the reorder buffer and
 * not done; `blocked`: what the next one met, 0: nothing, or it kept nothing from retiring. */
static void close_group(struct hart *hart, bool waits, uint16_t blocked)
{
	struct retire *retire = &hart->retire;
	struct process *process = hart->process;
	const struct retired *group = retire->group;
	unsigned int count = retire->count, named = 0;
	uint16_t cause = blocked;

	if (!count)
		return;
	if (blocked) {
		named = count + 1;
	} else {
		for (unsigned int i = 0; i < count && !named; i++) {
			if (group[i].cause) {
				named = i + 1;
				cause = group[i].cause;
			}
		}
		if (!named && waits && count < retire->width)
			named = count + 1;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (named == i + 1 && cause)
			golden_bucket(hart, group[i].insn, PESA_STATE_RETIRING, count, cause, 1);
		else
			golden_retired(hart, group[i].insn, count);
		if (group[i].taken)
			golden_transfer(process, group[i].insn, group[i].target);
	}
	if (retire->next_sample == retire->cycle)
		sample_group(hart, named, cause);
	retire->accounted = retire->cycle + 1;
	retire->newest = group[count - 1].insn;
	hart->counters.now.event[VCORE_EVENT_STATE_RETIRING]++;
	counters_retired(&hart->counters, count, named, cause);
	hart->slot->totals.instructions += count;
	retire->count = 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void retire_close(struct hart *hart)
{
	close_group(hart, false, 0);
	hart->slot->totals.cycles = hart->retire.accounted - hart->retire.start;
}

void retire_flush(struct hart *hart, const struct insn *insn, uint16_t cause, uint64_t until)
{
	hart->retire.flushed_by = insn;
	hart->retire.flush_cause = cause;
	hart->retire.flush_until = until;
}

static void count_mispredict(uint64_t *event, const struct insn *insn)
{
	event[VCORE_EVENT_MISPRED]++;
	switch (insn->flow) {
	case PESA_FLOW_BRANCH:
		event[VCORE_EVENT_MISPRED_BRANCH]++;
		break;
	case PESA_FLOW_RETURN:
		event[VCORE_EVENT_MISPRED_RETURN]++;
		break;
	case PESA_FLOW_COROUTINE:
		event[VCORE_EVENT_MISPRED_CORSWAP]++;
		break;
	default:
		event[VCORE_EVENT_MISPRED_INDIRECT]++;
	}
}

static void count_insn(struct counters *counters, const struct passage *passage)
{
	/* The top bit of each field: before a count can flow over into the next one. */
	const uint64_t high = 0x0800800800800800;
	const struct insn *insn = passage->insn;

	counters->packed += insn->counts;
	if (counters->packed & high)
		counters_spread(counters);
	if (passage->taken && insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP)
		counters->now.event[VCORE_EVENT_TAKEN]++;
	if (passage->cause & PESA_CAUSE_BRANCH_MISPREDICT)
		count_mispredict(counters->now.event, insn);
}

void retire_step(struct hart *hart, const struct passage *passage)
{
	struct retire *retire = &hart->retire;
	struct retired *retired;
	uint64_t cycle = passage->retired,
		 floor = retire->count ? retire->cycle : retire->accounted;

	if (__builtin_expect(passage->faulted, 0)) {
		counters_dispatch_in_vain(&hart->counters, FLUSH_EXCEPTION, passage->supplied,
					  passage->dispatched,
					  passage->insn->flags & INSN_SERIALISE_BEFORE);
	} else {
		counters_dispatch(&hart->counters, passage->supplied, passage->dispatched,
				  passage->insn->flags & INSN_SERIALISE_BEFORE);
		count_insn(&hart->counters, passage);
	}
	/* A group that was closed early keeps its cycle. */
	if (retire->count == retire->width)
		floor++;
	if (cycle < floor)
		cycle = floor;
	if (!retire->count || cycle != retire->cycle || passage->faulted) {
		/* What an instruction meets later is nothing that it has met when it has not
		 * arrived. */
		bool blocks = passage->complete > retire->cycle && !retire->flushed_by;
		bool waits = blocks && passage->dispatched <= retire->cycle;
		uint64_t flushed;

		close_group(hart, waits,
			    waits    ? passage->cause
			    : blocks ? passage->front_cause
				     : 0);
		if (retire->flushed_by) {
			flushed = least(retire->flush_until, least(passage->dispatched, cycle));
			account_idle(hart, retire->accounted, flushed, retire->flushed_by,
				     PESA_STATE_FLUSHED, retire->flush_cause);
			retire->flushed_by = NULL;
		}
		account_idle(hart, retire->accounted, least(passage->dispatched, cycle),
			     passage->insn, PESA_STATE_DRAINED, passage->front_cause);
		account_idle(hart, retire->accounted, cycle, passage->insn, PESA_STATE_STALLED,
			     passage->cause);
		hart->slot->totals.cycles = retire->accounted - retire->start;
		if (passage->dispatched >= retire->samplers.dispatch_due)
			samplers_dispatch(hart, passage);
		if (passage->faulted)
			return;
		if (cycle >= retire->samplers.retire_due)
			samplers_retire(hart, passage->insn, cycle);
		retire->cycle = cycle;
		hart->counters.topdown.occupied = cycle + 1;
	}
	if (passage->dispatched >= retire->samplers.dispatch_due)
		samplers_dispatch(hart, passage);
	retired = &retire->group[retire->count++];
	retired->insn = passage->insn;
	retired->cause = passage->cause;
	retired->taken = passage->taken;
	retired->target = passage->target;
	if (passage->taken && retire->ctr_depth) {
		retire->branches[retire->branch_count++ % retire->ctr_depth] =
			(struct pesa_branch_entry){passage->insn->pc, passage->target, 0};
	}
}
