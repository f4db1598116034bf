// SPDX-License-Identifier: GPL-2.0-or-later
/* Which rows are shown, in what order, and how they look.  See view.h. */
#include "tools/top/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HOT_SHARE	0.1 /* of all cycles; larger shares are highlighted */
#define BAR_COLUMNS	20
#define BAR_NARROW	10  /* columns of a bar on a narrow terminal */
#define NARROW		100 /* columns; narrower terminals are narrow */
#define FIGURES_COLUMNS 20  /* share and cycles */
#define BINARY_COLUMNS	16
#define NAME_COLUMNS	32
#define NAME_MIN	16
#define TASK_COLUMNS	18 /* "PID   TID" */
#define BUCKETS_MIN	24

static const char *const kind_names[TOP_KINDS] = {
	[TOP_FUNCTIONS] = "functions", [TOP_THREADS] = "threads", [TOP_PROCESSES] = "processes"};
static const char *const sort_names[TOP_SORTS] = {
	[TOP_SORT_CYCLES] = "cycles",	[TOP_SORT_RETIRING] = "retiring",
	[TOP_SORT_STALLED] = "stalled", [TOP_SORT_FLUSHED] = "flushed",
	[TOP_SORT_DRAINED] = "drained", [TOP_SORT_NAME] = "name"};

/* The index of a text among the names; -1: not found. */
static int find_name(const char *const *names, int count, const char *text)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], text))
			return i;
	return -1;
}

const char *top_kind_name(enum top_kind kind)
{
	return kind_names[kind];
}

bool top_kind_parse(const char *text, enum top_kind *kind)
{
	int index = find_name(kind_names, TOP_KINDS, text);

	if (index >= 0)
		*kind = (enum top_kind)index;
	return index >= 0;
}

const char *top_sort_name(enum top_sort sort)
{
	return sort_names[sort];
}

bool top_sort_parse(const char *text, enum top_sort *sort)
{
	int index = find_name(sort_names, TOP_SORTS, text);

	if (index >= 0)
		*sort = (enum top_sort)index;
	return index >= 0;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* The stack that a view shows. */
static const struct cycle_stack *shown_stack(const struct top_view *view,
					     const struct top_stacks *stacks)
{
	return view->total ? &stacks->total : &stacks->now;
}

/* The value by which rows are sorted, largest first. */
static uint64_t sort_value(const struct top_view *view, const struct top_row *row)
{
	const struct cycle_stack *stack = shown_stack(view, &row->stacks);

	switch (view->sort) {
	case TOP_SORT_RETIRING:
	case TOP_SORT_STALLED:
	case TOP_SORT_FLUSHED:
	case TOP_SORT_DRAINED:
		return stack->state_weight[view->sort - TOP_SORT_RETIRING];
	case TOP_SORT_NAME:
		return 0;
	default:
		return stack->weight;
	}
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct top_row *a = *(struct top_row *const *)left;
	const struct top_row *b = *(struct top_row *const *)right;
	uint64_t value_a = sort_value(context, a), value_b = sort_value(context, b);
	int order;

	if (value_a != value_b)
		return value_a > value_b ? -1 : 1;
	order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->binary, b->binary);
	if (!order)
		order = a->pid != b->pid   ? (a->pid < b->pid ? -1 : 1)
			: a->tid != b->tid ? (a->tid < b->tid ? -1 : 1)
					   : 0;
	return order;
}

static bool is_wanted(const struct top_view *view, const struct top_row *row)
{
	char task[24];

	if (!shown_stack(view, &row->stacks)->weight)
		return false;
	if (!*view->find || strstr(row->name, view->find) || strstr(row->binary, view->find))
		return true;
	if (view->kind == TOP_FUNCTIONS)
		return false;
	snprintf(task, sizeof(task), "%" PRIu32 " %" PRIu32, row->pid, row->tid);
	return strstr(task, view->find);
}

struct pesa_error *top_view_rows(const struct top_model *model, const struct top_view *view,
				 struct top_row ***result, size_t *result_count)
{
	const struct top_rows *all = top_model_rows(model, view->kind);
	struct top_row **rows = calloc(all->count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return pesa_error_no_memory();
	for (size_t i = 0; i < all->count; i++)
		if (is_wanted(view, all->row[i])) {
			cycle_stack_sort(&all->row[i]->stacks.now);
			cycle_stack_sort(&all->row[i]->stacks.total);
			rows[count++] = all->row[i];
		}
	if (count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, (void *)view);
	*result = rows;
	*result_count = count;
	return NULL;
}

/* ---- Lines --------------------------------------------------------------------------------- */

static uint64_t number_of(const struct top_view *view, struct top_number number)
{
	return view->total ? number.total : number.now;
}

/* The weight of all samples, attributed to a function or not. */
static uint64_t whole_weight(const struct top_model *model, const struct top_view *view)
{
	return shown_stack(view, top_model_whole(model))->weight +
	       number_of(view, top_model_unattributed(model));
}

static double share_of(uint64_t weight, uint64_t whole)
{
	return whole ? (double)weight / (double)whole : 0;
}

/* Cycles, time or a count, as the event has it. */
static const char *amount(const struct top_model *model, char number[UI_NUMBER_SIZE],
			  uint64_t weight)
{
	double value = cycles_of(weight);

	return top_model_unit(model) == TOP_TIME ? ui_time(number, value) : ui_count(number, value);
}

void top_view_summary(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line)
{
	uint64_t whole = whole_weight(model, view);
	uint64_t unattributed = number_of(view, top_model_unattributed(model));
	char number[UI_NUMBER_SIZE];

	ui_text_add(line, "%s%s%s", ui_style(terminal, UI_BOLD),
		    *top_model_event(model) ? top_model_event(model) : "no samples yet",
		    ui_style(terminal, UI_PLAIN));
	ui_text_add(line, ", %s: ", view->total ? "since the start" : "last interval");
	ui_text_add(line, "%s %s", amount(model, number, whole),
		    top_model_unit(model) == TOP_TIME	 ? "of time"
		    : top_model_unit(model) == TOP_OTHER ? "counted"
							 : "cycles");
	ui_text_add(line, ", %s samples",
		    ui_count(number, (double)number_of(view, top_model_samples(model))));
	ui_text_add(line, ", %s lost",
		    ui_count(number, (double)number_of(view, top_model_lost(model))));
	if (unattributed)
		ui_text_add(line, ", %s unattributed",
			    ui_share(number, share_of(unattributed, whole)));
}

void top_view_whole(const struct top_model *model, const struct top_view *view,
		    const struct ui_terminal *terminal, struct ui_text *line)
{
	const struct cycle_stack *stack = shown_stack(view, top_model_whole(model));
	char number[UI_NUMBER_SIZE];

	if (top_model_plain(model)) {
		ui_text_add(line, "samples of this event have no details: no cycle stacks");
		return;
	}
	cycle_stack_bar(line, terminal, stack, CYCLE_STATE_ALL, stack->weight, BAR_COLUMNS * 2);
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		ui_text_add(line, "  %s%s %s%s",
			    ui_style(terminal, (enum ui_style)(UI_RETIRING + state)),
			    pesa_state_name(state),
			    ui_share(number, share_of(stack->state_weight[state], stack->weight)),
			    ui_style(terminal, UI_PLAIN));
}

static unsigned int bar_columns(const struct ui_terminal *terminal)
{
	return terminal->width && terminal->width < NARROW ? BAR_NARROW : BAR_COLUMNS;
}

/* Columns that the names may use: what the other columns leave. */
static size_t name_columns(const struct top_model *model, const struct top_view *view,
			   const struct ui_terminal *terminal)
{
	size_t used = FIGURES_COLUMNS + BUCKETS_MIN;

	used += view->kind == TOP_FUNCTIONS ? BINARY_COLUMNS + 2 : TASK_COLUMNS;
	if (!top_model_plain(model))
		used += bar_columns(terminal) + 2;
	if (!terminal->width || terminal->width >= used + NAME_COLUMNS)
		return NAME_COLUMNS;
	return terminal->width > used + NAME_MIN ? terminal->width - used : NAME_MIN;
}

void top_view_heading(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line)
{
	bool plain = top_model_plain(model);

	ui_text_add(line, "%s%8s %8s  ", ui_style(terminal, UI_BOLD), "Share",
		    top_model_unit(model) == TOP_TIME	 ? "Time"
		    : top_model_unit(model) == TOP_OTHER ? "Counted"
							 : "Cycles");
	if (!plain)
		ui_text_add(line, "%-*s  ", (int)bar_columns(terminal), "Stack");
	if (view->kind == TOP_FUNCTIONS)
		ui_text_add(line, "%-*s  %-*s  ", BINARY_COLUMNS, "Binary",
			    (int)name_columns(model, view, terminal), "Function");
	else
		ui_text_add(line, "%8s%9s %-*s  ", "Process",
			    view->kind == TOP_THREADS ? "Thread" : "",
			    (int)name_columns(model, view, terminal), "Name");
	ui_text_add(line, "%s%s", plain ? "" : "Largest buckets", ui_style(terminal, UI_PLAIN));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void add_visible(struct ui_text *line, const char *text, size_t columns, bool utf8,
			bool function)
{
	struct ui_text name = {0};

	if (function)
		ui_text_add_name(&name, text, columns, utf8);
	else
		ui_text_add_safe(&name, "%s", text);
	ui_text_add_cut(line, ui_text_get(&name), columns, utf8);
	ui_text_free(&name);
}

static void add_name(const struct top_model *model, const struct top_view *view,
		     const struct top_row *row, const struct ui_terminal *terminal,
		     struct ui_text *line)
{
	size_t columns = name_columns(model, view, terminal), column;

	if (view->kind == TOP_FUNCTIONS) {
		column = ui_columns(ui_text_get(line));
		add_visible(line, base_name(row->binary), BINARY_COLUMNS, terminal->utf8, false);
		ui_text_pad(line, column + BINARY_COLUMNS + 2);
	} else {
		ui_text_add(line, "%8" PRIu32, row->pid);
		if (view->kind == TOP_THREADS)
			ui_text_add(line, "%9" PRIu32 " ", row->tid);
		else
			ui_text_add(line, "%10s", "");
	}
	column = ui_columns(ui_text_get(line));
	add_visible(line, row->name, columns, terminal->utf8, view->kind == TOP_FUNCTIONS);
	ui_text_pad(line, column + columns + 2);
}

void top_view_row(const struct top_model *model, const struct top_view *view,
		  const struct top_row *row, const struct ui_terminal *terminal,
		  struct ui_text *line)
{
	const struct cycle_stack *stack = shown_stack(view, &row->stacks);
	double share = share_of(stack->weight, whole_weight(model, view));
	char number[UI_NUMBER_SIZE];
	size_t column;

	ui_text_add(line, "%s%8s%s", share >= HOT_SHARE ? ui_style(terminal, UI_HOT) : "",
		    ui_share(number, share),
		    share >= HOT_SHARE ? ui_style(terminal, UI_PLAIN) : "");
	ui_text_add(line, " %8s  ", amount(model, number, stack->weight));
	if (!top_model_plain(model)) {
		cycle_stack_bar(line, terminal, stack, CYCLE_STATE_ALL, stack->weight,
				bar_columns(terminal));
		ui_text_add(line, "  ");
	}
	add_name(model, view, row, terminal, line);
	column = ui_columns(ui_text_get(line));
	if (!top_model_plain(model))
		cycle_stack_buckets(line, terminal, stack, top_model_capabilities(model),
				    CYCLE_STATE_ALL, stack->weight,
				    !terminal->width ? 80
				    : terminal->width > column
					    ? (unsigned int)(terminal->width - column)
					    : 1);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

struct pesa_error *top_view_json(const struct top_model *model, const struct top_view *view,
				 struct ui_json *json)
{
	const struct pesa_capabilities *capabilities = top_model_capabilities(model);
	uint64_t whole = whole_weight(model, view);
	struct pesa_error *error;
	struct top_row **rows;
	size_t count;

	error = top_view_rows(model, view, &rows, &count);
	if (error)
		return error;
	ui_json_member(json, "event", ui_json_string(top_model_event(model)));
	ui_json_member(json, "view", ui_json_string(top_kind_name(view->kind)));
	ui_json_member(json, "since_start", json_object_new_boolean(view->total));
	ui_json_member(json, "samples", ui_json_count(number_of(view, top_model_samples(model))));
	ui_json_member(json, "lost", ui_json_count(number_of(view, top_model_lost(model))));
	ui_json_member(json, "cycles", ui_json_number(cycles_of(whole)));
	ui_json_member(json, "unattributed",
		       ui_json_number(cycles_of(number_of(view, top_model_unattributed(model)))));
	ui_json_member(json, "stack",
		       cycle_stack_json(shown_stack(view, top_model_whole(model)), capabilities));
	ui_json_array_begin(json, "rows");
	for (size_t i = 0; i < count; i++) {
		const struct cycle_stack *stack = shown_stack(view, &rows[i]->stacks);
		json_object *row = json_object_new_object();

		if (view->kind == TOP_FUNCTIONS) {
			json_object_object_add(row, "symbol", ui_json_string(rows[i]->name));
			json_object_object_add(row, "dso", ui_json_string(rows[i]->binary));
		} else {
			json_object_object_add(row, "pid", ui_json_count(rows[i]->pid));
			if (view->kind == TOP_THREADS)
				json_object_object_add(row, "tid", ui_json_count(rows[i]->tid));
			json_object_object_add(row, "name", ui_json_string(rows[i]->name));
		}
		json_object_object_add(row, "cycles", ui_json_number(cycles_of(stack->weight)));
		json_object_object_add(row, "share",
				       ui_json_number(share_of(stack->weight, whole)));
		json_object_object_add(row, "stack", cycle_stack_json(stack, capabilities));
		ui_json_element(json, row);
	}
	ui_json_array_end(json);
	free(rows);
	return NULL;
}
