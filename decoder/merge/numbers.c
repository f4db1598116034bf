// SPDX-License-Identifier: GPL-2.0-or-later
/* Process numbers of merged recordings: see numbers.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/merge/numbers.h"
#include "decoder/base/number.h"

/* ---- Sets ------------------------------------------------------------------------------------ */

/* Index of a number; HASH_INDEX_NONE: it is not in the set. */
static uint32_t find(const struct merge_numbers *numbers, uint32_t number, uint32_t hash)
{
	uint32_t item;

	for (uint32_t at = hash; (item = hash_index_next(&numbers->index, &at)) != HASH_INDEX_NONE;)
		if (numbers->number[item] == number)
			break;
	return item;
}

bool merge_numbers_has(const struct merge_numbers *numbers, uint32_t number)
{
	return find(numbers, number, hash_numbers(number, 0)) != HASH_INDEX_NONE;
}

struct pesa_error *merge_numbers_add(struct merge_numbers *numbers, uint32_t number, bool *added)
{
	uint32_t hash = hash_numbers(number, 0);
	struct pesa_error *error;

	*added = find(numbers, number, hash) == HASH_INDEX_NONE;
	if (!*added)
		return NULL;
	error = hash_index_reserve(&numbers->index);
	if (error)
		return error;
	if (numbers->room < numbers->index.room) {
		uint32_t *grown =
			realloc(numbers->number, numbers->index.room * sizeof(*numbers->number));

		if (!grown)
			return pesa_error_no_memory();
		numbers->number = grown;
		numbers->room = numbers->index.room;
	}
	numbers->number[numbers->index.count] = number;
	hash_index_add(&numbers->index, hash);
	return NULL;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

uint32_t *merge_numbers_sorted(const struct merge_numbers *numbers)
{
	uint32_t count = numbers->index.count;
	uint32_t *sorted = malloc((count + 1u) * sizeof(*sorted));

	if (!sorted)
		return NULL;
	if (count)
		memcpy(sorted, numbers->number, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_numbers);
	return sorted;
}

void merge_numbers_free(struct merge_numbers *numbers)
{
	free(numbers->number);
	hash_index_free(&numbers->index);
	*numbers = (struct merge_numbers){0};
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct pesa_error *add_run(struct merge_runs *runs, const struct merge_run *run)
{
	if (runs->count == runs->capacity) {
		size_t capacity = runs->capacity ? 2 * runs->capacity : 8;
		void *grown = realloc(runs->run, capacity * sizeof(*runs->run));

		if (!grown)
			return pesa_error_no_memory();
		runs->run = grown;
		runs->capacity = capacity;
	}
	runs->run[runs->count++] = *run;
	runs->numbers += run->count;
	return NULL;
}

struct pesa_error *merge_runs_add(struct merge_runs *runs, uint32_t from, uint32_t to)
{
	struct merge_run *last = runs->count ? &runs->run[runs->count - 1] : NULL;
	const struct merge_run run = {from, to, 1};

	if (!last || last->from + last->count != from || last->to + last->count != to)
		return add_run(runs, &run);
	last->count++;
	runs->numbers++;
	return NULL;
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

/* Take "TO:FROM+COUNT", which a blank follows except at the end of the text, and whose numbers are
 * not below these bounds. */
static bool take_run(const char **text, uint64_t from, uint64_t to, struct merge_run *run)
{
	bool last = !strchr(*text, ' ');

	return take_number(text, ':', &run->to) && take_number(text, '+', &run->from) &&
	       take_number(text, last ? '\0' : ' ', &run->count) && run->count &&
	       run->from >= from && run->to >= to && (last || **text) &&
	       (uint64_t)run->from + run->count <= UINT32_MAX &&
	       (uint64_t)run->to + run->count <= UINT32_MAX;
}

struct pesa_error *merge_runs_parse(const char *text, struct merge_runs *runs)
{
	uint64_t from = 0, to = 0; /* lower bounds of the next run */

	while (*text) {
		struct pesa_error *error;
		struct merge_run run;

		if (!take_run(&text, from, to, &run))
			return pesa_error_create(PESA_ERROR_FORMAT, "no run of numbers: %.40s",
						 text);
		error = add_run(runs, &run);
		if (error)
			return error;
		from = (uint64_t)run.from + run.count;
		to = (uint64_t)run.to + run.count;
	}
	return NULL;
}
