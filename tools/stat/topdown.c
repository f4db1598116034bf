// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/stat/topdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/events/catalogue.h"
#include "tools/ui/json.h"

#define GROUP "TopdownL1"

/* What most processors count that have no files. */
static const struct pesa_metric_definition generic[] = {
	{.name = (char *)"frontend_bound",
	 .expression = (char *)"stalled\\-cycles\\-frontend / cycles",
	 .description = (char *)"cycles that waited for instructions"},
	{.name = (char *)"backend_bound",
	 .expression = (char *)"stalled\\-cycles\\-backend / cycles",
	 .description = (char *)"cycles in which instructions waited"},
};

/* Whether a list with ';' between has a name. */
static bool has_group(const char *groups, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = groups; at; at = strchr(at, ';')) {
		at += *at == ';';
		if (!strncmp(at, name, length) && (!at[length] || at[length] == ';'))
			return true;
	}
	return false;
}

/* The row of an event, which is appended to the list if it is not in it. */
static bool row_of(struct stat_topdown *topdown, const char *event, size_t *rows, size_t *row)
{
	size_t length = strlen(event);
	const char *at = topdown->events;
	char *longer;

	for (*row = 0; *at; ++*row) {
		size_t one = strcspn(at, ",");

		if (one == length && !strncmp(at, event, length))
			return true;
		at += one + (at[one] == ',');
	}
	*row = *rows;
	longer = realloc(topdown->events, strlen(topdown->events) + length + 2);
	if (!longer)
		return false;
	if (*longer)
		strcat(longer, ",");
	topdown->events = strcat(longer, event);
	++*rows;
	return true;
}

static struct pesa_error *add(struct stat_topdown *topdown,
			      const struct pesa_metric_definition *definition, size_t *rows)
{
	struct stat_metric *added = &topdown->metrics[topdown->count];
	struct pesa_error *error;

	if (topdown->count == STAT_METRICS_MAX)
		return NULL;
	*added = (struct stat_metric){.name = definition->name,
				      .expression = definition->expression,
				      .description = definition->description};
	error = pesa_metric_parse(definition->expression, &added->metric);
	if (error)
		return error;
	topdown->count++;
	for (size_t i = 0; i < pesa_metric_event_count(added->metric); i++)
		if (!row_of(topdown, pesa_metric_event(added->metric, i), rows, &added->rows[i]))
			return pesa_error_no_memory();
	return NULL;
}

struct pesa_error *stat_topdown_open(const struct pesa_event_source *source,
				     struct stat_topdown *topdown)
{
	const struct pesa_event_file *files = source->catalogue ? &source->catalogue->events : NULL;
	struct pesa_error *error = NULL;
	size_t rows = 0;

	*topdown = (struct stat_topdown){.events = calloc(1, 1)};
	if (!topdown->events)
		return pesa_error_no_memory();
	for (size_t i = 0; files && i < files->metric_count && !error; i++)
		if (has_group(files->metrics[i].group, GROUP))
			error = add(topdown, &files->metrics[i], &rows);
	topdown->generic = !topdown->count;
	for (size_t i = 0; topdown->generic && i < sizeof(generic) / sizeof(generic[0]) && !error;
	     i++)
		error = add(topdown, &generic[i], &rows);
	return error;
}

void stat_topdown_free(struct stat_topdown *topdown)
{
	for (size_t i = 0; i < topdown->count; i++)
		pesa_metric_free(topdown->metrics[i].metric);
	free(topdown->events);
	*topdown = (struct stat_topdown){.count = 0};
}

static double value_of(const struct stat_metric *metric, const struct stat_table *table)
{
	double counts[PESA_METRIC_EVENTS_MAX];

	for (size_t i = 0; i < pesa_metric_event_count(metric->metric); i++) {
		const struct stat_row *row = &table->rows[metric->rows[i]];

		counts[i] = row->unsupported || row->uncounted ? NAN : row->value;
	}
	return pesa_metric_value(metric->metric, counts);
}

/* Without the backslashes in front of what is part of a name. */
static void print_expression(FILE *out, const char *expression)
{
	for (; *expression; expression++)
		if (*expression != '\\')
			fputc(*expression, out);
}

void stat_topdown_print(FILE *out, const struct stat_topdown *topdown,
			const struct stat_table *table)
{
	fprintf(out, "\n Top-down%s:\n\n",
		topdown->generic ? ", by generic events: the event files have no formulas" : "");
	for (size_t i = 0; i < topdown->count; i++) {
		const struct stat_metric *metric = &topdown->metrics[i];
		double value = value_of(metric, table);

		if (isnan(value))
			fprintf(out, "%20s      %-20s = ", "<not counted>", metric->name);
		else
			fprintf(out, "%19.2f%%      %-20s = ", 100 * value, metric->name);
		print_expression(out, metric->expression);
		fprintf(out, "%s%s\n", metric->description ? "  # " : "",
			metric->description ? metric->description : "");
	}
}

json_object *stat_topdown_json(const struct stat_topdown *topdown, const struct stat_table *table)
{
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < topdown->count; i++) {
		const struct stat_metric *metric = &topdown->metrics[i];
		json_object *one = json_object_new_object();

		json_object_object_add(one, "name", ui_json_string(metric->name));
		json_object_object_add(one, "value", ui_json_number(value_of(metric, table)));
		json_object_object_add(one, "formula", ui_json_string(metric->expression));
		json_object_object_add(one, "description", ui_json_string(metric->description));
		json_object_array_add(array, one);
	}
	return array;
}
