// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches functions of which one has no symbol by their code: see match.h. */
#include <stdlib.h>
#include <string.h>

#include "tools/diff/match.h"

/* A function that matched no other by name. */
struct unmatched {
	struct pesa_digest code;
	uint64_t address;
	size_t index; /* of its group */
	bool unnamed, matched;
};

struct side {
	struct unmatched *function;
	size_t count;
};

static int compare_code(const struct unmatched *a, const struct unmatched *b)
{
	return memcmp(&a->code, &b->code, sizeof(a->code));
}

static int by_code(const void *left, const void *right)
{
	const struct unmatched *a = left, *b = right;
	int order = compare_code(a, b);

	return order ? order : a->address < b->address ? -1 : a->address > b->address;
}

/* Add a function, if it has code. */
static struct pesa_error *add_unmatched(const struct profile_group *group, unsigned int number,
					size_t index, diff_list *list, void *context,
					struct side *side)
{
	struct diff_code code = {0};
	struct unmatched function = {.address = group->symbol ? group->symbol->start : 0,
				     .index = index,
				     .unnamed = diff_is_unnamed(group)};
	struct pesa_error *error = list(context, number, group, &code);
	bool has_code = !error && code.listing.disassembled && code.listing.count;

	if (has_code)
		error = diff_code_digest(&code, &function.code);
	listing_free(&code.listing);
	if (has_code && !error)
		side->function[side->count++] = function;
	return error;
}

/* The functions that are not taken and have code, sorted by code and address. */
static struct pesa_error *list_unmatched(const struct profile_groups *groups, unsigned int number,
					 const bool *taken, diff_list *list, void *context,
					 struct side *side)
{
	struct pesa_error *error = NULL;

	side->function = calloc(groups->count + 1, sizeof(*side->function));
	if (!side->function)
		return pesa_error_no_memory();
	for (size_t i = 0; i < groups->count && !error; i++)
		if (!taken[i])
			error = add_unmatched(&groups->group[i], number, i, list, context, side);
	if (!error && side->count)
		qsort(side->function, side->count, sizeof(*side->function), by_code);
	return error;
}

/* Functions of one code. */
struct alike {
	struct unmatched *function;
	size_t count, left; /* left: without a match */
};

static struct alike alike_from(const struct side *side, size_t first)
{
	struct alike alike = {.function = &side->function[first], .count = 1};

	while (first + alike.count < side->count &&
	       !compare_code(alike.function, &side->function[first + alike.count]))
		alike.count++;
	alike.left = alike.count;
	return alike;
}

static void match(struct unmatched *a, struct alike *left, struct unmatched *b, struct alike *right,
		  size_t *partner)
{
	a->matched = b->matched = true;
	left->left--;
	right->left--;
	if (a->unnamed || b->unnamed)
		partner[a->index] = b->index;
}

/* Static functions of headers have one code in many places: those at one address are the same, and if as
 * many are left on both sides, those in the same order. */
static void match_alike(struct alike left, struct alike right, size_t *partner)
{
	for (size_t i = 0, j = 0; i < left.count && j < right.count;) {
		struct unmatched *a = &left.function[i], *b = &right.function[j];

		if (a->address == b->address)
			match(a, &left, b, &right, partner);
		i += a->address <= b->address;
		j += b->address <= a->address;
	}
	if (left.left != right.left)
		return;
	for (size_t i = 0, j = 0; left.left; i++) {
		if (left.function[i].matched)
			continue;
		while (right.function[j].matched)
			j++;
		match(&left.function[i], &left, &right.function[j], &right, partner);
	}
}

static void match_sides(const struct side *left, const struct side *right, size_t *partner)
{
	for (size_t i = 0, j = 0; i < left->count && j < right->count;) {
		struct alike a = alike_from(left, i), b = alike_from(right, j);
		int order = compare_code(a.function, b.function);

		if (!order)
			match_alike(a, b, partner);
		i += order <= 0 ? a.count : 0;
		j += order >= 0 ? b.count : 0;
	}
}

struct pesa_error *diff_match_code(const struct profile_groups *left,
				   const struct profile_groups *right, diff_list *list,
				   void *context, size_t *partner)
{
	bool *left_taken, *right_taken;
	struct side sides[2] = {{0}};
	struct pesa_error *error;

	if (!diff_any_unnamed(left) && !diff_any_unnamed(right))
		return NULL;
	left_taken = calloc(left->count + 1, sizeof(*left_taken));
	right_taken = calloc(right->count + 1, sizeof(*right_taken));
	error = left_taken && right_taken ? NULL : pesa_error_no_memory();
	for (size_t i = 0; i < left->count && !error; i++)
		if (partner[i] != DIFF_NONE)
			left_taken[i] = right_taken[partner[i]] = true;
	if (!error)
		error = list_unmatched(left, 0, left_taken, list, context, &sides[0]);
	if (!error)
		error = list_unmatched(right, 1, right_taken, list, context, &sides[1]);
	if (!error)
		match_sides(&sides[0], &sides[1], partner);
	free(sides[0].function);
	free(sides[1].function);
	free(left_taken);
	free(right_taken);
	return error;
}
