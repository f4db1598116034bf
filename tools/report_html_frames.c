/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a page: binary > function > what is inlined > source line, or instruction. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/report_html.h"

#define INLINES_MAX    64
#define NAME_MAX_BYTES 512

/* The frames of an address of a binary in another frame.  UINT32_MAX: out of memory. */
static uint32_t frames_of_address(const struct report_page *page, struct frame_tree *tree,
				  uint32_t frame, uint32_t dso, uint64_t address)
{
	struct pesa_symbols *symbols = page->input->symbols;
	const struct pesa_symbol *symbol = pesa_symbols_find(symbols, dso, address);
	struct pesa_inline_frame inlined[INLINES_MAX];
	size_t count = pesa_symbols_inlines(symbols, dso, address, inlined, INLINES_MAX);
	char name[NAME_MAX_BYTES];

	frame = frame_tree_get(tree, frame,
			       &(struct frame_key){.kind = FRAME_FUNCTION,
						   .name = symbol ? symbol->name : "[unknown]",
						   .dso = dso,
						   .symbol = symbol});
	for (size_t i = count; frame != UINT32_MAX && i-- > 1;)
		frame = frame_tree_get(tree, frame,
				       &(struct frame_key){.kind = FRAME_INLINED,
							   .name = inlined[i - 1].function
									   ? inlined[i - 1].function
									   : "[unknown]"});
	if (frame == UINT32_MAX)
		return frame;
	if (count && inlined[0].source.file && inlined[0].source.line) {
		snprintf(name, sizeof(name), "%s:%u", profile_base_name(inlined[0].source.file),
			 inlined[0].source.line);
		return frame_tree_get(tree, frame,
				      &(struct frame_key){.kind = FRAME_LINE, .name = name});
	}
	snprintf(name, sizeof(name), "%" PRIx64, address);
	return frame_tree_get(
		tree, frame,
		&(struct frame_key){
			.kind = FRAME_INSTRUCTION, .name = name, .number = address, .dso = dso});
}

static bool add_instruction(const struct report_page *page, struct frame_tree *tree,
			    const struct pesa_instruction *instruction)
{
	const char *path = pesa_profile_dso(page->input->profile, instruction->dso)->path;
	uint32_t frame;

	if (!instruction->weight)
		return true;
	frame = frame_tree_get(tree, 0,
			       &(struct frame_key){.kind = FRAME_BINARY,
						   .name = profile_base_name(path),
						   .dso = instruction->dso});
	if (frame != UINT32_MAX)
		frame = frames_of_address(page, tree, frame, instruction->dso,
					  instruction->address);
	if (frame == UINT32_MAX)
		return false;
	for (unsigned int i = 0; i < instruction->buckets; i++)
		frame_tree_add(tree, frame, instruction->bucket[i].state,
			       instruction->bucket[i].weight);
	return true;
}

static bool fill(const struct report_page *page, struct frame_tree *tree)
{
	const struct pesa_profile *profile = page->input->profile;

	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++)
		if (!add_instruction(page, tree, pesa_profile_instruction(profile, i)))
			return false;
	if (page->input->unattributed) {
		uint32_t frame = frame_tree_get(
			tree, 0,
			&(struct frame_key){.kind = FRAME_UNATTRIBUTED, .name = "unattributed"});

		if (frame == UINT32_MAX)
			return false;
		frame_tree_add(tree, frame, PESA_STATE_UNKNOWN, page->input->unattributed);
	}
	return frame_tree_finish(tree);
}

/* ---- The document -------------------------------------------------------------------------- */

/* Which row of "functions" a frame is; null: none. */
static json_object *function_of(const struct report_page *page, const struct frame *frame)
{
	if (frame->kind != FRAME_FUNCTION)
		return NULL;
	for (size_t i = 0; i < page->shown; i++)
		if (page->functions.group[i].symbol == frame->symbol &&
		    page->functions.group[i].dso == frame->dso)
			return ui_json_count(i);
	return NULL;
}

struct writing {
	const struct report_page *page;
	const struct frame_tree *tree;
	struct ui_json *json;
	uint64_t least; /* weight of a frame that is shown */
	size_t rows, left_out;
};

static void write_frame(struct writing *writing, const struct frame *frame, size_t parent)
{
	json_object *row = json_object_new_array();
	size_t number = writing->rows++;

	json_object_array_add(row, number ? ui_json_count(parent) : NULL);
	json_object_array_add(row, ui_json_count(frame->kind));
	json_object_array_add(row, ui_json_count(frame->name));
	json_object_array_add(row, function_of(writing->page, frame));
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
	struct frame_tree *tree = frame_tree_create(page->texts);
	uint64_t whole = pesa_profile_totals(page->input->profile)->weight;
	struct writing writing = {
		.page = page,
		.tree = tree,
		.json = json,
		.least = (uint64_t)((double)whole * page->limit * REPORT_HTML_REST)};
	json_object *kinds = json_object_new_array();
	bool done = tree && fill(page, tree);

	for (unsigned int kind = 0; kind < FRAME_KINDS; kind++)
		json_object_array_add(kinds, ui_json_string(frame_kind_name(kind)));
	ui_json_member(json, "frame_kinds", kinds);
	ui_json_array_begin(json, "frames");
	if (done)
		write_frame(&writing, frame_tree_frame(tree, 0), 0);
	ui_json_array_end(json);
	ui_json_member(json, "frames_left_out", ui_json_count(writing.left_out));
	frame_tree_free(tree);
	return done;
}
