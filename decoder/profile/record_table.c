// SPDX-License-Identifier: GPL-2.0-or-later
/* The record table: see record_table.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/profile/record_table.h"
#include "pesa/csr.h"

/*
 * Records are stored in an array.  A slot of the hash table holds the number of a record plus 1,
 * and in the upper bits a part of the record's hash, so that most unequal records are rejected
 * without reading the record.  0 is a free slot.  The randomly accessed memory stays small enough
 * for the caches.
 */
#define NUMBER_BITS 18
#define NUMBER_MASK ((1u << NUMBER_BITS) - 1)

struct pesa_record_table {
	uint32_t *slot;
	uint64_t mask;
	struct pesa_counted_record *record;
	size_t count, record_room, room;
	struct pesa_branch_entry *branch;
	size_t branches, branch_room;
};

_Static_assert(PESA_RECORD_TABLE_MAX < NUMBER_MASK + 1, "a slot cannot hold the last number");

#define FIRST_SLOTS   4096
#define FIRST_RECORDS 1024
/* Room for branch entries is allocated per record at this rate: most records need none. */
#define BRANCHES_A_RECORD 4

struct pesa_record_table *pesa_record_table_create(size_t room)
{
	struct pesa_record_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->room = room < PESA_RECORD_TABLE_MAX ? room : PESA_RECORD_TABLE_MAX;
	table->mask = FIRST_SLOTS - 1;
	table->slot = calloc(FIRST_SLOTS, sizeof(*table->slot));
	if (!table->slot) {
		free(table);
		return NULL;
	}
	return table;
}

void pesa_record_table_free(struct pesa_record_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		pesa_layout_release(table->record[i].layout);
	free(table->slot);
	free(table->record);
	free(table->branch);
	free(table);
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The number of branch entries, newest first, that the walk of this record reads. */
static unsigned int branches_needed(const struct pesa_record *record, uint64_t branch_count)
{
	unsigned int transfers = record->details >> PESA_DETAILS_CTS_SHIFT & PESA_DETAILS_CTS_MASK;
	unsigned int known = !!(record->flags & PESA_RECORD_HAS_BT1);

	if (!(record->flags & PESA_RECORD_HAS_DETAILS) || !transfers)
		return 0;
	if (known && record->flags & PESA_RECORD_HAS_BT2)
		known++;
	if (transfers <= known)
		return 0;
	return transfers < branch_count ? transfers : (unsigned int)branch_count;
}

static const struct pesa_branch_entry *branches_of(const struct pesa_record_table *table,
						   const struct pesa_counted_record *counted)
{
	return counted->branch_count ? &table->branch[counted->branch] : NULL;
}

/*
 * Whether a sample equals a counted record.  This runs once for every sample, and has no branch per
 * field.
 */
static inline bool equal(const struct pesa_record_table *table,
			 const struct pesa_counted_record *counted,
			 const struct pesa_record *record, const struct pesa_layout *layout,
			 uint32_t group, const struct pesa_branch_entry *branches,
			 unsigned int branch_count)
{
	uint64_t differs = (counted->pc ^ record->pc) | (counted->details ^ record->details) |
			   (counted->bt[0] ^ record->bt[0]) | (counted->bt[1] ^ record->bt[1]) |
			   ((uintptr_t)counted->layout ^ (uintptr_t)layout) |
			   (counted->flags ^ (uint16_t)record->flags) | (counted->group ^ group) |
			   (counted->xlen ^ record->xlen) | (counted->branch_count ^ branch_count);

	return !differs && (!branch_count || !memcmp(branches_of(table, counted), branches,
						     branch_count * sizeof(*branches)));
}

/* Copy the branch entries by which samples are compared to needed[]; returns their number. */
static unsigned int copy_branches(const struct pesa_record *record, const uint8_t *branches,
				  uint64_t branch_count, struct pesa_branch_entry *needed)
{
	unsigned int count = branches_needed(record, branch_count);

	for (unsigned int i = 0; i < count; i++) {
		memcpy(&needed[i], branches + i * sizeof(*needed), sizeof(*needed));
		needed[i].flags = 0; /* cycle counts and others, which the walk does not read */
	}
	return count;
}

/* The products are independent of each other: this runs once for every sample. */
static inline uint64_t hash_of(uint64_t pc, uint64_t details, uint64_t bt0, uint64_t bt1,
			       uint16_t flags, const struct pesa_layout *layout, uint32_t group,
			       const struct pesa_branch_entry *branches, unsigned int branch_count)
{
	uint64_t hash = pc * UINT64_C(0x9e3779b97f4a7c15) + details * UINT64_C(0xc2b2ae3d27d4eb4f) +
			(bt0 ^ flags ^ (uint64_t)group << 16) * UINT64_C(0x165667b19e3779f9) +
			(bt1 ^ (uintptr_t)layout) * UINT64_C(0x27d4eb2f165667c5);

	for (unsigned int i = 0; i < branch_count; i++)
		hash = mix(mix(hash, branches[i].from), branches[i].to);
	return hash ^ hash >> 32;
}

static inline uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~NUMBER_MASK;
}

/* The equal record counted before; NULL: none.  Inline for the same reason as equal(). */
static inline struct pesa_counted_record *find(const struct pesa_record_table *table,
					       const struct pesa_record *record,
					       const struct pesa_layout *layout, uint32_t group,
					       const struct pesa_branch_entry *branches,
					       unsigned int branch_count, uint64_t hash)
{
	uint32_t tag = tag_of(hash), slot;

	for (uint64_t at = hash & table->mask; (slot = table->slot[at]);
	     at = (at + 1) & table->mask) {
		struct pesa_counted_record *counted = &table->record[(slot & NUMBER_MASK) - 1];

		if ((slot & ~NUMBER_MASK) == tag &&
		    equal(table, counted, record, layout, group, branches, branch_count))
			return counted;
	}
	return NULL;
}

static inline void count_once_more(struct pesa_counted_record *counted, uint64_t period)
{
	counted->times.samples++;
	counted->times.periods += period;
	counted->times.periods_squared += (double)period * (double)period;
}

static void take_slot(uint32_t *slots, uint64_t mask, uint64_t hash, size_t number)
{
	uint64_t at = hash & mask;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = tag_of(hash) | (uint32_t)(number + 1);
}

/* Keep at least two thirds of the slots free, so that most lookups need one probe.  Returns false
 * if out of memory. */
static bool grow_slots(struct pesa_record_table *table)
{
	uint64_t mask = table->mask * 4 + 3;
	uint32_t *slots;

	if (table->count < (table->mask + 1) / 3)
		return true;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < table->count; i++) {
		const struct pesa_counted_record *counted = &table->record[i];

		take_slot(slots, mask,
			  hash_of(counted->pc, counted->details, counted->bt[0], counted->bt[1],
				  counted->flags, counted->layout, counted->group,
				  branches_of(table, counted), counted->branch_count),
			  i);
	}
	free(table->slot);
	table->slot = slots;
	table->mask = mask;
	return true;
}

static bool grow_records(struct pesa_record_table *table)
{
	size_t room = table->record_room ? table->record_room * 2 : FIRST_RECORDS;
	struct pesa_counted_record *grown;

	if (table->count < table->record_room)
		return true;
	grown = realloc(table->record, room * sizeof(*grown));
	if (!grown)
		return false;
	table->record = grown;
	table->record_room = room;
	return true;
}

static bool grow_branches(struct pesa_record_table *table, unsigned int count)
{
	size_t room = table->branch_room ? table->branch_room * 2 : 1024;
	struct pesa_branch_entry *grown;

	if (table->branches + count <= table->branch_room)
		return true;
	grown = realloc(table->branch, room * sizeof(*grown));
	if (!grown)
		return false;
	table->branch = grown;
	table->branch_room = room;
	return true;
}

/* Add a sample that equals no counted record. */
static enum pesa_counting add(struct pesa_record_table *table, const struct pesa_record *record,
			      const struct pesa_layout *layout, uint32_t group,
			      const struct pesa_branch_entry *branches, unsigned int branch_count,
			      uint64_t hash, struct pesa_counted_record **counted)
{
	if (table->count >= table->room ||
	    table->branches + branch_count > table->room * BRANCHES_A_RECORD)
		return PESA_COUNTING_FULL;
	if (!grow_slots(table) || !grow_records(table) || !grow_branches(table, branch_count))
		return PESA_COUNTING_NO_MEMORY;
	take_slot(table->slot, table->mask, hash, table->count);
	*counted = &table->record[table->count++];
	**counted = (struct pesa_counted_record){
		.pc = record->pc,
		.details = record->details,
		.bt = {record->bt[0], record->bt[1]},
		.layout = layout,
		.group = group,
		.flags = (uint16_t)record->flags,
		.xlen = record->xlen,
		.branch = (uint32_t)table->branches,
		.branch_count = (uint8_t)branch_count,
	};
	if (branch_count)
		memcpy(&table->branch[table->branches], branches, branch_count * sizeof(*branches));
	table->branches += branch_count;
	pesa_layout_hold(layout);
	return PESA_COUNTING_DONE;
}

/* Inline for the same reason as equal(). */
static inline __attribute__((always_inline)) enum pesa_counting
count(struct pesa_record_table *table, const struct pesa_record *record,
      const struct pesa_layout *layout, uint32_t group, const struct pesa_branch_entry *branches,
      unsigned int branch_count, uint64_t period)
{
	uint64_t hash = hash_of(record->pc, record->details, record->bt[0], record->bt[1],
				(uint16_t)record->flags, layout, group, branches, branch_count);
	struct pesa_counted_record *counted =
		find(table, record, layout, group, branches, branch_count, hash);

	if (!counted) {
		enum pesa_counting result =
			add(table, record, layout, group, branches, branch_count, hash, &counted);

		if (result != PESA_COUNTING_DONE)
			return result;
	}
	count_once_more(counted, period);
	return PESA_COUNTING_DONE;
}

static __attribute__((noinline)) enum pesa_counting
count_with_branches(struct pesa_record_table *table, const struct pesa_record *record,
		    const struct pesa_layout *layout, uint32_t group, const uint8_t *branches,
		    uint64_t branch_count, uint64_t period)
{
	struct pesa_branch_entry needed[PESA_DETAILS_CTS_MASK];
	unsigned int needs = copy_branches(record, branches, branch_count, needed);

	return count(table, record, layout, group, needed, needs, period);
}

enum pesa_counting pesa_record_table_count(struct pesa_record_table *table,
					   const struct pesa_record *record,
					   const struct pesa_layout *layout, uint32_t group,
					   const uint8_t *branches, uint64_t branch_count,
					   uint64_t period)
{
	if (branches && branch_count)
		return count_with_branches(table, record, layout, group, branches, branch_count,
					   period);
	return count(table, record, layout, group, NULL, 0, period);
}

bool pesa_record_table_empty(struct pesa_record_table *table,
			     bool (*each)(void *context, const struct pesa_counted_record *counted,
					  const struct pesa_branch_entry *branches),
			     void *context)
{
	bool going = true;

	for (size_t i = 0; i < table->count; i++) {
		const struct pesa_counted_record *counted = &table->record[i];

		if (going)
			going = each(context, counted, branches_of(table, counted));
		pesa_layout_release(counted->layout);
	}
	if (table->count)
		memset(table->slot, 0, (table->mask + 1) * sizeof(*table->slot));
	table->count = 0;
	table->branches = 0;
	return going;
}
