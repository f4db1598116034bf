/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call tree of one function: its callers, or its callees, from the call chains of samples.
 *
 * Callers: below a function are those that called it, with the cycles of the root that were spent by
 * way of them.  Callees: below a function are those that it called, with their inclusive cycles.
 * Recursion is folded: on the way from the root no function is twice.  A caller that is already
 * there is left out; a callee that is already there continues at its first place.  So the weight of a
 * function is at least the sum of what is below it; the difference is
 *   callers: cycles of samples whose chains end there;
 *   callees: its own cycles.
 */
#ifndef TOOLS_GROUPS_CALL_TREE_H
#define TOOLS_GROUPS_CALL_TREE_H

#include "tools/groups/groups.h"

#define CALL_TREE_NONE UINT32_MAX

enum call_tree_kind { CALL_TREE_CALLERS, CALL_TREE_CALLEES };

struct call_tree_function {
	uint32_t dso; /* UINT32_MAX: in no binary */
	const struct pesa_symbol *symbol;
	uint32_t parent, child, next; /* CALL_TREE_NONE: none; the largest child first */
	unsigned int depth;
	bool open; /* for views: what is below it is shown */
	uint64_t weight;
	uint64_t own;		  /* callers: of the root itself; callees: of the function itself */
	struct cycle_stack stack; /* of `weight` */
};

struct call_tree {
	enum call_tree_kind kind;
	struct call_tree_function *function; /* 0: the root */
	uint32_t count, room;
	uint64_t without_chain; /* weight of samples of the root that have no callers */
};

struct call_tree_wanted {
	enum call_tree_kind kind;
	uint32_t dso;
	const struct pesa_symbol *symbol;
	bool own; /* only the cycles of the root itself, not of what it called */
	/* Only what was executed by the task of a group; NULL: all. */
	const struct profile_groups *groups;
	const struct profile_group *group;
};

/* Make the tree.  After an error there is nothing to free. */
struct pesa_error *call_tree_make(const struct profile_input *input, const struct pesa_export *rows,
				  const struct call_tree_wanted *wanted, struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* The function that follows in the order of the tree; CALL_TREE_NONE: it was the last.  What is below
 * `number` is passed over unless `enter`. */
uint32_t call_tree_next(const struct call_tree *tree, uint32_t number, bool enter);

/* What the functions below one are called in JSON. */
const char *call_tree_below(enum call_tree_kind kind);
/* A function with all that is below it, as JSON; what has less than `least` is left out. */
json_object *call_tree_json(const struct profile_input *input, const struct call_tree *tree,
			    uint64_t least);

#endif
