// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/report/calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "decoder/export/data.h"
#include "tools/names/match.h"

#define NAME_MAX_COLUMNS 60
#define BAR_COLUMNS	 10
#define INDENT_MOST	 40 /* levels that are indented; deeper ones stay visible */
#define BELOW_INDENT	 4  /* of what is below a row */
#define ROOTS_MOST	 8  /* functions of one name */

static const char *arrow(const struct report_calls *calls)
{
	if (calls->terminal->utf8)
		return calls->kind == CALL_TREE_CALLERS ? "← " : "→ ";
	return calls->kind == CALL_TREE_CALLERS ? "<- " : "-> ";
}

static struct pesa_error *make(const struct report_calls *calls,
			       const struct profile_groups *groups,
			       const struct profile_group *group, bool own, struct call_tree *tree)
{
	return call_tree_make(calls->input, calls->rows,
			      &(struct call_tree_wanted){.kind = calls->kind,
							 .dso = group->dso,
							 .symbol = group->symbol,
							 .own = own,
							 .groups = groups,
							 .group = group},
			      tree);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void add_figures(const struct report_calls *calls, const struct call_tree_function *one,
			struct ui_text *line)
{
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];

	ui_text_add(line, "%8s %8s ", ui_share(share, profile_share(calls->input, one->weight)),
		    profile_amount(calls->input, cycles, cycles_of(one->weight)));
}

/* Its own share, and its cycle stack. */
static void add_stack(const struct report_calls *calls, const struct call_tree_function *one,
		      struct ui_text *line)
{
	char share[UI_NUMBER_SIZE];

	ui_text_add(line, "%8s  ", ui_share(share, profile_share(calls->input, one->own)));
	if (calls->input->plain)
		return;
	cycle_stack_bar(line, calls->terminal, &one->stack, CYCLE_STATE_ALL, one->weight,
			BAR_COLUMNS);
	ui_text_add(line, "  ");
}

static void add_name(const struct report_calls *calls, const struct call_tree_function *one,
		     struct ui_text *line)
{
	unsigned int depth = one->depth < INDENT_MOST ? one->depth : INDENT_MOST;

	ui_text_add(line, "%*s%s", (int)depth * 2, "", depth ? arrow(calls) : "");
	ui_text_add_name(line, profile_symbol_name(one->symbol), NAME_MAX_COLUMNS,
			 calls->terminal->utf8);
	ui_text_add_safe(line, "  %s", profile_binary_name(calls->input, one->dso));
}

/* Print the functions of a tree; with the root, and columns of its own, if it is alone. */
static void print(const struct report_calls *calls, const struct call_tree *tree, bool alone)
{
	uint32_t number = 0;
	struct ui_text line = {0};

	while (number != CALL_TREE_NONE) {
		const struct call_tree_function *one = &tree->function[number];
		bool shown = !number || profile_share(calls->input, one->weight) >= calls->limit;

		if (shown && (number || alone)) {
			ui_text_clear(&line);
			add_figures(calls, one, &line);
			if (alone)
				add_stack(calls, one, &line);
			else
				ui_text_add(&line, "%*s", BELOW_INDENT, "");
			add_name(calls, one, &line);
			ui_print_line(calls->terminal, ui_text_get(&line));
		}
		number = call_tree_next(tree, number, shown);
	}
	ui_text_free(&line);
}

struct pesa_error *report_calls_below(const struct report_calls *calls,
				      const struct profile_groups *groups,
				      const struct profile_group *group)
{
	struct call_tree tree;
	struct pesa_error *error = make(calls, groups, group, !groups->children, &tree);

	if (error)
		return error;
	print(calls, &tree, false);
	call_tree_free(&tree);
	return NULL;
}

static uint64_t least_weight(const struct report_calls *calls)
{
	return (uint64_t)(calls->limit *
			  (double)pesa_profile_totals(calls->input->profile)->weight);
}

struct pesa_error *report_calls_json(const struct report_calls *calls,
				     const struct profile_groups *groups,
				     const struct profile_group *group, json_object *result)
{
	const char *below = call_tree_below(calls->kind);
	struct call_tree tree;
	struct pesa_error *error = make(calls, groups, group, !groups->children, &tree);
	json_object *root;

	if (error)
		return error;
	root = call_tree_json(calls->input, &tree, least_weight(calls));
	json_object_object_add(result, below, json_object_get(json_object_object_get(root, below)));
	json_object_put(root);
	call_tree_free(&tree);
	return NULL;
}

/* ---- Functions by name --------------------------------------------------------------------- */

struct named {
	const struct profile_group *group[ROOTS_MOST];
	size_t count; /* all; the first ROOTS_MOST are listed */
};

static const char *linkage_of(const struct profile_group *group)
{
	return group->symbol ? group->symbol->linkage_name : NULL;
}

static struct pesa_error *match(const struct profile_groups *functions, struct name_search *search,
				struct named *named)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < functions->count && !error; i++)
		error = name_search_consider(search,
					     profile_symbol_name(functions->group[i].symbol),
					     linkage_of(&functions->group[i]));
	for (size_t i = 0; i < functions->count && !error; i++) {
		const struct profile_group *group = &functions->group[i];
		bool means;

		error = name_search_means(search, profile_symbol_name(group->symbol),
					  linkage_of(group), &means);
		if (!error && means && named->count++ < ROOTS_MOST)
			named->group[named->count - 1] = group;
	}
	return error;
}

static struct pesa_error *find(const struct report_calls *calls,
			       const struct profile_groups *functions, const char *name,
			       struct named *named)
{
	struct name_search search;
	struct pesa_error *error = name_search_begin(&search, name);

	*named = (struct named){0};
	if (error)
		return error;
	error = match(functions, &search, named);
	if (!error && !named->count)
		error = pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: no function '%s' in samples or their call chains; %s%s%s'pesa report "
			"--children' lists those that are",
			calls->input->options->path, name, search.suggestion ? "do you mean '" : "",
			search.suggestion ? search.suggestion : "", search.suggestion ? "'? " : "");
	name_search_end(&search);
	return error;
}

static void print_heading(const struct report_calls *calls, const struct call_tree *tree)
{
	struct ui_text line = {0};

	ui_text_add(&line, "%s of %s", calls->kind == CALL_TREE_CALLERS ? "Callers" : "Callees",
		    ui_style(calls->terminal, UI_BOLD));
	ui_text_add_name(&line, profile_symbol_name(tree->function[0].symbol), NAME_MAX_COLUMNS,
			 calls->terminal->utf8);
	ui_text_add(&line, "%s", ui_style(calls->terminal, UI_PLAIN));
	ui_print_line(calls->terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "%s%8s %8s %8s  ", ui_style(calls->terminal, UI_BOLD), "Share",
		    profile_amount_title(calls->input), "Self");
	if (!calls->input->plain)
		ui_text_add(&line, "%-*s  ", BAR_COLUMNS, "Stack");
	ui_text_add(&line, "Function%s", ui_style(calls->terminal, UI_PLAIN));
	ui_print_line(calls->terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_alone(const struct report_calls *calls, const struct call_tree *tree)
{
	const struct call_tree_function *root = &tree->function[0];
	char share[UI_NUMBER_SIZE];

	print_heading(calls, tree);
	print(calls, tree, true);
	if (root->child == CALL_TREE_NONE)
		fprintf(calls->terminal->out, "  none\n");
	else if (calls->kind == CALL_TREE_CALLERS && tree->without_chain)
		fprintf(calls->terminal->out, "%8s without a caller\n",
			ui_share(share, profile_share(calls->input, tree->without_chain)));
	fputc('\n', calls->terminal->out);
}

struct pesa_error *report_calls_of(const struct report_calls *calls,
				   const struct profile_groups *functions, const char *name)
{
	struct named named;
	struct pesa_error *error = find(calls, functions, name, &named);

	for (size_t i = 0; i < named.count && i < ROOTS_MOST && !error; i++) {
		struct call_tree tree;

		error = make(calls, NULL, named.group[i], false, &tree);
		if (error)
			break;
		print_alone(calls, &tree);
		call_tree_free(&tree);
	}
	if (!error && named.count > ROOTS_MOST)
		fprintf(calls->terminal->out, "  %zu more functions of that name\n\n",
			named.count - ROOTS_MOST);
	return error;
}

struct pesa_error *report_calls_of_json(const struct report_calls *calls,
					const struct profile_groups *functions, const char *name,
					struct ui_json *json)
{
	struct named named;
	struct pesa_error *error = find(calls, functions, name, &named);

	if (error)
		return error;
	ui_json_array_begin(json, "call_trees");
	for (size_t i = 0; i < named.count && i < ROOTS_MOST && !error; i++) {
		struct call_tree tree;

		error = make(calls, NULL, named.group[i], false, &tree);
		if (error)
			break;
		ui_json_element(json, call_tree_json(calls->input, &tree, least_weight(calls)));
		call_tree_free(&tree);
	}
	ui_json_array_end(json);
	return error;
}
