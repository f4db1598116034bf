// SPDX-License-Identifier: GPL-2.0-or-later
/* Damage: unreadable parts of a file are counted, and the first reason is kept. */
#include <inttypes.h>
#include <stdio.h>

#include "decoder/perfdata/reader.h"

void perfdata_damage(struct pesa_perfdata *reader, uint64_t records, uint64_t bytes,
		     uint64_t offset, const char *what)
{
	struct pesa_perfdata_losses *losses = &reader->losses;

	losses->damaged_records += records;
	losses->damaged_bytes += bytes;
	if (!losses->damage && asprintf(&losses->damage, "%s at offset %" PRIu64, what, offset) < 0)
		losses->damage = NULL;
}
