/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "tools/table/groups.h"
#include "tools/ui/text.h"

#define NANOSECONDS	1000000000
#define BAR_COLUMNS	20
#define TASK_MAX	40 /* columns of a command or a control group */
#define DSO_MAX		28
#define LABEL_MAX	48 /* columns: longer names push what follows to the right */
#define SOURCE_COLUMN	20 /* of a label, where the text of a source line begins */
#define FIGURES_COLUMNS 32 /* share, cycles, executions and the blanks between columns */
#define EXECS_COLUMNS	9  /* of these, those of the executions */
#define BAR_LEAST	4  /* of a stack, where names would be cut even without executions */
#define BUCKETS_LEAST	26 /* of the largest buckets beside whole names */
#define BUCKETS_FEW	14 /* ... beside shortened ones */
#define BUCKETS_COLUMNS 60 /* ... where the width is unlimited */
#define EXECUTED	(GROUP_BY_SYMBOL | GROUP_BY_LINE | GROUP_BY_INSN) /* keys with executions */
#define HOT_SHARE	0.1 /* of all cycles: in the colour of what is hot */

/* ---- Columns of tasks ------------------------------------------------------------------------ */

static void add_time(const struct profile_task *task, struct ui_text *line)
{
	if (task->has_time)
		ui_text_add(line, "%" PRIu64 ".%09" PRIu64, task->time / NANOSECONDS,
			    task->time % NANOSECONDS);
}

static void add_comm(const struct profile_task *task, struct ui_text *line)
{
	if (task->comm)
		ui_text_add_safe(line, "%s", task->comm);
}

static void add_pid(const struct profile_task *task, struct ui_text *line)
{
	ui_text_add(line, "%" PRIu32, task->pid);
}

static void add_tid(const struct profile_task *task, struct ui_text *line)
{
	ui_text_add(line, "%" PRIu32, task->tid);
}

static void add_cpu(const struct profile_task *task, struct ui_text *line)
{
	if (task->cpu != GROUP_NOT_RECORDED)
		ui_text_add(line, "%" PRIu32, task->cpu);
}

static void add_cgroup(const struct profile_task *task, struct ui_text *line)
{
	if (task->cgroup)
		ui_text_add_safe(line, "%s", task->cgroup);
}

/* In the order of columns. */
static const struct {
	unsigned int key;
	const char *title;
	void (*add)(const struct profile_task *task,
		    struct ui_text *line); /* nothing: not recorded */
} task_columns[GROUP_TASK_COLUMNS] = {
	{GROUP_BY_TIME, "Time (s)", add_time}, {GROUP_BY_COMM, "Command", add_comm},
	{GROUP_BY_PID, "Process", add_pid},    {GROUP_BY_TID, "Thread", add_tid},
	{GROUP_BY_CPU, "CPU", add_cpu},	       {GROUP_BY_CGROUP, "Cgroup", add_cgroup},
};

static void add_task_cell(const struct profile_group *group, size_t column, struct ui_text *cell)
{
	ui_text_clear(cell);
	task_columns[column].add(&group->task, cell);
	if (!cell->length)
		ui_text_add(cell, "[not recorded]");
}

static void measure_tasks(struct group_table *table, const struct profile_groups *groups,
			  size_t rows)
{
	struct ui_text cell = {0};

	for (size_t i = 0; i < GROUP_TASK_COLUMNS; i++) {
		table->task_width[i] = 0;
		if (!(table->keys & task_columns[i].key))
			continue;
		table->task_width[i] = strlen(task_columns[i].title);
		for (size_t row = 0; row < rows; row++) {
			size_t columns;

			add_task_cell(&groups->group[row], i, &cell);
			columns = ui_columns(ui_text_get(&cell));
			if (columns > table->task_width[i])
				table->task_width[i] = columns < TASK_MAX ? columns : TASK_MAX;
		}
	}
	ui_text_free(&cell);
}

static size_t task_columns_width(const struct group_table *table)
{
	size_t width = 0;

	for (size_t i = 0; i < GROUP_TASK_COLUMNS; i++)
		width += table->task_width[i] ? table->task_width[i] + 2 : 0;
	return width;
}

/* The cells of a group, or the titles. */
static void add_tasks(const struct group_table *table, const struct profile_group *group,
		      struct ui_text *line)
{
	struct ui_text cell = {0};

	for (size_t i = 0; i < GROUP_TASK_COLUMNS; i++) {
		size_t end = ui_columns(ui_text_get(line)) + table->task_width[i] + 2;

		if (!table->task_width[i])
			continue;
		if (group)
			add_task_cell(group, i, &cell);
		ui_text_add_cut(line, group ? ui_text_get(&cell) : task_columns[i].title,
				table->task_width[i], table->terminal->utf8);
		ui_text_pad(line, end);
	}
	ui_text_free(&cell);
}

/* ---- The place ------------------------------------------------------------------------------- */

/* "file.c:12  its text"; the text only if the row is a single line. */
static struct pesa_error *add_line(struct group_table *table, const struct profile_group *group,
				   const char *separator, struct ui_text *line)
{
	const struct pesa_source *source = &group->source;
	struct ui_text blanks = {0};
	struct pesa_error *error;
	const char *text;
	size_t column;

	error = source_text_line(table->sources, source->file, source->line, &text);
	if (error)
		return error;
	ui_text_add_safe(line, "%s%s:%u", separator, profile_base_name(source->file), source->line);
	if (!text || table->keys & (GROUP_BY_INSN | GROUP_BY_SYMBOL))
		return NULL;
	ui_text_pad(line, SOURCE_COLUMN);
	column = ui_columns(ui_text_get(line));
	/* Replace tabs by blanks in a cell. */
	ui_text_add_source(&blanks, text + strspn(text, " \t"));
	for (size_t i = 0; i < blanks.length; i++)
		if (blanks.text[i] == '\t')
			blanks.text[i] = ' ';
	ui_text_add_cut(line, ui_text_get(&blanks), column < LABEL_MAX ? LABEL_MAX - column : 1,
			table->terminal->utf8);
	ui_text_free(&blanks);
	return NULL;
}

static struct pesa_error *add_place(struct group_table *table, const struct profile_group *group,
				    struct ui_text *line)
{
	struct pesa_error *error = NULL;
	const char *separator = "";

	if (table->keys & GROUP_BY_INSN) {
		const struct pesa_instruction *instruction = group->instruction;
		struct listing_row row = {.address = instruction->address};

		listing_decode(table->input, table->isas, instruction->dso, &row);
		ui_text_add(line, "%" PRIx64 "  %s", row.address, row.text);
		separator = "  ";
	}
	if (table->keys & GROUP_BY_LINE) {
		if (group->source.file)
			error = add_line(table, group, separator, line);
		else
			ui_text_add(line, "%s[no line]", separator);
		separator = "  ";
	}
	if (table->keys & GROUP_BY_FILE && !(table->keys & GROUP_BY_LINE)) {
		ui_text_add_safe(line, "%s%s", separator,
				 group->source.file ? profile_base_name(group->source.file)
						    : "[no file]");
		separator = "  ";
	}
	if (table->keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN)) {
		ui_text_add(line, "%s", separator);
		ui_text_add_name(line, profile_symbol_name(group->symbol), LABEL_MAX,
				 table->terminal->utf8);
	}
	return error;
}

/* Executions and the bar; nothing for a profile without cycle stacks. */
static void add_stack(const struct group_table *table, const struct profile_group *group,
		      struct ui_text *line)
{
	char number[UI_NUMBER_SIZE];

	if (table->input->plain) {
		ui_text_add(line, " ");
		return;
	}
	if (!table->executions)
		ui_text_add(line, " ");
	else if (!group->has_executions)
		ui_text_add(line, "%8s  ", "");
	else if (!profile_group_has_enough(table->input, group))
		ui_text_add(line, "%8s  ", "too few");
	else
		ui_text_add(
			line, "%8s  ",
			ui_count(number, (double)profile_group_executions(table->input, group)));
	if (table->children) {
		cycle_stack_bar(line, table->terminal, &group->all, CYCLE_STATE_ALL,
				group->all_weight, (unsigned int)table->bar_width);
		ui_text_add(line, "  ");
	}
	cycle_stack_bar(line, table->terminal, &group->stack, CYCLE_STATE_ALL, group->weight,
			(unsigned int)table->bar_width);
	ui_text_add(line, "  ");
}

static void add_buckets(const struct group_table *table, const struct profile_group *group,
			struct ui_text *line)
{
	size_t column = ui_columns(ui_text_get(line)), width = table->terminal->width;
	size_t room = !width ? BUCKETS_COLUMNS : width > column ? width - column : 0;

	if (!table->input->plain && room > 12)
		cycle_stack_buckets(
			line, table->terminal, table->children ? &group->all : &group->stack,
			pesa_profile_capabilities(table->input->profile), CYCLE_STATE_ALL,
			table->children ? group->all_weight : group->weight, (unsigned int)room);
}

/* ---- Shortened names ------------------------------------------------------------------------ */

/* Columns of the text of a place. */
static size_t label_columns(const struct group_table *table)
{
	return table->terminal->width ? table->label_width : LABEL_MAX;
}

static void add_short_name(const struct group_table *table, const char *name, struct ui_text *line)
{
	struct ui_text text = {0};

	ui_text_add_name(&text, name, LABEL_MAX, table->terminal->utf8);
	ui_text_add_cut(line, ui_text_get(&text), table->terminal->width ? table->label_width : 0,
			table->terminal->utf8);
	ui_text_free(&text);
}

static size_t common_length(const char *one, const char *other)
{
	size_t length = 0;

	while (one[length] && one[length] == other[length])
		length++;
	return length;
}

/*
 * Where the name of a group first and last differs from others of the table that look the same when
 * they are shortened.  Returns whether there are any.
 */
static bool find_differences(const struct group_table *table, const struct profile_group *group,
			     size_t *first, size_t *last)
{
	const char *name = group->symbol->name;
	struct ui_text own = {0}, text = {0};
	bool found = false;

	add_short_name(table, name, &own);
	for (size_t i = 0; i < table->rows; i++) {
		const struct profile_group *other = &table->groups->group[i];
		size_t common = other->symbol && other->dso == group->dso
					? common_length(name, other->symbol->name)
					: 0;

		if (!common || !strcmp(name, other->symbol->name))
			continue;
		ui_text_clear(&text);
		add_short_name(table, other->symbol->name, &text);
		if (strcmp(ui_text_get(&own), ui_text_get(&text)))
			continue;
		*first = !found || common < *first ? common : *first;
		*last = !found || common > *last ? common : *last;
		found = true;
	}
	ui_text_free(&own);
	ui_text_free(&text);
	return found;
}

/*
 * A name that would look like that of another row when it is shortened as usual: the part where they
 * differ, after a mark.  Returns false if there is no such row.
 */
static bool add_distinct_name(const struct group_table *table, const struct profile_group *group,
			      struct ui_text *line)
{
	const bool utf8 = table->terminal->utf8;
	const size_t columns = label_columns(table);
	const char *name;
	size_t first = 0, last = 0, from, room;

	if (table->keys & (GROUP_BY_LINE | GROUP_BY_INSN) || !group->symbol ||
	    strlen(group->symbol->name) <= columns ||
	    !find_differences(table, group, &first, &last))
		return false;
	name = group->symbol->name;
	/* With some of the text before it, if the last difference is seen then, too. */
	from = last + 4 < columns ? 0 : last + 4 - columns + columns / 4;
	if (from > first && last - first + 4 < columns)
		from = first;
	/* All of what follows, and as much before it as there is room for. */
	room = columns - (utf8 ? 1 : 2);
	if (from && strlen(name + from) < room)
		from = strlen(name) - room;
	while (from && !ui_begins_character(name[from]))
		from--;
	if (from)
		ui_text_add(line, "%s", utf8 ? "…" : "..");
	else
		room = columns;
	/* A last ">" would look like a bracket of the name. */
	if (utf8 || strlen(name + from) <= room)
		ui_text_add_cut(line, name + from, room, utf8);
	else
		ui_text_add_safe(line, "%.*s..", (int)room - 2, name + from);
	return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct pesa_error *group_table_row(struct group_table *table, const struct profile_group *group,
				   struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	uint64_t weight = table->children ? group->all_weight : group->weight;
	double share = profile_share(table->input, weight);
	char number[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];
	struct ui_text place = {0};
	struct pesa_error *error = NULL;
	size_t column;

	ui_text_add(line, "%s%8s%s ", share >= HOT_SHARE ? ui_style(terminal, UI_HOT) : "",
		    ui_share(number, share),
		    share >= HOT_SHARE ? ui_style(terminal, UI_PLAIN) : "");
	if (table->children)
		ui_text_add(line, "%8s ",
			    ui_share(number, profile_share(table->input, group->weight)));
	ui_text_add(line, "%8s ", profile_amount(table->input, cycles, cycles_of(weight)));
	add_stack(table, group, line);
	add_tasks(table, group, line);
	column = ui_columns(ui_text_get(line));
	if (table->dso_width) {
		const char *path = pesa_profile_dso(table->input->profile, group->dso)->path;

		ui_text_add_cut(line, profile_base_name(path),
				terminal->width ? table->dso_width : 0, terminal->utf8);
		column += table->dso_width + 2;
		ui_text_pad(line, column);
	}
	if (!table->label_width)
		return add_buckets(table, group, line), NULL;
	if (!add_distinct_name(table, group, line)) {
		error = add_place(table, group, &place);
		ui_text_add_cut(line, ui_text_get(&place), terminal->width ? table->label_width : 0,
				terminal->utf8);
		ui_text_free(&place);
	}
	ui_text_pad(line, column + table->label_width + 2);
	add_buckets(table, group, line);
	return error;
}

/* Columns of the longest name of a binary, and of the longest place. */
static struct pesa_error *measure(struct group_table *table, const struct profile_groups *groups,
				  size_t rows)
{
	struct pesa_error *error = NULL;
	struct ui_text line = {0};

	table->groups = groups;
	table->rows = rows;
	table->dso_width = strlen("Binary");
	table->label_width = strlen("Function");
	for (size_t i = 0; i < rows && !error; i++) {
		const struct profile_group *group = &groups->group[i];
		const char *path = pesa_profile_dso(table->input->profile, group->dso)->path;
		size_t columns;

		ui_text_clear(&line);
		ui_text_add_safe(&line, "%s", profile_base_name(path));
		columns = ui_columns(ui_text_get(&line));
		if (columns > table->dso_width)
			table->dso_width = columns;
		ui_text_clear(&line);
		error = add_place(table, group, &line);
		columns = ui_columns(ui_text_get(&line));
		if (columns > table->label_width)
			table->label_width = columns;
	}
	ui_text_free(&line);
	if (table->dso_width > DSO_MAX)
		table->dso_width = DSO_MAX;
	if (table->label_width > LABEL_MAX)
		table->label_width = LABEL_MAX;
	return error;
}

/* What is left of the binary. */
static size_t figures_columns(const struct group_table *table)
{
	return FIGURES_COLUMNS + table->bar_width + task_columns_width(table) +
	       (table->children ? 9 + table->bar_width + 2 : 0);
}

/* On a terminal, shorten columns step by step until a row fits, its buckets included. */
static void fit(struct group_table *table, size_t width)
{
	const struct {
		size_t *column, least,
			buckets; /* what the step leaves of the column and to buckets */
	} steps[] = {
		{&table->dso_width, 14, BUCKETS_LEAST},	  {&table->bar_width, 12, BUCKETS_LEAST},
		{&table->label_width, 28, BUCKETS_LEAST}, {&table->dso_width, 8, BUCKETS_FEW},
		{&table->bar_width, 8, BUCKETS_FEW},	  {&table->label_width, 16, 0},
	};
	size_t whole;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		size_t taken = figures_columns(table) + table->dso_width + 2 + table->label_width +
			       2 + steps[i].buckets;
		size_t *column = steps[i].column, excess = taken > width ? taken - width : 0;

		if (*column > steps[i].least)
			*column = *column > steps[i].least + excess ? *column - excess
								    : steps[i].least;
	}
	whole = figures_columns(table) + table->dso_width + 2 + table->label_width;
	table->executions = whole <= width;
	if (whole > width + EXECS_COLUMNS && table->bar_width > BAR_LEAST)
		table->bar_width = BAR_LEAST;
}

struct pesa_error *group_table_measure(struct group_table *table,
				       const struct profile_groups *groups, size_t rows)
{
	struct pesa_error *error = measure(table, groups, rows);

	table->executions = true;
	table->bar_width = table->children ? BAR_COLUMNS / 2 : BAR_COLUMNS;
	measure_tasks(table, groups, rows);
	if (!error && table->terminal->width)
		fit(table, table->terminal->width);
	if (!(table->keys & (GROUP_BY_DSO | GROUP_BY_INSN)))
		table->dso_width = 0;
	if (table->keys & GROUP_BY_TASK &&
	    !(table->keys & (GROUP_BY_SYMBOL | GROUP_BY_LINE | GROUP_BY_FILE | GROUP_BY_INSN)))
		table->label_width = 0;
	return error;
}

void group_table_heading(const struct group_table *table, struct ui_text *line)
{
	static const struct {
		unsigned int key;
		const char *title;
	} titles[] = {
		{GROUP_BY_INSN, "Instruction"},
		{GROUP_BY_LINE, "Line"},
		{GROUP_BY_FILE, "File"},
		{GROUP_BY_SYMBOL, "Function"},
	};
	const char *title = "";

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles) && !*title; i++)
		if (table->keys & titles[i].key)
			title = titles[i].title;
	ui_text_add(line, "%s%8s ", ui_style(table->terminal, UI_BOLD),
		    table->children ? "Children" : "Share");
	if (table->children)
		ui_text_add(line, "%8s ", "Self");
	ui_text_add(line, "%8s ", profile_amount_title(table->input));
	if (table->input->plain)
		ui_text_add(line, " ");
	else
		ui_text_add(line, "%*s%s%-*s  ", table->executions ? 8 : 0,
			    !table->executions || !(table->keys & EXECUTED) ? "" : "Execs",
			    table->executions ? "  " : " ", (int)table->bar_width, "Stack");
	if (table->children && !table->input->plain)
		ui_text_add(line, "%-*s  ", (int)table->bar_width, "of Self");
	add_tasks(table, NULL, line);
	if (table->dso_width)
		ui_text_add(line, "%-*s  ", (int)table->dso_width, "Binary");
	if (table->label_width)
		ui_text_add(line, "%-*s  ", (int)table->label_width, title);
	ui_text_add(line, "%s%s", table->input->plain ? "" : "Largest buckets",
		    ui_style(table->terminal, UI_PLAIN));
}
