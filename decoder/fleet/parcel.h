/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parcel: the blocks of a recording (fleet.h) as one piece of bytes, which pesad's spool keeps until a
 * database has taken it.  It is compressed by zstd, with a checksum.
 */
#ifndef DECODER_FLEET_PARCEL_H
#define DECODER_FLEET_PARCEL_H

#include <stdio.h>

#include "decoder/fleet/fleet.h"

struct pesa_error *parcel_write(const struct fleet_blocks *blocks, FILE *out);
/* The blocks of a parcel: freed with fleet_blocks_free(), also after an error. */
struct pesa_error *parcel_read(const void *bytes, size_t size, struct fleet_blocks *blocks);

#endif
