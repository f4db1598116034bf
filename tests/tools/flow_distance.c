/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distance of the executions of a sampled profile from those of an exact one, as measured and as
 * the flow has them: half the sum of the absolute differences of the shares of all executions.
 *
 *	flow_distance SAMPLED EXACT
 *
 * Prints: samples, distance as measured, of the blocks' means, and of the flow; and which share of
 * the instructions whose executions are known within a third has the exact number in the 95 %
 * interval of the flow.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pesa/control_flow.h"

static const char *problem(struct pesa_error *error)
{
	return error ? error->message : NULL;
}

static uint32_t dso_of(const struct pesa_profile *profile, const char *path)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++)
		if (!strcmp(pesa_profile_dso(profile, i)->path, path))
			return i;
	return UINT32_MAX;
}

struct side {
	double measured, mean, flow; /* executions */
	double error;		     /* of flow */
};

/* Executions of an instruction of the exact profile in the sampled one. */
static struct side find(const struct pesa_profile *sampled, const struct pesa_control_flow *flow,
			uint32_t dso, uint64_t address)
{
	const struct pesa_instruction *one =
		dso == UINT32_MAX ? NULL : pesa_profile_find(sampled, dso, address);
	uint32_t block = dso == UINT32_MAX ? PESA_CONTROL_FLOW_NONE
					   : pesa_control_flow_find(flow, dso, address);
	struct side side = {.measured = one ? (double)one->executions : 0};

	if (block != PESA_CONTROL_FLOW_NONE) {
		side.mean = pesa_control_flow_block_at(flow, block)->measured;
		side.flow = pesa_control_flow_block_at(flow, block)->executions;
		side.error = pesa_control_flow_block_at(flow, block)->error;
	}
	return side;
}

int main(int argc, char **argv)
{
	struct pesa_profile *sampled, *exact;
	struct pesa_control_flow *flow;
	struct side sum = {0}, off = {0};
	double all = 0, known = 0, inside = 0;
	size_t count;

	if (argc != 3)
		return 2;
	if (problem(pesa_profile_load(argv[1], NULL, &sampled)) ||
	    problem(pesa_profile_load(argv[2], NULL, &exact)) ||
	    problem(pesa_control_flow_create(sampled, NULL, true, &flow)))
		return 1;
	count = pesa_profile_instruction_count(exact);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++) {
			const struct pesa_instruction *one = pesa_profile_instruction(exact, i);
			struct side side =
				find(sampled, flow,
				     dso_of(sampled, pesa_profile_dso(exact, one->dso)->path),
				     one->address);
			double executions = (double)one->executions;

			if (!round) {
				all += executions;
				sum.measured += side.measured;
				sum.mean += side.mean;
				sum.flow += side.flow;
				continue;
			}
			off.measured += fabs(side.measured / sum.measured - executions / all) / 2;
			off.mean += fabs(side.mean / sum.mean - executions / all) / 2;
			off.flow += fabs(side.flow / sum.flow - executions / all) / 2;
			if (side.flow < 3 * side.error || !(side.flow > 0))
				continue;
			known++;
			inside += fabs(side.flow - executions) <= 1.96 * side.error;
		}
	printf("%llu %.4f %.4f %.4f %.3f\n",
	       (unsigned long long)pesa_profile_totals(sampled)->samples, off.measured, off.mean,
	       off.flow, known > 0 ? inside / known : 0);
	pesa_control_flow_free(flow);
	pesa_profile_free(sampled);
	pesa_profile_free(exact);
	return 0;
}
