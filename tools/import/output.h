/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf.data files of an import: samples, and the exact profile.  One process, a thread for each
 * hart, the ELF files mapped where the trace has them.
 */
#ifndef TOOLS_IMPORT_OUTPUT_H
#define TOOLS_IMPORT_OUTPUT_H

#include "pesa/pipeline_trace.h"
#include "tools/import/text.h"

struct import_output {
	const struct import_text *text;
	const struct pesa_capabilities *capabilities;
	uint64_t period;	 /* 0: no samples */
	const char *name;	 /* of the program */
	const char *description; /* of the core */
	char *const *command;
	int compression;
	struct pesa_perfdata_writer *samples;  /* NULL: not wanted */
	struct pesa_perfdata_writer *exact[2]; /* likewise */
	/* set while writing */
	uint32_t harts; /* that were announced */
	uint64_t floor, round_newest, newest, count;
	uint64_t golden_weight, golden_instructions;
};

/* Create the files: `path` for the samples or, without a period, the exact profile, which `golden`
 * has in any case; NULL: not wanted. */
struct pesa_error *import_output_open(struct import_output *output, const char *path,
				      const char *golden);
/* A sample of a hart in a cycle that counts from the trace's first. */
struct pesa_error *import_output_sample(struct import_output *output, uint32_t hart, uint64_t cycle,
					const struct pesa_record *record,
					const struct pesa_branch_entry *branches,
					unsigned int count);
/* The exact profile, at the end of the trace, whose last cycle is `cycle`. */
struct pesa_error *import_output_golden(struct import_output *output,
					struct pesa_pipeline *pipeline, uint64_t cycle);
struct pesa_error *import_output_finish(struct import_output *output);
void import_output_abandon(struct import_output *output);

#endif
