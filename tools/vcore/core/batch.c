// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocates the arrays of a batch, see struct batch. */
#include <stdlib.h>

#include "tools/vcore/core/hart.h"
#include "tools/vcore/memory/memory.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/step.h"

struct pesa_error *batch_create(struct batch *batch, size_t words)
{
	size_t steps = words * RUN_INSNS;
	struct step *step = malloc((RETIREMENT_GROUP_MAX + steps) * sizeof(*step));
	struct report *report = calloc(1 + STEP_REPORTS * steps + REPORTS_AHEAD, sizeof(*report));

	batch->room = words;
	batch->step = step ? step + RETIREMENT_GROUP_MAX : NULL;
	batch->access = malloc(words * sizeof(*batch->access));
	batch->touched = malloc(RUN_LINES * words * sizeof(*batch->touched));
	batch->target = malloc(words * sizeof(*batch->target));
	batch->report = report ? report + 1 : NULL;
	return batch->step && batch->access && batch->touched && batch->target && batch->report
		       ? NULL
		       : pesa_error_no_memory();
}

void batch_free(struct batch *batch)
{
	if (batch->step)
		free(batch->step - RETIREMENT_GROUP_MAX);
	free(batch->access);
	free(batch->touched);
	free(batch->target);
	if (batch->report)
		free(batch->report - 1);
}

/* ---- Contents ------------------------------------------------------------------------------ */

static __attribute__((noinline)) void access_missing(struct memory *memory, uint64_t address,
						     uint64_t cycle, bool store)
{
	struct access unseen = {0};

	memory_translate(memory, address, cycle, &unseen);
	memory_data(memory, address, cycle, store, &unseen);
}

static inline void access_line(struct memory *memory, uint64_t address, uint64_t cycle, bool store)
{
	if (store ? !memory_store_hit(memory, address, cycle)
		  : !memory_read_hit(memory, address, cycle))
		access_missing(memory, address, cycle, store);
}

static void fetch_line(struct memory *memory, uint64_t address, uint64_t cycle)
{
	struct access unseen = {0};

	if (!memory_fetch_hit(memory, address, cycle))
		memory_fetch(memory, address, cycle, &unseen);
}

static void change_caches(struct memory *memory, const struct batch *batch, uint64_t cycle,
			  uint32_t line_shift)
{
	for (size_t i = 0; i < batch->touches; i++) {
		uint64_t word = batch->touched[i], address = word >> TRACE_ADDRESS_SHIFT;
		unsigned int shift = word >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK;
		uint64_t last = address + (1ull << shift) - 1;

		if (!(word & TRACE_ACCESS)) {
			fetch_line(memory, word >> 1 << line_shift, cycle);
			continue;
		}
		access_line(memory, address, cycle, word & TRACE_STORE);
		if (__builtin_expect(address >> line_shift != last >> line_shift, 0))
			access_line(memory, last, cycle, word & TRACE_STORE);
	}
}

static void change_predictor(struct predictor *predictor, const struct batch *batch)
{
	for (size_t i = 0; i < batch->steps; i++)
		predictor_step(predictor, batch->step[i].insn, batch->step[i].taken,
			       batch->target[i]);
}

/* ---- The pipeline -------------------------------------------------------------------------- */

void batch_run(struct hart *hart, struct batch *batch)
{
	if (batch->contents) {
		change_caches(pipeline_memory(hart->pipeline), batch, hart->quiet,
			      (uint32_t)__builtin_ctz(hart->process->core->line));
		change_predictor(hart->predictor, batch);
		return;
	}
	memory_resume(pipeline_memory(hart->pipeline), hart->turn_offset);
	batch->reports = pipeline_run(hart->pipeline, batch->step, batch->steps, batch->access,
				      batch->report);
	batch->met = hart->meeting;
}
