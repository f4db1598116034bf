// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampled recordings.
 *
 * The pipeline's cycles go on only while it runs.  Samples are placed by the clock of windows.h.
 * Where the pipeline stands still, the hart's time goes on by turn_offset, as fast as it did in the
 * last windows, so that time stamps, and the order of threads, are about those of a run without
 * sampling.
 *
 * Counts are those of the windows, each times its weight, and in the end times the ratio of the
 * instructions that were executed, which are known, to their estimate: the ratio estimator, whose
 * error is that of counts per instruction.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/guest/sampled.h"
#include "tools/vcore/core/counters.h"
#include "tools/vcore/core/pipeline.h"
#include "tools/vcore/core/process.h"
#include "tools/vcore/core/relay.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/memory/memory.h"

/* Another sequence of random numbers than that of the samples' intervals. */
#define WINDOWS_SEED 0x77696e646f7773u

struct sampled {
	struct vcore_counters before; /* the window */
	struct vcore_counters sum;    /* over the windows, each times its weight */
};

struct pesa_error *sampled_create(struct hart *hart)
{
	hart->sampling = calloc(1, sizeof(*hart->sampling));
	return hart->sampling ? NULL : pesa_error_no_memory();
}

void sampled_free(struct hart *hart)
{
	free(hart->sampling);
}

/* The first cycle of which nothing is counted yet. */
static uint64_t next_cycle(const struct hart *hart)
{
	const struct retirement *stage = &hart->retire.stage;

	return stage->count ? stage->cycle + 1 : stage->accounted;
}

static void open_window(struct hart *hart)
{
	counters_read(hart, &hart->sampling->before);
	windows_open(&hart->windows, next_cycle(hart));
	hart->retire.next_sample = windows_due(&hart->windows);
}

static void close_window(struct hart *hart)
{
	struct sampled *counts = hart->sampling;
	struct windows *windows = &hart->windows;
	struct vcore_counters now;
	uint64_t delta[VCORE_EVENT_COUNT];

	counters_read(hart, &now);
	for (unsigned int i = 0; i < VCORE_EVENT_COUNT; i++) {
		delta[i] = now.event[i] - counts->before.event[i];
		counts->sum.event[i] += delta[i] * windows->weight;
	}
	windows_close(windows, delta[VCORE_EVENT_CYCLES], delta[VCORE_EVENT_INSTRUCTIONS]);
	/* The newest cycle of the window may still have its sample before it. */
	if (hart->retire.next_sample >= next_cycle(hart))
		hart->retire.next_sample = UINT64_MAX;
	sampled_publish(hart);
}

static void stop_pipeline(struct hart *hart)
{
	memory_set_untimed(pipeline_memory(hart->pipeline), true);
	hart->quiet = pipeline_quiet(hart->pipeline);
}

static void resume_pipeline(struct hart *hart)
{
	relay_drain(hart);
	memory_set_untimed(pipeline_memory(hart->pipeline), false);
	/* What was executed meanwhile is not among the transfers. */
	hart->retire.transfer_count = 0;
	transfer_clock_reset(&hart->retire.clock, next_cycle(hart), true);
}

void sampled_begin(struct hart *hart)
{
	const struct vcore_control *control = hart->process->control;
	uint64_t first = hart->retire.next_sample - hart->retire.start;

	memset(hart->sampling, 0, sizeof(*hart->sampling));
	resume_pipeline(hart);
	windows_begin(&hart->windows, control->period, first,
		      retirement_seed(control->seed ^ WINDOWS_SEED, hart->process->lineage,
				      hart->ordinal));
	hart->retire.next_sample = UINT64_MAX;
	if (hart->windows.phase == WINDOWS_MEASURED)
		open_window(hart);
}

void sampled_pass(struct hart *hart, uint64_t words)
{
	struct windows *windows = &hart->windows;

	if (!windows->on)
		return;
	if (windows->phase == WINDOWS_CONTENTS)
		hart->turn_offset += windows_cycles_of(windows, words);
	windows->left -= words < windows->left ? words : windows->left;
	if (windows->left)
		return;
	if (windows->phase == WINDOWS_MEASURED)
		close_window(hart);
	if (windows->phase == WINDOWS_CONTENTS) {
		resume_pipeline(hart);
		pipeline_resume(hart->pipeline);
	}
	windows_next(windows);
	if (windows->phase == WINDOWS_MEASURED)
		open_window(hart);
	if (windows->phase == WINDOWS_CONTENTS)
		stop_pipeline(hart);
}

void sampled_publish(struct hart *hart)
{
	const struct window_sums *sums = &hart->windows.sums;
	const uint64_t *sum = hart->sampling->sum.event;
	struct vcore_hart_slot *slot = hart->slot;
	uint64_t executed = slot->totals.instructions + hart->retire.stage.count;

	if (!sums->instructions)
		return;
	for (unsigned int i = 0; i < VCORE_EVENT_COUNT; i++)
		slot->counters.event[i] =
			(uint64_t)((unsigned __int128)sum[i] * executed / sums->instructions);
	slot->totals.cycles = slot->counters.event[VCORE_EVENT_CYCLES];
	slot->totals.windows = *sums;
}
