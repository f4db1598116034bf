/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle stacks, given costs and changes of a model, through the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pesa/csr.h"
#include "pesa/mca.h"
#include "pesa/record.h"

#define ITERATIONS 50

static const char model_text[] = "pesa-processor-model 1\n"
				 "name Example\n"
				 "processor example rv64imafdc\n"
				 "issue-width 2\n"
				 "micro-op-buffer 16\n"
				 "resource ALU units=2\n"
				 "class add uops=1 latency=1 uses=ALU\n"
				 "\tADDI BEQ\n"
				 "class load uops=1 latency=4 uses=ALU\n"
				 "\tLD\n"
				 "end\n";

static struct pesa_mca_model *make_model(void)
{
	struct pesa_mca_model *model;

	assert_null(pesa_mca_model_parse("text", model_text, strlen(model_text), &model));
	return model;
}

static struct pesa_mca_block *make_late_block(const struct pesa_mca_model *model, uint32_t bits,
					      unsigned int late)
{
	const struct pesa_mca_block_options options = {0};
	struct pesa_mca_instruction instruction = {.latency = -1, .late = late};
	struct pesa_mca_block *block;
	struct pesa_isa *isa;

	assert_null(pesa_isa_create("rv64imafdc", &isa));
	assert_int_equal(pesa_insn_decode(isa, &bits, sizeof(bits), &instruction.insn), 4);
	pesa_isa_free(isa);
	assert_null(pesa_mca_block_create(model, &instruction, 1, &options, &block));
	return block;
}

static struct pesa_mca_block *make_block(const struct pesa_mca_model *model, uint32_t bits)
{
	return make_late_block(model, bits, 0);
}

static uint64_t run(const struct pesa_mca_block *block, const struct pesa_mca_stimuli *stimuli,
		    struct pesa_mca_cycle_stack **stack)
{
	const struct pesa_mca_run_options options = {.iterations = ITERATIONS, .stimuli = stimuli};
	struct pesa_mca_listener listener;
	uint64_t cycles;

	assert_null(pesa_mca_cycle_stack_create(block, stack));
	listener = pesa_mca_cycle_stack_listener(*stack);
	assert_null(pesa_mca_run(block, &options, &listener, 1, &cycles));
	assert_int_equal(pesa_mca_cycle_stack_cycles(*stack), cycles);
	return cycles;
}

/* ld a0, 0(a0): each waits for the one before. */
#define DEPENDENT_LOAD	0x00053503
#define INDEPENDENT_ADD 0x00158513 /* addi a0, a1, 1 */

static void dependent_loads_stall_for_their_latency(void **state)
{
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_block *block = make_block(model, DEPENDENT_LOAD);
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	struct pesa_mca_cycle_stack *stack;

	(void)state;
	assert_int_equal(run(block, NULL, &stack), 4 * ITERATIONS + 3);
	assert_int_equal(pesa_mca_cycle_stack_executions(stack, 0), ITERATIONS);
	/* The cycle in which the first one enters the empty reorder buffer is stalled, too. */
	assert_int_equal(pesa_mca_cycle_stack_buckets(stack, 0, buckets), 2);
	assert_int_equal(buckets[0].state, PESA_STATE_RETIRING);
	assert_int_equal(buckets[0].weight, (uint64_t)ITERATIONS * PESA_CYCLE);
	assert_int_equal(buckets[1].state, PESA_STATE_STALLED);
	assert_int_equal(buckets[1].weight, (uint64_t)(3 * ITERATIONS + 3) * PESA_CYCLE);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

/*
 * A mispredicted branch and a load of 4 cycles, whose address is known.  The branch is executed in
 * cycle 2 and retires in 3.  The load enters the reorder buffer in cycle 2 + penalty: the cycles
 * between are flushed, that one and the next five are stalled, and then the load retires.
 */
static void a_flush_ends_where_the_next_instruction_enters(void **state)
{
	static const uint32_t bits[] = {0x00058463 /* beq a1, zero, 8 */,
					0x0005b503 /* ld a0, 0(a1) */};
	const struct pesa_mca_stimuli stimuli = {.mispredict_penalty = 9};
	const struct pesa_mca_run_options options = {.iterations = 1, .stimuli = &stimuli};
	const struct pesa_mca_block_options block_options = {0};
	struct pesa_mca_instruction instructions[2] = {{.latency = -1, .mispredicted = true},
						       {.latency = -1}};
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_cycle_stack *stack;
	struct pesa_mca_listener listener;
	struct pesa_mca_block *block;
	struct pesa_isa *isa;
	uint64_t cycles;

	(void)state;
	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			pesa_insn_decode(isa, &bits[i], sizeof(bits[i]), &instructions[i].insn), 4);
	pesa_isa_free(isa);
	assert_null(pesa_mca_block_create(model, instructions, 2, &block_options, &block));
	assert_null(pesa_mca_cycle_stack_create(block, &stack));
	listener = pesa_mca_cycle_stack_listener(stack);
	assert_null(pesa_mca_run(block, &options, &listener, 1, &cycles));
	assert_int_equal(cycles, 2 + 9 + 6 + 1);
	assert_int_equal(pesa_mca_cycle_stack_buckets(stack, 0, buckets), 3);
	assert_int_equal(buckets[2].state, PESA_STATE_FLUSHED);
	assert_int_equal(buckets[2].weight, (uint64_t)(9 - 2) * PESA_CYCLE);
	assert_int_equal(pesa_mca_cycle_stack_buckets(stack, 1, buckets), 2);
	assert_int_equal(buckets[1].state, PESA_STATE_STALLED);
	assert_int_equal(buckets[1].weight, (uint64_t)6 * PESA_CYCLE);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

static void a_given_latency_replaces_the_model_s(void **state)
{
	const struct pesa_mca_load_latency latency = {.cycles = 11, .share = 1};
	const struct pesa_mca_stimuli stimuli = {.load_latency = &latency, .load_latencies = 1};
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_block *block = make_block(model, DEPENDENT_LOAD);
	struct pesa_mca_cycle_stack *stack;

	(void)state;
	assert_int_equal(run(block, &stimuli, &stack), 11 * ITERATIONS + 3);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

static void a_load_that_misses_is_late_and_says_so(void **state)
{
	const struct pesa_mca_stimuli stimuli = {.fetch_width = 2};
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_block *block = make_late_block(model, DEPENDENT_LOAD, 7);
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	struct pesa_mca_cycle_stack *stack;
	uint64_t stalled = 0;
	unsigned int count;

	(void)state;
	/* 4 cycles by the model, and 7; without stimuli nothing misses. */
	assert_int_equal(run(block, &stimuli, &stack), 11 * ITERATIONS + 3);
	count = pesa_mca_cycle_stack_buckets(stack, 0, buckets);
	for (unsigned int i = 0; i < count; i++)
		if (buckets[i].state == PESA_STATE_STALLED) {
			assert_int_equal(buckets[i].cause, PESA_CAUSE_DCACHE_MISS);
			stalled += buckets[i].weight;
		}
	assert_int_equal(stalled, (uint64_t)(10 * ITERATIONS + 3) * PESA_CYCLE);
	pesa_mca_cycle_stack_free(stack);
	assert_int_equal(run(block, NULL, &stack), 4 * ITERATIONS + 3);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

static void a_front_end_limits_what_is_independent(void **state)
{
	const struct pesa_mca_stimuli stimuli = {.fetch_width = 1};
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_block *block = make_block(model, INDEPENDENT_ADD);
	struct pesa_mca_cycle_stack *stack;

	(void)state;
	assert_int_equal(run(block, NULL, &stack), ITERATIONS / 2 + 3);
	pesa_mca_cycle_stack_free(stack);
	assert_int_equal(run(block, &stimuli, &stack), ITERATIONS + 3);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

static void a_change_holds_for_the_class(void **state)
{
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_cycle_stack *stack;
	struct pesa_mca_block *block;
	unsigned int classes;

	(void)state;
	assert_null(pesa_mca_model_change(model, "ld.latency=6", &classes));
	assert_int_equal(classes, 1);
	block = make_block(model, DEPENDENT_LOAD);
	assert_int_equal(run(block, NULL, &stack), 6 * ITERATIONS + 3);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

static void what_contradicts_itself_is_an_error(void **state)
{
	static const struct pesa_mca_load_latency half = {.cycles = 1, .share = 0.5};
	static const struct pesa_mca_load_latency none = {.cycles = 0, .share = 1};
	static const struct pesa_mca_stimuli wrong[] = {
		{.mispredict_rate = 1.5},
		{.mispredict_rate = -1},
		{.mispredict_rate = 1, .mispredict_penalty = PESA_MCA_LATENCY_MAX + 1},
		{.load_latency = &half, .load_latencies = 1},
		{.load_latency = &none, .load_latencies = 1},
	};
	static const char *const changes[] = {"",	    ".=",	   "ld",
					      "ld.latency", "ld.latency=", "=1",
					      "ld.=1",	    ".latency=1",  "ld.latency=1x",
					      "x.latency=1"};
	struct pesa_mca_model *model = make_model();
	struct pesa_mca_block *block = make_block(model, DEPENDENT_LOAD);
	uint64_t cycles;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct pesa_mca_run_options options = {.iterations = 1, .stimuli = &wrong[i]};
		struct pesa_error *error = pesa_mca_run(block, &options, NULL, 0, &cycles);

		assert_non_null(error);
		pesa_error_free(error);
	}
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct pesa_error *error = pesa_mca_model_change(model, changes[i], NULL);

		assert_non_null(error);
		pesa_error_free(error);
	}
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dependent_loads_stall_for_their_latency),
		cmocka_unit_test(a_flush_ends_where_the_next_instruction_enters),
		cmocka_unit_test(a_given_latency_replaces_the_model_s),
		cmocka_unit_test(a_load_that_misses_is_late_and_says_so),
		cmocka_unit_test(a_front_end_limits_what_is_independent),
		cmocka_unit_test(a_change_holds_for_the_class),
		cmocka_unit_test(what_contradicts_itself_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
