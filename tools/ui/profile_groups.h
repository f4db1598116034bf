/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: the instructions of a profile added up by binary, function, source line or not at all.
 *
 * Which of these make a group is a set of keys.  The executions of a group are
 *   instruction: the times it retired;
 *   line:        those of its instruction that retired most often;
 *   function:    those of its first instruction (a function that jumps back to its own first
 *                instruction counts every round);
 *   binary:      none.
 * Lines are only looked up when they are a key: DWARF is not read otherwise.
 */
#ifndef TOOLS_UI_PROFILE_GROUPS_H
#define TOOLS_UI_PROFILE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/ui/cycle_stack.h"
#include "tools/ui/profile_input.h"

#define GROUP_BY_DSO	(1u << 0)
#define GROUP_BY_SYMBOL (1u << 1)
#define GROUP_BY_LINE	(1u << 2)
#define GROUP_BY_INSN	(1u << 3)

struct profile_group {
	uint32_t dso;				    /* of its first instruction */
	const struct pesa_symbol *symbol;	    /* NULL: none, or symbol is not a key */
	struct pesa_source source;		    /* only with the line key */
	const struct pesa_instruction *instruction; /* only with the insn key */
	bool has_executions;
	/* The instruction whose executions count for the group; NULL: none was seen to retire. */
	const struct pesa_instruction *entry;
	uint64_t weight;
	struct cycle_stack stack; /* sorted */
};

struct profile_groups {
	struct profile_group *group; /* largest weight first */
	size_t count, room;
	uint64_t weight; /* of all */
};

/* Parse the sort order of the command line, "dso,symbol,line,insn" in any order.  0: invalid. */
unsigned int profile_keys_parse(const char *text);

/* Group the instructions of a profile.  No groups where it fails: they need not be freed. */
struct pesa_error *profile_groups_make(const struct profile_input *input, unsigned int keys,
				       struct profile_groups *groups);
void profile_groups_free(struct profile_groups *groups);

/* A row of report --json, with the members of the keys that were used to make the groups. */
json_object *profile_group_json(const struct profile_input *input,
				const struct profile_group *group, unsigned int keys);

/* Executions of a group; 0: none. */
uint64_t profile_group_executions(const struct profile_group *group);

#endif
