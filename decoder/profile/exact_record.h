/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact records as stored in a file (pesa/record.h): checked access to the header and the entries.
 */
#ifndef DECODER_PROFILE_EXACT_RECORD_H
#define DECODER_PROFILE_EXACT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/perfdata.h"
#include "pesa/record.h"

/*
 * Read the header of the exact record in a sample's raw payload, in host byte order.  Returns false
 * if the record is damaged, if a field has an impossible value, or if its weight plus `before`
 * overflows a counter.  The rest of the record must not be read in that case.
 */
bool exact_record_read(const struct pesa_sample *sample, uint64_t before,
		       struct pesa_exact_record *header);
/* One bucket of the record, in host byte order. */
struct pesa_exact_bucket exact_record_bucket(const struct pesa_sample *sample, unsigned int index);
struct pesa_exact_transfer exact_record_transfer(const struct pesa_sample *sample,
						 const struct pesa_exact_record *header,
						 unsigned int index);

#endif
