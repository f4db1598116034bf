// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "tools/import/page.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/html.h"
#include "tools/ui/json.h"

UI_HTML_FILE(import_html_style, "tools/import/html/pipeline.css");
UI_HTML_FILE(import_html_content, "tools/import/html/content.html");
UI_HTML_FILE(import_html_data, "tools/import/html/data.js");
UI_HTML_FILE(import_html_pipeline, "tools/import/html/pipeline.js");

#define TEXT_MAX     80	     /* bytes of an instruction's text */
#define TRACK_MAX    1000000 /* spans of all harts */
#define PROPOSED_MAX 262144  /* different addresses with a text */

struct instruction {
	uint64_t pc, fetch, ended;
	uint32_t entry, entries; /* in the page's entries */
	uint32_t hart, text;	 /* as in struct place */
	bool has_pc, retired;
};

struct span {
	uint64_t start, end;
	uint32_t hart;
	uint16_t cause;
	uint8_t state;
};

struct place {
	uint64_t pc;   /* the key */
	uint64_t text; /* number of its text and 1; 0: none */
};

struct import_page {
	struct instruction *instruction;
	size_t count, room;
	struct pesa_pipeline_entry *entry;
	size_t entries, entry_room;
	struct span *span;
	size_t spans, span_room;
	struct distinct_bytes texts;
	struct distinct_records places; /* struct place by pc */
	uint64_t left_out;
	bool lacks_memory;
};

struct import_page *import_page_create(void)
{
	struct import_page *page = calloc(1, sizeof(*page));

	if (page)
		distinct_records_begin(&page->places, sizeof(struct place), sizeof(uint64_t));
	return page;
}

void import_page_free(struct import_page *page)
{
	if (!page)
		return;
	free(page->instruction);
	free(page->entry);
	free(page->span);
	distinct_bytes_free(&page->texts);
	distinct_records_free(&page->places);
	free(page);
}

/* Make room for `more` elements of `size` bytes.  false: no memory, which is noted. */
static bool make_room(struct import_page *page, void **array, size_t *room, size_t needed,
		      size_t size)
{
	size_t larger = *room ? *room : 1024;
	void *grown;

	if (needed <= *room)
		return true;
	while (larger < needed)
		larger *= 2;
	grown = reallocarray(*array, larger, size);
	if (!grown) {
		page->lacks_memory = true;
		return false;
	}
	*array = grown;
	*room = larger;
	return true;
}

/* ---- Collecting ---------------------------------------------------------------------------- */

/* The text of an instruction, without the address in front of it. */
static const char *without_address(const char *text)
{
	const char *colon = strchr(text, ':');

	if (colon && strspn(text, " \t0123456789abcdefABCDEFxX") == (size_t)(colon - text))
		text = colon + 1;
	return text + strspn(text, " \t");
}

void import_page_named(struct import_page *page, uint64_t pc, const char *text)
{
	char shown[TEXT_MAX];
	struct place place = {.pc = pc}, *known;
	uint32_t number, name;

	if (page->count >= IMPORT_PAGE_INSTRUCTIONS || page->places.index.count >= PROPOSED_MAX ||
	    page->lacks_memory)
		return;
	number = distinct_records_get(&page->places, &place);
	snprintf(shown, sizeof(shown), "%s", without_address(text));
	name = number == DISTINCT_NONE ? DISTINCT_NONE : distinct_text_get(&page->texts, shown);
	if (name == DISTINCT_NONE) {
		page->lacks_memory = true;
		return;
	}
	known = (struct place *)distinct_records_at(&page->places, number);
	known->text = (uint64_t)name + 1;
}

/* The text that was proposed for an address; 0: none. */
static uint32_t text_at(struct import_page *page, uint64_t pc)
{
	struct place place = {.pc = pc};
	uint32_t number = distinct_records_get(&page->places, &place);

	if (number == DISTINCT_NONE) {
		page->lacks_memory = true;
		return 0;
	}
	return (uint32_t)((const struct place *)distinct_records_at(&page->places, number))->text;
}

void import_page_passed(struct import_page *page, const struct pesa_pipeline_passed *passed)
{
	if (page->lacks_memory)
		return;
	if (page->count >= IMPORT_PAGE_INSTRUCTIONS) {
		page->left_out++;
		return;
	}
	if (!make_room(page, (void **)&page->instruction, &page->room, page->count + 1,
		       sizeof(*page->instruction)) ||
	    !make_room(page, (void **)&page->entry, &page->entry_room,
		       page->entries + passed->entries, sizeof(*page->entry)))
		return;
	page->instruction[page->count++] = (struct instruction){
		.pc = passed->pc,
		.fetch = passed->fetch,
		.ended = passed->ended,
		.entry = (uint32_t)page->entries,
		.entries = passed->entries,
		.hart = passed->hart,
		.text = passed->has_pc ? text_at(page, passed->pc) : 0,
		.has_pc = passed->has_pc,
		.retired = passed->retired,
	};
	if (passed->entries)
		memcpy(page->entry + page->entries, passed->entry,
		       passed->entries * sizeof(*page->entry));
	page->entries += passed->entries;
}

void import_page_cycles(struct import_page *page, uint32_t hart, uint64_t start, uint64_t end,
			unsigned int state, uint16_t cause)
{
	struct span *last = page->spans ? &page->span[page->spans - 1] : NULL;

	if (page->count >= IMPORT_PAGE_INSTRUCTIONS || page->spans >= TRACK_MAX ||
	    page->lacks_memory)
		return;
	if (last && last->hart == hart && last->end == start && last->state == state &&
	    last->cause == cause) {
		last->end = end;
		return;
	}
	if (make_room(page, (void **)&page->span, &page->span_room, page->spans + 1,
		      sizeof(*page->span)))
		page->span[page->spans++] = (struct span){start, end, hart, cause, (uint8_t)state};
}

/* ---- The document -------------------------------------------------------------------------- */

/* [address or null, text or null, hart, fetch, cycles until it ended or null, retired, stage, after, ...] */
static json_object *instruction_json(const struct import_page *page,
				     const struct instruction *instruction)
{
	json_object *row = json_object_new_array();

	json_object_array_add(row, instruction->has_pc ? ui_json_count(instruction->pc) : NULL);
	json_object_array_add(row, instruction->text ? ui_json_count(instruction->text - 1) : NULL);
	json_object_array_add(row, ui_json_count(instruction->hart));
	json_object_array_add(row, ui_json_count(instruction->fetch));
	json_object_array_add(
		row, instruction->ended == UINT64_MAX || instruction->ended < instruction->fetch
			     ? NULL
			     : ui_json_count(instruction->ended - instruction->fetch));
	json_object_array_add(row, ui_json_count(instruction->retired));
	for (uint32_t i = 0; i < instruction->entries; i++) {
		const struct pesa_pipeline_entry *entry = &page->entry[instruction->entry + i];

		json_object_array_add(row, ui_json_count(entry->stage));
		json_object_array_add(row, ui_json_count(entry->after));
	}
	return row;
}

static json_object *span_json(const struct span *span, const struct pesa_capabilities *capabilities)
{
	json_object *row = json_object_new_array();
	char cause[256];

	cycle_cause_name(capabilities, span->cause, cause, sizeof(cause));
	json_object_array_add(row, ui_json_count(span->hart));
	json_object_array_add(row, ui_json_count(span->start));
	json_object_array_add(row, ui_json_count(span->end - span->start));
	json_object_array_add(row, ui_json_count(span->state));
	json_object_array_add(row, ui_json_string(span->cause ? cause : ""));
	return row;
}

static void write_data(const struct import_page *page, const struct pesa_pipeline_summary *summary,
		       const struct pesa_capabilities *capabilities, const char *trace, FILE *out)
{
	struct ui_json json;

	ui_json_begin(&json, out, "import");
	json.in_page = true;
	ui_json_member(&json, "trace", ui_json_string(trace));
	ui_json_member(&json, "core",
		       capabilities->core[0] ? ui_json_string(capabilities->core) : NULL);
	ui_json_member(&json, "cycles", ui_json_count(summary->cycles));
	ui_json_member(&json, "first_cycle", json_object_new_int64(summary->first_cycle));
	ui_json_member(&json, "left_out", ui_json_count(page->left_out));
	ui_json_array_begin(&json, "stages");
	for (uint32_t i = 0; i < summary->stages; i++)
		ui_json_element(&json, ui_json_string(summary->stage[i].name));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "texts");
	for (uint32_t i = 0; i < page->texts.index.count; i++)
		ui_json_element(&json, ui_json_string(distinct_text_at(&page->texts, i)));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "instructions");
	for (size_t i = 0; i < page->count; i++)
		ui_json_element(&json, instruction_json(page, &page->instruction[i]));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "retire_stage");
	for (size_t i = 0; i < page->spans; i++)
		ui_json_element(&json, span_json(&page->span[i], capabilities));
	ui_json_array_end(&json);
	ui_json_end(&json);
}

struct pesa_error *import_page_write(const struct import_page *page,
				     const struct pesa_pipeline_summary *summary,
				     const struct pesa_capabilities *capabilities,
				     const char *trace, const char *path)
{
	const char *const scripts[] = {ui_html_elements_script, import_html_data,
				       import_html_pipeline};
	struct pesa_error *error;
	struct ui_html html;

	if (page->lacks_memory)
		return pesa_error_no_memory();
	error = ui_html_create(&html, path);
	if (error)
		return error;
	ui_html_begin(&html, "Pipeline", trace, (const char *const[]){import_html_style, NULL});
	fputs(import_html_content, html.out);
	fputs("<script type=application/json id=data>", html.out);
	write_data(page, summary, capabilities, trace, html.out);
	fputs("</script>\n", html.out);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		ui_html_script(&html, scripts[i]);
	ui_html_end(&html);
	return ui_html_finish(&html);
}
