/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Effects that have been determined: see tried.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/tried.h"

#define BYTES_MAX (128u << 20)

struct compare_tried_effect {
	struct compare_tried_effect *next;
	uint64_t key[2]; /* the findings, the change */
	double moved, shifted;
	uint32_t example[PESA_COMPARE_EXAMPLES];
	unsigned int examples;
	uint32_t effects;
	struct compare_effect effect[];
};

/* FNV-1a, with its bits mixed so that sums of several do not collide. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 32;
}

static void make_key(const struct pesa_compare *compare, const char *change, bool screened,
		     uint64_t key[2])
{
	key[0] = 0;
	for (unsigned int i = 0; i < compare->findings; i++)
		key[0] += hash_of(compare->finding[i].change);
	key[1] = screened ? ~hash_of(change) : hash_of(change);
}

static unsigned int list_of(const uint64_t key[2])
{
	return (unsigned int)((key[0] ^ key[1]) % COMPARE_TRIED_LISTS);
}

static const struct compare_tried_effect *find(const struct compare_tried *tried,
					       const struct pesa_compare *compare,
					       const char *change, bool screened)
{
	const struct compare_tried_effect *one;
	uint64_t key[2];

	make_key(compare, change, screened, key);
	one = tried->newest[list_of(key)];
	while (one && (one->key[0] != key[0] || one->key[1] != key[1]))
		one = one->next;
	return one;
}

struct pesa_error *compare_tried_find(const struct compare_tried *tried,
				      const struct pesa_compare *compare, const char *change,
				      struct compare_candidate *candidate, bool *known)
{
	const struct compare_tried_effect *one = find(tried, compare, change, false);
	bool on_all = one;
	struct compare_effect *effect;

	if (!one && candidate->screened)
		one = find(tried, compare, change, true);
	*known = one;
	if (!one)
		return NULL;
	effect = calloc(one->effects + 1, sizeof(*effect));
	if (!effect)
		return pesa_error_no_memory();
	memcpy(effect, one->effect, one->effects * sizeof(*effect));
	free(candidate->effect);
	candidate->effect = effect;
	candidate->effects = one->effects;
	candidate->screened = !on_all;
	candidate->moved = one->moved;
	candidate->shifted = one->shifted;
	candidate->examples = one->examples;
	memcpy(candidate->example, one->example, sizeof(one->example));
	return NULL;
}

void compare_tried_add(struct compare_tried *tried, const struct pesa_compare *compare,
		       const char *change, const struct compare_candidate *candidate)
{
	size_t bytes = candidate->effects * sizeof(*candidate->effect);
	struct compare_tried_effect *one, **list;

	if (tried->bytes + sizeof(*one) + bytes > BYTES_MAX)
		return;
	one = malloc(sizeof(*one) + bytes);
	if (!one)
		return;
	make_key(compare, change, candidate->screened, one->key);
	one->moved = candidate->moved;
	one->shifted = candidate->shifted;
	one->examples = candidate->examples;
	memcpy(one->example, candidate->example, sizeof(one->example));
	one->effects = candidate->effects;
	memcpy(one->effect, candidate->effect, bytes);
	list = &tried->newest[list_of(one->key)];
	one->next = *list;
	*list = one;
	tried->bytes += sizeof(*one) + bytes;
}

void compare_tried_free(struct compare_tried *tried)
{
	for (unsigned int i = 0; i < COMPARE_TRIED_LISTS; i++)
		while (tried->newest[i]) {
			struct compare_tried_effect *next = tried->newest[i]->next;

			free(tried->newest[i]);
			tried->newest[i] = next;
		}
}
