// SPDX-License-Identifier: GPL-2.0-or-later
/* Equal records are counted: see record_table.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/record_table.h"
#include "pesa/csr.h"

struct pesa_record_table {
	struct pesa_counted_record *slot;
	uint64_t mask;
	size_t count, room;
	struct pesa_branch_entry *branch;
	size_t branches, branch_room;
};

/* Branch entries for every record would be the exception: fewer transfers than 3 need none. */
#define BRANCHES_A_RECORD 4

struct pesa_record_table *pesa_record_table_create(size_t room)
{
	struct pesa_record_table *table = calloc(1, sizeof(*table));
	size_t slots = 64;

	if (!table)
		return NULL;
	while (slots < room + room / 2)
		slots *= 2;
	table->room = room;
	table->mask = slots - 1;
	table->branch_room = room * BRANCHES_A_RECORD + PESA_DETAILS_CTS_MASK;
	table->slot = calloc(slots, sizeof(*table->slot));
	table->branch = malloc(table->branch_room * sizeof(*table->branch));
	if (!table->slot || !table->branch) {
		pesa_record_table_free(table);
		return NULL;
	}
	return table;
}

void pesa_record_table_free(struct pesa_record_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; table->slot && i <= table->mask; i++)
		pesa_layout_release(table->slot[i].layout);
	free(table->slot);
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

static bool equal(const struct pesa_record_table *table, const struct pesa_counted_record *slot,
		  const struct pesa_counted_record *wanted,
		  const struct pesa_branch_entry *branches)
{
	return slot->pc == wanted->pc && slot->details == wanted->details &&
	       slot->layout == wanted->layout && slot->bt[0] == wanted->bt[0] &&
	       slot->bt[1] == wanted->bt[1] && slot->flags == wanted->flags &&
	       slot->xlen == wanted->xlen && slot->branch_count == wanted->branch_count &&
	       (!slot->branch_count || !memcmp(&table->branch[slot->branch], branches,
					       slot->branch_count * sizeof(*table->branch)));
}

bool pesa_record_table_count(struct pesa_record_table *table, const struct pesa_record *record,
			     const struct pesa_layout *layout, const uint8_t *branches,
			     uint64_t branch_count, uint64_t period)
{
	struct pesa_counted_record wanted = {
		.pc = record->pc,
		.details = record->details,
		.bt = {record->bt[0], record->bt[1]},
		.layout = layout,
		.flags = record->flags & ~(PESA_RECORD_LOST_MASK << PESA_RECORD_LOST_SHIFT),
		.xlen = record->xlen,
	};
	struct pesa_branch_entry needed[PESA_DETAILS_CTS_MASK];
	struct pesa_counted_record *slot;
	uint64_t hash;

	if (branches && branch_count)
		wanted.branch_count = (uint8_t)branches_needed(record, branch_count);
	hash = mix(mix(mix(mix(wanted.pc, wanted.details), wanted.bt[0]), wanted.bt[1]),
		   (uintptr_t)layout ^ (uint64_t)wanted.flags << 48);
	for (unsigned int i = 0; i < wanted.branch_count; i++) {
		memcpy(&needed[i], branches + i * sizeof(*needed), sizeof(*needed));
		needed[i].flags = 0; /* cycle counts and the like, which the walk does not read */
		hash = mix(mix(hash, needed[i].from), needed[i].to);
	}
	slot = &table->slot[hash & table->mask];
	while (slot->layout && !equal(table, slot, &wanted, needed))
		slot = slot == &table->slot[table->mask] ? table->slot : slot + 1;
	if (!slot->layout) {
		if (table->count >= table->room ||
		    table->branches + wanted.branch_count > table->branch_room)
			return false;
		wanted.branch = (uint32_t)table->branches;
		if (wanted.branch_count)
			memcpy(&table->branch[table->branches], needed,
			       wanted.branch_count * sizeof(*table->branch));
		table->branches += wanted.branch_count;
		table->count++;
		pesa_layout_hold(layout);
		*slot = wanted;
	}
	slot->times.samples++;
	slot->times.periods += period;
	slot->times.periods_squared += (double)period * (double)period;
	return true;
}

bool pesa_record_table_empty(struct pesa_record_table *table,
			     bool (*each)(void *context, const struct pesa_counted_record *counted,
					  const struct pesa_branch_entry *branches),
			     void *context)
{
	bool going = true;

	for (size_t i = 0; table->count && i <= table->mask; i++) {
		struct pesa_counted_record *slot = &table->slot[i];

		if (!slot->layout)
			continue;
		if (going)
			going = each(context, slot, &table->branch[slot->branch]);
		pesa_layout_release(slot->layout);
		memset(slot, 0, sizeof(*slot));
		table->count--;
	}
	table->branches = 0;
	return going;
}
