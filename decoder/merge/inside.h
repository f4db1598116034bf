/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the merge: inputs, the recordings in them, and records in their canonical form.
 *
 *   input.c	recordings of an input, and their records in turn
 *   record.c	one record's canonical form
 *   numbers.c	process numbers
 *   merge.c		the set: digests, order, what can be merged
 *   write.c	the merged file
 *
 * The canonical form of a recording: all records in the order in which a reader hands them out,
 * with ascending times (one that comes late gets the time of the one before it; without a time
 * likewise, 0 at the front); samples begin with identifier, PC, process, time, (address,) CPU and
 * period, whatever they had of these; other records end with process, time, CPU and identifier;
 * identifiers are numbers from 1 on; maps have their build ids; losses are LOST_SAMPLES records.
 * Bringing a recording that has the form into it changes nothing.
 */
#ifndef DECODER_MERGE_INSIDE_H
#define DECODER_MERGE_INSIDE_H

#include "decoder/base/digest.h"
#include "decoder/merge/numbers.h"
#include "decoder/perfdata/reader.h"
#include "pesa/merge.h"
#include "pesa/perfdata.h"

/* A PMU's number differs from boot to boot, its name does not: numbers in a merged file start here.
 */
#define MERGE_FIRST_PMU 64

/* Of a recording: what of its file's attributes are the same in canonical form is one. */
struct merge_attribute {
	struct perf_event_attr attr;
	char *name;
	uint32_t first_id, ids; /* of the recording */
	unsigned int index;	/* in the merged file */
};

/* An identifier of the input and what it is in the recording, ascending by the former. */
struct merge_id {
	uint64_t of_input;
	uint32_t id;
};

struct merge_recording {
	struct merge_input *input;
	unsigned int index; /* of those of the input */

	/* What the file tells; NULL, 0: nothing. */
	char *hostname, *os_release, *cmdline, *arch, *cpu_description;
	unsigned int cpus;
	bool has_capabilities;
	struct pesa_capabilities capabilities;
	struct pesa_count *counts; /* names are the recording's own */
	size_t count_count;
	uint64_t damaged_records, damaged_bytes, left_out;

	struct merge_attribute *attributes;
	unsigned int attribute_count;
	uint32_t ids;

	/* How it stands in a merged input, to be undone; zeros otherwise. */
	uint64_t input_id_base, input_begin, input_moved;
	struct merge_runs renumbered;

	/* What reading it told. */
	uint64_t records, samples, lost, begin, end;
	struct pesa_digest digest;
	uint32_t *numbers; /* of processes and threads, ascending */
	size_t number_count;

	/* How it will stand in the output. */
	const struct merge_recording *same_as; /* NULL: it is new */
	uint64_t moved;
	uint32_t id_base;
	struct merge_runs renumber;
};

struct merge_input {
	char *path;
	struct pesa_perfdata *reader; /* NULL: not open */
	bool merged;
	struct merge_recording **recordings; /* the merge's */
	unsigned int recording_count;
	char *damage;

	/* Of a file that is not merged: each attribute's in the recording (UINT32_MAX: left out),
	 * and identifiers where there are several for an attribute. */
	uint32_t *attribute_of;
	unsigned int attribute_count;
	struct merge_id *ids;
	size_t id_count;

	const struct merge_recording *last; /* that is written from this input */

	/* While it is read. */
	struct pesa_event event;
	const struct merge_recording *current;
	bool separator;	       /* the next record may be the map in front of it */
	bool pending;	       /* event is the next */
	uint64_t time;	       /* of the last record of the recording, canonical */
	uint64_t lost_told;    /* by LOST_SAMPLES records with a time */
	bool ended, told_lost; /* the rest of the losses was told */
	uint64_t misplaced;    /* records that belong to a recording before the one that is read */
};

#define MERGE_PLACES_MAX 260

/* A record in canonical form, and where in it is what a merged file has otherwise. */
struct merge_record {
	uint8_t bytes[PERFDATA_RECORD_MAX + 64];
	size_t size;
	uint32_t type;
	uint64_t time;
	uint64_t lost; /* samples that it says were lost */
	uint16_t number_at[8], time_at[2], id_at[MERGE_PLACES_MAX];
	unsigned int numbers, times, ids;
};

/* ---- record.c ---- */

enum merge_made {
	MERGE_MADE,
	MERGE_FOLDED,	/* a loss that is told at the end */
	MERGE_LEFT_OUT, /* of no use in a merged file */
};

/* The canonical form of an event of a recording. */
enum merge_made merge_record_make(const struct merge_recording *recording,
				  const struct pesa_event *event, uint64_t time,
				  struct merge_record *record);
/* A LOST_SAMPLES record. */
void merge_record_make_lost(uint64_t count, uint64_t time, struct merge_record *record);
/* The attribute in canonical form. */
void merge_attribute_make(const struct pesa_attribute *attribute, struct perf_event_attr *attr);
/* Whether samples of it have several identifiers. */
bool merge_attribute_has_ids(const struct perf_event_attr *attr);
/* The identifier that ends a record which is not a sample; 0: none. */
uint64_t merge_trailer_id(struct pesa_perfdata *reader, const uint8_t *bytes);

/*
 * In front of each recording but the first: a map of the whole address space of the kernel that
 * holds no code.  It ends the maps of the kernel before it, which may have been another one.
 */
#define MERGE_OTHER_KERNEL "other-kernel"
bool merge_is_other_kernel(const struct pesa_event *event);

/* ---- input.c ---- */

struct pesa_error *merge_input_open(struct merge_input *input);
void merge_input_close(struct merge_input *input);
/* The recordings of an open input, made and filled with what the file tells of them. */
struct pesa_error *merge_input_describe(struct merge_input *input);
/* The next record of a recording of an open input; false: there are no more.  Recordings are read
 * in their order; one can be passed over. */
bool merge_input_next(struct merge_input *input, struct merge_recording *recording,
		      struct merge_record *record);
void merge_recording_free(struct merge_recording *recording);
void merge_input_free(struct merge_input *input);

/* ---- merge.c ---- */

struct merge_output_attribute {
	const struct merge_attribute *like;
	unsigned int position; /* the foremost that it has in a recording */
	uint64_t *ids;
	uint32_t id_count;
	uint32_t type; /* in the merged file */
};

struct pesa_merge {
	struct merge_input **inputs;
	size_t input_count;
	struct merge_recording **recordings; /* those given again at the end, after arranging */
	size_t recording_count, distinct;
	struct merge_output_attribute *attributes;
	unsigned int attribute_count;
	const char *arch;			      /* NULL: unknown */
	const struct pesa_capabilities *capabilities; /* NULL: unknown */
};

/* Where a recording's times begin in the merged file; what has no time is at that - 1. */
static inline uint64_t merge_begin(const struct merge_recording *recording)
{
	return recording->begin + recording->moved;
}

#endif
