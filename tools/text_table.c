/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "tools/text_table.h"

struct text {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

struct text_table {
	struct text *hashed;
	struct text **text; /* by number */
	uint32_t count, room;
};

struct text_table *text_table_create(void)
{
	return calloc(1, sizeof(struct text_table));
}

void text_table_free(struct text_table *table)
{
	if (!table)
		return;
	HASH_CLEAR(hh, table->hashed);
	for (uint32_t i = 0; i < table->count; i++)
		free(table->text[i]);
	free(table->text);
	free(table);
}

uint32_t text_table_number(struct text_table *table, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	struct text *found;

	if (!text)
		return TEXT_NONE;
	HASH_FIND(hh, table->hashed, text, length, found);
	if (found)
		return found->number;
	if (table->count == table->room) {
		uint32_t room = table->room ? table->room * 2 : 256;
		struct text **grown = realloc(table->text, room * sizeof(struct text *));

		if (!grown)
			return TEXT_NONE;
		table->text = grown;
		table->room = room;
	}
	found = malloc(sizeof(*found) + length + 1);
	if (!found)
		return TEXT_NONE;
	memcpy(found->text, text, length + 1);
	found->number = table->count;
	table->text[table->count++] = found;
	HASH_ADD_KEYPTR(hh, table->hashed, found->text, length, found);
	return found->number;
}

uint32_t text_table_count(const struct text_table *table)
{
	return table->count;
}

const char *text_table_get(const struct text_table *table, uint32_t number)
{
	return table->text[number]->text;
}
