/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers and callees as text, and as JSON: below the rows of a report, or of one function alone. */
#ifndef TOOLS_REPORT_CALLS_H
#define TOOLS_REPORT_CALLS_H

#include "tools/groups/call_tree.h"
#include "tools/table/groups.h"

struct report_calls {
	const struct profile_input *input;
	const struct pesa_export *rows;
	const struct ui_terminal *terminal;
	enum call_tree_kind kind;
	double limit; /* share of all cycles, below which functions are left out */
};

/* Print what is below a group. */
struct pesa_error *report_calls_below(const struct report_calls *calls,
				      const struct profile_groups *groups,
				      const struct profile_group *group);

/* Add what is below a group to its JSON, as "callers" or "callees". */
struct pesa_error *report_calls_json(const struct report_calls *calls,
				     const struct profile_groups *groups,
				     const struct profile_group *group, json_object *result);

/*
 * The trees of the functions that a typed name means (tools/names/match.h), among `functions`: print
 * them, or write them as the array "call_trees".  An error if no function is named so.
 */
struct pesa_error *report_calls_of(const struct report_calls *calls,
				   const struct profile_groups *functions, const char *name);
struct pesa_error *report_calls_of_json(const struct report_calls *calls,
					const struct profile_groups *functions, const char *name,
					struct ui_json *json);

#endif
