// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa stat on the virtual core, which counts every event in every run. */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon/events/generic.h"
#include "decoder/core/events.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/stat/arguments.h"
#include "tools/stat/series.h"
#include "tools/stat/table.h"
#include "tools/ui/json.h"
#include "tools/record/sampled.h"
#include "tools/record/virtual_core.h"

/* What is shown when -e does not say. */
#define DEFAULT_EVENTS                                                                             \
	"CYCLES.HART,INST.RET,INST.BRJMP.RET,INST.MISPRED.RET,TOPDOWN.SLOTS,TOPDOWN.RETIRING.*,"   \
	"TOPDOWN.BAD_SPECULATION.SLOTS,TOPDOWN.BAD_SPECULATION.MISPREDICT.SLOTS,"                  \
	"TOPDOWN.BAD_SPECULATION.MEM_ORDERING.SLOTS,TOPDOWN.BAD_SPECULATION.OTHER.SLOTS,"          \
	"TOPDOWN.FRONTEND_BOUND.*,TOPDOWN.BACKEND_BOUND.SLOTS,TOPDOWN.BACKEND_BOUND.MEMORY.SLOTS," \
	"TOPDOWN.BACKEND_BOUND.CORE.SLOTS,FLUSH.SPEC,FLUSH.CYCLES,CACHE.L1D.RD.DATA.ACCESS,"       \
	"CACHE.L1D.RD.DATA.MISS,CACHE.L1I.RD.CODE.MISS,CACHE.L2.MISS,CACHE.LL.MISS,"               \
	"TLB.L1D.LDST.MISS,TLB.L1I.CODE.MISS"

/* What -d, -dd and -ddd add. */
static const char *const details[STAT_DETAILS] = {
	"INST.LOAD.RET,INST.STORE.RET,LOAD.DSRC.*,CACHE.L1D.*,CACHE.L2.*,CACHE.LL.*",
	"CACHE.L1I.*,TLB.*",
	"INST.*,FLUSH.*,RESTEER.*,RETIRE.*",
};

static const struct {
	const char *name, *unit, *description;
} events[] = {
#define EVENT(id, name, unit, description) {name, unit, description},
	VCORE_EVENTS(EVENT)
#undef EVENT
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

/* ---- Events -------------------------------------------------------------------------------- */

/* perf's names of what the virtual core counts, beside those of standard events (daemon/events/generic.h). */
static const struct {
	const char *perf, *name;
} synonyms[] = {
	{"cpu-cycles", "CYCLES.HART"},
	{"branch-instructions", "INST.BRJMP.RET"},
	{"dTLB-loads", "TLB.L1D.LDST.ACCESS"},
	{"dTLB-load-misses", "TLB.L1D.LDST.MISS"},
};

/* An event that is looked for by the first `length` bytes of perf's name. */
struct sought {
	const char *perf;
	size_t length;
	const char *name; /* NULL: not found */
};

static void consider(struct sought *sought, const char *perf, const char *name)
{
	if (strlen(perf) == sought->length && !strncasecmp(perf, sought->perf, sought->length))
		sought->name = name;
}

static void consider_standard(void *context, const struct pesa_event_entry *entry)
{
	consider(context, entry->terms, entry->name);
}

/* The event that perf's NAME or NAME:MODIFIERS means; any other name as it is.  The virtual core counts user
 * code, exactly, so that of the modifiers u and p have no effect. */
static const char *own_name(const char *pattern)
{
	struct sought sought = {.perf = pattern, .length = strcspn(pattern, ":")};
	const char *modifiers = pattern + sought.length + (pattern[sought.length] == ':');

	if (modifiers[strspn(modifiers, "up")])
		return pattern;
	pesa_event_standard_each(consider_standard, &sought);
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		consider(&sought, synonyms[i].perf, synonyms[i].name);
	return sought.name ? sought.name : pattern;
}

static bool choose_one(const char *pattern, bool chosen[EVENTS])
{
	bool found = false;

	pattern = own_name(pattern);
	for (size_t i = 0; i < EVENTS; i++) {
		if (strcasecmp(pattern, "all") && fnmatch(pattern, events[i].name, FNM_CASEFOLD))
			continue;
		chosen[i] = true;
		found = true;
	}
	return found;
}

/* Those of a comma list.  *unknown: the first that is none, owned by the caller; NULL: all are. */
static struct pesa_error *choose(const char *patterns, bool chosen[EVENTS], char **unknown)
{
	char *copy = strdup(patterns), *rest = copy, *pattern;

	*unknown = NULL;
	if (!copy)
		return pesa_error_no_memory();
	while (!*unknown && (pattern = strsep(&rest, ",")))
		if (!choose_one(pattern, chosen))
			*unknown = strdup(pattern);
	free(copy);
	return NULL;
}

bool stat_virtual_knows(const char *patterns)
{
	bool chosen[EVENTS], known;
	char *unknown;
	struct pesa_error *error = choose(patterns, chosen, &unknown);

	known = !error && !unknown;
	pesa_error_free(error);
	free(unknown);
	return known;
}

void stat_virtual_list(bool wants_json)
{
	struct ui_json json;

	if (wants_json) {
		ui_json_begin(&json, stdout, "stat");
		ui_json_array_begin(&json, "events");
	}
	for (size_t i = 0; i < EVENTS; i++) {
		if (wants_json) {
			json_object *one = json_object_new_object();

			json_object_object_add(one, "event", ui_json_string(events[i].name));
			json_object_object_add(one, "unit", ui_json_string(events[i].unit));
			json_object_object_add(one, "description",
					       ui_json_string(events[i].description));
			ui_json_element(&json, one);
		} else {
			printf("%-52s %-13s %s\n", events[i].name, events[i].unit,
			       events[i].description);
		}
	}
	if (wants_json) {
		ui_json_array_end(&json);
		ui_json_end(&json);
	}
}

/* What was counted. */
struct counts {
	const char *core, *program;
	uint64_t frequency; /* Hz */
	int exit_status;
	struct series runs[EVENTS]; /* of all runs */
	const struct pesa_vcore_summary *summary;
};

/* ---- The table ----------------------------------------------------------------------------- */

static void fill(struct stat_row rows[EVENTS], const uint64_t *count, const bool chosen[EVENTS])
{
	for (size_t i = 0; i < EVENTS; i++)
		rows[i] = (struct stat_row){
			.name = events[i].name,
			.standard = events[i].name,
			.unit = events[i].unit,
			.shown = chosen[i],
			.value = (double)count[i],
			.count = count[i],
			.share = 1,
			.spread = NAN,
		};
}

/* The means of all runs. */
static void fill_means(struct stat_row rows[EVENTS], const struct counts *counts,
		       const bool chosen[EVENTS])
{
	uint64_t count[EVENTS];

	for (size_t i = 0; i < EVENTS; i++)
		count[i] = (uint64_t)(counts->runs[i].mean + 0.5);
	fill(rows, count, chosen);
	for (size_t i = 0; i < EVENTS; i++) {
		rows[i].value = counts->runs[i].mean;
		rows[i].spread = series_spread(&counts->runs[i]);
	}
}

static void print_rows(FILE *out, struct stat_row rows[EVENTS])
{
	const struct stat_table table = {.rows = rows, .count = EVENTS, .seconds = NAN};

	stat_table_print(out, &table, "");
}

static json_object *rows_json(struct stat_row rows[EVENTS])
{
	const struct stat_table table = {.rows = rows, .count = EVENTS, .seconds = NAN};

	return stat_table_json(&table);
}

/* ---- Output -------------------------------------------------------------------------------- */

/* Add a run. */
static void add_up(struct counts *counts)
{
	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t sum = 0;

		for (uint32_t j = 0; j < counts->summary->harts; j++)
			sum += counts->summary->hart[j].counters.event[i];
		series_add(&counts->runs[i], (double)sum);
	}
}

static struct pesa_error *print_text(const struct stat_arguments *arguments,
				     const struct counts *counts, const bool chosen[EVENTS])
{
	const uint64_t runs = counts->runs[VCORE_EVENT_CYCLES].count;
	struct stat_row rows[EVENTS];
	struct pesa_error *error;
	FILE *out;

	error = stat_open(arguments, &out);
	if (error)
		return error;
	if (runs > 1)
		fprintf(out, "\n Performance counter stats for '%s' on %s (%" PRIu64 " runs):\n\n",
			counts->program, counts->core, runs);
	else
		fprintf(out, "\n Performance counter stats for '%s' on %s:\n\n", counts->program,
			counts->core);
	for (uint32_t i = 0; arguments->per_thread && i < counts->summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &counts->summary->hart[i];

		fprintf(out, " process %" PRIu32 ", thread %" PRIu32 ":\n\n", hart->pid, hart->tid);
		fill(rows, hart->counters.event, chosen);
		print_rows(out, rows);
		fprintf(out, "\n");
	}
	if (!arguments->per_thread) {
		fill_means(rows, counts, chosen);
		print_rows(out, rows);
	}
	if (arguments->sampled) {
		fprintf(out, "\n All counts but INST.RET are estimates; newest run: ");
		sampled_print(out, &counts->summary->windows);
		fprintf(out, "\n");
	}
	fprintf(out, "\n%20.9f seconds of core time at %.2f GHz\n\n",
		counts->runs[VCORE_EVENT_CYCLES].mean / (double)counts->frequency,
		(double)counts->frequency / 1e9);
	return stat_close(arguments, out);
}

static struct pesa_error *print_json(const struct stat_arguments *arguments,
				     const struct counts *counts, const bool chosen[EVENTS])
{
	struct stat_row rows[EVENTS];
	struct pesa_error *error;
	struct ui_json json;
	FILE *out;

	error = ui_json_open(arguments->json, &out);
	if (error)
		return error;
	ui_json_begin(&json, out, "stat");
	ui_json_member(&json, "source", ui_json_string("virtual core"));
	ui_json_member(&json, "program", ui_json_string(counts->program));
	ui_json_member(&json, "core", ui_json_string(counts->core));
	ui_json_member(&json, "frequency", ui_json_count(counts->frequency));
	ui_json_member(&json, "exit_status", json_object_new_int(counts->exit_status));
	ui_json_member(&json, "runs", ui_json_count(counts->runs[VCORE_EVENT_CYCLES].count));
	fill_means(rows, counts, chosen);
	ui_json_member(&json, "events", rows_json(rows));
	if (arguments->sampled) {
		json_object *estimate = json_object_new_object();

		sampled_add_json(estimate, &counts->summary->windows);
		ui_json_member(&json, "sampled", estimate);
	}
	ui_json_array_begin(&json, "harts");
	for (uint32_t i = 0; i < counts->summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &counts->summary->hart[i];
		json_object *one = json_object_new_object();

		json_object_object_add(one, "pid", ui_json_count(hart->pid));
		json_object_object_add(one, "tid", ui_json_count(hart->tid));
		fill(rows, hart->counters.event, chosen);
		json_object_object_add(one, "events", rows_json(rows));
		ui_json_element(&json, one);
	}
	ui_json_array_end(&json);
	ui_json_member(&json, "undecoded", ui_json_count(counts->summary->undecoded));
	ui_json_member(&json, "unrecorded_threads", ui_json_count(counts->summary->unwatched));
	ui_json_member(&json, "unrecorded_processes", ui_json_count(counts->summary->refused));
	ui_json_end(&json);
	return ui_json_close(out);
}

/* ---- The runs ------------------------------------------------------------------------------ */

/* Run the program until it has run as often as wanted, or not to its end: by a signal. */
static struct pesa_error *run_all(const struct stat_arguments *arguments,
				  const struct pesa_vcore_options *run, struct counts *counts,
				  struct pesa_vcore_summary *summary)
{
	struct pesa_error *error = NULL;

	for (uint64_t i = 0; !error && (i < arguments->repeat || !i); i++) {
		pesa_vcore_summary_free(summary);
		*summary = (struct pesa_vcore_summary){0};
		error = pesa_vcore_record(run, summary);
		if (!error && !summary->harts)
			error = virtual_core_not_begun(run, summary->status);
		virtual_core_print_problems("stat", summary);
		if (summary->harts)
			add_up(counts);
		if (WIFSIGNALED(summary->status))
			break;
	}
	return error;
}

static struct pesa_error *print(const struct stat_arguments *arguments, const struct counts *counts,
				const bool chosen[EVENTS])
{
	return arguments->wants_json ? print_json(arguments, counts, chosen)
				     : print_text(arguments, counts, chosen);
}

static int count(const struct stat_arguments *arguments, char **program, const bool chosen[EVENTS])
{
	struct virtual_core found;
	struct pesa_vcore_summary summary = {0};
	struct pesa_vcore_options run = {.program = program, .command = program, .seed = 1};
	struct counts counts = {.summary = &summary};
	char *name = stat_join(program);
	struct pesa_error *error =
		name ? virtual_core_find(&found, arguments->core, arguments->sysroot, program[0])
		     : pesa_error_no_memory();
	struct pesa_error *unwritten;
	int status;

	if (error) {
		free(name);
		return profile_fail("stat", error);
	}
	run.core = &found.core;
	run.emulator = found.emulator;
	run.plugin = found.plugin;
	run.sysroot = found.sysroot;
	run.cpu = arguments->cpu;
	run.sampled = arguments->sampled;
	run.period = arguments->sampled ? SAMPLED_PERIOD : 0;
	program[0] = found.program;
	counts.core = found.core.name;
	counts.program = name;
	counts.frequency = found.core.frequency;
	error = run_all(arguments, &run, &counts, &summary);
	status = counts.exit_status = virtual_core_exit_status(summary.status);
	if (summary.harts) {
		unwritten = print(arguments, &counts, chosen);
		if (unwritten)
			status = profile_fail("stat", unwritten);
	}
	pesa_vcore_summary_free(&summary);
	free(name);
	return error ? profile_fail("stat", error) : status;
}

int stat_virtual(const struct stat_arguments *arguments, char **program)
{
	bool chosen[EVENTS] = {false};
	char *patterns = stat_events(arguments, DEFAULT_EVENTS, details), *unknown = NULL;
	struct pesa_error *error =
		patterns ? choose(patterns, chosen, &unknown) : pesa_error_no_memory();

	free(patterns);
	if (error)
		return profile_fail("stat", error);
	if (unknown) {
		safe_output_message(
			"pesa stat: no event matches '%s'; 'pesa stat --list' shows them", unknown);
		free(unknown);
		return 2;
	}
	return count(arguments, program, chosen);
}
