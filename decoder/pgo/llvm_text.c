/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LLVM's sample profile as text (clang's manual, "Sample Profile Text Format"):
 *
 *	function:executions of its lines:times it was entered
 *	 line: executions [function that it calls:times]...
 *	 line: function that was inlined there:executions of its lines
 *	  line: ...
 *
 * A line is an offset from the function's first line, with .discriminator if that is not 0.  Where the
 * program has pseudo probes it is the number of a probe, and each function ends with
 *
 *	 !CFGChecksum: number
 */
#include <inttypes.h>

#include "decoder/pgo/write.h"

static void write_place(const struct pgo_place *place, unsigned int depth, FILE *out)
{
	fprintf(out, "%*s%" PRIu32, (int)depth, "", place->offset);
	if (place->discriminator)
		fprintf(out, ".%" PRIu32, place->discriminator);
	fputs(": ", out);
}

static void write_line(const struct pgo_tree *tree, const struct pgo_line *line, unsigned int depth,
		       FILE *out)
{
	struct pgo_range calls = pgo_calls(tree, line->function, &line->place);

	write_place(&line->place, depth, out);
	fprintf(out, "%" PRIu64, pgo_count(line->executions));
	for (uint32_t i = calls.begin; i < calls.end; i++) {
		const struct pgo_call *call = pgo_call_at(tree, tree->call[i]);

		fprintf(out, " %s:%" PRIu64, distinct_text_at(&tree->texts, call->name),
			pgo_count(call->executions));
	}
	fputc('\n', out);
}

static void write_body(const struct pgo_tree *tree, uint32_t function, unsigned int depth,
		       struct pesa_pgo_summary *summary, FILE *out)
{
	struct pgo_range lines = pgo_lines(tree, function);
	struct pgo_range inlined = pgo_children(tree, function);

	for (uint32_t i = lines.begin; i < lines.end; i++)
		write_line(tree, pgo_line_at(tree, tree->line[i]), depth, out);
	summary->records += lines.end - lines.begin;
	for (uint32_t i = inlined.begin; i < inlined.end; i++) {
		const struct pgo_function *child = pgo_function_at(tree, tree->function[i]);

		write_place(&child->place, depth, out);
		fprintf(out, "%s:%" PRIu64 "\n", distinct_text_at(&tree->texts, child->name),
			pgo_count(child->total));
		write_body(tree, tree->function[i], depth + 1, summary, out);
	}
	if (tree->probed)
		fprintf(out, "%*s!CFGChecksum: %" PRIu64 "\n", (int)depth, "",
			pgo_function_at(tree, function)->checksum);
}

struct pesa_error *pgo_write_llvm_text(const struct pgo_tree *tree,
				       struct pesa_pgo_summary *summary, FILE *out)
{
	struct pgo_range roots = pgo_children(tree, PGO_NONE);

	for (uint32_t i = roots.begin; i < roots.end; i++) {
		const struct pgo_function *root = pgo_function_at(tree, tree->function[i]);

		if (!pgo_count(root->total))
			continue;
		fprintf(out, "%s:%" PRIu64 ":%" PRIu64 "\n",
			distinct_text_at(&tree->texts, root->name), pgo_count(root->total),
			pgo_count(root->entered));
		write_body(tree, tree->function[i], 1, summary, out);
		summary->functions++;
	}
	return NULL;
}
