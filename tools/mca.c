/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa mca: what a block of code should cost on a processor, in llvm-mca's terms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/views.h"
#include "decoder/riscv/tables.h"
#include "pesa/mca.h"
#include "tools/commands.h"
#include "tools/mca_given.h"
#include "tools/mca_program.h"
#include "tools/mca_source.h"
#include "tools/ui_terminal.h"

#define FEATURES_MAX   64
#define ITERATIONS     100
#define VIEWS_MAX      10
#define TIMELINE_LINES 10

enum skip { SKIP_NONE, SKIP_LACK_SCHED };
enum tables { TABLES_NONE, TABLES_NORMAL, TABLES_FULL };

struct settings {
	const char *path, *output, *cpu, *triple;
	const char *features[FEATURES_MAX];
	unsigned int feature_count;
	struct pesa_mca_run_options run;
	unsigned int call_latency;
	unsigned int timeline_iterations, timeline_cycles;
	enum skip skip;
	enum tables tables;
	bool summary, information, encodings, barriers, pressure, timeline, bottleneck;
	bool dispatch_stats, scheduler_stats, retire_stats, register_stats;
	bool no_alias, disable_instruments, json, cycle_stack;
	bool all_views_given, all_stats_given;
	const char *symbol, *range, *hex; /* of a program, in place of assembly */
	const char *trace, *profile;
	unsigned int path_length;
	struct mca_given_options given;
	struct pesa_mca_model *changed; /* by --what-if; NULL: it is not asked for */
	char *attributes;		/* what features point into */
};

struct option {
	const char *name;
	enum { FLAG, NUMBER, STRING, SPECIAL, GIVEN } kind;
	size_t offset; /* in struct settings */
	const char *help;
};

#define AT(field) offsetof(struct settings, field)

static const struct option options[] = {
	{"mcpu", STRING, AT(cpu),
	 "=NAME  processor, or a model file FILE[:NAME]; 'help' lists them"},
	{"mattr", SPECIAL, 0, "=+A,-B  extensions and tuning features on top of the processor's"},
	{"mtriple", STRING, AT(triple), "=riscv32|riscv64  where the processor leaves it open"},
	{"march", STRING, AT(triple), "=riscv32|riscv64  the same"},
	{"iterations", NUMBER, AT(run.iterations), "=N  how often the block runs (100)"},
	{"dispatch", NUMBER, AT(run.dispatch_width), "=N  micro-ops dispatched per cycle"},
	{"register-file-size", NUMBER, AT(run.register_file_size), "=N  physical registers"},
	{"lqueue", NUMBER, AT(run.load_queue), "=N  size of the load queue"},
	{"squeue", NUMBER, AT(run.store_queue), "=N  size of the store queue"},
	{"call-latency", NUMBER, AT(call_latency), "=N  cycles that a call takes (100)"},
	{"noalias", FLAG, AT(no_alias), "[=false]  loads and stores do not alias (on)"},
	{"disable-im", FLAG, AT(disable_instruments), "  ignore LMUL, SEW and latency instruments"},
	{"skip-unsupported-instructions", SPECIAL, 0, "=none|lack-sched  leave them out"},
	{"instruction-tables", SPECIAL, 0, "[=none|normal|full]  print the model, run nothing"},
	{"summary-view", FLAG, AT(summary), "[=false]  summary (on)"},
	{"instruction-info", FLAG, AT(information), "[=false]  instruction information (on)"},
	{"show-encoding", FLAG, AT(encodings), "  encodings in it"},
	{"show-barriers", FLAG, AT(barriers), "  memory barriers in it"},
	{"resource-pressure", FLAG, AT(pressure), "[=false]  resource pressure (on)"},
	{"timeline", FLAG, AT(timeline), "  timeline and average wait times"},
	{"timeline-max-iterations", NUMBER, AT(timeline_iterations), "=N  in the timeline (10)"},
	{"timeline-max-cycles", NUMBER, AT(timeline_cycles), "=N  in the timeline, 0: all (80)"},
	{"bottleneck-analysis", FLAG, AT(bottleneck), "  what holds the block up"},
	{"dispatch-stats", FLAG, AT(dispatch_stats), "  dispatch statistics"},
	{"scheduler-stats", FLAG, AT(scheduler_stats), "  scheduler statistics"},
	{"retire-stats", FLAG, AT(retire_stats), "  retire control unit statistics"},
	{"register-file-stats", FLAG, AT(register_stats), "  register file statistics"},
	{"all-stats", SPECIAL, 0, "[=false]  all statistics"},
	{"all-views", SPECIAL, 0, "[=false]  all views"},
	{"symbol", STRING, AT(symbol), "=NAME  this function of an ELF file"},
	{"range", STRING, AT(range), "=A-B  these addresses of an ELF file (hexadecimal)"},
	{"hex", STRING, AT(hex), "='13050500 ...'  these bytes, in the order of memory"},
	{"branch-trace", STRING, AT(trace),
	 "=FILE  the path of an ELF file that FILE describes: entry, successor of each branch"},
	{"path-from", STRING, AT(profile),
	 "=PERF.DATA  a path as measured, from --symbol, --range or the hottest function"},
	{"path-length", NUMBER, AT(path_length), "=N  instructions of that path (10000)"},
	{"mispredict-rate", GIVEN, 0, "=SHARE  of conditional branches and indirect jumps"},
	{"mispredict-penalty", GIVEN, 0, "=N  cycles that each costs beyond its execution"},
	{"load-latency", GIVEN, 0, "=N | N:SHARE,...  cycles of scalar loads"},
	{"fetch-width", GIVEN, 0, "=N  instructions that the front end delivers per cycle"},
	{"taken-branches", GIVEN, 0, "=N  taken branches among them"},
	{"set", GIVEN, 0, "=CLASS.latency=N  change the model (also .uops, .RESOURCE)"},
	{"what-if", GIVEN, 0, "=CLASS.latency=N  the same, shown beside the model as it is"},
	{"cycle-stack", FLAG, AT(cycle_stack),
	 "  who is charged with which cycles, as in a profile"},
	{"json", FLAG, AT(json), "  print JSON in llvm-mca's form (also --json)"},
	{"o", STRING, AT(output), "=FILE  where to print"},
};

static void usage(FILE *stream)
{
	fprintf(stream,
		"Usage: pesa mca -mcpu=NAME [OPTIONS] FILE.s | -\n"
		"       pesa mca -mcpu=NAME [OPTIONS] PROGRAM --symbol=NAME | --range=A-B | "
		"--branch-trace=FILE |\n"
		"                --path-from=PERF.DATA [--symbol=NAME]\n"
		"       pesa mca -mcpu=NAME [OPTIONS] --hex=BYTES\n\n"
		"Predict the cycles that a block of assembly takes on a processor, as llvm-mca "
		"does.\n\nOptions (one dash or two):\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		fprintf(stream, "  -%s%s\n", options[i].name, options[i].help);
	fprintf(stream,
		"\nExample:\n  echo 'mul a0, a0, a1' | pesa mca -mcpu=sifive-p670 -timeline "
		"-iterations=3 -\n");
}

static void list_processors(void)
{
	const char *name;

	printf("Processors:\n");
	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++)
		printf("  %s\n", name);
}

/* ---- Options ------------------------------------------------------------------------------- */

static int bad_value(const char *name, const char *value, const char *expected)
{
	fprintf(stderr, "pesa mca: -%s=%s: expected %s\n", name, value ? value : "", expected);
	return 2;
}

static int parse_flag(const char *name, const char *value, bool *flag)
{
	if (!value || !*value || !strcmp(value, "true") || !strcmp(value, "TRUE") ||
	    !strcmp(value, "True") || !strcmp(value, "1"))
		*flag = true;
	else if (!strcmp(value, "false") || !strcmp(value, "FALSE") || !strcmp(value, "False") ||
		 !strcmp(value, "0"))
		*flag = false;
	else
		return bad_value(name, value, "true or false");
	return 0;
}

static int parse_attributes(struct settings *settings, const char *value)
{
	char *rest, *item;

	free(settings->attributes);
	rest = settings->attributes = strdup(value);
	if (!rest) {
		fprintf(stderr, "pesa mca: out of memory\n");
		return 1;
	}
	settings->feature_count = 0;
	while ((item = strsep(&rest, ","))) {
		if (!*item)
			continue;
		if ((*item != '+' && *item != '-') || !item[1])
			return bad_value("mattr", item, "+NAME or -NAME");
		if (settings->feature_count == FEATURES_MAX)
			return bad_value("mattr", value, "fewer features");
		settings->features[settings->feature_count++] = item;
	}
	return 0;
}

static int parse_special(struct settings *settings, const char *name, const char *value)
{
	bool on;

	if (!strcmp(name, "mattr"))
		return parse_attributes(settings, value ? value : "");
	if (!strcmp(name, "skip-unsupported-instructions")) {
		if (value && !strcmp(value, "lack-sched"))
			settings->skip = SKIP_LACK_SCHED;
		else if (value && !strcmp(value, "none"))
			settings->skip = SKIP_NONE;
		else
			return bad_value(name, value, "none or lack-sched");
		return 0;
	}
	if (!strcmp(name, "instruction-tables")) {
		if (!value || !*value || !strcmp(value, "normal"))
			settings->tables = TABLES_NORMAL;
		else if (!strcmp(value, "full"))
			settings->tables = TABLES_FULL;
		else if (!strcmp(value, "none"))
			settings->tables = TABLES_NONE;
		else
			return bad_value(name, value, "none, normal or full");
		return 0;
	}
	if (parse_flag(name, value, &on))
		return 2;
	if (!strcmp(name, "all-views")) {
		settings->summary = settings->bottleneck = settings->pressure = on;
		settings->timeline = settings->information = on;
		settings->all_views_given = true;
	}
	settings->register_stats = settings->dispatch_stats = on;
	settings->scheduler_stats = settings->retire_stats = on;
	settings->all_stats_given = true;
	return 0;
}

static int parse_option(struct settings *settings, char **argv, int *index)
{
	char *name = argv[*index] + 1 + (argv[*index][1] == '-'), *value = strchr(name, '=');
	size_t length = value ? (size_t)(value - name) : strlen(name);
	const struct option *option = NULL;
	unsigned long number;
	char *end;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
			option = &options[i];
	if (!option) {
		fprintf(stderr, "pesa mca: unknown option %s; 'pesa mca --help' lists them\n",
			argv[*index]);
		return 2;
	}
	value += value != NULL;
	if (!value && (option->kind == NUMBER || option->kind == STRING || option->kind == GIVEN ||
		       !strcmp(option->name, "mattr"))) {
		value = argv[++*index];
		if (!value)
			return bad_value(option->name, "", "a value");
	}
	switch (option->kind) {
	case FLAG:
		return parse_flag(option->name, value, (bool *)((char *)settings + option->offset));
	case GIVEN:
		return mca_given_option(&settings->given, option->name, value);
	case STRING:
		*(const char **)((char *)settings + option->offset) = value;
		return 0;
	case NUMBER:
		errno = 0;
		number = strtoul(value, &end, 10);
		if (errno || *end || end == value || *value == '-' || number > 2147483647)
			return bad_value(option->name, value, "a number from 0 to 2147483647");
		*(unsigned int *)((char *)settings + option->offset) = number;
		return 0;
	default:
		return parse_special(settings, option->name, value);
	}
}

/* ---- What to decode for -------------------------------------------------------------------- */

/* Whether an extension is among the features, with a sign: 1 on, -1 off, 0 not mentioned. */
static int mentioned(const struct settings *settings, const char *name, size_t length)
{
	int result = 0;

	for (unsigned int i = 0; i < settings->feature_count; i++)
		if (strlen(settings->features[i] + 1) == length &&
		    !strncmp(settings->features[i] + 1, name, length))
			result = *settings->features[i] == '+' ? 1 : -1;
	return result;
}

/* Profiles are features for LLVM; an ISA string has what they consist of. */
static void print_extensions(const char *name, FILE *letters, FILE *names)
{
	const char *list = name;

	for (unsigned int i = 0; i < riscv_profile_count; i++)
		if (!strcmp(riscv_profiles[i].name, name))
			list = riscv_profiles[i].implies;
	for (size_t length; *list; list += length, list += strspn(list, " ")) {
		length = strcspn(list, " ");
		fprintf(length == 1 ? letters : names, length == 1 ? "%.*s" : "_%.*s", (int)length,
			list);
	}
}

/* The processor's ISA string with -mattr applied; owned by the caller. */
static char *isa_string(const struct settings *settings, const char *isa,
			const struct pesa_mca_model *model)
{
	bool narrow = settings->triple && !strncmp(settings->triple, "riscv32", 7);
	char *text = NULL, *longer = NULL, *result = NULL;
	size_t size, longer_size;
	FILE *letters = open_memstream(&text, &size),
	     *names = open_memstream(&longer, &longer_size);
	const char *base = isa ? isa : narrow ? "rv32i" : "rv64i";

	if (!letters || !names)
		goto out;
	fprintf(letters, "%.4s", base);
	for (base += 4; *base;) {
		size_t length = *base == '_' ? strcspn(base + 1, "_") : 1;

		base += *base == '_';
		if (mentioned(settings, base, length) >= 0)
			fprintf(length == 1 ? letters : names, length == 1 ? "%.*s" : "_%.*s",
				(int)length, base);
		base += length;
	}
	for (unsigned int i = 0; i < settings->feature_count; i++) {
		const char *name = settings->features[i] + 1;
		bool tuning = pesa_mca_model_has_feature(model, name);

		if (*settings->features[i] == '+' && !tuning && strcmp(name, "64bit") &&
		    strcmp(name, "32bit") && strcmp(name, "relax"))
			print_extensions(name, letters, names);
	}
out:
	if (letters)
		fclose(letters);
	if (names)
		fclose(names);
	if (text && longer && asprintf(&result, "%s%s", text, longer) < 0)
		result = NULL;
	free(text);
	free(longer);
	return result;
}

/* A built-in model by the processor's name, or a file: FILE.model[:NAME]. */
static struct pesa_error *load_model(const char *cpu, struct pesa_mca_model **model,
				     const struct pesa_mca_processor **processor)
{
	const char *colon = strrchr(cpu, ':'), *name = cpu;
	struct pesa_error *error;
	char *path;

	if (!strchr(cpu, '/') && !strstr(cpu, ".model")) {
		error = pesa_mca_model_builtin(cpu, model);
	} else {
		path = strndup(cpu, colon ? (size_t)(colon - cpu) : strlen(cpu));
		if (!path)
			return pesa_error_no_memory();
		error = pesa_mca_model_load(path, model);
		free(path);
		name = colon ? colon + 1 : NULL;
	}
	if (error)
		return error;
	*processor = pesa_mca_model_processor(*model, name);
	if (*processor)
		return NULL;
	error = pesa_error_create(PESA_ERROR_NOT_FOUND, "the model in %s has no processor '%s'",
				  cpu, name);
	pesa_mca_model_free(*model);
	return error;
}

/* ---- Analysing ----------------------------------------------------------------------------- */

/* What every region's object has, whatever the views. */
static struct json_object *region_object(const struct mca_view_context *context,
					 const struct mca_source_region *region)
{
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < context->count; i++)
		json_object_array_add(list, json_object_new_string(context->text[i]));
	json_object_object_add(object, "Instructions", list);
	json_object_object_add(object, "Name", json_object_new_string(region->name));
	return object;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same object with its members in the order of their names, as LLVM prints them. */
static struct json_object *sorted(struct json_object *object)
{
	struct json_object *result = json_object_new_object();
	const char *names[16];
	size_t count = 0;

	json_object_object_foreach(object, name, value)
	{
		(void)value;
		if (count < sizeof(names) / sizeof(names[0]))
			names[count++] = name;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		struct json_object *member;

		if (json_object_object_get_ex(object, names[i], &member))
			json_object_object_add(result, names[i], json_object_get(member));
	}
	json_object_put(object);
	return result;
}

/* What was asked, and of which processor. */
static struct json_object *report_object(const struct settings *settings,
					 const struct pesa_mca_model *model, const char *processor,
					 struct json_object *regions)
{
	struct json_object *report = json_object_new_object();
	struct json_object *parameters = json_object_new_object();
	struct json_object *target = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool narrow = settings->triple && !strncmp(settings->triple, "riscv32", 7);
	const struct {
		const char *name;
		unsigned int value;
	} numbers[] = {
		{"-dispatch", settings->run.dispatch_width},
		{"-lqueue", settings->run.load_queue},
		{"-register-file-size", settings->run.register_file_size},
		{"-squeue", settings->run.store_queue},
	};

	json_object_object_add(report, "CodeRegions", regions);
	json_object_object_add(parameters, "-march",
			       json_object_new_string(narrow ? "riscv32" : "riscv64"));
	json_object_object_add(parameters, "-mcpu", json_object_new_string(settings->cpu));
	json_object_object_add(
		parameters, "-mtriple",
		json_object_new_string(settings->triple ? settings->triple : "riscv64"));
	/* LLVM shows these only where they have an effect. */
	for (size_t i = 0;
	     pesa_mca_model_is_out_of_order(model) && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value)
			mca_json_integer(parameters, numbers[i].name, numbers[i].value);
	if (pesa_mca_model_is_out_of_order(model) && !settings->no_alias)
		mca_json_boolean(parameters, "-noalias", false);
	json_object_object_add(report, "SimulationParameters", sorted(parameters));
	json_object_object_add(target, "CPUName", json_object_new_string(processor));
	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);

		for (unsigned int unit = 0; !resource->group && unit < resource->units; unit++) {
			char name[256];

			snprintf(name, sizeof(name), resource->units > 1 ? "%s.%u" : "%s",
				 resource->name, unit);
			json_object_array_add(list, json_object_new_string(name));
		}
	}
	json_object_object_add(target, "Resources", list);
	json_object_object_add(report, "TargetInfo", target);
	return report;
}

typedef bool (*view_maker)(struct mca_view *view, const struct mca_view_context *context);

/* One region: printed, or added to `regions` if that is not NULL. */
static struct pesa_error *show(const struct settings *settings,
			       const struct mca_view_context *context,
			       const struct pesa_mca_block *changed,
			       const struct mca_source_region *region, FILE *output,
			       struct json_object *regions)
{
	bool tables = settings->tables != TABLES_NONE;
	const struct {
		bool wanted;
		view_maker make;
	} list[] = {
		{!tables && settings->summary, mca_view_summary},
		{!tables && settings->bottleneck, mca_view_bottleneck},
		{settings->information, mca_view_information},
		{!tables && settings->dispatch_stats, mca_view_dispatch},
		{!tables && settings->scheduler_stats, mca_view_scheduler},
		{!tables && settings->retire_stats, mca_view_retire},
		{!tables && settings->register_stats, mca_view_registers},
		{settings->pressure, tables ? mca_view_tables : mca_view_pressure},
		{!tables && settings->timeline, mca_view_timeline},
		{!tables && settings->cycle_stack, mca_view_cycle_stack},
	};
	struct pesa_mca_listener listeners[VIEWS_MAX];
	struct mca_view views[VIEWS_MAX];
	struct pesa_error *error = NULL;
	struct mca_text text = {
		.stream = output,
		.colours = output == stdout && ui_terminal_open(UI_AUTO).colour,
	};
	struct json_object *object = regions ? region_object(context, region) : NULL;
	unsigned int count = 0;
	uint64_t cycles;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && !error; i++) {
		if (!list[i].wanted)
			continue;
		if (!list[i].make(&views[count], context))
			error = pesa_error_no_memory();
		listeners[count] = views[count].listener;
		count++;
	}
	if (!error && !tables)
		error = pesa_mca_run(context->block, &settings->run, listeners, count, &cycles);
	for (unsigned int i = 0; i < count; i++) {
		if (!error && !regions)
			views[i].print(&views[i], &text);
		else if (!error && views[i].name)
			json_object_object_add(object, views[i].name, views[i].json(&views[i]));
		views[i].free(&views[i]);
	}
	if (!error && changed)
		error = mca_what_if(&settings->given, context, changed, &settings->run, output,
				    object);
	if (regions)
		json_object_array_add(regions, sorted(object));
	return error;
}

/* llvm-mca warns of these once per region. */
static void warn_of_calls(const struct pesa_mca_block *block, unsigned int latency)
{
	bool call = false, return_ = false;

	for (unsigned int i = 0; i < pesa_mca_block_count(block); i++) {
		struct pesa_mca_information information;

		pesa_mca_block_information(block, i, &information);
		if (information.call && !call)
			fprintf(stderr,
				"warning: found a call in the input assembly sequence.\n"
				"note: call instructions are not correctly modeled. Assume a "
				"latency of %ucy.\n",
				latency ? latency : 100);
		if (information.return_ && !return_)
			fprintf(stderr, "warning: found a return instruction in the input assembly "
					"sequence.\nnote: program counter updates are ignored.\n");
		call |= information.call;
		return_ |= information.return_;
	}
}

static void warn_of_skipped(const struct mca_source *source, const struct mca_source_region *region,
			    const struct pesa_mca_block *block, const char *cpu)
{
	unsigned int next = 0;

	for (unsigned int i = 0; i < region->count; i++) {
		if (next < pesa_mca_block_count(block) && pesa_mca_block_source(block, next) == i)
			next++;
		else
			fprintf(stderr,
				"warning: instruction %u (%s) is not supported by the model of %s; "
				"left out\n",
				i, source->text[region->first + i], cpu);
	}
}

/* One region.  *shown is counted up if there was something in it. */
static struct pesa_error *analyse(const struct settings *settings,
				  const struct pesa_mca_model *model,
				  const struct pesa_mca_processor *processor,
				  const struct mca_source *source,
				  const struct mca_source_region *region, FILE *output,
				  struct json_object *regions, unsigned int *shown)
{
	const struct pesa_mca_block_options block_options = {
		.processor = processor->name,
		.features = settings->features,
		.feature_count = settings->feature_count,
		.call_latency = settings->call_latency,
		.follow_calls = (settings->trace || settings->profile) && !settings->call_latency,
		.skip_unsupported = settings->skip != SKIP_NONE,
	};
	struct mca_view_context context = {
		.model = model,
		.iterations = settings->run.iterations,
		.dispatch_width = settings->run.dispatch_width,
		.encodings = settings->encodings,
		.barriers = settings->barriers,
		.full = settings->tables == TABLES_FULL,
		.timeline_cycles = settings->timeline_cycles,
	};
	const char **text = NULL;
	const struct pesa_insn **insn = NULL;
	uint64_t *address = NULL;
	struct pesa_mca_block *block, *changed = NULL;
	struct pesa_error *error;

	error = pesa_mca_block_create(model, source->instructions + region->first, region->count,
				      &block_options, &block);
	if (error)
		return error;
	context.block = block;
	context.count = pesa_mca_block_count(block);
	context.timeline_iterations =
		settings->timeline_iterations ? settings->timeline_iterations : TIMELINE_LINES;
	if (context.timeline_iterations > context.iterations)
		context.timeline_iterations = context.iterations;
	warn_of_skipped(source, region, block, processor->name);
	if (!context.count) {
		pesa_mca_block_free(block);
		return NULL;
	}
	if (!settings->trace && !settings->profile)
		warn_of_calls(block, settings->call_latency);
	text = calloc(context.count, sizeof(*text));
	insn = calloc(context.count, sizeof(*insn));
	if (source->address)
		address = calloc(context.count, sizeof(*address));
	if (text && insn && (address || !source->address)) {
		for (unsigned int i = 0; i < context.count; i++) {
			unsigned int index = region->first + pesa_mca_block_source(block, i);

			text[i] = source->text[index];
			insn[i] = &source->instructions[index].insn;
			if (address)
				address[i] = source->address[index];
		}
		context.address = address;
		context.text = text;
		context.insn = insn;
		if (!regions && (region->has_begin || region->has_end))
			fprintf(output, "\n[%u] Code Region%s%s\n\n", *shown,
				*region->name ? " - " : "", region->name);
		error = settings->changed
				? pesa_mca_block_create(settings->changed,
							source->instructions + region->first,
							region->count, &block_options, &changed)
				: NULL;
		if (!error)
			error = show(settings, &context, changed, region, output, regions);
		++*shown;
	} else {
		error = pesa_error_no_memory();
	}
	free(text);
	free(insn);
	free(address);
	pesa_mca_block_free(changed);
	pesa_mca_block_free(block);
	return error;
}

static struct pesa_error *read_input(const struct settings *settings, const char *isa,
				     struct mca_source *source)
{
	const struct mca_source_options source_options = {
		.path = settings->path,
		.isa = isa,
		.instruments = !settings->disable_instruments,
	};
	const struct mca_program_options program_options = {
		.path = settings->hex ? NULL : settings->path,
		.isa = isa,
		.symbol = settings->symbol,
		.range = settings->range,
		.hex = settings->hex,
		.trace = settings->trace,
		.profile = settings->profile,
		.length = settings->path_length,
		.instruments = !settings->disable_instruments,
	};
	struct pesa_error *error;

	if (settings->symbol || settings->range || settings->hex || settings->trace ||
	    settings->profile)
		return mca_program_read(&program_options, source);
	error = mca_program_check_assembly(settings->path);
	return error ? error : mca_source_read(&source_options, source);
}

/* What does not go together is said before anything is done. */
static int check_input(const struct settings *settings)
{
	const char *const parts[] = {settings->symbol, settings->range, settings->hex,
				     settings->trace};
	unsigned int given = 0;

	if (settings->tables != TABLES_NONE &&
	    (settings->given.what_ifs || settings->given.any || settings->cycle_stack)) {
		fprintf(stderr, "pesa mca: --instruction-tables runs nothing, so --cycle-stack, "
				"--what-if and the like have no effect with it\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		given += parts[i] != NULL;
	if (given > 1 || (settings->profile && (settings->hex || settings->trace))) {
		fprintf(stderr, "pesa mca: only one of --symbol, --range, --hex and --branch-trace "
				"is possible, and --path-from only with --symbol or --range\n");
		return 2;
	}
	if (settings->hex && settings->path) {
		fprintf(stderr, "pesa mca: --hex is given, so there can be no input file %s\n",
			settings->path);
		return 2;
	}
	given += settings->profile != NULL;
	if (given && !settings->hex && (!settings->path || !strcmp(settings->path, "-"))) {
		fprintf(stderr, "pesa mca: the name of the program is needed\n");
		return 2;
	}
	if (!settings->path_length || settings->path_length > MCA_PATH_MAX) {
		fprintf(stderr, "pesa mca: --path-length must be between 1 and %d\n", MCA_PATH_MAX);
		return 2;
	}
	return 0;
}

/* The model as --set changes it, and a second one for --what-if. */
static struct pesa_error *change_models(struct settings *settings, struct pesa_mca_model *model)
{
	const struct pesa_mca_processor *processor;
	struct pesa_error *error = mca_given_change(&settings->given, model, false);

	if (!error)
		error = mca_given_resolve(&settings->given, model, &settings->run.given);
	if (error || !settings->given.what_ifs)
		return error;
	error = load_model(settings->cpu, &settings->changed, &processor);
	return error ? error : mca_given_change(&settings->given, settings->changed, true);
}

static struct pesa_error *analyse_all(struct settings *settings)
{
	const struct pesa_mca_processor *processor;
	struct pesa_mca_model *model;
	struct mca_source source;
	struct pesa_error *error = load_model(settings->cpu, &model, &processor);
	struct json_object *regions = NULL;
	unsigned int shown = 0;
	FILE *output = stdout;
	char *isa;

	if (error)
		return error;
	/* Of no use for an in-order processor; -all-views does not mean them there. */
	if (!pesa_mca_model_is_out_of_order(model)) {
		if (settings->all_stats_given)
			settings->retire_stats = false;
		if (settings->all_views_given)
			settings->bottleneck = false;
		if (settings->bottleneck)
			fprintf(stderr,
				"warning: bottleneck analysis is not supported for in-order CPU "
				"'%s'.\n",
				processor->name);
	}
	error = change_models(settings, model);
	if (error) {
		pesa_mca_model_free(settings->changed);
		pesa_mca_model_free(model);
		return error;
	}
	isa = isa_string(settings, processor->isa, model);
	error = isa ? read_input(settings, isa, &source) : pesa_error_no_memory();
	if (!error && settings->output && strcmp(settings->output, "-")) {
		output = fopen(settings->output, "we");
		if (!output) {
			error = pesa_error_system(errno, "%s: cannot write", settings->output);
			mca_source_free(&source);
		}
	}
	if (!error) {
		if (settings->json)
			regions = json_object_new_array();
		for (unsigned int i = 0; i < source.region_count && !error; i++)
			if (source.regions[i].count)
				error = analyse(settings, model, processor, &source,
						&source.regions[i], output, regions, &shown);
		if (!error && !shown)
			error = pesa_error_create(PESA_ERROR_FORMAT,
						  "%s: no assembly instructions found",
						  settings->path);
		if (regions) {
			struct json_object *report =
				report_object(settings, model, processor->name, regions);

			if (!error)
				fprintf(output, "%s\n",
					json_object_to_json_string_ext(
						report, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_SPACED |
								JSON_C_TO_STRING_NOSLASHESCAPE));
			json_object_put(report);
		}
		if (output != stdout && fclose(output) && !error)
			error = pesa_error_system(errno, "%s: cannot write", settings->output);
		mca_source_free(&source);
	}
	free(isa);
	pesa_mca_model_free(settings->changed);
	pesa_mca_model_free(model);
	return error;
}

static bool is_path_option(const char *argument)
{
	argument += *argument == '-';
	argument += *argument == '-';
	return !strncmp(argument, "branch-trace", 12) || !strncmp(argument, "path-from", 9);
}

int pesa_command_mca(int argc, char **argv)
{
	struct settings settings = {
		.run.iterations = 0,
		.timeline_cycles = 80,
		.path_length = 10000,
		.summary = true,
		.information = true,
		.pressure = true,
		.no_alias = true,
	};
	struct pesa_error *error;
	int status = 0;

	/* A path is long, so what it costs by address comes first; other views on demand. */
	for (int i = 1; i < argc; i++)
		if (is_path_option(argv[i])) {
			settings.information = settings.pressure = false;
			settings.cycle_stack = true;
		}
	for (int i = 1; i < argc && !status; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-help") ||
		    !strcmp(argv[i], "-h")) {
			usage(stdout);
			free(settings.attributes);
			return 0;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			status = parse_option(&settings, argv, &i);
		} else if (settings.path) {
			fprintf(stderr, "pesa mca: two inputs, %s and %s; only one is possible\n",
				settings.path, argv[i]);
			status = 2;
		} else {
			settings.path = argv[i];
		}
	}
	if (!status && settings.cpu && !strcmp(settings.cpu, "help")) {
		list_processors();
		free(settings.attributes);
		return 0;
	}
	if (!status && !settings.cpu) {
		fprintf(stderr, "pesa mca: -mcpu=NAME is needed; -mcpu=help lists the names\n");
		status = 2;
	}
	if (!status)
		status = check_input(&settings);
	if (!status) {
		if (!settings.path)
			settings.path = settings.hex ? "--hex" : "-";
		if (!settings.run.iterations)
			settings.run.iterations =
				settings.trace || settings.profile ? 1 : ITERATIONS;
		settings.run.loads_alias_stores = !settings.no_alias;
		settings.run.pressure = settings.bottleneck;
		error = analyse_all(&settings);
		if (error) {
			fprintf(stderr, "pesa mca: %s\n", error->message);
			pesa_error_free(error);
			status = 1;
		}
	}
	free(settings.attributes);
	return status;
}
