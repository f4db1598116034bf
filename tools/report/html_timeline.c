// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline of a page: what was sampled in each slice of time in each thread, by frame,
 * instruction and state, so that the page can show any range of it.
 */
#include <stdlib.h>

#include "decoder/export/data.h"
#include "tools/report/html.h"

#define SLICES	   64	  /* in the page */
#define PARTS_MOST 400000 /* in the page: with more, slices are longer */

/* All but the weight is the key. */
struct part {
	uint32_t run, slice, frame, state;
	uint64_t address;
	uint64_t weight;
};

struct timeline {
	const struct report_page *page;
	struct distinct_records runs; /* struct run */
	struct distinct_records parts;
	uint64_t begin;	    /* ns, start of the first slice */
	unsigned int shift; /* slices have 2^shift ns */
	uint32_t slices;
};

/* A thread on a CPU; all of it is the key. */
struct run {
	uint32_t pid, tid, cpu;
};

/* The first and the last time of rows; false: none has a time. */
static bool find_range(const struct pesa_export *rows, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (uint32_t i = 0; i < rows->rows.index.count; i++) {
		const struct export_row *row = distinct_records_at(&rows->rows, i);

		if (row->slice && row->slice < *first)
			*first = row->slice;
		if (row->slice > *last)
			*last = row->slice;
	}
	return *last != 0;
}

static struct pesa_error *add_row(struct timeline *timeline, uint32_t number)
{
	const struct pesa_export *rows = timeline->page->rows;
	const struct export_row *row = distinct_records_at(&rows->rows, number);
	const struct export_task *task = distinct_records_at(&rows->tasks, row->task);
	const struct export_node *node = distinct_records_at(&rows->nodes, row->node);
	const struct run run = {task->pid, task->tid, task->cpu};
	struct part part = {.slice = (uint32_t)((row->slice >> timeline->shift) -
						(timeline->begin >> timeline->shift)),
			    .frame = timeline->page->frame_of_row[number],
			    .state = row->state < PESA_PROFILE_STATES ? row->state
								      : PESA_STATE_UNKNOWN,
			    .address = node->dso == DISTINCT_NONE ? 0 : node->address};
	uint32_t found;

	if (!row->weight || !row->slice)
		return NULL;
	part.run = distinct_records_get(&timeline->runs, &run);
	found = part.run == DISTINCT_NONE ? DISTINCT_NONE
					  : distinct_records_get(&timeline->parts, &part);
	if (found == DISTINCT_NONE)
		return pesa_error_no_memory();
	((struct part *)distinct_records_at(&timeline->parts, found))->weight += row->weight;
	return NULL;
}

static void clear(struct timeline *timeline)
{
	distinct_records_free(&timeline->runs);
	distinct_records_free(&timeline->parts);
}

/* Add up the rows in slices of 2^shift ns. */
static struct pesa_error *add_up(struct timeline *timeline)
{
	const struct pesa_export *rows = timeline->page->rows;
	struct pesa_error *error = NULL;

	distinct_records_begin(&timeline->runs, sizeof(struct run), sizeof(struct run));
	distinct_records_begin(&timeline->parts, sizeof(struct part),
			       offsetof(struct part, weight));
	for (uint32_t i = 0; i < rows->rows.index.count && !error; i++)
		error = add_row(timeline, i);
	return error;
}

/* ---- The document -------------------------------------------------------------------------- */

static int in_order(const void *left, const void *right)
{
	const struct part *a = *(const struct part *const *)left;
	const struct part *b = *(const struct part *const *)right;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->slice != b->slice)
		return a->slice < b->slice ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* The name of a thread, as it was called last; NULL: unknown. */
static const char *name_of(const struct pesa_export *rows, const struct run *run)
{
	for (uint32_t i = rows->tasks.index.count; i-- > 0;) {
		const struct export_task *task = distinct_records_at(&rows->tasks, i);

		if (task->pid == run->pid && task->tid == run->tid && task->thread != DISTINCT_NONE)
			return distinct_text_at(&rows->texts, task->thread);
	}
	return NULL;
}

static void write_runs(const struct timeline *timeline, struct ui_json *json)
{
	json_object *threads = json_object_new_array();

	for (uint32_t i = 0; i < timeline->runs.index.count; i++) {
		const struct run *run = distinct_records_at(&timeline->runs, i);
		json_object *one = json_object_new_array();

		json_object_array_add(one, ui_json_count(run->pid));
		json_object_array_add(one, ui_json_count(run->tid));
		json_object_array_add(one, ui_json_string(name_of(timeline->page->rows, run)));
		json_object_array_add(one, run->cpu == UINT32_MAX ? NULL : ui_json_count(run->cpu));
		json_object_array_add(threads, one);
	}
	ui_json_member(json, "timeline_threads", threads);
}

/* [run, slice, frame, address, state, cycles, frame, ...] for each run and slice. */
static struct pesa_error *write_parts(const struct timeline *timeline, struct ui_json *json)
{
	uint32_t count = timeline->parts.index.count;
	const struct part **order = calloc(count + 1, sizeof(*order));
	json_object *cell = NULL;

	if (!order)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < count; i++)
		order[i] = distinct_records_at(&timeline->parts, i);
	qsort(order, count, sizeof(*order), in_order);
	ui_json_array_begin(json, "timeline");
	for (uint32_t i = 0; i < count; i++) {
		const struct part *part = order[i];

		if (!i || part->run != order[i - 1]->run || part->slice != order[i - 1]->slice) {
			if (cell)
				ui_json_element(json, cell);
			cell = json_object_new_array();
			json_object_array_add(cell, ui_json_count(part->run));
			json_object_array_add(cell, ui_json_count(part->slice));
		}
		json_object_array_add(cell, ui_json_count(part->frame));
		json_object_array_add(cell, ui_json_count(part->address));
		json_object_array_add(cell, ui_json_count(part->state));
		json_object_array_add(cell, ui_json_number(cycles_of(part->weight)));
	}
	if (cell)
		ui_json_element(json, cell);
	ui_json_array_end(json);
	free(order);
	return NULL;
}

struct pesa_error *report_html_timeline(struct report_page *page, struct ui_json *json)
{
	struct timeline timeline = {.page = page, .shift = page->rows->slice_shift};
	struct pesa_error *error;
	uint64_t last;

	if (!find_range(page->rows, &timeline.begin, &last))
		return NULL;
	while ((last >> timeline.shift) - (timeline.begin >> timeline.shift) >= SLICES)
		timeline.shift++;
	error = add_up(&timeline);
	while (!error && timeline.parts.index.count > PARTS_MOST &&
	       last >> timeline.shift > timeline.begin >> timeline.shift) {
		clear(&timeline);
		timeline.shift++;
		error = add_up(&timeline);
	}
	timeline.slices =
		(uint32_t)((last >> timeline.shift) - (timeline.begin >> timeline.shift)) + 1;
	if (!error) {
		ui_json_member(json, "timeline_slices", ui_json_count(timeline.slices));
		ui_json_member(json, "timeline_slice",
			       ui_json_count(UINT64_C(1) << timeline.shift));
		write_runs(&timeline, json);
		error = write_parts(&timeline, json);
	}
	clear(&timeline);
	return error;
}
