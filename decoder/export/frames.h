/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: the places of an export with their names, as its formats write them.
 *
 * A location is a place, stored once for all stacks that contain it.  Its frames are the functions
 * inlined there, innermost first, then the function that contains the code; there are none if the
 * binary has no symbol for it.  A frame is a function and a line in it.
 */
#ifndef DECODER_EXPORT_FRAMES_H
#define DECODER_EXPORT_FRAMES_H

#include "decoder/export/data.h"

/* Texts are those of struct export_frames; 0 is the empty text. */
struct export_function { /* all fields are the key */
	uint32_t name, linkage_name, file;
	uint32_t line; /* first line; 0: unknown, as for inlined functions */
};

struct export_frame { /* all fields are the key */
	uint32_t function, line;
};

struct export_location {
	uint32_t dso; /* of the profile; DISTINCT_NONE: address is an enum pesa_unattributed */
	uint32_t reserved;
	uint64_t address;	/* the key ends here */
	uint32_t first, frames; /* in struct export_frames.frame; numbers of frames */
	bool lines;		/* the binary has line information at the address */
};

struct export_frames {
	const struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	const struct pesa_export *rows;
	struct distinct_bytes texts;
	struct distinct_records functions, frames, locations;
	uint32_t *list; /* frame numbers, grouped by location */
	size_t listed, list_room;
	uint32_t *dso_of_number; /* dso in the profile, by number in struct pesa_place */
	uint32_t numbers;
	uint32_t *location; /* by node */
};

/* Find the names for all nodes of `rows`.  Must be freed after an error, too. */
struct pesa_error *export_frames_make(struct export_frames *frames, const struct pesa_export *rows,
				      const struct pesa_profile *profile,
				      struct pesa_symbols *symbols);
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

/* Name of a location without a function: its binary "[libc.so.6]" or, without a binary, the reason.
 * Returns a length like snprintf(). */
int export_location_name(const struct export_frames *frames, const struct export_location *location,
			 char *buffer, size_t size);

#endif
