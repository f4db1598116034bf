/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa_mca_cycle_stack_run() attributes the cycles of a run as the listener does that is sent each of
 * its events, also where it takes the fast path.  MCA_STACK_BLOCKS: blocks per processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/engine/commit.h"
#include "decoder/mca/fast/fast.h"
#include "decoder/mca/stack/cycle_stack.h"
#include "pesa/csr.h"
#include "pesa/record.h"
#include "tests/unit/mca_blocks.h"

#define INSTRUCTIONS_MAX 120
#define BLOCKS		 60 /* per processor */

/* Zero in half of the cases. */
static unsigned int perhaps(uint32_t *seed, uint32_t count)
{
	return pick(seed, 2) ? pick(seed, count) : 0;
}

static void decode(const struct pesa_isa *isa, uint32_t bits, struct pesa_mca_instruction *result)
{
	assert_int_equal(pesa_insn_decode(isa, &bits, sizeof(bits), &result->insn), 4);
}

/* Branches, barriers, and loads that miss or read from an earlier store. */
static void make_instruction(const struct pesa_isa *isa, uint32_t *seed, unsigned int index,
			     struct pesa_mca_instruction *instruction)
{
	*instruction = (struct pesa_mca_instruction){.latency = -1};
	instruction->begins_block = !pick(seed, 4);
	if (!pick(seed, 6)) {
		decode(isa, 0x00b51063 /* bne a0, a1 */, instruction);
		instruction->taken = pick(seed, 2);
		instruction->mispredicted = !pick(seed, 3);
		return;
	}
	decode(isa, encode(seed), instruction);
	instruction->barrier = !pick(seed, 12);
	if (!(pesa_opcode_get(instruction->insn.opcode)->properties & PESA_OPCODE_LOAD))
		return;
	instruction->late = pick(seed, 4) ? 0 : 1 + pick(seed, 90);
	instruction->forwarded_by = pick(seed, 2) && index ? 1 + pick(seed, index) : 0;
	instruction->forwarded_partly = instruction->forwarded_by && !pick(seed, 3);
	instruction->after_store =
		instruction->forwarded_by && !instruction->forwarded_partly && !pick(seed, 3);
}

static struct pesa_mca_block *make_block(const struct pesa_mca_model *model,
					 const struct pesa_isa *isa, uint32_t *seed)
{
	const struct pesa_mca_block_options options = {
		.skip_unsupported = true,
		.own_operands = pick(seed, 2),
		.follow_calls = true,
		.forward_latency = perhaps(seed, 4),
		.drain_latency = perhaps(seed, 12),
		.load_latency = perhaps(seed, 6),
		.ordered_cycles = perhaps(seed, 5),
	};
	struct pesa_mca_instruction instructions[INSTRUCTIONS_MAX];
	unsigned int count = 1 + pick(seed, INSTRUCTIONS_MAX);
	struct pesa_mca_block *block;

	for (unsigned int i = 0; i < count; i++)
		make_instruction(isa, seed, i, &instructions[i]);
	assert_null(pesa_mca_block_create(model, instructions, count, &options, &block));
	return block;
}

static struct pesa_mca_run_options make_options(uint32_t *seed,
						const struct pesa_mca_stimuli *stimuli)
{
	bool free_order = pick(seed, 2);

	return (struct pesa_mca_run_options){
		.iterations = 1,
		.every_iteration = pick(seed, 2),
		.loads_alias_stores = !free_order && pick(seed, 2),
		.free_order = free_order,
		.dispatch_width = perhaps(seed, 6),
		.register_file_size = pick(seed, 3) ? 0 : 20 + pick(seed, 40),
		.commit_width = pick(seed, 2) ? 1 + pick(seed, 4) : 0,
		.retired_branches = perhaps(seed, 3),
		.integer_results = pick(seed, 3) ? 0 : 1 + pick(seed, 20),
		.float_results = pick(seed, 3) ? 0 : 1 + pick(seed, 20),
		.load_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_ports = pick(seed, 3) ? 1 + pick(seed, 2) : 0,
		.store_latency = pick(seed, 8),
		.stimuli = stimuli,
	};
}

static struct pesa_mca_stimuli make_stimuli(uint32_t *seed)
{
	return (struct pesa_mca_stimuli){
		.mispredict_penalty = pick(seed, 12),
		.fetch_width = perhaps(seed, 6),
		.taken_branches = perhaps(seed, 3),
		.fetch_buffer = perhaps(seed, 40),
	};
}

static void check_equal(const struct pesa_mca_cycle_stack *stack,
			const struct pesa_mca_cycle_stack *expected, unsigned int index)
{
	struct pesa_mca_bucket one[PESA_MCA_BUCKETS_MAX], other[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, one);

	assert_int_equal(pesa_mca_cycle_stack_executions(stack, index),
			 pesa_mca_cycle_stack_executions(expected, index));
	assert_int_equal(pesa_mca_cycle_stack_buckets(expected, index, other), count);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(one[i].state, other[i].state);
		assert_int_equal(one[i].cause, other[i].cause);
		assert_int_equal(one[i].weight, other[i].weight);
	}
}

struct counts {
	unsigned int fast, expected, ordered, flushed, missed;
};

static void count_events(const struct pesa_mca_cycle_stack *stack, unsigned int index,
			 struct counts *counts)
{
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, buckets);

	for (unsigned int i = 0; i < count; i++) {
		counts->flushed += buckets[i].state == PESA_STATE_FLUSHED;
		counts->missed += buckets[i].cause == PESA_CAUSE_DCACHE_MISS;
	}
}

static void compare(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	const struct pesa_mca_stimuli stimuli = make_stimuli(seed);
	const struct pesa_mca_run_options options =
		make_options(seed, pick(seed, 4) ? &stimuli : NULL);
	struct pesa_mca_cycle_stack *stack, *expected;
	struct pesa_mca_listener listener;
	struct counts *counts = data;
	uint64_t cycles, alone;

	assert_null(pesa_mca_cycle_stack_create(block, &stack));
	assert_null(pesa_mca_cycle_stack_create(block, &expected));
	listener = pesa_mca_cycle_stack_listener(expected);
	mca_cycle_stack_commit(expected, block, &options);
	assert_null(pesa_mca_run(block, &options, &listener, 1, &cycles));
	assert_null(mca_cycle_stack_finish(expected));
	assert_null(pesa_mca_run(block, &options, NULL, 0, &alone));
	assert_int_equal(alone, cycles);
	assert_null(pesa_mca_cycle_stack_run(block, &options, stack));
	assert_int_equal(pesa_mca_cycle_stack_cycles(stack), pesa_mca_cycle_stack_cycles(expected));
	/* Those that retire later than they have executed do so behind the run. */
	assert_true(pesa_mca_cycle_stack_cycles(stack) == cycles ||
		    (options.commit_width && pesa_mca_cycle_stack_cycles(stack) > cycles));
	for (unsigned int i = 0; i < pesa_mca_block_count(block); i++) {
		check_equal(stack, expected, i);
		count_events(stack, i, counts);
	}
	counts->expected += options.free_order ||
			    (pesa_mca_model_is_out_of_order(block->model) && !block->barriers);
	counts->ordered += options.free_order && block->barriers;
	counts->fast +=
		mca_fast_serves(block, &options) || mca_fast_serves_in_order(block, &options);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_cycle_stack_free(expected);
}

static void compare_all(uint32_t seed, bool changed)
{
	struct counts counts = {0};

	for_each_block(make_block, seed, changed, number_of_blocks("MCA_STACK_BLOCKS", BLOCKS),
		       compare, &counts);
	assert_int_equal(counts.fast, counts.expected);
	assert_true(counts.fast && counts.ordered && counts.flushed && counts.missed);
}

static void all_processors_have_the_same_stacks(void **state)
{
	(void)state;
	compare_all(13, false);
}

static void changed_models_have_the_same_stacks(void **state)
{
	(void)state;
	compare_all(17, true);
}

/* ---- Retirement in order --------------------------------------------------------------------- */

struct commits {
	unsigned int next, width, most, in_cycle;
	uint64_t weight; /* of the cycle so far */
	uint64_t sum;
};

/* One part of a cycle. */
static void given(void *data, unsigned int number, unsigned int state, uint16_t cause,
		  uint64_t weight)
{
	struct commits *commits = data;

	(void)cause;
	commits->sum += weight;
	if (state != PESA_STATE_RETIRING) {
		assert_int_equal(commits->weight, 0);
		return;
	}
	assert_int_equal(number, commits->next++);
	commits->weight += weight;
	if (++commits->in_cycle > commits->most)
		commits->most = commits->in_cycle;
	assert_in_range(commits->in_cycle, 1, commits->width);
	if (commits->weight == PESA_CYCLE)
		commits->weight = commits->in_cycle = 0;
}

/* An in-order processor retires in program order, and so many a cycle: no instruction is left out, and
 * no cycle. */
static void commit_in_order(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	struct pesa_mca_run_options options = make_options(seed, NULL);
	struct commits commits = {.width = 1 + pick(seed, 4)};
	const struct mca_cycle_reader reader = {.given = given, .data = &commits};
	struct pesa_mca_cycle_stack *stack;
	unsigned int *most = data;

	if (pesa_mca_model_is_out_of_order(pesa_mca_block_model(block)))
		return;
	options.commit_width = commits.width;
	assert_null(pesa_mca_cycle_stack_create(block, &stack));
	mca_cycle_stack_read(stack, &reader);
	assert_null(pesa_mca_cycle_stack_run(block, &options, stack));
	assert_int_equal(commits.next, pesa_mca_block_count(block));
	assert_int_equal(commits.weight, 0);
	assert_int_equal(commits.sum, pesa_mca_cycle_stack_cycles(stack) * PESA_CYCLE);
	*most = commits.most > *most ? commits.most : *most;
	pesa_mca_cycle_stack_free(stack);
}

static void what_has_executed_retires_in_order_and_so_many_a_cycle(void **state)
{
	unsigned int most = 0;

	(void)state;
	for_each_block(make_block, 19, false, number_of_blocks("MCA_STACK_BLOCKS", BLOCKS),
		       commit_in_order, &most);
	assert_int_equal(most, 4);
}

/* ---- Taken branches that retire ---------------------------------------------------------------- */

#define JUMPS 24u

/* Cycles of JUMPS jumps, on four units that all can use; by the stack, which has the fast path, and by a
 * run with a listener, which has not. */
static uint64_t cycles_of_jumps(const char *buffer, const struct pesa_mca_run_options *options)
{
	static const char format[] =
		"pesa-processor-model 1\nname Jumps\nprocessor jumps -\nissue-width 4\n"
		"load-latency 2\nmispredict-penalty 3\nmicro-op-buffer %s\nresource A units=4\n"
		"class jump uops=1 latency=1 uses=A\n\tJAL\nend\n";
	struct pesa_mca_instruction instructions[JUMPS];
	const struct pesa_mca_block_options block_options = {.follow_calls = true};
	struct pesa_mca_cycle_stack *stack, *other;
	struct pesa_mca_listener listener;
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	struct pesa_isa *isa;
	uint64_t cycles;
	char text[sizeof(format) + 8];

	snprintf(text, sizeof(text), format, buffer);
	assert_null(pesa_mca_model_parse("jumps", text, strlen(text), &model));
	assert_null(pesa_isa_create("rv64i", &isa));
	for (unsigned int i = 0; i < JUMPS; i++) {
		instructions[i] = (struct pesa_mca_instruction){.latency = -1};
		decode(isa, 0x0000006f /* j */, &instructions[i]);
	}
	assert_null(pesa_mca_block_create(model, instructions, JUMPS, &block_options, &block));
	assert_null(pesa_mca_cycle_stack_create(block, &stack));
	assert_null(pesa_mca_cycle_stack_run(block, options, stack));
	assert_null(pesa_mca_cycle_stack_create(block, &other));
	listener = pesa_mca_cycle_stack_listener(other);
	mca_cycle_stack_commit(other, block, options);
	assert_null(pesa_mca_run(block, options, &listener, 1, &cycles));
	assert_null(mca_cycle_stack_finish(other));
	cycles = pesa_mca_cycle_stack_cycles(stack);
	assert_int_equal(pesa_mca_cycle_stack_cycles(other), cycles);
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_cycle_stack_free(other);
	pesa_mca_block_free(block);
	pesa_isa_free(isa);
	pesa_mca_model_free(model);
	return cycles;
}

/* Four jumps issue in a cycle; where k of them retire in one, the last of JUMPS does (JUMPS + k - 1) / k cycles
 * after the first could have. */
static void so_many_taken_branches_retire_in_a_cycle(void **state)
{
	static const char *const buffers[] = {"0" /* in order */, "64"};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct pesa_mca_run_options options = {
			.iterations = 1, .free_order = true, .commit_width = 4};
		uint64_t all = cycles_of_jumps(buffers[i], &options);

		for (unsigned int k = 1; k <= 5; k++) {
			unsigned int most = k < 4 ? k : 4;

			options.retired_branches = k;
			assert_int_equal(cycles_of_jumps(buffers[i], &options),
					 all + (JUMPS + most - 1) / most - JUMPS / 4);
		}
	}
}

/* The same, known when they issue: every second instruction is a taken branch, one retires in a cycle, and an
 * instruction between two of them with the first. */
static void when_taken_branches_retire_is_known_when_they_issue(void **state)
{
	struct mca_commit commit = {.issue_width = 4, .width = 4, .most = 1};

	(void)state;
	for (unsigned int i = 0; i < 10; i++) {
		unsigned int before = i / 2, /* taken branches */
			behind = i % 2 || !before ? before : before - 1;

		assert_int_equal(mca_commit_next(&commit, 1, 5, 0, i % 2), 5 + behind);
	}
}

/* In the first cycle an operand that is early must not arrive before the run. */
static void an_early_operand_of_the_first_cycle_has_arrived(void **state)
{
	static const char text[] =
		"pesa-processor-model 1\nname Early\nprocessor early -\nissue-width 4\n"
		"load-latency 2\nmispredict-penalty 3\nmicro-op-buffer 8\nresource A units=4\n"
		"class nothing uops=1 latency=0\n\tADDI\n"
		"class integer uops=1 latency=1 uses=A advance=0:2 advance=1:2\n\tADD\nend\n";
	struct pesa_mca_instruction instructions[2] = {{.latency = -1}, {.latency = -1}};
	const struct pesa_mca_block_options options = {0};
	const struct pesa_mca_run_options once = {.iterations = 1};
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	struct pesa_isa *isa;
	uint64_t cycles;

	(void)state;
	assert_null(pesa_mca_model_parse("early", text, strlen(text), &model));
	assert_null(pesa_isa_create("rv64i", &isa));
	decode(isa, 0x00100513 /* addi a0, zero, 1 */, &instructions[0]);
	decode(isa, 0x00a505b3 /* add a1, a0, a0 */, &instructions[1]);
	assert_null(pesa_mca_block_create(model, instructions, 2, &options, &block));
	assert_null(pesa_mca_run(block, &once, NULL, 0, &cycles));
	assert_int_equal(cycles, 4);
	pesa_mca_block_free(block);
	pesa_isa_free(isa);
	pesa_mca_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_have_the_same_stacks),
		cmocka_unit_test(changed_models_have_the_same_stacks),
		cmocka_unit_test(what_has_executed_retires_in_order_and_so_many_a_cycle),
		cmocka_unit_test(so_many_taken_branches_retire_in_a_cycle),
		cmocka_unit_test(when_taken_branches_retire_is_known_when_they_issue),
		cmocka_unit_test(an_early_operand_of_the_first_cycle_has_arrived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
