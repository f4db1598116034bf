// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocates the arrays of a batch, see struct batch. */
#include <stdlib.h>

#include "tools/vcore/core/hart.h"
#include "tools/vcore/memory/memory.h"
#include "tools/vcore/core/step.h"

struct pesa_error *batch_create(struct batch *batch, size_t words)
{
	size_t steps = words * RUN_INSNS;
	struct step *step = malloc((RETIREMENT_GROUP_MAX + steps) * sizeof(*step));
	struct report *report = calloc(1 + STEP_REPORTS * steps + REPORTS_AHEAD, sizeof(*report));

	batch->room = words;
	batch->step = step ? step + RETIREMENT_GROUP_MAX : NULL;
	batch->access = malloc(words * sizeof(*batch->access));
	batch->report = report ? report + 1 : NULL;
	return batch->step && batch->access && batch->report ? NULL : pesa_error_no_memory();
}

void batch_free(struct batch *batch)
{
	if (batch->step)
		free(batch->step - RETIREMENT_GROUP_MAX);
	free(batch->access);
	if (batch->report)
		free(batch->report - 1);
}

static void teach(struct predictor *predictor, const struct batch *batch)
{
	const struct step *step = batch->step, *end = step + batch->steps;

	for (const uint64_t *target = batch->access; step < end; step++, target++)
		predictor_step(predictor, step->insn, step->taken, *target);
}

void batch_run(struct hart *hart, struct batch *batch)
{
	if (batch->transfers) {
		teach(hart->predictor, batch);
		return;
	}
	memory_resume(pipeline_memory(hart->pipeline), hart->turn_offset);
	batch->reports = pipeline_run(hart->pipeline, batch->step, batch->steps, batch->access,
				      batch->report);
	batch->met = hart->meeting;
}
