/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record table: equal records are counted, so that each distinct one is walked once.
 *
 * Two samples are equal when their record, the layout of their address space, the group that a
 * listener put them in (struct pesa_profile_listener) and, where the walk needs them, their branch
 * entries are.  Layouts are held as long as a record refers to them.  The
 * table grows up to a given size: when it is full its owner walks what is in it and empties it.
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
	const struct pesa_layout *layout; /* held */
	uint32_t branch;		  /* first of its branch entries in the table's */
	uint32_t group;
	uint16_t flags; /* of the record, its low half */
	uint8_t xlen, branch_count;
	struct pesa_times times;
};

struct pesa_record_table;

#define PESA_RECORD_TABLE_MAX 262143

/* room: distinct records it holds before it is full, at most PESA_RECORD_TABLE_MAX.  NULL: out of
 * memory. */
struct pesa_record_table *pesa_record_table_create(size_t room);
void pesa_record_table_free(struct pesa_record_table *table);

enum pesa_counting {
	PESA_COUNTING_DONE,
	PESA_COUNTING_FULL,	 /* not counted: empty the table and try again */
	PESA_COUNTING_NO_MEMORY, /* not counted */
};

/*
 * Count a sample.  `branches` are unaligned struct pesa_branch_entry as in struct pesa_sample, of
 * which at most 15 are taken.
 */
enum pesa_counting pesa_record_table_count(struct pesa_record_table *table,
					   const struct pesa_record *record,
					   const struct pesa_layout *layout, uint32_t group,
					   const uint8_t *branches, uint64_t branch_count,
					   uint64_t period);

/*
 * Count a sample of group 0 by its raw payload, which is as `struct pesa_record` lies in a file and
 * unaligned, if one that is equal and has no branch entries was counted before.  False: it was not
 * counted.
 */
bool pesa_record_table_count_again(struct pesa_record_table *table, const uint8_t *raw,
				   const struct pesa_layout *layout, uint64_t period);

/* Hand every distinct record, in the order of their first samples, to `each` and forget it.  Stops
 * and returns false when `each` does; everything is forgotten all the same. */
bool pesa_record_table_empty(struct pesa_record_table *table,
			     bool (*each)(void *context, const struct pesa_counted_record *counted,
					  const struct pesa_branch_entry *branches),
			     void *context);

#endif
