/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembered results, see memo.h. */
#include "decoder/base/memo.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX 255 /* different elements of a packed result; a byte tells which one it is */
#define OTHER	  255 /* none of them: the next one at the end */
#define LISTS	  256

struct result {
	struct pesa_digest of;
	size_t count, element; /* elements, and bytes of each */
	size_t kept;	       /* bytes; those of all elements: not packed */
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
		memo->room += sizeof(**slot) + (*slot)->kept;
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
 * A packed result: the number of different elements, these elements, a byte for each element of the result,
 * and the elements that are none of the different ones.
 */

#define WORDS_MAX (MEMO_ELEMENT_MAX / sizeof(uint32_t))

/* The elements of a result that are told apart so far. */
struct known {
	uint32_t word[KNOWN_MAX][WORDS_MAX]; /* zero beyond an element */
	size_t element;
	unsigned int count;
	unsigned char of_list[LISTS]; /* the last one with these bits; OTHER: none */
};

static bool is_equal(const uint32_t a[WORDS_MAX], const uint32_t b[WORDS_MAX])
{
	uint32_t off = 0;

	for (size_t i = 0; i < WORDS_MAX; i++)
		off |= a[i] ^ b[i];
	return !off;
}

static unsigned int list_of(const uint32_t word[WORDS_MAX])
{
	uint32_t hash = 0;

	for (size_t i = 0; i < WORDS_MAX; i++)
		hash = (hash ^ word[i]) * UINT32_C(0x9e3779b1);
	return hash >> 24;
}

/* The number of an element, which is added; OTHER: there is no room for it. */
static unsigned char number_of(struct known *known, const unsigned char *element)
{
	uint32_t word[WORDS_MAX] = {0};
	unsigned char *last;

	memcpy(word, element, known->element);
	last = &known->of_list[list_of(word)];
	if (*last != OTHER && is_equal(known->word[*last], word))
		return *last;
	for (unsigned int i = 0; i < known->count; i++)
		if (is_equal(known->word[i], word))
			return *last = (unsigned char)i;
	if (known->count == KNOWN_MAX)
		return OTHER;
	memcpy(known->word[known->count], word, sizeof(word));
	return *last = (unsigned char)known->count++;
}

/* Pack a result into `numbers` (a byte for each element) and `others`; returns the size of all. */
static size_t pack(const unsigned char *result, size_t count, struct known *known,
		   unsigned char *numbers, unsigned char *others, size_t *other_bytes)
{
	size_t size = known->element;

	memset(known->of_list, OTHER, sizeof(known->of_list));
	*other_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = number_of(known, result + i * size);
		if (numbers[i] != OTHER)
			continue;
		memcpy(others + *other_bytes, result + i * size, size);
		*other_bytes += size;
	}
	return 1 + count + known->count * size + *other_bytes;
}

static void unpack(const struct result *one, unsigned char *result)
{
	size_t size = one->element;
	const unsigned char *known = one->bytes + 1, *numbers = known + *one->bytes * size;
	const unsigned char *others = numbers + one->count;

	for (size_t i = 0; i < one->count; i++) {
		bool is_other = numbers[i] == OTHER;

		memcpy(result + i * size, is_other ? others : known + numbers[i] * size, size);
		others += is_other ? size : 0;
	}
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static unsigned int slot_of(const struct memo *memo, const struct pesa_digest *of)
{
	return (unsigned int)of->lane[0] & (memo->slots - 1);
}

bool memo_find(const struct memo *memo, const struct pesa_digest *of, void *result, size_t count,
	       size_t element)
{
	const struct result *one = memo->result[slot_of(memo, of)];

	if (!one || memcmp(&one->of, of, sizeof(*of)) || one->count != count ||
	    one->element != element)
		return false;
	if (one->kept == count * element)
		memcpy(result, one->bytes, count * element);
	else
		unpack(one, result);
	return true;
}

/* The slot of the digest with room for so many bytes, or NULL. */
static struct result *take_slot(struct memo *memo, const struct pesa_digest *of, size_t bytes)
{
	struct result **slot = &memo->result[slot_of(memo, of)];

	if (!*slot || (*slot)->kept != bytes) {
		forget(memo, slot);
		if (memo->room < sizeof(**slot) + bytes)
			return NULL;
		*slot = malloc(sizeof(**slot) + bytes);
		if (!*slot)
			return NULL;
		memo->room -= sizeof(**slot) + bytes;
	}
	(*slot)->of = *of;
	(*slot)->kept = bytes;
	return *slot;
}

void memo_add(struct memo *memo, const struct pesa_digest *of, const void *result, size_t count,
	      size_t element)
{
	size_t size = count * element, bytes = size, other_bytes = 0;
	unsigned char *numbers = malloc(count + size + 1);
	struct result *kept;
	struct known known;

	known.element = element;
	known.count = 0;
	if (numbers)
		bytes = pack(result, count, &known, numbers, numbers + count, &other_bytes);
	if (bytes > size)
		bytes = size;
	kept = take_slot(memo, of, bytes);
	if (kept) {
		kept->count = count;
		kept->element = element;
	}
	if (kept && bytes == size) {
		memcpy(kept->bytes, result, size);
	} else if (kept) {
		unsigned char *at = kept->bytes;

		*at++ = (unsigned char)known.count;
		for (unsigned int i = 0; i < known.count; i++)
			at = mempcpy(at, known.word[i], element);
		at = mempcpy(at, numbers, count);
		memcpy(at, numbers + count, other_bytes);
	}
	free(numbers);
}
