// SPDX-License-Identifier: GPL-2.0-or-later
/* The record table: see record_table.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/hash_index.h"
#include "decoder/profile/record_table.h"
#include "pesa/csr.h"

struct pesa_record_table {
	struct hash_index index; /* its count is that of the records */
	struct pesa_counted_record *record;
	size_t record_room, room;
	struct pesa_branch_entry *branch;
	size_t branches, branch_room;
};

/* Room for branch entries is allocated per record at this rate: most records need none. */
#define BRANCHES_A_RECORD 4

struct pesa_record_table *pesa_record_table_create(size_t room)
{
	struct pesa_record_table *table = calloc(1, sizeof(*table));

	if (table)
		table->room = room;
	return table;
}

void pesa_record_table_free(struct pesa_record_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->index.count; i++)
		pesa_layout_release(table->record[i].layout);
	hash_index_free(&table->index);
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
static inline uint32_t hash_of(uint64_t pc, uint64_t details, uint64_t bt0, uint64_t bt1,
			       uint16_t flags, const struct pesa_layout *layout, uint32_t group,
			       const struct pesa_branch_entry *branches, unsigned int branch_count)
{
	uint64_t hash = pc * UINT64_C(0x9e3779b97f4a7c15) + details * UINT64_C(0xc2b2ae3d27d4eb4f) +
			(bt0 ^ flags ^ (uint64_t)group << 16) * UINT64_C(0x165667b19e3779f9) +
			(bt1 ^ (uintptr_t)layout) * UINT64_C(0x27d4eb2f165667c5);

	for (unsigned int i = 0; i < branch_count; i++)
		hash = mix(mix(hash, branches[i].from), branches[i].to);
	return (uint32_t)(hash ^ hash >> 32);
}

/* The equal record counted before; NULL: none.  Inline for the same reason as equal(). */
static inline struct pesa_counted_record *find(const struct pesa_record_table *table,
					       const struct pesa_record *record,
					       const struct pesa_layout *layout, uint32_t group,
					       const struct pesa_branch_entry *branches,
					       unsigned int branch_count, uint32_t hash)
{
	uint32_t number;

	for (uint32_t at = hash;
	     (number = hash_index_next(&table->index, &at)) != HASH_INDEX_NONE;) {
		struct pesa_counted_record *counted = &table->record[number];

		if (table->index.hash[number] == hash &&
		    equal(table, counted, record, layout, group, branches, branch_count))
			return counted;
	}
	return NULL;
}

static inline void add_times(struct pesa_counted_record *counted, const struct pesa_times *times)
{
	counted->times.samples += times->samples;
	counted->times.periods += times->periods;
	counted->times.periods_squared += times->periods_squared;
}

static struct pesa_error *grow_records(struct pesa_record_table *table)
{
	struct pesa_counted_record *grown;

	if (table->index.room <= table->record_room)
		return NULL;
	grown = realloc(table->record, table->index.room * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	table->record = grown;
	table->record_room = table->index.room;
	return NULL;
}

static struct pesa_error *grow_branches(struct pesa_record_table *table, unsigned int count)
{
	size_t room = table->branch_room ? table->branch_room * 2 : 1024;
	struct pesa_branch_entry *grown;

	if (table->branches + count <= table->branch_room)
		return NULL;
	grown = realloc(table->branch, room * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	table->branch = grown;
	table->branch_room = room;
	return NULL;
}

static bool is_full(const struct pesa_record_table *table, unsigned int more_branches)
{
	return table->index.count >= table->room ||
	       table->branches + more_branches > table->room * BRANCHES_A_RECORD;
}

/* Count the first of its samples, which equals no counted record. */
static __attribute__((noinline)) struct pesa_error *
add(struct pesa_record_table *table, const struct pesa_record *record,
    const struct pesa_layout *layout, uint32_t group, const struct pesa_branch_entry *branches,
    unsigned int branch_count, const struct pesa_times *times, uint32_t hash, bool *full)
{
	struct pesa_counted_record *counted;
	struct pesa_error *error;

	*full = is_full(table, branch_count);
	if (*full)
		return NULL;
	error = hash_index_reserve(&table->index);
	if (!error)
		error = grow_records(table);
	if (!error)
		error = grow_branches(table, branch_count);
	if (error)
		return error;
	counted = &table->record[hash_index_add(&table->index, hash)];
	*counted = (struct pesa_counted_record){
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
	add_times(counted, times);
	return NULL;
}

bool pesa_record_table_count_again(struct pesa_record_table *table,
				   const struct pesa_record *record,
				   const struct pesa_layout *layout, uint32_t group,
				   uint64_t period)
{
	uint32_t hash = hash_of(record->pc, record->details, record->bt[0], record->bt[1],
				(uint16_t)record->flags, layout, group, NULL, 0);
	struct pesa_counted_record *counted = find(table, record, layout, group, NULL, 0, hash);

	const struct pesa_times once = pesa_times_once(period);

	if (counted)
		add_times(counted, &once);
	return counted;
}

/* Inline for the same reason as equal(). */
static inline __attribute__((always_inline)) struct pesa_error *
count(struct pesa_record_table *table, const struct pesa_record *record,
      const struct pesa_layout *layout, uint32_t group, const struct pesa_branch_entry *branches,
      unsigned int branch_count, const struct pesa_times *times, bool *full)
{
	uint32_t hash = hash_of(record->pc, record->details, record->bt[0], record->bt[1],
				(uint16_t)record->flags, layout, group, branches, branch_count);
	struct pesa_counted_record *counted =
		find(table, record, layout, group, branches, branch_count, hash);

	if (!counted)
		return add(table, record, layout, group, branches, branch_count, times, hash, full);
	add_times(counted, times);
	return NULL;
}

static __attribute__((noinline)) struct pesa_error *
count_with_branches(struct pesa_record_table *table, const struct pesa_record *record,
		    const struct pesa_layout *layout, uint32_t group, const uint8_t *branches,
		    uint64_t branch_count, const struct pesa_times *times, bool *full)
{
	struct pesa_branch_entry needed[PESA_DETAILS_CTS_MASK];
	unsigned int needs = copy_branches(record, branches, branch_count, needed);

	return count(table, record, layout, group, needed, needs, times, full);
}

struct pesa_error *pesa_record_table_count(struct pesa_record_table *table,
					   const struct pesa_record *record,
					   const struct pesa_layout *layout, uint32_t group,
					   const uint8_t *branches, uint64_t branch_count,
					   const struct pesa_times *times, bool *full)
{
	if (branches && branch_count)
		return count_with_branches(table, record, layout, group, branches, branch_count,
					   times, full);
	return count(table, record, layout, group, NULL, 0, times, full);
}

struct pesa_error *pesa_record_table_empty(struct pesa_record_table *table,
					   pesa_counted_function each, void *context)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < table->index.count; i++) {
		const struct pesa_counted_record *counted = &table->record[i];

		if (!error)
			error = each(context, counted, branches_of(table, counted));
		pesa_layout_release(counted->layout);
	}
	hash_index_clear(&table->index);
	table->branches = 0;
	return error;
}
