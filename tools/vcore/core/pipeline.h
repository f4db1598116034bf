/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipeline of a hart: turns steps into reports.
 *
 * pipeline.c explains the algorithm; step.h defines steps and reports.
 */
#ifndef TOOLS_VCORE_CORE_PIPELINE_H
#define TOOLS_VCORE_CORE_PIPELINE_H

#include "pesa/error.h"
#include "daemon/vcore/channel.h"
#include "tools/vcore/core/step.h"

struct pipeline;
struct process;

struct pesa_error *pipeline_create(const struct process *process, struct vcore_counters *counters,
				   struct pipeline **pipeline);
/* The hart's private caches and TLBs. */
struct memory *pipeline_memory(struct pipeline *pipeline);
/* A cycle after everything that is on its way. */
uint64_t pipeline_quiet(const struct pipeline *pipeline);
/*
 * The pipeline goes on with instructions that do not follow those before: fetch begins when nothing
 * is on its way any more, so that no load meets a store of then.
 */
void pipeline_resume(struct pipeline *pipeline);
void pipeline_free(struct pipeline *pipeline);
/*
 * `access`: the trace words of the accesses of all steps.  Returns the number of reports, at most
 * STEP_REPORTS per step.
 */
size_t pipeline_run(struct pipeline *pipeline, const struct step *step, size_t steps,
		    const uint64_t *access, struct report *reports);

#endif
