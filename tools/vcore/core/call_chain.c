// SPDX-License-Identifier: GPL-2.0-or-later
/* Call chains of sampled instructions: see call_chain.h. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/core/call_chain.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/stack/call_stack.h"

/* Steps that wait: a retirement group, and the instruction that flushed the pipeline. */
#define WAITING (RETIREMENT_GROUP_MAX + 1)

/* How far the value of sp is looked for after a jump that may have left frames. */
#define LOOK_AHEAD 4096

struct call_chain {
	struct process *process;
	struct call_stack stack;
	struct call_step waiting[WAITING];
	ptrdiff_t count; /* of waiting steps, numbers -count to -1 */
	const struct batch *batch;
	ptrdiff_t next;		/* number of the next step to execute */
	const uint64_t *access; /* of the next step, if it is of the batch */
};

struct call_chain *call_chain_create(struct process *process)
{
	struct call_chain *chain = calloc(1, sizeof(*chain));

	if (chain)
		chain->process = process;
	return chain;
}

void call_chain_free(struct call_chain *chain)
{
	if (!chain)
		return;
	call_stack_free(&chain->stack);
	free(chain);
}

/* ---- Signal handlers ----------------------------------------------------------------------- */

void call_chain_add_handler(struct process *process, uint64_t address)
{
	uint32_t count = atomic_load(&process->handlers);

	for (uint32_t i = 0; i < count; i++)
		if (process->handler[i] == address)
			return;
	if (count == PROCESS_HANDLERS)
		return;
	process->handler[count] = address;
	atomic_store(&process->handlers, count + 1);
}

static bool is_handler(const struct process *process, uint64_t address)
{
	uint32_t count = atomic_load_explicit(&process->handlers, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (process->handler[i] == address)
			return true;
	return false;
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* Step `number` of the batch, whose accesses begin at *access; *access becomes that of the next. */
static struct call_step step_of(const struct call_chain *chain, ptrdiff_t number,
				const uint64_t **access)
{
	const struct batch *batch = chain->batch;
	const struct step *step = &batch->step[number];
	const struct insn *insn = step->insn;
	struct call_step result = {
		.pc = insn->pc,
		.next = number + 1 < (ptrdiff_t)batch->steps ? step[1].insn->pc : batch->next,
		.target = insn->target,
		.offset = insn->stack_offset,
		.use = insn->stack_use,
		.flow = insn->flow,
		.length = insn->length,
		.accessed = step->accesses,
		.faulted = step->faulted,
	};

	if (step->accesses)
		result.address = **access >> TRACE_ADDRESS_SHIFT;
	*access += step->accesses;
	if (result.next != result.pc + result.length)
		result.handler = is_handler(chain->process, result.next);
	return result;
}

/* The value of sp before step `number`, to whose `pc` execution jumped, from the first access after it that shows it. */
static struct pesa_error *look_ahead(struct call_chain *chain, ptrdiff_t number, uint64_t pc)
{
	const uint64_t *access = chain->access;
	uint64_t added = 0;

	for (int i = 0; i < LOOK_AHEAD && number < (ptrdiff_t)chain->batch->steps; i++, number++) {
		struct call_step step = number < 0 ? chain->waiting[chain->count + number]
						   : step_of(chain, number, &access);

		unsigned int use = step.use & STACK_USE_MASK;

		if (use == STACK_USE_ACCESS && step.accessed) {
			return call_stack_learn(&chain->stack,
						step.address - (uint64_t)(int64_t)step.offset -
							added);
		}
		if (use == STACK_USE_LOAD || use == STACK_USE_SET || step.faulted)
			break;
		if (use == STACK_USE_ADD)
			added += (uint64_t)(int64_t)step.offset;
	}
	call_stack_guess(&chain->stack, pc);
	return NULL;
}

void call_chain_advance(struct call_chain *chain, ptrdiff_t step)
{
	for (; chain->next < step; chain->next++) {
		struct call_step one = chain->next < 0
					       ? chain->waiting[chain->count + chain->next]
					       : step_of(chain, chain->next, &chain->access);

		bool wanted = call_stack_wants_sp(&chain->stack);
		struct pesa_error *error;

		error = call_stack_step(&chain->stack, &one);
		if (!error && !wanted && call_stack_wants_sp(&chain->stack))
			error = look_ahead(chain, chain->next + 1, one.next);
		if (error) {
			fprintf(stderr, "pesa record: %s for the call chain\n", error->message);
			_exit(125);
		}
	}
}

void call_chain_begin(struct call_chain *chain, const struct batch *batch)
{
	chain->batch = batch;
	chain->access = batch->access;
	chain->next = -chain->count;
}

void call_chain_end(struct call_chain *chain)
{
	ptrdiff_t steps = (ptrdiff_t)chain->batch->steps, kept = 0;
	struct call_step waiting[WAITING];

	call_chain_advance(chain, steps - WAITING);
	for (ptrdiff_t i = chain->next; i < steps; i++)
		waiting[kept++] = i < 0 ? chain->waiting[chain->count + i]
					: step_of(chain, i, &chain->access);
	memcpy(chain->waiting, waiting, (size_t)kept * sizeof(*waiting));
	chain->count = kept;
	chain->next = -kept;
	chain->batch = NULL;
}

size_t call_chain_copy(const struct call_chain *chain, uint64_t pc, uint64_t *entry, bool *cut)
{
	size_t frames = chain->stack.count;

	*cut = frames > CALL_CHAIN_MAX;
	if (*cut)
		frames = CALL_CHAIN_MAX;
	*entry++ = (uint64_t)PERF_CONTEXT_USER;
	*entry++ = pc;
	for (size_t i = 0; i < frames; i++)
		entry[i] = chain->stack.frame[chain->stack.count - 1 - i].return_address;
	return frames + 2;
}
