/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timeline: the cycles in which each instruction was dispatched, issued, executed and retired. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "decoder/mca/views/views.h"

struct entry {
	int dispatched; /* -1: not yet */
	unsigned int ready, issued, executed, retired;
};

struct wait {
	unsigned int queue, queue_while_ready, retire;
};

struct timeline {
	unsigned int cycle, last_cycle, max_cycle;
	unsigned int entries;
	struct entry *entry;
	struct wait *wait; /* by instruction of the block */
	int *buffer;	   /* smallest buffer that it waits in; -1: only the processor's own */
};

static void retired(struct mca_view *view, struct timeline *timeline, unsigned int instruction)
{
	struct entry *entry = &timeline->entry[instruction];
	struct wait *wait = &timeline->wait[instruction % view->context->count];

	if (timeline->cycle < timeline->max_cycle)
		entry->retired = timeline->cycle;
	wait->queue += entry->issued - entry->dispatched;
	wait->queue_while_ready += entry->issued - entry->ready;
	if (timeline->cycle > entry->executed)
		wait->retire += timeline->cycle - 1 - entry->executed;
}

static int smallest_buffer(const struct pesa_mca_model *model, uint64_t buffers)
{
	int smallest = -1;

	for (; buffers; buffers &= buffers - 1) {
		int size = pesa_mca_model_resource(model, __builtin_ctzll(buffers))->buffer;

		if (smallest < 0 || size < smallest)
			smallest = size;
	}
	return smallest;
}

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct mca_view *view = data;
	struct timeline *timeline = view->state;
	struct entry *entry;

	if (event->kind == PESA_MCA_CYCLE_END) {
		timeline->cycle++;
		return NULL;
	}
	/* Its instructions have retired: struct pesa_mca_run_options, first_iterations. */
	if (event->kind == PESA_MCA_REPEATED)
		return NULL;
	if (event->instruction >= timeline->entries)
		return NULL;
	entry = &timeline->entry[event->instruction];
	switch (event->kind) {
	case PESA_MCA_DISPATCHED:
		if (entry->dispatched == -1)
			entry->dispatched = timeline->cycle;
		break;
	case PESA_MCA_BUFFERS_RESERVED:
		if (event->instruction < view->context->count)
			timeline->buffer[event->instruction] =
				smallest_buffer(view->context->model, event->buffers);
		break;
	case PESA_MCA_READY:
		entry->ready = timeline->cycle;
		break;
	case PESA_MCA_ISSUED:
		entry->issued = timeline->cycle;
		break;
	case PESA_MCA_EXECUTED:
		entry->executed = timeline->cycle;
		break;
	default:
		retired(view, timeline, event->instruction);
		break;
	}
	if (timeline->cycle < timeline->max_cycle && timeline->cycle > timeline->last_cycle)
		timeline->last_cycle = timeline->cycle;
	return NULL;
}

static void print_header(struct mca_text *text, unsigned int cycles)
{
	mca_put_text(text, "\n\nTimeline view:\n");
	if (cycles >= 10) {
		mca_pad(text, 10);
		for (unsigned int i = 0; i <= cycles; i++)
			mca_put(text, i / 10 & 1 ? (int)('0' + i % 10) : ' ');
		mca_put_text(text, "\n");
	}
	mca_put_text(text, "Index");
	mca_pad(text, 10);
	for (unsigned int i = 0; i <= cycles; i++)
		mca_put(text, i / 10 & 1 ? ' ' : (int)('0' + i % 10));
	mca_put_text(text, "\n");
}

static void print_run(struct mca_text *text, unsigned int from, unsigned int to, char character)
{
	for (unsigned int i = from; i < to; i++)
		mca_put(text, character);
}

static void print_entry(struct mca_text *text, const struct timeline *timeline,
			const struct entry *entry, unsigned int iteration, unsigned int index)
{
	unsigned int dispatched = entry->dispatched;

	if (!iteration && !index)
		mca_put_text(text, "\n");
	mca_print(text, "[%u,%u]", iteration, index);
	mca_pad(text, 10);
	for (unsigned int i = 0; i < dispatched; i++)
		mca_put(text, i % 5 ? ' ' : '.');
	mca_put(text, 'D');
	if (dispatched != entry->executed) {
		print_run(text, dispatched + 1, entry->issued, '=');
		if (entry->issued == entry->executed) {
			mca_put(text, 'E');
		} else {
			if (dispatched != entry->issued)
				mca_put(text, 'e');
			print_run(text, entry->issued + 1, entry->executed, 'e');
			mca_put(text, 'E');
		}
	}
	print_run(text, entry->executed + 1, entry->retired, '-');
	if (entry->executed < entry->retired)
		mca_put(text, 'R');
	for (unsigned int i = entry->retired + 1; i <= timeline->last_cycle; i++)
		mca_put(text, i % 5 == 0 || i == timeline->last_cycle ? '.' : ' ');
}

/* One decimal place, rounded half up. */
static double average(unsigned int cycles, unsigned int executions)
{
	return floor((double)(cycles * 10) / executions + 0.5) / 10;
}

/* Waits as long as a buffer are highlighted.  As in LLVM the comparison is in 32 bits, where -1 is
 * the largest buffer. */
static enum mca_highlight highlight_of(unsigned int cycles, unsigned int executions, int buffer)
{
	unsigned int capacity = (unsigned int)buffer * executions;

	if (cycles && buffer < 0)
		return MCA_MAGENTA;
	if (cycles >= capacity)
		return MCA_RED;
	return cycles * 2 >= capacity ? MCA_YELLOW : MCA_PLAIN;
}

/* The total has buffers NULL and is not highlighted. */
static void print_wait(struct mca_text *text, const struct wait *wait, unsigned int divisor,
		       unsigned int executions, const int *buffer, int micro_op_buffer)
{
	mca_pad(text, 7);
	mca_print(text, "%u", executions);
	mca_pad(text, 13);
	if (buffer)
		mca_highlight(text, highlight_of(wait->queue, divisor, *buffer));
	mca_print(text, "%.1f", average(wait->queue, divisor));
	mca_pad(text, 20);
	if (buffer)
		mca_highlight(text, highlight_of(wait->queue_while_ready, divisor, *buffer));
	mca_print(text, "%.1f", average(wait->queue_while_ready, divisor));
	mca_pad(text, 27);
	if (buffer)
		mca_highlight(text, highlight_of(wait->retire, divisor, micro_op_buffer));
	mca_print(text, "%.1f", average(wait->retire, divisor));
	mca_highlight(text, MCA_PLAIN);
	mca_pad(text, 34);
}

static void print_waits(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct timeline *timeline = view->state;
	unsigned int executions = timeline->entries / context->count;
	struct wait total = {0};

	mca_print(text, "\n\nAverage Wait times (based on the timeline view):\n"
			"[0]: Executions\n"
			"[1]: Average time spent waiting in a scheduler's queue\n"
			"[2]: Average time spent waiting in a scheduler's queue while ready\n"
			"[3]: Average time elapsed from WB until retire stage\n\n"
			"      [0]    [1]    [2]    [3]\n");
	for (unsigned int i = 0; i < context->count; i++) {
		const struct wait *wait = &timeline->wait[i];

		mca_print(text, "%u.", i);
		print_wait(text, wait, executions, executions, &timeline->buffer[i],
			   pesa_mca_model_micro_op_buffer(context->model));
		mca_print(text, "   %s\n", context->text[i]);
		total.queue += wait->queue;
		total.queue_while_ready += wait->queue_while_ready;
		total.retire += wait->retire;
	}
	if (context->count == 1)
		return;
	print_wait(text, &total, timeline->entries, executions, NULL, 0);
	mca_put_text(text, "   <total>\n");
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct timeline *timeline = view->state;

	print_header(text, timeline->last_cycle);
	for (unsigned int i = 0; i < timeline->entries; i++) {
		const struct entry *entry = &timeline->entry[i];

		if (!entry->retired && entry->executed) {
			mca_put_text(text, "Truncated display due to cycle limit\n");
			break;
		}
		print_entry(text, timeline, entry, i / context->count, i % context->count);
		mca_print(text, "   %s\n", context->text[i % context->count]);
	}
	print_waits(view, text);
}

static struct json_object *json(struct mca_view *view)
{
	const struct timeline *timeline = view->state;
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	for (unsigned int i = 0; i < timeline->entries; i++) {
		const struct entry *entry = &timeline->entry[i];
		struct json_object *line;

		if (!entry->retired && entry->executed)
			break;
		line = json_object_new_object();
		mca_json_integer(line, "CycleDispatched", entry->dispatched);
		mca_json_integer(line, "CycleExecuted", entry->executed);
		mca_json_integer(line, "CycleIssued", entry->issued);
		mca_json_integer(line, "CycleReady", entry->ready);
		mca_json_integer(line, "CycleRetired", entry->retired);
		json_object_array_add(list, line);
	}
	json_object_object_add(object, "TimelineInfo", list);
	return object;
}

static void free_state(struct mca_view *view)
{
	struct timeline *timeline = view->state;

	if (timeline) {
		free(timeline->entry);
		free(timeline->wait);
		free(timeline->buffer);
	}
	free(timeline);
}

struct pesa_error *mca_view_timeline(struct mca_view *view, const struct mca_view_context *context)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	*view = (struct mca_view){
		.context = context,
		.listener = {on_event, view,
			     1u << PESA_MCA_CYCLE_END | 1u << PESA_MCA_DISPATCHED |
				     1u << PESA_MCA_BUFFERS_RESERVED | 1u << PESA_MCA_READY |
				     1u << PESA_MCA_ISSUED | 1u << PESA_MCA_EXECUTED |
				     1u << PESA_MCA_RETIRED | 1u << PESA_MCA_REPEATED},
		.name = "TimelineView",
		.print = print,
		.json = json,
		.free = free_state,
		.state = timeline,
	};
	if (!timeline)
		return pesa_error_no_memory();
	timeline->max_cycle = context->timeline_cycles ? context->timeline_cycles : UINT_MAX;
	timeline->entries = context->count * context->timeline_iterations;
	timeline->entry = calloc(timeline->entries, sizeof(*timeline->entry));
	timeline->wait = calloc(context->count, sizeof(*timeline->wait));
	timeline->buffer = malloc(context->count * sizeof(*timeline->buffer));
	if (!timeline->entry || !timeline->wait || !timeline->buffer)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < context->count; i++)
		timeline->buffer[i] = -1;
	for (unsigned int i = 0; i < timeline->entries; i++)
		timeline->entry[i].dispatched = -1;
	return NULL;
}
