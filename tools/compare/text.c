// SPDX-License-Identifier: GPL-2.0-or-later
/* The selection of regions (--symbol), and instructions and findings as text. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/compare/comparison.h"
#include "tools/ui/listing.h"
#include "tools/ui/standard_output.h"

#define OPCODES_SHOWN 8 /* of a kind of evidence */

/* Append to a text of `size` bytes; truncates. */
static void add(char *buffer, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void add(char *buffer, size_t size, const char *format, ...)
{
	size_t used = strlen(buffer);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(buffer + used, size - used, format, arguments);
	va_end(arguments);
}

bool compare_wants(const struct comparison *comparison, const char *symbol)
{
	bool means = false;
	struct pesa_error *error = NULL;

	if (!comparison->wanted->symbol)
		return true;
	if (symbol)
		error = name_search_means(&comparison->search, symbol, NULL, &means);
	if (error)
		standard_output_lacks_part();
	pesa_error_free(error);
	return means;
}

void compare_text_at(const struct comparison *comparison, const struct pesa_compare_place *place,
		     char *buffer, size_t size)
{
	struct listing_row row = {.address = place->address};

	listing_decode(&comparison->input, comparison->isas, place->dso, &row);
	snprintf(buffer, size, "%s", row.text);
}

void compare_text_of(const struct comparison *comparison,
		     const struct pesa_compare_instruction *instruction, char *buffer, size_t size)
{
	const struct pesa_compare_place place = {.dso = instruction->dso,
						 .address = instruction->address};

	compare_text_at(comparison, &place, buffer, size);
}

void compare_ordering_text(const struct comparison *comparison,
			   const struct pesa_compare_ordering *ordering, char *buffer, size_t size)
{
	double all = pesa_compare_totals(comparison->compare)->cycles;
	char text[192];

	compare_text_at(comparison, &ordering->example, text, sizeof(text));
	snprintf(buffer, size, "%.1f%% of the cycles: %s and its like; %s%s",
		 all > 0 ? 100 * ordering->cycles / all : 0, text,
		 ordering->modelled ? "" : "the model has no such instruction, ",
		 ordering->drains ? "younger instructions wait for it, nothing is predicted for it"
		 : ordering->memory ? "younger loads and stores wait for it"
				    : "younger instructions do not wait for it");
}

const char *compare_waiting(enum pesa_compare_waiting waiting)
{
	static const char *const texts[] = {
		[PESA_COMPARE_WAITS_AS_CODED] = "",
		[PESA_COMPARE_WAITS] = "waits for a store",
		[PESA_COMPARE_MAY_WAIT] = "slow, or a load waits",
	};

	return texts[waiting];
}

bool compare_chosen_text(const struct comparison *comparison, char *buffer, size_t size)
{
	const struct pesa_compare_chosen *chosen =
		&pesa_compare_totals(comparison->compare)->chosen;

	*buffer = '\0';
	if (strcmp(chosen->directions, "evenly"))
		add(buffer, size, "branches go %s", chosen->directions);
	if (chosen->units_in_order)
		add(buffer, size, "%sunits that are held for long are given in program order",
		    *buffer ? "; " : "");
	if (chosen->store_sets)
		add(buffer, size, "%sloads wait for the newest store of their set",
		    *buffer ? "; " : "");
	if (chosen->waiting)
		add(buffer, size, "%s%u load%s for a store that the code does not name",
		    *buffer ? "; " : "", chosen->waiting,
		    chosen->waiting == 1 ? " waits" : "s wait");
	if (!*buffer && !chosen->perhaps)
		return false;
	if (*buffer)
		add(buffer, size, " (chosen: nearest to the measurement)");
	if (chosen->perhaps)
		add(buffer, size,
		    "%s%u instruction%s longer than predicted, or a load beside %s for a store: "
		    "both explain the measurement, neither is predicted",
		    *buffer ? "; " : "", chosen->perhaps,
		    chosen->perhaps == 1 ? " takes" : "s take",
		    chosen->perhaps == 1 ? "it waits" : "them waits");
	return true;
}

bool compare_unexplained_text(const struct comparison *comparison, char *buffer, size_t size)
{
	static const char *const reasons[PESA_COMPARE_REFUSALS] = {
		[PESA_COMPARE_UNCERTAIN] = "its effect is within the uncertainty",
		[PESA_COMPARE_TOO_SMALL] = "its effect is below 0.8% of the core time",
		[PESA_COMPARE_IN_PART] = "less than half of its effect was measured",
		[PESA_COMPARE_NOT_DIRECT] = "the instructions that it makes slower do not show it",
		[PESA_COMPARE_LEAVES_MUCH] = "it leaves most of the differences that it touches",
		[PESA_COMPARE_UNLIKELY] = "it is too large a change for what it explains",
		[PESA_COMPARE_AMBIGUOUS] = "a load that waits for a store explains as much",
		[PESA_COMPARE_NO_CANDIDATE] = "",
	};
	const struct pesa_compare_unexplained *left = pesa_compare_unexplained(comparison->compare);
	double core = pesa_compare_totals(comparison->compare)->time.core;
	int used;

	if (!left->regions)
		return false;
	used = snprintf(
		buffer, size,
		"unexplained: %u region%s with %.1f%% of the core time %s %s than predicted, by "
		"%.1f%% of the core time; ",
		left->regions, left->regions == 1 ? "" : "s", 100 * left->share,
		left->regions == 1 ? "is" : "are", left->cycles > 0 ? "slower" : "faster",
		core > 0 ? 100 * fabs(left->cycles) / core : 0);
	if (used < 0 || (size_t)used >= size)
		return true;
	if (*left->change)
		snprintf(buffer + used, size - (size_t)used,
			 "the nearest change of the model is %s, refused: %s", left->change,
			 reasons[left->refusal]);
	else
		snprintf(buffer + used, size - (size_t)used, "no change of the model explains it");
	return true;
}

void compare_finding_name(const struct pesa_compare_finding *finding, char *buffer, size_t size)
{
	char opcodes[128];
	size_t used = 0;

	/* OPCODE.latency=VALUE OPCODE.latency=VALUE ... */
	for (const char *rest = finding->change; finding->some_opcodes && rest;
	     rest = strchr(rest, ' ')) {
		rest += *rest == ' ';
		used += (size_t)snprintf(opcodes + used, sizeof(opcodes) - used, "%s%.*s",
					 used ? "," : "", (int)strcspn(rest, "."), rest);
		if (used >= sizeof(opcodes))
			break;
	}
	snprintf(buffer, size, "%s%s%s %s",
		 finding->some_opcodes	     ? opcodes
		 : finding->scheduling_class ? finding->scheduling_class
					     : "",
		 finding->scheduling_class && finding->resource ? " on " : "",
		 finding->resource ? finding->resource : "",
		 pesa_compare_change_name(finding->kind));
}

/* The opcodes of one kind of evidence. */
static void add_evidence(const struct comparison *comparison, unsigned int finding,
			 enum pesa_compare_evidence kind, char *buffer, size_t size)
{
	unsigned int count = pesa_compare_opcode_count(comparison->compare, finding), all = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_compare_opcode *opcode =
			pesa_compare_opcode(comparison->compare, finding, i);

		if (opcode->evidence != kind || all++ >= OPCODES_SHOWN)
			continue;
		if (all == 1)
			add(buffer, size, "%s%s: ", *buffer ? "; " : "",
			    pesa_compare_evidence_name(kind));
		add(buffer, size, "%s%s", all > 1 ? ", " : "", opcode->mnemonic);
		if (kind == PESA_COMPARE_CONTRADICTS)
			add(buffer, size, " (%.1f to %.1f)", opcode->estimate.low,
			    opcode->estimate.high);
	}
	if (all > OPCODES_SHOWN)
		add(buffer, size, " and %u others", all - OPCODES_SHOWN);
}

void compare_opcodes_text(const struct comparison *comparison, unsigned int finding, char *buffer,
			  size_t size)
{
	*buffer = '\0';
	for (unsigned int kind = 0; kind < PESA_COMPARE_EVIDENCES; kind++)
		add_evidence(comparison, finding, kind, buffer, size);
}
