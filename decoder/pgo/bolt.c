/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BOLT's formats (bolt/docs/profiles.md and the header of bolt/lib/Profile/DataReader.cpp), all text:
 *
 *	branches	1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED TAKEN
 *	basic		no_lbr EVENT, then 1 FUNCTION OFFSET SAMPLES
 *	pre-aggregated	B FROM TO TAKEN MISPREDICTED, F FROM TO EXECUTED (control fell through)
 *
 * Offsets and addresses are hexadecimal.
 */
#include <inttypes.h>

#include "decoder/pgo/write.h"

/* Local functions of one name are told apart by their order in the binary: /1, /2, ... */
#define SAME_NAME_MAX 1024

/* A place in a function that has a name. */
struct named {
	const struct pesa_symbol *symbol; /* NULL: there is none */
	size_t number;			  /* of a local one; else 0 */
	uint64_t offset;
};

static struct pesa_error *find_named(const struct pgo_branches *branches, uint64_t address,
				     struct named *named)
{
	const struct pesa_symbol *same[SAME_NAME_MAX];
	struct pesa_error *error;
	size_t count = 0;

	*named = (struct named){0};
	error = pesa_symbols_find(branches->symbols, branches->dso, address, &named->symbol);
	if (error || !named->symbol)
		return error;
	if (!named->symbol->linkage_name) {
		named->symbol = NULL;
		return NULL;
	}
	named->offset = address - named->symbol->start;
	if (!named->symbol->local)
		return NULL;
	error = pesa_symbols_by_name(branches->symbols, branches->dso, named->symbol->linkage_name,
				     same, SAME_NAME_MAX, &count);
	named->number = 1;
	for (size_t i = 0; i < count && !error; i++)
		named->number += same[i]->local && same[i]->start < named->symbol->start;
	return error;
}

static void write_place(const struct named *named, FILE *out)
{
	fprintf(out, "1 %s", named->symbol->linkage_name);
	if (named->number)
		fprintf(out, "/%zu", named->number);
	fprintf(out, " %" PRIx64 " ", named->offset);
}

static struct pesa_error *count_functions(const struct pgo_branches *branches,
					  struct pesa_pgo_summary *summary)
{
	uint64_t last = 0;

	for (uint32_t i = branches->begin; i < branches->end; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(branches->flow, i);
		double executions = block->executions * block->instructions;
		const struct pesa_symbol *symbol;
		struct pesa_error *error =
			pesa_symbols_find(branches->symbols, branches->dso, block->start, &symbol);

		if (error)
			return error;
		if (!symbol || !symbol->linkage_name) {
			summary->no_symbol += executions;
		} else if (executions > 0 && (!summary->functions || symbol->start != last)) {
			summary->functions++;
			last = symbol->start;
		}
	}
	return NULL;
}

static struct pesa_error *write_branch(const struct pgo_branches *branches,
				       const struct pgo_branch *branch,
				       struct pesa_pgo_summary *summary, FILE *out)
{
	struct named from, to = {0};
	struct pesa_error *error;

	if (!pgo_count(branch->count))
		return NULL;
	error = find_named(branches, branch->from, &from);
	if (!error)
		error = find_named(branches, branch->to, &to);
	if (error || !from.symbol || !to.symbol)
		return error;
	write_place(&from, out);
	write_place(&to, out);
	fprintf(out, "%" PRIu64 " %" PRIu64 "\n", pgo_count(branch->mispredicted),
		pgo_count(branch->count));
	summary->records++;
	return NULL;
}

struct pesa_error *pgo_write_bolt(const struct pgo_branches *branches,
				  struct pesa_pgo_summary *summary, FILE *out)
{
	struct pesa_error *error = count_functions(branches, summary);

	for (size_t i = 0; i < branches->count && !error; i++)
		error = write_branch(branches, &branches->branch[i], summary, out);
	/* As perf2bolt has them: what fell through is a branch, too. */
	for (uint32_t i = branches->begin; i < branches->end && !error; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(branches->flow, i);
		const struct pgo_branch branch = {.from = block->last,
						  .to = block->end,
						  .count = pgo_fell_through(branches, i)};

		error = write_branch(branches, &branch, summary, out);
	}
	return error;
}

/* Executions of a block's instructions: BOLT divides samples of the event cycles by their number. */
struct pesa_error *pgo_write_bolt_basic(const struct pgo_branches *branches,
					struct pesa_pgo_summary *summary, FILE *out)
{
	struct pesa_error *error = count_functions(branches, summary);

	fputs("no_lbr cycles\n", out);
	for (uint32_t i = branches->begin; i < branches->end && !error; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(branches->flow, i);
		uint64_t count = pgo_count(block->executions * block->instructions);
		struct named named;

		if (!count)
			continue;
		error = find_named(branches, block->start, &named);
		if (error || !named.symbol)
			continue;
		write_place(&named, out);
		fprintf(out, "%" PRIu64 "\n", count);
		summary->records++;
	}
	return error;
}

struct pesa_error *pgo_write_preaggregated(const struct pgo_branches *branches,
					   struct pesa_pgo_summary *summary, FILE *out)
{
	struct pesa_error *error = count_functions(branches, summary);

	summary->no_symbol = 0; /* addresses need none */
	for (size_t i = 0; i < branches->count && !error; i++) {
		const struct pgo_branch *branch = &branches->branch[i];

		if (!pgo_count(branch->count))
			continue;
		fprintf(out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", branch->from,
			branch->to, pgo_count(branch->count), pgo_count(branch->mispredicted));
		summary->records++;
	}
	for (uint32_t i = branches->begin; i < branches->end && !error; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(branches->flow, i);
		uint64_t count = pgo_count(pgo_fell_through(branches, i));

		if (!count)
			continue;
		fprintf(out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", block->start, block->end,
			count);
		summary->records++;
	}
	return error;
}
