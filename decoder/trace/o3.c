// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gem5's O3PipeView: seven lines for each instruction, written when it leaves the pipeline.
 *
 * 	O3PipeView:fetch:TICK:0xPC:MICRO_OP:SEQUENCE:DISASSEMBLY
 * 	O3PipeView:decode:TICK
 * 	O3PipeView:rename:TICK
 * 	O3PipeView:dispatch:TICK
 * 	O3PipeView:issue:TICK
 * 	O3PipeView:complete:TICK
 * 	O3PipeView:retire:TICK:store:TICK
 *
 * Tick 0 means that the instruction did not reach the stage; with retire tick 0 it was squashed.
 * The blocks are in the order in which instructions leave, so they wait in a heap until all older
 * ones must have come.  Other lines (further debug flags) are skipped.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/arithmetic.h"
#include "decoder/trace/trace.h"

#define HEAP_MAX 32768u /* instructions: in gem5 they can be late by more than ten thousand */

struct o3 {
	struct pipeline_insn *insn; /* waiting ones, and the one being read */
	uint32_t *heap;		    /* of indices, lowest sequence number first */
	uint32_t *idle;		    /* free indices */
	uint32_t waiting, idles, current, room;
	bool reading;
	uint64_t ticks; /* ticks per cycle, 0: not known yet */
	uint64_t ticks_base;
	uint64_t skipped;	     /* ticks removed by the last jump */
	struct pipeline_insn before; /* the last one passed on */
	bool has_before;
};

#define FIRST_ROOM 256u

static bool grow(struct o3 *o3)
{
	uint32_t room = o3->room ? 2 * o3->room : FIRST_ROOM;
	struct pipeline_insn *insn = realloc(o3->insn, room * sizeof(*insn));
	uint32_t *heap, *idle;

	if (insn)
		o3->insn = insn;
	heap = realloc(o3->heap, room * sizeof(*heap));
	if (heap)
		o3->heap = heap;
	idle = realloc(o3->idle, room * sizeof(*idle));
	if (idle)
		o3->idle = idle;
	if (!insn || !heap || !idle)
		return false;
	for (uint32_t i = room; i > o3->room; i--)
		o3->idle[o3->idles++] = i - 1;
	o3->room = room;
	return true;
}

bool o3_begin(struct pesa_pipeline *pipeline)
{
	pipeline->o3 = calloc(1, sizeof(*pipeline->o3));
	return pipeline->o3 && grow(pipeline->o3);
}

void o3_free(struct pesa_pipeline *pipeline)
{
	struct o3 *o3 = pipeline->o3;

	if (!o3)
		return;
	free(o3->insn);
	free(o3->heap);
	free(o3->idle);
	free(o3);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static bool older(const struct o3 *o3, uint32_t a, uint32_t b)
{
	const struct pipeline_insn *left = &o3->insn[a], *right = &o3->insn[b];

	return left->sequence != right->sequence ? left->sequence < right->sequence
						 : left->fetch < right->fetch;
}

static void push(struct o3 *o3, uint32_t index)
{
	uint32_t place = o3->waiting++;

	for (; place && older(o3, index, o3->heap[(place - 1) / 2]); place = (place - 1) / 2)
		o3->heap[place] = o3->heap[(place - 1) / 2];
	o3->heap[place] = index;
}

static uint32_t pop(struct o3 *o3)
{
	uint32_t result = o3->heap[0], last = o3->heap[--o3->waiting], place = 0, child;

	while ((child = 2 * place + 1) < o3->waiting) {
		if (child + 1 < o3->waiting && older(o3, o3->heap[child + 1], o3->heap[child]))
			child++;
		if (!older(o3, o3->heap[child], last))
			break;
		o3->heap[place] = o3->heap[child];
		place = child;
	}
	o3->heap[place] = last;
	return result;
}

/* ---- Ticks to cycles ------------------------------------------------------------------------- */

/* The cycle is the greatest common divisor of all ticks of waiting instructions. */
static void find_ticks(struct pesa_pipeline *pipeline)
{
	struct o3 *o3 = pipeline->o3;
	uint64_t base = UINT64_MAX, ticks = pipeline->options.ticks_per_cycle;

	for (uint32_t i = 0; i < o3->waiting; i++)
		if (o3->insn[o3->heap[i]].fetch < base)
			base = o3->insn[o3->heap[i]].fetch;
	for (uint32_t i = 0; i < o3->waiting && !pipeline->options.ticks_per_cycle; i++) {
		const struct pipeline_insn *insn = &o3->insn[o3->heap[i]];

		ticks = greatest_common_divisor(ticks, insn->fetch - base);
		for (unsigned int j = 0; j < insn->stages; j++)
			ticks = greatest_common_divisor(ticks, insn->stage[j].after);
		if (insn->fate == FATE_RETIRED)
			ticks = greatest_common_divisor(ticks, insn->ended - insn->fetch);
	}
	o3->ticks = ticks ? ticks : 1;
	o3->ticks_base = base;
	pipeline->summary.ticks_per_cycle = o3->ticks;
	pipeline->base = (int64_t)(base / o3->ticks);
}

static uint64_t cycle_of(struct pesa_pipeline *pipeline, uint64_t tick)
{
	const struct o3 *o3 = pipeline->o3;

	if (tick == CYCLE_UNKNOWN)
		return CYCLE_UNKNOWN;
	if (tick < o3->ticks_base || (tick - o3->ticks_base) % o3->ticks)
		pipeline_problem(pipeline, PESA_PIPELINE_TICKS,
				 "tick %" PRIu64 " with %" PRIu64 " ticks to a cycle", tick,
				 o3->ticks);
	return tick < o3->ticks_base ? 0 : (tick - o3->ticks_base) / o3->ticks;
}

/* Whether a tick of the instruction is too far from its fetch. */
static bool stretched(const struct o3 *o3, const struct pipeline_insn *insn)
{
	const uint64_t tick[] = {insn->dispatched, insn->complete, insn->ended};

	for (unsigned int i = 0; i < sizeof(tick) / sizeof(tick[0]); i++)
		if (tick[i] != CYCLE_UNKNOWN &&
		    (tick[i] - insn->fetch) / o3->ticks > CYCLES_AT_ONCE)
			return true;
	return false;
}

/* Remove jumps in time.  If a jump was one damaged number, the next instruction is from before the
 * jump, which is then undone. */
static bool jumps(struct o3 *o3, const struct pipeline_insn *insn)
{
	uint64_t before = o3->has_before ? o3->before.fetch : 0, cycle;

	if (insn->fetch < o3->ticks_base) {
		o3->ticks_base -= o3->skipped;
		o3->skipped = 0;
	}
	if (insn->fetch < o3->ticks_base)
		return false;
	cycle = (insn->fetch - o3->ticks_base) / o3->ticks;
	if (cycle <= before || cycle - before <= CYCLES_AT_ONCE)
		return false;
	o3->skipped = (cycle - before) * o3->ticks;
	o3->ticks_base += o3->skipped;
	return true;
}

static void convert(struct pesa_pipeline *pipeline, struct pipeline_insn *insn)
{
	const struct pesa_pipeline_map *map = pipeline->map;
	struct o3 *o3 = pipeline->o3;

	insn->fetch = cycle_of(pipeline, insn->fetch);
	insn->dispatched = cycle_of(pipeline, insn->dispatched);
	insn->complete = cycle_of(pipeline, insn->complete);
	insn->ended = cycle_of(pipeline, insn->ended);
	if (insn->complete != CYCLE_UNKNOWN)
		insn->complete = pipeline_moved(insn->complete, map->complete_offset);
	if (insn->fate == FATE_RETIRED)
		insn->ended = pipeline_moved(insn->ended, map->retire_offset);
	for (unsigned int i = 0; i < insn->stages; i++)
		insn->stage[i].after = (uint32_t)(insn->stage[i].after / o3->ticks);
}

/* Convert ticks to cycles; false: the instruction's ticks are damaged. */
static bool place(struct pesa_pipeline *pipeline, struct pipeline_insn *insn)
{
	if (stretched(pipeline->o3, insn)) {
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED,
				 "sequence number %" PRIu64 " is in the pipeline for too long",
				 insn->sequence);
		return false;
	}
	if (jumps(pipeline->o3, insn))
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED,
				 "sequence number %" PRIu64 " is fetched too long after the one "
				 "before it",
				 insn->sequence);
	convert(pipeline, insn);
	return true;
}

static void hand_on(struct pesa_pipeline *pipeline, struct pipeline_insn *insn)
{
	struct pipeline_hart *hart = pipeline_hart(pipeline, 0);
	struct o3 *o3 = pipeline->o3;

	if (!hart)
		return;
	if (o3->has_before && o3->before.sequence == insn->sequence) {
		pipeline_problem(pipeline, PESA_PIPELINE_DUPLICATE_ID,
				 "sequence number %" PRIu64 " comes twice", insn->sequence);
		return;
	}
	if (!place(pipeline, insn))
		return;
	insn->joins =
		o3->has_before && insn->micro_op > o3->before.micro_op && insn->pc == o3->before.pc;
	o3->before = *insn;
	o3->has_before = true;
	pipeline_take(pipeline, hart, insn);
}

static void release(struct pesa_pipeline *pipeline)
{
	struct o3 *o3 = pipeline->o3;
	uint32_t index;

	if (!o3->ticks)
		find_ticks(pipeline);
	index = pop(o3);
	hand_on(pipeline, &o3->insn[index]);
	o3->idle[o3->idles++] = index;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool number_field(const char **field, int base, uint64_t *number)
{
	char *end;

	if (**field < '0' || **field > '9')
		return false;
	*number = strtoull(*field, &end, base);
	if (*end && *end != ':')
		return false;
	*field = *end ? end + 1 : end;
	return *number < UINT64_C(1) << 62;
}

/* O3PipeView:fetch: starts an instruction. */
static bool begin(struct pesa_pipeline *pipeline, const char *field)
{
	struct o3 *o3 = pipeline->o3;
	uint64_t tick, pc, micro_op, sequence;
	struct pipeline_insn *insn;

	if (o3->reading) {
		pipeline_problem(pipeline, PESA_PIPELINE_LOST,
				 "sequence number %" PRIu64 " has no retire line",
				 o3->insn[o3->current].sequence);
		o3->idle[o3->idles++] = o3->current;
		o3->reading = false;
	}
	if (!number_field(&field, 10, &tick) || strncmp(field, "0x", 2))
		return false;
	/* Addresses have 64 bits. */
	pc = strtoull(field + 2, (char **)&field, 16);
	if (*field++ != ':' || !number_field(&field, 10, &micro_op) ||
	    !number_field(&field, 10, &sequence))
		return false;
	if (!o3->idles && !grow(o3)) {
		pipeline_fail(pipeline, pesa_error_no_memory());
		return true;
	}
	o3->current = o3->idle[--o3->idles];
	o3->reading = true;
	insn = &o3->insn[o3->current];
	pipeline_insn_begin(insn);
	insn->number = insn->sequence = sequence;
	insn->pc = pc;
	insn->has_pc = true;
	insn->micro_op = micro_op < 255 ? (uint8_t)micro_op : 255;
	insn->fetch = tick;
	pipeline_enter(pipeline, insn, pipeline_stage(pipeline, "fetch", 5), tick);
	if (pipeline->options.named)
		pipeline->options.named(pipeline->options.context, pc, field);
	return true;
}

static void finish(struct pesa_pipeline *pipeline, uint64_t tick)
{
	struct o3 *o3 = pipeline->o3;
	struct pipeline_insn *insn = &o3->insn[o3->current];

	insn->fate = tick ? FATE_RETIRED : FATE_FLUSHED;
	/* The log has no tick for squashing. */
	insn->ended = tick ? tick : CYCLE_UNKNOWN;
	push(o3, o3->current);
	o3->reading = false;
	if (o3->waiting > pipeline->summary.most_in_flight)
		pipeline->summary.most_in_flight = o3->waiting;
	if (o3->waiting == HEAP_MAX)
		release(pipeline);
}

/* Offsets in the map are in cycles, and these are ticks: they are added after the conversion. */
static void enter(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int number,
		  uint64_t tick)
{
	pipeline_enter(pipeline, insn, number, tick);
	if (pipeline->stage[number].complete)
		insn->complete = tick;
}

static bool stage_line(struct pesa_pipeline *pipeline, const char *line)
{
	struct o3 *o3 = pipeline->o3;
	const char *field = strchr(line, ':');
	size_t size = field ? (size_t)(field - line) : 0;
	struct pipeline_insn *insn;
	uint64_t tick;

	if (!size || !number_field((field++, &field), 10, &tick))
		return false;
	if (!o3->reading) {
		pipeline_problem(pipeline, PESA_PIPELINE_UNKNOWN_ID, "no fetch line before it");
		return true;
	}
	insn = &o3->insn[o3->current];
	if (tick && tick < insn->fetch) {
		pipeline_problem(pipeline, PESA_PIPELINE_BACKWARDS,
				 "tick %" PRIu64 " is before the instruction was fetched", tick);
		tick = insn->fetch;
	}
	if (size == 6 && !strncmp(line, "retire", 6)) {
		finish(pipeline, tick);
		return true;
	}
	if (tick)
		enter(pipeline, insn, pipeline_stage(pipeline, line, size), tick);
	return true;
}

void o3_line(struct pesa_pipeline *pipeline, char *line, size_t size)
{
	static const char prefix[] = "O3PipeView:";
	bool sound;

	if (size < sizeof(prefix) - 1 || memcmp(line, prefix, sizeof(prefix) - 1))
		return;
	line += sizeof(prefix) - 1;
	if (memchr(line, 0, size - (sizeof(prefix) - 1)))
		sound = false;
	else if (!strncmp(line, "fetch:", 6))
		sound = begin(pipeline, line + 6);
	else
		sound = stage_line(pipeline, line);
	pipeline->begun = true;
	if (!sound)
		pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED, "'%.60s'", line);
}

void o3_end(struct pesa_pipeline *pipeline)
{
	struct o3 *o3 = pipeline->o3;
	struct pipeline_insn *open = NULL;
	uint64_t end = 0;

	if (!pipeline->begun) {
		pipeline_fail(pipeline,
			      pesa_error_create(PESA_ERROR_FORMAT,
						"no line begins with 'O3PipeView:': this is no "
						"trace of gem5's debug flag O3PipeView"));
		return;
	}
	while (o3->waiting && !pipeline->error)
		release(pipeline);
	if (o3->reading && o3->ticks) {
		pipeline->summary.in_flight = 1;
		open = &o3->insn[o3->current];
		if (!place(pipeline, open))
			open = NULL;
	}
	for (unsigned int i = 0; i < pipeline->summary.harts; i++)
		end = pipeline->hart[i]->alive;
	if (open && open->fetch + 1 > end)
		end = open->fetch + 1;
	for (unsigned int i = 0; i < pipeline->summary.harts && !pipeline->error; i++)
		pipeline_hart_end(pipeline, pipeline->hart[i], open, end);
	pipeline->summary.cycles = end;
}
