/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf.data reader: its state, and its parts.
 *
 *   open.c		header and attributes
 *   directory.c	the files of perf record --threads
 *   read.c		the stream of records
 *   damage.c		unreadable parts
 *   attributes.c	attributes, their ids and names
 *   decode.c		decoding a record's bytes into an event
 *   read_features.c	feature sections and feature records
 *   origin.c		facts of the file for code that sees only events
 *   ahead.c		decompression in another thread
 *   fetch.c		reading in another thread
 *   blocks.c, queue.c	memory and time order
 *   spill.c		events that wait on disk
 */
#ifndef DECODER_PERFDATA_READER_H
#define DECODER_PERFDATA_READER_H

#include <byteswap.h>
#include <string.h>
#include <zstd.h>

#include "decoder/perfdata/ahead.h"
#include "decoder/perfdata/blocks.h"
#include "decoder/perfdata/fetch.h"
#include "decoder/perfdata/format.h"
#include "decoder/perfdata/queue.h"
#include "pesa/perfdata.h"

/*
 * Offsets of the fields of a sample that has only fields of fixed size before its raw payload and
 * no fields after it, in bytes from the record's start; 0: no such field.  `raw` is the offset of
 * the payload's size.  `end` is above all offsets; 0: samples have another form.
 */
struct perfdata_places {
	uint8_t identifier, ip, tid, time, address, id, stream_id, cpu, period, raw, end;
};

struct perfdata_read_attribute {
	struct pesa_attribute public; /* first member, handed out */
	uint64_t *ids;
	char *name;
	/* Offset of the time: bytes after a sample's header, and bytes before the end of any other
	 * record; 0: no time. */
	uint32_t sample_time, trailer_time;
	uint32_t trailer_size; /* size of the sample_id_all fields */
	struct perfdata_places places;
};

struct perfdata_id {
	uint64_t id;
	uint32_t attribute;
	uint64_t counted; /* its value in the last sample of its group */
};

/* The counts of a group that a sample of its leader carries: each that has grown is a sample of its
 * own, at the same place. */
struct perfdata_members {
	struct pesa_event event; /* the sample */
	const uint8_t *next;	 /* value, id, ...; unaligned */
	uint64_t left;		 /* how many are still to be handed out */
	unsigned int size;	 /* bytes of each */
};

struct perfdata_read_build_id {
	char *path;
	uint8_t size;
	uint8_t bytes[PESA_BUILD_ID_MAX];
};

struct pesa_perfdata {
	int descriptor;
	char *path; /* for error messages */
	bool swap;  /* the file has the other byte order */
	bool pipe;
	uint64_t file_size;		  /* 0: unknown */
	int directory;			  /* descriptor; -1: a file or pipe */
	unsigned int part, parts;	  /* of the directory: next file, number of files */
	uint64_t parts_done, total_size;  /* bytes: of the finished files, of all files */
	uint64_t file_position, data_end; /* file offsets: next read, end of records */
	uint64_t claimed_end;		  /* end according to the header; larger if truncated */

	struct perfdata_read_attribute **attributes;
	unsigned int attribute_count;
	struct perfdata_id *ids;
	size_t id_count, id_capacity;
	bool ids_sorted;
	struct perfdata_id last_id;
	uint32_t sample_id, trailer_id; /* offsets of ids, as above; 0: none */
	uint32_t sample_time;		/* offset of the time in all samples; 0: it differs */

	struct perfdata_pool pool;
	struct perfdata_stream file, plain; /* as stored in the file; decompressed */
	struct perfdata_ahead *ahead;	    /* NULL: not started */
	struct perfdata_fetch *fetch;	    /* NULL: not started */
	bool fetch_tried;		    /* of this file */
	ZSTD_DCtx *decompressor;
	ZSTD_inBuffer compressed; /* the rest of the current COMPRESSED record */
	bool output_was_full, seen_compressed;
	uint64_t skip; /* bytes of AUXTRACE or TRACING_DATA payload to skip */

	struct perfdata_queue queue;
	struct perfdata_block *delivered;  /* block of the last event handed out */
	struct perfdata_members members;   /* of the last sample */
	pesa_raw_sample_function take_raw; /* NULL: all samples become events */
	void *take_raw_context;
	bool ended;

	struct pesa_perfdata_losses losses;
	uint64_t lost_chunks, lost_kernel, lost_totals; /* see count_lost() */

	char *arch, *hostname, *cmdline, *os_release, *cpu_description, *cpu_id;
	unsigned int cpus;
	struct pesa_capabilities capabilities;
	bool has_capabilities;
	struct pesa_count *counts; /* the reader owns their names */
	size_t count_count;
	struct pesa_recording *recordings; /* the reader owns all strings */
	size_t recording_count;
	struct perfdata_read_build_id *build_ids;
	size_t build_id_count;
};

/* ---- Numbers in the file's byte order -------------------------------------------------------- */

static inline uint16_t perfdata_u16(const void *at, bool swap)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? bswap_16(value) : value;
}

static inline uint32_t perfdata_u32(const void *at, bool swap)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? bswap_32(value) : value;
}

static inline uint64_t perfdata_u64(const void *at, bool swap)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? bswap_64(value) : value;
}

static inline struct perfdata_record perfdata_record_header(const uint8_t *at, bool swap)
{
	return (struct perfdata_record){
		.type = perfdata_u32(at, swap),
		.misc = perfdata_u16(at + 4, swap),
		.size = perfdata_u16(at + 6, swap),
	};
}

/* Offer a queued record to reader->take_raw.  Returns false if the record has another form or was
 * refused. */
bool perfdata_offer_raw(struct pesa_perfdata *reader, const uint8_t *record);

/* ---- damage.c -------------------------------------------------------------------------------- */

/* Count damage: `records` and `bytes` that could not be read.  The text of the first call is
 * kept. */
void perfdata_damage(struct pesa_perfdata *reader, uint64_t records, uint64_t bytes,
		     uint64_t offset, const char *what);

/* ---- directory.c ----------------------------------------------------------------------------- */

/* Open the first file of the directory; the directory itself stays open. */
struct pesa_error *perfdata_open_directory(struct pesa_perfdata *reader);
/*
 * The records of one file are over, and no thread reads ahead: continue with the next file of the
 * directory.  Returns false if there is none.
 */
bool perfdata_next_part(struct pesa_perfdata *reader);

/* ---- read.c ---------------------------------------------------------------------------------- */

/* Stop the threads that read ahead, and set the file position to where they stopped. */
void perfdata_stop_threads(struct pesa_perfdata *reader);

void perfdata_streams_init(struct pesa_perfdata *reader);
/* Process perf's own records, up to the first other record. */
void perfdata_read_first_records(struct pesa_perfdata *reader);

/* ---- open.c ---------------------------------------------------------------------------------- */

/* Sanity limit: more attributes are damage. */
#define PERFDATA_ATTRIBUTES_MAX 65536
#define PERFDATA_CPUS_MAX	65536

/* ---- attributes.c ---------------------------------------------------------------------------- */

/* Add an attribute as stored in the file, of `size` bytes, and its ids.  The ids are copied. */
struct pesa_error *perfdata_attribute_add(struct pesa_perfdata *reader, const uint8_t *bytes,
					  size_t size, const uint8_t *ids, size_t id_count);
/* Set the name of the attribute with this id. */
struct pesa_error *perfdata_attribute_rename(struct pesa_perfdata *reader, uint32_t attribute,
					     const char *name, size_t length);
/* Find an id; NULL: there is none.  Valid until an attribute is added. */
struct perfdata_id *perfdata_id_find(struct pesa_perfdata *reader, uint64_t id);
/* Find the attribute of an id; false: none. */
bool perfdata_attribute_find(struct pesa_perfdata *reader, uint64_t id, uint32_t *attribute);
void perfdata_attributes_free(struct pesa_perfdata *reader);

/* ---- decode.c -------------------------------------------------------------------------------- */

/* Whether the file describes a member of the group whose sample was decoded; if not, or if there is no
 * group, no members are left. */
bool perfdata_knows_members(struct pesa_perfdata *reader);
/* The next member of the group whose sample was decoded; false: there is no other one. */
bool perfdata_next_member(struct pesa_perfdata *reader, struct pesa_event *event);
/* Time of a kernel record; 0 if it has none or is damaged. */
uint64_t perfdata_record_time(struct pesa_perfdata *reader, const uint8_t *record,
			      const struct perfdata_record *header);
/* The attribute whose sample_id_all fields are at the end of a record that is not a sample. */
uint32_t perfdata_trailer_attribute(struct pesa_perfdata *reader, const uint8_t *record,
				    const struct perfdata_record *header);
/* Decode a kernel record.  Returns NULL, or a description of the damage. */
const char *perfdata_decode(struct pesa_perfdata *reader, uint8_t *record, uint64_t time,
			    uint64_t offset, struct pesa_event *event);

/* ---- read_features.c ------------------------------------------------------------------------- */

/* Read the feature sections of a file, whose table is at `table`. */
struct pesa_error *perfdata_features_read(struct pesa_perfdata *reader, uint64_t table,
					  const uint64_t features[4]);
/* Parse one feature's contents.  *problem: a description of the damage; NULL: none. */
struct pesa_error *perfdata_feature_parse(struct pesa_perfdata *reader, unsigned int feature,
					  const uint8_t *bytes, size_t size, const char **problem);
/* Parse one BUILD_ID record.  *problem: likewise. */
struct pesa_error *perfdata_build_id_parse(struct pesa_perfdata *reader, const uint8_t *record,
					   size_t size, const char **problem);
/* Free recordings, with their separately allocated text and facts. */
void perfdata_recordings_free(struct pesa_recording *recordings, size_t count);
/* Add the damage of the recordings of which a file was merged to the damage of the file. */
void perfdata_recordings_damage(struct pesa_perfdata *reader);
void perfdata_features_free(struct pesa_perfdata *reader);

#endif
