/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the pipeline of a hart as a Kanata log, for Konata and `pesa import`. */
#ifndef TOOLS_VCORE_CORE_PIPELINE_TRACE_H
#define TOOLS_VCORE_CORE_PIPELINE_TRACE_H

#include "tools/vcore/core/retire.h"

struct hart;
struct pipeline_trace;

/* Returns NULL if no log of this hart was requested. */
struct pipeline_trace *pipeline_trace_create(const struct hart *hart);
void pipeline_trace_step(struct pipeline_trace *trace, const struct passage *passage);
/*
 * The instruction that retired or faulted last flushed the pipeline; without further events the
 * next one would enter the reorder buffer in cycle `until`.
 */
void pipeline_trace_flush(struct pipeline_trace *trace, const struct insn *insn, uint16_t cause,
			  uint64_t until);
/* Write the remaining instructions and free the log.  NULL is allowed. */
void pipeline_trace_end(struct pipeline_trace *trace);
/* Free the log without writing. */
void pipeline_trace_free(struct pipeline_trace *trace);

#endif
