/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdlib.h>

#include "decoder/base/intervals.h"

struct pesa_error *pesa_intervals_add(struct pesa_intervals *set, uint64_t start, uint64_t end,
				      size_t value)
{
	if (end <= start)
		return NULL;
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 32;
		struct pesa_interval *grown = realloc(set->interval, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		set->interval = grown;
		set->room = room;
	}
	set->interval[set->count++] =
		(struct pesa_interval){.start = start, .end = end, .value = value};
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const struct pesa_interval *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

/* What is added in order, as many tables are, is not sorted again. */
static bool is_sorted(const struct pesa_intervals *set)
{
	for (size_t i = 1; i < set->count; i++)
		if (compare(&set->interval[i - 1], &set->interval[i]) > 0)
			return false;
	return true;
}

void pesa_intervals_sort(struct pesa_intervals *set)
{
	uint64_t furthest = 0;

	if (!is_sorted(set))
		qsort(set->interval, set->count, sizeof(*set->interval), compare);
	for (size_t i = 0; i < set->count; i++) {
		if (set->interval[i].end > furthest)
			furthest = set->interval[i].end;
		set->interval[i].furthest = furthest;
	}
}

void pesa_intervals_merge(struct pesa_intervals *set)
{
	size_t last = 0;

	for (size_t i = 1; i < set->count; i++) {
		struct pesa_interval *merged = &set->interval[last];

		if (set->interval[i].start > merged->end) {
			set->interval[++last] = set->interval[i];
		} else if (set->interval[i].end > merged->end) {
			merged->end = set->interval[i].end;
			merged->furthest = merged->end;
		}
	}
	if (set->count)
		set->count = last + 1;
}

const struct pesa_interval *pesa_intervals_find(const struct pesa_intervals *set, uint64_t address)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->interval[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && set->interval[low].furthest > address)
		if (set->interval[low].end > address)
			return &set->interval[low];
	return NULL;
}

void pesa_intervals_free(struct pesa_intervals *set)
{
	free(set->interval);
	*set = (struct pesa_intervals){0};
}
