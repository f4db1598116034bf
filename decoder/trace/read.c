// SPDX-License-Identifier: GPL-2.0-or-later
/* Pipeline traces: splits pieces of bytes into lines for the parser of their format.  See
 * trace.h. */
#include "decoder/trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static const struct {
	const char *name, *summary;
	bool certain;
} rules[] = {
#define RULE(id, name, certain, summary) {name, summary, certain},
	PESA_PIPELINE_RULES(RULE)
#undef RULE
};

static const char *const problems[] = {
	[PESA_PIPELINE_DAMAGED] = "damaged lines",
	[PESA_PIPELINE_UNKNOWN_ID] = "lines about instructions that are not in flight",
	[PESA_PIPELINE_DUPLICATE_ID] = "instructions with the number of another one in flight",
	[PESA_PIPELINE_BACKWARDS] = "cycles that go back",
	[PESA_PIPELINE_LOST] = "instructions that never end",
	[PESA_PIPELINE_WITHOUT_PC] = "retired instructions without an address",
	[PESA_PIPELINE_ORDER] = "instructions that retired before an older one",
	[PESA_PIPELINE_WIDTH] = "cycles in which more retired than the core can",
	[PESA_PIPELINE_OUTSIDE] = "retired instructions outside the text of the ELF files",
	[PESA_PIPELINE_UNDECODABLE] = "retired instructions where the text is no instruction",
	[PESA_PIPELINE_FLOW] =
		"steps from one instruction to the next where the text does not lead",
	[PESA_PIPELINE_TICKS] = "times that are not on a cycle",
};

const char *pesa_pipeline_rule_name(enum pesa_pipeline_rule rule)
{
	return rules[rule].name;
}

const char *pesa_pipeline_rule_summary(enum pesa_pipeline_rule rule)
{
	return rules[rule].summary;
}

bool pesa_pipeline_rule_certain(enum pesa_pipeline_rule rule)
{
	return rules[rule].certain;
}

const char *pesa_pipeline_problem_name(enum pesa_pipeline_problem problem)
{
	return problems[problem];
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct pesa_error *pesa_pipeline_create(const struct pesa_pipeline_options *options,
					struct pesa_pipeline **result)
{
	struct pesa_pipeline *pipeline = calloc(1, sizeof(*pipeline));

	if (!pipeline)
		return pesa_error_no_memory();
	pipeline->options = *options;
	pipeline->map = options->map;
	for (unsigned int i = 0; i < pipeline->map->marks; i++)
		if (pipeline->map->mark[i].kind == MAP_LABEL)
			pipeline->label_marks |= UINT64_C(1) << i;
	pipeline->summary.front_depth = pipeline->map->front_depth;
	if (pipeline->map->format == PESA_PIPELINE_O3PIPEVIEW && !o3_begin(pipeline)) {
		pesa_pipeline_free(pipeline);
		return pesa_error_no_memory();
	}
	*result = pipeline;
	return NULL;
}

void pesa_pipeline_free(struct pesa_pipeline *pipeline)
{
	if (!pipeline)
		return;
	for (unsigned int i = 0; i < HARTS_MAX; i++)
		pipeline_hart_free(pipeline->hart[i]);
	exact_store_free(&pipeline->store);
	pesa_error_free(pipeline->error);
	o3_free(pipeline);
	free(pipeline->flight);
	free(pipeline->piece);
	free(pipeline);
}

static void take_line(struct pesa_pipeline *pipeline, char *line, size_t size)
{
	pipeline->summary.lines++;
	if (size && line[size - 1] == '\r')
		size--;
	line[size] = '\0';
	if (pipeline->map->format == PESA_PIPELINE_KANATA)
		kanata_line(pipeline, line, size);
	else
		o3_line(pipeline, line, size);
}

/* Make room for `size` bytes after those of the piece, plus one. */
static bool piece_need(struct pesa_pipeline *pipeline, size_t size)
{
	size_t room = pipeline->piece_room ? pipeline->piece_room : 65536;
	char *grown;

	while (room < pipeline->piece_size + size + 1)
		room *= 2;
	if (room == pipeline->piece_room)
		return true;
	grown = realloc(pipeline->piece, room);
	if (!grown) {
		pipeline_fail(pipeline, pesa_error_no_memory());
		return false;
	}
	pipeline->piece = grown;
	pipeline->piece_room = room;
	return true;
}

/* Parse all lines of the piece except the last, which may be incomplete; with `all` also the
 * last. */
static void take_lines(struct pesa_pipeline *pipeline, bool all)
{
	char *line = pipeline->piece, *end = line + pipeline->piece_size, *stop;

	while (line < end && !pipeline->error) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop && !all)
			break;
		stop = stop ? stop : end;
		if (!pipeline->skipping)
			take_line(pipeline, line, (size_t)(stop - line));
		pipeline->skipping = false;
		line = stop < end ? stop + 1 : end;
	}
	pipeline->piece_size = (size_t)(end - line);
	memmove(pipeline->piece, line, pipeline->piece_size);
	if (pipeline->piece_size > LINE_MAX_SIZE) {
		if (!pipeline->skipping) {
			pipeline->summary.lines++;
			pipeline_problem(pipeline, PESA_PIPELINE_DAMAGED, "longer than a megabyte");
		}
		pipeline->skipping = true;
		pipeline->piece_size = 0;
	}
}

#define FEED_BYTES 65536u

struct pesa_error *pesa_pipeline_feed(struct pesa_pipeline *pipeline, const void *bytes,
				      size_t size)
{
	const char *at = bytes;
	struct pesa_error *error;

	pipeline->summary.bytes += size;
	while (size && !pipeline->error) {
		size_t part = size < FEED_BYTES ? size : FEED_BYTES;

		if (!piece_need(pipeline, part))
			break;
		memcpy(pipeline->piece + pipeline->piece_size, at, part);
		pipeline->piece_size += part;
		at += part;
		size -= part;
		take_lines(pipeline, false);
	}
	error = pipeline->error;
	pipeline->error = NULL;
	return error;
}

struct pesa_error *pesa_pipeline_end(struct pesa_pipeline *pipeline)
{
	struct pesa_error *error;

	if (pipeline->piece_size)
		take_lines(pipeline, true);
	if (!pipeline->error) {
		if (pipeline->map->format == PESA_PIPELINE_KANATA)
			kanata_end(pipeline);
		else
			o3_end(pipeline);
	}
	pipeline->summary.first_cycle = pipeline->base;
	error = pipeline->error;
	pipeline->error = NULL;
	return error;
}

const struct pesa_pipeline_summary *pesa_pipeline_summary(const struct pesa_pipeline *pipeline)
{
	return &pipeline->summary;
}

struct pesa_error *pesa_pipeline_each_exact(
	struct pesa_pipeline *pipeline,
	struct pesa_error *(*emit)(void *context, const struct pesa_pipeline_exact *exact),
	void *context)
{
	return exact_store_each(&pipeline->store, emit, context);
}
