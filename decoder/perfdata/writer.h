/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf.data writer: its state, shared by attributes, header and rounds (write.c), records
 * (write_records.c, write_exact.c), the output of bytes (sink.c) and the feature sections
 * (write_features.c).
 */
#ifndef DECODER_PERFDATA_WRITER_H
#define DECODER_PERFDATA_WRITER_H

#include <time.h>
#include <zstd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/perfdata/buffer.h"
#include "decoder/perfdata/format.h"
#include "pesa/perfdata.h"

struct perfdata_writer_attribute {
	struct perf_event_attr attr;
	char *name;
	uint64_t *ids;
	uint32_t id_count;
};

struct perfdata_build_id {
	char *path;
	uint32_t pid;
	uint16_t cpu_mode; /* PERF_RECORD_MISC_KERNEL or _USER */
	uint8_t size;
	uint8_t bytes[PESA_BUILD_ID_MAX];
	UT_hash_handle hh; /* key: path; iterated in insertion order */
};

/*
 * Output.  Whole records are collected in `pending`.  When it is full it is written as it is or,
 * with compression, as one COMPRESSED record that holds one zstd frame of whole records.  A frame
 * for each COMPRESSED record costs a little space; in return, damage to one leaves the others
 * readable.
 */
struct perfdata_sink {
	int descriptor;
	bool streams;	   /* a pipe, or another file that cannot be rewritten */
	char *path;	   /* for error messages */
	uint64_t position; /* bytes written */
	uint8_t *pending;
	size_t pending_size, pending_limit;
	ZSTD_CCtx *compressor; /* NULL: no compression */
	uint8_t *compressed;   /* one record */
	uint64_t plain_bytes, compressed_bytes;
};

#define PERFDATA_CHUNK_MAX (256 * 1024) /* bytes in a COMPRESSED record, decompressed */

struct pesa_perfdata_writer {
	struct perfdata_sink sink;
	uint64_t data_offset;
	struct perfdata_writer_attribute *attributes;
	unsigned int attribute_count;
	int compression; /* level */
	char *pmu, *arch, *cpu_description, *cpu_id;
	char **command;
	unsigned int command_words;
	struct pesa_capabilities capabilities;
	bool has_capabilities;
	struct perfdata_buffer counts; /* names and values, as stored in the section */
	uint32_t count_count;
	unsigned int cpus;
	bool other_machine;		   /* not this one: the next two describe it */
	char *hostname, *os_release;	   /* NULL: none */
	struct perfdata_buffer recordings; /* PMUs, as stored in the section */
	uint32_t recording_count;
	bool reproducible;		     /* no contents depend on the clock */
	uint64_t first_sample, last_sample;  /* times; first > last: no samples yet */
	struct perfdata_build_id *build_ids; /* a hash table */
	struct timespec flushed;
	struct perfdata_buffer record; /* scratch: the record being built */
};

/* sink.c */
struct pesa_error *perfdata_sink_open(struct perfdata_sink *sink, const char *path, int compression,
				      bool keep_previous);
void perfdata_sink_close(struct perfdata_sink *sink);
/* Write immediately, bypassing the buffer. */
struct pesa_error *perfdata_sink_direct(struct perfdata_sink *sink, const void *bytes, size_t size);
struct pesa_error *perfdata_sink_rewrite(struct perfdata_sink *sink, uint64_t offset,
					 const void *bytes, size_t size);
/* Truncate a file to this position. */
void perfdata_sink_cut(struct perfdata_sink *sink, uint64_t position);
/* Append one whole record. */
struct pesa_error *perfdata_sink_record(struct perfdata_sink *sink, const void *record,
					size_t size);
struct pesa_error *perfdata_sink_flush(struct perfdata_sink *sink);

/* write_features.c: the contents of a section; false if the writer has none. */
bool perfdata_feature_build(const struct pesa_perfdata_writer *writer,
			    enum perfdata_feature feature, struct perfdata_buffer *buffer);
/* Encode the recordings of a merged file as PMUs with names and values. */
struct pesa_error *perfdata_recordings_build(const struct pesa_recording *recordings, size_t count,
					     struct perfdata_buffer *buffer);
/* Encode one build id as in the BUILD_ID section and record. */
void perfdata_build_id_record(const struct perfdata_build_id *build_id,
			      struct perfdata_buffer *buffer);

#endif
