// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks, executed on the model as they were recorded.
 *
 * Before a stack its first span has those that mostly lead to it, until there are as many instructions
 * as it takes to bring the processor into the state of the midst of the program.  Where a stack goes
 * through code that is not predicted (it cannot be read, or orders others), it is two runs: what is
 * behind begins on an empty machine, and counts once as many instructions have run.  Many samples of a
 * loop have the same stack: it is executed once.
 */
#include <stdlib.h>

#include "decoder/compare/memory.h"
#include "decoder/compare/timed/inside.h"

#define WARM_IN_ORDER	  64 /* instructions */
#define WARM_OUT_OF_ORDER 192
#define STEPS_MOST	  32768u   /* of one run */
#define RUN_MOST	  6000000u /* instructions of all runs, about */

/* Why an execution of a span has no prediction. */
enum reason { PREDICTED, NO_TEXT, ORDERING, UNSUPPORTED, MISPREDICTED, WARMING };

/* What is known of an item of a stack. */
struct outcome {
	enum reason reason;
	uint32_t begin, end; /* its steps in the run */
	float predicted;
};

struct runner {
	struct pesa_timed_compare *timed;
	struct compare_predictor predictor;
	const struct pesa_mca_model *model;
	unsigned int warm; /* instructions */
	struct compare_paths paths;
	struct compare_path path;
	struct pesa_mca_instruction *instruction; /* by step */
	uint64_t *retired;			  /* by step: cycle */
	struct compare_memory memory;
	uint8_t lmul, sew;
	struct outcome outcome[TIMED_ITEMS_MOST];
	/* of the listener */
	const struct pesa_mca_block *block;
	uint64_t now;
};

/* ---- Runs ------------------------------------------------------------------------------------ */

static void begin_run(struct runner *runner)
{
	runner->path.count = 0;
	runner->lmul = PESA_MCA_LMUL_NONE;
	runner->sew = 0;
	compare_memory_begin(&runner->memory);
}

static const struct timed_span *span_at(const struct runner *runner, uint32_t number)
{
	return &runner->timed->stacks.span[number];
}

/* Whether a span is not executed: the run ends at it. */
static bool is_cut(const struct timed_span *span)
{
	return !span->count || span->ordering || span->unsupported;
}

/* Add the steps of a span.  False: it has a vector instruction whose type is not known. */
static bool add_steps(struct runner *runner, const struct timed_span *span)
{
	uint32_t at = span->first;
	bool known = true;

	for (uint32_t i = 0; i < span->count; i++) {
		const struct compare_node *node = &runner->timed->code.node[at];
		struct compare_forward forward =
			compare_memory_step(&runner->memory, &node->insn, node->address);
		bool last = i + 1 == span->count;

		if (timed_is_vector(&node->insn) && runner->lmul == PESA_MCA_LMUL_NONE)
			known = false;
		runner->paths.step[runner->path.count++] = (struct compare_step){
			.node = at,
			.lmul = runner->lmul,
			.sew = runner->sew,
			.flags = (last && node->flow != PESA_FLOW_NEXT ? COMPARE_PATH_TAKEN : 0) |
				 (forward.partly ? COMPARE_PATH_PARTLY : 0),
			.forwarded = forward.distance <= UINT8_MAX ? (uint8_t)forward.distance : 0,
		};
		mca_vector_type(&node->insn, &runner->lmul, &runner->sew);
		at = node->next;
	}
	return known;
}

/* Add what mostly leads to a span. */
static void add_warm_up(struct runner *runner, uint32_t number)
{
	uint32_t chain[WARM_OUT_OF_ORDER], count = 0, steps = 0;

	while (steps < runner->warm && count < sizeof(chain) / sizeof(*chain)) {
		number = span_at(runner, number)->before;
		if (number == TIMED_NONE || is_cut(span_at(runner, number)))
			break;
		chain[count++] = number;
		steps += span_at(runner, number)->count;
	}
	while (count)
		add_steps(runner, span_at(runner, chain[--count]));
}

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct runner *runner = data;

	if (event->kind == PESA_MCA_CYCLE_BEGIN)
		runner->now++;
	else if (event->instruction < pesa_mca_block_count(runner->block))
		runner->retired[pesa_mca_block_source(runner->block, event->instruction)] =
			runner->now;
	return NULL;
}

/* The first step that the model does not have after all; the count of steps if there is none. */
static unsigned int first_missing(const struct runner *runner)
{
	unsigned int count = pesa_mca_block_count(runner->block);

	for (unsigned int i = 0; i < count; i++)
		if (pesa_mca_block_source(runner->block, i) != i)
			return i;
	return count;
}

/* The cycles of the items from `first` on, whose steps have been executed. */
static void take_cycles(struct runner *runner, uint32_t first, uint32_t end)
{
	unsigned int missing = first_missing(runner);
	uint64_t *retired = runner->retired;

	for (unsigned int i = 1; i < runner->path.count; i++)
		retired[i] = retired[i] > retired[i - 1] ? retired[i] : retired[i - 1];
	for (uint32_t i = first; i < end; i++) {
		struct outcome *outcome = &runner->outcome[i];

		if (outcome->end > missing)
			outcome->reason = UNSUPPORTED;
		if (outcome->reason == PREDICTED)
			outcome->predicted =
				(float)(retired[outcome->end - 1] - retired[outcome->begin - 1]);
	}
}

/* Execute the steps that were added, which have the items from `first` on. */
static struct pesa_error *end_run(struct runner *runner, uint32_t first, uint32_t end)
{
	const struct pesa_mca_listener listener = {
		.event = on_event,
		.data = runner,
		.kinds = 1u << PESA_MCA_CYCLE_BEGIN | 1u << PESA_MCA_RETIRED,
	};
	struct pesa_mca_block *block;
	struct pesa_error *error;

	if (first == end)
		return NULL;
	for (unsigned int i = 0; i < runner->path.count; i++) {
		runner->instruction[i] =
			compare_path_instruction(&runner->predictor, &runner->path, i);
		runner->retired[i] = 0;
	}
	error = compare_path_bind(&runner->predictor, runner->model, runner->instruction,
				  runner->path.count, &block);
	if (error)
		return error;
	runner->block = block;
	runner->now = 0;
	if (pesa_mca_block_count(block))
		error = compare_path_listen(&runner->predictor, block, &listener, 1);
	if (!error)
		take_cycles(runner, first, end);
	runner->timed->totals.instructions += pesa_mca_block_count(block);
	pesa_mca_block_free(block);
	return error;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static const struct timed_item *items_of(const struct runner *runner,
					 const struct timed_stack *stack)
{
	return &runner->timed->stacks.item[stack->first];
}

/* Add the steps of an item, and say whether it counts. */
static void add_item(struct runner *runner, const struct timed_item *item, struct outcome *outcome)
{
	outcome->begin = runner->path.count;
	outcome->reason = outcome->begin < runner->warm ? WARMING : PREDICTED;
	if (item->mispredicted && outcome->begin) {
		runner->paths.step[outcome->begin - 1].flags |= COMPARE_PATH_MISPREDICTED;
		outcome->reason = MISPREDICTED;
	}
	if (!add_steps(runner, span_at(runner, item->span)))
		outcome->reason = UNSUPPORTED;
	outcome->end = runner->path.count;
}

static enum reason reason_of_cut(const struct runner *runner, const struct timed_item *item)
{
	if (item->span == TIMED_NONE || !span_at(runner, item->span)->count)
		return NO_TEXT;
	return span_at(runner, item->span)->ordering ? ORDERING : UNSUPPORTED;
}

static struct pesa_error *run_stack(struct runner *runner, const struct timed_stack *stack)
{
	const struct timed_item *item = items_of(runner, stack);
	struct pesa_error *error = NULL;
	uint32_t first = 0;

	begin_run(runner);
	if (stack->count && item->span != TIMED_NONE && !is_cut(span_at(runner, item->span)))
		add_warm_up(runner, item->span);
	for (uint32_t i = 0; i < stack->count && !error; i++) {
		bool cut = item[i].span == TIMED_NONE || is_cut(span_at(runner, item[i].span));

		if (cut || runner->path.count + span_at(runner, item[i].span)->count > STEPS_MOST) {
			error = end_run(runner, first, i);
			begin_run(runner);
			first = i + cut;
		}
		if (cut)
			runner->outcome[i] =
				(struct outcome){.reason = reason_of_cut(runner, &item[i])};
		else
			add_item(runner, &item[i], &runner->outcome[i]);
	}
	return error ? error : end_run(runner, first, stack->count);
}

static struct pesa_error *add_execution(struct timed_results *results,
					const struct timed_execution *execution)
{
	if (results->executions == results->room) {
		size_t room = results->room ? 2 * results->room : 16384;
		void *grown = realloc(results->execution, room * sizeof(*results->execution));

		if (!grown)
			return pesa_error_no_memory();
		results->execution = grown;
		results->room = room;
	}
	results->execution[results->executions++] = *execution;
	return NULL;
}

static double *total_of(struct pesa_timed_compare_totals *totals, enum reason reason)
{
	switch (reason) {
	case NO_TEXT:
		return &totals->no_text;
	case ORDERING:
		return &totals->ordering;
	case UNSUPPORTED:
		return &totals->unsupported;
	case MISPREDICTED:
		return &totals->mispredicted;
	case WARMING:
		return &totals->warming;
	default:
		return &totals->compared;
	}
}

/* Whether an item of a stack is compared: it has a prediction, and its count is no lower limit. */
static bool is_compared(const struct runner *runner, const struct timed_stack *stack, uint32_t i)
{
	return i < stack->count && runner->outcome[i].reason == PREDICTED &&
	       items_of(runner, stack)[i].cycles != PESA_BRANCH_CYCLES_MOST;
}

/* Measured less predicted cycles of an item; 0 where it is not compared. */
static float difference_of(const struct runner *runner, const struct timed_stack *stack, uint32_t i)
{
	if (!is_compared(runner, stack, i))
		return 0;
	return items_of(runner, stack)[i].cycles - runner->outcome[i].predicted;
}

/* Add the pass through a loop that begins with an item, if there is one and all of it is compared. */
static struct pesa_error *add_pass(struct runner *runner, uint32_t number, uint32_t first)
{
	struct pesa_timed_compare *timed = runner->timed;
	const struct timed_stack *stack = &timed->stacks.stack[number];
	const struct timed_item *item = items_of(runner, stack);
	uint32_t end = timed_loops_pass(timed, item, stack->count, first);
	struct timed_execution pass = {
		.stack = number, .spans = end - first, .weight = stack->weight};
	struct timed_loop *loop;
	bool memory = false;

	for (uint32_t i = first; i < end; i++) {
		if (!is_compared(runner, stack, i))
			return NULL;
		pass.measured += item[i].cycles;
		pass.predicted += runner->outcome[i].predicted;
		memory |= span_at(runner, item[i].span)->memory;
	}
	if (!end)
		return NULL;
	pass.of = span_at(runner, item[first].span)->head;
	pass.around = pass.measured - pass.predicted;
	loop = &timed->loop[pass.of];
	loop->several |= pass.spans > 1;
	loop->memory |= memory;
	return add_execution(&timed->of_loops, &pass);
}

/* Add the executions of a stack whose outcomes are known. */
static struct pesa_error *take_stack(struct runner *runner, uint32_t number)
{
	struct pesa_timed_compare *timed = runner->timed;
	const struct timed_stack *stack = &timed->stacks.stack[number];
	const struct timed_item *item = items_of(runner, stack);
	struct pesa_error *error = NULL;

	timed->totals.samples++;
	for (uint32_t i = 0; i < stack->count && !error; i++) {
		const struct outcome *outcome = &runner->outcome[i];
		double cycles = item[i].cycles * stack->weight;
		bool compared = is_compared(runner, stack, i);

		timed->totals.cycles += cycles;
		*(outcome->reason == PREDICTED && !compared
			  ? &timed->totals.saturated
			  : total_of(&timed->totals, outcome->reason)) += cycles;
		if (!compared)
			continue;
		error = add_execution(&timed->of_blocks,
				      &(struct timed_execution){
					      .of = item[i].span,
					      .stack = number,
					      .spans = 1,
					      .measured = item[i].cycles,
					      .predicted = outcome->predicted,
					      .around = difference_of(runner, stack, i - 1) +
							difference_of(runner, stack, i) +
							difference_of(runner, stack, i + 1),
					      .weight = stack->weight,
				      });
		if (!error && i && timed_goes_back(timed, &item[i - 1], &item[i]))
			error = add_pass(runner, number, i);
	}
	return error;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* A stack, and where its items are. */
struct sequence {
	const struct timed_item *item;
	uint32_t count, number;
};

static int compare_items(const struct sequence *one, const struct sequence *other)
{
	if (one->count != other->count)
		return one->count < other->count ? -1 : 1;
	for (uint32_t i = 0; i < one->count; i++) {
		const struct timed_item *a = &one->item[i], *b = &other->item[i];

		if (a->span != b->span)
			return a->span < b->span ? -1 : 1;
		if (a->mispredicted != b->mispredicted)
			return a->mispredicted ? 1 : -1;
	}
	return 0;
}

static int by_items(const void *left, const void *right)
{
	const struct sequence *a = left, *b = right;
	int order = compare_items(a, b);

	return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* Every so many stacks, so that about RUN_MOST instructions are executed. */
static uint32_t stride_of(const struct runner *runner)
{
	const struct timed_stacks *stacks = &runner->timed->stacks;
	uint64_t steps = (uint64_t)stacks->count * runner->warm;

	for (size_t i = 0; i < stacks->items; i++)
		if (stacks->item[i].span != TIMED_NONE)
			steps += stacks->span[stacks->item[i].span].count;
	return (uint32_t)(1 + steps / RUN_MOST);
}

static struct pesa_error *run_all(struct runner *runner)
{
	const struct timed_stacks *stacks = &runner->timed->stacks;
	struct sequence *sequence = calloc(stacks->count + 1, sizeof(*sequence));
	uint32_t count = 0, stride = stride_of(runner);
	struct pesa_error *error = NULL;

	if (!sequence)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < stacks->count; i += stride)
		sequence[count++] = (struct sequence){items_of(runner, &stacks->stack[i]),
						      stacks->stack[i].count, i};
	if (count)
		qsort(sequence, count, sizeof(*sequence), by_items);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (!i || compare_items(&sequence[i - 1], &sequence[i]))
			error = run_stack(runner, &stacks->stack[sequence[i].number]);
		if (!error)
			error = take_stack(runner, sequence[i].number);
	}
	free(sequence);
	return error;
}

struct pesa_error *timed_run(struct pesa_timed_compare *timed, const struct pesa_mca_model *model,
			     const struct pesa_compare_options *options)
{
	struct runner *runner = calloc(1, sizeof(*runner));
	struct pesa_mca_model *own = NULL;
	struct pesa_error *error;

	if (!runner)
		return pesa_error_no_memory();
	runner->timed = timed;
	runner->warm = pesa_mca_model_is_out_of_order(model) ? WARM_OUT_OF_ORDER : WARM_IN_ORDER;
	runner->predictor = (struct compare_predictor){
		.code = &timed->code,
		.paths = &runner->paths,
		.processor = options->processor,
		.core = options->core,
	};
	runner->paths.step = calloc(STEPS_MOST, sizeof(*runner->paths.step));
	runner->instruction = calloc(STEPS_MOST, sizeof(*runner->instruction));
	runner->retired = calloc(STEPS_MOST, sizeof(*runner->retired));
	if (runner->paths.step && runner->instruction && runner->retired)
		error = compare_make_model(model, &runner->predictor, &own);
	else
		error = pesa_error_no_memory();
	runner->model = own;
	if (!error)
		error = run_all(runner);
	pesa_mca_model_free(own);
	free(runner->paths.step);
	free(runner->instruction);
	free(runner->retired);
	free(runner);
	return error;
}
