/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicted cycle stacks: a listener that gives every cycle of a run to instructions.
 *
 * What a cycle is follows from what is in flight when it begins, because the retire stage comes
 * first in it: an instruction that is dispatched in this cycle was not there to retire.
 */
#include <stdlib.h>
#include <string.h>

#include "pesa/csr.h"
#include "pesa/mca.h"
#include "pesa/record.h"

/* The sets of causes that the model can tell apart. */
static const uint16_t causes[] = {
	0,
	PESA_CAUSE_DCACHE_MISS,
	PESA_CAUSE_BRANCH_MISPREDICT,
};
#define CAUSES (sizeof(causes) / sizeof(causes[0]))

struct entry {
	uint64_t weight[PESA_STATE_COUNT][CAUSES];
	uint64_t executions;
};

struct numbers {
	unsigned int *number;
	unsigned int count, size;
};

struct pesa_mca_cycle_stack {
	struct entry *entries; /* by place in the block */
	unsigned int count;
	bool out_of_order, out_of_memory;
	uint64_t cycles;
	unsigned int dispatched; /* instructions so far */
	unsigned int oldest;	 /* not retired */
	struct numbers early;	 /* retired, younger than the oldest */
	struct numbers now;	 /* retired in this cycle */
	bool empty;		 /* nothing was in flight when the cycle began */
	bool held;		 /* an in-order processor could not issue in this cycle */
};

static bool numbers_add(struct numbers *numbers, unsigned int number)
{
	if (numbers->count == numbers->size) {
		unsigned int size = numbers->size ? 2 * numbers->size : 64;
		unsigned int *larger = realloc(numbers->number, size * sizeof(*larger));

		if (!larger)
			return false;
		numbers->number = larger;
		numbers->size = size;
	}
	numbers->number[numbers->count++] = number;
	return true;
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

static void give(struct pesa_mca_cycle_stack *stack, unsigned int number, unsigned int state,
		 unsigned int cause, uint64_t weight)
{
	stack->entries[number % stack->count].weight[state][cause] += weight;
}

static void retired(struct pesa_mca_cycle_stack *stack, unsigned int number)
{
	stack->entries[number % stack->count].executions++;
	if (!numbers_add(&stack->now, number))
		stack->out_of_memory = true;
	if (number != stack->oldest) {
		if (!numbers_add(&stack->early, number))
			stack->out_of_memory = true;
		return;
	}
	do
		stack->oldest++;
	while (stack->early.count && numbers_remove(&stack->early, stack->oldest));
}

static void cycle_end(struct pesa_mca_cycle_stack *stack)
{
	unsigned int count = stack->now.count;

	stack->cycles++;
	/* What does not divide evenly goes to the first ones, so that the sum is the cycle. */
	for (unsigned int i = 0; i < count; i++)
		give(stack, stack->now.number[i], PESA_STATE_RETIRING, 0,
		     PESA_CYCLE / count + (i < PESA_CYCLE % count));
	if (!count)
		give(stack, stack->oldest,
		     stack->empty && !stack->held ? PESA_STATE_DRAINED : PESA_STATE_STALLED, 0,
		     PESA_CYCLE);
}

static void on_event(void *data, const struct pesa_mca_event *event)
{
	struct pesa_mca_cycle_stack *stack = data;

	switch (event->kind) {
	case PESA_MCA_CYCLE_BEGIN:
		stack->empty = stack->oldest == stack->dispatched;
		stack->held = false;
		stack->now.count = 0;
		break;
	case PESA_MCA_DISPATCHED:
		if (event->instruction >= stack->dispatched)
			stack->dispatched = event->instruction + 1;
		break;
	case PESA_MCA_STALLED:
		/* Out of order, it is not in the pipeline before it is dispatched. */
		stack->held |= !stack->out_of_order;
		break;
	case PESA_MCA_RETIRED:
		retired(stack, event->instruction);
		break;
	case PESA_MCA_CYCLE_END:
		cycle_end(stack);
		break;
	default:
		break;
	}
}

struct pesa_error *pesa_mca_cycle_stack_create(const struct pesa_mca_block *block,
					       struct pesa_mca_cycle_stack **result)
{
	struct pesa_mca_cycle_stack *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return pesa_error_no_memory();
	stack->count = pesa_mca_block_count(block);
	stack->out_of_order = pesa_mca_model_is_out_of_order(pesa_mca_block_model(block));
	stack->entries = calloc(stack->count + 1, sizeof(*stack->entries));
	if (!stack->entries) {
		free(stack);
		return pesa_error_no_memory();
	}
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
	free(stack);
}

struct pesa_mca_listener pesa_mca_cycle_stack_listener(struct pesa_mca_cycle_stack *stack)
{
	return (struct pesa_mca_listener){
		.event = on_event,
		.data = stack,
		.kinds = 1u << PESA_MCA_CYCLE_BEGIN | 1u << PESA_MCA_CYCLE_END |
			 1u << PESA_MCA_DISPATCHED | 1u << PESA_MCA_STALLED |
			 1u << PESA_MCA_RETIRED,
	};
}

bool pesa_mca_cycle_stack_complete(const struct pesa_mca_cycle_stack *stack)
{
	return !stack->out_of_memory;
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

	_Static_assert(PESA_STATE_COUNT * CAUSES <= PESA_MCA_BUCKETS_MAX, "room for all buckets");
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		for (unsigned int cause = 0; cause < CAUSES; cause++) {
			uint64_t weight = stack->entries[index].weight[state][cause];

			if (weight)
				buckets[count++] = (struct pesa_mca_bucket){
					.state = state,
					.cause = causes[cause],
					.weight = weight,
				};
		}
	return count;
}
