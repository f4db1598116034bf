// SPDX-License-Identifier: GPL-2.0-or-later
/* Sampling of cycles, and control transfer records. */
#include <string.h>

#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/golden.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/pipeline_trace.h"
#include "tools/vcore/core/process.h"

void retire_begin(struct hart *hart, uint64_t start)
{
	const struct vcore_control *control = hart->process->control;
	struct retire *retire = &hart->retire;
	struct transfer *transfers = retire->transfers;
	uint32_t mask = retire->transfer_mask;

	memset(retire, 0, sizeof(*retire));
	retire->transfers = transfers;
	retire->transfer_mask = mask;
	retire->start = start;
	retire->stage.width = hart->process->core->retire_width;
	retire->stage.room = retire->stage.width;
	retire->ctr_depth = hart->process->core->ctr_depth;
	golden_forget(hart);
	memset(&hart->group, 0, sizeof(hart->group));
	retire->stage.accounted = start;
	transfer_clock_reset(&retire->clock, start, true);
	counters_begin(&hart->counters, start);
	memset(&hart->meeting, 0, sizeof(hart->meeting));
	memset(&hart->met, 0, sizeof(hart->met));
	pipeline_trace_free(hart->log);
	hart->log = pipeline_trace_create(hart);
	retire->random = retirement_seed(control->seed, hart->process->lineage, hart->ordinal);
	samplers_begin(hart);
	if (!control->period) {
		retire->next_sample = UINT64_MAX;
		return;
	}
	retire->next_sample =
		start + retirement_first_sample(&retire->random, control->period, control->jitter);
}

void retire_sample(struct hart *hart, uint64_t cycle, struct pesa_record *record,
		   const struct insn *oldest, const struct insn *youngest)
{
	const struct samplers *samplers = &hart->retire.samplers;
	uint64_t interval;

	if (samplers->mask >> VCORE_SAMPLER_SHPMS & 1)
		hart->process->sink->deliver(hart, VCORE_SAMPLER_SHPMS, record);
	if (samplers->mask & ~(1u << VCORE_SAMPLER_SHPMS))
		samplers_take(hart, cycle, oldest, youngest);
	interval = hart->process->sink->interval(hart);
	if (hart->windows.on)
		hart->retire.next_sample = windows_sampled(&hart->windows, cycle, interval);
	else
		hart->retire.next_sample += interval;
}

/* The Ssctr type of a transfer. */
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
	/* A direct transfer that continued elsewhere was interrupted. */
	if (insn->target && target != insn->target)
		return PESA_CTR_INTERRUPT;
	return types[insn->flow];
}

void retire_transfer(struct hart *hart, const struct insn *insn, uint64_t target, uint16_t cause)
{
	const struct sample_sink *sink = hart->process->sink;
	struct transfer transfer = {
		.source = insn->pc,
		.target = target,
		.data = transfer_type(insn, target),
		.mispredicted = cause & PESA_CAUSE_BRANCH_MISPREDICT,
	};

	if (sink->record_transfer)
		sink->record_transfer(hart, insn, &transfer);
	else
		retire_push_transfer(&hart->retire, transfer, hart->retire.stage.cycle);
}
