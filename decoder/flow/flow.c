/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "decoder/flow/inside.h"

struct pesa_error *pesa_control_flow_create(const struct pesa_profile *profile,
					    struct pesa_symbols *symbols, bool errors,
					    struct pesa_control_flow **result)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	struct pesa_control_flow *flow = calloc(1, sizeof(*flow));
	struct pesa_error *error;

	if (!flow)
		return pesa_error_no_memory();
	flow->plain = totals->samples && totals->plain_samples == totals->samples && !totals->paths;
	error = flow_graph_create(profile, symbols, &flow->graph);
	if (!error)
		error = flow_estimate(profile, &flow->graph, flow->plain, errors, NULL);
	if (error) {
		pesa_control_flow_free(flow);
		return error;
	}
	*result = flow;
	return NULL;
}

void pesa_control_flow_free(struct pesa_control_flow *flow)
{
	if (!flow)
		return;
	flow_graph_free(&flow->graph);
	free(flow);
}

struct pesa_error *pesa_control_flow_apply(const struct pesa_control_flow *flow,
					   struct pesa_profile *profile)
{
	size_t count = pesa_profile_instruction_count(profile);
	struct pesa_error *error = NULL;
	double *executions, *errors;

	if (flow->plain || pesa_profile_totals(profile)->exact)
		return NULL;
	executions = calloc(count + 1, sizeof(*executions));
	errors = calloc(count + 1, sizeof(*errors));
	if (!executions || !errors)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(profile, i);
		uint32_t block = pesa_control_flow_find(flow, one->dso, one->address);

		if (block == PESA_CONTROL_FLOW_NONE)
			continue;
		executions[i] = flow->graph.block[block].executions;
		errors[i] = flow->graph.block[block].error;
	}
	if (!error)
		error = pesa_profile_set_executions(profile, executions, errors);
	free(executions);
	free(errors);
	return error;
}

bool pesa_control_flow_is_plain(const struct pesa_control_flow *flow)
{
	return flow->plain;
}

uint32_t pesa_control_flow_block_count(const struct pesa_control_flow *flow)
{
	return flow->graph.blocks;
}

const struct pesa_control_flow_block *
pesa_control_flow_block_at(const struct pesa_control_flow *flow, uint32_t index)
{
	return &flow->graph.block[index];
}

uint64_t pesa_control_flow_address(const struct pesa_control_flow *flow, uint32_t block,
				   uint32_t number)
{
	return flow->graph.instruction[flow->graph.measured[block].first + number].address;
}

const struct pesa_control_flow_edge *pesa_control_flow_edge_at(const struct pesa_control_flow *flow,
							       uint32_t index)
{
	return &flow->graph.edge[index];
}

uint32_t pesa_control_flow_find(const struct pesa_control_flow *flow, uint32_t dso,
				uint64_t address)
{
	uint32_t low = 0, high = flow->graph.blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct pesa_control_flow_block *block = &flow->graph.block[middle];

		if (block->dso < dso || (block->dso == dso && block->end <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == flow->graph.blocks || flow->graph.block[low].dso != dso ||
	    flow->graph.block[low].start > address)
		return PESA_CONTROL_FLOW_NONE;
	return low;
}
