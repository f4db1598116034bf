/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of a page.  With a call chain: process > callers > function; without: process > binary
 * > function; then what is inlined there > source line, or instruction where the line is unknown.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/export/data.h"
#include "tools/report/html.h"

#define INLINES_MAX    64
#define NAME_MAX_BYTES 512

struct filling {
	const struct report_page *page;
	struct frame_tree *tree;
	uint32_t *caller; /* frame of a node that is a caller, by node and process; see below */
	uint32_t *caller_process;
};

static uint32_t get(struct filling *filling, uint32_t holder, struct frame_key key)
{
	return holder == UINT32_MAX ? holder : frame_tree_get(filling->tree, holder, &key);
}

/*
 * Add the function at an address of a binary, and functions inlined there, to a frame; *source is
 * the location in the innermost one.  UINT32_MAX: out of memory.
 */
static uint32_t get_function(struct filling *filling, uint32_t holder, uint32_t dso,
			     uint64_t address, struct pesa_source *source)
{
	struct pesa_symbols *symbols = filling->page->input->symbols;
	const struct pesa_symbol *symbol = pesa_symbols_find(symbols, dso, address);
	struct pesa_inline_frame inlined[INLINES_MAX];
	size_t count = pesa_symbols_inlines(symbols, dso, address, inlined, INLINES_MAX);
	uint32_t frame = get(filling, holder,
			     (struct frame_key){.kind = FRAME_FUNCTION,
						.name = symbol ? symbol->name : "[unknown]",
						.dso = dso,
						.symbol = symbol});

	*source = count ? inlined[0].source : (struct pesa_source){0};
	for (size_t i = count; i-- > 1;) {
		const char *name = inlined[i - 1].function;

		frame = get(filling, frame,
			    (struct frame_key){.kind = FRAME_INLINED,
					       .name = name ? name : "[unknown]"});
	}
	return frame;
}

static uint32_t get_process(struct filling *filling, const struct pesa_export *rows,
			    const struct export_task *task)
{
	char name[NAME_MAX_BYTES];

	if (task->process == DISTINCT_NONE)
		snprintf(name, sizeof(name), "process %" PRIu32, task->pid);
	else
		snprintf(name, sizeof(name), "%s (%" PRIu32 ")",
			 distinct_text_at(&rows->texts, task->process), task->pid);
	return get(filling, 0,
		   (struct frame_key){.kind = FRAME_PROCESS, .name = name, .number = task->pid});
}

static uint32_t get_binary(struct filling *filling, uint32_t holder, uint32_t dso)
{
	const char *path = pesa_profile_dso(filling->page->input->profile, dso)->path;

	return get(filling, holder,
		   (struct frame_key){
			   .kind = FRAME_BINARY, .name = profile_base_name(path), .dso = dso});
}

static uint32_t dso_of(const struct filling *filling, const struct export_node *node)
{
	return pesa_profile_dso_of_number(filling->page->input->profile, node->dso);
}

/* The frame of a caller; the rows of a process are adjacent, so each is looked up about once. */
static uint32_t get_caller(struct filling *filling, const struct pesa_export *rows,
			   uint32_t process, uint32_t number)
{
	const struct export_node *node;
	struct pesa_source source;
	uint32_t holder;

	if (number == DISTINCT_NONE)
		return process;
	if (filling->caller_process[number] == process)
		return filling->caller[number];
	node = distinct_records_at(&rows->nodes, number);
	holder = get_caller(filling, rows, process, node->caller);
	filling->caller[number] =
		get_function(filling, holder, dso_of(filling, node), node->address, &source);
	filling->caller_process[number] = process;
	return filling->caller[number];
}

/* The innermost frame of a row: a line, an instruction, or the reason why there is none. */
static uint32_t get_innermost(struct filling *filling, const struct pesa_export *rows,
			      const struct export_row *row)
{
	const struct export_task *task = distinct_records_at(&rows->tasks, row->task);
	const struct export_node *node = distinct_records_at(&rows->nodes, row->node);
	uint32_t process = get_process(filling, rows, task), holder;
	char name[NAME_MAX_BYTES];
	struct pesa_source source;
	uint32_t dso;

	if (process == UINT32_MAX)
		return process;
	holder = get_caller(filling, rows, process, node->caller);
	if (node->dso == DISTINCT_NONE) {
		snprintf(name, sizeof(name), "unattributed: %s",
			 pesa_unattributed_name((enum pesa_unattributed)node->address));
		return get(filling, holder,
			   (struct frame_key){.kind = FRAME_UNATTRIBUTED, .name = name});
	}
	dso = dso_of(filling, node);
	if (node->caller == DISTINCT_NONE)
		holder = get_binary(filling, holder, dso);
	holder = get_function(filling, holder, dso, node->address, &source);
	if (source.file && source.line) {
		snprintf(name, sizeof(name), "%s:%u", profile_base_name(source.file), source.line);
		return get(filling, holder, (struct frame_key){.kind = FRAME_LINE, .name = name});
	}
	snprintf(name, sizeof(name), "%" PRIx64, node->address);
	return get(filling, holder,
		   (struct frame_key){.kind = FRAME_INSTRUCTION,
				      .name = name,
				      .number = node->address,
				      .dso = dso});
}

static bool add_row(struct filling *filling, const struct pesa_export *rows,
		    const struct export_row *row)
{
	uint32_t frame;

	if (!row->weight)
		return true;
	frame = get_innermost(filling, rows, row);
	if (frame == UINT32_MAX)
		return false;
	frame_tree_add(filling->tree, frame,
		       row->state < PESA_PROFILE_STATES ? row->state : PESA_STATE_UNKNOWN,
		       row->weight);
	return true;
}

static bool fill(const struct report_page *page, struct frame_tree *tree)
{
	const struct pesa_export *rows = page->rows;
	uint32_t nodes = rows->nodes.index.count;
	struct filling filling = {.page = page,
				  .tree = tree,
				  .caller = malloc((nodes + 1) * sizeof(uint32_t)),
				  .caller_process = calloc(nodes + 1, sizeof(uint32_t))};
	bool done = filling.caller && filling.caller_process;

	/* Frame 0 is not a process. */
	for (uint32_t i = 0; done && i < rows->rows.index.count; i++)
		done = add_row(&filling, rows, distinct_records_at(&rows->rows, i));
	free(filling.caller);
	free(filling.caller_process);
	return done && frame_tree_finish(tree);
}

/* ---- The document -------------------------------------------------------------------------- */

struct writing {
	const struct report_page *page;
	const struct frame_tree *tree;
	struct ui_json *json;
	const struct profile_group **function; /* functions shown, by symbol and dso */
	uint64_t least;			       /* minimum weight of a shown frame */
	size_t rows, left_out;
};

static int by_symbol(const void *left, const void *right)
{
	const struct profile_group *a = *(const struct profile_group *const *)left;
	const struct profile_group *b = *(const struct profile_group *const *)right;

	if (a->symbol != b->symbol)
		return (uintptr_t)a->symbol < (uintptr_t)b->symbol ? -1 : 1;
	return a->dso < b->dso ? -1 : a->dso > b->dso;
}

static bool sort_functions(struct writing *writing)
{
	const struct report_page *page = writing->page;

	writing->function = calloc(page->shown + 1, sizeof(struct profile_group *));
	for (size_t i = 0; writing->function && i < page->shown; i++)
		writing->function[i] = &page->functions.group[i];
	if (writing->function)
		qsort(writing->function, page->shown, sizeof(struct profile_group *), by_symbol);
	return writing->function;
}

/* The index in "functions" of a frame; null: none. */
static json_object *function_of(const struct writing *writing, const struct frame *frame)
{
	const struct profile_group wanted = {.symbol = frame->symbol, .dso = frame->dso};
	const struct profile_group *key = &wanted, **found = NULL;

	if (frame->kind == FRAME_FUNCTION)
		found = bsearch(&key, writing->function, writing->page->shown,
				sizeof(struct profile_group *), by_symbol);
	return found ? ui_json_count((uint64_t)(*found - writing->page->functions.group)) : NULL;
}

static void write_frame(struct writing *writing, const struct frame *frame, size_t parent)
{
	json_object *row = json_object_new_array();
	size_t number = writing->rows++;

	json_object_array_add(row, number ? ui_json_count(parent) : NULL);
	json_object_array_add(row, ui_json_count(frame->kind));
	json_object_array_add(row, ui_json_count(frame->name));
	json_object_array_add(row, function_of(writing, frame));
	for (unsigned int state = 0; state < PESA_PROFILE_STATES; state++)
		json_object_array_add(row, ui_json_number(cycles_of(frame->state_weight[state])));
	ui_json_element(writing->json, row);
	for (uint32_t i = frame->child; i; i = frame_tree_frame(writing->tree, i)->next) {
		const struct frame *child = frame_tree_frame(writing->tree, i);

		if (child->weight && child->weight >= writing->least)
			write_frame(writing, child, number);
		else
			writing->left_out++;
	}
}

bool report_html_frames(struct report_page *page, struct ui_json *json)
{
	struct frame_tree *tree = frame_tree_create(&page->texts);
	uint64_t whole = pesa_profile_totals(page->input->profile)->weight;
	struct writing writing = {
		.page = page,
		.tree = tree,
		.json = json,
		.least = (uint64_t)((double)whole * page->limit * REPORT_HTML_REST)};
	json_object *kinds = json_object_new_array();
	bool done = tree && fill(page, tree) && sort_functions(&writing);

	for (unsigned int kind = 0; kind < FRAME_KINDS; kind++)
		json_object_array_add(kinds, ui_json_string(frame_kind_name(kind)));
	ui_json_member(json, "frame_kinds", kinds);
	ui_json_array_begin(json, "frames");
	if (done)
		write_frame(&writing, frame_tree_frame(tree, 0), 0);
	ui_json_array_end(json);
	ui_json_member(json, "frames_left_out", ui_json_count(writing.left_out));
	free(writing.function);
	frame_tree_free(tree);
	return done;
}
