/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact records as they lie in a file (pesa/record.h): checked, and read piece by piece.
 */
#ifndef DECODER_PROFILE_EXACT_RECORD_H
#define DECODER_PROFILE_EXACT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/perfdata.h"
#include "pesa/record.h"

/*
 * Read the header of the exact record that a sample carries, in this machine's byte order.  False:
 * the record is damaged, says something that cannot be, or its weight and `before` are more than
 * can be counted; nothing else of it may be read then.
 */
bool exact_record_read(const struct pesa_sample *sample, uint64_t before,
		       struct pesa_exact_record *header);
/* One of the record's buckets or transfers, in this machine's byte order. */
struct pesa_exact_bucket exact_record_bucket(const struct pesa_sample *sample, unsigned int index);
struct pesa_exact_transfer exact_record_transfer(const struct pesa_sample *sample,
						 const struct pesa_exact_record *header,
						 unsigned int index);

#endif
