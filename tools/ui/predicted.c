/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>

#include "tools/ui/predicted.h"

#define STALLED_LEAST 0.1 /* cycles an execution: less is not worth a word */

/* What it waits for while it is the oldest: its own result, if that takes as long, or an operand. */
static void reason_of(const struct pesa_deskid_instruction *instruction, char *text, size_t size)
{
	if (instruction->latency < 2 || instruction->latency < instruction->stalled / 2)
		snprintf(text, size, "an operand");
	else if (instruction->unit)
		snprintf(text, size, "%s, %u cycles", instruction->unit, instruction->latency);
	else
		snprintf(text, size, "its result, %u cycles", instruction->latency);
}

void predicted_text(const struct pesa_deskid_instruction *instruction, struct ui_text *line,
		    size_t cells)
{
	char reason[128], text[192];

	if (!instruction || isnan(instruction->stalled) || instruction->stalled < STALLED_LEAST)
		return;
	reason_of(instruction, reason, sizeof(reason));
	snprintf(text, sizeof(text), "stalls %.1f of %.1f: waits for %s", instruction->stalled,
		 instruction->stalled + instruction->retiring, reason);
	ui_text_add_cut(line, text, cells, false);
}

json_object *predicted_json(const struct pesa_deskid_instruction *instruction)
{
	json_object *object;
	char reason[128];

	if (!instruction || isnan(instruction->stalled))
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "retiring", ui_json_number(instruction->retiring));
	json_object_object_add(object, "stalled", ui_json_number(instruction->stalled));
	json_object_object_add(object, "latency", ui_json_count(instruction->latency));
	json_object_object_add(object, "unit",
			       instruction->unit ? ui_json_string(instruction->unit) : NULL);
	reason_of(instruction, reason, sizeof(reason));
	json_object_object_add(object, "waits_for",
			       instruction->stalled < STALLED_LEAST ? NULL
								    : ui_json_string(reason));
	return object;
}
