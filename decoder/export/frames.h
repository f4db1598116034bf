/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: the places of an export with their names, as its formats write them.
 *
 * A location is a place once, however many stacks it is in.  Its frames are the functions that were
 * inlined there, innermost first, and the function that holds the code; none where the binary has
 * no symbol for it.  A frame is a function and a line of it.
 */
#ifndef DECODER_EXPORT_FRAMES_H
#define DECODER_EXPORT_FRAMES_H

#include "decoder/export/data.h"

/* Texts of struct export_frames; 0 is the empty one. */
struct export_function { /* all of it is the key */
	uint32_t name, linkage_name, file;
	uint32_t line; /* it begins at; 0: unknown, as for inlined functions */
};

struct export_frame { /* all of it is the key */
	uint32_t function, line;
};

struct export_location {
	uint32_t dso; /* of the profile; DISTINCT_NONE: address is an enum pesa_unattributed */
	uint32_t reserved;
	uint64_t address;	/* the key ends here */
	uint32_t first, frames; /* in struct export_frames.frame; numbers of frames */
	bool lines;		/* the binary has line information for it */
};

struct export_frames {
	const struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	const struct pesa_export *rows;
	struct distinct_bytes texts;
	struct distinct_records functions, frames, locations;
	uint32_t *list; /* numbers of frames, one location's behind the other's */
	size_t listed, list_room;
	uint32_t *dso_of_number; /* of the profile, by that in struct pesa_place */
	uint32_t numbers;
	uint32_t *location; /* of each node */
};

/* Names for all nodes of `rows`.  False: out of memory.  To be freed in any case. */
bool export_frames_make(struct export_frames *frames, const struct pesa_export *rows,
			const struct pesa_profile *profile, struct pesa_symbols *symbols);
void export_frames_free(struct export_frames *frames);

static inline const struct export_location *export_location_at(const struct export_frames *frames,
							       uint32_t number)
{
	return distinct_records_at(&frames->locations, number);
}

static inline const struct export_frame *export_frame_at(const struct export_frames *frames,
							 uint32_t number)
{
	return distinct_records_at(&frames->frames, number);
}

static inline const struct export_function *export_function_at(const struct export_frames *frames,
							       uint32_t number)
{
	return distinct_records_at(&frames->functions, number);
}

/* What to call the binary of a location where there is no function: "[libc.so.6]".  The reason,
 * where there is no binary either.  The length is that of snprintf(). */
int export_location_name(const struct export_frames *frames, const struct export_location *location,
			 char *buffer, size_t size);

#endif
