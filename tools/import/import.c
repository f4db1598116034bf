// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa import: converts the pipeline trace of an RTL simulation or a simulator to a recording. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "decoder/base/unpack.h"
#include "tools/commands.h"
#include "tools/import/locate.h"
#include "tools/import/output.h"
#include "tools/import/page.h"
#include "tools/import/summary.h"
#include "tools/import/text.h"
#include "tools/ui/output_files.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/progress.h"
#include "tools/record/virtual_core.h"

#define DEFAULT_OUTPUT "perf.data"

#define PIECE_BYTES (256u * 1024)

struct arguments {
	const char *format, *map, *core, *output, *golden, *trace;
	const char *of_samples; /* an option given that requires a period */
	const char *html;
	uint64_t period, jitter, seed, width, ticks, frequency, xlen;
	bool has_jitter;
	struct profile_summary_options printed;
	struct import_text text;
	int compression;
};

enum {
	KEY_JITTER = 256,
	KEY_SEED,
	KEY_CORE,
	KEY_WIDTH,
	KEY_FREQUENCY,
	KEY_XLEN,
	KEY_TICKS,
	KEY_HTML,
};

static const struct argp_option options[] = {
	{"format", 'f', "FORMAT", 0, "kanata or o3pipeview (default: as the trace begins)", 0},
	{"state-map", 'm', "MAP", 0,
	 "What stage names and labels mean: a name of those that come with pesa (rsd, onikiri, "
	 "gem5, virtual-core), or a file",
	 0},
	{"elf", 'e', "FILE[@ADDR]", 0,
	 "The program; several may be given.  ADDR is added to its addresses; that of a "
	 "position-independent one is found where the trace tells it",
	 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of perf.data; '-' is standard output", 0},
	{"period", 'c', "CYCLES", 0,
	 "Samples, one every so many cycles, instead of the exact profile", 0},
	{"golden", 'g', "FILE", 0, "The exact profile as well", 0},
	{"jitter", KEY_JITTER, "CYCLES", 0,
	 "Intervals vary by up to this either way (default: an eighth of the period)", 0},
	{"seed", KEY_SEED, "N", 0, "Seed of the jitter (default: 1)", 0},
	{"core", KEY_CORE, "NAME", 0,
	 "Core description: retire width, causes, targets; see 'pesa list'", 0},
	{"retire-width", KEY_WIDTH, "N", 0, "Instructions that can retire in a cycle", 0},
	{"frequency", KEY_FREQUENCY, "HZ", 0,
	 "Frequency of the core, for times (default: 1000000000)", 0},
	{"xlen", KEY_XLEN, "32|64", 0, "Register width, where no ELF file tells it (default: 64)",
	 0},
	{"ticks", KEY_TICKS, "N", 0, "Ticks of a cycle in O3PipeView (default: found out)", 0},
	{"html", KEY_HTML, "FILE", 0,
	 "Write a page to FILE, too: the pipeline of the first 100,000 instructions", 0},
	{"compression", 'z', "N", 0, "zstd level of the files, 0 for none (default: 1)", 0},
	{0},
};

/* Parse a numeric option: key, minimum, maximum, destination. */
static bool set_number(struct arguments *arguments, int key, const char *text,
		       const struct argp_state *state)
{
	const struct {
		int key;
		const char *name;
		uint64_t least, most;
		uint64_t *value;
	} numbers[] = {
		{'c', "--period", 1, UINT64_C(1) << 40, &arguments->period},
		{KEY_JITTER, "--jitter", 0, UINT64_C(1) << 40, &arguments->jitter},
		{KEY_SEED, "--seed", 0, INT64_MAX, &arguments->seed},
		{KEY_WIDTH, "--retire-width", 1, 15, &arguments->width},
		{KEY_FREQUENCY, "--frequency", 1, UINT64_C(1) << 40, &arguments->frequency},
		{KEY_XLEN, "--xlen", 32, 64, &arguments->xlen},
		{KEY_TICKS, "--ticks", 1, UINT64_C(1) << 32, &arguments->ticks},
	};
	uint64_t value;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].key != key)
			continue;
		if (!number_read(text, 0, numbers[i].least, numbers[i].most, &value) ||
		    (key == KEY_XLEN && value != 32 && value != 64))
			profile_usage_error(
				state, "'%s' is no value for %s; allowed: %" PRIu64 " %s %" PRIu64,
				text, numbers[i].name, numbers[i].least,
				key == KEY_XLEN ? "or" : "to", numbers[i].most);
		*numbers[i].value = value;
		return true;
	}
	return false;
}

static struct pesa_error *check_outputs(const struct arguments *arguments)
{
	const struct output_file files[] = {
		{.path = arguments->trace, .what = "the trace", .read = true},
		{.path = arguments->output,
		 .what = arguments->period ? "the samples" : "the profile"},
		{.path = arguments->golden, .what = "the exact profile"},
		{.path = arguments->printed.json, .what = "the summary"},
		{.path = arguments->html, .what = "the page"},
	};

	return output_files_check(files, sizeof(files) / sizeof(files[0]));
}

/* Check for conflicting and missing options. */
static void check(struct arguments *arguments, const struct argp_state *state)
{
	struct pesa_error *error;

	if (!arguments->trace)
		profile_usage_error(state, "no trace to read");
	error = check_outputs(arguments);
	if (error)
		profile_parse_failed(state, 2, error);
	if (!arguments->period && arguments->of_samples)
		profile_usage_error(state,
				    "%s is of samples: --period says how many; without it every "
				    "cycle is written",
				    arguments->of_samples);
	if (!arguments->has_jitter)
		arguments->jitter = arguments->period / VIRTUAL_CORE_JITTER_DIVISOR;
	if (arguments->period && arguments->jitter >= arguments->period)
		profile_usage_error(state, "--jitter must be less than --period");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct pesa_error *error;
	uint64_t level;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->printed;
		return 0;
	case 'f':
		if (strcmp(argument, "kanata") && strcmp(argument, "o3pipeview"))
			profile_bad_value(state, "--format", argument, "kanata, o3pipeview");
		arguments->format = argument;
		return 0;
	case 'm':
		arguments->map = argument;
		return 0;
	case 'e':
		error = import_text_add(&arguments->text, argument);
		if (error)
			profile_parse_failed(state, 1, error);
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case 'g':
		arguments->golden = argument;
		return 0;
	case KEY_CORE:
		arguments->core = argument;
		return 0;
	case KEY_HTML:
		arguments->html = argument;
		return 0;
	case 'z':
		if (!number_read(argument, 10, 0, PESA_PERFDATA_COMPRESSION_MAX, &level))
			profile_bad_value(state, "--compression", argument, "0 to 22");
		arguments->compression = (int)level;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->trace)
			profile_usage_error(state, "more than one trace");
		arguments->trace = argument;
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	default:
		if (!set_number(arguments, key, argument, state))
			return ARGP_ERR_UNKNOWN;
		arguments->has_jitter |= key == KEY_JITTER;
		if (key == KEY_JITTER || key == KEY_SEED)
			arguments->of_samples = key == KEY_JITTER ? "--jitter" : "--seed";
		return 0;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_summary_children,
	.args_doc = "TRACE",
	.doc = "Read the pipeline trace of an RTL simulation or a simulator, find out what every "
	       "cycle of the retire stage was, and write the exact profile: every cycle of every "
	       "instruction.  With a period, write the samples that shpmsdetails would have "
	       "delivered.  TRACE may be compressed with gzip, zstd or xz; - is standard "
	       "input.\vExamples:\n"
	       "  pesa import -m rsd -e program.elf -c 1000 -g golden.data kanata.log.gz\n"
	       "  pesa report && pesa error --golden golden.data\n"
	       "  pesa import --html pipeline.html kanata.log.gz\n"
	       "\n"
	       "The manual page pesa-import(1) explains all.",
};

/* ---- State map ----------------------------------------------------------------------------- */

static struct pesa_error *maps_directory(char directory[PATH_MAX])
{
	if (pesa_path_data("maps", directory))
		return NULL;
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "no state maps in %s; is pesa installed completely?", directory);
}

static struct pesa_error *load_map(const char *name, struct pesa_pipeline_map **map)
{
	char directory[PATH_MAX], path[PATH_MAX + NAME_MAX];
	struct pesa_error *error;

	if (strchr(name, '/') || !access(name, R_OK))
		return pesa_pipeline_map_load(name, map);
	error = maps_directory(directory);
	if (error)
		return error;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, R_OK))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "no state map '%s', neither as a file nor in %s", name,
					 directory);
	return pesa_pipeline_map_load(path, map);
}

/* Find the map that comes with pesa and matches the beginning of the trace. */
static struct pesa_error *recognise(const char *text, size_t size, struct pesa_pipeline_map **map)
{
	char directory[PATH_MAX], path[PATH_MAX + NAME_MAX + 1];
	struct pesa_error *error = maps_directory(directory);
	struct pesa_pipeline_map *candidate;
	const struct dirent *entry;
	DIR *folder;

	if (error)
		return error;
	folder = opendir(directory);
	if (!folder)
		return pesa_error_system(errno, "%s", directory);
	*map = NULL;
	while (!error && !*map && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		error = pesa_pipeline_map_load(path, &candidate);
		if (error)
			break;
		if (pesa_pipeline_map_recognises(candidate, text, size))
			*map = candidate;
		else
			pesa_pipeline_map_free(candidate);
	}
	closedir(folder);
	if (!error && !*map)
		error = pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"no state map recognises who wrote this trace: say with --state-map what "
			"its stage names mean (rsd, onikiri, or a file of your own, see "
			"Documentation/pipeline-traces.md)");
	return error;
}

static struct pesa_error *choose_map(const struct arguments *arguments, const char *text,
				     size_t size, struct pesa_pipeline_map **map)
{
	enum pesa_pipeline_format format;
	bool detected = pesa_pipeline_detect(text, size, &format);
	struct pesa_error *error;

	if (arguments->format)
		format = strcmp(arguments->format, "kanata") ? PESA_PIPELINE_O3PIPEVIEW
							     : PESA_PIPELINE_KANATA;
	else if (!detected)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "neither a Kanata log (a first line 'Kanata', tab, "
					 "'0004') nor a trace of gem5's O3PipeView");
	if (arguments->map)
		error = load_map(arguments->map, map);
	else if (format == PESA_PIPELINE_O3PIPEVIEW)
		error = load_map("gem5", map);
	else
		error = recognise(text, size, map);
	if (!error && pesa_pipeline_map_format(*map) != format) {
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "the state map %s is for traces of another format",
					  pesa_pipeline_map_name(*map));
		pesa_pipeline_map_free(*map);
		*map = NULL;
	}
	return error;
}

/* ---- The import ---------------------------------------------------------------------------- */

struct import {
	const struct arguments *arguments;
	struct import_text *text;
	struct pesa_unpack *unpack;
	struct pesa_pipeline_map *map;
	struct pesa_core core;
	bool has_core;
	struct pesa_capabilities capabilities;
	struct import_output output;
	struct pesa_pipeline *pipeline;
	struct import_page *page; /* NULL: not wanted */
	char *piece;
	size_t got;
};

/* Describe the core: from its description, the options, and the causes that the map names. */
static struct pesa_error *describe_core(struct import *import)
{
	const struct arguments *arguments = import->arguments;
	char name[PESA_CAPABILITY_NAME_MAX];
	struct pesa_error *error = NULL;

	if (arguments->core) {
		error = virtual_core_load(arguments->core, &import->core);
		import->has_core = !error;
	} else if (pesa_pipeline_map_core(import->map, import->piece, import->got, name)) {
		error = virtual_core_load(name, &import->core);
		error = pesa_error_prefix(error,
					  "the trace names its core (--core names another): ");
		import->has_core = !error;
	}
	if (error)
		return error;
	if (import->has_core)
		pesa_core_capabilities(&import->core, &import->capabilities);
	else
		pesa_capabilities_default(&import->capabilities);
	if (arguments->width)
		import->capabilities.retire_width = (uint32_t)arguments->width;
	if (arguments->frequency)
		import->capabilities.frequency = arguments->frequency;
	if (import->text->count)
		import->capabilities.xlen = import->text->narrow ? 32 : 64;
	else if (arguments->xlen)
		import->capabilities.xlen = (uint32_t)arguments->xlen;
	return pesa_pipeline_map_bind(import->map, &import->capabilities, import->has_core);
}

static enum pesa_text_status instruction(void *context, uint64_t address,
					 struct pesa_text_insn *insn, bool *serialises)
{
	const struct import *import = context;

	return import_text_instruction(import->text, address, insn, serialises);
}

static struct pesa_error *sample(void *context, uint32_t hart, uint64_t cycle,
				 const struct pesa_record *record,
				 const struct pesa_branch_entry *branches, unsigned int count)
{
	struct import *import = context;

	return import_output_sample(&import->output, hart, cycle, record, branches, count);
}

static void named(void *context, uint64_t pc, const char *text)
{
	import_page_named(((const struct import *)context)->page, pc, text);
}

static void passed(void *context, const struct pesa_pipeline_passed *instruction)
{
	import_page_passed(((const struct import *)context)->page, instruction);
}

static void cycles(void *context, uint32_t hart, uint64_t start, uint64_t end, unsigned int state,
		   uint16_t cause)
{
	import_page_cycles(((const struct import *)context)->page, hart, start, end, state, cause);
}

/* ---- Where files were loaded ----------------------------------------------------------------- */

/* Try to locate files after this many bytes, then after each multiplication of them. */
#define FIRST_TRY_BYTES (UINT64_C(1) << 20)
#define TRY_FACTOR	4

static void locate_step(void *context, uint64_t pc, uint64_t next)
{
	import_locate_step(context, pc, next);
}

/* Return whether the trace is a file that can be read twice. */
static bool is_regular(const char *path)
{
	struct stat status;

	return strcmp(path, "-") && !stat(path, &status) && S_ISREG(status.st_mode);
}

/*
 * Read the trace until every file is located; of a pipe only what is buffered.  Problems with the
 * trace are reported later, by the import.
 */
static void read_steps(const struct import *import, struct pesa_pipeline *pipeline,
		       struct import_locate *locate)
{
	uint64_t bytes = 0, next_try = FIRST_TRY_BYTES;
	struct pesa_unpack *unpack = NULL;
	struct pesa_error *error;
	char *piece = NULL;
	size_t got = 0;
	bool placed = false;

	if (!is_regular(import->arguments->trace)) {
		error = pesa_pipeline_feed(pipeline, import->piece, import->got);
	} else {
		piece = malloc(PIECE_BYTES);
		error = piece ? pesa_unpack_open(import->arguments->trace, &unpack)
			      : pesa_error_no_memory();
	}
	while (!error && !placed && unpack) {
		error = pesa_unpack_read(unpack, piece, PIECE_BYTES, &got);
		if (error || !got)
			break;
		error = pesa_pipeline_feed(pipeline, piece, got);
		bytes += got;
		if (bytes >= next_try) {
			placed = import_locate_place(locate);
			next_try = bytes * TRY_FACTOR;
		}
	}
	if (!error && !placed)
		error = pesa_pipeline_end(pipeline);
	if (!placed)
		import_locate_place(locate);
	pesa_error_free(error);
	pesa_unpack_close(unpack);
	free(piece);
}

static void tell_places(const struct import *import)
{
	for (unsigned int i = 0; i < import->text->count; i++) {
		const struct import_file *file = &import->text->file[i];

		if (file->place == IMPORT_PLACE_UNKNOWN)
			safe_output_message(
				"pesa import: %s: can be loaded anywhere, and the trace does not "
				"tell where it was: say it with --elf %s@ADDRESS",
				file->path, file->path);
		else if (file->place == IMPORT_PLACE_FOUND && file->moved &&
			 !import->arguments->printed.quiet)
			safe_output_message(
				"pesa import: %s: taken as loaded at %#" PRIx64
				", where %u of %u different steps of the trace fit its text; --elf "
				"%s@ADDRESS says another",
				file->path, file->moved, file->fits, file->steps, file->path);
	}
}

/* Find the addresses of relocatable files without a given one. */
static struct pesa_error *locate_files(struct import *import)
{
	const struct arguments *arguments = import->arguments;
	struct import_locate *locate = import_locate_create(import->text);
	const struct pesa_pipeline_options wanted = {
		.map = import->map,
		.ticks_per_cycle = arguments->ticks,
		.narrow = import->capabilities.xlen == 32,
		.step = locate_step,
		.context = locate,
	};
	struct pesa_pipeline *pipeline = NULL;
	struct pesa_error *error;

	error = locate ? pesa_pipeline_create(&wanted, &pipeline) : pesa_error_no_memory();
	if (!error) {
		read_steps(import, pipeline, locate);
		tell_places(import);
	}
	pesa_pipeline_free(pipeline);
	import_locate_free(locate);
	return error;
}

/* ---- Reading it ------------------------------------------------------------------------------ */

static struct pesa_error *open_all(struct import *import, char **command)
{
	const struct arguments *arguments = import->arguments;
	struct pesa_pipeline_options wanted;
	struct pesa_error *error;
	const char *slash;

	error = choose_map(arguments, import->piece, import->got, &import->map);
	if (!error)
		error = describe_core(import);
	for (unsigned int i = 0; !error && i < import->text->count; i++)
		if (import->text->file[i].place == IMPORT_PLACE_UNKNOWN) {
			error = locate_files(import);
			break;
		}
	if (error)
		return pesa_error_prefix(error, "%s: ", arguments->trace);
	import->output.name = import->text->count ? import->text->file[0].path : "pipeline-trace";
	slash = strrchr(import->output.name, '/');
	if (slash)
		import->output.name = slash + 1;
	import->output.text = import->text;
	import->output.capabilities = &import->capabilities;
	import->output.period = arguments->period;
	import->output.description = import->has_core ? import->core.summary : NULL;
	import->output.command = command;
	import->output.compression = arguments->compression;
	wanted = (struct pesa_pipeline_options){
		.map = import->map,
		.retire_width = import->capabilities.retire_width,
		.ct_targets = import->capabilities.ct_targets,
		.ctr_depth = import->capabilities.ctr_depth,
		.period = arguments->period,
		.jitter = arguments->jitter,
		.seed = arguments->seed,
		.ticks_per_cycle = arguments->ticks,
		.narrow = import->capabilities.xlen == 32,
		.instruction = import->text->count ? instruction : NULL,
		.sample = arguments->period ? sample : NULL,
		.context = import,
	};
	if (arguments->html) {
		import->page = import_page_create();
		if (!import->page)
			return pesa_error_no_memory();
		wanted.named = named;
		wanted.passed = passed;
		wanted.cycles = cycles;
	}
	error = import_output_open(&import->output, arguments->output, arguments->golden);
	if (error)
		return error;
	return pesa_pipeline_create(&wanted, &import->pipeline);
}

static struct pesa_error *read_all(struct import *import)
{
	struct ui_progress progress;
	struct pesa_error *error = NULL;
	uint64_t done, total;

	ui_progress_start(&progress, "reading");
	while (!error && import->got) {
		error = pesa_pipeline_feed(import->pipeline, import->piece, import->got);
		if (!error)
			error = pesa_unpack_read(import->unpack, import->piece, PIECE_BYTES,
						 &import->got);
		pesa_unpack_progress(import->unpack, &done, &total);
		if (total)
			ui_progress_update(&progress, (double)done / (double)total);
	}
	ui_progress_finish(&progress);
	if (!error)
		error = pesa_pipeline_end(import->pipeline);
	return pesa_error_prefix(error, "%s: ", import->arguments->trace);
}

/* Read the first piece of the trace, by which the map is chosen. */
static struct pesa_error *peek(struct import *import)
{
	struct pesa_error *error = NULL;
	size_t got = 1;

	while (!error && got && import->got < PIECE_BYTES) {
		error = pesa_unpack_read(import->unpack, import->piece + import->got,
					 PIECE_BYTES - import->got, &got);
		import->got += got;
	}
	if (!error && !import->got && pesa_unpack_damage(import->unpack))
		error = pesa_error_create(PESA_ERROR_FORMAT, "%s: %s, and nothing can be read",
					  import->arguments->trace,
					  pesa_unpack_damage(import->unpack));
	return error;
}

static int report(struct import *import)
{
	const struct arguments *arguments = import->arguments;
	struct import_result result = {
		.summary = pesa_pipeline_summary(import->pipeline),
		.capabilities = &import->capabilities,
		.map = pesa_pipeline_map_name(import->map),
		.trace = arguments->trace,
		.output = arguments->output,
		.golden = arguments->golden,
		.period = arguments->period,
		.jitter = arguments->jitter,
		.seed = arguments->seed,
		.golden_weight = import->output.golden_weight,
		.golden_instructions = import->output.golden_instructions,
		.text = import->text,
		.damage = pesa_unpack_damage(import->unpack),
	};

	if (!arguments->printed.quiet)
		import_summary_print(&result, stderr);
	if (arguments->printed.wants_json) {
		struct pesa_error *error = import_summary_json(&result, arguments->printed.json);

		if (error)
			return profile_fail("import", error);
	}
	return import_summary_sound(&result) ? 0 : 1;
}

static int run(const struct arguments *arguments, struct import_text *text, char **command)
{
	struct import import = {.arguments = arguments, .text = text};
	struct pesa_error *error;
	int status;

	import.piece = malloc(PIECE_BYTES);
	error = import.piece ? pesa_unpack_open(arguments->trace, &import.unpack)
			     : pesa_error_no_memory();
	if (!error)
		error = peek(&import);
	if (!error)
		error = open_all(&import, command);
	if (!error)
		error = read_all(&import);
	if (!error)
		error = import_output_golden(&import.output, import.pipeline,
					     pesa_pipeline_summary(import.pipeline)->cycles);
	if (error)
		import_output_abandon(&import.output);
	else
		error = import_output_finish(&import.output);
	if (!error && import.page)
		error = import_page_write(import.page, pesa_pipeline_summary(import.pipeline),
					  &import.capabilities, arguments->trace, arguments->html);
	status = error ? profile_fail("import", error) : report(&import);
	pesa_pipeline_free(import.pipeline);
	pesa_pipeline_map_free(import.map);
	import_page_free(import.page);
	pesa_unpack_close(import.unpack);
	free(import.piece);
	return status;
}

int pesa_command_import(int argc, char **argv)
{
	struct arguments arguments = {.output = DEFAULT_OUTPUT, .seed = 1, .compression = 1};
	char **command = calloc((size_t)argc + 2, sizeof(*command));
	int status;

	if (!command)
		return profile_fail("import", pesa_error_no_memory());
	command[0] = (char *)"pesa";
	memcpy(command + 1, argv, (size_t)argc * sizeof(*command));
	status = profile_parse(&argp, "import", argc, argv, &arguments);
	if (!status)
		status = run(&arguments, &arguments.text, command);
	import_text_free(&arguments.text);
	free(command);
	return status;
}
