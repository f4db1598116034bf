/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processor model predicts of an instruction, beside the cycles of a plain sample: how many
 * an execution retires and stalls, and what it waits for.
 */
#ifndef TOOLS_UI_PREDICTED_H
#define TOOLS_UI_PREDICTED_H

#include "pesa/deskid.h"
#include "tools/ui/json.h"
#include "tools/ui/text.h"

/* "stalls 28.1 of 28.3: waits for IDiv"; nothing if it is on no path.  `cells`: at most so wide. */
void predicted_text(const struct pesa_deskid_instruction *instruction, struct ui_text *line,
		    size_t cells);
/* An object, or NULL. */
json_object *predicted_json(const struct pesa_deskid_instruction *instruction);

#endif
