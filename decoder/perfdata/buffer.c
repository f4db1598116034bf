// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "decoder/perfdata/buffer.h"
#include "decoder/perfdata/format.h"

void *perfdata_buffer_extend(struct perfdata_buffer *buffer, size_t size)
{
	void *room;

	if (buffer->failed)
		return NULL;
	if (buffer->capacity - buffer->size < size) {
		size_t capacity = buffer->capacity ? buffer->capacity : 256;
		uint8_t *bytes;

		while (capacity - buffer->size < size)
			capacity *= 2;
		bytes = realloc(buffer->bytes, capacity);
		if (!bytes) {
			buffer->failed = true;
			return NULL;
		}
		buffer->bytes = bytes;
		buffer->capacity = capacity;
	}
	room = buffer->bytes + buffer->size;
	buffer->size += size;
	return room;
}

void perfdata_buffer_append(struct perfdata_buffer *buffer, const void *bytes, size_t size)
{
	void *room = size ? perfdata_buffer_extend(buffer, size) : NULL;

	if (room)
		memcpy(room, bytes, size);
}

void perfdata_buffer_zeros(struct perfdata_buffer *buffer, size_t size)
{
	void *room = size ? perfdata_buffer_extend(buffer, size) : NULL;

	if (room)
		memset(room, 0, size);
}

void perfdata_buffer_u32(struct perfdata_buffer *buffer, uint32_t value)
{
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void perfdata_buffer_u64(struct perfdata_buffer *buffer, uint64_t value)
{
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void perfdata_buffer_string(struct perfdata_buffer *buffer, const char *text)
{
	size_t length = strlen(text) + 1;
	size_t padded = (length + PERFDATA_STRING_ALIGNMENT - 1) / PERFDATA_STRING_ALIGNMENT *
			PERFDATA_STRING_ALIGNMENT;

	perfdata_buffer_u32(buffer, padded);
	perfdata_buffer_append(buffer, text, length);
	perfdata_buffer_zeros(buffer, padded - length);
}

void perfdata_buffer_free(struct perfdata_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct perfdata_buffer){0};
}
