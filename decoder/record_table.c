// SPDX-License-Identifier: GPL-2.0-or-later
/* Equal records are counted: see record_table.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/record_table.h"
#include "pesa/csr.h"

/*
 * The records lie one behind the other.  A slot of the hash table is the number of a record plus 1,
 * and above it bits of its hash, so that most others are told apart without a look at them; 0 is a
 * free slot.  So the memory that samples touch at random stays small enough for the caches.
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
/* Branch entries for every record would be the exception: most need none. */
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

/* How many of the newest branch entries the walk of this record would look at. */
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

static bool equal(const struct pesa_record_table *table, const struct pesa_counted_record *counted,
		  const struct pesa_counted_record *wanted,
		  const struct pesa_branch_entry *branches)
{
	return counted->pc == wanted->pc && counted->details == wanted->details &&
	       counted->layout == wanted->layout && counted->bt[0] == wanted->bt[0] &&
	       counted->bt[1] == wanted->bt[1] && counted->flags == wanted->flags &&
	       counted->xlen == wanted->xlen && counted->branch_count == wanted->branch_count &&
	       (!counted->branch_count || !memcmp(branches_of(table, counted), branches,
						  counted->branch_count * sizeof(*table->branch)));
}

/* The key that two equal samples share.  Its branch entries go to needed[]. */
static struct pesa_counted_record key_of(const struct pesa_record *record,
					 const struct pesa_layout *layout, const uint8_t *branches,
					 uint64_t branch_count, struct pesa_branch_entry *needed)
{
	struct pesa_counted_record key = {
		.pc = record->pc,
		.details = record->details,
		.bt = {record->bt[0], record->bt[1]},
		.layout = layout,
		.flags = (uint16_t)record->flags,
		.xlen = record->xlen,
	};

	if (branches && branch_count)
		key.branch_count = (uint8_t)branches_needed(record, branch_count);
	for (unsigned int i = 0; i < key.branch_count; i++) {
		memcpy(&needed[i], branches + i * sizeof(*needed), sizeof(*needed));
		needed[i].flags = 0; /* cycle counts and the like, which the walk does not read */
	}
	return key;
}

/* Products that do not wait for each other: this runs once for every sample. */
static inline uint64_t hash_of(const struct pesa_counted_record *key,
			       const struct pesa_branch_entry *branches)
{
	uint64_t hash = key->pc * UINT64_C(0x9e3779b97f4a7c15) +
			key->details * UINT64_C(0xc2b2ae3d27d4eb4f) +
			(key->bt[0] ^ key->flags) * UINT64_C(0x165667b19e3779f9) +
			(key->bt[1] ^ (uintptr_t)key->layout) * UINT64_C(0x27d4eb2f165667c5);

	for (unsigned int i = 0; i < key->branch_count; i++)
		hash = mix(mix(hash, branches[i].from), branches[i].to);
	return hash ^ hash >> 32;
}

static inline uint32_t tag_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) & ~NUMBER_MASK;
}

static void take_slot(uint32_t *slots, uint64_t mask, uint64_t hash, size_t number)
{
	uint64_t at = hash & mask;

	while (slots[at])
		at = (at + 1) & mask;
	slots[at] = tag_of(hash) | (uint32_t)(number + 1);
}

/* Keep at least two thirds of the slots free, so that most look-ups hit at once.  False when out of
 * memory. */
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

		take_slot(slots, mask, hash_of(counted, branches_of(table, counted)), i);
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

enum pesa_counting pesa_record_table_count(struct pesa_record_table *table,
					   const struct pesa_record *record,
					   const struct pesa_layout *layout,
					   const uint8_t *branches, uint64_t branch_count,
					   uint64_t period)
{
	struct pesa_branch_entry needed[PESA_DETAILS_CTS_MASK];
	struct pesa_counted_record key = key_of(record, layout, branches, branch_count, needed);
	struct pesa_counted_record *counted = NULL;
	uint64_t hash = hash_of(&key, needed);
	uint32_t tag = tag_of(hash), slot;

	for (uint64_t at = hash & table->mask; (slot = table->slot[at]);
	     at = (at + 1) & table->mask) {
		counted = &table->record[(slot & NUMBER_MASK) - 1];
		if ((slot & ~NUMBER_MASK) == tag && equal(table, counted, &key, needed))
			break;
	}
	if (!slot) {
		if (table->count >= table->room ||
		    table->branches + key.branch_count > table->room * BRANCHES_A_RECORD)
			return PESA_COUNTING_FULL;
		if (!grow_slots(table) || !grow_records(table) ||
		    !grow_branches(table, key.branch_count))
			return PESA_COUNTING_NO_MEMORY;
		take_slot(table->slot, table->mask, hash, table->count);
		key.branch = (uint32_t)table->branches;
		if (key.branch_count)
			memcpy(&table->branch[table->branches], needed,
			       key.branch_count * sizeof(*needed));
		table->branches += key.branch_count;
		pesa_layout_hold(layout);
		counted = &table->record[table->count++];
		*counted = key;
	}
	counted->times.samples++;
	counted->times.periods += period;
	counted->times.periods_squared += (double)period * (double)period;
	return PESA_COUNTING_DONE;
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
