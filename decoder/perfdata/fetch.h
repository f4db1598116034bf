/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a file ahead of the reader, in a thread of its own.
 *
 * Of a file that is not compressed the kernel's copying is a quarter of the work.  The thread reads
 * pieces into blocks, behind room for what the reader has left of the piece before, so that a
 * record that straddles two of them is made whole without copying either.
 */
#ifndef DECODER_PERFDATA_FETCH_H
#define DECODER_PERFDATA_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/blocks.h"

struct perfdata_fetch;

/* Start reading the bytes from `position` to `end`; NULL if the thread cannot be had. */
struct perfdata_fetch *perfdata_fetch_start(struct perfdata_pool *pool, int descriptor,
					    uint64_t position, uint64_t end);
void perfdata_fetch_stop(struct perfdata_fetch *fetch);

/*
 * Wait for the next piece: a block, with the caller's reference, and how many bytes it has from
 * PERFDATA_PIECE_ROOM on.  NULL at the end; *error is 0 then, or an errno when reading failed.
 */
struct perfdata_block *perfdata_fetch_take(struct perfdata_fetch *fetch, size_t *size, int *error);

/* Where the piece that is taken next begins in the file. */
uint64_t perfdata_fetch_position(const struct perfdata_fetch *fetch);

#endif
