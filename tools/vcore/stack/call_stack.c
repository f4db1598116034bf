// SPDX-License-Identifier: GPL-2.0-or-later
/* The call chain of a hart: see call_stack.h. */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/stack/call_stack.h"

/* A jump goes to another stack if sp is so many bytes beyond what was seen on this one.  Red zones and
 * frames that were allocated meanwhile are smaller; two stacks are further apart. */
#define SLACK 65536u

void call_stack_free(struct call_stack *stack)
{
	free(stack->frame);
	free(stack->saved);
	for (unsigned int i = 0; i < CALL_STACK_OTHERS; i++)
		free(stack->other[i].frame);
	*stack = (struct call_stack){0};
}

static struct call_frame *top_of(struct call_stack *stack)
{
	return stack->count ? &stack->frame[stack->count - 1] : NULL;
}

static struct pesa_error *grow(struct call_stack *stack)
{
	size_t room = stack->room ? 2 * stack->room : 64;
	struct call_frame *grown = reallocarray(stack->frame, room, sizeof(*grown));

	if (!grown)
		return pesa_error_no_memory();
	stack->frame = grown;
	stack->room = room;
	return NULL;
}

static struct call_frame *push(struct call_stack *stack, uint64_t return_address)
{
	if (stack->count == stack->room) {
		struct pesa_error *error = grow(stack);

		pesa_error_free(error);
		if (error)
			return NULL;
	}
	stack->frame[stack->count] = (struct call_frame){
		.return_address = return_address,
		.sp = stack->sp,
		.sp_known = stack->sp_known,
		.epoch_open = !stack->sp_known,
	};
	return &stack->frame[stack->count++];
}

/* ---- Stack pointer ------------------------------------------------------------------------- */

/* sp gets a value that is not known. */
static void forget_sp(struct call_stack *stack)
{
	/* The value before an earlier write, since which it was not seen, is of no use any more. */
	for (size_t i = stack->count; i-- && stack->frame[i].epoch_open;)
		stack->frame[i].epoch_open = false;
	stack->last_known = stack->sp_known;
	stack->last_sp = stack->sp;
	stack->sp_known = false;
	stack->sp = 0;
	stack->moved = true;
}

/* Whether the frames above the signal at `signal` can be on the stack that sp is on now. */
static bool same_stack(const struct call_stack *stack, const struct call_frame *signal, uint64_t sp)
{
	if (signal->sp_known && sp > signal->sp)
		return false;
	return !stack->last_known || sp + SLACK > stack->last_sp;
}

/* The number of frames that are left of the first `count` after a jump to where sp has this value. */
static size_t count_kept(const struct call_stack *stack, size_t count, uint64_t sp)
{
	while (count) {
		size_t at = count - 1;

		if (stack->frame[at].signal && !same_stack(stack, &stack->frame[at], sp)) {
			count = at;
			continue;
		}
		/* A frame whose sp was never seen is left if the one below it is. */
		while (at && !stack->frame[at].sp_known && !stack->frame[at].signal)
			at--;
		if (!stack->frame[at].sp_known || stack->frame[at].sp > sp)
			break;
		count = at;
	}
	return count;
}

/* A signal handler that is left: the nearest signal below whose stack is another one. */
static size_t leave_signals(const struct call_stack *stack, size_t count, uint64_t sp)
{
	for (size_t i = count; i--;)
		if (stack->frame[i].signal && !same_stack(stack, &stack->frame[i], sp))
			return i;
	return count;
}

/* ---- Other stacks -------------------------------------------------------------------------- */

/* Keep the first `count` frames for the jump back to their stack; the oldest of too many is dropped. */
static struct pesa_error *keep_stack(struct call_stack *stack, size_t count)
{
	struct other_stack *other = &stack->other[stack->next_other++ % CALL_STACK_OTHERS];
	struct call_frame *frames = malloc((count + 1) * sizeof(*frames));

	if (!frames)
		return pesa_error_no_memory();
	memcpy(frames, stack->frame, count * sizeof(*frames));
	free(other->frame);
	other->frame = frames;
	other->count = count;
	other->sp = stack->last_sp;
	return NULL;
}

/* The kept stack that was left where sp had this value; NULL: none. */
static struct other_stack *find_stack(struct call_stack *stack, uint64_t sp)
{
	for (unsigned int i = 0; i < CALL_STACK_OTHERS; i++)
		if (stack->other[i].frame && stack->other[i].sp == sp)
			return &stack->other[i];
	return NULL;
}

/* Replace the first `old` frames. */
static struct pesa_error *replace_frames(struct call_stack *stack, size_t old,
					 const struct call_frame *frames, size_t count)
{
	size_t newer = stack->count - old;

	while (stack->room < count + newer) {
		struct pesa_error *error = grow(stack);

		if (error)
			return error;
	}
	memmove(stack->frame + count, stack->frame + old, newer * sizeof(*frames));
	if (count)
		memcpy(stack->frame, frames, count * sizeof(*frames));
	stack->count = count + newer;
	return NULL;
}

/* Execution jumped from a stack with the first `old` frames to another one. */
static struct pesa_error *change_stack(struct call_stack *stack, size_t old, uint64_t sp)
{
	struct other_stack found = {0}, *other = find_stack(stack, sp);
	struct pesa_error *error = NULL;

	if (other) {
		found = *other;
		*other = (struct other_stack){0};
	}
	if (stack->last_known)
		error = keep_stack(stack, old);
	if (!error)
		error = replace_frames(stack, old, found.frame, found.count);
	if (!error && found.count) {
		/* It went on after the call that left that stack. */
		size_t newer = stack->count - found.count;
		size_t kept = count_kept(stack, found.count, sp);

		memmove(stack->frame + kept, stack->frame + found.count,
			newer * sizeof(*stack->frame));
		stack->count = kept + newer;
	}
	free(found.frame);
	return error;
}

/* Execution jumped to where sp has this value: drop the frames that it left, which are below those
 * pushed since. */
static struct pesa_error *leave_frames(struct call_stack *stack, uint64_t sp)
{
	size_t old, kept, newer;

	stack->left = false;
	if (stack->left_at > stack->count)
		stack->left_at = stack->count;
	old = stack->left_at;
	kept = leave_signals(stack, old, sp);
	if (kept < old) {
		stack->last_known = stack->frame[kept].saved_known;
		stack->last_sp = stack->frame[kept].saved_sp;
	}
	if (find_stack(stack, sp) || (stack->last_known && sp + SLACK < stack->last_sp) ||
	    (kept && stack->frame[0].sp_known && sp > stack->frame[0].sp))
		return change_stack(stack, old, sp);
	kept = count_kept(stack, kept, sp);
	newer = stack->count - old;
	memmove(&stack->frame[kept], &stack->frame[old], newer * sizeof(*stack->frame));
	stack->count = kept + newer;
	return NULL;
}

void call_stack_guess(struct call_stack *stack, uint64_t pc)
{
	uint64_t nearest = 0;
	size_t kept = stack->count;

	/* Frame i was called by the function that frame i - 1 called. */
	for (size_t i = stack->left_at; i-- > 1 && !stack->frame[i].signal;)
		if (stack->frame[i - 1].entry > nearest && stack->frame[i - 1].entry <= pc) {
			nearest = stack->frame[i - 1].entry;
			kept = i;
		}
	if (stack->left_at == stack->count)
		stack->count = stack->left_at = kept;
}

struct pesa_error *call_stack_learn(struct call_stack *stack, uint64_t sp)
{
	uint64_t written = sp - stack->sp; /* value of the write that made it unknown */

	if (stack->sp_known)
		return NULL;
	/* Those that were pushed since then are the newest. */
	for (size_t i = stack->count; i-- && stack->frame[i].epoch_open;) {
		struct call_frame *frame = &stack->frame[i];

		frame->sp += written;
		frame->sp_known = true;
		frame->epoch_open = false;
	}
	stack->sp = sp;
	stack->sp_known = true;
	return stack->left ? leave_frames(stack, written) : NULL;
}

static struct saved_sp *saved_at(const struct call_stack *stack, uint64_t address)
{
	return &stack->saved[(address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}
_Static_assert(CALL_STACK_SAVED == 1u << 10, "as many as the hash has bits");

/* sp is stored. */
static struct pesa_error *save_sp(struct call_stack *stack, uint64_t address)
{
	if (!stack->saved)
		stack->saved = calloc(CALL_STACK_SAVED, sizeof(*stack->saved));
	if (!stack->saved)
		return pesa_error_no_memory();
	*saved_at(stack, address) = (struct saved_sp){address, stack->sp_known ? stack->sp : 0};
	return NULL;
}

/* sp is loaded. */
static struct pesa_error *load_sp(struct call_stack *stack, uint64_t address)
{
	const struct saved_sp *saved = stack->saved ? saved_at(stack, address) : NULL;

	forget_sp(stack);
	if (saved && saved->address == address && saved->sp)
		return call_stack_learn(stack, saved->sp);
	return NULL;
}

static struct pesa_error *use_sp(struct call_stack *stack, const struct call_step *step)
{
	struct pesa_error *error = NULL;

	if (step->faulted)
		return NULL;
	switch (step->use & STACK_USE_MASK) {
	case STACK_USE_ACCESS:
		if (step->accessed)
			error = call_stack_learn(stack,
						 step->address - (uint64_t)(int64_t)step->offset);
		break;
	case STACK_USE_ADD:
		stack->sp += (uint64_t)(int64_t)step->offset;
		break;
	case STACK_USE_LOAD:
		error = load_sp(stack, step->address);
		break;
	case STACK_USE_SET:
		forget_sp(stack);
		break;
	}
	if (error || !step->accessed || !(step->use & STACK_USE_STORES))
		return error;
	if (step->use & STACK_USE_SAVES)
		return save_sp(stack, step->address);
	/* Whatever is stored there replaces it. */
	if (stack->saved && saved_at(stack, step->address)->address == step->address)
		saved_at(stack, step->address)->sp = 0;
	return NULL;
}

/* ---- Transfers ----------------------------------------------------------------------------- */

/* A jump through a register: if sp was written before, frames may have been left. */
static struct pesa_error *note_jump(struct call_stack *stack)
{
	if (!stack->moved)
		return NULL;
	stack->moved = false;
	stack->left = true;
	stack->left_at = stack->count;
	return stack->sp_known ? leave_frames(stack, stack->sp) : NULL;
}

static struct pesa_error *push_call(struct call_stack *stack, uint64_t return_address,
				    uint64_t entry)
{
	struct call_frame *frame = push(stack, return_address);

	if (!frame)
		return pesa_error_no_memory();
	frame->entry = entry;
	return NULL;
}

static struct pesa_error *push_signal(struct call_stack *stack, uint64_t interrupted)
{
	uint64_t saved_sp = stack->sp;
	bool saved_known = stack->sp_known;
	struct call_frame *frame;

	forget_sp(stack);
	stack->moved = false;
	frame = push(stack, interrupted);
	if (!frame)
		return pesa_error_no_memory();
	frame->return_address++;
	frame->signal = true;
	frame->saved_sp = saved_sp;
	frame->saved_known = saved_known;
	return NULL;
}

/* The handler of the newest signal is over.  Returns the address that it interrupted. */
static uint64_t pop_signal(struct call_stack *stack)
{
	size_t count = stack->count;

	while (count && !stack->frame[count - 1].signal)
		count--;
	if (!count)
		return 0;
	stack->count = count - 1;
	forget_sp(stack);
	stack->moved = stack->left = false;
	stack->sp = stack->frame[count - 1].saved_known ? stack->frame[count - 1].saved_sp : 0;
	stack->sp_known = stack->frame[count - 1].saved_known;
	return stack->frame[count - 1].return_address - 1;
}

/* Pop the frame that returns to `next`; what is above it was left without a return.  False: there is
 * none. */
static bool pop_to(struct call_stack *stack, uint64_t next)
{
	const struct call_frame *top = top_of(stack);

	if (top && !top->signal && top->return_address == next) {
		stack->count--;
		return true;
	}
	for (size_t i = stack->count; i--;) {
		const struct call_frame *frame = &stack->frame[i];

		if (frame->return_address == next && frame->sp_known && stack->sp_known &&
		    frame->sp == stack->sp && !frame->signal) {
			stack->count = i;
			return true;
		}
	}
	return false;
}

static struct pesa_error *do_return(struct call_stack *stack, const struct call_step *step)
{
	const struct call_frame *top = top_of(stack);

	if (pop_to(stack, step->next))
		return note_jump(stack);
	if (top && top->signal && !stack->moved)
		stack->trampoline = step->next;
	if (step->handler && top && !top->signal) {
		/* It returned, and was interrupted there. */
		uint64_t interrupted = top->return_address;

		stack->count--;
		return push_signal(stack, interrupted);
	}
	return note_jump(stack);
}

/* An ecall, or an instruction that faults. */
static struct pesa_error *do_trap(struct call_stack *stack, const struct call_step *step)
{
	uint64_t after = step->pc + step->length, interrupted;
	/* The trampoline is `li a7, NUMBER` and `ecall`. */
	bool returns = stack->trampoline && step->pc - stack->trampoline <= 8;

	if (step->next == after)
		return NULL;
	if (step->handler && !returns)
		return push_signal(stack, after);
	interrupted = pop_signal(stack);
	/* The next signal was waiting. */
	return step->handler ? push_signal(stack, interrupted) : NULL;
}

struct pesa_error *call_stack_step(struct call_stack *stack, const struct call_step *step)
{
	struct pesa_error *error = use_sp(stack, step);
	uint64_t after = step->pc + step->length;

	if (error)
		return error;
	if (step->faulted)
		return step->handler ? push_signal(stack, step->pc) : NULL;
	switch (step->flow) {
	case PESA_FLOW_CALL:
		error = push_call(stack, after, step->target);
		return error || step->next == step->target ? error
							   : push_signal(stack, step->target);
	case PESA_FLOW_INDIRECT_CALL:
		return push_call(stack, after, step->next);
	case PESA_FLOW_COROUTINE:
		pop_to(stack, step->next);
		return push_call(stack, after, step->next);
	case PESA_FLOW_RETURN:
		return do_return(stack, step);
	case PESA_FLOW_INDIRECT:
		if (step->handler)
			return push_signal(stack, step->pc);
		return note_jump(stack);
	case PESA_FLOW_TRAP:
		return do_trap(stack, step);
	case PESA_FLOW_NEXT:
		return step->next == after ? NULL : push_signal(stack, after);
	default: /* a branch or a jump */
		return step->next == after || step->next == step->target
			       ? NULL
			       : push_signal(stack, step->target);
	}
}
