/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The merge: inputs, their recordings, and records in their canonical form.
 *
 *   input.c	recordings of an input, and reading their records
 *   record.c	the canonical form of a record
 *   numbers.c	process numbers
 *   merge.c	the set: digests, order, compatibility
 *   write.c	the merged file
 *
 * The canonical form of a recording has all records in the order in which a reader returns them.
 * Times are ascending: a late record, or one without a time, gets the time of the record before it,
 * 0 at the start.  Samples start with identifier, PC, process, time, (address,) CPU and period,
 * whether or not the input had these.  Other records end with process, time, CPU and identifier.
 * Identifiers are numbers from 1 on; maps have their build ids; losses are LOST_SAMPLES records.  A
 * recording in canonical form is not changed by the conversion.
 */
#ifndef DECODER_MERGE_INSIDE_H
#define DECODER_MERGE_INSIDE_H

#include "decoder/base/digest.h"
#include "decoder/merge/numbers.h"
#include "decoder/perfdata/reader.h"
#include "pesa/merge.h"
#include "pesa/perfdata.h"

/* The type number of a dynamic PMU differs between boots, its name does not.  Numbers in a merged
 * file start here. */
#define MERGE_FIRST_PMU 64

/* Attribute of a recording: attributes of its file that are equal in canonical form are merged. */
struct merge_attribute {
	struct perf_event_attr attr;
	char *name;
	uint32_t first_id, ids; /* ids in the recording */
	unsigned int index;	/* index in the merged file */
};

/* Maps an identifier of the input to one of the recording; sorted by the former. */
struct merge_id {
	uint64_t of_input;
	uint32_t id;
};

struct merge_recording {
	struct merge_input *input;
	unsigned int index; /* index within the input */

	/* Facts from the file; NULL, 0: unknown. */
	char *hostname, *os_release, *cmdline, *arch, *cpu_description;
	unsigned int cpus;
	bool has_capabilities;
	struct pesa_capabilities capabilities;
	struct pesa_count *counts; /* the recording owns the names */
	size_t count_count;
	uint64_t damaged_records, damaged_bytes, left_out;

	struct merge_attribute *attributes;
	unsigned int attribute_count;
	uint32_t ids;

	/* Its changes in a merged input, which are undone; zeros otherwise. */
	uint64_t input_id_base, input_begin, input_moved;
	struct merge_runs renumbered;

	/* Results of reading it. */
	uint64_t records, samples, lost, begin, end;
	struct pesa_digest digest;
	uint32_t *numbers; /* process and thread numbers, ascending */
	size_t number_count;

	/* Its changes in the output. */
	const struct merge_recording *same_as; /* NULL: not a duplicate */
	uint64_t moved;
	uint32_t id_base;
	struct merge_runs renumber;
};

struct merge_input {
	char *path;
	struct pesa_perfdata *reader; /* NULL: not open */
	bool merged;
	struct merge_recording **recordings; /* owned by the merge */
	unsigned int recording_count;
	char *damage;

	/* For an unmerged file: index in the recording of each attribute (UINT32_MAX: dropped), and
	 * identifiers if an attribute has several. */
	uint32_t *attribute_of;
	unsigned int attribute_count;
	struct merge_id *ids;
	size_t id_count;

	const struct merge_recording *last; /* last recording written from this input */

	/* State while it is read. */
	struct pesa_event event;
	const struct merge_recording *current;
	bool separator;		     /* the next record may be the map before the recording */
	bool pending;		     /* `event` has not been returned yet */
	uint64_t time;		     /* of the last record, canonical */
	uint64_t lost_reported;	     /* losses in LOST_SAMPLES records with a time */
	bool ended, losses_reported; /* the remaining losses have been reported */
	uint64_t misplaced;	     /* records of earlier recordings found in the present one */
};

#define MERGE_PLACES_MAX 260

/* A record in canonical form, and the offsets of the fields that differ in a merged file. */
struct merge_record {
	uint8_t bytes[PERFDATA_RECORD_MAX + 64];
	size_t size;
	uint32_t type;
	uint64_t time;
	uint64_t lost; /* number of lost samples in it */
	uint16_t number_at[8], time_at[2], id_at[MERGE_PLACES_MAX];
	unsigned int numbers, times, ids;
};

/* ---- record.c -------------------------------------------------------------------------------- */

enum merge_made {
	MERGE_MADE,
	MERGE_FOLDED,	/* a loss, reported at the end */
	MERGE_LEFT_OUT, /* not used in a merged file */
};

/* Convert an event of a recording to canonical form. */
enum merge_made merge_record_make(const struct merge_recording *recording,
				  const struct pesa_event *event, uint64_t time,
				  struct merge_record *record);
/* A LOST_SAMPLES record. */
void merge_record_make_lost(uint64_t count, uint64_t time, struct merge_record *record);
/* Convert an attribute to canonical form. */
void merge_attribute_make(const struct pesa_attribute *attribute, struct perf_event_attr *attr);
/* Whether samples of the attribute have several identifiers. */
bool merge_attribute_has_ids(const struct perf_event_attr *attr);
/* The identifier in the trailer of a record that is not a sample; 0: none. */
uint64_t merge_trailer_id(struct pesa_perfdata *reader, const uint8_t *bytes);

/*
 * Before each recording except the first there is a map of the whole kernel address space without
 * code.  It ends the maps of the previous kernel, which may be a different one.
 */
#define MERGE_OTHER_KERNEL "other-kernel"
bool merge_is_other_kernel(const struct pesa_event *event);

/* ---- input.c --------------------------------------------------------------------------------- */

struct pesa_error *merge_input_open(struct merge_input *input);
void merge_input_close(struct merge_input *input);
/* Create the recordings of an open input, and fill in the facts from the file. */
struct pesa_error *merge_input_describe(struct merge_input *input);
/* Get the next record of a recording of an open input; false: end.  Recordings are read in order;
 * they can be skipped. */
bool merge_input_next(struct merge_input *input, struct merge_recording *recording,
		      struct merge_record *record);
void merge_recording_free(struct merge_recording *recording);
void merge_input_free(struct merge_input *input);

/* ---- merge.c --------------------------------------------------------------------------------- */

struct merge_output_attribute {
	const struct merge_attribute *like;
	unsigned int position; /* lowest index in a recording */
	uint64_t *ids;
	uint32_t id_count;
	uint32_t type; /* in the merged file */
};

struct pesa_merge {
	struct merge_input **inputs;
	size_t input_count;
	struct merge_recording **recordings; /* duplicates are last, after arranging */
	size_t recording_count, distinct;
	struct merge_output_attribute *attributes;
	unsigned int attribute_count;
	const char *arch;			      /* NULL: unknown */
	const struct pesa_capabilities *capabilities; /* NULL: unknown */
};

/* Start of a recording in the merged file; records without a time are at this - 1. */
static inline uint64_t merge_begin(const struct merge_recording *recording)
{
	return recording->begin + recording->moved;
}

#endif
