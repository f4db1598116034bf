// SPDX-License-Identifier: GPL-2.0-or-later
/* The groups of the report: functions, unless --sort names other keys. */
#include <stdlib.h>
#include <string.h>

#include "tools/browse/browse.h"
#include "tools/table/groups.h"

#define BAR_COLUMNS 40

struct functions {
	struct group_table table;
	size_t *shown; /* indexes of groups */
	size_t count;
};

static bool is_large(const struct browse *browse, const struct profile_group *group)
{
	return profile_share(browse->report->input, profile_group_weight(&browse->groups, group)) >=
	       browse->report->limit;
}

static struct pesa_error *fit(struct browse *browse, struct browse_view *view)
{
	struct functions *functions = view->state;
	const struct profile_groups *groups = &browse->groups;
	struct pesa_error *error;
	struct ui_text line = {0};
	size_t large = 0;

	/* The last group that is large enough: hidden ones after it make no column wider. */
	for (size_t i = 0; i < groups->count; i++)
		if (is_large(browse, &groups->group[i]))
			large = i + 1;
	error = group_table_measure(&functions->table, groups, large);
	functions->count = 0;
	for (size_t i = 0; i < large && !error; i++) {
		if (!is_large(browse, &groups->group[i]))
			continue;
		ui_text_clear(&line);
		ui_text_add(&line, "%s ",
			    pesa_profile_dso(browse->report->input->profile, groups->group[i].dso)
				    ->path);
		ui_text_add(&line, "%s ", profile_symbol_name(groups->group[i].symbol));
		if (browse->report->grouping.keys &
		    (GROUP_BY_LINE | GROUP_BY_FILE | GROUP_BY_INSN | GROUP_BY_TASK))
			error = group_table_row(&functions->table, &groups->group[i], &line);
		if (browse_contains(ui_text_get(&line), view->find))
			functions->shown[functions->count++] = i;
	}
	ui_text_free(&line);
	return error;
}

static struct pesa_error *open_functions(struct browse *browse, struct browse_view *view,
					 const struct browse_target *target __attribute__((unused)))
{
	struct functions *functions = calloc(1, sizeof(*functions));

	view->state = functions;
	if (!functions)
		return pesa_error_no_memory();
	functions->table = (struct group_table){.input = browse->report->input,
						.terminal = browse->terminal,
						.isas = browse->report->isas,
						.sources = browse->sources,
						.keys = browse->report->grouping.keys,
						.children = browse->report->grouping.children};
	functions->shown = calloc(browse->groups.count + 1, sizeof(*functions->shown));
	return functions->shown ? NULL : pesa_error_no_memory();
}

static void close_functions(struct browse_view *view)
{
	struct functions *functions = view->state;

	if (functions)
		free(functions->shown);
	free(functions);
}

static size_t count_functions(const struct browse *browse __attribute__((unused)),
			      const struct browse_view *view)
{
	return ((const struct functions *)view->state)->count;
}

static void add_title(const struct browse *browse,
		      const struct browse_view *view __attribute__((unused)), struct ui_text *line)
{
	const struct profile_input *input = browse->report->input;
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const char *command = pesa_profile_cmdline(input->profile);
	char amount[UI_NUMBER_SIZE], samples[UI_NUMBER_SIZE], lost[UI_NUMBER_SIZE];

	ui_text_add(line, "%s", ui_style(browse->terminal, UI_BOLD));
	ui_text_add_safe(line, "%s", pesa_profile_event(input->profile));
	ui_text_add(line, "%s, %s %s, ", ui_style(browse->terminal, UI_PLAIN),
		    profile_amount(input, amount, cycles_of(totals->weight)),
		    profile_amount_unit(input));
	if (totals->exact)
		ui_text_add(line, "exact");
	else
		ui_text_add(line, "%s samples, %s lost", ui_count(samples, (double)totals->samples),
			    ui_count(lost, (double)totals->lost));
	ui_text_add(line, ": ");
	ui_text_add_safe(line, "%s", command ? command : input->options->path);
}

static void add_summary(const struct browse *browse,
			const struct browse_view *view __attribute__((unused)),
			struct ui_text *line)
{
	const struct profile_input *input = browse->report->input;
	const struct ui_terminal *terminal = browse->terminal;
	char share[UI_NUMBER_SIZE];

	if (input->plain) {
		ui_text_add(line, "samples of this event have no details: no cycle stacks");
		return;
	}
	if (terminal->width >= 110)
		cycle_stack_bar(line, terminal, &input->stack, CYCLE_STATE_ALL, input->stack.weight,
				BAR_COLUMNS);
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		ui_text_add(line, "%s%s%s %s%s", line->length ? "  " : "",
			    ui_style(terminal, (enum ui_style)(UI_RETIRING + state)),
			    pesa_state_name(state),
			    ui_share(share, profile_share(input, input->stack.state_weight[state])),
			    ui_style(terminal, UI_PLAIN));
}

static void add_heading(const struct browse *browse __attribute__((unused)),
			const struct browse_view *view, struct ui_text *line)
{
	group_table_heading(&((const struct functions *)view->state)->table, line);
}

static struct pesa_error *add_row(const struct browse *browse, const struct browse_view *view,
				  size_t index, struct ui_text *line)
{
	struct functions *functions = view->state;

	return group_table_row(&functions->table, &browse->groups.group[functions->shown[index]],
			       line);
}

static struct pesa_error *take_key(struct browse *browse, struct browse_view *view, int key,
				   struct browse_target *target)
{
	const struct functions *functions = view->state;
	const struct profile_group *group;
	const struct pesa_instruction *one;

	if (view->list.selected >= functions->count)
		return NULL;
	group = &browse->groups.group[functions->shown[view->list.selected]];
	if (!browse_is_enter(key) && key != 'a' && key != 'c' && key != 'w')
		return NULL;
	if (!(browse->report->grouping.keys & (GROUP_BY_SYMBOL | GROUP_BY_LINE | GROUP_BY_INSN))) {
		snprintf(browse->message, sizeof(browse->message),
			 "a binary has no code of its own: --sort dso,symbol");
		return NULL;
	}
	target->what = key == 'c' ? BROWSE_CALLERS : key == 'w' ? BROWSE_WHY : BROWSE_CODE;
	target->dso = group->dso;
	target->symbol = group->symbol;
	one = group->instruction ? group->instruction : group->entry;
	if (one && browse->report->grouping.keys & (GROUP_BY_LINE | GROUP_BY_INSN)) {
		target->symbol = profile_symbol(browse->report->input, group->dso, one->address);
		target->has_address = true;
		target->address = one->address;
	}
	return NULL;
}

const struct browse_kind browse_functions = {
	.keys = "?: help, q: quit, Enter: code, c: callers, w: why, /: search",
	.filters = true,
	.open = open_functions,
	.close = close_functions,
	.fit = fit,
	.count = count_functions,
	.title = add_title,
	.summary = add_summary,
	.heading = add_heading,
	.row = add_row,
	.key = take_key,
};
