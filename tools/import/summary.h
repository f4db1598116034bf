/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the result of an import as text and as JSON (Documentation/json.md). */
#ifndef TOOLS_IMPORT_SUMMARY_H
#define TOOLS_IMPORT_SUMMARY_H

#include <stdio.h>

#include "pesa/error.h"
#include "pesa/pipeline_trace.h"
#include "tools/import/text.h"

struct import_result {
	const struct pesa_pipeline_summary *summary;
	const struct pesa_capabilities *capabilities;
	const char *map, *trace, *output;
	const char *golden; /* NULL: none was written */
	const char *damage; /* in compressed data; NULL: none */
	uint64_t period, jitter, seed;
	uint64_t golden_weight, golden_instructions;
	const struct import_text *text;
};

void import_summary_print(const struct import_result *result, FILE *out);
/* Write to a file, NULL: standard output. */
struct pesa_error *import_summary_json(const struct import_result *result, const char *path);
/* Return whether the whole trace was read and every cycle is accounted; reports what is not. */
bool import_summary_sound(const struct import_result *result);

#endif
