// SPDX-License-Identifier: GPL-2.0-or-later
/* Cycle counts of control transfer records, and the blocks between them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "decoder/core/transfer_cycles.h"
#include "pesa/csr.h"
#include "pesa/timed_blocks.h"
#include "tests/unit/recorded_program.h"

#define PERIOD	  1000u
#define ELSEWHERE 0x900000u /* not mapped */
#define STACK_MAX 8u

/* ---- Encoding -------------------------------------------------------------------------------- */

/* The cycles of the 16 bits of CC, by the specification's formula, in its words. */
static uint64_t specified_cycles(uint64_t cc)
{
	uint64_t ccm = cc % 4096, cce = cc / 4096, power = 1;

	if (cce == 0)
		return ccm;
	for (uint64_t i = 1; i < cce; i++)
		power *= 2;
	return (4096 + ccm) * power;
}

static void every_count_decodes_by_the_formula_of_the_specification(void **state)
{
	(void)state;
	for (uint64_t cc = 0; cc < 65536; cc++) {
		uint64_t cycles = specified_cycles(cc), data = cc << 16 | PESA_CTR_DATA_CCV;
		uint64_t kept = cycles < 65535 ? cycles : 65535;

		assert_int_equal(pesa_ctr_data_cycles(data), cycles);
		assert_int_equal(pesa_ctr_data_cycles(data | PESA_CTR_RETURN), cycles);
		assert_int_equal(transfer_cycles_encode(cycles), data);
		assert_int_equal(transfer_cycles_flags((uint32_t)data), kept << 4);
		assert_int_equal(transfer_cycles_flags((uint32_t)cc << 16), 0);
	}
	assert_int_equal(specified_cycles(65535), PESA_CTR_CYCLES_MOST);
}

static void a_count_between_two_of_these_is_the_smaller_one(void **state)
{
	(void)state;
	for (uint64_t cc = 4096; cc < 65535; cc += 7) {
		uint64_t low = specified_cycles(cc), high = specified_cycles(cc + 1);

		assert_int_equal(transfer_cycles_encode(high - 1), transfer_cycles_encode(low));
		assert_true(transfer_cycles_encode(high) > transfer_cycles_encode(low));
	}
	assert_int_equal(transfer_cycles_encode(UINT64_MAX), 0xffff8000);
	assert_int_equal(transfer_cycles_encode(PESA_CTR_CYCLES_MOST), 0xffff8000);
}

/* perf's own structure is the independent witness of where the field is. */
static void the_field_is_that_of_perf(void **state)
{
	struct perf_branch_entry entry = {.cycles = 0xffff};
	uint64_t flags;

	(void)state;
	memcpy(&flags, (const uint8_t *)&entry + 16, sizeof(flags));
	assert_int_equal(flags, transfer_cycles_flags(transfer_cycles_encode(65536)));
	entry.cycles = 1;
	memcpy(&flags, (const uint8_t *)&entry + 16, sizeof(flags));
	assert_int_equal(flags, transfer_cycles_flags(transfer_cycles_encode(1)));
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

struct stack {
	struct {
		uint64_t from, to, cycles;
		bool mispredicted;
	} entry[STACK_MAX]; /* newest first */
	uint64_t period;
};

/* A transfer that the core predicted, and these cycles before it. */
#define BRANCH(from, to, cycles)        \
	{                               \
		from, to, cycles, false \
	}

static struct pesa_profile *profile;

/* Write a recording of plain samples with these stacks, and load their blocks. */
static struct pesa_timed_blocks *load(const struct stack *stacks, size_t count, uint64_t filter)
{
	static const uint16_t nops[512] = {[0 ... 511] = 1};
	struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = PERF_TYPE_HARDWARE,
			 .config = PERF_COUNT_HW_CPU_CYCLES,
			 .size = sizeof(struct perf_event_attr),
			 .sample_period = PERIOD,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_BRANCH_STACK,
			 .branch_sample_type = filter,
			 .sample_id_all = 1},
		.name = "cycles"};
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .arch = "riscv64", .cpus = 1};
	struct pesa_timed_blocks *blocks = pesa_timed_blocks_create();
	struct pesa_profile_options load_options;
	struct recorded_program recorded;

	recorded_program_begin(&recorded, &options, nops, sizeof(nops));
	for (size_t i = 0; i < count; i++) {
		struct pesa_branch_entry entries[STACK_MAX];
		struct pesa_sample sample = {.ip = TEXT,
					     .pid = 7,
					     .tid = 7,
					     .time = 2000 + i,
					     .period = stacks[i].period ? stacks[i].period : PERIOD,
					     .branches = (const uint8_t *)entries};

		while (sample.branch_count < STACK_MAX && stacks[i].entry[sample.branch_count].to) {
			size_t at = sample.branch_count++;

			entries[at] = (struct pesa_branch_entry){
				.from = stacks[i].entry[at].from,
				.to = stacks[i].entry[at].to,
				.flags =
					stacks[i].entry[at].cycles << 4 |
					(stacks[i].entry[at].mispredicted ? PESA_BRANCH_MISPREDICTED
									  : 2)};
		}
		assert_null(pesa_perfdata_write_sample(recorded.writer, &sample,
						       PERF_RECORD_MISC_USER));
	}
	assert_null(pesa_perfdata_writer_finish(recorded.writer));
	pesa_profile_options_default(&load_options);
	load_options.listener = pesa_timed_blocks_listener(blocks);
	assert_null(pesa_profile_load(recorded.path, &load_options, &profile));
	assert_int_equal(pesa_profile_totals(profile)->samples, count);
	assert_null(pesa_timed_blocks_finish(blocks, profile));
	recorded_program_remove(&recorded);
	return blocks;
}

static void forget(struct pesa_timed_blocks *blocks)
{
	pesa_timed_blocks_free(blocks);
	pesa_profile_free(profile);
}

#define ALL (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY)

/* What is in no block and what is in blocks: the periods of the samples with counts. */
static void check_conserved(const struct pesa_timed_blocks *blocks)
{
	const struct pesa_timed_totals *totals = pesa_timed_blocks_totals(blocks);
	double cycles = totals->broken;
	uint64_t seen = 0;

	for (size_t i = 0; i < pesa_timed_blocks_count(blocks); i++) {
		const struct pesa_timed_block *block = pesa_timed_blocks_at(blocks, i);
		double sum = 0, executions = 0;
		uint64_t times = 0;
		size_t count;
		const struct pesa_timed_count *counts =
			pesa_timed_blocks_distribution(blocks, i, &count);

		for (size_t k = 0; k < count; k++) {
			assert_true(!k || counts[k - 1].cycles < counts[k].cycles);
			sum += counts[k].cycles * counts[k].executions;
			executions += counts[k].executions;
			times += counts[k].seen;
		}
		assert_int_equal(times, block->seen);
		assert_true(fabs(sum - block->cycles) <= 1e-9 * totals->cycles);
		assert_true(fabs(executions - block->executions) <= 1e-9 * executions);
		cycles += block->cycles;
		seen += times;
	}
	assert_int_equal(seen, totals->seen);
	assert_true(fabs(cycles - totals->cycles) <= 1e-9 * totals->cycles);
}

static void a_sample_is_shared_among_the_blocks_of_its_stack(void **state)
{
	/* TEXT+8..+10 took 30 cycles, then TEXT+0..+6 10; the count of the oldest is of no block. */
	static const struct stack stacks[] = {
		{.entry = {{TEXT + 6, TEXT + 8, 10, true},
			   BRANCH(TEXT + 10, TEXT, 30),
			   BRANCH(TEXT + 6, TEXT + 8, 5000)}},
	};
	struct pesa_timed_blocks *blocks = load(stacks, 1, ALL);
	const struct pesa_timed_block *block;

	(void)state;
	assert_int_equal(pesa_timed_blocks_count(blocks), 2);
	block = pesa_timed_blocks_at(blocks, 0);
	assert_int_equal(block->start, TEXT);
	assert_int_equal(block->last, TEXT + 6);
	assert_true(fabs(block->cycles - PERIOD / 4.0) < 1e-6);
	assert_true(fabs(block->executions - PERIOD / 40.0) < 1e-6);
	assert_int_equal(block->mispredicted, 1);
	block = pesa_timed_blocks_at(blocks, 1);
	assert_int_equal(block->mispredicted, 0);
	assert_int_equal(block->start, TEXT + 8);
	assert_int_equal(block->last, TEXT + 10);
	assert_true(fabs(block->cycles - 3 * PERIOD / 4.0) < 1e-6);
	assert_int_equal(pesa_timed_blocks_quantile(blocks, 1, 0.5), 30);
	assert_int_equal(pesa_timed_blocks_from(blocks, block->dso, TEXT), 0);
	assert_int_equal(pesa_timed_blocks_from(blocks, block->dso, TEXT + 2), 1);
	assert_int_equal(pesa_timed_blocks_from(blocks, block->dso, TEXT + 9), 2);
	check_conserved(blocks);
	forget(blocks);
}

static void instructions_are_executed_with_their_blocks(void **state)
{
	/* TEXT+2..+6 25 times with 10 cycles, and TEXT..+4 25 times with 30: c.nop, of two bytes. */
	static const struct stack stacks[] = {
		{.entry = {BRANCH(TEXT + 6, TEXT, 10), BRANCH(TEXT + 4, TEXT + 2, 30),
			   BRANCH(TEXT + 6, TEXT, 0)}},
	};
	static const struct {
		uint64_t executions, cycles;
	} expected[] = {{25, 250}, {50, 333}, {50, 333}, {25, 83}};
	struct pesa_timed_blocks *blocks = load(stacks, 1, ALL);
	uint32_t dso = pesa_timed_blocks_at(blocks, 0)->dso;

	(void)state;
	assert_int_equal(pesa_timed_blocks_transfer_count(blocks), 2);
	assert_false(pesa_profile_totals(profile)->paths);
	assert_null(pesa_timed_blocks_apply(blocks, profile));
	assert_true(pesa_profile_totals(profile)->paths);
	assert_int_equal(pesa_profile_instruction_count(profile), 4);
	for (size_t i = 0; i < 4; i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(profile, i);

		assert_int_equal(one->address, TEXT + 2 * i);
		assert_ptr_equal(pesa_profile_find(profile, dso, one->address), one);
		assert_int_equal(one->executions, expected[i].executions);
		assert_int_equal(one->weight / PESA_CYCLE, expected[i].cycles);
		assert_int_equal(one->edges, 0); /* a c.nop goes nowhere, whatever a file says */
	}
	forget(blocks);
}

static void slow_and_fast_parts_weigh_what_their_samples_stand_for(void **state)
{
	/* The same block: 10 cycles in half of the time, and 40 in the other half. */
	static const struct stack stacks[] = {
		{.entry = {BRANCH(TEXT + 6, TEXT, 10), BRANCH(TEXT + 6, TEXT, 10),
			   BRANCH(TEXT + 6, TEXT, 10)}},
		{.entry = {BRANCH(TEXT + 6, TEXT, 40), BRANCH(TEXT + 6, TEXT, 40),
			   BRANCH(TEXT + 6, TEXT, 40)}},
	};
	struct pesa_timed_blocks *blocks = load(stacks, 2, ALL);
	const struct pesa_timed_block *block = pesa_timed_blocks_at(blocks, 0);

	(void)state;
	assert_int_equal(pesa_timed_blocks_count(blocks), 1);
	assert_int_equal(block->seen, 4);
	assert_true(fabs(block->cycles - 2.0 * PERIOD) < 1e-6);
	/* 100 executions of 10 cycles and 25 of 40 */
	assert_true(fabs(block->executions - 125) < 1e-6);
	assert_int_equal(pesa_timed_blocks_quantile(blocks, 0, 0.5), 10);
	assert_int_equal(pesa_timed_blocks_quantile(blocks, 0, 0.79), 10);
	assert_int_equal(pesa_timed_blocks_quantile(blocks, 0, 0.81), 40);
	check_conserved(blocks);
	forget(blocks);
}

static void a_0_is_no_cycles_where_others_are_counted(void **state)
{
	static const struct stack stacks[] = {
		{.entry = {BRANCH(TEXT + 6, TEXT, 0), BRANCH(TEXT + 6, TEXT, 8),
			   BRANCH(TEXT + 6, TEXT, 0)}},
		{.entry = {BRANCH(TEXT + 6, TEXT, 0), BRANCH(TEXT + 6, TEXT, 0),
			   BRANCH(TEXT + 6, TEXT, 0)}},
		{.entry = {BRANCH(TEXT + 6, TEXT, 9)}},
		{.entry = {{0}}},
	};
	struct pesa_timed_blocks *blocks = load(stacks, 4, ALL);
	size_t count;

	(void)state;
	assert_int_equal(pesa_timed_blocks_totals(blocks)->samples, 1);
	assert_int_equal(pesa_timed_blocks_totals(blocks)->untimed, 2);
	assert_int_equal(pesa_timed_blocks_count(blocks), 1);
	assert_int_equal(pesa_timed_blocks_at(blocks, 0)->seen, 2);
	assert_int_equal(pesa_timed_blocks_distribution(blocks, 0, &count)->cycles, 0);
	assert_int_equal(count, 2);
	check_conserved(blocks);
	forget(blocks);
}

static void what_is_no_straight_line_is_said_and_no_block(void **state)
{
	static const struct stack stacks[] = {
		/* backwards; to another binary; too long; and one block */
		{.entry = {BRANCH(TEXT + 6, TEXT + 8, 1), BRANCH(TEXT + 6, TEXT + 8, 0)}},
		{.entry = {BRANCH(ELSEWHERE, TEXT, 2), BRANCH(TEXT + 2, TEXT + 8, 0)}},
		{.entry = {BRANCH(ELSEWHERE + PESA_TIMED_BLOCK_MOST, TEXT, 3),
			   BRANCH(TEXT + 2, ELSEWHERE, 0)}},
		{.entry = {BRANCH(ELSEWHERE + PESA_TIMED_BLOCK_MOST - 2, TEXT,
				  PESA_BRANCH_CYCLES_MOST),
			   BRANCH(TEXT + 2, ELSEWHERE, 0)}},
	};
	struct pesa_timed_blocks *blocks = load(stacks, 4, ALL);

	(void)state;
	assert_int_equal(pesa_timed_blocks_totals(blocks)->samples, 4);
	assert_int_equal(pesa_timed_blocks_count(blocks), 1);
	assert_int_equal(pesa_timed_blocks_at(blocks, 0)->saturated, 1);
	assert_true(fabs(pesa_timed_blocks_totals(blocks)->broken - 3.0 * PERIOD) < 1e-6);
	check_conserved(blocks);
	forget(blocks);
}

static void stacks_of_some_transfers_are_no_paths(void **state)
{
	static const struct stack stacks[] = {
		{.entry = {BRANCH(TEXT + 6, TEXT, 10), BRANCH(TEXT + 6, TEXT, 10)}},
	};
	static const uint64_t filters[] = {
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_CALL,
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK,
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pesa_timed_blocks *blocks = load(stacks, 1, filters[i]);

		assert_int_equal(pesa_timed_blocks_totals(blocks)->samples, 0);
		assert_int_equal(pesa_timed_blocks_count(blocks), 0);
		forget(blocks);
	}
}

static void many_blocks_and_counts_are_conserved(void **state)
{
	enum { STACKS = 4000 };
	struct stack *stacks = calloc(STACKS, sizeof(*stacks));
	struct pesa_timed_blocks *blocks;
	uint64_t random = 1;

	(void)state;
	assert_non_null(stacks);
	for (size_t i = 0; i < STACKS; i++) {
		stacks[i].period = 1 + i;
		for (size_t k = 0; k < STACK_MAX; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			stacks[i].entry[k].from = TEXT + (random >> 33) % 512 * 2;
			stacks[i].entry[k].to = TEXT + (random >> 43) % 512 * 2;
			stacks[i].entry[k].cycles = (random >> 53) % 97;
		}
	}
	blocks = load(stacks, STACKS, ALL);
	assert_true(pesa_timed_blocks_count(blocks) > 1000);
	for (size_t i = 1; i < pesa_timed_blocks_count(blocks); i++) {
		const struct pesa_timed_block *a = pesa_timed_blocks_at(blocks, i - 1);
		const struct pesa_timed_block *b = pesa_timed_blocks_at(blocks, i);

		assert_true(a->start < b->start || (a->start == b->start && a->last < b->last));
	}
	check_conserved(blocks);
	forget(blocks);
	free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_count_decodes_by_the_formula_of_the_specification),
		cmocka_unit_test(a_count_between_two_of_these_is_the_smaller_one),
		cmocka_unit_test(the_field_is_that_of_perf),
		cmocka_unit_test(a_sample_is_shared_among_the_blocks_of_its_stack),
		cmocka_unit_test(instructions_are_executed_with_their_blocks),
		cmocka_unit_test(slow_and_fast_parts_weigh_what_their_samples_stand_for),
		cmocka_unit_test(a_0_is_no_cycles_where_others_are_counted),
		cmocka_unit_test(what_is_no_straight_line_is_said_and_no_block),
		cmocka_unit_test(stacks_of_some_transfers_are_no_paths),
		cmocka_unit_test(many_blocks_and_counts_are_conserved),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
