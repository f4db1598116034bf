// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks of functions, as shown to users: see stacks.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/stacks.h"

#define TEXT_ROOM 1024

/* A writer of stacks.  It notes a failure, and the rest is not written; export_stacks_make() asks for
 * it. */
struct making {
	struct export_stacks *stacks;
	struct export_writing *writing;
	struct distinct_bytes *texts;
	struct pesa_error *error; /* NULL: none */
	/* The stack being built. */
	struct export_stack key;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- Pushing a frame ------------------------------------------------------------------------- */

static void push(struct making *making, const struct export_shown *shown)
{
	if (making->error)
		return;
	making->key.shown = distinct_records_get(&making->stacks->shown, shown);
	if (making->key.shown != DISTINCT_NONE)
		making->key.caller = distinct_records_get(&making->stacks->stacks, &making->key);
	if (making->key.shown == DISTINCT_NONE || making->key.caller == DISTINCT_NONE)
		making->error = pesa_error_no_memory();
}

static void push_text(struct making *making, const char *name, uint32_t file, uint32_t line)
{
	struct export_shown shown = {distinct_text_get(making->texts, name), file, line};

	if (shown.name == DISTINCT_NONE)
		making->error = pesa_error_no_memory();
	push(making, &shown);
}

static void push_format(struct making *making, uint32_t file, uint32_t line, const char *format,
			...) __attribute__((format(printf, 4, 5)));

static void push_format(struct making *making, uint32_t file, uint32_t line, const char *format,
			...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (text)
		push_text(making, text, file, line);
	else
		making->error = pesa_error_no_memory();
	free(text);
}

static void push_location(struct making *making, const struct export_location *location)
{
	const struct export_frames *frames = &making->writing->frames;
	char name[TEXT_ROOM];

	for (uint32_t i = location->frames; i--;) {
		const struct export_frame *frame =
			export_frame_at(frames, frames->list[location->first + i]);
		const struct export_function *function =
			export_function_at(frames, frame->function);
		struct export_shown shown = {function->name, function->file, function->line};

		push(making, &shown);
	}
	if (location->frames)
		return;
	export_location_name(frames, location, name, sizeof(name));
	push_text(making, name, 0, 0);
}

/* ---- Frames above the innermost function ----------------------------------------------------- */

static void push_line(struct making *making, const struct export_location *location)
{
	const struct export_frames *frames = &making->writing->frames;
	const struct export_function *function = NULL;
	const struct export_frame *frame = NULL;

	if (location->frames) {
		frame = export_frame_at(frames, frames->list[location->first]);
		function = export_function_at(frames, frame->function);
	}
	if (!frame || !frame->line || !function->file)
		push_text(making, "[no line]", 0, 0);
	else
		push_format(making, function->file, frame->line, "%s:%" PRIu32,
			    base_name(distinct_text_at(&frames->texts, function->file)),
			    frame->line);
}

static void push_instruction(struct making *making, const struct export_location *location)
{
	const struct export_frames *frames = &making->writing->frames;
	const struct pesa_dso *dso = pesa_profile_dso(frames->profile, location->dso);
	const struct pesa_symbol *symbol;

	if (making->error)
		return;
	making->error =
		pesa_symbols_find(frames->symbols, location->dso, location->address, &symbol);
	if (making->error)
		return;
	if (symbol)
		push_format(making, 0, 0, "%s+0x%" PRIx64, symbol->name,
			    location->address - symbol->start);
	else
		push_format(making, 0, 0, "%s+0x%" PRIx64, base_name(dso->path), location->address);
}

static void push_state(struct making *making, const struct export_row *row)
{
	char causes[TEXT_ROOM];

	export_cause_name(making->writing, row->cause, causes, sizeof(causes));
	push_format(making, 0, 0, "%s%s%s", export_state_name(row->state), *causes ? " " : "",
		    causes);
}

/* ---- Whole stacks ---------------------------------------------------------------------------- */

static void push_process(struct making *making, const struct export_row *row)
{
	const struct export_task *task = export_task_of(making->writing, row);

	if (task->process == DISTINCT_NONE)
		push_format(making, 0, 0, "%" PRIu32, task->pid);
	else
		push_text(making, distinct_text_at(&making->writing->rows->texts, task->process), 0,
			  0);
}

/* Callers first.  The depth is bounded: the kernel limits call chains, and perf.data the size of a
 * record. */
static void push_node(struct making *making, uint32_t number)
{
	const struct export_writing *writing = making->writing;
	uint32_t chain[EXPORT_CHAIN_MAX];
	size_t length = 0;

	for (; number != DISTINCT_NONE && length < EXPORT_CHAIN_MAX;
	     number = export_node_at(writing, number)->caller)
		chain[length++] = number;
	while (length--)
		push_location(making, export_location_at(&writing->frames,
							 writing->frames.location[chain[length]]));
}

static void add_row(struct making *making, const struct export_row *row,
		    enum export_stacks_root root)
{
	const struct export_writing *writing = making->writing;
	const struct export_location *location =
		export_location_at(&writing->frames, writing->frames.location[row->node]);
	struct export_stack *stack;

	making->key = (struct export_stack){.caller = DISTINCT_NONE};
	if (root == EXPORT_ROOT_THREAD)
		making->key.thread = export_thread_of(writing, &making->stacks->threads, row);
	if (root == EXPORT_ROOT_PROCESS)
		push_process(making, row);
	push_node(making, row->node);
	if (location->dso != DISTINCT_NONE) {
		if (writing->options->by == PESA_EXPORT_BY_LINE)
			push_line(making, location);
		else if (writing->options->by == PESA_EXPORT_BY_INSN)
			push_instruction(making, location);
		if (writing->options->states && !writing->plain)
			push_state(making, row);
	}
	if (making->error)
		return;
	stack = distinct_records_at(&making->stacks->stacks, making->key.caller);
	stack->weight += row->weight;
}

static int by_thread(const void *left, const void *right, void *context)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t x = export_stack_at(context, a)->thread, y = export_stack_at(context, b)->thread;

	if (x != y)
		return x < y ? -1 : 1;
	return a < b ? -1 : a > b;
}

struct pesa_error *export_stacks_make(struct export_stacks *stacks, struct export_writing *writing,
				      enum export_stacks_root root)
{
	struct making making = {
		.stacks = stacks, .writing = writing, .texts = &writing->frames.texts};
	uint32_t count;

	*stacks = (struct export_stacks){0};
	distinct_records_begin(&stacks->shown, sizeof(struct export_shown),
			       sizeof(struct export_shown));
	distinct_records_begin(&stacks->stacks, sizeof(struct export_stack),
			       offsetof(struct export_stack, reserved));
	making.error = export_threads_make(writing, &stacks->threads);
	for (uint32_t i = 0; i < writing->count && !making.error; i++)
		if (writing->row[i]->weight)
			add_row(&making, writing->row[i], root);
	count = stacks->stacks.index.count;
	stacks->order = malloc((count + 1) * sizeof(*stacks->order));
	if (making.error)
		return making.error;
	if (!stacks->order)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < count; i++)
		if (export_stack_at(stacks, i)->weight)
			stacks->order[stacks->ordered++] = i;
	qsort_r(stacks->order, stacks->ordered, sizeof(*stacks->order), by_thread, stacks);
	return NULL;
}

void export_stacks_free(struct export_stacks *stacks)
{
	distinct_records_free(&stacks->shown);
	distinct_records_free(&stacks->threads);
	distinct_records_free(&stacks->stacks);
	free(stacks->order);
}

uint32_t *export_stack_path(const struct export_stacks *stacks, uint32_t number, size_t *length)
{
	uint32_t *path;
	size_t at = 0;

	for (uint32_t i = number; i != DISTINCT_NONE; i = export_stack_at(stacks, i)->caller)
		at++;
	*length = at;
	path = malloc((at + 1) * sizeof(*path));
	if (!path)
		return NULL;
	for (uint32_t i = number; i != DISTINCT_NONE; i = export_stack_at(stacks, i)->caller)
		path[--at] = export_stack_at(stacks, i)->shown;
	return path;
}
