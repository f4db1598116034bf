// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What every cycle is, and the samples.
 *
 * Instructions arrive here in program order with the cycle in which they retire, so cycles are
 * accounted in order, each exactly once: the cycles up to an instruction's retirement when it
 * arrives, a cycle in which instructions retire when the first one of a later cycle arrives (only
 * then is it known how many they are and what blocked the next).
 *
 * The rules are those of decoder/retirement.h; the record of a sampled cycle
 * and the golden reference come from the same lines.  A cause is what the instruction met on its
 * whole way through the pipeline, as hardware knows it once the instruction has retired.
 */
#include <string.h>

#include "tools/vcore/vcore.h"

static uint64_t sample_interval(struct hart *hart)
{
	const struct vcore_control *control = hart->process->control;

	if (hart->process->board)
		return board_interval(hart);
	return retirement_interval(&hart->retire.random, control->period, control->jitter);
}

void retire_begin(struct hart *hart, uint64_t start)
{
	const struct vcore_control *control = hart->process->control;
	struct retire *retire = &hart->retire;
	struct transfer *transfers = retire->transfers;

	memset(retire, 0, sizeof(*retire));
	retire->transfers = transfers;
	retire->start = start;
	retire->stage.width = hart->process->core->retire_width;
	retire->stage.room = retire->stage.width;
	retire->ctr_depth = hart->process->core->ctr_depth;
	golden_forget(hart);
	retire->stage.accounted = start;
	counters_begin(&hart->counters, start);
	memset(&hart->meeting, 0, sizeof(hart->meeting));
	memset(&hart->met, 0, sizeof(hart->met));
	pipeline_trace_free(hart->log);
	hart->log = pipeline_trace_create(hart);
	retire->random = retirement_seed(control->seed, hart->process->region_index, hart->ordinal);
	samplers_begin(hart);
	if (!control->period) {
		retire->next_sample = UINT64_MAX;
		return;
	}
	retire->next_sample =
		start + retirement_first_sample(&retire->random, control->period, control->jitter);
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
	uint64_t count = retire->transfer_count < depth ? retire->transfer_count : depth;

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
		branches[i] = (struct pesa_branch_entry){
			.from = retire->transfers[(retire->transfer_count - 1 - i) % depth].source,
			.to = retire->transfers[(retire->transfer_count - 1 - i) % depth].target,
		};
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

/* Cycles in which nothing retires, all of one kind. */
static void account_idle(struct hart *hart, const struct retirement_span *span)
{
	struct retire *retire = &hart->retire;
	const struct insn *insn = span->insn;

	if (span->start >= span->end)
		return;
	golden_bucket(hart, insn, span->state, 1, span->cause, span->end - span->start);
	hart->counters.now.event[state_events[span->state]] += span->end - span->start;
	counters_idle(&hart->counters, span->state, span->cause, span->end - span->start);
	if (span->state == PESA_STATE_STALLED &&
	    (span->cause & (PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS)))
		counters_miss_wait(&hart->counters, span->start, span->end);
	while (retire->next_sample < span->end) {
		struct pesa_record record = {0};

		retirement_record_idle(insn->pc, span->state, span->cause, &record);
		retire->stage.accounted = retire->next_sample;
		send_sample(hart, retire->next_sample, &record, NULL, retire->newest);
	}
	retire->stage.accounted = span->end;
}

/* The cycles up to `cycle`, in which the instruction retires. */
static void account_idles(struct hart *hart, const struct retirement_passage *way, uint64_t cycle)
{
	struct retirement *stage = &hart->retire.stage;
	struct retirement_span span[RETIREMENT_SPANS];

	if (stage->accounted == cycle) {
		stage->flushed_by = NULL;
		return;
	}
	retirement_idle(stage, way, cycle, span);
	for (unsigned int i = 0; i < RETIREMENT_SPANS; i++)
		account_idle(hart, &span[i]);
}

/* The record of the open group.  `named` is the position of the instruction whose cause it tells.
 */
static void sample_group(struct hart *hart, unsigned int named, uint16_t cause)
{
	const struct retirement *stage = &hart->retire.stage;
	const struct insn *oldest = stage->group[0].insn;
	struct pesa_record record = {0};

	retirement_record_group(stage, oldest->pc, named, cause, hart->process->core->ct_targets,
				&record);
	send_sample(hart, stage->cycle, &record, oldest, stage->group[stage->count - 1].insn);
}

/* Account the cycle of the open group. */
static void close_group(struct hart *hart, struct retirement_block block)
{
	struct retire *retire = &hart->retire;
	struct process *process = hart->process;
	const struct retired *group = retire->stage.group;
	unsigned int count = retire->stage.count, named;
	uint16_t cause;

	if (!count)
		return;
	named = retirement_name(&retire->stage, block, &cause);
	for (unsigned int i = 0; i < count; i++) {
		if (named == i + 1 && cause)
			golden_bucket(hart, group[i].insn, PESA_STATE_RETIRING, count, cause, 1);
		else
			golden_retired(hart, group[i].insn, count);
		if (group[i].taken)
			golden_transfer(process, group[i].insn, group[i].target);
	}
	if (retire->next_sample == retire->stage.cycle)
		sample_group(hart, named, cause);
	retire->newest = group[count - 1].insn;
	hart->counters.now.event[VCORE_EVENT_STATE_RETIRING]++;
	counters_retired(&hart->counters, count, named, cause);
	hart->slot->totals.instructions += count;
	retirement_close(&retire->stage);
}

void retire_close(struct hart *hart)
{
	close_group(hart, (struct retirement_block){0});
	hart->slot->totals.cycles = hart->retire.stage.accounted - hart->retire.start;
}

void retire_flush(struct hart *hart, const struct insn *insn, uint16_t cause, uint64_t until)
{
	if (__builtin_expect(hart->log != NULL, 0))
		pipeline_trace_flush(hart->log, insn, cause, until);
	retirement_flush(&hart->retire.stage, insn, cause, until);
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

static void count_met(uint64_t *event, const struct passage *passage)
{
	uint16_t cause = passage->cause;

	event[VCORE_EVENT_MISSED_L1I] += (cause & PESA_CAUSE_ICACHE_MISS) != 0;
	event[VCORE_EVENT_MISSED_ITLB] += (cause & PESA_CAUSE_ITLB_MISS) != 0;
	event[VCORE_EVENT_MISSED_L1D] += (cause & PESA_CAUSE_DCACHE_MISS) != 0;
	event[VCORE_EVENT_MISSED_DTLB] += (cause & PESA_CAUSE_DTLB_MISS) != 0;
	if (cause & PESA_CAUSE_BRANCH_MISPREDICT)
		count_mispredict(event, passage->insn);
}

static void count_insn(struct counters *counters, const struct passage *passage)
{
	const struct insn *insn = passage->insn;

	counters_count_insn(counters, insn->counts);
	if (passage->taken && insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP)
		counters->now.event[VCORE_EVENT_TAKEN]++;
	if (passage->cause)
		count_met(counters->now.event, passage);
}

/* What Ssctr calls a transfer. */
static uint32_t transfer_type(const struct insn *insn, uint64_t target)
{
	static const uint32_t types[] = {
		[PESA_FLOW_NEXT] = PESA_CTR_INTERRUPT,
		[PESA_FLOW_BRANCH] = PESA_CTR_TAKEN,
		[PESA_FLOW_JUMP] = PESA_CTR_DIRECT_JUMP,
		[PESA_FLOW_INDIRECT] = PESA_CTR_INDIRECT_JUMP,
		[PESA_FLOW_CALL] = PESA_CTR_DIRECT_CALL,
		[PESA_FLOW_INDIRECT_CALL] = PESA_CTR_INDIRECT_CALL,
		[PESA_FLOW_RETURN] = PESA_CTR_RETURN,
		[PESA_FLOW_COROUTINE] = PESA_CTR_COROUTINE,
		[PESA_FLOW_TRAP] = PESA_CTR_EXCEPTION,
	};

	if (insn->flow == PESA_FLOW_TRAP && (uint32_t)insn->bits == INSN_BITS_SRET)
		return PESA_CTR_TRAP_RETURN;
	/* A direct transfer that went elsewhere was interrupted. */
	if (insn->target && target != insn->target)
		return PESA_CTR_INTERRUPT;
	return types[insn->flow];
}

static void record_transfer(struct hart *hart, const struct passage *passage)
{
	struct retire *retire = &hart->retire;
	struct transfer transfer = {
		.source = passage->insn->pc,
		.target = passage->target,
		.type = transfer_type(passage->insn, passage->target),
		.mispredicted = passage->cause & PESA_CAUSE_BRANCH_MISPREDICT,
	};

	if (!hart->process->board || board_records_transfer(hart, &transfer))
		retire->transfers[retire->transfer_count++ % retire->ctr_depth] = transfer;
}

bool retire_beside(struct hart *hart, const struct step *step, const struct report *report,
		   uint64_t cycle)
{
	struct retire *retire = &hart->retire;
	struct retirement *stage = &retire->stage;
	const struct insn *insn = step->insn;
	struct retired *retired;

	/* An empty group is as good as a full one: both have no place beside one. */
	if (stage->count - 1 >= stage->room - 1 || cycle > stage->cycle ||
	    retire->samplers.dispatch_due != UINT64_MAX || hart->log ||
	    report->turning || report->cause || retire->events_left)
		return false;
	counters_dispatch(&hart->counters, report_cycle(cycle, report->supplied),
			  report_cycle(cycle, report->dispatched),
			  insn->flags & INSN_SERIALISE_BEFORE);
	counters_count_insn(&hart->counters, insn->counts);
	retired = &stage->group[stage->count++];
	retired->insn = insn;
	retired->cause = report->cause;
	retired->taken = false;
	return true;
}

void retire_step(struct hart *hart, const struct passage *passage)
{
	const struct retirement_passage way = {
		.insn = passage->insn,
		.target = passage->target,
		.dispatched = passage->dispatched,
		.complete = passage->complete,
		.retired = passage->retired,
		.front_cause = passage->front_cause,
		.cause = passage->cause,
		.taken = passage->taken,
		.faulted = passage->faulted,
	};
	struct retire *retire = &hart->retire;
	uint64_t cycle;

	if (__builtin_expect(hart->log != NULL, 0))
		pipeline_trace_step(hart->log, passage);
	if (__builtin_expect(passage->faulted, 0)) {
		counters_dispatch_in_vain(&hart->counters, FLUSH_EXCEPTION, passage->supplied,
					  passage->dispatched,
					  passage->insn->flags & INSN_SERIALISE_BEFORE);
	} else {
		counters_dispatch(&hart->counters, passage->supplied, passage->dispatched,
				  passage->insn->flags & INSN_SERIALISE_BEFORE);
		count_insn(&hart->counters, passage);
	}
	if (retirement_leaves_group(&retire->stage, &way, &cycle)) {
		close_group(hart, retirement_blocks(&retire->stage, &way));
		account_idles(hart, &way, cycle);
		hart->slot->totals.cycles = retire->stage.accounted - retire->start;
		if (passage->dispatched >= retire->samplers.dispatch_due)
			samplers_dispatch(hart, passage);
		if (passage->faulted)
			return;
		if (cycle >= retire->samplers.retire_due)
			samplers_retire(hart, passage->insn, cycle);
		retirement_open(&retire->stage, cycle);
		hart->counters.topdown.occupied = cycle + 1;
	}
	if (passage->dispatched >= retire->samplers.dispatch_due)
		samplers_dispatch(hart, passage);
	retirement_add(&retire->stage, &way);
	if (passage->taken && retire->ctr_depth)
		record_transfer(hart, passage);
	if (__builtin_expect(retire->events_left != 0, 0))
		board_count(hart, passage);
}
