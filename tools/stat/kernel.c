// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa stat through the kernel: runs, their means, intervals. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/record/counting.h"
#include "daemon/events/generic.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/stat/arguments.h"
#include "tools/stat/series.h"
#include "tools/stat/table.h"
#include "tools/stat/topdown.h"
#include "tools/ui/json.h"
#include "tools/record/virtual_core.h"

/* What -d, -dd and -ddd add, as in perf. */
static const char *const details[STAT_DETAILS] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	("L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,"
	 "iTLB-load-misses"),
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

/* The events without -e: where the time went, and how well it was used. */
#define DEFAULT_EVENTS                                                                \
	"task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions," \
	"branches,branch-misses,stalled-cycles-frontend,stalled-cycles-backend"

struct kernel_stat {
	const struct stat_arguments *arguments;
	char *what; /* description of the target */
	struct pesa_event_list list;
	struct pesa_counting_event *events;
	struct pesa_counting_result result; /* of the last run */
	struct series *values, seconds;
	struct pesa_event_count *sums, *before; /* of all runs; up to the last interval */
	uint64_t runs, interval_end;
	struct stat_row *rows;
	char **bare; /* event names of the rows, without modifiers */
	struct stat_topdown topdown;
	FILE *out;
	struct ui_json json;
};

/* ---- Rows ---------------------------------------------------------------------------------- */

/* "cycles:u" -> "cycles", "cpu/INST.RET/k" -> "INST.RET"; owned by the caller. */
static char *bare_name(const char *name)
{
	const char *slash = strchr(name, '/');
	char *bare = strdup(slash ? slash + 1 : name), *end;

	if (!bare)
		return NULL;
	end = slash ? strchr(bare, '/') : strrchr(bare, ':');
	if (end)
		*end = '\0';
	return bare;
}

static void describe(struct stat_row *row, const struct pesa_event_name *name, const char *bare)
{
	const struct perf_event_attr *attr = &name->attr;
	const char *standard = pesa_event_standard_of(attr);

	*row = (struct stat_row){
		.name = name->name,
		.standard = standard ? standard : bare,
		.unit = *name->unit ? name->unit : NULL,
		.modes = attr->exclude_user | attr->exclude_kernel << 1 | attr->exclude_hv << 2,
		.shown = true,
		.scaled = *name->unit || name->scale < 1 || name->scale > 1,
		.is_software =
			attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT,
		.is_clock = attr->type == PERF_TYPE_SOFTWARE &&
			    (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
			     attr->config == PERF_COUNT_SW_TASK_CLOCK),
		.share = 1,
		.spread = NAN,
	};
}

static void put_count(struct stat_row *row, const struct pesa_counting_event *event,
		      const struct pesa_event_count *count, double value)
{
	row->unsupported = event->refusal;
	/* A program that never ran did not need a counter. */
	row->uncounted = !event->refusal && !count->running && count->enabled;
	row->value = value * event->name.scale;
	row->count = (uint64_t)(value + 0.5);
	row->share = count->enabled ? (double)count->running / (double)count->enabled : 1;
}

/* Make the table of the counts of one task or of the total. */
static struct stat_table table_of(struct kernel_stat *stat, const struct pesa_event_count *counts,
				  uint64_t elapsed)
{
	for (size_t i = 0; i < stat->list.count; i++) {
		describe(&stat->rows[i], &stat->events[i].name, stat->bare[i]);
		put_count(&stat->rows[i], &stat->events[i], &counts[i],
			  (double)pesa_event_count_scaled(&counts[i]));
	}
	return (struct stat_table){
		.rows = stat->rows, .count = stat->list.count, .seconds = (double)elapsed * 1e-9};
}

/* Make the table of the means over all runs. */
static struct stat_table table_of_runs(struct kernel_stat *stat)
{
	struct stat_table table = table_of(stat, stat->sums, 0);

	for (size_t i = 0; i < stat->list.count; i++) {
		put_count(&stat->rows[i], &stat->events[i], &stat->sums[i], stat->values[i].mean);
		stat->rows[i].spread = series_spread(&stat->values[i]);
	}
	table.seconds = stat->seconds.mean;
	return table;
}

/* ---- Output -------------------------------------------------------------------------------- */

static bool is_json(const struct kernel_stat *stat)
{
	return stat->arguments->wants_json;
}

static struct pesa_error *begin_output(struct kernel_stat *stat)
{
	bool intervals = stat->arguments->interval;
	struct pesa_error *error;

	error = is_json(stat) ? ui_json_open(stat->arguments->json, &stat->out)
			      : stat_open(stat->arguments, &stat->out);
	if (error)
		return error;
	if (is_json(stat)) {
		ui_json_begin(&stat->json, stat->out, "stat");
		ui_json_member(&stat->json, "source", ui_json_string("kernel"));
		if (intervals)
			ui_json_array_begin(&stat->json, "intervals");
	} else if (intervals) {
		fprintf(stat->out, "#        time               counts      events\n");
	}
	return NULL;
}

/* Print the counts since the last call. */
static void print_interval(void *context, uint64_t elapsed, const struct pesa_event_count *counts)
{
	struct kernel_stat *stat = context;
	struct stat_table table;
	char time[32];

	for (size_t i = 0; i < stat->list.count; i++) {
		stat->sums[i] = (struct pesa_event_count){
			.value = counts[i].value - stat->before[i].value,
			.enabled = counts[i].enabled - stat->before[i].enabled,
			.running = counts[i].running - stat->before[i].running,
		};
		stat->before[i] = counts[i];
	}
	table = table_of(stat, stat->sums, elapsed - stat->interval_end);
	stat->interval_end = elapsed;
	if (is_json(stat)) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "time", ui_json_number((double)elapsed * 1e-9));
		json_object_object_add(one, "events", stat_table_json(&table));
		ui_json_element(&stat->json, one);
	} else {
		snprintf(time, sizeof(time), "%14.6f ", (double)elapsed * 1e-9);
		stat_table_print(stat->out, &table, time);
	}
	fflush(stat->out);
}

static void print_tasks(struct kernel_stat *stat)
{
	const struct pesa_counting_result *result = &stat->result;

	for (size_t i = 0; i < result->tasks.count; i++) {
		struct stat_table table = table_of(
			stat, &result->counts[(1 + i) * stat->list.count], result->elapsed);

		if (is_json(stat)) {
			json_object *one = json_object_new_object();

			json_object_object_add(one, "tid",
					       json_object_new_int(result->tasks.task[i]));
			json_object_object_add(one, "events", stat_table_json(&table));
			ui_json_element(&stat->json, one);
		} else {
			fprintf(stat->out, " thread %d:\n\n", (int)result->tasks.task[i]);
			stat_table_print(stat->out, &table, "");
			fprintf(stat->out, "\n");
		}
	}
}

static void print_seconds(struct kernel_stat *stat)
{
	const struct pesa_counting_result *result = &stat->result;

	fprintf(stat->out, "\n%20.9f seconds elapsed", stat->seconds.mean);
	if (stat->seconds.count > 1)
		fprintf(stat->out, "  ( +- %5.2f%% )", 100 * series_spread(&stat->seconds));
	fprintf(stat->out, "\n");
	/* For a single run of a program only: the CPU time comes from its resource usage. */
	if (stat->runs == 1 && stat->result.user + stat->result.system)
		fprintf(stat->out, "%20.9f seconds user\n%20.9f seconds system\n",
			(double)result->user * 1e-9, (double)result->system * 1e-9);
	fprintf(stat->out, "\n");
}

static void print_text(struct kernel_stat *stat)
{
	struct stat_table table;
	char runs[64] = "";

	if (stat->runs > 1)
		snprintf(runs, sizeof(runs), " (%llu runs)", (unsigned long long)stat->runs);
	fprintf(stat->out, "\n Performance counter stats for %s%s:\n\n", stat->what, runs);
	if (stat->arguments->per_thread) {
		print_tasks(stat);
	} else {
		table = table_of_runs(stat);
		stat_table_print(stat->out, &table, "");
		if (stat->arguments->topdown)
			stat_topdown_print(stat->out, &stat->topdown, &table);
	}
	print_seconds(stat);
}

static void print_json(struct kernel_stat *stat, int status)
{
	const struct pesa_counting_result *result = &stat->result;
	struct stat_table table = table_of_runs(stat);
	struct ui_json *json = &stat->json;

	ui_json_member(json, "target", ui_json_string(stat->what));
	ui_json_member(json, "exit_status", json_object_new_int(status));
	ui_json_member(json, "interrupted", json_object_new_boolean(result->interrupted));
	ui_json_member(json, "runs", ui_json_count(stat->runs));
	ui_json_member(json, "seconds", ui_json_number(stat->seconds.mean));
	ui_json_member(json, "seconds_spread", ui_json_number(series_spread(&stat->seconds)));
	ui_json_member(json, "user_seconds", ui_json_number((double)result->user * 1e-9));
	ui_json_member(json, "system_seconds", ui_json_number((double)result->system * 1e-9));
	ui_json_member(json, "events", stat_table_json(&table));
	if (stat->arguments->topdown)
		ui_json_member(json, "topdown", stat_topdown_json(&stat->topdown, &table));
	if (!stat->arguments->per_thread)
		return;
	ui_json_array_begin(json, "threads");
	print_tasks(stat);
	ui_json_array_end(json);
}

static struct pesa_error *end_output(struct kernel_stat *stat, int status)
{
	if (!is_json(stat)) {
		if (!stat->arguments->interval)
			print_text(stat);
		return stat_close(stat->arguments, stat->out);
	}
	if (stat->arguments->interval)
		ui_json_array_end(&stat->json);
	print_json(stat, status);
	ui_json_end(&stat->json);
	return ui_json_close(stat->out);
}

/* ---- The runs ------------------------------------------------------------------------------ */

static void add_run(struct kernel_stat *stat, const struct pesa_counting_result *result)
{
	stat->runs++;
	series_add(&stat->seconds, (double)result->elapsed * 1e-9);
	for (size_t i = 0; i < stat->list.count; i++) {
		const struct pesa_event_count *count = &result->counts[i];

		series_add(&stat->values[i], (double)pesa_event_count_scaled(count));
		stat->sums[i].value += count->value;
		stat->sums[i].enabled += count->enabled;
		stat->sums[i].running += count->running;
	}
}

static struct pesa_error *count(struct kernel_stat *stat, char **program)
{
	const struct stat_arguments *arguments = stat->arguments;
	const struct pesa_counting_options options = {
		.events = stat->events,
		.event_count = stat->list.count,
		.system_wide = arguments->system_wide || arguments->has_cpus,
		.has_cpus = arguments->has_cpus,
		.cpus = arguments->cpus,
		.processes = arguments->processes,
		.process_count = arguments->process_count,
		.threads = arguments->threads,
		.thread_count = arguments->thread_count,
		.inherit = !arguments->no_inherit,
		.program = *program ? program : NULL,
		.interval = arguments->interval,
		.duration = arguments->duration,
		.look = arguments->interval ? print_interval : NULL,
		.context = stat,
	};
	uint64_t runs = arguments->repeat ? arguments->repeat : 1;
	struct pesa_error *error = NULL;

	for (uint64_t i = 0; i < runs && !error && !stat->result.interrupted; i++) {
		pesa_counting_result_free(&stat->result);
		error = pesa_counting_run(&options, &stat->result);
		if (error)
			break;
		/* Print the last, partial interval. */
		if (arguments->interval)
			print_interval(stat, stat->result.elapsed, stat->result.counts);
		if (arguments->interval)
			memset(stat->sums, 0, stat->list.count * sizeof(*stat->sums));
		add_run(stat, &stat->result);
	}
	return error;
}

/* ---- Before and after ---------------------------------------------------------------------- */

/* Describe the target: "'true'", "process 12", "CPUs"; NULL: out of memory. */
static char *name_target(const struct stat_arguments *arguments, char **program)
{
	char *words, *text = NULL;
	int length;

	if (*program) {
		words = stat_join(program);
		length = words ? asprintf(&text, "'%s'", words) : -1;
		free(words);
	} else if (arguments->process_count + arguments->thread_count == 1) {
		length = asprintf(&text, "%s %d", arguments->process_count ? "process" : "thread",
				  (int)(arguments->process_count ? arguments->processes
								 : arguments->threads)[0]);
	} else if (arguments->process_count || arguments->thread_count) {
		length = asprintf(&text, "%zu processes and threads",
				  arguments->process_count + arguments->thread_count);
	} else {
		length = asprintf(&text, arguments->has_cpus ? "chosen CPUs" : "all CPUs");
	}
	return length < 0 ? NULL : text;
}

/* The events: those of top-down metrics first, if these are wanted, and then in place of the default. */
static struct pesa_error *list_events(struct kernel_stat *stat)
{
	const struct stat_arguments *arguments = stat->arguments;
	struct pesa_error *error = NULL;
	char *events;

	if (arguments->topdown) {
		error = stat_topdown_open(&arguments->names.source, &stat->topdown);
		if (!error)
			error = pesa_event_list_add(&stat->list, stat->topdown.events);
		if (error || (!arguments->events && !arguments->detailed))
			return error;
	}
	events = stat_events(arguments, DEFAULT_EVENTS, details);
	error = events ? pesa_event_list_add(&stat->list, events) : pesa_error_no_memory();
	free(events);
	return error;
}

static struct pesa_error *prepare(struct kernel_stat *stat, char **program)
{
	struct pesa_error *error = list_events(stat);
	size_t count = stat->list.count;

	if (error)
		return error;
	stat->what = name_target(stat->arguments, program);
	stat->events = calloc(count, sizeof(*stat->events));
	stat->values = calloc(count, sizeof(*stat->values));
	stat->sums = calloc(count, sizeof(*stat->sums));
	stat->before = calloc(count, sizeof(*stat->before));
	stat->rows = calloc(count, sizeof(*stat->rows));
	stat->bare = calloc(count, sizeof(*stat->bare));
	if (!stat->what || !stat->events || !stat->values || !stat->sums || !stat->before ||
	    !stat->rows || !stat->bare)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		stat->events[i].group = stat->list.items[i].group;
		error = pesa_event_resolve(&stat->arguments->names.source, stat->list.items[i].name,
					   &stat->events[i].name);
		if (error)
			break;
		stat->bare[i] = bare_name(stat->list.items[i].name);
		if (!stat->bare[i])
			error = pesa_error_no_memory();
	}
	return error;
}

static void release(struct kernel_stat *stat)
{
	for (size_t i = 0; stat->bare && i < stat->list.count; i++)
		free(stat->bare[i]);
	free(stat->bare);
	stat_topdown_free(&stat->topdown);
	free(stat->rows);
	free(stat->before);
	free(stat->sums);
	free(stat->values);
	free(stat->events);
	free(stat->what);
	pesa_event_list_free(&stat->list);
	pesa_counting_result_free(&stat->result);
}

static struct pesa_error *check_program(const char *program)
{
	char path[PATH_MAX];

	return program ? pesa_path_find_program(program, path) : NULL;
}

/* Explain results that may surprise the user. */
static void print_problems(const struct kernel_stat *stat)
{
	bool user_only = false;

	for (size_t i = 0; stat->events && i < stat->list.count; i++)
		user_only |= stat->events[i].name.user_only;
	if (user_only)
		fprintf(stderr,
			"pesa stat: only user mode was counted: the kernel needs CAP_PERFMON or "
			"/proc/sys/kernel/perf_event_paranoid at 1 or less, it is %ld\n",
			pesa_kernel_setting("perf_event_paranoid", 2));
}

int stat_kernel(const struct stat_arguments *arguments, char **program)
{
	struct kernel_stat stat = {.arguments = arguments};
	struct pesa_error *error = check_program(*program), *unwritten;
	int status = 0;

	if (!error)
		error = prepare(&stat, program);
	if (!error) {
		error = begin_output(&stat);
		if (error) {
			release(&stat);
			return profile_fail("stat", error);
		}
	}
	if (!error)
		error = count(&stat, program);
	status = virtual_core_exit_status(stat.result.status);
	if (!stat.runs) {
		/* Only the header was printed so far. */
		if (stat.out && stat.out != stderr && stat.out != stdout)
			fclose(stat.out);
	} else {
		unwritten = end_output(&stat, status);
		if (unwritten)
			status = profile_fail("stat", unwritten);
	}
	print_problems(&stat);
	release(&stat);
	return error ? profile_fail("stat", error) : status;
}
