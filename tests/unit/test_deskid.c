/* SPDX-License-Identifier: GPL-2.0-or-later */
/* De-skid: cycles and skids that are known are found again, from samples made of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decoder/deskid/inside.h"

/*
 * Two loops of four instructions, A and B, the second instruction of each of which stalls.  The path
 * goes through A for a while and then through B, and each simulated cycle is given to one instruction.
 */
#define BLOCK	   4u
#define NODES	   (2 * BLOCK)
#define ROUNDS	   100u /* of each loop */
#define STALL	   20u	/* cycles */
#define CYCLES_MAX (2 * ROUNDS * (STALL + BLOCK))
#define STALLING   1u /* which instruction of a loop */

static struct pesa_deskid deskid;
static struct flow_graph graph;

static void *array(size_t count, size_t size)
{
	void *made = calloc(count, size);

	assert_non_null(made);
	return made;
}

static void make_graph(void)
{
	graph.instructions = NODES;
	graph.blocks = 2;
	graph.instruction = array(NODES, sizeof(*graph.instruction));
	graph.block = array(2, sizeof(*graph.block));
	graph.measured = array(2, sizeof(*graph.measured));
	for (uint32_t i = 0; i < 2; i++) {
		graph.measured[i].first = BLOCK * i;
		graph.block[i].instructions = BLOCK;
		graph.block[i].executions = 1000;
	}
}

/* The path, as if it had been run: one cycle for each instruction, STALL more for one of each round. */
static void make_paths(void)
{
	struct deskid_paths *paths = &deskid.paths;
	uint32_t step = 0;

	paths->node = array(2 * ROUNDS * BLOCK, sizeof(*paths->node));
	paths->cycle = array(CYCLES_MAX + 1, sizeof(*paths->cycle));
	paths->blame = array(CYCLES_MAX, sizeof(*paths->blame));
	paths->piece = array(2, sizeof(*paths->piece));
	for (uint32_t loop = 0; loop < 2; loop++)
		for (uint32_t i = 0; i < ROUNDS * BLOCK; i++, step++) {
			uint32_t node = BLOCK * loop + i % BLOCK;
			uint32_t cycles = node % BLOCK == STALLING ? 1 + STALL : 1;

			paths->node[step] = node;
			paths->occurrences[node]++;
			paths->weight[deskid_source(node, DESKID_CORE)] += cycles;
			for (uint32_t k = 0; k < cycles; k++) {
				paths->blame[paths->blames] = (struct deskid_blame){
					.source = deskid_source(node, DESKID_CORE),
					.node = node,
					.weight = 1,
				};
				paths->cycle[paths->cycles++] = (struct deskid_cycle){
					.oldest = step,
					.next = step,
					.limit = DESKID_NONE,
					.blame = (uint32_t)paths->blames++,
					.blames = 1,
				};
			}
		}
	paths->steps = step;
	/* Landings are known but for those of the last cycles. */
	paths->pieces = 1;
	paths->piece[0] = (struct deskid_piece){0, paths->cycles - 2 * (STALL + BLOCK) * 10};
}

static int setup(void **state)
{
	(void)state;
	deskid = (struct pesa_deskid){0};
	graph = (struct flow_graph){0};
	make_graph();
	deskid.code.graph = &graph;
	deskid.code.insn = array(NODES, sizeof(*deskid.code.insn));
	deskid.code.samples = array(NODES, sizeof(double));
	deskid.code.period = 1;
	deskid.cycles = array(DESKID_KINDS * NODES, sizeof(double));
	deskid.rate = array(DESKID_KINDS * NODES, sizeof(double));
	deskid.other = array(NODES, sizeof(double));
	deskid.blamed = array(NODES, sizeof(double));
	deskid.predicted = array(NODES, sizeof(double));
	deskid.executions = array(2, sizeof(double));
	deskid.paths.occurrences = array(NODES, sizeof(double));
	deskid.paths.retiring = array(NODES, sizeof(double));
	deskid.paths.weight = array(DESKID_KINDS * NODES, sizeof(double));
	deskid.paths.events = array(DESKID_KINDS * NODES, sizeof(double));
	make_paths();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(graph.instruction);
	free(graph.block);
	free(graph.measured);
	free(deskid.code.insn);
	free(deskid.code.samples);
	free(deskid.cycles);
	free(deskid.rate);
	free(deskid.other);
	free(deskid.blamed);
	free(deskid.predicted);
	free(deskid.executions);
	free(deskid.paths.node);
	free(deskid.paths.cycle);
	free(deskid.paths.blame);
	free(deskid.paths.piece);
	free(deskid.paths.occurrences);
	free(deskid.paths.retiring);
	free(deskid.paths.weight);
	free(deskid.paths.events);
	return 0;
}

/* Samples of loops that are executed so often, each `skid` instructions behind what it counted. */
static void sample(const double executions[2], unsigned int skid)
{
	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t loop = i / BLOCK, at = BLOCK * loop + (i + skid) % BLOCK;

		deskid.code.samples[at] +=
			executions[loop] * (i % BLOCK == STALLING ? 1 + STALL : 1);
	}
}

static void begin_ways(unsigned int most)
{
	for (unsigned int i = 0; i <= most; i++)
		deskid.way[i] = (struct pesa_deskid_way){PESA_DESKID_BEHIND, i, 1.0 / (most + 1)};
	deskid.ways = most + 1;
}

/* Cycles are given back to the instructions that were executed for them, and the skid is found. */
static void assert_found(const double executions[2], unsigned int skid)
{
	double all = 0;

	sample(executions, skid);
	begin_ways(BLOCK - 1);
	assert_null(deskid_estimate(&deskid));
	for (unsigned int w = 0; w < deskid.ways; w++)
		if (deskid.way[w].number == skid)
			assert_true(deskid.way[w].share > 0.9);
	for (uint32_t i = 0; i < NODES; i++)
		all += deskid.code.samples[i];
	for (uint32_t i = 0; i < NODES; i++) {
		double right = executions[i / BLOCK] * (i % BLOCK == STALLING ? 1 + STALL : 1);

		assert_true(fabs(deskid.blamed[i] + deskid.other[i] - right) < 0.03 * all);
	}
}

static void a_skid_of_one_instruction_is_taken_back(void **state)
{
	(void)state;
	assert_found((const double[]){1000, 1000}, 1);
}

static void a_skid_of_two_instructions_is_taken_back(void **state)
{
	(void)state;
	assert_found((const double[]){1000, 1000}, 2);
}

static void without_a_skid_samples_stay(void **state)
{
	(void)state;
	assert_found((const double[]){1000, 1000}, 0);
}

/* The flow said 1000 each: in order, samples are believed more. */
static void executions_that_the_flow_has_wrong_are_corrected(void **state)
{
	(void)state;
	assert_found((const double[]){3000, 500}, 1);
}

static void code_on_no_path_keeps_its_samples(void **state)
{
	const double executions[] = {1000, 0};

	(void)state;
	sample(executions, 1);
	for (uint32_t i = BLOCK; i < NODES; i++)
		deskid.paths.weight[deskid_source(i, DESKID_CORE)] = deskid.paths.occurrences[i] =
			0;
	deskid.paths.piece[0].end = ROUNDS * (STALL + BLOCK) / 2;
	deskid.code.samples[BLOCK + 2] = 600;
	begin_ways(BLOCK - 1);
	assert_null(deskid_estimate(&deskid));
	assert_true(fabs(deskid.blamed[STALLING] - executions[0] * (1 + STALL)) < 2000);
	assert_true(deskid.blamed[BLOCK + 2] == 0);
	assert_true(deskid.other[BLOCK + 2] == 600);
	assert_true(deskid.other[BLOCK + 1] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_skid_of_one_instruction_is_taken_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_skid_of_two_instructions_is_taken_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_a_skid_samples_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(executions_that_the_flow_has_wrong_are_corrected,
						setup, teardown),
		cmocka_unit_test_setup_teardown(code_on_no_path_keeps_its_samples, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
