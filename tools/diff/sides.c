// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/diff/sides.h"
#include "tools/ui/cycle_stack.h"

/* Retirements of all instructions: as counted, of the whole run; otherwise those that samples tell.
 */
double instructions_of(const struct profile_input *input)
{
	bool whole = input->options->pid < 0 && input->options->tid < 0;
	double sum = 0;
	size_t count;
	const struct pesa_count *counts = pesa_profile_counts(input->profile, &count);

	for (size_t i = 0; whole && i < count; i++)
		if (!strcmp(counts[i].event, "INST.RET"))
			return (double)counts[i].value;
	for (size_t i = 0; i < pesa_profile_instruction_count(input->profile); i++)
		sum += (double)pesa_profile_instruction(input->profile, i)->executions;
	return sum;
}

double all_cycles(const struct profile_input *input)
{
	return cycles_of(pesa_profile_totals(input->profile)->weight);
}

/* Notes on what makes the two hard to compare. */
void diff_each_note(const struct profile_input input[DIFF_SIDES], const struct diff_rows *rows,
		    void (*emit)(void *context, const char *note), void *context)
{
	const struct pesa_profile_totals *old = pesa_profile_totals(input[DIFF_OLD].profile);
	const struct pesa_profile_totals *new = pesa_profile_totals(input[DIFF_NEW].profile);
	const char *core[DIFF_SIDES] = {pesa_profile_capabilities(input[DIFF_OLD].profile)->core,
					pesa_profile_capabilities(input[DIFF_NEW].profile)->core};
	double work_old = instructions_of(&input[DIFF_OLD]),
	       work_new = instructions_of(&input[DIFF_NEW]);
	char note[512];

	if (strcmp(core[DIFF_OLD], core[DIFF_NEW])) {
		snprintf(note, sizeof(note), "cores differ: %s and %s",
			 *core[DIFF_OLD] ? core[DIFF_OLD] : "unknown",
			 *core[DIFF_NEW] ? core[DIFF_NEW] : "unknown");
		emit(context, note);
	}
	if (!old->exact && !new->exact && fabs(old->period - new->period) > 0.5) {
		snprintf(note, sizeof(note),
			 "periods differ, %.0f and %.0f: cycles are of the whole run either way, "
			 "intervals are wider where the period is longer",
			 old->period, new->period);
		emit(context, note);
	}
	if (old->skidding_samples || new->skidding_samples)
		emit(context, "PC is skidding: not exact; differences between instructions that "
			      "are near to each other mean nothing");
	if (input[DIFF_OLD].plain || input[DIFF_NEW].plain)
		emit(context,
		     "samples without details: by their PC alone; no executions, no cycles per execution");
	else if (work_old > 0 && fabs(work_new / work_old - 1) > 0.05) {
		snprintf(
			note, sizeof(note),
			"%.2f times as many instructions retired: if that is another input, and no "
			"other code, compare cycles per execution, or --shares",
			work_new / work_old);
		emit(context, note);
	}
	if (rows->scale != 1) {
		snprintf(note, sizeof(note),
			 "shares are compared: cycles of NEW are multiplied by %.4f", rows->scale);
		emit(context, note);
	}
}
