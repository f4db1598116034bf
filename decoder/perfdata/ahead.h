/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompression in a separate thread, ahead of the reader.
 *
 * Files written by pesa hold one whole zstd frame in each COMPRESSED record, so the next frames can
 * be decompressed while the current one is parsed.  Decompression is about half of the work.  The
 * reader itself decompresses other frames (perf's own files hold one long frame) and damaged ones.
 */
#ifndef DECODER_PERFDATA_AHEAD_H
#define DECODER_PERFDATA_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/blocks.h"

struct perfdata_ahead;

/* Start the thread; NULL on failure.  All other functions run in the caller's thread. */
struct perfdata_ahead *perfdata_ahead_start(struct perfdata_pool *pool);
void perfdata_ahead_stop(struct perfdata_ahead *ahead);

/* Whether there is room for another frame. */
bool perfdata_ahead_ready(const struct perfdata_ahead *ahead);
/* Whether the frame at this file offset has been submitted. */
bool perfdata_ahead_has(const struct perfdata_ahead *ahead, uint64_t offset);
/*
 * Submit the frame of `size` bytes at `bytes` in `block` for decompression; it is at `offset` in
 * the file.  Frames are submitted and taken in file order.
 */
void perfdata_ahead_submit(struct perfdata_ahead *ahead, uint64_t offset,
			   struct perfdata_block *block, const uint8_t *bytes, size_t size);
/*
 * Wait for the frame at this offset.  Returns a block, with a reference for the caller, and the
 * number of bytes in it; NULL if the frame was not submitted or could not be decompressed.
 */
struct perfdata_block *perfdata_ahead_take(struct perfdata_ahead *ahead, uint64_t offset,
					   size_t *size);

#endif
