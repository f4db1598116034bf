/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa script: what its two output formats share. */
#ifndef TOOLS_SCRIPT_SCRIPT_H
#define TOOLS_SCRIPT_SCRIPT_H

#include <json-c/json.h>

#include "pesa/record.h"
#include "pesa/walk.h"
#include "tools/script/lines.h"
#include "tools/script/resolve.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/text.h"

#define CAUSE_TEXT_MAX 256

struct script_options {
	struct profile_input_options input;
	bool show_events;
};

/* The data of a sample, for both output formats. */
struct script_sample {
	const struct pesa_event *event;
	const char *event_name;
	struct script_place place;
	struct script_place target[2]; /* of the transfers whose targets were recorded */
	bool kernel;
	bool has_record, has_exact, has_details;
	bool exact_pc; /* of a sample without details */
	struct pesa_record record;
	struct pesa_details details;
	struct pesa_error *unreadable; /* why the raw record is invalid; NULL: valid or absent */
	uint64_t pc;
	uint64_t samples, period; /* of a counted record: how many, and the sum of their periods */
};

struct script {
	const struct script_options *wanted;
	struct pesa_perfdata *reader;
	struct script_resolver *resolver;
	struct pesa_capabilities standard; /* used if the file has none */
	struct ui_terminal terminal;
	struct ui_text line;
	struct script_lines lines; /* what equal samples share, from the name of the event on */
	struct {
		struct ui_text text; /* empty: none */
		uint32_t pid, tid, cpu;
	} head; /* of the last sample: up to its time */
	uint64_t samples, unreadable;
	bool counted; /* samples come from a database, which has each distinct one with its count */
};

static inline const struct pesa_capabilities *capabilities_of(const struct script *script)
{
	const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(script->reader);

	return capabilities ? capabilities : &script->standard;
}

/* ---- json.c: an object a line ---------------------------------------------------------------- */

/* Print a sample. */
void script_print_json(struct script *script, const struct script_sample *shown);
/* An object with what all records have; it is printed, and freed, by script_print_object(). */
json_object *script_head_json(const struct script *script, const struct pesa_event *event,
			      const char *type, uint32_t pid, uint32_t tid);
void script_print_object(struct script *script, json_object *object);

#endif
