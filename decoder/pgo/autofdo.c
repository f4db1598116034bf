/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AutoFDO's text form (sample_reader.cc of create_llvm_prof and create_gcov): the numbers of ranges,
 * addresses and branches, each followed by so many lines, in hexadecimal:
 *
 *	FIRST-LAST:executions
 *	ADDRESS:samples
 *	FROM->TO:taken
 */
#include <inttypes.h>

#include "decoder/pgo/write.h"

static uint64_t count_branches(const struct pgo_branches *branches)
{
	uint64_t count = 0;

	for (size_t i = 0; i < branches->count; i++)
		count += pgo_count(branches->branch[i].count) > 0;
	return count;
}

struct pesa_error *pgo_write_autofdo(const struct pgo_branches *branches,
				     struct pesa_pgo_summary *summary, FILE *out)
{
	uint64_t ranges = 0, taken = count_branches(branches);

	for (uint32_t i = branches->begin; i < branches->end; i++)
		ranges += pgo_count(pesa_control_flow_block_at(branches->flow, i)->executions) > 0;
	fprintf(out, "%" PRIu64 "\n", ranges);
	for (uint32_t i = branches->begin; i < branches->end; i++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(branches->flow, i);

		if (pgo_count(block->executions))
			fprintf(out, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", block->start,
				block->last, pgo_count(block->executions));
	}
	/* Ranges say all that addresses would. */
	fprintf(out, "0\n%" PRIu64 "\n", taken);
	for (size_t i = 0; i < branches->count; i++) {
		const struct pgo_branch *branch = &branches->branch[i];

		if (pgo_count(branch->count))
			fprintf(out, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n", branch->from,
				branch->to, pgo_count(branch->count));
	}
	summary->records = ranges + taken;
	return NULL;
}
