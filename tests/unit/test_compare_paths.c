/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths along the measured control flow: in which order branches take their directions, and which
 * loads miss. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/compare/prepared.h"
#include "pesa/assemble.h"

#define NODES  8
#define LENGTH 240

/* A function of adjacent instructions; its last one jumps to its first. */
struct function {
	struct compare_node node[NODES];
	struct pesa_instruction measured[NODES];
	struct compare_code code;
};

static void make_function(const char *text, struct function *function)
{
	struct pesa_isa *isa;
	uint64_t address = 0x1000;
	uint32_t count = 0;

	*function = (struct function){0};
	assert_null(pesa_isa_create("rv64imafd", &isa));
	for (; *text; count++) {
		size_t length = strcspn(text, "\n");
		struct compare_node *node = &function->node[count];
		struct pesa_assembly assembly;

		assert_true(count < NODES);
		assert_true(pesa_assemble(isa, text, length, &assembly));
		*node = (struct compare_node){
			.address = address,
			.measured = &function->measured[count],
			.insn = assembly.insn[0],
			.flow = (uint8_t)pesa_insn_flow(&assembly.insn[0]),
			.decoded = true,
			.next = count + 1,
			.target = COMPARE_NONE,
			.executions = 1000,
			.kind = COMPARE_NO_KIND,
			.time = {.core = 1000},
		};
		address += node->insn.length;
		text += length + (text[length] == '\n');
	}
	pesa_isa_free(isa);
	function->node[count - 1].next = COMPARE_NONE;
	function->node[count - 1].target = 0;
	function->code = (struct compare_code){.node = function->node, .count = count};
}

static void set_branch(struct function *function, uint32_t at, uint32_t target, uint64_t taken,
		       uint64_t known)
{
	function->node[at].target = target;
	function->measured[at].transfers_taken = taken;
	function->measured[at].transfers_known = known;
}

static const struct compare_kinds no_kinds;

static struct compare_path_options options_of(enum compare_directions directions, unsigned int warm)
{
	return (struct compare_path_options){.paths = 20,
					     .length = LENGTH,
					     .warm = warm,
					     .directions = directions,
					     .kinds = &no_kinds};
}

static struct compare_paths make_warm_paths(struct function *function,
					    enum compare_directions directions, unsigned int warm)
{
	const struct compare_path_options options = options_of(directions, warm);
	struct compare_paths paths = {0};

	assert_null(compare_paths_make(&function->code, &options, &paths));
	free(function->code.set);
	function->code.set = NULL;
	assert_true(paths.count > 0);
	return paths;
}

static struct compare_paths make_paths(struct function *function,
				       enum compare_directions directions)
{
	return make_warm_paths(function, directions, 0);
}

/* ---- Directions ------------------------------------------------------------------------------ */

struct directions {
	unsigned int visits, taken, runs; /* runs: of equal directions */
	unsigned int least, most;	  /* in a run of taken ones that is whole */
};

/* How the branch at `at` went, on all paths. */
static struct directions directions_of(struct function *function, uint32_t at,
				       enum compare_directions order)
{
	struct compare_paths paths = make_paths(function, order);
	struct directions sum = {.least = UINT32_MAX};

	for (size_t i = 0; i < paths.count; i++) {
		const struct compare_path *path = &paths.path[i];
		unsigned int run = 0;
		bool whole = false, last = false;

		for (unsigned int j = 0; j < path->count; j++) {
			const struct compare_step *step = &paths.step[path->first + j];
			bool taken = step->flags & COMPARE_PATH_TAKEN;

			if (step->node != at)
				continue;
			sum.visits++;
			sum.taken += taken;
			sum.runs += taken != last;
			last = taken;
			if (taken) {
				run++;
				continue;
			}
			if (whole && run < sum.least)
				sum.least = run;
			if (whole && run > sum.most)
				sum.most = run;
			whole = true;
			run = 0;
		}
	}
	compare_paths_free(&paths);
	return sum;
}

static void branches_take_their_shares_in_each_order(void **state)
{
	struct function function;
	struct directions even, random, runs;

	(void)state;
	make_function("beq a0, a1, 8\naddi a2, a2, 1\nj .", &function);
	set_branch(&function, 0, 2, 5000, 10000);
	even = directions_of(&function, 0, COMPARE_EVENLY);
	random = directions_of(&function, 0, COMPARE_AT_RANDOM);
	runs = directions_of(&function, 0, COMPARE_IN_RUNS);
	assert_in_range(even.taken, even.visits / 2 - even.visits / 20,
			even.visits / 2 + even.visits / 20);
	assert_in_range(random.taken, random.visits / 3, random.visits * 2 / 3);
	assert_in_range(runs.taken, runs.visits / 3, runs.visits * 2 / 3);
	/* Equal paths are one, so the numbers of visits differ. */
	assert_true((double)even.runs / even.visits > (double)random.runs / random.visits);
	assert_true((double)random.runs / random.visits > 2.0 * runs.runs / runs.visits);
}

static void loops_have_a_constant_number_of_iterations_if_that_is_measured(void **state)
{
	struct function function;
	struct directions loop;

	(void)state;
	make_function("addi a2, a2, 1\nbne a0, a1, -4\nj .", &function);
	/* 4 iterations, within the uncertainty of many samples. */
	set_branch(&function, 1, 0, 30000, 40000);
	loop = directions_of(&function, 1, COMPARE_AT_RANDOM);
	assert_int_equal(loop.least, 3);
	assert_int_equal(loop.most, 3);
	/* 4.5 on average: they differ. */
	set_branch(&function, 1, 0, 35000, 45000);
	loop = directions_of(&function, 1, COMPARE_AT_RANDOM);
	assert_true(loop.least < 3);
	assert_true(loop.most > 5);
	/* 4, as far as few samples tell. */
	set_branch(&function, 1, 0, 30, 40);
	loop = directions_of(&function, 1, COMPARE_AT_RANDOM);
	assert_true(loop.most > 5);
}

static void indirect_transfers_go_to_their_targets_as_often_as_measured(void **state)
{
	struct pesa_edge edges[] = {{.target = 0x1004, .count = 900},
				    {.target = 0x1008, .count = 100}};

	(void)state;
	for (unsigned int order = 0; order < COMPARE_DIRECTIONS; order++) {
		struct function function;
		struct compare_paths paths;
		unsigned int often = 0, seldom = 0;

		make_function("jr a0\nj .\nj .", &function);
		function.node[1].next = COMPARE_NONE;
		function.node[1].target = 0;
		function.measured[0].edge = edges;
		function.measured[0].edges = 2;
		paths = make_paths(&function, order);
		for (size_t i = 0; i < paths.count; i++)
			for (unsigned int j = 1; j < paths.path[i].count; j++) {
				const struct compare_step *step =
					&paths.step[paths.path[i].first + j];

				often += step->node == 1;
				seldom += step->node == 2;
			}
		assert_true(often > 4 * seldom);
		assert_true(seldom > 0);
		compare_paths_free(&paths);
	}
}

/* The share of transfers to each of two targets that is mispredicted on the paths. */
static void mispredicted_by_target(const struct compare_paths *paths, double share[2])
{
	unsigned int all[2] = {0}, mispredicted[2] = {0};

	for (size_t i = 0; i < paths->count; i++)
		for (unsigned int j = 1; j < paths->path[i].count; j++) {
			const struct compare_step *step = &paths->step[paths->path[i].first + j];

			if (step->node == 0)
				continue;
			all[step->node - 1]++;
			mispredicted[step->node - 1] +=
				!!(step[-1].flags & COMPARE_PATH_MISPREDICTED);
		}
	for (unsigned int i = 0; i < 2; i++)
		share[i] = all[i] ? (double)mispredicted[i] / all[i] : -1;
}

static void an_indirect_transfer_is_mispredicted_to_its_seldom_target(void **state)
{
	static const struct {
		uint64_t samples[2];
		double share[2];
	} cases[] = {
		/* Nine tenths of 100 and a tenth of 900 transfers, each as if ten more had the mean. */
		{{90, 90}, {0.101, 0.835}},
		/* It is not known for which: as often for both. */
		{{0, 0}, {0.18, 0.18}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pesa_edge edges[] = {
			{.target = 0x1004, .count = 900, .mispredicted = cases[i].samples[0]},
			{.target = 0x1008, .count = 100, .mispredicted = cases[i].samples[1]}};
		struct function function;
		struct compare_paths paths;
		double share[2];

		make_function("jr a0\nj .\nj .", &function);
		function.node[1].next = COMPARE_NONE;
		function.node[1].target = 0;
		function.node[0].mispredicts[1] = 0.18;
		function.measured[0].executions = function.measured[0].retired_samples = 1000;
		function.measured[0].edge = edges;
		function.measured[0].edges = 2;
		paths = make_paths(&function, COMPARE_EVENLY);
		mispredicted_by_target(&paths, share);
		for (unsigned int k = 0; k < 2; k++)
			assert_true(fabs(share[k] - cases[i].share[k]) < 0.05);
		compare_paths_free(&paths);
	}
}

/* An inner loop of few iterations; the branch of the outer one retired in no sample. */
static void branches_without_samples_end_paths_in_their_counted_part_only(void **state)
{
	struct function function;
	struct compare_paths paths;
	unsigned int outer = 0, whole = 0;

	(void)state;
	make_function("addi a2, a2, 1\nbne a0, a1, -4\nbeq a3, a4, 8\nj -12\nj .", &function);
	set_branch(&function, 1, 0, 3000, 4000);
	set_branch(&function, 2, 4, 0, 0);
	function.node[3].target = 0;
	function.node[4].executions = 0;
	paths = make_warm_paths(&function, COMPARE_EVENLY, 100);
	for (size_t i = 0; i < paths.count; i++) {
		const struct compare_path *path = &paths.path[i];

		whole += path->count > path->warm;
		for (unsigned int j = 0; j < path->count; j++) {
			const struct compare_step *step = &paths.step[path->first + j];

			if (step->node != 2)
				continue;
			outer++;
			/* It goes where instructions are executed; counted, it is the end. */
			if (j < path->warm)
				assert_int_equal(step[1].node, 3);
			else
				assert_int_equal(j, path->count - 1);
		}
	}
	assert_true(whole > 0);
	assert_true(outer > 20);
	compare_paths_free(&paths);
}

/* ---- Misses ---------------------------------------------------------------------------------- */

static void a_load_from_a_line_that_has_been_missed_waits_for_it(void **state)
{
	struct function function;
	struct compare_paths paths;
	unsigned int same = 0;

	(void)state;
	make_function("ld a1, 0(a0)\nld a2, 8(a0)\nld a3, 256(a0)\nmul a0, a0, a4\nj .", &function);
	function.node[0].misses = 0.5;
	paths = make_paths(&function, COMPARE_EVENLY);
	for (unsigned int j = 1; j < paths.path[0].count; j++) {
		const struct compare_step *step = &paths.step[paths.path[0].first + j];
		bool missed = step->flags & COMPARE_PATH_MISSED;

		if (step->node == 1) {
			assert_int_equal(missed, (step[-1].flags & COMPARE_PATH_MISSED) != 0);
			assert_int_equal(step->missed_by, missed ? 1 : 0);
			same += missed;
		}
		if (step->node >= 2)
			assert_false(missed);
	}
	assert_true(same > 0);
	compare_paths_free(&paths);
}

/* ---- What predictions have in common --------------------------------------------------------- */

static struct pesa_digest chosen_for(const struct function *function,
				     enum compare_directions directions)
{
	const struct compare_path_options options = options_of(directions, 0);

	return compare_paths_digest(&function->code, &options);
}

/* The same choices have the same digest, and then the same paths, which need not be made again. */
static void what_is_chosen_for_paths_has_a_digest(void **state)
{
	struct function function;
	struct pesa_digest first, other;

	(void)state;
	make_function("beq a0, a1, 8\nld a2, 8(a0)\nadd a3, a3, a2\nj .", &function);
	set_branch(&function, 0, 2, 3000, 10000);
	first = chosen_for(&function, COMPARE_EVENLY);
	other = chosen_for(&function, COMPARE_IN_RUNS);
	assert_false(pesa_digest_equal(&first, &other));
	function.node[1].misses = 0.5;
	other = chosen_for(&function, COMPARE_EVENLY);
	assert_false(pesa_digest_equal(&first, &other));
	function.node[1].late = 40; /* of which the paths do not tell */
	first = chosen_for(&function, COMPARE_EVENLY);
	assert_true(pesa_digest_equal(&first, &other));
	function.node[1].misses = 0;
	function.node[1].waits = 1;
	function.node[1].waits_part = 0.5;
	first = chosen_for(&function, COMPARE_EVENLY);
	assert_false(pesa_digest_equal(&first, &other));
}

static void the_costs_of_a_path_are_those_of_its_steps_each_once(void **state)
{
	struct function function;
	struct compare_paths paths;
	struct compare_prepared *prepared;

	(void)state;
	make_function("beq a0, a1, 12\nld a2, 8(a0)\nld a3, 16(a0)\nadd a3, a3, a2\nj .",
		      &function);
	set_branch(&function, 0, 3, 5000, 10000);
	function.node[1].misses = 0.25;
	paths = make_paths(&function, COMPARE_AT_RANDOM);
	assert_true(paths.count > 1);
	prepared = compare_prepare(&paths, &function.code);
	assert_non_null(prepared);
	assert_int_equal(prepared->costs, 4);
	for (size_t i = 0; i < paths.count; i++) {
		const struct compare_path *path = &paths.path[i];
		const struct compare_prepared_path *one = &prepared->path[i];
		unsigned int missed = 0, found = 0;

		for (unsigned int j = 0; j < path->count; j++) {
			const struct compare_step *step = &paths.step[path->first + j];
			const struct compare_cost *cost =
				&prepared->cost[prepared->cost_of[path->first + j]];

			assert_int_equal(function.node[step->node].insn.opcode,
					 function.node[cost->node].insn.opcode);
			if (!(step->flags & COMPARE_PATH_MISSED))
				continue;
			assert_true(missed < one->missed);
			assert_int_equal(prepared->missed_in[one->first_missed + missed++], j);
		}
		assert_int_equal(missed, one->missed);
		for (unsigned int j = 0; j < one->costs; j++)
			found |= 1u << prepared->cost_in[one->first_cost + j];
		assert_int_equal(one->costs, __builtin_popcount(found));
		for (unsigned int j = 0; j < path->count; j++)
			assert_true(found >> prepared->cost_of[path->first + j] & 1);
		for (size_t j = 0; j < i; j++)
			assert_false(pesa_digest_equal(&one->steps, &prepared->path[j].steps));
	}
	compare_prepared_free(prepared);
	compare_paths_free(&paths);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

static void blocks_that_follow_each_other_nearly_always_are_one_trace(void **state)
{
	static const struct {
		uint64_t taken; /* of 10000 */
		bool joined;	/* with the block that the branch skips */
	} cases[] = {{5000, false}, {2500, false}, {1500, true}, {0, true}, {9900, false}};
	struct function function;

	(void)state;
	make_function("beq a0, a1, 8\naddi a2, a2, 1\nj .", &function);
	for (uint32_t i = 0; i < 3; i++)
		function.node[i].group = i;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct compare_paths paths;
		uint32_t trace[4];

		set_branch(&function, 0, 2, cases[i].taken, 10000);
		paths = make_paths(&function, COMPARE_EVENLY);
		assert_null(compare_paths_join(&paths, &function.code, 3, trace));
		/* The jump back always goes to the branch. */
		assert_int_equal(trace[0], trace[2]);
		assert_int_equal(trace[0] == trace[1], cases[i].joined);
		compare_paths_free(&paths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_take_their_shares_in_each_order),
		cmocka_unit_test(loops_have_a_constant_number_of_iterations_if_that_is_measured),
		cmocka_unit_test(indirect_transfers_go_to_their_targets_as_often_as_measured),
		cmocka_unit_test(an_indirect_transfer_is_mispredicted_to_its_seldom_target),
		cmocka_unit_test(branches_without_samples_end_paths_in_their_counted_part_only),
		cmocka_unit_test(a_load_from_a_line_that_has_been_missed_waits_for_it),
		cmocka_unit_test(what_is_chosen_for_paths_has_a_digest),
		cmocka_unit_test(the_costs_of_a_path_are_those_of_its_steps_each_once),
		cmocka_unit_test(blocks_that_follow_each_other_nearly_always_are_one_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
