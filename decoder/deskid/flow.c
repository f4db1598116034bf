/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executions of blocks, from samples whose PC skids.
 *
 * Whatever names a sample passes each instruction once an execution, at the width of the processor
 * at most, so a block has samples in proportion to its instructions, and here and there many more:
 * where the front end stops when something behind it waits.  Blocks are taken for executed as often
 * as their samples say at full width, and flow is conserved.
 *
 * How wrong that is for a block is a matter of proportion, not of chance: in a loop the front end
 * stops at the same instructions in each iteration, so that a block may have many times the samples of
 * the others, or none at all.  So a difference counts in proportion to the samples that the flow lets
 * expect: in its square up to as many as those, and beyond in itself, since what is many times more is
 * no better reason to believe in it than what is more.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/deskid/inside.h"
#include "pesa/record.h"

#define STEPS	       5   /* each expects the flow of the one before */
#define EXPECTED_LEAST 0.5 /* samples */

/* `usual`: samples of an instruction of its function, in the first step. */
static struct flow_wanted wanted_of(const struct deskid_code *code, uint32_t number, double width,
				    const double *usual)
{
	const struct pesa_control_flow_block *block = &code->graph->block[number];
	double each = code->period * width / block->instructions, samples = 0, expected, off = 0;

	for (uint32_t i = 0; i < block->instructions; i++)
		samples += code->samples[code->graph->measured[number].first + i];
	if (usual) {
		expected = samples + usual[number] * block->instructions;
	} else {
		expected = block->executions / each;
		off = samples - expected;
	}
	expected = fmax(expected, EXPECTED_LEAST);
	return (struct flow_wanted){
		.executions = samples * each,
		.variance = (expected + expected * fmax(expected, off)) * each * each,
	};
}

/* By block: samples of an instruction of its function, in the mean. */
static void find_usual(const struct deskid_code *code, double *usual)
{
	const struct flow_graph *graph = code->graph;

	for (uint32_t i = 0, end; i < graph->blocks; i = end) {
		uint32_t first = graph->measured[i].first, last;
		double samples = 0;

		end = i + 1;
		while (code->function[i] && end < graph->blocks &&
		       code->function[end] == code->function[i])
			end++;
		last = graph->measured[end - 1].first + graph->block[end - 1].instructions;
		for (uint32_t k = first; k < last; k++)
			samples += code->samples[k];
		for (uint32_t k = i; k < end; k++)
			usual[k] = samples / (last - first);
	}
}

/* What comes into each block from places that are not known. */
static void find_unknown(struct deskid_code *code)
{
	const struct flow_graph *graph = code->graph;

	for (uint32_t i = 0; i < graph->blocks; i++)
		code->unknown[i] = graph->block[i].executions;
	for (uint32_t i = 0; i < graph->edges; i++)
		code->unknown[graph->edge[i].to] -= graph->edge[i].executions;
	for (uint32_t i = 0; i < graph->blocks; i++)
		if (graph->measured[i].callee != FLOW_NONE)
			code->unknown[graph->measured[i].callee] -= graph->block[i].executions;
	for (uint32_t i = 0; i < graph->blocks; i++)
		if (!(graph->block[i].entered || graph->measured[i].jumped_to) ||
		    code->unknown[i] < 1e-3 * graph->block[i].executions)
			code->unknown[i] = 0;
}

static struct pesa_error *allocate(struct deskid_code *code)
{
	size_t nodes = code->graph->instructions + 1, blocks = code->graph->blocks + 1;

	code->insn = calloc(nodes, sizeof(*code->insn));
	code->function = calloc(blocks, sizeof(*code->function));
	code->unknown = calloc(blocks, sizeof(*code->unknown));
	code->samples = calloc(nodes, sizeof(*code->samples));
	return code->insn && code->function && code->unknown && code->samples
		       ? NULL
		       : pesa_error_no_memory();
}

static struct pesa_error *read_code(const struct pesa_profile *profile,
				    struct pesa_symbols *symbols, struct deskid_code *code)
{
	struct flow_graph *graph = code->graph;
	struct profile_isas isas;
	struct pesa_error *error = profile_isas_create(profile, &isas);

	if (error)
		return error;
	for (uint32_t i = 0; i < graph->instructions; i++) {
		const struct flow_instruction *one = &graph->instruction[i];

		if (!one->length || !profile_isas_decode(&isas, profile, (uint32_t)one->dso,
							 one->address, &code->insn[i]))
			code->insn[i].length = 0;
		if (one->measured)
			code->samples[i] =
				(double)one->measured->weight / PESA_CYCLE / code->period;
	}
	profile_isas_free(&isas);
	for (uint32_t i = 0; i < graph->blocks && symbols && !error; i++) {
		const struct pesa_symbol *symbol = NULL;

		error = pesa_symbols_find(symbols, graph->block[i].dso, graph->block[i].start,
					  &symbol);
		code->function[i] = symbol;
	}
	return error;
}

struct pesa_error *deskid_flow(const struct pesa_profile *profile, struct pesa_symbols *symbols,
			       double width, struct deskid_code *code)
{
	struct flow_wanted *wanted;
	struct pesa_error *error;
	double *usual;

	code->period = pesa_profile_totals(profile)->period;
	code->flow = calloc(1, sizeof(*code->flow));
	if (!code->flow)
		return pesa_error_no_memory();
	code->flow->plain = true;
	code->graph = &code->flow->graph;
	error = flow_graph_create(profile, symbols, code->graph);
	if (!error)
		error = allocate(code);
	if (!error)
		error = read_code(profile, symbols, code);
	if (error)
		return error;
	wanted = calloc(code->graph->blocks + 1u, sizeof(*wanted));
	usual = calloc(code->graph->blocks + 1u, sizeof(*usual));
	if (!wanted || !usual)
		error = pesa_error_no_memory();
	else
		find_usual(code, usual);
	for (int step = 0; step < STEPS && !error; step++) {
		for (uint32_t i = 0; i < code->graph->blocks; i++)
			wanted[i] = wanted_of(code, i, width, step ? NULL : usual);
		error = flow_estimate(profile, code->graph, true, false, wanted);
	}
	free(usual);
	free(wanted);
	if (!error)
		find_unknown(code);
	return error;
}
