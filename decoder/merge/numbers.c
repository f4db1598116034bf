// SPDX-License-Identifier: GPL-2.0-or-later
/* Process numbers of merged recordings: see numbers.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/merge/numbers.h"
#include "decoder/base/number.h"

#define FIRST_SLOTS 64

/* ---- Sets ------------------------------------------------------------------------------------ */

/* Index of a number, or where it is to be inserted. */
static size_t place_of(const struct merge_numbers *numbers, uint32_t number)
{
	size_t place = (number * 0x9e3779b97f4a7c15ull >> 32) & (numbers->slots - 1);

	while (numbers->slot[place] && numbers->slot[place] != number)
		place = (place + 1) & (numbers->slots - 1);
	return place;
}

bool merge_numbers_has(const struct merge_numbers *numbers, uint32_t number)
{
	return numbers->slots && numbers->slot[place_of(numbers, number)] == number;
}

static bool grow(struct merge_numbers *numbers)
{
	struct merge_numbers grown = {
		.count = numbers->count,
		.slots = numbers->slots ? 2 * numbers->slots : FIRST_SLOTS,
	};

	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return false;
	for (size_t i = 0; i < numbers->slots; i++)
		if (numbers->slot[i])
			grown.slot[place_of(&grown, numbers->slot[i])] = numbers->slot[i];
	free(numbers->slot);
	*numbers = grown;
	return true;
}

bool merge_numbers_add(struct merge_numbers *numbers, uint32_t number, bool *added)
{
	size_t place;

	if (2 * numbers->count >= numbers->slots && !grow(numbers))
		return false;
	place = place_of(numbers, number);
	*added = !numbers->slot[place];
	numbers->slot[place] = number;
	numbers->count += *added;
	return true;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

uint32_t *merge_numbers_sorted(const struct merge_numbers *numbers)
{
	uint32_t *sorted = malloc((numbers->count + 1) * sizeof(*sorted));
	size_t count = 0;

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < numbers->slots; i++)
		if (numbers->slot[i])
			sorted[count++] = numbers->slot[i];
	qsort(sorted, count, sizeof(*sorted), compare_numbers);
	return sorted;
}

void merge_numbers_free(struct merge_numbers *numbers)
{
	free(numbers->slot);
	*numbers = (struct merge_numbers){0};
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static bool add_run(struct merge_runs *runs, const struct merge_run *run)
{
	if (runs->count == runs->capacity) {
		size_t capacity = runs->capacity ? 2 * runs->capacity : 8;
		void *grown = realloc(runs->run, capacity * sizeof(*runs->run));

		if (!grown)
			return false;
		runs->run = grown;
		runs->capacity = capacity;
	}
	runs->run[runs->count++] = *run;
	runs->numbers += run->count;
	return true;
}

bool merge_runs_add(struct merge_runs *runs, uint32_t from, uint32_t to)
{
	struct merge_run *last = runs->count ? &runs->run[runs->count - 1] : NULL;
	const struct merge_run run = {from, to, 1};

	if (!last || last->from + last->count != from || last->to + last->count != to)
		return add_run(runs, &run);
	last->count++;
	runs->numbers++;
	return true;
}

uint32_t merge_runs_forth(const struct merge_runs *runs, uint32_t number)
{
	size_t low = 0, high = runs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct merge_run *run = &runs->run[middle];

		if (number < run->from)
			high = middle;
		else if (number - run->from < run->count)
			return run->to + (number - run->from);
		else
			low = middle + 1;
	}
	return number;
}

uint32_t merge_runs_back(const struct merge_runs *runs, uint32_t number)
{
	size_t low = 0, high = runs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct merge_run *run = &runs->run[middle];

		if (number < run->to)
			high = middle;
		else if (number - run->to < run->count)
			return run->from + (number - run->to);
		else
			low = middle + 1;
	}
	return number;
}

void merge_runs_free(struct merge_runs *runs)
{
	free(runs->run);
	*runs = (struct merge_runs){0};
}

char *merge_runs_text(const struct merge_runs *runs)
{
	const size_t room = 3 * 10 + 3; /* numbers and separators */
	char *text = malloc(runs->count * room + 1);
	size_t length = 0;

	if (!text)
		return NULL;
	text[0] = '\0';
	for (size_t i = 0; i < runs->count; i++)
		length += sprintf(text + length, "%s%" PRIu32 ":%" PRIu32 "+%" PRIu32, i ? " " : "",
				  runs->run[i].to, runs->run[i].from, runs->run[i].count);
	return text;
}

static bool take_number(const char **text, char end, uint32_t *number)
{
	uint64_t value;

	if (!number_take(text, 10, &value) || value > UINT32_MAX || **text != end)
		return false;
	*number = (uint32_t)value;
	*text += end != '\0';
	return true;
}

bool merge_runs_parse(const char *text, struct merge_runs *runs)
{
	uint64_t from = 0, to = 0; /* lower bounds of the next run */

	while (*text) {
		bool last = !strchr(text, ' ');
		struct merge_run run;

		if (!take_number(&text, ':', &run.to) || !take_number(&text, '+', &run.from) ||
		    !take_number(&text, last ? '\0' : ' ', &run.count) || !run.count ||
		    run.from < from || run.to < to || (!last && !*text))
			return false;
		from = (uint64_t)run.from + run.count;
		to = (uint64_t)run.to + run.count;
		if (from > UINT32_MAX || to > UINT32_MAX || !add_run(runs, &run))
			return false;
	}
	return true;
}
