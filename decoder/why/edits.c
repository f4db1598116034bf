/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other code would win: trials (trial.h) without some instructions, with a branch the other way
 * round, or with values in registers that were in memory.
 *
 * A value that stays in a register is a move to a register that no program has, and a move from it.
 */
#include <stdlib.h>

#include "decoder/why/trial.h"

#define MISFIT_LEAST 0.1 /* see struct why_change */

/* Registers that paths do not use, for values that were in memory. */
#define FREE_REGISTER  PESA_REGISTER_T0
#define FREE_REGISTERS 16u

struct edit {
	uint32_t node;
	enum pesa_why_edit edit;
	unsigned int number;
};

struct editing {
	const struct compare_paths *paths;
	struct edit *edit; /* by node */
	unsigned int *due; /* by edit: executions since the last one that remains */
	size_t count;
};

static int by_node(const void *left, const void *right)
{
	const struct edit *a = left, *b = right;

	return a->node < b->node ? -1 : a->node > b->node;
}

static const struct edit *find(const struct editing *editing, uint32_t node)
{
	const struct edit key = {.node = node};

	return bsearch(&key, editing->edit, editing->count, sizeof(key), by_node);
}

/* addi TO, FROM, 0 */
static void make_move(struct pesa_mca_instruction *instruction, int64_t to, int64_t from)
{
	instruction->insn = (struct pesa_insn){
		.opcode = (uint16_t)pesa_opcode_find("ADDI"),
		.length = 4,
		.operands = 3,
		.operand = {{.kind = PESA_OPERAND_REGISTER,
			     .output = true,
			     .registers = 1,
			     .value = to},
			    {.kind = PESA_OPERAND_REGISTER, .registers = 1, .value = from},
			    {.kind = PESA_OPERAND_IMMEDIATE}}};
	instruction->forwarded_by = 0;
	instruction->forwarded_partly = instruction->after_store = false;
	instruction->late = 0;
}

/* The first operand of a load is what it writes, that of a store what it stores. */
static bool apply(const struct edit *edit, unsigned int *due,
		  struct pesa_mca_instruction *instruction, struct pesa_mca_instruction *next,
		  bool *removed)
{
	const int64_t kept = FREE_REGISTER + (int64_t)(edit->number % FREE_REGISTERS);
	const int64_t value = instruction->insn.operand[0].value;

	switch (edit->edit) {
	case PESA_WHY_REMOVED:
		if (edit->number && ++*due >= edit->number) {
			*due = 0;
			return false;
		}
		*removed = true;
		return true;
	case PESA_WHY_NOT_TAKEN:
		instruction->taken = !instruction->taken;
		if (next)
			next->begins_block = instruction->taken;
		return true;
	case PESA_WHY_KEPT:
		make_move(instruction, kept, value);
		return true;
	case PESA_WHY_REUSED:
		/* What needs the value finds it there: a slot to issue is all that it takes. */
		make_move(instruction, kept, kept);
		return true;
	}
	return false;
}

static size_t change_path(void *context, const struct compare_path *path,
			  struct pesa_mca_instruction *instruction, bool *removed)
{
	const struct editing *editing = context;
	size_t changes = 0;

	for (size_t i = 0; i < editing->count; i++)
		editing->due[i] = 0;
	for (unsigned int i = 0; i < path->count; i++) {
		const struct edit *edit = find(editing, editing->paths->step[path->first + i].node);

		if (edit)
			changes += apply(edit, &editing->due[edit - editing->edit], &instruction[i],
					 i + 1 < path->count ? &instruction[i + 1] : NULL,
					 &removed[i]);
	}
	return changes;
}

/* Loads that got their data from a store that is a move now do not get it from memory any more: all of
 * one value are edited together. */
struct pesa_error *pesa_why_estimate_edits(struct pesa_why *why,
					   const struct pesa_why_edited *edited, size_t count,
					   struct pesa_estimate *saved)
{
	struct editing editing = {.paths = &why->compare->paths,
				  .edit = calloc(count + 1, sizeof(*editing.edit)),
				  .due = calloc(count + 1, sizeof(*editing.due))};
	struct pesa_error *error = NULL;
	const struct why_change change = {
		.changer = change_path, .context = &editing, .fewer = true, .misfit = MISFIT_LEAST};
	struct why_saved result = {0};

	if (!editing.edit || !editing.due)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		uint32_t node = compare_code_find(&why->compare->code, edited[i].place.dso,
						  edited[i].place.address);

		if (node != COMPARE_NONE)
			editing.edit[editing.count++] = (struct edit){
				.node = node, .edit = edited[i].edit, .number = edited[i].number};
	}
	if (!error && editing.count) {
		qsort(editing.edit, editing.count, sizeof(*editing.edit), by_node);
		error = why_trial(why, &change, &result);
	}
	*saved = result.saved;
	saved->enough = result.changes > 0;
	free(editing.edit);
	free(editing.due);
	return error;
}
