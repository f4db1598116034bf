// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends samples to the recorder as messages. */
#include <string.h>

#include "tools/vcore/core/channel.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/process.h"

static uint64_t interval(struct hart *hart)
{
	const struct vcore_control *control = hart->process->control;

	return retirement_interval(&hart->retire.random, control->period, control->jitter);
}

/* Words after a message: branches, and a call chain or registers and stack. */
#define BRANCH_WORDS (256 * sizeof(struct pesa_branch_entry) / sizeof(uint64_t))
#define CHAIN_WORDS  (CALL_CHAIN_MAX + 2)
#define STACK_WORDS  (VCORE_REGISTERS + VCORE_STACK_MAX / sizeof(uint64_t))
#define TAIL_WORDS   (BRANCH_WORDS + (STACK_WORDS > CHAIN_WORDS ? STACK_WORDS : CHAIN_WORDS))

/* The registers and the stack of the sampled instruction.  Returns their number of words. */
static size_t copy_user_state(const struct hart *hart, struct vcore_message *message,
			      uint64_t *words)
{
	const uint64_t *registers = hart->sampled;
	/* PERF_REG_RISCV_SP */
	uint64_t sp = registers[2], size = hart->process->control->stack_dump;

	memcpy(words, registers, VCORE_REGISTERS * sizeof(*words));
	size = register_log_copy(hart->process->guest_base, sp, words + VCORE_REGISTERS, size);
	message->sample.registers = VCORE_REGISTERS;
	message->sample.stack = size & ~UINT64_C(7);
	return VCORE_REGISTERS + size / sizeof(*words);
}

/* The call chain of a sample, or what it is made of.  Returns its number of words. */
static size_t copy_chain(const struct hart *hart, struct vcore_message *message, uint64_t *words,
			 bool *cut)
{
	const struct process *process = hart->process;
	uint64_t pc = message->sample.record.pc;

	*cut = false;
	if (hart->calls)
		return message->sample.chain =
			       (uint32_t)call_chain_copy(hart->calls, pc, words, cut);
	if (!hart->registers)
		return 0;
	*cut = !hart->sampled;
	if (*cut)
		return 0;
	if (process->control->call_chains == VCORE_CALL_CHAINS_DWARF)
		return copy_user_state(hart, message, words);
	return message->sample.chain = (uint32_t)register_log_walk(process->guest_base,
								   hart->sampled, pc, words, cut);
}

static void deliver(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record)
{
	struct process *process = hart->process;
	struct retire *retire = &hart->retire;
	uint64_t lost = retire->lost < PESA_RECORD_LOST_MASK ? retire->lost : PESA_RECORD_LOST_MASK;
	struct vcore_message message = {
		.type = VCORE_MESSAGE_SAMPLE,
		.cpu = (uint16_t)hart->index,
		.tid = hart->tid,
		.time = hart_time(hart),
	};
	uint64_t tail[TAIL_WORDS];
	struct pesa_branch_entry *branches = (struct pesa_branch_entry *)tail;
	size_t words;
	bool cut = false;
	uint32_t count = retire->transfer_count;

	if (!vcore_sampler_has_branches(sampler))
		count = 0;

	record->version = PESA_RECORD_VERSION;
	record->xlen = 64;
	record->size = PESA_RECORD_SIZE;
	record->flags |= (uint32_t)lost << PESA_RECORD_LOST_SHIFT;
	for (uint32_t i = 0; i < count; i++) {
		const struct transfer *transfer = retire_newest_transfer(retire, i);

		branches[i] = (struct pesa_branch_entry){
			.from = transfer->source,
			.to = transfer->target,
			.flags = transfer_cycles_flags(transfer->data) |
				 (transfer->mispredicted ? PESA_BRANCH_MISPREDICTED : 0),
		};
	}
	message.sample.period = process->control->period;
	message.sample.record = *record;
	message.sample.sampler = sampler;
	message.sample.branches = count;
	words = count * sizeof(branches[0]) / sizeof(*tail);
	if (sampler == VCORE_SAMPLER_SHPMS)
		words += copy_chain(hart, &message, tail + words, &cut);
	hart->slot->totals.cut_chains += cut;
	if (channel_send(process, &message, tail, words * sizeof(*tail))) {
		retire->lost = 0;
		hart->slot->totals.samples++;
	} else {
		retire->lost++;
		hart->slot->totals.lost++;
	}
}

const struct sample_sink sample_send = {.interval = interval, .deliver = deliver};
