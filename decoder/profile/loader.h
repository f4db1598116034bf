/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading a profile, as its two parts share it: events in time order are counted
 * (load.c), and equal records walked once (text.c).
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
	bool *chosen; /* which attributes are loaded */
	unsigned int attributes;
	bool raw_is_ours;
	bool out_of_memory;
	uint64_t exact_records;
	uint64_t events;  /* so far */
	uint64_t periods; /* of all samples, cycles */
	uint64_t exact_weight;
	uint64_t mappings;		/* in layouts made since the table was emptied */
	struct pesa_unwinder *unwinder; /* NULL: nobody asked for a call chain */
	bool *told;			/* dsos that a listener was told of beside instructions */
	uint32_t tolds;

	/* The process of the last sample. */
	uint32_t pid;
	const struct pesa_layout *layout; /* NULL: look it up */

	/* The record that is walked. */
	const struct pesa_layout *walked;
	const struct pesa_mapping *mapping; /* of the last address */
};

/* Where an address of the record that is walked is: the number of its dso, the place in it. */
void profile_locate(struct profile_loader *loader, uint64_t address, uint32_t *dso,
		    uint64_t *place);
/* The capabilities of the hardware, as the file has told them so far. */
const struct pesa_capabilities *profile_capabilities_of(struct profile_loader *loader);
/* Walk all records that have been counted, into the store, and forget them. */
void profile_walk_all(struct profile_loader *loader);

#endif
