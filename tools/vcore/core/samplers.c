// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Models what weaker sampling hardware delivers for a sampled cycle.
 *
 * The last retired instruction is known when the cycle is accounted.  The next instruction to
 * retire, the next to be dispatched, and the one at which an interrupt arrives come later: the
 * sample waits for the first instruction that retires, or is dispatched, in or after its due cycle.
 *
 * An interrupt enters the pipeline at fetch, in place of the next instruction: older instructions
 * retire, and that instruction is the one to which the interrupt returns.  With --skid it is taken at
 * retirement instead, a number of instructions behind the oldest one that is drawn for each sample.
 */
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/process.h"

static struct sample_wait *wait_of(struct samplers *samplers, enum vcore_sampler sampler)
{
	return &samplers->wait[sampler];
}

static uint64_t due_of(const struct sample_wait *wait)
{
	return wait->first == wait->next ? UINT64_MAX : wait->due[wait->first % SAMPLES_WAITING];
}

static void update_due(struct samplers *samplers)
{
	uint64_t interrupt = due_of(wait_of(samplers, VCORE_SAMPLER_LCOFI));
	uint64_t tag = due_of(wait_of(samplers, VCORE_SAMPLER_DISPATCH));

	/* Each instruction counts. */
	if (samplers->skids && interrupt != UINT64_MAX)
		interrupt = 0;
	samplers->retire_due = due_of(wait_of(samplers, VCORE_SAMPLER_NEXT_COMMIT));
	samplers->dispatch_due = interrupt < tag ? interrupt : tag;
	samplers->due = samplers->dispatch_due < samplers->retire_due ? samplers->dispatch_due
								      : samplers->retire_due;
}

void samplers_begin(struct hart *hart)
{
	struct samplers *samplers = &hart->retire.samplers;
	const struct pesa_core *core = hart->process->core;

	*samplers = (struct samplers){
		.mask = hart->process->control->samplers,
		.skid = core->fetch_depth,
		.skids = hart->process->control->skids,
		.random = retirement_seed(~hart->process->control->seed, hart->process->lineage,
					  hart->ordinal),
	};
	update_due(samplers);
}

static void send(struct hart *hart, enum vcore_sampler sampler, const struct insn *insn,
		 uint16_t cause)
{
	struct pesa_record record = {
		.pc = insn->pc,
		.flags = sampler == VCORE_SAMPLER_DISPATCH ? PESA_RECORD_HAS_CAUSES : 0,
		.details = (uint64_t)cause << PESA_DETAILS_CAUSE_SHIFT,
	};

	hart->process->sink->deliver(hart, sampler, &record);
}

static void add(struct hart *hart, enum vcore_sampler sampler, uint64_t due)
{
	struct samplers *samplers = &hart->retire.samplers;
	struct sample_wait *wait = wait_of(samplers, sampler);

	if (!(samplers->mask >> sampler & 1))
		return;
	/* If the hart has not moved for this many periods, a single interrupt is pending. */
	if (wait->next - wait->first == SAMPLES_WAITING)
		hart->slot->totals.unfinished++;
	else
		wait->due[wait->next++ % SAMPLES_WAITING] = due;
}

static uint64_t draw_skid(struct hart *hart)
{
	const struct vcore_control *control = hart->process->control;

	return control->skid_low +
	       retirement_random_below(&hart->retire.samplers.random,
				       (uint64_t)control->skid_high - control->skid_low + 1);
}

/* An instruction is passed: those that wait have one less to come. */
static void pass(struct hart *hart, const struct insn *insn)
{
	struct sample_wait *wait = wait_of(&hart->retire.samplers, VCORE_SAMPLER_LCOFI);
	uint32_t kept = wait->first;

	for (uint32_t i = wait->first; i != wait->next; i++) {
		uint64_t left = wait->due[i % SAMPLES_WAITING] - 1;

		if (left)
			wait->due[kept++ % SAMPLES_WAITING] = left;
		else
			send(hart, VCORE_SAMPLER_LCOFI, insn, 0);
	}
	wait->next = kept;
}

void samplers_take(struct hart *hart, uint64_t cycle, const struct insn *oldest,
		   const struct insn *youngest)
{
	struct samplers *samplers = &hart->retire.samplers;

	if (samplers->mask >> VCORE_SAMPLER_LAST_COMMIT & 1) {
		if (youngest)
			send(hart, VCORE_SAMPLER_LAST_COMMIT, youngest, 0);
		else
			hart->slot->totals.unfinished++;
	}
	if (!oldest)
		add(hart, VCORE_SAMPLER_NEXT_COMMIT, cycle);
	else if (samplers->mask >> VCORE_SAMPLER_NEXT_COMMIT & 1)
		send(hart, VCORE_SAMPLER_NEXT_COMMIT, oldest, 0);
	add(hart, VCORE_SAMPLER_LCOFI,
	    samplers->skids ? 1 + draw_skid(hart) : cycle + samplers->skid);
	add(hart, VCORE_SAMPLER_DISPATCH, cycle);
	update_due(samplers);
}

void samplers_retire(struct hart *hart, const struct insn *insn, uint64_t cycle)
{
	struct samplers *samplers = &hart->retire.samplers;
	struct sample_wait *wait = wait_of(samplers, VCORE_SAMPLER_NEXT_COMMIT);

	for (; due_of(wait) <= cycle; wait->first++)
		send(hart, VCORE_SAMPLER_NEXT_COMMIT, insn, 0);
	update_due(samplers);
}

void samplers_dispatch(struct hart *hart, const struct passage *passage)
{
	struct samplers *samplers = &hart->retire.samplers;
	struct sample_wait *wait = wait_of(samplers, VCORE_SAMPLER_LCOFI);

	if (samplers->skids && !passage->faulted)
		pass(hart, passage->insn);
	for (; !samplers->skids && due_of(wait) <= passage->dispatched; wait->first++)
		send(hart, VCORE_SAMPLER_LCOFI, passage->insn, 0);
	wait = wait_of(samplers, VCORE_SAMPLER_DISPATCH);
	for (; due_of(wait) <= passage->dispatched; wait->first++) {
		/* A tag on an instruction that does not retire is not delivered. */
		if (passage->faulted)
			hart->slot->totals.unfinished++;
		else
			send(hart, VCORE_SAMPLER_DISPATCH, passage->insn, passage->cause);
	}
	update_due(samplers);
}

void samplers_end(struct hart *hart)
{
	struct samplers *samplers = &hart->retire.samplers;

	for (unsigned int i = 0; i < VCORE_SAMPLER_COUNT; i++) {
		struct sample_wait *wait = &samplers->wait[i];

		hart->slot->totals.unfinished += wait->next - wait->first;
		wait->first = wait->next;
	}
	update_due(samplers);
}
