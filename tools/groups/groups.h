/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: the cycles of a profile added up by binary, function, source line, thread, CPU, time, ...
 *
 * Which of these make a group is a set of keys (keys.h).  A group has its own cycles: those of its
 * instructions.  With children it also has inclusive cycles: its own and those of what it called.  A
 * sample counts once for each group in its call chain, however often the group is there: recursion is
 * folded.  So the own cycles of all groups add up to the profile without its unattributed cycles, and
 * the inclusive cycles of a group are at most those of the profile.
 *
 * The executions of a group are
 *   instruction: the times it retired;
 *   line:        those of its instruction that retired most often;
 *   function:    those of its first instruction (a function that jumps back to its own first
 *                instruction counts every round);
 *   others:      none.
 * Lines are only looked up when they are a key: DWARF is not read otherwise.
 */
#ifndef TOOLS_GROUPS_GROUPS_H
#define TOOLS_GROUPS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/export.h"
#include "tools/groups/keys.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/profile_input.h"

#define GROUP_NOT_RECORDED UINT32_MAX

/* Who executed it, and when; only the members that are keys, the others are 0. */
struct profile_task {
	bool has_time;
	uint64_t time;	    /* ns, the first of the slice */
	const char *comm;   /* NULL: not recorded */
	const char *cgroup; /* NULL: not recorded */
	uint32_t pid, tid;
	uint32_t cpu; /* GROUP_NOT_RECORDED */
};

struct profile_group {
	uint32_t dso;				    /* of its first instruction */
	const struct pesa_symbol *symbol;	    /* NULL: none, or symbol is not a key */
	struct pesa_source source;		    /* with the keys line and file */
	const struct pesa_instruction *instruction; /* only with the insn key */
	struct profile_task task;
	bool has_executions;
	/* The instruction whose executions count for the group; NULL: none was seen to retire. */
	const struct pesa_instruction *entry;
	/* With keys of tasks or children: what retired of it in the group. */
	uint64_t executions, retired_samples;
	uint64_t weight;	  /* own */
	struct cycle_stack stack; /* own, sorted */
	uint64_t all_weight;	  /* with children: inclusive */
	struct cycle_stack all;
};

struct profile_groups {
	/* Slices of time in order; then the largest (inclusive) weight first. */
	struct profile_group *group;
	size_t count, room;
	uint64_t weight; /* own, of all */
	unsigned int keys;
	bool children;
	uint64_t slice; /* ns, with the key time */
	/* Keys that some cycles have nothing recorded for. */
	unsigned int not_recorded;
};

/* Which groups are wanted: lists with commas between; NULL: all. */
struct group_choice {
	const char *binaries;  /* paths, or their last parts; with the key dso */
	const char *functions; /* as users type them (tools/names/match.h); with the key sym */
};

/* What is added up, and how. */
struct profile_grouping {
	unsigned int keys;
	struct group_choice choice;
	bool children; /* not with the key insn: a caller is known to the byte of its call only */
	unsigned int slices; /* at most so many, with the key time */
	/* Weights by task, call chain and address; needed for keys of tasks and for children. */
	const struct pesa_export *rows;
};

/* Whether rows are needed. */
static inline bool profile_grouping_needs_rows(unsigned int keys, bool children)
{
	return children || keys & GROUP_BY_TASK;
}

/* Group the instructions of a profile by keys of code; by any keys.  After an error there is nothing to
 * free. */
struct pesa_error *profile_groups_make(const struct profile_input *input, unsigned int keys,
				       struct profile_groups *groups);
struct pesa_error *profile_groups_make_by(const struct profile_input *input,
					  const struct profile_grouping *grouping,
					  struct profile_groups *groups);
/* Functions with children: those that are only in call chains, too. */
struct pesa_error *profile_groups_make_functions(const struct profile_input *input,
						 const struct pesa_export *rows,
						 struct profile_groups *groups);
/* Whether a call chain was recorded. */
bool profile_calls_recorded(const struct pesa_export *rows);
void profile_groups_free(struct profile_groups *groups);

/* What the group is sorted by: inclusive weight with children, else its own. */
static inline uint64_t profile_group_weight(const struct profile_groups *groups,
					    const struct profile_group *group)
{
	return groups->children ? group->all_weight : group->weight;
}

/* Executions of a group; 0: none. */
uint64_t profile_group_executions(const struct profile_input *input,
				  const struct profile_group *group);
/* Whether there are enough samples to say so. */
bool profile_group_has_enough(const struct profile_input *input, const struct profile_group *group);

/* A row of report --json, with the members of the keys that were used to make the groups. */
json_object *profile_group_json(const struct profile_input *input,
				const struct profile_groups *groups,
				const struct profile_group *group);

#endif
