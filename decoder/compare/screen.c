/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Screening: most changes of the model explain nothing.  To see that, a few paths are enough, on
 * which all hot code is executed twice.  Only candidates that explain something on these paths are
 * tried on all of them.  See search.h.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search.h"

#define TWICE	  2
#define NEW_LEAST 0.002 /* of the core time, in code that a chosen path adds */

/* Core time of the nodes that are not on enough chosen paths. */
static double new_time(const struct compare_search *search, const struct compare_path *path,
		       const uint8_t *covered, uint8_t *seen)
{
	const struct compare_step *step = &search->compare->paths.step[path->first];
	const struct compare_node *node = search->compare->code.node;
	double sum = 0;

	for (unsigned int i = path->warm; i < path->count; i++)
		if (covered[step[i].node] < TWICE && !seen[step[i].node]) {
			seen[step[i].node] = 1;
			sum += node[step[i].node].time.core;
		}
	for (unsigned int i = path->warm; i < path->count; i++)
		seen[step[i].node] = 0;
	return sum;
}

static void choose_path(struct compare_search *search, size_t index, uint8_t *covered,
			uint8_t *seen)
{
	const struct compare_path *path = &search->compare->paths.path[index];
	const struct compare_step *step = &search->compare->paths.step[path->first];

	search->screen.path[index] = 1;
	for (unsigned int i = path->warm; i < path->count; i++) {
		search->screen.occurrences[step[i].node] += path->weight;
		if (!seen[step[i].node] && covered[step[i].node] < TWICE)
			covered[step[i].node]++;
		seen[step[i].node] = 1;
	}
	for (unsigned int i = path->warm; i < path->count; i++)
		seen[step[i].node] = 0;
}

struct pesa_error *compare_screen_choose(struct compare_search *search)
{
	size_t nodes = search->compare->code.count, paths = search->compare->paths.count;
	uint8_t *covered = calloc(nodes + 1, sizeof(*covered));
	uint8_t *seen = calloc(nodes + 1, sizeof(*seen));

	search->screen.path = calloc(paths + 1, sizeof(*search->screen.path));
	search->screen.occurrences = calloc(nodes + 1, sizeof(*search->screen.occurrences));
	if (!covered || !seen || !search->screen.path || !search->screen.occurrences) {
		free(covered);
		free(seen);
		return pesa_error_no_memory();
	}
	for (size_t i = 0; i < paths; i++)
		if (new_time(search, &search->compare->paths.path[i], covered, seen) >=
		    NEW_LEAST * search->core)
			choose_path(search, i, covered, seen);
	free(covered);
	free(seen);
	return NULL;
}

void compare_screen_free(struct compare_screen *screen)
{
	free(screen->path);
	free(screen->occurrences);
	*screen = (struct compare_screen){0};
}

struct pesa_error *compare_screen_try(struct compare_search *search,
				      struct compare_candidate *candidate, int value)
{
	struct pesa_error *error;

	search->screen.active = true;
	error = compare_try(search, candidate, value);
	search->screen.active = false;
	return error;
}
