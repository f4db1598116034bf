/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline of a hart as a Kanata log. */
#ifndef TOOLS_VCORE_CORE_PIPELINE_TRACE_H
#define TOOLS_VCORE_CORE_PIPELINE_TRACE_H

#include "tools/vcore/core/retire.h"

struct hart;
struct pipeline_trace;

/* NULL: none is wanted of this hart. */
struct pipeline_trace *pipeline_trace_create(const struct hart *hart);
void pipeline_trace_step(struct pipeline_trace *trace, const struct passage *passage);
/* The instruction that retired or faulted last emptied the pipeline; without further events the
 * next one would enter the reorder buffer in cycle `until`. */
void pipeline_trace_flush(struct pipeline_trace *trace, const struct insn *insn, uint16_t cause,
			  uint64_t until);
/* Write the rest, and free it.  NULL is allowed. */
void pipeline_trace_end(struct pipeline_trace *trace);
/* Free it without another word. */
void pipeline_trace_free(struct pipeline_trace *trace);

#endif
