/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading a profile: the state that its two parts share.
 *
 * load.c reads the events in time order and counts equal records. text.c walks each distinct record
 * once, when the table of records is full or the events are over, and adds the result to the store.
 */
#ifndef DECODER_PROFILE_LOADER_H
#define DECODER_PROFILE_LOADER_H

#include "decoder/profile/data.h"
#include "decoder/profile/record_table.h"
#include "decoder/binary/unwind.h"

struct profile_loader {
	struct pesa_profile *profile;
	struct pesa_perfdata *reader;
	const struct pesa_profile_options *options;
	struct pesa_profile_store *store;
	struct pesa_record_table *table;
	bool *chosen; /* by attribute: whether it is loaded */
	unsigned int attributes;
	bool raw_is_ours;
	bool out_of_memory;
	uint64_t exact_records;
	uint64_t events;  /* number of events so far */
	uint64_t periods; /* of all samples, cycles */
	uint64_t exact_weight;
	uint64_t mappings;		/* in layouts created since the table was last emptied */
	struct pesa_unwinder *unwinder; /* NULL: call chains are not needed */
	bool *located;			/* by dso: located by a listener */
	uint32_t located_count;

	/* The process of the last sample. */
	uint32_t pid;
	const struct pesa_layout *layout; /* NULL: not looked up yet */

	/* The record being walked. */
	const struct pesa_layout *walked;
	const struct pesa_mapping *mapping; /* of the last address */
};

/* The dso number and the address within the dso of an address in the record being walked. */
void profile_locate(struct profile_loader *loader, uint64_t address, uint32_t *dso,
		    uint64_t *place);
/* The capabilities of the hardware, from the part of the file read so far. */
const struct pesa_capabilities *profile_capabilities_of(struct profile_loader *loader);
/* Walk all counted records, add the results to the store, and empty the table. */
void profile_walk_all(struct profile_loader *loader);

#endif
