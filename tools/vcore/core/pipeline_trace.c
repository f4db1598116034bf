// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the virtual core's pipeline as a Kanata log, which Konata displays and `pesa import` reads
 * (state map virtual-core).
 *
 * Passages come in program order and overlap in time; a log is ordered by time.  Fetch cycles never
 * go back, so everything that happens before the fetch of an instruction is known when it comes:
 * events wait in a heap until then.  An instruction is written when the next one comes, because it
 * may turn out to have flushed the pipeline.
 *
 * The log is opened and closed for each buffer, because the guest may close all descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/vcore/core/pipeline_trace.h"
#include "tools/vcore/core/hart.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/process.h"

#define BUFFER_BYTES (256u * 1024)
#define LINES_MAX    4096u /* maximum bytes of one instruction or event in the buffer */

enum event_kind { EVENT_DISPATCH, EVENT_COMPLETE, EVENT_RETIRE, EVENT_GONE, EVENT_THROWN_AWAY };

struct event {
	uint64_t cycle, number;
	enum event_kind kind;
};

struct pipeline_trace {
	char path[PATH_MAX + 32];
	const struct process *process;
	struct pesa_capabilities capabilities;
	uint64_t seen;	  /* number of instructions, in the window or not */
	uint64_t written; /* number of instructions written */
	uint64_t retired; /* number of retired instructions written */
	uint64_t cycle;	  /* current cycle of the log */
	bool begun, failed;
	uint64_t fetch;	     /* fetch cycle of the newest instruction */
	struct passage last; /* waits for the next passage */
	bool has_last;
	struct event *heap;
	size_t events, room;
	size_t used;
	char buffer[BUFFER_BYTES];
};

static void complain(struct pipeline_trace *trace)
{
	if (trace->failed)
		return;
	trace->failed = true;
	atomic_fetch_add(&trace->process->region->cut_traces, 1);
	fprintf(stderr, "pesa record: %s: the pipeline trace cannot be written: %m\n", trace->path);
}

static void write_buffer(struct pipeline_trace *trace)
{
	int file = trace->failed
			   ? -1
			   : open(trace->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	size_t done = 0;
	ssize_t wrote;

	if (file < 0)
		complain(trace);
	while (file >= 0 && done < trace->used) {
		wrote = write(file, trace->buffer + done, trace->used - done);
		if (wrote <= 0) {
			complain(trace);
			break;
		}
		done += (size_t)wrote;
	}
	if (file >= 0)
		close(file);
	trace->used = 0;
}

static void put(struct pipeline_trace *trace, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct pipeline_trace *trace, const char *format, ...)
{
	size_t room = BUFFER_BYTES - trace->used;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(trace->buffer + trace->used, room, format, arguments);
	va_end(arguments);
	if (length > 0 && (size_t)length < room)
		trace->used += (size_t)length;
}

static void need_room(struct pipeline_trace *trace)
{
	if (BUFFER_BYTES - trace->used < LINES_MAX)
		write_buffer(trace);
}

/* ---- The order of time --------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	if (a->cycle != b->cycle)
		return a->cycle < b->cycle;
	return a->number != b->number ? a->number < b->number : a->kind < b->kind;
}

static void push(struct pipeline_trace *trace, uint64_t cycle, enum event_kind kind)
{
	struct event event = {cycle, trace->written, kind};
	size_t place = trace->events;

	if (trace->events == trace->room) {
		size_t room = trace->room ? 2 * trace->room : 1024;
		struct event *heap = realloc(trace->heap, room * sizeof(*heap));

		if (!heap) {
			complain(trace);
			return;
		}
		trace->heap = heap;
		trace->room = room;
	}
	trace->events++;
	for (; place && before(&event, &trace->heap[(place - 1) / 2]); place = (place - 1) / 2)
		trace->heap[place] = trace->heap[(place - 1) / 2];
	trace->heap[place] = event;
}

static struct event pop(struct pipeline_trace *trace)
{
	struct event result = trace->heap[0], last = trace->heap[--trace->events];
	size_t place = 0, child;

	while ((child = 2 * place + 1) < trace->events) {
		if (child + 1 < trace->events &&
		    before(&trace->heap[child + 1], &trace->heap[child]))
			child++;
		if (!before(&trace->heap[child], &last))
			break;
		trace->heap[place] = trace->heap[child];
		place = child;
	}
	trace->heap[place] = last;
	return result;
}

static void go_to(struct pipeline_trace *trace, uint64_t cycle)
{
	if (cycle > trace->cycle)
		put(trace, "C\t%" PRIu64 "\n", cycle - trace->cycle);
	if (cycle > trace->cycle)
		trace->cycle = cycle;
}

/* Write all events up to and including `cycle`. */
static void write_events(struct pipeline_trace *trace, uint64_t cycle)
{
	static const char *const stages[] = {
		[EVENT_DISPATCH] = "Ds",
		[EVENT_COMPLETE] = "Cm",
		[EVENT_RETIRE] = "Rt",
	};

	while (trace->events && trace->heap[0].cycle <= cycle) {
		struct event event = pop(trace);

		need_room(trace);
		go_to(trace, event.cycle);
		if (event.kind < EVENT_GONE)
			put(trace, "S\t%" PRIu64 "\t0\t%s\n", event.number, stages[event.kind]);
		else if (event.kind == EVENT_GONE)
			put(trace, "R\t%" PRIu64 "\t%" PRIu64 "\t0\n", event.number,
			    trace->retired++);
		else
			put(trace, "R\t%" PRIu64 "\t%" PRIu64 "\t1\n", event.number,
			    trace->retired);
	}
}

/* ---- Instructions -------------------------------------------------------------------------- */

/* Write causes under the names of the state map, which distinguishes front-end causes. */
static void put_causes(struct pipeline_trace *trace, uint16_t cause, uint16_t front)
{
	static const char *const standard[] = {
		"icache-miss", "itlb-miss", "branch-mispredict", "dcache-miss", "dtlb-miss",
	};

	front |= cause & (PESA_CAUSE_ICACHE_MISS | PESA_CAUSE_ITLB_MISS);
	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++) {
		const char *name = bit < PESA_CAUSE_IMPLEMENTATION_FIRST
					   ? standard[bit]
					   : trace->capabilities.cause_names[bit];

		if (cause >> bit & 1)
			put(trace, " %s%s", front >> bit & 1 ? "front:" : "", name);
	}
}

static void put_text(struct pipeline_trace *trace, const struct insn *insn)
{
	struct pesa_insn decoded;
	char text[128] = "?";

	if (pesa_insn_decode(trace->process->isa, &insn->bits, insn->length, &decoded))
		pesa_insn_print(trace->process->isa, &decoded, insn->pc, PESA_PRINT_ADDRESSES, text,
				sizeof(text));
	for (char *c = text; *c; c++)
		if (*c == '\t')
			*c = ' ';
	put(trace, "L\t%" PRIu64 "\t0\t%" PRIx64 ": %s\n", trace->written, insn->pc, text);
}

static void begin(struct pipeline_trace *trace, uint64_t fetch)
{
	/* The log begins at cycle 0, whenever the first instruction is fetched. */
	uint64_t start = trace->seen == 1 ? 0 : fetch;

	trace->begun = true;
	trace->cycle = start;
	put(trace, "Kanata\t0004\nC=\t%" PRIu64 "\n", start);
}

/* Arguments of pipeline_trace_flush(); NULL: no flush. */
struct flush {
	const char *kind;
	uint64_t until;
};

static void write_label(struct pipeline_trace *trace, uint16_t cause, uint16_t front,
			const struct flush *flush)
{
	if (!cause && !flush)
		return;
	put(trace, "L\t%" PRIu64 "\t1\t", trace->written);
	put_causes(trace, cause, front);
	if (flush)
		put(trace, " flush=%s until=%" PRIu64, flush->kind, flush->until);
	put(trace, "\n");
}

/* Write the lines that begin an instruction. */
static void write_begin(struct pipeline_trace *trace, const struct insn *insn, uint64_t fetch)
{
	bool first = !trace->begun;

	need_room(trace);
	if (first)
		begin(trace, fetch);
	write_events(trace, fetch);
	need_room(trace);
	go_to(trace, fetch);
	trace->fetch = fetch;
	put(trace, "I\t%" PRIu64 "\t%" PRIu64 "\t0\n", trace->written, trace->seen);
	put_text(trace, insn);
	if (first)
		put(trace, "L\t%" PRIu64 "\t1\tpesa virtual-core core=%s\n", trace->written,
		    trace->process->core->name);
	put(trace, "S\t%" PRIu64 "\t0\tF\n", trace->written);
}

static bool in_window(const struct pipeline_trace *trace, uint64_t number)
{
	const struct vcore_control *control = trace->process->control;

	return number >= control->trace_first && number <= control->trace_last && !trace->failed;
}

/* Write the waiting passage and the flush after it. */
static void settle(struct pipeline_trace *trace, const struct flush *flush)
{
	const struct passage *passage = &trace->last;
	bool has_last = trace->has_last;

	trace->has_last = false;
	if (!has_last || !in_window(trace, trace->seen))
		return;
	write_begin(trace, passage->insn, passage->supplied - trace->process->core->fetch_depth);
	write_label(trace, passage->cause, passage->front_cause, flush);
	push(trace, passage->dispatched, EVENT_DISPATCH);
	push(trace, passage->complete, EVENT_COMPLETE);
	if (passage->faulted) {
		push(trace, passage->retired, EVENT_THROWN_AWAY);
	} else {
		push(trace, passage->retired, EVENT_RETIRE);
		push(trace, passage->retired + 1, EVENT_GONE);
	}
	trace->written++;
}

void pipeline_trace_step(struct pipeline_trace *trace, const struct passage *passage)
{
	settle(trace, NULL);
	trace->last = *passage;
	trace->has_last = true;
	trace->seen++;
}

/* Write the squashed execution of a load that is fetched again, as far as its cycles are known. */
static void write_squashed(struct pipeline_trace *trace, const struct insn *insn, uint16_t cause,
			   const struct flush *flush)
{
	uint32_t way = trace->process->core->fetch_depth + trace->process->core->redirect;
	uint64_t gone = flush->until > way ? flush->until - way : 0;

	settle(trace, NULL);
	if (!in_window(trace, trace->seen + 1))
		return;
	trace->seen++;
	write_begin(trace, insn, trace->fetch);
	trace->seen--;
	write_label(trace, cause, 0, flush);
	push(trace, gone > trace->fetch ? gone : trace->fetch, EVENT_THROWN_AWAY);
	trace->written++;
}

void pipeline_trace_flush(struct pipeline_trace *trace, const struct insn *insn, uint16_t cause,
			  uint64_t until)
{
	struct flush flush = {"interrupt", until};

	/* Only a load that comes again causes a flush before it retires. */
	if (!trace->has_last || trace->last.insn != insn) {
		flush.kind = "ordering";
		write_squashed(trace, insn, cause, &flush);
		return;
	}
	if (trace->last.faulted)
		flush.kind = "exception";
	else if (insn->flags & INSN_FLUSH_AFTER)
		flush.kind = "serialise";
	else if (cause & PESA_CAUSE_BRANCH_MISPREDICT)
		flush.kind = "mispredict";
	settle(trace, &flush);
}

struct pipeline_trace *pipeline_trace_create(const struct hart *hart)
{
	const struct process *process = hart->process;
	const struct vcore_control *control = process->control;
	struct pipeline_trace *trace;

	if (!control->trace[0] || process->region_index)
		return NULL;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return NULL;
	trace->process = process;
	pesa_core_capabilities(process->core, &trace->capabilities);
	snprintf(trace->path, sizeof(trace->path), "%s", control->trace);
	/* Each hart has its own file. */
	if (hart->ordinal)
		snprintf(trace->path + strlen(trace->path), 32, ".%" PRIu64, hart->ordinal + 1);
	/* The recorder created the first file empty; other files may be from an earlier run. */
	if (hart->ordinal && unlink(trace->path) && errno != ENOENT)
		complain(trace);
	return trace;
}

void pipeline_trace_free(struct pipeline_trace *trace)
{
	if (!trace)
		return;
	free(trace->heap);
	free(trace);
}

void pipeline_trace_end(struct pipeline_trace *trace)
{
	if (!trace)
		return;
	settle(trace, NULL);
	write_events(trace, UINT64_MAX);
	if (trace->used)
		write_buffer(trace);
	pipeline_trace_free(trace);
}
