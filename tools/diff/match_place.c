// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches functions without symbols whose code has changed by their place: see match.h. */
#include <stdlib.h>
#include <string.h>

#include "tools/diff/match.h"

/* Functions are one if so much of the longer one's instructions has a counterpart. */
#define ALIKE_LEAST (2.0 / 3)
#define AHEAD_MOST  16 /* so many functions in a row may be new */

/* Functions of a side in the order of their places: by binary and address. */
struct place {
	uint32_t dso;
	uint64_t address;
	size_t index; /* of its group */
};

struct order {
	const struct profile_groups *groups;
	struct place *place;
	size_t *rank; /* of each group, in place[]; DIFF_NONE: it has no symbol */
	bool *taken;  /* of each group */
	size_t count;
};

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static struct pesa_error *order_groups(const struct profile_groups *groups, struct order *order)
{
	*order = (struct order){
		.groups = groups,
		.place = calloc(groups->count + 1, sizeof(*order->place)),
		.rank = calloc(groups->count + 1, sizeof(*order->rank)),
		.taken = calloc(groups->count + 1, sizeof(*order->taken)),
	};
	if (!order->place || !order->rank || !order->taken)
		return pesa_error_no_memory();
	for (size_t i = 0; i < groups->count; i++) {
		const struct profile_group *group = &groups->group[i];

		order->rank[i] = DIFF_NONE;
		if (group->symbol)
			order->place[order->count++] =
				(struct place){group->dso, group->symbol->start, i};
	}
	if (order->count)
		qsort(order->place, order->count, sizeof(*order->place), by_place);
	for (size_t i = 0; i < order->count; i++)
		order->rank[order->place[i].index] = i;
	return NULL;
}

static void free_order(struct order *order)
{
	free(order->place);
	free(order->rank);
	free(order->taken);
}

struct matching {
	struct order side[2];
	size_t *partner;
	diff_list *list;
	void *context;
};

/* Whether most instructions of two functions have a counterpart in the other one. */
static struct pesa_error *compare(const struct matching *matching, const struct profile_group *left,
				  const struct profile_group *right, bool *alike)
{
	struct diff_code code[2] = {{0}};
	struct pesa_error *error = matching->list(matching->context, 0, left, &code[0]);
	size_t *partner = NULL, count[2], both = 0;

	*alike = false;
	if (!error)
		error = matching->list(matching->context, 1, right, &code[1]);
	count[0] = code[0].listing.count;
	count[1] = code[1].listing.count;
	if (!error && code[0].listing.disassembled && code[1].listing.disassembled && count[0] &&
	    count[1] && (double)count[0] >= ALIKE_LEAST * (double)count[1] &&
	    (double)count[1] >= ALIKE_LEAST * (double)count[0]) {
		partner = calloc(count[0] + 1, sizeof(*partner));
		error = partner ? diff_match_instructions(&code[0], &code[1], partner)
				: pesa_error_no_memory();
		for (size_t i = 0; !error && i < count[0]; i++)
			both += partner[i] != DIFF_NONE;
		*alike = !error &&
			 (double)both >=
				 ALIKE_LEAST * (double)(count[0] > count[1] ? count[0] : count[1]);
	}
	free(partner);
	listing_free(&code[0].listing);
	listing_free(&code[1].listing);
	return error;
}

/* Places of the right side [*begin, *end) that are between the counterparts of the neighbours of the left
 * places [first, last).  false: there are none. */
static bool find_gap(const struct matching *matching, size_t first, size_t last, size_t *begin,
		     size_t *end)
{
	const struct order *left = &matching->side[0], *right = &matching->side[1];
	const uint32_t dso = left->place[first].dso;
	const bool has_before = first && left->place[first - 1].dso == dso;
	const bool has_after = last < left->count && left->place[last].dso == dso;
	size_t before = DIFF_NONE, after = DIFF_NONE;

	if (has_before)
		before = right->rank[matching->partner[left->place[first - 1].index]];
	if (has_after)
		after = right->rank[matching->partner[left->place[last].index]];
	if ((has_before && before == DIFF_NONE) || (has_after && after == DIFF_NONE) ||
	    (before == DIFF_NONE && after == DIFF_NONE))
		return false;
	if (before == DIFF_NONE) /* up to the beginning of the binary */
		for (*begin = *end = after;
		     *begin && right->place[*begin - 1].dso == right->place[after].dso;)
			--*begin;
	else if (after == DIFF_NONE)
		for (*begin = *end = before + 1;
		     *end < right->count && right->place[*end].dso == right->place[before].dso;)
			++*end;
	else
		*begin = before + 1, *end = after;
	return *begin < *end && (before == DIFF_NONE || after == DIFF_NONE ||
				 right->place[before].dso == right->place[after].dso);
}

/* Match the left places [first, last), which have no counterpart. */
static struct pesa_error *match_gap(struct matching *matching, size_t first, size_t last)
{
	struct order *left = &matching->side[0], *right = &matching->side[1];
	struct pesa_error *error = NULL;
	size_t next, end;

	if (!find_gap(matching, first, last, &next, &end))
		return NULL;
	for (size_t i = first; i < last && !error; i++) {
		const size_t one = left->place[i].index;
		bool alike = false;

		for (size_t j = next; j < end && j - next < AHEAD_MOST && !alike && !error; j++) {
			const size_t other = right->place[j].index;
			const struct profile_group *a = &left->groups->group[one];
			const struct profile_group *b = &right->groups->group[other];

			if (right->taken[other] || (!diff_is_unnamed(a) && !diff_is_unnamed(b)))
				continue;
			error = compare(matching, a, b, &alike);
			if (!alike)
				continue;
			matching->partner[one] = other;
			right->taken[other] = true;
			next = j + 1;
		}
	}
	return error;
}

static struct pesa_error *match_gaps(struct matching *matching)
{
	const struct order *left = &matching->side[0];
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < left->count && !error;) {
		size_t last = i;

		while (last < left->count && left->place[last].dso == left->place[i].dso &&
		       matching->partner[left->place[last].index] == DIFF_NONE)
			last++;
		if (last > i)
			error = match_gap(matching, i, last);
		i = last + (last == i);
	}
	return error;
}

struct pesa_error *diff_match_places(const struct profile_groups *left,
				     const struct profile_groups *right, diff_list *list,
				     void *context, size_t *partner)
{
	struct matching matching = {.partner = partner, .list = list, .context = context};
	struct pesa_error *error;

	if (!diff_any_unnamed(left) && !diff_any_unnamed(right))
		return NULL;
	error = order_groups(left, &matching.side[0]);
	if (!error)
		error = order_groups(right, &matching.side[1]);
	for (size_t i = 0; i < left->count && !error; i++)
		if (partner[i] != DIFF_NONE)
			matching.side[1].taken[partner[i]] = true;
	if (!error)
		error = match_gaps(&matching);
	free_order(&matching.side[0]);
	free_order(&matching.side[1]);
	return error;
}
