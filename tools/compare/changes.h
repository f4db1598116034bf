/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The findings of a comparison as changes of what LLVM defines: of a SchedWrite, of the SchedReads of
 * a class, of a resource, or of single opcodes.
 *
 * A finding for all instructions with equal numbers becomes a change of each SchedWrite of which an
 * opcode has moved: there is no evidence against the others.  A finding whose executions differ is
 * no change: it proposes no number.
 */
#ifndef TOOLS_COMPARE_CHANGES_H
#define TOOLS_COMPARE_CHANGES_H

#include "tools/compare/comparison.h"

struct compare_edit {
	const struct pesa_compare_finding *finding;
	unsigned int index; /* of the finding */
	/* SchedWrite; NULL: of a resource, of a class whose model has no names, or of SchedReads. */
	const char *write;
	const char *from; /* FILE:LINE,... of the definition; NULL: not known */
	/* Only these opcodes of the SchedWrite, by LLVM's names; none listed: all of them. */
	const struct pesa_compare_opcode **opcode;
	size_t opcodes;
};

struct compare_edits {
	struct compare_edit *edit;
	size_t count;
};

/* Free with compare_edits_free(); what the members point to belongs to the comparison. */
struct pesa_error *compare_edits_list(const struct comparison *comparison,
				      struct compare_edits *edits);
void compare_edits_free(struct compare_edits *edits);

#endif
