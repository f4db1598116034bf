/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a file in a separate thread, ahead of the reader.
 *
 * Copying by the kernel is a quarter of the work for an uncompressed file.  The thread reads pieces
 * into blocks, after room for the unparsed rest of the previous piece.  A record that straddles two
 * pieces becomes contiguous by copying that rest only.
 */
#ifndef DECODER_PERFDATA_FETCH_H
#define DECODER_PERFDATA_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/blocks.h"

struct perfdata_fetch;

/* Start reading the bytes from `position` to `end`; NULL if the thread cannot be started. */
struct perfdata_fetch *perfdata_fetch_start(struct perfdata_pool *pool, int descriptor,
					    uint64_t position, uint64_t end);
void perfdata_fetch_stop(struct perfdata_fetch *fetch);

/*
 * Wait for the next piece.  Returns a block, with a reference for the caller, and the number of
 * bytes in it, which start at PERFDATA_PIECE_ROOM.  Returns NULL at the end; *error is then 0, or
 * an errno if reading failed.
 */
struct perfdata_block *perfdata_fetch_take(struct perfdata_fetch *fetch, size_t *size, int *error);

/* File offset of the piece that is taken next. */
uint64_t perfdata_fetch_position(const struct perfdata_fetch *fetch);

#endif
