/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicted cycle stacks: a listener that attributes every cycle of a run to instructions.
 *
 * Which instruction keeps the others from retiring follows from those in flight at the start of the
 * cycle, because the retire stage is executed first.  A cycle in which one enters the empty reorder
 * buffer is its own: the buffer is not empty then (as for the records of a core, see
 * decoder/core/retirement.h).
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/engine/commit.h"
#include "decoder/mca/model/block.h"
#include "decoder/mca/stack/times.h"
#include "decoder/mca/stack/cycle_stack.h"
#include "pesa/csr.h"
#include "pesa/record.h"

enum { CAUSE_NONE, CAUSE_MISSED, CAUSE_MISPREDICTED };

/* The sets of causes that the model distinguishes. */
static const uint16_t causes[] = {
	[CAUSE_NONE] = 0,
	[CAUSE_MISSED] = PESA_CAUSE_DCACHE_MISS,
	[CAUSE_MISPREDICTED] = PESA_CAUSE_BRANCH_MISPREDICT,
};
#define CAUSES	(sizeof(causes) / sizeof(causes[0]))
#define BUCKETS (PESA_STATE_COUNT * CAUSES)

/* Most instructions have one or two buckets of all. */
struct entry {
	uint64_t used; /* bit mask of the buckets with a weight; others have none yet */
	uint64_t executions;
	uint64_t weight[BUCKETS];
};

/* An event of an in-flight instruction. */
struct mark {
	unsigned int number, cause;
	bool executed;
};

struct marks {
	struct mark *mark;
	unsigned int count, size;
};

struct numbers {
	unsigned int *number;
	unsigned int count, size;
};

struct pesa_mca_cycle_stack {
	struct entry *entries; /* by index in the block */
	unsigned int count;
	bool out_of_order;
	struct mca_commit commit; /* width 0: instructions retire when they have in the run */
	const struct mca_lowered *committed; /* the block's, while it is run with a width */
	uint64_t cycles;
	unsigned int dispatched; /* number dispatched so far */
	unsigned int oldest;	 /* the oldest one not retired */
	struct numbers early;	 /* retired in the run, and not the oldest here */
	struct numbers now;	 /* retired in this cycle */
	struct marks marks;	 /* in flight */
	bool named;		 /* an instruction retired in this cycle has an event: */
	unsigned int named_number, named_cause;
	bool flushing, was_flushing; /* after a mispredict; at the start of the cycle */
	unsigned int flushed_by;     /* the branch, at the start of the cycle */
	unsigned int in_flight;	     /* number dispatched, at the start of the cycle */
	unsigned int branch;
	bool empty; /* no instruction was in flight at the start of the cycle */
	/* In order: an instruction waits to issue; it did so at the start of the cycle, or does. */
	bool waiting, held;
	struct mca_cycle_reader reader; /* given NULL: none */
};

static struct pesa_error *numbers_add(struct numbers *numbers, unsigned int number)
{
	if (numbers->count == numbers->size) {
		unsigned int size = numbers->size ? 2 * numbers->size : 64;
		unsigned int *larger = realloc(numbers->number, size * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		numbers->number = larger;
		numbers->size = size;
	}
	numbers->number[numbers->count++] = number;
	return NULL;
}

static bool numbers_remove(struct numbers *numbers, unsigned int number)
{
	for (unsigned int i = 0; i < numbers->count; i++)
		if (numbers->number[i] == number) {
			numbers->number[i] = numbers->number[--numbers->count];
			return true;
		}
	return false;
}

static struct pesa_error *marks_add(struct marks *marks, struct mark mark)
{
	if (marks->count == marks->size) {
		unsigned int size = marks->size ? 2 * marks->size : 64;
		struct mark *larger = realloc(marks->mark, size * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		marks->mark = larger;
		marks->size = size;
	}
	marks->mark[marks->count++] = mark;
	return NULL;
}

static struct mark *marks_find(const struct marks *marks, unsigned int number)
{
	for (unsigned int i = 0; i < marks->count; i++)
		if (marks->mark[i].number == number)
			return &marks->mark[i];
	return NULL;
}

static struct entry *entry_of(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	return &stack->entries[number < stack->count ? number : number % stack->count];
}

static void give(struct pesa_mca_cycle_stack *stack, unsigned int number, unsigned int state,
		 unsigned int cause, uint64_t weight)
{
	struct entry *entry = entry_of(stack, number);
	unsigned int bucket = state * CAUSES + cause;
	uint64_t bit = UINT64_C(1) << bucket;

	entry->weight[bucket] = weight + (entry->used & bit ? entry->weight[bucket] : 0);
	entry->used |= bit;
	if (stack->reader.given)
		stack->reader.given(stack->reader.data, number, state, causes[cause], weight);
}

static struct pesa_error *retire(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	struct mark *mark = marks_find(&stack->marks, number);

	if (mark && (!stack->named || number < stack->named_number)) {
		stack->named = true;
		stack->named_number = number;
		stack->named_cause = mark->cause;
	}
	if (mark)
		*mark = stack->marks.mark[--stack->marks.count];
	entry_of(stack, number)->executions++;
	return numbers_add(&stack->now, number);
}

struct pesa_error *mca_cycle_stack_retired(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	struct pesa_error *error;

	if (stack->commit.width)
		return numbers_add(&stack->early, number);
	error = retire(stack, number);
	if (error)
		return error;
	if (number != stack->oldest)
		return numbers_add(&stack->early, number);
	do
		stack->oldest++;
	while (stack->early.count && numbers_remove(&stack->early, stack->oldest));
	return NULL;
}

/* The oldest ones retire that have in the run, as many as do in a cycle. */
static struct pesa_error *commit(struct pesa_mca_cycle_stack *stack)
{
	struct pesa_error *error = NULL;

	stack->commit.count = stack->commit.branches = 0;
	while (stack->commit.width && !error) {
		bool taken = stack->committed[stack->oldest % stack->count].taken;

		if (mca_commit_is_full(&stack->commit, taken) ||
		    !numbers_remove(&stack->early, stack->oldest))
			break;
		mca_commit_take(&stack->commit, taken);
		error = retire(stack, stack->oldest++);
	}
	return error;
}

/* What a cycle is in which none retires: *number is whose it is. */
static unsigned int state_without_retirement(const struct pesa_mca_cycle_stack *stack,
					     unsigned int *number)
{
	*number = stack->oldest;
	if (stack->out_of_order && stack->oldest < stack->dispatched)
		return PESA_STATE_STALLED;
	if (stack->empty && stack->was_flushing) {
		*number = stack->flushed_by;
		return PESA_STATE_FLUSHED;
	}
	return stack->empty && !stack->held ? PESA_STATE_DRAINED : PESA_STATE_STALLED;
}

static void give_cycles(struct pesa_mca_cycle_stack *stack, const struct mark *mark,
			uint64_t cycles)
{
	static const unsigned int cause[PESA_STATE_COUNT] = {
		[PESA_STATE_FLUSHED] = CAUSE_MISPREDICTED,
	};
	unsigned int number, state = state_without_retirement(stack, &number);
	bool marked = mark && state == PESA_STATE_STALLED;

	give(stack, number, state, marked ? mark->cause : cause[state], cycles * PESA_CYCLE);
}

/* Give a cycle in which instructions retire to these. */
static void give_retiring_now(struct pesa_mca_cycle_stack *stack, const struct mark *mark)
{
	unsigned int count = stack->now.count;
	/* A sample identifies one instruction: the one that keeps the next from retiring, if
	 * any. */
	bool blocked = mark && !mark->executed && stack->oldest < stack->in_flight;

	/* The remainder of the division goes to the first ones, so that the sum is the cycle. */
	for (unsigned int i = 0; i < count; i++) {
		bool named =
			stack->named && !blocked && stack->now.number[i] == stack->named_number;

		give(stack, stack->now.number[i], PESA_STATE_RETIRING,
		     named ? stack->named_cause : CAUSE_NONE,
		     PESA_CYCLE / count + (i < PESA_CYCLE % count));
	}
}

void mca_cycle_stack_begin(struct pesa_mca_cycle_stack *stack)
{
	stack->empty = stack->oldest == stack->dispatched;
	/* One that waited does so until it issues, also in the cycle in which it does. */
	stack->held = stack->waiting;
	stack->named = false;
	stack->was_flushing = stack->flushing && stack->oldest > stack->branch;
	stack->flushed_by = stack->branch;
	stack->in_flight = stack->dispatched;
	stack->now.count = 0;
}

struct pesa_error *mca_cycle_stack_end(struct pesa_mca_cycle_stack *stack, uint64_t more)
{
	uint64_t left = 1 + more;

	stack->cycles += left;
	for (; left; left--) {
		struct pesa_error *error = commit(stack);
		const struct mark *mark = marks_find(&stack->marks, stack->oldest);

		if (error)
			return error;
		if (!stack->now.count) {
			give_cycles(stack, mark, left);
			return NULL;
		}
		give_retiring_now(stack, mark);
		/* The next cycle, if nothing happens in it. */
		mca_cycle_stack_begin(stack);
	}
	return NULL;
}

void mca_cycle_stack_commit(struct pesa_mca_cycle_stack *stack, const struct pesa_mca_block *block,
			    const struct pesa_mca_run_options *options)
{
	stack->commit = (struct mca_commit){
		.width = stack->out_of_order ? 0 : options->commit_width,
		.most = options->retired_branches,
	};
	stack->committed = block->lowered;
}

struct pesa_error *mca_cycle_stack_finish(struct pesa_mca_cycle_stack *stack)
{
	struct pesa_error *error = NULL;

	while (stack->commit.width && stack->early.count && !error) {
		mca_cycle_stack_begin(stack);
		error = mca_cycle_stack_end(stack, 0);
	}
	return error;
}

struct pesa_error *mca_cycle_stack_missed(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	return marks_add(&stack->marks, (struct mark){.number = number, .cause = CAUSE_MISSED});
}

struct pesa_error *mca_cycle_stack_mispredicted(struct pesa_mca_cycle_stack *stack,
						unsigned int number)
{
	stack->flushing = true;
	stack->branch = number;
	return marks_add(&stack->marks,
			 (struct mark){.number = number, .cause = CAUSE_MISPREDICTED});
}

void mca_cycle_stack_dispatched(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	if (number >= stack->dispatched)
		stack->dispatched = number + 1;
	stack->waiting = false;
	if (number > stack->branch)
		stack->flushing = false;
}

void mca_cycle_stack_stalled(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	stack->held = stack->waiting = true;
	/* It has arrived, so a flush is over. */
	if (number > stack->branch)
		stack->flushing = false;
}

void mca_cycle_stack_executed(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	struct mark *mark = marks_find(&stack->marks, number);

	if (mark)
		mark->executed = true;
}

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct pesa_mca_cycle_stack *stack = data;

	switch (event->kind) {
	case PESA_MCA_CYCLE_BEGIN:
		mca_cycle_stack_begin(stack);
		break;
	case PESA_MCA_DISPATCHED:
		mca_cycle_stack_dispatched(stack, event->instruction);
		break;
	case PESA_MCA_STALLED:
		mca_cycle_stack_stalled(stack, event->instruction);
		break;
	case PESA_MCA_MISSED:
		return mca_cycle_stack_missed(stack, event->instruction);
	case PESA_MCA_MISPREDICTED:
		return mca_cycle_stack_mispredicted(stack, event->instruction);
	case PESA_MCA_EXECUTED:
		mca_cycle_stack_executed(stack, event->instruction);
		break;
	case PESA_MCA_RETIRED:
		return mca_cycle_stack_retired(stack, event->instruction);
	case PESA_MCA_CYCLE_END:
		return mca_cycle_stack_end(stack, 0);
	default:
		break;
	}
	return NULL;
}

struct pesa_error *pesa_mca_cycle_stack_create(const struct pesa_mca_block *block,
					       struct pesa_mca_cycle_stack **result)
{
	struct pesa_mca_cycle_stack *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return pesa_error_no_memory();
	stack->count = pesa_mca_block_count(block);
	stack->out_of_order = pesa_mca_model_is_out_of_order(pesa_mca_block_model(block));
	stack->entries = malloc((stack->count + 1) * sizeof(*stack->entries));
	if (!stack->entries) {
		free(stack);
		return pesa_error_no_memory();
	}
	for (unsigned int i = 0; i < stack->count; i++)
		stack->entries[i].used = stack->entries[i].executions = 0;
	*result = stack;
	return NULL;
}

void pesa_mca_cycle_stack_free(struct pesa_mca_cycle_stack *stack)
{
	if (!stack)
		return;
	free(stack->entries);
	free(stack->early.number);
	free(stack->now.number);
	free(stack->marks.mark);
	free(stack);
}

struct pesa_mca_listener pesa_mca_cycle_stack_listener(struct pesa_mca_cycle_stack *stack)
{
	return (struct pesa_mca_listener){
		.event = on_event,
		.data = stack,
		/* Out of order, an instruction is not in the pipeline before dispatch. */
		.kinds = 1u << PESA_MCA_CYCLE_BEGIN | 1u << PESA_MCA_CYCLE_END |
			 1u << PESA_MCA_DISPATCHED |
			 (stack->out_of_order ? 0 : 1u << PESA_MCA_STALLED) |
			 1u << PESA_MCA_RETIRED | 1u << PESA_MCA_EXECUTED | 1u << PESA_MCA_MISSED |
			 1u << PESA_MCA_MISPREDICTED,
	};
}

/* ---- From the times of a run ------------------------------------------------------------------- */

/* What on_event() makes of the events of a run, for all cycles with the same instructions in flight
 * at once. */
struct from_times {
	struct pesa_mca_cycle_stack *stack;
	const struct pesa_mca_block *block;
	const struct mca_times *times;
	unsigned int oldest; /* number of the first that has not retired */
	uint64_t now;
};

static unsigned int cause_of(const struct from_times *from, unsigned int number)
{
	const struct mca_lowered *lowered = &from->block->lowered[number];

	if (!from->times->has_events)
		return CAUSE_NONE;
	if (lowered->late)
		return CAUSE_MISSED;
	return lowered->mispredicted ? CAUSE_MISPREDICTED : CAUSE_NONE;
}

/* The oldest instruction has an event and is not done: see mca_cycle_stack_end(). */
static bool is_blocked(const struct from_times *from)
{
	unsigned int oldest = from->oldest;

	return oldest < from->block->count && cause_of(from, oldest) &&
	       from->times->dispatched[oldest] < from->now &&
	       from->times->executed[oldest] > from->now;
}

static void give_retiring(struct from_times *from)
{
	unsigned int first = from->oldest, count, named;

	while (from->oldest < from->block->count && from->times->retired[from->oldest] == from->now)
		from->stack->entries[from->oldest++].executions++;
	count = from->oldest - first;
	for (named = 0; named < count && !cause_of(from, first + named);)
		named++;
	if (is_blocked(from))
		named = count;
	for (unsigned int i = 0; i < count; i++)
		give(from->stack, first + i, PESA_STATE_RETIRING,
		     i == named ? cause_of(from, first + i) : CAUSE_NONE,
		     PESA_CYCLE / count + (i < PESA_CYCLE % count));
}

/* From `now` on, none retires until `end`. */
static void give_waiting(struct from_times *from, uint64_t end)
{
	uint64_t dispatched = from->times->dispatched[from->oldest];
	const struct mca_lowered *oldest = &from->block->lowered[from->oldest];
	uint64_t empty = dispatched > from->now ? dispatched - from->now : 0;

	if (empty && from->times->has_events && from->oldest && oldest[-1].mispredicted)
		give(from->stack, from->oldest - 1, PESA_STATE_FLUSHED, CAUSE_MISPREDICTED,
		     empty * PESA_CYCLE);
	else if (empty)
		give(from->stack, from->oldest, PESA_STATE_DRAINED, CAUSE_NONE, empty * PESA_CYCLE);
	if (end - from->now > empty)
		give(from->stack, from->oldest, PESA_STATE_STALLED, cause_of(from, from->oldest),
		     (end - from->now - empty) * PESA_CYCLE);
	from->now = end;
}

void mca_cycle_stack_from_times(struct pesa_mca_cycle_stack *stack,
				const struct pesa_mca_block *block, const struct mca_times *times)
{
	struct from_times from = {.stack = stack, .block = block, .times = times};

	while (from.oldest < block->count) {
		if (times->retired[from.oldest] > from.now)
			give_waiting(&from, times->retired[from.oldest]);
		give_retiring(&from);
		from.now++;
	}
	stack->cycles = from.now;
}

void mca_cycle_stack_read(struct pesa_mca_cycle_stack *stack, const struct mca_cycle_reader *reader)
{
	stack->reader = *reader;
}

unsigned int mca_cycle_stack_oldest(const struct pesa_mca_cycle_stack *stack)
{
	return stack->oldest;
}

unsigned int mca_cycle_stack_next(const struct pesa_mca_cycle_stack *stack)
{
	return stack->dispatched;
}

uint64_t pesa_mca_cycle_stack_cycles(const struct pesa_mca_cycle_stack *stack)
{
	return stack->cycles;
}

uint64_t pesa_mca_cycle_stack_executions(const struct pesa_mca_cycle_stack *stack,
					 unsigned int index)
{
	return stack->entries[index].executions;
}

unsigned int pesa_mca_cycle_stack_buckets(const struct pesa_mca_cycle_stack *stack,
					  unsigned int index,
					  struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX])
{
	unsigned int count = 0;

	_Static_assert(BUCKETS <= PESA_MCA_BUCKETS_MAX, "room for all buckets");
	for (uint64_t left = stack->entries[index].used; left; left &= left - 1) {
		unsigned int bucket = (unsigned int)__builtin_ctzll(left);

		buckets[count++] = (struct pesa_mca_bucket){
			.state = bucket / CAUSES,
			.cause = causes[bucket % CAUSES],
			.weight = stack->entries[index].weight[bucket],
		};
	}
	return count;
}

struct mca_core_time mca_cycle_stack_core_time(const struct pesa_mca_cycle_stack *stack,
					       unsigned int index)
{
	const struct entry *entry = &stack->entries[index];
	struct mca_core_time time = {0};

	for (uint64_t left = entry->used; left; left &= left - 1) {
		unsigned int bucket = (unsigned int)__builtin_ctzll(left);
		float cycles = (float)((double)entry->weight[bucket] / PESA_CYCLE);

		if (bucket / CAUSES == PESA_STATE_RETIRING)
			time.retiring += cycles;
		else if (bucket / CAUSES == PESA_STATE_STALLED)
			*(bucket % CAUSES == CAUSE_NONE ? &time.stalled : &time.event) += cycles;
	}
	return time;
}
