/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading a profile: the state that its parts share.
 *
 * load.c reads the events in time order and counts equal records. text.c walks each distinct record
 * once, when the table of records is full or the events are over, and adds the result to the store.
 * arrays.c makes the profile's arrays of the store.
 */
#ifndef DECODER_PROFILE_LOADER_H
#define DECODER_PROFILE_LOADER_H

#include "decoder/profile/data.h"
#include "decoder/profile/record_table.h"
#include "decoder/binary/unwind.h"

/*
 * A cursor over the text of a process, at the time of a record.  It opens the files of what it finds.
 * An error is noted, and lookups go on harmlessly; profile_text_end() returns it.
 */
struct profile_text {
	const struct pesa_layout *layout;
	const struct pesa_mapping *mapping; /* of the last address; NULL: none */
	struct pesa_error *error;	    /* the first one; NULL: none */
};

/* Memory for a chain of hardware_stack.h that is being made. */
struct hardware_stack {
	struct hardware_frame *frame;
	size_t room;
	uint64_t *chain;
	size_t length, chain_room;
};

struct profile_loader {
	struct pesa_profile *profile;
	struct pesa_perfdata *reader;
	const struct pesa_profile_options *options;
	struct pesa_profile_store *store;
	struct pesa_record_table *table;
	bool *chosen; /* by attribute: whether it is loaded */
	unsigned int attributes;
	bool raw_is_ours;
	bool counted; /* the samples of the file are counted records */
	uint64_t exact_records;
	uint64_t events;  /* number of events so far */
	uint64_t periods; /* of all samples, cycles */
	uint64_t exact_weight;
	uint64_t mappings;		/* in layouts created since the table was last emptied */
	struct pesa_unwinder *unwinder; /* NULL: call chains are not needed */
	struct hardware_stack hardware_stack;
	struct pesa_error *failed; /* of an offered sample */
	bool *located;		   /* by dso: located by a listener */
	uint32_t located_count;

	/* The process of the last sample. */
	uint32_t pid;
	const struct pesa_layout *layout; /* NULL: not looked up yet */

	struct profile_text text; /* of the record being walked */
};

/* Begin and end lookups for a record in a process with this layout. */
void profile_text_begin(struct profile_loader *loader, const struct pesa_layout *layout);
struct pesa_error *profile_text_end(struct profile_loader *loader);
/* The instruction at an address: the `instruction` function of struct pesa_text, for a loader. */
enum pesa_text_status profile_text_at(void *loader, uint64_t address, struct pesa_text_insn *insn);
/* The dso number and the address within the dso of an address in the record being walked. */
void profile_locate(struct profile_loader *loader, uint64_t address, uint32_t *dso,
		    uint64_t *place);
/* The `locate` function that is passed to listeners. */
struct pesa_place profile_locate_for_listener(void *loader, uint64_t address);
/* The capabilities of the hardware, from the part of the file read so far. */
const struct pesa_capabilities *profile_capabilities_of(struct profile_loader *loader);
/* Walk all counted records, add the results to the store, and empty the table. */
struct pesa_error *profile_walk_all(struct profile_loader *loader);
/* When the events are over: the facts of the file, and the arrays. */
struct pesa_error *profile_make_arrays(struct profile_loader *loader);

#endif
