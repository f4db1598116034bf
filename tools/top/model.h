/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of pesa top: cycle stacks of functions, threads and processes, by interval.
 *
 * Each interval is a perf.data file.  A row has the stack of the last interval and the sum since
 * the start (or the last reset); rows without samples are kept.  The symbols of a binary are looked
 * up once and kept, because the same functions come again in each interval.
 */
#ifndef TOOLS_TOP_MODEL_H
#define TOOLS_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/capabilities.h"
#include "pesa/error.h"
#include "tools/ui/cycle_stack.h"

enum top_kind { TOP_FUNCTIONS, TOP_THREADS, TOP_PROCESSES, TOP_KINDS };

struct top_stacks {
	struct cycle_stack now, total;
};

struct top_row {
	const char *name;   /* function; name of the task */
	const char *binary; /* path; tasks: "" */
	uint32_t pid, tid;  /* tasks only */
	struct top_stacks stacks;
};

struct top_rows {
	struct top_row **row; /* unsorted */
	size_t count, room;
};

/* A number in the last interval, and its sum since the start. */
struct top_number {
	uint64_t now, total;
};

struct top_filter {
	int64_t pid, tid; /* filter for all rows; -1: all */
};

struct top_model;

/* `root`: a root directory for binaries, NULL: paths as recorded. */
struct pesa_error *top_model_create(const char *root, struct top_model **model);
void top_model_free(struct top_model *model);

/* Load an interval.  Samples that the file cannot provide are counted in `lost`. */
struct pesa_error *top_model_load(struct top_model *model, const char *path,
				  const struct top_filter *filter);
/* Clear everything but the symbols. */
void top_model_reset(struct top_model *model);

const struct top_rows *top_model_rows(const struct top_model *model, enum top_kind kind);
/* The stacks of all samples that passed the filter, including those without a function. */
const struct top_stacks *top_model_whole(const struct top_model *model);
const struct pesa_capabilities *top_model_capabilities(const struct top_model *model);
/* "": no interval was loaded yet. */
const char *top_model_event(const struct top_model *model);
bool top_model_plain(const struct top_model *model); /* samples have no cycle stacks */
/* What weights are. */
enum top_unit { TOP_CYCLES, TOP_TIME, TOP_OTHER };
enum top_unit top_model_unit(const struct top_model *model);
struct top_number top_model_samples(const struct top_model *model);
struct top_number top_model_lost(const struct top_model *model);
struct top_number top_model_unattributed(const struct top_model *model); /* weight */

#endif
