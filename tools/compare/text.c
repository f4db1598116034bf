// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a comparison is wanted, and its instructions as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/compare/comparison.h"
#include "tools/ui/listing.h"

bool compare_wants(const struct comparison *comparison, const struct pesa_compare_region *region)
{
	const char *wanted = comparison->wanted->symbol;

	return !wanted || (region->symbol && !strcmp(region->symbol, wanted));
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
				  : "younger instructions do not wait for it");
}

bool compare_unexplained_text(const struct comparison *comparison, char *buffer, size_t size)
{
	static const char *const reasons[PESA_COMPARE_REFUSALS] = {
		[PESA_COMPARE_UNCERTAIN] = "its effect is within the uncertainty",
		[PESA_COMPARE_TOO_SMALL] = "its effect is below 0.4% of the core time",
		[PESA_COMPARE_IN_PART] = "less than half of its effect was measured",
		[PESA_COMPARE_NOT_DIRECT] = "the instructions that it makes slower do not show it",
		[PESA_COMPARE_LEAVES_MUCH] = "it leaves most of the differences that it touches",
		[PESA_COMPARE_UNLIKELY] = "it is too large a change for what it explains",
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
