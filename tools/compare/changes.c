/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of a comparison as changes of what LLVM defines. */
#include <stdlib.h>
#include <string.h>

#include "tools/compare/changes.h"

static struct pesa_error *add_edit(struct compare_edits *edits, const struct compare_edit *edit)
{
	struct compare_edit *larger =
		realloc(edits->edit, (edits->count + 1) * sizeof(*edits->edit));

	if (!larger)
		return pesa_error_no_memory();
	edits->edit = larger;
	edits->edit[edits->count++] = *edit;
	return NULL;
}

/* Whether an opcode is named in "NAME.latency=4 NAME.latency=4 ...". */
static bool is_named(const char *change, const char *name)
{
	size_t length = strlen(name);

	for (const char *rest = change; rest; rest = strchr(rest, ' ')) {
		rest += *rest == ' ';
		if (!strncmp(rest, name, length) && rest[length] == '.')
			return true;
	}
	return false;
}

static struct pesa_error *add_opcodes(const struct comparison *comparison,
				      struct compare_edits *edits, struct compare_edit edit)
{
	unsigned int count = pesa_compare_opcode_count(comparison->compare, edit.index);
	struct pesa_error *error;

	edit.write = edit.finding->scheduling_class;
	edit.from = edit.finding->from;
	edit.opcode = calloc(count + 1, sizeof(const struct pesa_compare_opcode *));
	if (!edit.opcode)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_compare_opcode *opcode =
			pesa_compare_opcode(comparison->compare, edit.index, i);

		if (is_named(edit.finding->change, opcode->name))
			edit.opcode[edit.opcodes++] = opcode;
	}
	error = add_edit(edits, &edit);
	if (error)
		free(edit.opcode);
	return error;
}

/* Add a change for each SchedWrite of a line `class` with an opcode that moved; if there is none,
 * for each with an opcode that was executed. *any: a change was added. */
static struct pesa_error *add_writes(const struct comparison *comparison,
				     struct compare_edits *edits, struct compare_edit edit,
				     bool moved, bool *any)
{
	unsigned int count = pesa_compare_opcode_count(comparison->compare, edit.index);
	size_t first = edits->count;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < count && !error; i++) {
		const struct pesa_compare_opcode *opcode =
			pesa_compare_opcode(comparison->compare, edit.index, i);
		bool listed = false;

		if (!opcode->write || (moved && opcode->evidence != PESA_COMPARE_MOVED))
			continue;
		for (size_t j = first; j < edits->count; j++)
			listed |= !strcmp(edits->edit[j].write, opcode->write);
		edit.write = opcode->write;
		edit.from = opcode->from;
		if (!listed)
			error = add_edit(edits, &edit);
	}
	*any = edits->count > first;
	return error;
}

static struct pesa_error *add_finding(const struct comparison *comparison,
				      struct compare_edits *edits, unsigned int index)
{
	struct compare_edit edit = {
		.finding = pesa_compare_finding(comparison->compare, index),
		.index = index,
	};
	struct pesa_error *error = NULL;
	bool any = false;

	if (edit.finding->varies)
		return NULL;
	edit.from = edit.finding->from;
	if (edit.finding->some_opcodes)
		return add_opcodes(comparison, edits, edit);
	if (edit.finding->one_write)
		edit.write = edit.finding->scheduling_class;
	/* Advances are of SchedReads. */
	if (edit.write || edit.finding->kind == PESA_COMPARE_UNITS ||
	    edit.finding->kind == PESA_COMPARE_ADVANCE)
		return add_edit(edits, &edit);
	error = add_writes(comparison, edits, edit, true, &any);
	if (!error && !any)
		error = add_writes(comparison, edits, edit, false, &any);
	return error || any ? error : add_edit(edits, &edit);
}

struct pesa_error *compare_edits_list(const struct comparison *comparison,
				      struct compare_edits *edits)
{
	struct pesa_error *error = NULL;

	*edits = (struct compare_edits){0};
	for (unsigned int i = 0; i < pesa_compare_finding_count(comparison->compare) && !error; i++)
		error = add_finding(comparison, edits, i);
	if (error)
		compare_edits_free(edits);
	return error;
}

void compare_edits_free(struct compare_edits *edits)
{
	for (size_t i = 0; i < edits->count; i++)
		free(edits->edit[i].opcode);
	free(edits->edit);
	*edits = (struct compare_edits){0};
}
