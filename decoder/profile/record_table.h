/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record table: equal records are counted, so that each distinct one is walked once.
 *
 * Two samples are equal when they have the same record, the same layout of their address space, the
 * same group from the listener (struct pesa_profile_listener) and, where the walk needs them, the
 * same branch entries.  The table holds a reference to each layout as long as a record refers to
 * it.  The table grows up to a given size: when it is full its owner walks the records and empties
 * it.
 */
#ifndef DECODER_PROFILE_RECORD_TABLE_H
#define DECODER_PROFILE_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/profile/store.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"
#include "pesa/space.h"

struct pesa_counted_record {
	uint64_t pc, details, bt[2];
	const struct pesa_layout *layout; /* with a reference of the table */
	uint32_t branch;		  /* index of its first branch entry in the table */
	uint32_t group;
	uint16_t flags; /* lower half of the record's flags */
	uint8_t xlen, branch_count;
	struct pesa_times times;
};

struct pesa_record_table;

/* room: number of distinct records until the table is full.  Returns NULL if out of memory. */
struct pesa_record_table *pesa_record_table_create(size_t room);
void pesa_record_table_free(struct pesa_record_table *table);

/* Count a sample without branch entries if it equals one that has been counted; returns whether it
 * does.  Most do. */
bool pesa_record_table_count_again(struct pesa_record_table *table,
				   const struct pesa_record *record,
				   const struct pesa_layout *layout, uint32_t group,
				   uint64_t period);

/*
 * Count a sample, or several that are equal (`times`).  `branches` are unaligned struct pesa_branch_entry as in struct pesa_sample; at
 * most 15 of them are used.  *full becomes true if the table is full and the sample is not counted:
 * empty the table and count it again.
 */
struct pesa_error *pesa_record_table_count(struct pesa_record_table *table,
					   const struct pesa_record *record,
					   const struct pesa_layout *layout, uint32_t group,
					   const uint8_t *branches, uint64_t branch_count,
					   const struct pesa_times *times, bool *full);

typedef struct pesa_error *(*pesa_counted_function)(void *context,
						    const struct pesa_counted_record *counted,
						    const struct pesa_branch_entry *branches);

/* Pass every distinct record to `each`, in the order of their first samples, and empty the table.
 * Stops at an error of `each`; the table is emptied in that case too. */
struct pesa_error *pesa_record_table_empty(struct pesa_record_table *table,
					   pesa_counted_function each, void *context);

#endif
