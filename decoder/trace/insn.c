// SPDX-License-Identifier: GPL-2.0-or-later
/* Pipeline traces: stages, marks and labels of an instruction.  See trace.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/trace/trace.h"

void pipeline_problem(struct pesa_pipeline *pipeline, enum pesa_pipeline_problem problem,
		      const char *format, ...)
{
	struct pesa_pipeline_found *found = &pipeline->summary.found[problem];
	va_list arguments;
	int length;

	if (found->count++)
		return;
	length = snprintf(found->first, sizeof(found->first),
			  "line %llu: ", (unsigned long long)pipeline->summary.lines);
	va_start(arguments, format);
	vsnprintf(found->first + length, sizeof(found->first) - (size_t)length, format, arguments);
	va_end(arguments);
	/* The text of a damaged log is printed on a terminal. */
	for (char *c = found->first; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

void pipeline_fail(struct pesa_pipeline *pipeline, struct pesa_error *error)
{
	if (pipeline->error)
		pesa_error_free(error);
	else
		pipeline->error = error;
}

static void describe(struct pesa_pipeline *pipeline, unsigned int number)
{
	const struct pesa_pipeline_map *map = pipeline->map;
	const char *name = pipeline->summary.stage[number].name;
	struct pipeline_stage *stage = &pipeline->stage[number];

	stage->dispatch = map_stage_is(&map->dispatch, name);
	stage->complete = map_stage_is(&map->complete, name);
	stage->retire = map_stage_is(&map->retire, name);
	stage->rollback = map_stage_is(&map->rollback, name);
	for (unsigned int i = 0; i < map->marks; i++) {
		if (strcmp(map->mark[i].text, name))
			continue;
		if (map->mark[i].kind == MAP_IN)
			stage->marks |= UINT64_C(1) << i;
		else if (map->mark[i].kind == MAP_STALL)
			stage->stalls |= UINT64_C(1) << i;
	}
}

unsigned int pipeline_stage(struct pesa_pipeline *pipeline, const char *name, size_t size)
{
	struct pesa_pipeline_summary *summary = &pipeline->summary;
	unsigned int number;

	if (size >= sizeof(summary->stage[0].name))
		size = sizeof(summary->stage[0].name) - 1;
	for (number = 0; number < summary->stages; number++)
		if (!memcmp(summary->stage[number].name, name, size) &&
		    !summary->stage[number].name[size])
			return number;
	if (number == PESA_PIPELINE_STAGES)
		return number - 1;
	if (number == PESA_PIPELINE_STAGES - 1) {
		name = "others";
		size = 6;
	}
	memcpy(summary->stage[number].name, name, size);
	summary->stages++;
	describe(pipeline, number);
	return number;
}

static void apply(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int number)
{
	const struct map_mark *mark = &pipeline->map->mark[number];
	uint16_t bit = mark->bit < 0 ? 0 : (uint16_t)(1u << mark->bit);

	switch (mark->what) {
	case MAP_CAUSE:
		if (mark->scope == MAP_EMPTY)
			insn->empty_cause |= bit;
		else
			insn->cause |= bit;
		if (mark->scope == MAP_FRONT)
			insn->front_cause |= bit;
		break;
	case MAP_EXCEPTION:
		insn->exception = true;
		break;
	case MAP_FLUSH:
		insn->flush = true;
		break;
	case MAP_SERIALISE:
		insn->serialise = true;
		break;
	}
}

static void apply_all(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, uint64_t marks)
{
	for (; marks; marks &= marks - 1)
		apply(pipeline, insn, (unsigned int)__builtin_ctzll(marks));
}

uint64_t pipeline_moved(uint64_t cycle, int64_t offset)
{
	return offset < 0 && cycle < (uint64_t)-offset ? 0 : cycle + (uint64_t)offset;
}

void pipeline_enter(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int number,
		    uint64_t cycle)
{
	const struct pipeline_stage *stage = &pipeline->stage[number];
	uint64_t after = cycle - insn->fetch;

	insn->current = (uint8_t)number;
	if (insn->stages < INSN_STAGES) {
		insn->stage[insn->stages].after = after > UINT32_MAX ? UINT32_MAX : (uint32_t)after;
		insn->stage[insn->stages++].stage = (uint8_t)number;
	} else {
		/* The last entry is updated to the newest stage. */
		insn->stage[INSN_STAGES - 1].stage = (uint8_t)number;
	}
	if (stage->dispatch && insn->dispatched == CYCLE_UNKNOWN)
		insn->dispatched = cycle;
	if (stage->complete)
		insn->complete = pipeline_moved(cycle, pipeline->map->complete_offset);
	if (stage->retire) {
		insn->ended = pipeline_moved(cycle, pipeline->map->retire_offset);
		insn->has_retire = true;
	}
	if (stage->rollback && insn->rollback == CYCLE_UNKNOWN)
		insn->rollback = cycle;
	apply_all(pipeline, insn, stage->marks);
}

void pipeline_note(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, unsigned int number,
		   bool stalls)
{
	apply_all(pipeline, insn, pipeline->stage[number].marks);
	if (stalls && insn->stages)
		apply_all(pipeline, insn, pipeline->stage[insn->current].stalls);
}

static void find_pc(const struct pesa_pipeline_map *map, struct pipeline_insn *insn,
		    const char *text)
{
	const char *digits = text;
	char *end;

	if (map->pc_after[0]) {
		digits = strstr(text, map->pc_after);
		if (!digits)
			return;
		digits += strlen(map->pc_after);
	}
	digits += strspn(digits, " \t");
	/* strtoull() would accept signs. */
	if (!strchr("0123456789abcdefABCDEF", *digits) || !*digits)
		return;
	insn->pc = strtoull(digits, &end, (int)map->pc_base);
	insn->has_pc = end != digits;
}

void pipeline_label(struct pesa_pipeline *pipeline, struct pipeline_insn *insn, uint64_t type,
		    const char *text)
{
	const struct pesa_pipeline_map *map = pipeline->map;
	const char *at;

	if (type == map->pc_label && !insn->has_pc) {
		find_pc(map, insn, text);
		if (insn->has_pc && pipeline->options.named)
			pipeline->options.named(pipeline->options.context, insn->pc, text);
	}
	for (uint64_t marks = pipeline->label_marks; marks; marks &= marks - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(marks);

		if (strstr(text, map->mark[i].text))
			apply(pipeline, insn, i);
	}
	if (map->until[0] && (at = strstr(text, map->until))) {
		long long cycle = strtoll(at + strlen(map->until), NULL, 10);

		if (cycle > INT64_MAX / 4)
			return;
		insn->until = cycle > pipeline->base ? (uint64_t)(cycle - pipeline->base) : 0;
	}
}

void pipeline_insn_begin(struct pipeline_insn *insn)
{
	memset(insn, 0, offsetof(struct pipeline_insn, stage));
	insn->dispatched = insn->complete = insn->ended = insn->until = insn->rollback =
		CYCLE_UNKNOWN;
}
