// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/stat/table.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/ui/json.h"

#define CYCLES	     "CYCLES.HART"
#define INSTRUCTIONS "INST.RET"

/* What an event is a part of; the first pattern that matches. */
static const struct {
	const char *pattern, *whole;
} comparisons[] = {
	{"TOPDOWN.*", "TOPDOWN.SLOTS"},
	{"RETIRE.SLOTS", "RETIRE.SLOTS"},
	{"RETIRE.*.SLOTS", "RETIRE.SLOTS"},
	{"INST.MISPRED.*", "INST.BRJMP.RET"},
	{"INST.BRJMP.TK.RET", "INST.BRJMP.RET"},
	{"INST.*", INSTRUCTIONS},
	{"LOAD.DSRC.*", "INST.LOAD.RET"},
	{"*.CYCLES", CYCLES},
	{"stalled-cycles-*", CYCLES},
	{"idle-cycles-*", CYCLES},
	{"CACHE.L1D.RD.DATA.M*", "CACHE.L1D.RD.DATA.ACCESS"},
	{"CACHE.L1D.WR.M*", "CACHE.L1D.WR.ACCESS"},
	{"CACHE.L1I.RD.CODE.M*", "CACHE.L1I.RD.CODE.ACCESS"},
	{"CACHE.L2.MISS", "CACHE.L2.ACCESS"},
	{"CACHE.LL.MISS", "CACHE.LL.ACCESS"},
	{"TLB.L1D.LDST.MISS", "TLB.L1D.LDST.ACCESS"},
	{"TLB.L1I.CODE.MISS", "TLB.L1I.CODE.ACCESS"},
	{"TLB.LL.LDST.MISS", "TLB.LL.LDST.ACCESS"},
	{"TLB.LL.CODE.MISS", "TLB.LL.CODE.ACCESS"},
	{"LLC-load-misses", "LLC-loads"},
	{"LLC-store-misses", "LLC-stores"},
	{"dTLB-load-misses", "dTLB-loads"},
	{"dTLB-store-misses", "dTLB-stores"},
	{"branch-load-misses", "branch-loads"},
	{"node-load-misses", "node-loads"},
	{"node-store-misses", "node-stores"},
};

/* ---- Metrics ------------------------------------------------------------------------------- */

static bool is_known(const struct stat_row *row)
{
	return !row->unsupported && !row->uncounted;
}

static const struct stat_row *find(const struct stat_table *table, const struct stat_row *row,
				   const char *standard)
{
	for (size_t i = 0; i < table->count; i++)
		if (is_known(&table->rows[i]) && table->rows[i].modes == row->modes &&
		    !strcasecmp(table->rows[i].standard, standard))
			return &table->rows[i];
	return NULL;
}

static const struct stat_row *find_clock(const struct stat_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].is_clock && is_known(&table->rows[i]))
			return &table->rows[i];
	return NULL;
}

struct metric {
	double value; /* NAN: nothing to compare with */
	char text[192];
};

/* value / whole x factor; `whole` may not be there, or be 0. */
static void set_metric(struct metric *metric, const struct stat_row *row,
		       const struct stat_row *whole, double factor, const char *text)
{
	if (whole && whole->value > 0)
		metric->value = factor * row->value / whole->value;
	snprintf(metric->text, sizeof(metric->text), "%s", text);
}

static void set_rate(struct metric *metric, const struct stat_row *row, double milliseconds)
{
	static const struct {
		double least, factor;
		const char *text;
	} units[] = {{1e9, 1e-9, "G/sec"}, {1e6, 1e-6, "M/sec"}, {1e3, 1e-3, "K/sec"}};
	double rate = row->value / milliseconds * 1e3;

	metric->value = rate;
	strcpy(metric->text, "/sec");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (rate < units[i].least)
			continue;
		metric->value = rate * units[i].factor;
		strcpy(metric->text, units[i].text);
		return;
	}
}

/* What the row is a part of; NULL: no pattern matches. */
static const char *whole_of(const struct stat_row *row)
{
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (!fnmatch(comparisons[i].pattern, row->standard, FNM_CASEFOLD))
			return comparisons[i].whole;
	return NULL;
}

static struct metric metric_of(const struct stat_table *table, const struct stat_row *row)
{
	struct metric metric = {.value = NAN};
	const struct stat_row *instructions = find(table, row, INSTRUCTIONS), *whole;
	const struct stat_row *clock = find_clock(table);
	const char *name = whole_of(row);
	char text[sizeof(metric.text)];

	if (!is_known(row))
		return metric;
	if (row->is_clock) {
		if (table->seconds > 0) {
			metric.value = row->value / 1e3 / table->seconds;
			strcpy(metric.text, "CPUs utilized");
		}
	} else if (!strcasecmp(row->standard, CYCLES)) {
		if (clock)
			set_metric(&metric, row, clock, 1e-6, "GHz");
	} else if (!strcasecmp(row->standard, INSTRUCTIONS)) {
		set_metric(&metric, row, find(table, row, CYCLES), 1, "insn per cycle");
	} else if (name && !strcasecmp(name, row->standard)) {
		return metric;
	} else if (name && (whole = find(table, row, name))) {
		snprintf(text, sizeof(text), "%% of %s", whole->name);
		set_metric(&metric, row, whole, 100, text);
	} else if (!row->is_software && instructions) {
		set_metric(&metric, row, instructions, 1000, "per 1000 instructions");
	} else if (clock && clock->value > 0) {
		set_rate(&metric, row, clock->value);
	}
	return metric;
}

/* ---- Text ---------------------------------------------------------------------------------- */

/* 1234567 -> "1,234,567" */
static const char *grouped(uint64_t value, char text[32])
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value), used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

/* Names are in a column as wide as the longest, that of short ones narrower. */
static int name_width(const struct stat_table *table)
{
	int widest = 24;

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].shown && (int)strlen(table->rows[i].name) > widest)
			widest = (int)strlen(table->rows[i].name);
	return widest < 52 ? widest : 52;
}

static void print_row(FILE *out, const struct stat_table *table, const struct stat_row *row,
		      int width)
{
	struct metric metric = metric_of(table, row);
	bool more = !isnan(metric.value) || !isnan(row->spread) || row->share < 1;
	char number[32];

	if (!is_known(row)) {
		fprintf(out, "%20s      %s\n",
			row->unsupported ? "<not supported>" : "<not counted>", row->name);
		return;
	}
	if (row->scaled)
		fprintf(out, "%20.2f %-4s ", row->value, row->unit ? row->unit : "");
	else
		fprintf(out, "%20s      ", grouped(row->count, number));
	if (!more) {
		fprintf(out, "%s\n", row->name);
		return;
	}
	fprintf(out, "%-*s", width, row->name);
	if (!isnan(metric.value))
		fprintf(out, " #  %6.2f %s", metric.value, metric.text);
	if (!isnan(row->spread))
		fprintf(out, "  ( +- %5.2f%% )", 100 * row->spread);
	if (row->share < 1)
		fprintf(out, "  (%.2f%%)", 100 * row->share);
	fputc('\n', out);
}

void stat_table_print(FILE *out, const struct stat_table *table, const char *prefix)
{
	int width = name_width(table);

	for (size_t i = 0; i < table->count; i++) {
		if (!table->rows[i].shown)
			continue;
		fputs(prefix, out);
		print_row(out, table, &table->rows[i], width);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_object *row_json(const struct stat_table *table, const struct stat_row *row)
{
	struct metric metric = metric_of(table, row);
	json_object *one = json_object_new_object(), *value = NULL;

	if (is_known(row))
		value = row->scaled ? ui_json_number(row->value) : ui_json_count(row->count);
	json_object_object_add(one, "event", ui_json_string(row->name));
	json_object_object_add(one, "value", value);
	json_object_object_add(one, "unit", ui_json_string(row->unit));
	json_object_object_add(one, "metric", ui_json_number(metric.value));
	json_object_object_add(one, "metric_unit",
			       metric.text[0] ? ui_json_string(metric.text) : NULL);
	json_object_object_add(one, "supported", json_object_new_boolean(!row->unsupported));
	json_object_object_add(one, "share", ui_json_number(row->share));
	json_object_object_add(one, "spread", ui_json_number(row->spread));
	return one;
}

json_object *stat_table_json(const struct stat_table *table)
{
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].shown)
			json_object_array_add(array, row_json(table, &table->rows[i]));
	return array;
}
