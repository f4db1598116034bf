/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/script/lines.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MOST (32u << 20) /* of texts */

void script_lines_clear(struct script_lines *lines)
{
	distinct_bytes_free(&lines->keys);
	free(lines->piece);
	free(lines->text);
	memset(lines, 0, sizeof(*lines));
}

/* Room for the text of one more key. */
static bool reserve_piece(struct script_lines *lines)
{
	size_t room = lines->piece_room ? 2 * lines->piece_room : 1024;
	struct script_piece *grown;

	if (lines->keys.index.count < lines->piece_room)
		return true;
	grown = reallocarray(lines->piece, room, sizeof(*grown));
	if (!grown)
		return false;
	lines->piece = grown;
	lines->piece_room = room;
	return true;
}

uint32_t script_lines_find(struct script_lines *lines, const void *key, size_t size,
			   const char **text, size_t *length)
{
	uint32_t before, number;

	*text = NULL;
	*length = 0;
	if (lines->used > BYTES_MOST)
		script_lines_clear(lines);
	if (!reserve_piece(lines))
		return DISTINCT_NONE;
	before = lines->keys.index.count;
	number = distinct_bytes_get(&lines->keys, key, size);
	if (number == DISTINCT_NONE)
		return number;
	if (number == before)
		lines->piece[number] = (struct script_piece){0};
	*length = lines->piece[number].length;
	if (*length)
		*text = lines->text + lines->piece[number].offset;
	return number;
}

void script_lines_add(struct script_lines *lines, uint32_t key, const char *text, size_t length)
{
	if (lines->room - lines->used < length) {
		size_t room = 2 * lines->room + length + 4096;
		char *grown = realloc(lines->text, room);

		if (!grown)
			return;
		lines->text = grown;
		lines->room = room;
	}
	memcpy(lines->text + lines->used, text, length);
	lines->piece[key] = (struct script_piece){lines->used, length};
	lines->used += length;
}
