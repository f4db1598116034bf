// SPDX-License-Identifier: GPL-2.0-or-later
/* See match.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/base/sequence.h"
#include "tools/diff/match.h"

bool diff_same_build(const struct pesa_dso *left, const struct pesa_dso *right)
{
	return left->build_id_size && left->build_id_size == right->build_id_size &&
	       !memcmp(left->build_id, right->build_id, left->build_id_size);
}

bool diff_is_unnamed(const struct profile_group *group)
{
	return group->symbol && !group->symbol->linkage_name;
}

bool diff_any_unnamed(const struct profile_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		if (diff_is_unnamed(&groups->group[i]))
			return true;
	return false;
}

/* ---- Functions ----------------------------------------------------------------------------- */

static const char *name_of(const struct profile_group *group)
{
	if (!group->symbol)
		return "[unknown]";
	return group->symbol->linkage_name ? group->symbol->linkage_name : group->symbol->name;
}

/* A function to be matched. */
struct candidate {
	const char *file, *name; /* file: base name of the binary */
	uint64_t start;
	size_t index; /* of its group */
};

static int by_name(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (!order)
		order = strcmp(a->file, b->file);
	if (!order && a->start != b->start)
		order = a->start < b->start ? -1 : 1;
	return order;
}

/* Whether the name of a group's function is one in the other profile.  A function without a symbol is
 * named by its address, which is another one in another build. */
static bool has_common_name(const struct profile_input *input, const struct profile_group *group,
			    const struct profile_input *other)
{
	const struct pesa_dso *dso = pesa_profile_dso(input->profile, group->dso);

	if (!diff_is_unnamed(group))
		return true;
	for (uint32_t i = 0; i < pesa_profile_dso_count(other->profile); i++)
		if (diff_same_build(dso, pesa_profile_dso(other->profile, i)))
			return true;
	return false;
}

/* The *count functions that can be matched by name, sorted by name, file and address; NULL: out of
 * memory. */
static struct candidate *list_functions(const struct profile_input *input,
					const struct profile_groups *groups,
					const struct profile_input *other, size_t *count)
{
	struct candidate *list = calloc(groups->count + 1, sizeof(*list));

	*count = 0;
	for (size_t i = 0; list && i < groups->count; i++) {
		const struct profile_group *group = &groups->group[i];

		if (has_common_name(input, group, other))
			list[(*count)++] = (struct candidate){
				profile_base_name(
					pesa_profile_dso(input->profile, group->dso)->path),
				name_of(group), group->symbol ? group->symbol->start : 0, i};
	}
	if (list && *count)
		qsort(list, *count, sizeof(*list), by_name);
	return list;
}

/*
 * The number of unmatched functions from `at` on with the same name; `*found` is the first of them.
 */
static size_t count_left(const struct candidate *list, size_t count, size_t at, const bool *taken,
			 size_t *found)
{
	size_t left = 0;

	for (size_t i = at; i < count && !strcmp(list[i].name, list[at].name); i++) {
		if (taken[list[i].index])
			continue;
		if (!left++)
			*found = list[i].index;
	}
	return left;
}

static void match_lists(const struct candidate *left, size_t left_count, bool *left_taken,
			const struct candidate *right, size_t right_count, bool *right_taken,
			size_t *partner)
{
	/* Match by file and name; the lists are sorted by name, file and address. */
	for (size_t i = 0, j = 0; i < left_count && j < right_count;) {
		int order = strcmp(left[i].name, right[j].name);

		if (!order)
			order = strcmp(left[i].file, right[j].file);
		if (!order) {
			partner[left[i].index] = right[j].index;
			left_taken[left[i++].index] = right_taken[right[j++].index] = true;
		} else if (order < 0) {
			i++;
		} else {
			j++;
		}
	}
	/* Match names that are unique among the unmatched on both sides. */
	for (size_t i = 0, j = 0; i < left_count && j < right_count;) {
		int order = strcmp(left[i].name, right[j].name);
		size_t a = 0, b = 0, name = i;

		if (order < 0) {
			i++;
			continue;
		}
		if (order > 0) {
			j++;
			continue;
		}
		if (strcmp(left[i].name, "[unknown]") &&
		    count_left(left, left_count, i, left_taken, &a) == 1 &&
		    count_left(right, right_count, j, right_taken, &b) == 1)
			partner[a] = b;
		while (i < left_count && !strcmp(left[i].name, left[name].name))
			i++;
		while (j < right_count && !strcmp(right[j].name, left[name].name))
			j++;
	}
}

struct pesa_error *diff_match_functions(const struct profile_input *left_input,
					const struct profile_groups *left,
					const struct profile_input *right_input,
					const struct profile_groups *right, size_t *partner)
{
	size_t left_count, right_count;
	struct candidate *left_list = list_functions(left_input, left, right_input, &left_count);
	struct candidate *right_list = list_functions(right_input, right, left_input, &right_count);
	bool *left_taken = calloc(left->count + 1, sizeof(bool));
	bool *right_taken = calloc(right->count + 1, sizeof(bool));
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < left->count; i++)
		partner[i] = DIFF_NONE;
	if (left_list && right_list && left_taken && right_taken)
		match_lists(left_list, left_count, left_taken, right_list, right_count, right_taken,
			    partner);
	else
		error = pesa_error_no_memory();
	free(left_list);
	free(right_list);
	free(left_taken);
	free(right_taken);
	return error;
}

/* ---- Instructions -------------------------------------------------------------------------- */

#define TEXT_MAX (LISTING_TEXT_MAX + 64) /* room for the name of a target */

/* Distinct texts, numbered in the order of insertion. */
struct word {
	char *text;
	uint32_t number;
	UT_hash_handle hh;
};

struct words {
	struct word *words; /* hash */
	uint32_t count;
};

/* A number for a text; UINT32_MAX: out of memory. */
static uint32_t number_of(struct words *words, const char *text)
{
	struct word *word;

	HASH_FIND_STR(words->words, text, word);
	if (word)
		return word->number;
	word = calloc(1, sizeof(*word));
	if (word)
		word->text = strdup(text);
	if (!word || !word->text) {
		free(word);
		return UINT32_MAX;
	}
	word->number = words->count;
	HASH_ADD_KEYPTR(hh, words->words, word->text, strlen(word->text), word);
	if (!word->hh.tbl) {
		free(word->text);
		free(word);
		return UINT32_MAX;
	}
	words->count++;
	return word->number;
}

static void free_words(struct words *words)
{
	struct word *word, *next;

	HASH_ITER(hh, words->words, word, next)
	{
		HASH_DEL(words->words, word);
		free(word->text);
		free(word);
	}
}

/* The last operand, after its comma and blank; NULL: none. */
static char *last_operand(char *text)
{
	char *comma = strrchr(text, ',');

	if (comma)
		return comma + 1 + strspn(comma + 1, " ");
	comma = strchr(text, ' ');
	return comma ? comma + 1 : NULL;
}

/* Remove the offset from "12(a0)" if the base is `reg`; same for "a0, a0, 12". */
static void drop_offset(char *text, const char *reg)
{
	char *last = last_operand(text), *open = last ? strchr(last, '(') : NULL;
	size_t length = strlen(reg);

	if (open && !strncmp(open + 1, reg, length) && open[1 + length] == ')') {
		*last = '*';
		memmove(last + 1, open, strlen(open) + 1);
	} else if (last && last > text + 2 && !strncmp(text, "addi ", 5)) {
		char *before = strchr(text, ',');

		before = before ? before + 1 + strspn(before + 1, " ") : NULL;
		if (before && !strncmp(before, reg, length) && before[length] == ',')
			strcpy(last, "*");
	}
}

/* Remove what changes when code moves.  `page` is the register of a preceding auipc, or "".
 * `named`: keep the names of functions elsewhere. */
static struct pesa_error *normalise(const struct diff_code *code, const struct listing_row *row,
				    bool named, char text[TEXT_MAX], char page[8])
{
	const struct listing *listing = &code->listing;
	const struct listing_row *first = &listing->row[0],
				 *end = &listing->row[listing->count - 1];
	char *last;

	strcpy(text, row->text);
	last = last_operand(text);
	if (row->has_target && last) {
		bool inside = row->target >= first->address &&
			      row->target < end->address + (end->length ? end->length : 1);

		const struct pesa_symbol *symbol = NULL;
		struct pesa_error *error = NULL;

		if (!inside && named)
			error = pesa_symbols_find(code->input->symbols, code->dso, row->target,
						  &symbol);
		if (error)
			return error;
		/* The distance depends on the code in between. */
		snprintf(last, (size_t)(text + TEXT_MAX - last), "%s",
			 symbol && symbol->name	       ? symbol->name
			 : !inside		       ? "*"
			 : row->target <= row->address ? "back"
						       : "on");
		return NULL;
	}
	if (!strncmp(text, "auipc ", 6)) {
		size_t length = strcspn(text + 6, ",");

		if (last)
			strcpy(last, "*");
		page[0] = '\0';
		if (length < 8)
			snprintf(page, 8, "%.*s", (int)length, text + 6);
		return NULL;
	}
	if (*page)
		drop_offset(text, page);
	page[0] = '\0';
	drop_offset(text, "gp");
	return NULL;
}

/* Number instructions by their normalised text. */
static struct pesa_error *number_texts(struct words *words, const struct diff_code *code,
				       uint32_t *number)
{
	char page[8] = "";

	for (size_t i = 0; i < code->listing.count; i++) {
		char text[TEXT_MAX];
		struct pesa_error *error = normalise(code, &code->listing.row[i], true, text, page);

		if (error)
			return error;
		number[i] = number_of(words, text);
		if (number[i] == UINT32_MAX)
			return pesa_error_no_memory();
	}
	return NULL;
}

struct pesa_error *diff_code_digest(const struct diff_code *code, struct pesa_digest *digest)
{
	char page[8] = "";

	*digest = (struct pesa_digest){0};
	for (size_t i = 0; i < code->listing.count; i++) {
		char text[TEXT_MAX];
		struct pesa_error *error =
			normalise(code, &code->listing.row[i], false, text, page);

		if (error)
			return error;
		pesa_digest_text(digest, text);
	}
	return NULL;
}

/* Number instructions by mnemonic only. */
static struct pesa_error *number_mnemonics(struct words *words, const struct diff_code *code,
					   uint32_t *number)
{
	for (size_t i = 0; i < code->listing.count; i++) {
		char text[TEXT_MAX];

		snprintf(text, sizeof(text), "%.*s", (int)strcspn(code->listing.row[i].text, " "),
			 code->listing.row[i].text);
		number[i] = number_of(words, text);
		if (number[i] == UINT32_MAX)
			return pesa_error_no_memory();
	}
	return NULL;
}

/*
 * Between two matched instructions, match the unmatched ones: the same operation with other
 * registers or constants.
 */
static struct pesa_error *match_gaps(const uint32_t *left, size_t left_count, const uint32_t *right,
				     size_t right_count, size_t *partner)
{
	struct pesa_error *error;
	size_t next = 0;

	for (size_t i = 0; i < left_count;) {
		size_t end = i, right_end;

		if (partner[i] != PESA_SEQUENCE_NONE) {
			next = partner[i++] + 1;
			continue;
		}
		while (end < left_count && partner[end] == PESA_SEQUENCE_NONE)
			end++;
		right_end = end < left_count ? partner[end] : right_count;
		error = pesa_sequence_align(left + i, end - i, right + next, right_end - next,
					    partner + i);
		if (error)
			return error;
		for (; i < end; i++)
			if (partner[i] != PESA_SEQUENCE_NONE)
				partner[i] += next;
	}
	return NULL;
}

/* `a` and `b`: space for the numbers of the instructions of both sides. */
static struct pesa_error *match_code(struct words *words, const struct diff_code *left, uint32_t *a,
				     const struct diff_code *right, uint32_t *b, size_t *partner)
{
	struct pesa_error *error = number_texts(words, left, a);

	if (!error)
		error = number_texts(words, right, b);
	if (!error)
		error = pesa_sequence_align(a, left->listing.count, b, right->listing.count,
					    partner);
	if (!error)
		error = number_mnemonics(words, left, a);
	if (!error)
		error = number_mnemonics(words, right, b);
	if (!error)
		error = match_gaps(a, left->listing.count, b, right->listing.count, partner);
	return error;
}

struct pesa_error *diff_match_instructions(const struct diff_code *left,
					   const struct diff_code *right, size_t *partner)
{
	uint32_t *a = calloc(left->listing.count + 1, sizeof(*a));
	uint32_t *b = calloc(right->listing.count + 1, sizeof(*b));
	struct words words = {0};
	struct pesa_error *error =
		a && b ? match_code(&words, left, a, right, b, partner) : pesa_error_no_memory();

	free_words(&words);
	free(a);
	free(b);
	return error;
}
