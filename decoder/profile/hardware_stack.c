// SPDX-License-Identifier: GPL-2.0-or-later
/* Call chains from call stacks of the hardware: see hardware_stack.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/hardware_stack.h"
#include "pesa/csr.h"

struct hardware_frame {
	uint64_t from; /* address of the call; 0: not known */
	uint64_t to;   /* where it went */
	uint64_t back; /* return address; 0: behind the call */
};

/* Calls that are put back: of returns in one cycle. */
#define RETURNS_MAX PESA_WALK_STEPS_MAX

/* The calls that have not returned, the newest first. */
struct calls {
	struct hardware_frame *frame;
	size_t count;
};

static bool is_kernel(const struct pesa_record *record, uint64_t address)
{
	return address >> (record->xlen - 1);
}

bool hardware_stack_is_of(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

void hardware_stack_free(struct hardware_stack *stack)
{
	free(stack->frame);
	free(stack->chain);
}

/* ---- The calls that have not returned -------------------------------------------------------- */

static void drop(struct calls *calls)
{
	calls->frame++;
	calls->count--;
}

static void put_back(struct calls *calls, const struct hardware_frame *frame)
{
	*--calls->frame = *frame;
	calls->count++;
}

/* Before the call at `from`. */
static void undo_call(struct calls *calls, uint64_t from)
{
	if (calls->count && calls->frame->from == from)
		drop(calls);
}

static uint64_t return_address(struct profile_loader *loader, const struct hardware_frame *frame)
{
	struct pesa_text_insn insn;

	if (frame->back)
		return frame->back;
	/* Without its text: behind the shortest call.  Readers look up the byte before it. */
	if (profile_text_at(loader, frame->from, &insn) != PESA_TEXT_OK)
		return frame->from + 2;
	return frame->from + insn.length;
}

/* Before a return to `back`. */
static void undo_return(struct profile_loader *loader, struct calls *calls, uint64_t back)
{
	const struct hardware_frame frame = {.back = back};

	if (calls->count && return_address(loader, calls->frame) == back)
		return;
	put_back(calls, &frame);
}

static void undo_step(struct profile_loader *loader, struct calls *calls,
		      const struct pesa_step *step, const struct pesa_walk_result *result)
{
	if (step->role != PESA_ROLE_RETIRED || step->transfer != PESA_STEP_TRANSFER_TAKEN)
		return;
	if (step->flow == PESA_FLOW_CALL || step->flow == PESA_FLOW_INDIRECT_CALL ||
	    step->flow == PESA_FLOW_COROUTINE)
		undo_call(calls, step->address);
	if (step->flow != PESA_FLOW_RETURN && step->flow != PESA_FLOW_COROUTINE)
		return;
	for (unsigned int i = 0; i < result->transfer_count; i++)
		if (result->transfer[i].from == step->address) {
			undo_return(loader, calls, result->transfer[i].to);
			return;
		}
}

/* Before the transfers of the sampled cycle. */
static void undo_cycle(struct profile_loader *loader, struct calls *calls,
		       const struct pesa_record *record)
{
	struct pesa_walk_result result;
	const struct pesa_text text = {profile_text_at, loader};

	pesa_walk(record, &text, NULL, 0, &result);
	for (unsigned int i = result.step_count; i > 0; i--)
		undo_step(loader, calls, &result.step[i - 1], &result);
}

/* Before the instruction at the PC, which has retired. */
static void undo_instruction(struct profile_loader *loader, struct calls *calls, uint64_t pc)
{
	struct pesa_text_insn insn;

	if (profile_text_at(loader, pc, &insn) != PESA_TEXT_OK)
		return;
	if (insn.flow == PESA_FLOW_CALL || insn.flow == PESA_FLOW_INDIRECT_CALL ||
	    insn.flow == PESA_FLOW_COROUTINE)
		undo_call(calls, pc);
	if ((insn.flow == PESA_FLOW_RETURN || insn.flow == PESA_FLOW_COROUTINE) && calls->count) {
		const struct hardware_frame frame = {.back = calls->frame->to + 1};

		put_back(calls, &frame);
	}
}

static void undo(struct profile_loader *loader, struct calls *calls,
		 const struct pesa_record *record)
{
	struct pesa_details details = pesa_details_unpack(record->details);

	if (!(record->flags & PESA_RECORD_HAS_DETAILS)) {
		/* Another event than cycles, which happened to the instruction. */
		if (record->flags & PESA_RECORD_HAS_DATA)
			undo_instruction(loader, calls, record->pc);
	} else if (details.state == PESA_STATE_FLUSHED) {
		undo_instruction(loader, calls, record->pc);
	} else if (details.state == PESA_STATE_RETIRING && details.transfers) {
		undo_cycle(loader, calls, record);
	}
}

/* ---- The chain ------------------------------------------------------------------------------- */

static struct pesa_error *take_calls(struct hardware_stack *stack, const struct pesa_record *record,
				     const struct pesa_sample *sample, struct calls *calls)
{
	size_t room = sample->branch_count + RETURNS_MAX;

	if (room > stack->room) {
		struct hardware_frame *grown =
			reallocarray(stack->frame, room, sizeof(*stack->frame));

		if (!grown)
			return pesa_error_no_memory();
		stack->frame = grown;
		stack->room = room;
	}
	*calls = (struct calls){.frame = stack->frame + RETURNS_MAX};
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		struct pesa_branch_entry entry;

		memcpy(&entry, sample->branches + i * sizeof(entry), sizeof(entry));
		if (is_kernel(record, entry.from) || is_kernel(record, entry.to))
			continue;
		calls->frame[calls->count++] =
			(struct hardware_frame){.from = entry.from, .to = entry.to};
	}
	return NULL;
}

/* Add the kernel's part of the recorded chain.  *user: the first entry of its user part, or 0. */
static void add_kernel_part(struct hardware_stack *stack, const struct pesa_sample *sample,
			    uint64_t *user)
{
	*user = 0;
	for (uint64_t i = 0; i < sample->callchain_count; i++) {
		uint64_t entry;

		memcpy(&entry, sample->callchain + i * sizeof(entry), sizeof(entry));
		if (entry == (uint64_t)PERF_CONTEXT_USER) {
			if (i + 1 < sample->callchain_count)
				memcpy(user, sample->callchain + (i + 1) * sizeof(*user),
				       sizeof(*user));
			return;
		}
		stack->chain[stack->length++] = entry;
	}
}

/* Whether calls are missing: the stack is full, or calls were pushed out of it before. */
static bool is_cut(const struct pesa_sample *sample, uint32_t depth)
{
	if (!depth)
		return false;
	if (sample->branch_count >= depth)
		return true;
	return sample->branch_next && !(depth & (depth - 1)) &&
	       ((sample->branch_next - sample->branch_count) & (depth - 1));
}

static struct pesa_error *make_chain(struct profile_loader *loader,
				     const struct pesa_record *record, struct pesa_sample *sample,
				     struct calls *calls)
{
	struct hardware_stack *stack = &loader->hardware_stack;
	size_t room = sample->callchain_count + calls->count + 2;
	bool in_kernel = is_kernel(record, record->pc);
	uint64_t innermost = record->pc, user;

	if (room > stack->chain_room) {
		uint64_t *grown = reallocarray(stack->chain, room, sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		stack->chain = grown;
		stack->chain_room = room;
	}
	stack->length = 0;
	add_kernel_part(stack, sample, &user);
	/* Where the program entered the kernel; if not recorded, the function that was called last. */
	if (in_kernel)
		innermost = user || !calls->count ? user : calls->frame->to;
	if (innermost) {
		stack->chain[stack->length++] = (uint64_t)PERF_CONTEXT_USER;
		stack->chain[stack->length++] = innermost;
		for (size_t i = 0; i < calls->count; i++)
			stack->chain[stack->length++] = return_address(loader, &calls->frame[i]);
	}
	sample->callchain = (const uint8_t *)stack->chain;
	sample->callchain_count = stack->length;
	return NULL;
}

struct pesa_error *hardware_stack_take(struct profile_loader *loader,
				       const struct pesa_layout *layout,
				       const struct pesa_record *record, struct pesa_sample *sample)
{
	struct pesa_profile_totals *totals = &loader->profile->totals;
	struct pesa_error *error, *text_error;
	struct calls calls;

	totals->call_stacks++;
	totals->cut_call_stacks += is_cut(sample, profile_capabilities_of(loader)->ctr_depth);
	error = take_calls(&loader->hardware_stack, record, sample, &calls);
	if (error)
		return error;
	profile_text_begin(loader, layout);
	if (!is_kernel(record, record->pc))
		undo(loader, &calls, record);
	error = make_chain(loader, record, sample, &calls);
	text_error = profile_text_end(loader);
	if (!error)
		return text_error;
	pesa_error_free(text_error);
	return error;
}
