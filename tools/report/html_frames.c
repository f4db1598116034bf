/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of a page: process > callers or, without a call chain, binary > function > functions
 * inlined there > source line, or instruction where the line is unknown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/data.h"
#include "tools/report/html.h"

#define INLINES_MAX    64
#define NAME_MAX_BYTES 512

/* Building the tree; see get_caller() for the two arrays, which are indexed by node. */
struct builder {
	const struct report_page *page;
	struct frame_tree *tree;
	uint32_t *caller;	  /* frame of a node that was looked up last */
	uint32_t *caller_process; /* the process frame for which it was */
	uint32_t *frame_of_row;	  /* frames in the tree, by row */
};

/*
 * The functions named get_ find or add a frame below `parent`, and return its number.  UINT32_MAX:
 * out of memory; it is passed through as a parent.
 */
static uint32_t get_frame(struct builder *builder, uint32_t parent, struct frame_key key)
{
	return parent == UINT32_MAX ? parent : frame_tree_get(builder->tree, parent, &key);
}

/*
 * The function at an address of a binary and the functions inlined there; *source is the location
 * in the innermost one.
 */
static uint32_t get_function(struct builder *builder, uint32_t parent, uint32_t dso,
			     uint64_t address, struct pesa_source *source)
{
	struct pesa_symbols *symbols = builder->page->input->symbols;
	struct pesa_inline_frame inlined[INLINES_MAX];
	const struct pesa_symbol *symbol;
	struct pesa_error *error;
	uint32_t frame;
	size_t count;

	error = pesa_symbols_find(symbols, dso, address, &symbol);
	if (!error)
		error = pesa_symbols_inlines(symbols, dso, address, inlined, INLINES_MAX, &count);
	if (error) {
		pesa_error_free(error); /* out of memory */
		return UINT32_MAX;
	}
	frame = get_frame(builder, parent,
			  (struct frame_key){.kind = FRAME_FUNCTION,
					     .name = symbol ? symbol->name : "[unknown]",
					     .dso = dso,
					     .symbol = symbol});
	*source = count ? inlined[0].source : (struct pesa_source){0};
	for (size_t i = count; i-- > 1;) {
		const char *name = inlined[i - 1].function;

		frame = get_frame(builder, frame,
				  (struct frame_key){.kind = FRAME_INLINED,
						     .name = name ? name : "[unknown]"});
	}
	return frame;
}

static uint32_t get_process(struct builder *builder, const struct pesa_export *rows,
			    const struct export_task *task)
{
	char name[NAME_MAX_BYTES];

	if (task->process == DISTINCT_NONE)
		snprintf(name, sizeof(name), "process %" PRIu32, task->pid);
	else
		snprintf(name, sizeof(name), "%s (%" PRIu32 ")",
			 distinct_text_at(&rows->texts, task->process), task->pid);
	return get_frame(
		builder, 0,
		(struct frame_key){.kind = FRAME_PROCESS, .name = name, .number = task->pid});
}

static uint32_t get_binary(struct builder *builder, uint32_t parent, uint32_t dso)
{
	const char *path = pesa_profile_dso(builder->page->input->profile, dso)->path;

	return get_frame(builder, parent,
			 (struct frame_key){.kind = FRAME_BINARY,
					    .name = profile_base_name(path),
					    .dso = dso});
}

static uint32_t dso_of(const struct builder *builder, const struct export_node *node)
{
	return pesa_profile_dso_of_number(builder->page->input->profile, node->dso);
}

/*
 * A caller with all its callers.  Its frame is remembered for one process: the rows of a process
 * are adjacent, so each caller is looked up about once.
 */
static uint32_t get_caller(struct builder *builder, const struct pesa_export *rows,
			   uint32_t process, uint32_t number)
{
	const struct export_node *node;
	struct pesa_source source;
	uint32_t parent;

	if (number == DISTINCT_NONE)
		return process;
	if (builder->caller_process[number] == process)
		return builder->caller[number];
	node = distinct_records_at(&rows->nodes, number);
	parent = get_caller(builder, rows, process, node->caller);
	builder->caller[number] =
		get_function(builder, parent, dso_of(builder, node), node->address, &source);
	builder->caller_process[number] = process;
	return builder->caller[number];
}

/* The innermost frame of a row: a line, an instruction, or the reason why there is none. */
static uint32_t get_innermost(struct builder *builder, const struct pesa_export *rows,
			      const struct export_row *row)
{
	const struct export_task *task = distinct_records_at(&rows->tasks, row->task);
	const struct export_node *node = distinct_records_at(&rows->nodes, row->node);
	uint32_t caller = builder->page->no_callers ? DISTINCT_NONE : node->caller;
	uint32_t process = get_process(builder, rows, task), parent;
	char name[NAME_MAX_BYTES];
	struct pesa_source source;
	uint32_t dso;

	if (process == UINT32_MAX)
		return process;
	parent = get_caller(builder, rows, process, caller);
	if (node->dso == DISTINCT_NONE) {
		snprintf(name, sizeof(name), "unattributed: %s",
			 pesa_unattributed_name((enum pesa_unattributed)node->address));
		return get_frame(builder, parent,
				 (struct frame_key){.kind = FRAME_UNATTRIBUTED, .name = name});
	}
	dso = dso_of(builder, node);
	if (caller == DISTINCT_NONE)
		parent = get_binary(builder, parent, dso);
	parent = get_function(builder, parent, dso, node->address, &source);
	if (source.file && source.line) {
		snprintf(name, sizeof(name), "%s:%u", profile_base_name(source.file), source.line);
		return get_frame(builder, parent,
				 (struct frame_key){.kind = FRAME_LINE, .name = name});
	}
	snprintf(name, sizeof(name), "%" PRIx64, node->address);
	return get_frame(builder, parent,
			 (struct frame_key){.kind = FRAME_INSTRUCTION,
					    .name = name,
					    .number = node->address,
					    .dso = dso});
}

static struct pesa_error *add_row(struct builder *builder, const struct pesa_export *rows,
				  uint32_t number)
{
	const struct export_row *row = distinct_records_at(&rows->rows, number);
	uint32_t frame;

	if (!row->weight)
		return NULL;
	frame = get_innermost(builder, rows, row);
	if (frame == UINT32_MAX)
		return pesa_error_no_memory();
	builder->frame_of_row[number] = frame;
	frame_tree_add(builder->tree, frame,
		       row->state < PESA_PROFILE_STATES ? row->state : PESA_STATE_UNKNOWN,
		       row->weight);
	return NULL;
}

static struct pesa_error *build(const struct report_page *page, struct frame_tree *tree)
{
	const struct pesa_export *rows = page->rows;
	uint32_t nodes = rows->nodes.index.count;
	/* Frame 0 is not a process: in a zeroed array no caller is known. */
	struct builder builder = {.page = page,
				  .tree = tree,
				  .caller = malloc((nodes + 1) * sizeof(uint32_t)),
				  .caller_process = calloc(nodes + 1, sizeof(uint32_t)),
				  .frame_of_row = page->frame_of_row};
	struct pesa_error *error = NULL;

	if (!builder.caller || !builder.caller_process)
		error = pesa_error_no_memory();
	for (uint32_t i = 0; i < rows->rows.index.count && !error; i++)
		error = add_row(&builder, rows, i);
	free(builder.caller);
	free(builder.caller_process);
	return error ? error : frame_tree_finish(tree);
}

/* ---- The document -------------------------------------------------------------------------- */

struct frame_writer {
	struct report_page *page;
	struct frame_tree *tree;
	struct ui_json *json;
	const struct profile_group **function; /* functions shown, by symbol and dso */
	uint64_t minimum;		       /* weight of a shown frame */
	uint32_t *shown; /* of each frame of the tree, the number of the frame that shows it */
	size_t rows, left_out;
	struct pesa_error *error;
};

static int by_symbol(const void *left, const void *right)
{
	const struct profile_group *a = *(const struct profile_group *const *)left;
	const struct profile_group *b = *(const struct profile_group *const *)right;

	if (a->symbol != b->symbol)
		return (uintptr_t)a->symbol < (uintptr_t)b->symbol ? -1 : 1;
	return a->dso < b->dso ? -1 : a->dso > b->dso;
}

static struct pesa_error *sort_functions(struct frame_writer *writer)
{
	const struct report_page *page = writer->page;

	writer->function = calloc(page->shown + 1, sizeof(struct profile_group *));
	if (!writer->function)
		return pesa_error_no_memory();
	for (size_t i = 0; i < page->shown; i++)
		writer->function[i] = &page->functions.group[i];
	qsort(writer->function, page->shown, sizeof(struct profile_group *), by_symbol);
	return NULL;
}

/* The index in "functions" of a frame; null: none. */
static json_object *function_of(const struct frame_writer *writer, const struct frame *frame)
{
	const struct profile_group wanted = {.symbol = frame->symbol, .dso = frame->dso};
	const struct profile_group *key = &wanted, **found = NULL;

	if (frame->kind == FRAME_FUNCTION)
		found = bsearch(&key, writer->function, writer->page->shown,
				sizeof(struct profile_group *), by_symbol);
	return found ? ui_json_count((uint64_t)(*found - writer->page->functions.group)) : NULL;
}

/* Append the file name of a frame's binary. */
static void add_binary(struct frame_writer *writer, const struct frame *frame, json_object *row)
{
	const char *path = pesa_profile_dso(writer->page->input->profile, frame->dso)->path;
	uint32_t name = distinct_text_get(&writer->page->texts, profile_base_name(path));

	if (name == DISTINCT_NONE)
		writer->error = pesa_error_no_memory();
	else
		json_object_array_add(row, ui_json_count(name));
}

static void write_frame(struct frame_writer *writer, uint32_t index, size_t parent)
{
	const struct frame *frame = frame_tree_frame(writer->tree, index);
	json_object *row = json_object_new_array();
	size_t number = writer->rows++;

	json_object_array_add(row, number ? ui_json_count(parent) : NULL);
	json_object_array_add(row, ui_json_count(frame->kind));
	json_object_array_add(row, ui_json_count(frame->name));
	json_object_array_add(row, function_of(writer, frame));
	for (unsigned int state = 0; state < PESA_PROFILE_STATES; state++)
		json_object_array_add(row, ui_json_number(cycles_of(frame->state_weight[state])));
	if (!writer->error && (frame->kind == FRAME_FUNCTION || frame->kind == FRAME_BINARY))
		add_binary(writer, frame, row);
	ui_json_element(writer->json, row);
	writer->shown[index] = (uint32_t)number;
	for (uint32_t i = frame->child; i; i = frame_tree_frame(writer->tree, i)->next) {
		const struct frame *child = frame_tree_frame(writer->tree, i);

		if (child->weight && child->weight >= writer->minimum)
			write_frame(writer, i, number);
		else
			writer->left_out++;
	}
}

void report_html_texts(const struct report_page *page, struct ui_json *json)
{
	ui_json_array_begin(json, "texts");
	for (uint32_t i = 0; i < page->texts.index.count; i++)
		ui_json_element(json, ui_json_string(distinct_text_at(&page->texts, i)));
	ui_json_array_end(json);
}

/* The rows of frames that are left out belong to the frame that these are in. */
static void show_rows(const struct frame_writer *writer)
{
	struct report_page *page = writer->page;

	for (uint32_t i = 1; i < frame_tree_count(writer->tree); i++)
		if (writer->shown[i] == UINT32_MAX)
			writer->shown[i] = writer->shown[frame_tree_frame(writer->tree, i)->parent];
	for (uint32_t i = 0; i < page->rows->rows.index.count; i++)
		page->frame_of_row[i] = writer->shown[page->frame_of_row[i]];
}

static struct pesa_error *build_all(struct report_page *page, struct frame_writer *writer)
{
	struct pesa_error *error;
	size_t size;

	page->frame_of_row = calloc(page->rows->rows.index.count + 1, sizeof(uint32_t));
	error = page->frame_of_row ? build(page, writer->tree) : pesa_error_no_memory();
	if (!error)
		error = sort_functions(writer);
	if (error)
		return error;
	size = frame_tree_count(writer->tree) * sizeof(uint32_t);
	writer->shown = malloc(size);
	if (!writer->shown)
		return pesa_error_no_memory();
	memset(writer->shown, 0xff, size);
	return NULL;
}

struct pesa_error *report_html_frames(struct report_page *page, struct ui_json *json)
{
	struct frame_tree *tree = frame_tree_create(&page->texts);
	uint64_t whole = pesa_profile_totals(page->input->profile)->weight;
	struct frame_writer writer = {
		.page = page,
		.tree = tree,
		.json = json,
		.minimum = (uint64_t)((double)whole * page->limit * REPORT_HTML_REST)};
	json_object *kinds = json_object_new_array();
	struct pesa_error *error = tree ? build_all(page, &writer) : pesa_error_no_memory();

	for (unsigned int kind = 0; kind < FRAME_KINDS; kind++)
		json_object_array_add(kinds, ui_json_string(frame_kind_name(kind)));
	ui_json_member(json, "frame_kinds", kinds);
	ui_json_array_begin(json, "frames");
	if (!error)
		write_frame(&writer, 0, 0);
	if (!error)
		error = writer.error;
	if (!error)
		show_rows(&writer);
	ui_json_array_end(json);
	ui_json_member(json, "frames_left_out", ui_json_count(writer.left_out));
	free(writer.function);
	free(writer.shown);
	frame_tree_free(tree);
	return error;
}
