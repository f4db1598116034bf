// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a comparison is wanted, and its instructions as text. */
#include <string.h>

#include "tools/compare/comparison.h"
#include "tools/ui/listing.h"

bool compare_wants(const struct comparison *comparison, const struct pesa_compare_region *region)
{
	const char *wanted = comparison->wanted->symbol;

	return !wanted || (region->symbol && !strcmp(region->symbol, wanted));
}

void compare_text_of(const struct comparison *comparison,
		     const struct pesa_compare_instruction *instruction, char *buffer, size_t size)
{
	struct listing_row row = {.address = instruction->address};
	struct listing_isas *isas = comparison->isas;

	listing_decode(&comparison->input, isas, instruction->dso, &row);
	snprintf(buffer, size, "%s", row.text);
}
