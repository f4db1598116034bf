// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa stat: run a program and count events.
 *
 * Counting and printing are apart: whatever counted fills a struct counts, a row of the table of
 * events for each thread, and everything after that asks only the table what an event is called and
 * what it is compared with.
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/vcore_events.h"
#include "tools/commands.h"
#include "tools/profile_options.h"
#include "tools/ui_json.h"
#include "tools/virtual_core.h"

/* What is shown when -e does not say. */
#define DEFAULT_EVENTS                                                                             \
	"CYCLES.HART,INST.RET,INST.BRJMP.RET,INST.MISPRED.RET,TOPDOWN.SLOTS,TOPDOWN.RETIRING.*,"   \
	"TOPDOWN.BAD_SPECULATION.SLOTS,TOPDOWN.BAD_SPECULATION.MISPREDICT.SLOTS,"                  \
	"TOPDOWN.BAD_SPECULATION.MEM_ORDERING.SLOTS,TOPDOWN.BAD_SPECULATION.OTHER.SLOTS,"          \
	"TOPDOWN.FRONTEND_BOUND.*,TOPDOWN.BACKEND_BOUND.SLOTS,TOPDOWN.BACKEND_BOUND.MEMORY.SLOTS," \
	"TOPDOWN.BACKEND_BOUND.CORE.SLOTS,FLUSH.SPEC,FLUSH.CYCLES,CACHE.L1D.RD.DATA.ACCESS,"       \
	"CACHE.L1D.RD.DATA.MISS,CACHE.L1I.RD.CODE.MISS,CACHE.L2.MISS,CACHE.LL.MISS,"               \
	"TLB.L1D.LDST.MISS,TLB.L1I.CODE.MISS"

struct arguments {
	const char *core, *events, *output, *sysroot, *cpu, *json;
	bool per_thread, wants_json, list;
};

static const char help[] =
	"Usage: pesa stat [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
	"\n"
	"Run a RISC-V program on the virtual core and count events, by their names in the RISC-V\n"
	"Performance Events specification.\n"
	"\n"
	"  -e, --event NAMES     events to show, a comma list; * and ? match, 'all' is every one\n"
	"      --core NAME       core description, see 'pesa list'; or a file (ooo-4)\n"
	"      --per-thread      counts of each thread\n"
	"      --list            every event with what it counts; runs nothing\n"
	"      --sysroot DIR     where dynamic programs find their interpreter and libraries\n"
	"      --cpu NAME        the emulator's CPU, e.g. rv64,v=true\n"
	"  -o, --output FILE     the text to FILE (standard error)\n"
	"      --json[=FILE]     JSON instead, to standard output or to FILE\n"
	"  -h, --help            this text\n"
	"\n"
	"The exit status is the program's, 128 + N when signal N killed it; 1 or 2 when it could "
	"not be\n"
	"run.  The emulator is qemu-riscv64, or what PESA_QEMU names.\n"
	"\n"
	"Example:\n"
	"  pesa stat -e 'INST.*,TOPDOWN.*' -- ./bzip2 -k9 file\n";

enum { OPTION_CORE = 256, OPTION_PER_THREAD, OPTION_LIST, OPTION_SYSROOT, OPTION_CPU, OPTION_JSON };

static const struct option options[] = {
	{"event", required_argument, NULL, 'e'},
	{"core", required_argument, NULL, OPTION_CORE},
	{"per-thread", no_argument, NULL, OPTION_PER_THREAD},
	{"list", no_argument, NULL, OPTION_LIST},
	{"sysroot", required_argument, NULL, OPTION_SYSROOT},
	{"cpu", required_argument, NULL, OPTION_CPU},
	{"output", required_argument, NULL, 'o'},
	{"json", optional_argument, NULL, OPTION_JSON},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* ---- Events -------------------------------------------------------------------------------- */

static const struct {
	const char *name, *unit, *description;
} events[] = {
#define EVENT(id, name, unit, description) {name, unit, description},
	VCORE_EVENTS(EVENT)
#undef EVENT
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

/* What an event is set against; the first pattern that matches, none: 1000 instructions. */
static const struct {
	const char *pattern;
	enum vcore_event whole;
} comparisons[] = {
	{"TOPDOWN.*", VCORE_EVENT_SLOTS},
	{"RETIRE.*.SLOTS", VCORE_EVENT_RETIRE_SLOTS},
	{"INST.MISPRED.*", VCORE_EVENT_BRJMP},
	{"INST.BRJMP.TK.RET", VCORE_EVENT_BRJMP},
	{"INST.*", VCORE_EVENT_INSTRUCTIONS},
	{"LOAD.DSRC.*", VCORE_EVENT_LOADS},
	{"*.CYCLES", VCORE_EVENT_CYCLES},
	{"CACHE.L1D.RD.DATA.M*", VCORE_EVENT_L1D_READ},
	{"CACHE.L1D.WR.M*", VCORE_EVENT_L1D_WRITE},
	{"CACHE.L1I.RD.CODE.M*", VCORE_EVENT_L1I_READ},
	{"CACHE.L2.MISS", VCORE_EVENT_L2},
	{"CACHE.LL.MISS", VCORE_EVENT_LL},
	{"TLB.L1D.LDST.MISS", VCORE_EVENT_DTLB},
	{"TLB.L1I.CODE.MISS", VCORE_EVENT_ITLB},
	{"TLB.LL.LDST.MISS", VCORE_EVENT_LL_TLB_DATA},
	{"TLB.LL.CODE.MISS", VCORE_EVENT_LL_TLB_CODE},
};

struct metric {
	double value; /* NAN: nothing to compare with */
	char text[96];
};

static struct metric metric_of(const uint64_t *count, unsigned int event)
{
	struct metric metric = {.value = NAN};
	double value = (double)count[event];

	if (event == VCORE_EVENT_CYCLES || event == VCORE_EVENT_SLOTS ||
	    event == VCORE_EVENT_RETIRE_SLOTS)
		return metric;
	if (event == VCORE_EVENT_INSTRUCTIONS) {
		if (count[VCORE_EVENT_CYCLES])
			metric.value = value / (double)count[VCORE_EVENT_CYCLES];
		snprintf(metric.text, sizeof(metric.text), "insn per cycle");
		return metric;
	}
	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
		if (fnmatch(comparisons[i].pattern, events[event].name, 0))
			continue;
		if (count[comparisons[i].whole])
			metric.value = 100 * value / (double)count[comparisons[i].whole];
		snprintf(metric.text, sizeof(metric.text), "%% of %s",
			 events[comparisons[i].whole].name);
		return metric;
	}
	if (count[VCORE_EVENT_INSTRUCTIONS])
		metric.value = 1000 * value / (double)count[VCORE_EVENT_INSTRUCTIONS];
	snprintf(metric.text, sizeof(metric.text), "per 1000 instructions");
	return metric;
}

static int choose_one(const char *pattern, bool chosen[EVENTS])
{
	bool found = false;

	for (size_t i = 0; i < EVENTS; i++) {
		if (strcasecmp(pattern, "all") && fnmatch(pattern, events[i].name, FNM_CASEFOLD))
			continue;
		chosen[i] = true;
		found = true;
	}
	if (found)
		return 0;
	fprintf(stderr, "pesa stat: no event matches '%s'; 'pesa stat --list' shows them\n",
		pattern);
	return 2;
}

static int choose(const char *patterns, bool chosen[EVENTS])
{
	char *copy = strdup(patterns), *rest = copy, *pattern;
	int status = copy ? 0 : 1;

	if (!copy)
		fprintf(stderr, "pesa stat: out of memory\n");
	while (!status && (pattern = strsep(&rest, ",")))
		status = choose_one(pattern, chosen);
	free(copy);
	return status;
}

static int list(bool wants_json)
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
	if (!ferror(stdout) && !fflush(stdout))
		return 0;
	fprintf(stderr, "pesa stat: the output could not be written in full\n");
	return 1;
}

/* ---- Counts -------------------------------------------------------------------------------- */

/* What was counted, whoever did. */
struct counts {
	const char *core, *program;
	uint64_t frequency; /* Hz */
	int exit_status;
	struct vcore_counters total;
	const struct pesa_vcore_summary *summary; /* the harts */
};

static void add_up(struct counts *counts)
{
	for (uint32_t i = 0; i < counts->summary->harts; i++)
		for (size_t j = 0; j < EVENTS; j++)
			counts->total.event[j] += counts->summary->hart[i].counters.event[j];
}

/* 1234567 -> 1,234,567 */
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

static void print_counts(FILE *out, const uint64_t *count, const bool chosen[EVENTS])
{
	char number[32];

	for (unsigned int i = 0; i < EVENTS; i++) {
		struct metric metric = metric_of(count, i);

		if (!chosen[i])
			continue;
		fprintf(out, "%20s      ", grouped(count[i], number));
		if (isnan(metric.value))
			fprintf(out, "%s\n", events[i].name);
		else
			fprintf(out, "%-52s #  %6.2f %s\n", events[i].name, metric.value,
				metric.text);
	}
}

static int print_text(const struct arguments *arguments, const struct counts *counts,
		      const bool chosen[EVENTS])
{
	FILE *out = arguments->output ? fopen(arguments->output, "we") : stderr;
	bool written;

	if (!out) {
		fprintf(stderr, "pesa stat: cannot write %s: %s\n", arguments->output,
			strerror(errno));
		return 1;
	}
	fprintf(out, "\n Performance counter stats for '%s' on %s:\n\n", counts->program,
		counts->core);
	for (uint32_t i = 0; arguments->per_thread && i < counts->summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &counts->summary->hart[i];

		fprintf(out, " process %" PRIu32 ", thread %" PRIu32 ":\n\n", hart->pid, hart->tid);
		print_counts(out, hart->counters.event, chosen);
		fprintf(out, "\n");
	}
	if (!arguments->per_thread)
		print_counts(out, counts->total.event, chosen);
	fprintf(out, "\n%20.9f seconds of core time at %.2f GHz\n\n",
		(double)counts->total.event[VCORE_EVENT_CYCLES] / (double)counts->frequency,
		(double)counts->frequency / 1e9);
	written = !ferror(out);
	if (out == stderr ? fflush(out) : fclose(out))
		written = false;
	if (!written && arguments->output)
		fprintf(stderr, "pesa stat: cannot write %s: %s\n", arguments->output,
			strerror(errno));
	return written ? 0 : 1;
}

static json_object *count_json(const uint64_t *count, unsigned int event)
{
	struct metric metric = metric_of(count, event);
	json_object *one = json_object_new_object();

	json_object_object_add(one, "event", ui_json_string(events[event].name));
	json_object_object_add(one, "value", ui_json_count(count[event]));
	json_object_object_add(one, "unit", ui_json_string(events[event].unit));
	json_object_object_add(one, "metric", ui_json_number(metric.value));
	json_object_object_add(one, "metric_unit",
			       metric.text[0] ? ui_json_string(metric.text) : NULL);
	return one;
}

static json_object *counts_json(const uint64_t *count, const bool chosen[EVENTS])
{
	json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < EVENTS; i++)
		if (chosen[i])
			json_object_array_add(array, count_json(count, i));
	return array;
}

static int print_json(const struct arguments *arguments, const struct counts *counts,
		      const bool chosen[EVENTS])
{
	FILE *out = ui_json_open("stat", arguments->json);
	struct ui_json json;

	if (!out)
		return 1;
	ui_json_begin(&json, out, "stat");
	ui_json_member(&json, "program", ui_json_string(counts->program));
	ui_json_member(&json, "core", ui_json_string(counts->core));
	ui_json_member(&json, "frequency", ui_json_count(counts->frequency));
	ui_json_member(&json, "exit_status", json_object_new_int(counts->exit_status));
	ui_json_member(&json, "events", counts_json(counts->total.event, chosen));
	ui_json_array_begin(&json, "harts");
	for (uint32_t i = 0; i < counts->summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &counts->summary->hart[i];
		json_object *one = json_object_new_object();

		json_object_object_add(one, "pid", ui_json_count(hart->pid));
		json_object_object_add(one, "tid", ui_json_count(hart->tid));
		json_object_object_add(one, "events", counts_json(hart->counters.event, chosen));
		ui_json_element(&json, one);
	}
	ui_json_array_end(&json);
	ui_json_member(&json, "undecoded", ui_json_count(counts->summary->undecoded));
	ui_json_member(&json, "unrecorded_threads", ui_json_count(counts->summary->unwatched));
	ui_json_member(&json, "unrecorded_processes", ui_json_count(counts->summary->refused));
	ui_json_end(&json);
	return ui_json_close("stat", out) ? 0 : 1;
}

/* ---- The command --------------------------------------------------------------------------- */

/* Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	int option;

	while ((option = getopt_long(argc, argv, "+e:o:h", options, NULL)) != -1) {
		switch (option) {
		case 'e':
			arguments->events = optarg;
			break;
		case 'o':
			arguments->output = optarg;
			break;
		case OPTION_CORE:
			arguments->core = optarg;
			break;
		case OPTION_PER_THREAD:
			arguments->per_thread = true;
			break;
		case OPTION_LIST:
			arguments->list = true;
			break;
		case OPTION_SYSROOT:
			arguments->sysroot = optarg;
			break;
		case OPTION_CPU:
			arguments->cpu = optarg;
			break;
		case OPTION_JSON:
			arguments->wants_json = true;
			arguments->json = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fprintf(stderr, "Try 'pesa stat --help'.\n");
			return 2;
		}
	}
	if (arguments->list)
		return list(arguments->wants_json);
	if (optind == argc) {
		fprintf(stderr, "pesa stat: no program to run; try 'pesa stat --help'\n");
		return 2;
	}
	return -1;
}

/* The words of a command, joined by spaces; NULL: out of memory. */
static char *join(char *const *words)
{
	size_t size = 1;
	char *joined;

	for (size_t i = 0; words[i]; i++)
		size += strlen(words[i]) + 1;
	joined = calloc(1, size);
	for (size_t i = 0; joined && words[i]; i++) {
		strcat(joined, i ? " " : "");
		strcat(joined, words[i]);
	}
	return joined;
}

static int count(const struct arguments *arguments, char **program, const bool chosen[EVENTS])
{
	struct virtual_core found;
	struct pesa_vcore_summary summary = {0};
	struct pesa_vcore_options run = {.program = program, .command = program, .seed = 1};
	struct counts counts = {.summary = &summary};
	char *name = join(program);
	struct pesa_error *error =
		name ? virtual_core_find(&found, arguments->core, arguments->sysroot, program[0])
		     : pesa_error_no_memory();
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
	program[0] = found.program;
	error = pesa_vcore_record(&run, &summary);
	status = virtual_core_exit_status(summary.status);
	if (!error && !summary.harts)
		error = virtual_core_not_begun(&run, summary.status);
	virtual_core_print_problems("stat", &summary);
	counts.core = found.core.name;
	counts.program = name;
	counts.frequency = found.core.frequency;
	counts.exit_status = status;
	add_up(&counts);
	if (summary.harts && (arguments->wants_json ? print_json(arguments, &counts, chosen)
						    : print_text(arguments, &counts, chosen)))
		status = 1;
	pesa_vcore_summary_free(&summary);
	free(name);
	return error ? profile_fail("stat", error) : status;
}

int pesa_command_stat(int argc, char **argv)
{
	struct arguments arguments = {.core = VIRTUAL_CORE_DEFAULT, .events = DEFAULT_EVENTS};
	bool chosen[EVENTS] = {false};
	char *name = argv[0];
	int status;

	argv[0] = (char *)"pesa stat"; /* of getopt's messages */
	status = parse(argc, argv, &arguments);
	argv[0] = name;
	if (status < 0)
		status = choose(arguments.events, chosen);
	else
		return status;
	return status ? status : count(&arguments, argv + optind, chosen);
}
