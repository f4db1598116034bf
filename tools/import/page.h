/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of `pesa import --html`: the pipeline of the first instructions of a trace, cycle by cycle,
 * with the state of the retire stage as a track.
 *
 * What is shown is collected while the trace is read, by the functions that struct
 * pesa_pipeline_options names.
 */
#ifndef TOOLS_IMPORT_PAGE_H
#define TOOLS_IMPORT_PAGE_H

#include "pesa/pipeline_trace.h"

#define IMPORT_PAGE_INSTRUCTIONS 100000u

struct import_page;

/* NULL: out of memory. */
struct import_page *import_page_create(void);
void import_page_free(struct import_page *page);

/* As in struct pesa_pipeline_options.  What has no memory is an error of the writing. */
void import_page_named(struct import_page *page, uint64_t pc, const char *text);
void import_page_passed(struct import_page *page, const struct pesa_pipeline_passed *passed);
void import_page_cycles(struct import_page *page, uint32_t hart, uint64_t start, uint64_t end,
			unsigned int state, uint16_t cause);

/* Write the page of a trace that was read; `trace` is its name. */
struct pesa_error *import_page_write(const struct import_page *page,
				     const struct pesa_pipeline_summary *summary,
				     const struct pesa_capabilities *capabilities,
				     const char *trace, const char *path);

#endif
