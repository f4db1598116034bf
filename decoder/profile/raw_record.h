/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The raw record of a sample (pesa/record.h): its checks, and its fields in host byte order.
 *
 * pesa_record_read() is this with an error message.  The loader of profiles needs no message, and
 * calls this once for every sample.
 */
#ifndef DECODER_PROFILE_RAW_RECORD_H
#define DECODER_PROFILE_RAW_RECORD_H

#include <endian.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pesa/record.h"

/* Read a payload of `size` bytes, unaligned.  Returns false if it is not a known record. */
static inline bool raw_record_read(const void *raw, size_t size, struct pesa_record *record)
{
	if (size < PESA_RECORD_SIZE)
		return false;
	memcpy(record, raw, sizeof(*record));
	record->size = le16toh(record->size);
	record->flags = le32toh(record->flags);
	record->pc = le64toh(record->pc);
	record->data = le64toh(record->data);
	record->details = le64toh(record->details);
	record->bt[0] = le64toh(record->bt[0]);
	record->bt[1] = le64toh(record->bt[1]);
	return record->version == PESA_RECORD_VERSION && record->size >= PESA_RECORD_SIZE &&
	       record->size <= size && (record->xlen == 32 || record->xlen == 64);
}

/* Read a counted record, of a file that has them.  Returns false if it is none. */
static inline bool counted_record_read(const void *raw, size_t size,
				       struct pesa_counted_sample *counted, double *periods_squared,
				       struct pesa_record *record)
{
	if (size < sizeof(*counted) + PESA_RECORD_SIZE)
		return false;
	memcpy(counted, raw, sizeof(*counted));
	memcpy(periods_squared, &counted->periods_squared, sizeof(*periods_squared));
	return counted->version == PESA_COUNTED_VERSION && counted->kind < PESA_COUNTED_KINDS &&
	       counted->samples && *periods_squared >= 0 && isfinite(*periods_squared) &&
	       raw_record_read((const uint8_t *)raw + sizeof(*counted), size - sizeof(*counted),
			       record);
}

#endif
