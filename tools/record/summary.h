/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pesa record says of a run on the virtual core, when it is over. */
#ifndef TOOLS_RECORD_SUMMARY_H
#define TOOLS_RECORD_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/record/virtual_core.h"

/* What was asked for. */
struct record_run {
	const char *output; /* the recording */
	const char *golden; /* the golden reference; NULL: none */
	const char *json;   /* the file for JSON */
	uint64_t period, jitter, seed;
	bool has_period; /* the user chose it, or the frequency */
	bool sampled;	 /* only windows went through the pipeline */
};

/* One line on standard error.  `whole`: the recording is complete. */
void record_print_summary(const struct record_run *run, const struct pesa_vcore_summary *summary,
			  bool whole);
/* Programs that are tried first run for so short that the default period, or one by the time, takes few
 * samples: name a better one. */
void record_hint_period(const struct record_run *run, const struct pesa_vcore_summary *summary,
			const struct pesa_core *core);
/* `status`: the exit status of the program. */
struct pesa_error *record_write_json(const struct record_run *run, const struct pesa_core *core,
				     const struct pesa_vcore_summary *summary, int status);

#endif
