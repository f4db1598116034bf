/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembered results, see memo.h. */
#include "decoder/base/memo.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_KNOWN 255 /* different words of a packed result; a byte tells which one it is */
#define OTHER	    255 /* none of them: the next one at the end */
#define LISTS	    256

struct result {
	struct pesa_digest of;
	size_t size;   /* of the result */
	size_t packed; /* bytes; the result's size: not packed */
	unsigned char bytes[];
};

struct memo {
	unsigned int slots;
	size_t room;		 /* bytes that are left for results */
	struct result *result[]; /* by slot; NULL: none */
};

struct memo *memo_create(unsigned int slots, size_t bytes)
{
	struct memo *memo = calloc(1, sizeof(*memo) + slots * sizeof(*memo->result));

	if (!memo)
		return NULL;
	memo->slots = slots;
	memo->room = bytes;
	return memo;
}

static void forget(struct memo *memo, struct result **slot)
{
	if (*slot)
		memo->room += sizeof(**slot) + (*slot)->packed;
	free(*slot);
	*slot = NULL;
}

void memo_free(struct memo *memo)
{
	if (!memo)
		return;
	for (unsigned int i = 0; i < memo->slots; i++)
		free(memo->result[i]);
	free(memo);
}

/* ---- Packed results -------------------------------------------------------------------------- */

/*
 * A packed result: the number of different words, these words, a byte for each word of the result, and the
 * words that are none of the different ones.
 */

static uint32_t word_at(const unsigned char *bytes, size_t index)
{
	uint32_t word;

	memcpy(&word, bytes + index * sizeof(word), sizeof(word));
	return word;
}

static void put_word(unsigned char *bytes, size_t index, uint32_t word)
{
	memcpy(bytes + index * sizeof(word), &word, sizeof(word));
}

/* The words of a result that are told apart so far. */
struct known {
	uint32_t word[WORDS_KNOWN];
	unsigned int count;
	unsigned char of_list[LISTS]; /* the last one with these bits; OTHER: none */
};

/* The number of a word, which is added; OTHER: there is no room for it. */
static unsigned char number_of(struct known *known, uint32_t word)
{
	unsigned char *last = &known->of_list[word * UINT32_C(0x9e3779b1) >> 24];

	if (*last != OTHER && known->word[*last] == word)
		return *last;
	for (unsigned int i = 0; i < known->count; i++)
		if (known->word[i] == word)
			return *last = (unsigned char)i;
	if (known->count == WORDS_KNOWN)
		return OTHER;
	known->word[known->count] = word;
	return *last = (unsigned char)known->count++;
}

/* Pack a result into `numbers` (a byte for each word) and `others`; returns the size of all. */
static size_t pack(const unsigned char *result, size_t words, struct known *known,
		   unsigned char *numbers, unsigned char *others, size_t *other_count)
{
	known->count = 0;
	memset(known->of_list, OTHER, sizeof(known->of_list));
	*other_count = 0;
	for (size_t i = 0; i < words; i++) {
		numbers[i] = number_of(known, word_at(result, i));
		if (numbers[i] == OTHER)
			put_word(others, (*other_count)++, word_at(result, i));
	}
	return 1 + words + (known->count + *other_count) * sizeof(uint32_t);
}

static void unpack(const unsigned char *bytes, unsigned char *result, size_t words)
{
	const unsigned char *known = bytes + 1, *numbers = known + *bytes * sizeof(uint32_t);
	const unsigned char *others = numbers + words;
	size_t other = 0;

	for (size_t i = 0; i < words; i++)
		put_word(result, i,
			 numbers[i] == OTHER ? word_at(others, other++)
					     : word_at(known, numbers[i]));
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static unsigned int slot_of(const struct memo *memo, const struct pesa_digest *of)
{
	return (unsigned int)of->lane[0] & (memo->slots - 1);
}

bool memo_find(const struct memo *memo, const struct pesa_digest *of, void *result, size_t size)
{
	const struct result *one = memo->result[slot_of(memo, of)];

	if (!one || memcmp(&one->of, of, sizeof(*of)) || one->size != size)
		return false;
	if (one->packed == size)
		memcpy(result, one->bytes, size);
	else
		unpack(one->bytes, result, size / sizeof(uint32_t));
	return true;
}

/* The slot of the digest with room for so many bytes, or NULL. */
static struct result *take_slot(struct memo *memo, const struct pesa_digest *of, size_t bytes)
{
	struct result **slot = &memo->result[slot_of(memo, of)];

	if (!*slot || (*slot)->packed != bytes) {
		forget(memo, slot);
		if (memo->room < sizeof(**slot) + bytes)
			return NULL;
		*slot = malloc(sizeof(**slot) + bytes);
		if (!*slot)
			return NULL;
		memo->room -= sizeof(**slot) + bytes;
	}
	(*slot)->of = *of;
	(*slot)->packed = bytes;
	return *slot;
}

void memo_add(struct memo *memo, const struct pesa_digest *of, const void *result, size_t size)
{
	size_t words = size / sizeof(uint32_t), other_count = 0, bytes = size;
	unsigned char *numbers = size % sizeof(uint32_t) ? NULL : malloc(words + size + 1);
	struct result *kept;
	struct known known;

	if (numbers)
		bytes = pack(result, words, &known, numbers, numbers + words, &other_count);
	if (bytes >= size)
		bytes = size;
	kept = take_slot(memo, of, bytes);
	if (kept) {
		kept->size = size;
		if (bytes == size) {
			memcpy(kept->bytes, result, size);
		} else {
			unsigned char *at = kept->bytes;

			*at++ = (unsigned char)known.count;
			at = mempcpy(at, known.word, known.count * sizeof(*known.word));
			at = mempcpy(at, numbers, words);
			memcpy(at, numbers + words, other_count * sizeof(uint32_t));
		}
	}
	free(numbers);
}
