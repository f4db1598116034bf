// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Export for the Firefox Profiler: JSON in its "processed" format, version 54.  Fields and their
 * meaning are those of the profiler's src/types/profile.ts and docs-developer/CHANGELOG-formats.md
 * (github.com/firefox-devtools/profiler), which reads any older version.
 *
 * A thread has tables whose columns are arrays: stacks refer to frames, frames to functions,
 * functions to resources, and resources to the libraries of the document.  A row becomes a sample:
 * a stack with its cycles as the weight.  Categories are the states of the retire stage; their
 * subcategories are the causes.
 *
 * Rows have no time, but the profiler requires one.  So each sample starts where the previous one
 * ends, and takes as long as its cycles.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/json.h"
#include "decoder/export/write.h"
#include "pesa/version.h"

#define FOX_VERSION   54
#define RESOURCE_LIB  1		    /* the type of a resource that is a library */
#define EXACT_INTEGER (1ull << 53)  /* from here on not every JSON reader is exact */
#define HERTZ	      1000000000ull /* default if the recording has no frequency */
#define CAUSES	      (1u << PESA_CAUSE_COUNT)
#define NAME_ROOM     512

/* All fields are the key. */
struct fox_frame {
	uint32_t function, location;
	uint32_t line, depth; /* depth: of inlining */
	uint32_t category, subcategory;
};

/* All fields are the key. */
struct fox_function {
	uint32_t name, file; /* strings of the thread; file: DISTINCT_NONE: unknown */
	uint32_t line, resource;
};

struct fox_stack {
	uint32_t prefix, frame; /* the key ends here */
	uint64_t weight;
};

/* All fields are the key. */
struct fox_resource {
	uint32_t dso, name;
};

struct firefox {
	struct export_writing *writing;
	FILE *out;
	/* Index of each cause set among the subcategories of its state; 0: no causes, or unused. */
	uint16_t (*subcategory)[CAUSES];
	uint32_t *library; /* by dso; DISTINCT_NONE: none */
	/* Tables of the thread being written. */
	struct distinct_bytes strings;
	struct distinct_records frames, functions, stacks, resources;
	struct export_rounding rounding;
	uint64_t begun;		  /* cycles of the samples written so far */
	struct pesa_error *error; /* the note of a failure; NULL: none */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

struct column {
	const char *name;
	void (*print)(struct firefox *fox, uint32_t row);
};

static void print_table(struct firefox *fox, const char *name, uint32_t length,
			const struct column *column, size_t columns)
{
	fprintf(fox->out, "\n\"%s\":{\"length\":%" PRIu32, name, length);
	for (size_t i = 0; i < columns; i++) {
		fprintf(fox->out, ",\"%s\":[", column[i].name);
		for (uint32_t row = 0; row < length; row++) {
			if (row)
				fputc(',', fox->out);
			column[i].print(fox, row);
		}
		fputc(']', fox->out);
	}
	fputc('}', fox->out);
}

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

static void print_number(struct firefox *fox, uint32_t number)
{
	if (number == DISTINCT_NONE)
		fputs("null", fox->out);
	else
		fprintf(fox->out, "%" PRIu32, number);
}

/* Line numbers: 0 is none. */
static void print_line(struct firefox *fox, uint32_t line)
{
	print_number(fox, line ? line : DISTINCT_NONE);
}

static void print_null(struct firefox *fox, uint32_t row)
{
	(void)row;
	fputs("null", fox->out);
}

static void print_false(struct firefox *fox, uint32_t row)
{
	(void)row;
	fputs("false", fox->out);
}

static const struct fox_frame *frame_at(const struct firefox *fox, uint32_t row)
{
	return distinct_records_at(&fox->frames, row);
}

static void print_frame_address(struct firefox *fox, uint32_t row)
{
	const struct export_location *location =
		export_location_at(&fox->writing->frames, frame_at(fox, row)->location);

	if (location->dso == DISTINCT_NONE || location->address >= EXACT_INTEGER)
		fputs("-1", fox->out);
	else
		fprintf(fox->out, "%" PRIu64, location->address);
}

static void print_frame_depth(struct firefox *fox, uint32_t row)
{
	print_number(fox, frame_at(fox, row)->depth);
}

static void print_frame_category(struct firefox *fox, uint32_t row)
{
	print_number(fox, frame_at(fox, row)->category);
}

static void print_frame_subcategory(struct firefox *fox, uint32_t row)
{
	print_number(fox, frame_at(fox, row)->subcategory);
}

static void print_frame_function(struct firefox *fox, uint32_t row)
{
	print_number(fox, frame_at(fox, row)->function);
}

static void print_frame_line(struct firefox *fox, uint32_t row)
{
	print_line(fox, frame_at(fox, row)->line);
}

static const struct column frame_columns[] = {
	{"address", print_frame_address},
	{"inlineDepth", print_frame_depth},
	{"category", print_frame_category},
	{"subcategory", print_frame_subcategory},
	{"func", print_frame_function},
	{"nativeSymbol", print_null},
	{"innerWindowID", print_null},
	{"line", print_frame_line},
	{"column", print_null},
};

static const struct fox_function *function_at(const struct firefox *fox, uint32_t row)
{
	return distinct_records_at(&fox->functions, row);
}

static void print_function_name(struct firefox *fox, uint32_t row)
{
	print_number(fox, function_at(fox, row)->name);
}

static void print_function_resource(struct firefox *fox, uint32_t row)
{
	uint32_t resource = function_at(fox, row)->resource;

	if (resource == DISTINCT_NONE)
		fputs("-1", fox->out);
	else
		print_number(fox, resource);
}

static void print_function_file(struct firefox *fox, uint32_t row)
{
	print_number(fox, function_at(fox, row)->file);
}

static void print_function_line(struct firefox *fox, uint32_t row)
{
	print_line(fox, function_at(fox, row)->line);
}

static const struct column function_columns[] = {
	{"name", print_function_name},	   {"isJS", print_false},
	{"relevantForJS", print_false},	   {"resource", print_function_resource},
	{"fileName", print_function_file}, {"lineNumber", print_function_line},
	{"columnNumber", print_null},
};

static const struct fox_stack *stack_at(const struct firefox *fox, uint32_t row)
{
	return distinct_records_at(&fox->stacks, row);
}

static void print_stack_prefix(struct firefox *fox, uint32_t row)
{
	print_number(fox, stack_at(fox, row)->prefix);
}

static void print_stack_frame(struct firefox *fox, uint32_t row)
{
	print_number(fox, stack_at(fox, row)->frame);
}

static const struct column stack_columns[] = {
	{"prefix", print_stack_prefix},
	{"frame", print_stack_frame},
};

static const struct fox_resource *resource_at(const struct firefox *fox, uint32_t row)
{
	return distinct_records_at(&fox->resources, row);
}

static void print_resource_library(struct firefox *fox, uint32_t row)
{
	print_number(fox, fox->library[resource_at(fox, row)->dso]);
}

static void print_resource_name(struct firefox *fox, uint32_t row)
{
	print_number(fox, resource_at(fox, row)->name);
}

static void print_resource_type(struct firefox *fox, uint32_t row)
{
	(void)row;
	print_number(fox, RESOURCE_LIB);
}

static const struct column resource_columns[] = {
	{"lib", print_resource_library},
	{"name", print_resource_name},
	{"host", print_null},
	{"type", print_resource_type},
};

/* Empty tables: symbols are already in the functions, and there are no markers. */
static const struct column symbol_columns[] = {
	{"libIndex", print_null},
	{"address", print_null},
	{"name", print_null},
	{"functionSize", print_null},
};

static const struct column marker_columns[] = {
	{"data", print_null},	 {"name", print_null},	{"startTime", print_null},
	{"endTime", print_null}, {"phase", print_null}, {"category", print_null},
};

/* Samples: stacks with weights.  Stack, time and weight are columns of the same rows. */
static void print_samples(struct firefox *fox)
{
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(fox->writing->profile);
	const double cycles_a_ms =
		(double)(capabilities->frequency ? capabilities->frequency : HERTZ) / 1000;
	struct export_rounding rounding = fox->rounding;
	uint64_t cycles = fox->begun;
	uint32_t count = fox->stacks.index.count, length = 0;

	fputs("\n\"samples\":{\"weightType\":\"samples\",\"stack\":[", fox->out);
	for (uint32_t i = 0; i < count; i++)
		if (stack_at(fox, i)->weight)
			fprintf(fox->out, "%s%" PRIu32, length++ ? "," : "", i);
	fprintf(fox->out, "],\"length\":%" PRIu32 ",\"time\":[", length);
	length = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!stack_at(fox, i)->weight)
			continue;
		fprintf(fox->out, "%s%.6f", length++ ? "," : "", (double)cycles / cycles_a_ms);
		cycles += export_round(&rounding, stack_at(fox, i)->weight);
	}
	fputs("],\"weight\":[", fox->out);
	length = 0;
	for (uint32_t i = 0; i < count; i++)
		if (stack_at(fox, i)->weight)
			fprintf(fox->out, "%s%" PRIu64, length++ ? "," : "",
				export_round(&fox->rounding, stack_at(fox, i)->weight));
	fputs("]}", fox->out);
	fox->begun = cycles;
}

/* ---- A thread -------------------------------------------------------------------------------- */

static uint32_t keep(struct firefox *fox, uint32_t number)
{
	if (number == DISTINCT_NONE)
		fox->error = pesa_error_no_memory();
	return number;
}

static uint32_t keep_string(struct firefox *fox, const char *text)
{
	return keep(fox, distinct_text_get(&fox->strings, text));
}

static uint32_t keep_resource(struct firefox *fox, uint32_t dso)
{
	struct fox_resource resource = {.dso = dso};
	const char *path, *slash;

	if (dso == DISTINCT_NONE || fox->library[dso] == DISTINCT_NONE)
		return DISTINCT_NONE;
	path = pesa_profile_dso(fox->writing->profile, dso)->path;
	slash = strrchr(path, '/');
	resource.name = keep_string(fox, slash && slash[1] ? slash + 1 : path);
	return keep(fox, distinct_records_get(&fox->resources, &resource));
}

static void push(struct firefox *fox, struct fox_stack *stack, const struct fox_function *function,
		 struct fox_frame *frame)
{
	frame->function = keep(fox, distinct_records_get(&fox->functions, function));
	stack->frame = keep(fox, distinct_records_get(&fox->frames, frame));
	if (!fox->error)
		stack->prefix = keep(fox, distinct_records_get(&fox->stacks, stack));
}

/* Push the frames of a place on a stack; the innermost frame gets the category, if there is one. */
static void push_location(struct firefox *fox, struct fox_stack *stack, uint32_t number,
			  const struct export_row *row)
{
	const struct export_frames *frames = &fox->writing->frames;
	const struct export_location *location = export_location_at(frames, number);
	struct fox_function function = {.file = DISTINCT_NONE,
					.resource = keep_resource(fox, location->dso)};
	struct fox_frame frame = {.location = number};
	uint32_t i = location->frames;
	char name[NAME_ROOM];

	do {
		if (i <= 1 && row) {
			frame.category = row->state + 1;
			frame.subcategory = fox->subcategory[row->state][row->cause];
		}
		if (location->frames) {
			const struct export_frame *from =
				export_frame_at(frames, frames->list[location->first + i - 1]);
			const struct export_function *named =
				export_function_at(frames, from->function);

			function.name =
				keep_string(fox, distinct_text_at(&frames->texts, named->name));
			function.file = named->file
						? keep_string(fox, distinct_text_at(&frames->texts,
										    named->file))
						: DISTINCT_NONE;
			function.line = named->line;
			frame.line = from->line;
		} else {
			export_location_name(frames, location, name, sizeof(name));
			function.name = keep_string(fox, name);
		}
		push(fox, stack, &function, &frame);
		frame.depth++;
	} while (!fox->error && i-- > 1);
}

static void add_row(struct firefox *fox, const struct export_row *row)
{
	const struct export_writing *writing = fox->writing;
	struct fox_stack stack = {.prefix = DISTINCT_NONE}, *kept;
	uint32_t chain[EXPORT_CHAIN_MAX];
	size_t length = 0;

	for (uint32_t node = row->node; node != DISTINCT_NONE && length < EXPORT_CHAIN_MAX;
	     node = export_node_at(writing, node)->caller)
		chain[length++] = node;
	while (length-- && !fox->error)
		push_location(fox, &stack, writing->frames.location[chain[length]],
			      length ? NULL : row);
	if (fox->error)
		return;
	kept = distinct_records_at(&fox->stacks, stack.prefix);
	kept->weight += row->weight;
}

static void print_strings(struct firefox *fox)
{
	fputs("\n\"stringArray\":[", fox->out);
	for (uint32_t i = 0; i < fox->strings.index.count; i++) {
		if (i)
			fputc(',', fox->out);
		export_json_text(fox->out, distinct_text_at(&fox->strings, i));
	}
	fputc(']', fox->out);
}

static void print_thread_facts(struct firefox *fox, const struct export_thread *thread)
{
	const char *name = export_thread_name(fox->writing, thread);
	const char *process = export_process_name(fox->writing, thread);

	fputs("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"name\":",
	      fox->out);
	export_json_text(fox->out, name ? name : "thread");
	fputs(",\"processName\":", fox->out);
	export_json_text(fox->out, process ? process : "process");
	fprintf(fox->out, ",\"isMainThread\":%s,\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32 ",",
		thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid);
}

static void print_thread(struct firefox *fox, const struct export_thread *thread)
{
	print_thread_facts(fox, thread);
	print_samples(fox);
	fputc(',', fox->out);
	print_table(fox, "stackTable", fox->stacks.index.count, COLUMNS(stack_columns));
	fputc(',', fox->out);
	print_table(fox, "frameTable", fox->frames.index.count, COLUMNS(frame_columns));
	fputc(',', fox->out);
	print_table(fox, "funcTable", fox->functions.index.count, COLUMNS(function_columns));
	fputc(',', fox->out);
	print_table(fox, "resourceTable", fox->resources.index.count, COLUMNS(resource_columns));
	fputc(',', fox->out);
	print_table(fox, "nativeSymbols", 0, COLUMNS(symbol_columns));
	fputc(',', fox->out);
	print_table(fox, "markers", 0, COLUMNS(marker_columns));
	fputc(',', fox->out);
	print_strings(fox);
	fputc('}', fox->out);
}

static void thread_begin(struct firefox *fox)
{
	distinct_records_begin(&fox->frames, sizeof(struct fox_frame), sizeof(struct fox_frame));
	distinct_records_begin(&fox->functions, sizeof(struct fox_function),
			       sizeof(struct fox_function));
	distinct_records_begin(&fox->stacks, sizeof(struct fox_stack),
			       offsetof(struct fox_stack, weight));
	distinct_records_begin(&fox->resources, sizeof(struct fox_resource),
			       sizeof(struct fox_resource));
}

static void thread_end(struct firefox *fox)
{
	distinct_bytes_free(&fox->strings);
	distinct_records_free(&fox->frames);
	distinct_records_free(&fox->functions);
	distinct_records_free(&fox->stacks);
	distinct_records_free(&fox->resources);
}

/* Rows grouped by thread, each group in the order of the rows. */
struct by_thread {
	struct distinct_records threads;
	uint32_t *first; /* index in row of each thread's first; then the end of the last */
	const struct export_row **row;
};

static struct pesa_error *sort_by_thread(const struct export_writing *writing,
					 struct by_thread *sorted)
{
	uint32_t *of_row = malloc((writing->count + 1) * sizeof(*of_row)), threads;
	struct pesa_error *error = export_threads_make(writing, &sorted->threads);

	if (!error && !of_row)
		error = pesa_error_no_memory();
	for (uint32_t i = 0; !error && i < writing->count; i++)
		of_row[i] = export_thread_of(writing, &sorted->threads, writing->row[i]);
	threads = sorted->threads.index.count;
	sorted->first = calloc(threads + 2, sizeof(*sorted->first));
	sorted->row = malloc((writing->count + 1) * sizeof(*sorted->row));
	if (!error && (!sorted->first || !sorted->row))
		error = pesa_error_no_memory();
	/* Count, then compute where each thread starts.  Filling the rows advances these starts, so
	 * they are shifted back afterwards. */
	for (uint32_t i = 0; !error && i < writing->count; i++)
		sorted->first[of_row[i] + 2]++;
	for (uint32_t i = 2; !error && i <= threads; i++)
		sorted->first[i] += sorted->first[i - 1];
	for (uint32_t i = 0; !error && i < writing->count; i++)
		sorted->row[sorted->first[of_row[i] + 1]++] = writing->row[i];
	free(of_row);
	return error;
}

static void print_threads(struct firefox *fox)
{
	struct by_thread sorted = {0};

	fox->error = sort_by_thread(fox->writing, &sorted);
	fputs("\n\"threads\":[", fox->out);
	for (uint32_t i = 0; !fox->error && i < sorted.threads.index.count; i++) {
		thread_begin(fox);
		for (uint32_t at = sorted.first[i]; at < sorted.first[i + 1] && !fox->error; at++)
			if (sorted.row[at]->weight)
				add_row(fox, sorted.row[at]);
		fputs(i ? ",\n" : "\n", fox->out);
		if (!fox->error)
			print_thread(fox, distinct_records_at(&sorted.threads, i));
		thread_end(fox);
	}
	fputc(']', fox->out);
	distinct_records_free(&sorted.threads);
	free(sorted.first);
	free(sorted.row);
}

/* ---- Data shared by all threads -------------------------------------------------------------- */

static void print_categories(struct firefox *fox)
{
	static const char *const colours[EXPORT_STATES] = {
		[PESA_STATE_RETIRING] = "green", [PESA_STATE_STALLED] = "red",
		[PESA_STATE_FLUSHED] = "purple", [PESA_STATE_DRAINED] = "blue",
		[PESA_STATE_UNKNOWN] = "yellow", [EXPORT_UNATTRIBUTED] = "darkgrey",
	};
	char name[NAME_ROOM];

	fputs("\"categories\":[{\"name\":\"other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}",
	      fox->out);
	for (unsigned int state = 0; state < EXPORT_STATES; state++) {
		uint16_t count = 0;

		fprintf(fox->out, ",{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"",
			export_state_name(state), colours[state]);
		for (uint32_t cause = 1; cause < CAUSES; cause++) {
			if (!fox->subcategory[state][cause])
				continue;
			fox->subcategory[state][cause] = ++count;
			export_cause_name(fox->writing, cause, name, sizeof(name));
			fputc(',', fox->out);
			export_json_text(fox->out, name);
		}
		fputs("]}", fox->out);
	}
	fputs("]", fox->out);
}

static void print_meta(struct firefox *fox)
{
	const struct pesa_profile *profile = fox->writing->profile;
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(profile);
	const double cycles_a_ms =
		(double)(capabilities->frequency ? capabilities->frequency : HERTZ) / 1000;
	const char *command = pesa_profile_cmdline(profile);
	double period = pesa_profile_totals(profile)->period;

	fprintf(fox->out,
		"\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,\"processType\":0,\"stackwalk\":1,\"interval\":%.6f,\"startTime\":%.3f,\"symbolicated\":true,\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"markerSchema\":[],\"importedFrom\":\"pesa " PESA_VERSION "\",\"CPUName\":",
		FOX_VERSION, (period > 0 ? period : 1) / cycles_a_ms,
		(double)fox->writing->options->began / 1000000);
	export_json_text(fox->out,
			 capabilities->core[0] ? capabilities->core : capabilities->model);
	fputs(",\"product\":", fox->out);
	export_json_text(fox->out, command ? command : "pesa");
	fputc(',', fox->out);
	print_categories(fox);
	fputs("},\n", fox->out);
}

/* A build id in Breakpad's format: the first 16 bytes as a GUID, whose first three fields have the
 * other byte order, and an age of 0. */
static void print_breakpad_id(FILE *out, const struct pesa_dso *dso)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned int i = 0; i < sizeof(order); i++)
		fprintf(out, "%02X", order[i] < dso->build_id_size ? dso->build_id[order[i]] : 0);
	fputc('0', out);
}

static void print_library(struct firefox *fox, const struct pesa_dso *dso)
{
	static const char *const names[] = {"name", "debugName", "path", "debugPath"};
	const char *arch = pesa_profile_arch(fox->writing->profile);
	const char *slash = strrchr(dso->path, '/');
	FILE *out = fox->out;

	fputs("\n{\"arch\":", out);
	export_json_text(out, arch ? arch : "");
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		fprintf(out, ",\"%s\":", names[i]);
		export_json_text(out, i < 2 && slash && slash[1] ? slash + 1 : dso->path);
	}
	fputs(",\"breakpadId\":\"", out);
	print_breakpad_id(out, dso);
	fputs("\",\"codeId\":", out);
	if (!dso->build_id_size)
		fputs("null", out);
	for (unsigned int i = 0; i < dso->build_id_size; i++)
		fprintf(out, "%s%02x%s", i ? "" : "\"", dso->build_id[i],
			i + 1 < dso->build_id_size ? "" : "\"");
	fputc('}', out);
}

/* Libraries: the dsos of functions. */
static void print_libraries(struct firefox *fox)
{
	const struct distinct_records *locations = &fox->writing->frames.locations;
	unsigned int dsos = pesa_profile_dso_count(fox->writing->profile);
	uint32_t count = 0;

	for (uint32_t i = 0; i < locations->index.count; i++) {
		const struct export_location *location = distinct_records_at(locations, i);

		if (location->dso != DISTINCT_NONE)
			fox->library[location->dso] = 0;
	}
	fputs("\"libs\":[", fox->out);
	for (uint32_t i = 0; i < dsos; i++) {
		const struct pesa_dso *dso = pesa_profile_dso(fox->writing->profile, i);

		if (dso->kind == PESA_DSO_UNKNOWN)
			fox->library[i] = DISTINCT_NONE;
		if (fox->library[i] == DISTINCT_NONE)
			continue;
		if (count)
			fputc(',', fox->out);
		print_library(fox, dso);
		fox->library[i] = count++;
	}
	fputs("],", fox->out);
}

struct pesa_error *export_firefox(struct export_writing *writing)
{
	struct firefox fox = {.writing = writing, .out = writing->out};
	unsigned int dsos = pesa_profile_dso_count(writing->profile);

	fox.subcategory = calloc(EXPORT_STATES, sizeof(*fox.subcategory));
	fox.library = malloc((dsos + 1) * sizeof(*fox.library));
	if (fox.subcategory && fox.library) {
		memset(fox.library, 0xff, (dsos + 1) * sizeof(*fox.library));
		for (uint32_t i = 0; i < writing->count; i++)
			fox.subcategory[writing->row[i]->state][writing->row[i]->cause] =
				writing->row[i]->cause != 0;
		fputc('{', fox.out);
		print_meta(&fox);
		print_libraries(&fox);
		print_threads(&fox);
		fputs("}\n", fox.out);
	} else {
		fox.error = pesa_error_no_memory();
	}
	free(fox.subcategory);
	free(fox.library);
	return fox.error;
}
