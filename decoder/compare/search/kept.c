/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found before a search that may lead astray, and what is likelier than that.  See search.h. */
#include "decoder/compare/search/search.h"

struct pesa_error *compare_keep(struct compare_search *search, struct compare_kept *kept)
{
	*kept = (struct compare_kept){.score = compare_score(search), .lacking = search->lacking};
	return compare_state_keep(search, &kept->state);
}

struct pesa_error *compare_keep_if_likelier(struct compare_search *search,
					    struct compare_kept *best, bool *likelier)
{
	struct compare_kept next;
	struct pesa_error *error;

	*likelier = compare_score(search) > best->score + COMPARE_LIKELIER;
	if (!*likelier)
		return NULL;
	error = compare_keep(search, &next);
	compare_state_free(best->state);
	*best = next;
	return error;
}
