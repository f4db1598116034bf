/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf.data files of an import: samples and the exact profile, for one process with a thread
 * per hart and with the ELF files mapped at their addresses in the trace.
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
	uint32_t harts; /* harts that were announced */
	uint64_t floor, round_newest, newest, count;
	uint64_t golden_weight, golden_instructions;
};

/*
 * Create the files: `path` for the samples or, without a period, for the exact profile; `golden`
 * always for the exact profile; NULL: none.
 */
struct pesa_error *import_output_open(struct import_output *output, const char *path,
				      const char *golden);
/* Write a sample of a hart; cycles are counted from the start of the trace. */
struct pesa_error *import_output_sample(struct import_output *output, uint32_t hart, uint64_t cycle,
					const struct pesa_record *record,
					const struct pesa_branch_entry *branches,
					unsigned int count);
/* Write the exact profile at the end of the trace, whose last cycle is `cycle`. */
struct pesa_error *import_output_golden(struct import_output *output,
					struct pesa_pipeline *pipeline, uint64_t cycle);
struct pesa_error *import_output_finish(struct import_output *output);
void import_output_abandon(struct import_output *output);

#endif
