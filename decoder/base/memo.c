/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembered results, see memo.h. */
#include "decoder/base/memo.h"

#include <stdlib.h>
#include <string.h>

struct result {
	struct pesa_digest of;
	size_t size;
	unsigned char bytes[];
};

struct memo {
	unsigned int slots;
	struct result *result[]; /* by slot; NULL: none */
};

struct memo *memo_create(unsigned int slots)
{
	struct memo *memo = calloc(1, sizeof(*memo) + slots * sizeof(*memo->result));

	if (!memo)
		return NULL;
	memo->slots = slots;
	return memo;
}

void memo_free(struct memo *memo)
{
	if (!memo)
		return;
	for (unsigned int i = 0; i < memo->slots; i++)
		free(memo->result[i]);
	free(memo);
}

static unsigned int slot_of(const struct memo *memo, const struct pesa_digest *of)
{
	return (unsigned int)of->lane[0] & (memo->slots - 1);
}

bool memo_find(const struct memo *memo, const struct pesa_digest *of, void *result, size_t size)
{
	const struct result *one = memo->result[slot_of(memo, of)];

	if (!one || memcmp(&one->of, of, sizeof(*of)) || one->size != size)
		return false;
	memcpy(result, one->bytes, size);
	return true;
}

/* The memory of a result that is replaced by one of the same size is used again. */
void memo_add(struct memo *memo, const struct pesa_digest *of, const void *result, size_t size)
{
	struct result **slot = &memo->result[slot_of(memo, of)];

	if (*slot && (*slot)->size != size) {
		free(*slot);
		*slot = NULL;
	}
	if (!*slot)
		*slot = malloc(sizeof(**slot) + size);
	if (*slot) {
		(*slot)->of = *of;
		(*slot)->size = size;
		memcpy((*slot)->bytes, result, size);
	}
}
