/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompressing ahead of the reader, in a thread of its own.
 *
 * Files of ours hold one whole zstd frame in each COMPRESSED record, so the next ones can be
 * decompressed while the one at hand is parsed: that is about half of the work.  A frame that
 * cannot be done so (perf's own files hold one long frame) is left to the reader, as is one that is
 * damaged.
 */
#ifndef DECODER_PERFDATA_AHEAD_H
#define DECODER_PERFDATA_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/blocks.h"

struct perfdata_ahead;

/* Start the thread; NULL if it cannot be had.  All but the thread's work happens in the caller's.
 */
struct perfdata_ahead *perfdata_ahead_start(struct perfdata_pool *pool);
void perfdata_ahead_stop(struct perfdata_ahead *ahead);

/* Is there room for another frame? */
bool perfdata_ahead_ready(const struct perfdata_ahead *ahead);
/* Is the frame at this file offset under way? */
bool perfdata_ahead_has(const struct perfdata_ahead *ahead, uint64_t offset);
/*
 * Decompress the frame of `size` bytes at `bytes` in `block`, which the file has at `offset`.
 * Frames are submitted and taken in the order of the file.
 */
void perfdata_ahead_submit(struct perfdata_ahead *ahead, uint64_t offset,
			   struct perfdata_block *block, const uint8_t *bytes, size_t size);
/*
 * Wait for the frame at this offset.  Its block, with the caller's reference, and the bytes in it;
 * NULL if it is none of ours or could not be decompressed.
 */
struct perfdata_block *perfdata_ahead_take(struct perfdata_ahead *ahead, uint64_t offset,
					   size_t *size);

#endif
