// SPDX-License-Identifier: GPL-2.0-or-later
/* Flows in a network (decoder/flow/network.h), against solutions in closed form and the conditions of
 * an optimum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "decoder/flow/network.h"

#define NODES_MAX 64

static double potential[NODES_MAX];

static void solve(struct flow_arc *arc, uint32_t arcs, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++)
		potential[i] = 0;
	assert_null(flow_network_solve(arc, arcs, potential, nodes, FLOW_DRAWS));
}

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-4 * (1 + fabs(expected)))
		fail_msg("%g, expected %g", value, expected);
}

/* ground -> 1 -> 2 -> ground: one flow, the mean of three measurements by their variances */
static void a_chain_has_the_weighted_mean(void **state)
{
	struct flow_arc arc[] = {
		{.from = 0, .to = 1, .wanted = 10, .variance = 1},
		{.from = 1, .to = 2, .wanted = 16, .variance = 2},
		{.from = 2, .to = 0, .wanted = 40, .variance = 8},
	};

	(void)state;
	solve(arc, 3, 3);
	for (int i = 0; i < 3; i++)
		assert_near(arc[i].flow, (10 + 8 + 5) / (1 + 0.5 + 0.125));
}

/* The error of the mean is that of the formula, as far as so many draws tell. */
static void the_error_of_a_chain_is_that_of_the_mean(void **state)
{
	double sum = 0;

	(void)state;
	/* every length of chain has other noise */
	for (uint32_t length = 2; length < NODES_MAX; length++) {
		struct flow_arc arc[NODES_MAX];

		for (uint32_t i = 0; i < length; i++)
			arc[i] = (struct flow_arc){
				.from = i, .to = (i + 1) % length, .wanted = 100, .variance = 4};
		solve(arc, length, length);
		sum += arc[0].error * arc[0].error / (4.0 / length);
	}
	sum /= NODES_MAX - 2;
	if (sum < 0.8 || sum > 1.2)
		fail_msg("variance is %g of that of the formula", sum);
}

/* What must go somewhere, and does not go below 0: 12 and -2 would fit best. */
static void no_flow_is_below_zero(void **state)
{
	struct flow_arc arc[] = {
		{.from = 0, .to = 1, .wanted = 10, .variance = 1e-6},
		{.from = 1, .to = 0, .wanted = 14, .variance = 1},
		{.from = 1, .to = 0, .wanted = 0, .variance = 1},
	};

	(void)state;
	solve(arc, 3, 2);
	assert_near(arc[1].flow, 10);
	assert_near(arc[2].flow, 0);
}

/* Two calls of one function; one of them also goes on behind the call. */
static void calls_are_counted_in_the_function_too(void **state)
{
	struct flow_arc arc[] = {
		{.from = 0, .to = 0, .also = 1, .wanted = 5, .variance = 1},
		{.from = 0, .to = 2, .also = 1, .wanted = 7, .variance = 1},
		{.from = 2, .to = 0, .wanted = 7, .variance = 1e6},
		{.from = 1, .to = 0, .wanted = 15, .variance = 1},
	};

	(void)state;
	solve(arc, 4, 3);
	/* 3 are missing, and each of three measurements is wrong by the same */
	assert_near(arc[0].flow, 6);
	assert_near(arc[1].flow, 8);
	assert_near(arc[2].flow, 8);
	assert_near(arc[3].flow, 14);
}

/* A quarter of what comes in goes one way; there 40 were measured, on the other way 60. */
static void a_branch_divides_what_comes_in(void **state)
{
	struct flow_arc arc[] = {
		{.from = 0, .to = 1, .also = 2, .split = 0.25, .wanted = 100, .variance = 1e6},
		{.from = 1, .to = 0, .wanted = 60, .variance = 1},
		{.from = 2, .to = 0, .wanted = 40, .variance = 1},
	};

	(void)state;
	solve(arc, 3, 3);
	/* least of (0.75 x - 60)^2 + (0.25 x - 40)^2 */
	assert_near(arc[0].flow, (0.75 * 60 + 0.25 * 40) / (0.75 * 0.75 + 0.25 * 0.25));
	assert_near(arc[1].flow, 0.75 * arc[0].flow);
	assert_near(arc[2].flow, 0.25 * arc[0].flow);
}

/* Nothing comes in where such a branch never goes. */
static void a_branch_may_always_go_one_way(void **state)
{
	struct flow_arc arc[] = {
		{.from = 0, .to = 1, .also = 2, .split = 1, .wanted = 100, .variance = 1},
		{.from = 1, .to = 0, .wanted = 0, .variance = 1},
		{.from = 2, .to = 0, .wanted = 40, .variance = 1},
	};

	(void)state;
	solve(arc, 3, 3);
	assert_near(arc[0].flow, 70);
	assert_near(arc[1].flow, 0);
	assert_near(arc[2].flow, 70);
}

static double random_number(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) / (double)(1 << 24);
}

/* Conservation, and that no other flow is nearer: what an arc differs from what is wanted is its
 * variance times the difference of the potentials at its ends, or it has no flow and wants less. */
static void random_networks_are_at_their_optimum(void **state)
{
	(void)state;
	for (uint32_t trial = 1; trial <= 200; trial++) {
		uint32_t seed = trial, nodes = 2 + trial % (NODES_MAX - 2), arcs = 0;
		struct flow_arc arc[4 * NODES_MAX];
		double in[NODES_MAX] = {0}, most = 0;

		for (uint32_t i = 1; i < nodes; i++) {
			arc[arcs++] = (struct flow_arc){.to = i};
			arc[arcs++] = (struct flow_arc){.from = i};
			arc[arcs++] = (struct flow_arc){
				.from = i, .to = (uint32_t)(random_number(&seed) * nodes)};
		}
		for (uint32_t i = 0; i < arcs; i++) {
			arc[i].wanted =
				random_number(&seed) < 0.3 ? 0 : exp(10 * random_number(&seed));
			arc[i].variance = exp(12 * random_number(&seed) - 4);
			if (random_number(&seed) < 0.3)
				arc[i].also = (uint32_t)(random_number(&seed) * nodes);
			if (arc[i].also && random_number(&seed) < 0.5)
				arc[i].split = fmin(1.2 * random_number(&seed), 1);
			most = fmax(most, arc[i].wanted);
		}
		solve(arc, arcs, nodes);
		for (uint32_t i = 0; i < arcs; i++) {
			double also = arc[i].split > 0 ? arc[i].split : 1, to = 1 - arc[i].split;
			double off =
				arc[i].wanted + arc[i].variance * (to * potential[arc[i].to] +
								   also * potential[arc[i].also] -
								   potential[arc[i].from]);

			assert_near(arc[i].flow, fmax(off, 0));
			in[arc[i].to] += to * arc[i].flow;
			in[arc[i].also] += also * arc[i].flow;
			in[arc[i].from] -= arc[i].flow;
		}
		for (uint32_t i = 1; i < nodes; i++)
			if (fabs(in[i]) > 1e-4 * (most + 1))
				fail_msg("trial %u: node %u keeps %g of %g", trial, i, in[i], most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_has_the_weighted_mean),
		cmocka_unit_test(the_error_of_a_chain_is_that_of_the_mean),
		cmocka_unit_test(no_flow_is_below_zero),
		cmocka_unit_test(calls_are_counted_in_the_function_too),
		cmocka_unit_test(a_branch_divides_what_comes_in),
		cmocka_unit_test(a_branch_may_always_go_one_way),
		cmocka_unit_test(random_networks_are_at_their_optimum),
	};

	return cmocka_run_group_tests_name("flow network", tests, NULL, NULL);
}
