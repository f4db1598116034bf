// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "decoder/perfdata/blocks.h"

struct perfdata_block *perfdata_block_get(struct perfdata_pool *pool)
{
	struct perfdata_block *block = pool->free;

	if (block)
		pool->free = block->next_free;
	else
		block = malloc(sizeof(*block));
	if (!block)
		return NULL;
	block->references = 1;
	pool->in_use++;
	return block;
}

void perfdata_block_put(struct perfdata_pool *pool, struct perfdata_block *block)
{
	if (--block->references)
		return;
	pool->in_use--;
	block->next_free = pool->free;
	pool->free = block;
}

void perfdata_pool_free(struct perfdata_pool *pool)
{
	while (pool->free) {
		struct perfdata_block *block = pool->free;

		pool->free = block->next_free;
		free(block);
	}
}

bool perfdata_stream_room(struct perfdata_stream *stream, size_t room)
{
	struct perfdata_block *block;
	size_t available = perfdata_stream_available(stream);

	if (stream->block && PERFDATA_BLOCK_BYTES - stream->tail >= room)
		return true;
	if (available + room > PERFDATA_BLOCK_BYTES)
		return false;
	if (stream->block && stream->block->references == 1) {
		memmove(stream->block->bytes, perfdata_stream_head(stream), available);
	} else {
		block = perfdata_block_get(stream->pool);
		if (!block) {
			stream->no_memory = true;
			return false;
		}
		if (stream->block) {
			memcpy(block->bytes, perfdata_stream_head(stream), available);
			perfdata_block_put(stream->pool, stream->block);
		}
		stream->block = block;
	}
	stream->head = 0;
	stream->tail = available;
	return true;
}

/* Continue with the next piece; the unparsed rest of this piece is copied in front of it. */
static bool next_piece(struct perfdata_stream *stream)
{
	size_t available = perfdata_stream_available(stream), size, head = 0;
	struct perfdata_block *block;

	if (available + PERFDATA_PIECE_BYTES > PERFDATA_BLOCK_BYTES)
		return false;
	block = stream->next(stream->context, &size);
	if (!block)
		return false;
	if (available <= PERFDATA_PIECE_ROOM)
		head = PERFDATA_PIECE_ROOM - available;
	else
		memmove(block->bytes + available, block->bytes + PERFDATA_PIECE_ROOM, size);
	if (available)
		memcpy(block->bytes + head, perfdata_stream_head(stream), available);
	if (stream->block)
		perfdata_block_put(stream->pool, stream->block);
	stream->block = block;
	stream->head = head;
	stream->tail = head + available + size;
	return true;
}

bool perfdata_stream_slow_need(struct perfdata_stream *stream, size_t size)
{
	size_t available;

	while ((available = perfdata_stream_available(stream)) < size) {
		size_t got;

		if (stream->next) {
			if (!next_piece(stream))
				return false;
			continue;
		}
		if (!perfdata_stream_room(stream, size - available))
			return false;
		got = stream->fill(stream->context, stream->block->bytes + stream->tail,
				   PERFDATA_BLOCK_BYTES - stream->tail);
		if (!got)
			return false;
		stream->tail += got;
	}
	return true;
}

void perfdata_stream_close(struct perfdata_stream *stream)
{
	if (stream->block)
		perfdata_block_put(stream->pool, stream->block);
	stream->block = NULL;
	stream->head = stream->tail = 0;
}
