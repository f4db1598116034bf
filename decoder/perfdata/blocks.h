/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reference-counted blocks of record bytes, and streams that parse them in place.
 *
 * The reader queues events until their round is complete and must not copy each of them, so records
 * stay where they were read or decompressed: in a block that lives as long as the stream reads from
 * it or a queued event points into it.  Free blocks are reused at once, which keeps them in the
 * cache.
 */
#ifndef DECODER_PERFDATA_BLOCKS_H
#define DECODER_PERFDATA_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pesa's largest COMPRESSED record expands to 256 KiB; a record that straddles two adds up to
 * 64. */
#define PERFDATA_BLOCK_BYTES (320 * 1024)

/*
 * A piece filled by another thread starts after room for the rest of the previous piece.  Its size
 * leaves space for the longest rest that the reader needs (two whole records and a header).
 */
#define PERFDATA_PIECE_ROOM  (64 * 1024)
#define PERFDATA_PIECE_BYTES (180 * 1024)

struct perfdata_block {
	struct perfdata_block *next_free;
	uint32_t references;
	uint8_t bytes[PERFDATA_BLOCK_BYTES];
};

struct perfdata_pool {
	struct perfdata_block *free;
	size_t in_use; /* blocks that are not free */
};

/* Get a block with one reference; NULL if out of memory. */
struct perfdata_block *perfdata_block_get(struct perfdata_pool *pool);
void perfdata_block_put(struct perfdata_pool *pool, struct perfdata_block *block);
void perfdata_pool_free(struct perfdata_pool *pool);

/* Bytes between head and tail of the block are read and not parsed yet. */
struct perfdata_stream {
	struct perfdata_pool *pool;
	struct perfdata_block *block; /* NULL: none yet */
	size_t head, tail;
	uint64_t offset; /* file offset of head */
	/* Read up to `size` bytes; returns their number, 0 at the end. */
	size_t (*fill)(void *context, uint8_t *bytes, size_t size);
	/*
	 * If not NULL, used instead of `fill`: returns the next block (with a reference for the
	 * stream), which another thread has filled with `size` bytes starting at
	 * PERFDATA_PIECE_ROOM; NULL at the end.
	 */
	struct perfdata_block *(*next)(void *context, size_t *size);
	void *context;
	bool no_memory;
};

/* Make `size` bytes (at most half a block) available at head; false if the stream ends before. */
bool perfdata_stream_slow_need(struct perfdata_stream *stream, size_t size);

static inline bool perfdata_stream_need(struct perfdata_stream *stream, size_t size)
{
	return stream->tail - stream->head >= size || perfdata_stream_slow_need(stream, size);
}

static inline uint8_t *perfdata_stream_head(const struct perfdata_stream *stream)
{
	return stream->block->bytes + stream->head;
}

static inline size_t perfdata_stream_available(const struct perfdata_stream *stream)
{
	return stream->tail - stream->head;
}

static inline void perfdata_stream_advance(struct perfdata_stream *stream, size_t size)
{
	stream->head += size;
	stream->offset += size;
}

/* Make at least `room` bytes of room after tail, moving to another block if necessary. */
bool perfdata_stream_room(struct perfdata_stream *stream, size_t room);
void perfdata_stream_close(struct perfdata_stream *stream);

#endif
