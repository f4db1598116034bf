/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reasons: what the instructions of a profile waited for, and what would be won (pesa/why.h), for
 * the subcommands that show it.
 */
#ifndef TOOLS_WHY_WAITS_H
#define TOOLS_WHY_WAITS_H

#include <json-c/json.h>

#include "pesa/why.h"
#include "tools/compare/comparison.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

struct reasons {
	struct compare_options wanted;
	struct comparison comparison; /* without findings */
	struct pesa_why *why;
};

/* Changes that are tried where nobody asks for another number. */
#define REASONS_GAINS 10

/*
 * Find the reasons of a profile.  `cpu`: the processor whose model is used; NULL: the one that the
 * recording names.  `input` and `isas` must exist until reasons_close(), which is needed after an
 * error too.  PESA_ERROR_ARGUMENT: no model is known, PESA_ERROR_NOT_FOUND: nothing to predict.
 */
struct pesa_error *reasons_open(struct reasons *reasons, const struct profile_input *input,
				struct listing_isas *isas, const char *cpu);
void reasons_close(struct reasons *reasons);
/*
 * The same for those that show reasons where there are some: *found is false, without an error, if the
 * recording has no cycle stacks, names no processor model or has nothing to predict.  Then *lacking is
 * what is missing, which the caller frees with pesa_error_free(), or NULL where nothing has to be said.
 */
struct pesa_error *reasons_find(struct reasons *reasons, const struct profile_input *input,
				struct listing_isas *isas, bool *found,
				struct pesa_error **lacking);

/* What an instruction waited for, as one line each: the causes with at least `least` of its stall. */
void reasons_print(const struct reasons *reasons, const struct ui_terminal *terminal,
		   const struct pesa_why_wait *wait, double least, unsigned int indent);
/* One cause as text: "18% of it: t0 of `lbu a6, 0(a0)` at 2650, which missed L1D in 31 %". */
void reasons_text(const struct reasons *reasons, const struct pesa_why_wait *wait,
		  const struct pesa_why_cause *cause, bool utf8, struct ui_text *line);
/* {"cycles", "predicted", "causes": [...]}; NULL, JSON's null, if it never stalled. */
json_object *reasons_json(const struct reasons *reasons, uint32_t dso, uint64_t address);

/* What would be won (pesa_why_estimate_gains() first): a table, and an array of JSON. */
void reasons_print_gains(const struct reasons *reasons, const struct ui_terminal *terminal);
/* One of them as text: "if `lbu a6, 0(a0)` at 2650 hit: 3.10% (1.20% to 5.00%) of all cycles saved". */
void reasons_gain_text(const struct reasons *reasons, const struct pesa_why_gain *gain, bool utf8,
		       struct ui_text *line);
json_object *reasons_gains_json(const struct reasons *reasons);

#endif
