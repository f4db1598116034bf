/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: pipeline traces and state maps.  The first byte chooses: a Kanata log, an O3PipeView
 * trace, a map.  Whatever is read, the exact profile adds up to the cycles that were accounted.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/pipeline_trace.h"
#include "pesa/riscv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char kanata_map[] =
	"name = fuzz\nformat = kanata\ndispatch = D\ncomplete = C\nretire = R\n"
	"rollback = B\nexception = label fault\nflush.until = until=\n"
	"micro-ops = 2\ncause.alloc-blocked = empty stall F\n"
	"cause.icache-miss = front label imiss\ncause.dcache-miss = stage M\n";
static const char o3_map[] = "name = fuzz\nformat = o3pipeview\ndispatch = dispatch\n"
			     "complete = complete\ncomplete.offset = 1\nretire.offset = -1\n";

/* Every fourth word is a branch, every eighth serialises, some are not there. */
static enum pesa_text_status instruction(void *context, uint64_t address,
					 struct pesa_text_insn *insn, bool *serialises)
{
	(void)context;
	if (address % 32 == 28)
		return PESA_TEXT_UNDECODABLE;
	if (address % 2 || address > 0x100000)
		return PESA_TEXT_UNMAPPED;
	insn->length = 4;
	insn->flow = address % 16 ? PESA_FLOW_NEXT : PESA_FLOW_BRANCH;
	insn->has_target = !(address % 16);
	insn->target = address + 64;
	*serialises = address % 32 == 20;
	return PESA_TEXT_OK;
}

static struct pesa_error *add(void *context, const struct pesa_pipeline_exact *exact)
{
	uint64_t *weight = context;

	for (size_t i = 0; i < exact->bucket_count; i++)
		*weight += exact->buckets[i].weight;
	return NULL;
}

static uint64_t told; /* cycles of which the callback below was told */

static void cycles(void *context __attribute__((unused)), uint32_t hart __attribute__((unused)),
		   uint64_t start, uint64_t end, unsigned int state,
		   uint16_t cause __attribute__((unused)))
{
	if (start >= end || state >= PESA_STATE_COUNT)
		abort();
	told += end - start;
}

static void passed(void *context __attribute__((unused)),
		   const struct pesa_pipeline_passed *instruction)
{
	for (unsigned int i = 0; i < instruction->entries; i++)
		if (instruction->entry[i].stage >= PESA_PIPELINE_STAGES)
			abort();
}

static void import(const struct pesa_pipeline_map *map, const uint8_t *data, size_t size)
{
	const struct pesa_pipeline_options options = {
		.map = map,
		.retire_width = 4,
		.ct_targets = 2,
		.ctr_depth = 4,
		.period = UINT64_C(1) << 24,
		.jitter = 1000,
		.instruction = instruction,
		.cycles = cycles,
		.passed = passed,
	};
	struct pesa_pipeline *pipeline;
	struct pesa_error *error = pesa_pipeline_create(&options, &pipeline);
	uint64_t weight = 0;
	size_t half = size / 2;

	told = 0;
	if (error) {
		pesa_error_free(error);
		return;
	}
	error = pesa_pipeline_feed(pipeline, data, half);
	if (!error)
		error = pesa_pipeline_feed(pipeline, data + half, size - half);
	if (!error)
		error = pesa_pipeline_end(pipeline);
	if (!error)
		error = pesa_pipeline_each_exact(pipeline, add, &weight);
	if (!error && weight != pesa_pipeline_summary(pipeline)->accounted * PESA_CYCLE)
		abort();
	if (!error && told != pesa_pipeline_summary(pipeline)->accounted)
		abort();
	pesa_error_free(error);
	pesa_pipeline_free(pipeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_capabilities capabilities;
	struct pesa_pipeline_map *map;
	struct pesa_error *error;
	const char *text;

	if (!size)
		return 0;
	pesa_capabilities_default(&capabilities);
	if (data[0] == 'm')
		error = pesa_pipeline_map_parse("input", (const char *)data + 1, size - 1, &map);
	else {
		text = data[0] == 'o' ? o3_map : kanata_map;
		error = pesa_pipeline_map_parse("map", text, strlen(text), &map);
	}
	if (error) {
		pesa_error_free(error);
		return 0;
	}
	error = pesa_pipeline_map_bind(map, &capabilities, false);
	if (!error && data[0] != 'm')
		import(map, data + 1, size - 1);
	pesa_error_free(error);
	pesa_pipeline_map_free(map);
	return 0;
}
