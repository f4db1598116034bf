/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the writer: its state, shared by the record side (write.c), the bytes on their
 * way to the file (sink.c) and the feature sections (write_features.c).
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
	UT_hash_handle hh; /* by path; iterated in the order in which they came */
};

/*
 * Where bytes go.  Whole records gather in `pending`; a full `pending` becomes either itself or,
 * with compression, one COMPRESSED record that holds one zstd frame of whole records.  A frame for
 * each record costs a little space and buys that damage to one leaves the others readable.
 */
struct perfdata_sink {
	int descriptor;
	bool streams;	   /* a pipe, or what counts as one: nothing can be rewritten */
	char *path;	   /* for messages */
	uint64_t position; /* bytes written */
	uint8_t *pending;
	size_t pending_size, pending_limit;
	ZSTD_CCtx *compressor; /* NULL: no compression */
	uint8_t *compressed;   /* one record */
	uint64_t plain_bytes, compressed_bytes;
};

#define PERFDATA_CHUNK_MAX (256 * 1024) /* bytes that one COMPRESSED record may expand to */

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
	struct perfdata_buffer counts; /* names and values, as in the section */
	uint32_t count_count;
	unsigned int cpus;
	bool other_machine;		   /* than this one: the next two */
	char *hostname, *os_release;	   /* NULL: none */
	struct perfdata_buffer recordings; /* PMUs, as in the section */
	uint32_t recording_count;
	bool reproducible;		     /* nothing depends on the clock */
	uint64_t first_sample, last_sample;  /* times; first > last: no sample yet */
	struct perfdata_build_id *build_ids; /* a hash table */
	struct timespec flushed;
	struct perfdata_buffer record; /* the record being made */
};

/* sink.c */
struct pesa_error *perfdata_sink_open(struct perfdata_sink *sink, const char *path, int compression,
				      bool keep_previous);
void perfdata_sink_close(struct perfdata_sink *sink);
/* Write past the buffer, at once. */
struct pesa_error *perfdata_sink_direct(struct perfdata_sink *sink, const void *bytes, size_t size);
struct pesa_error *perfdata_sink_rewrite(struct perfdata_sink *sink, uint64_t offset,
					 const void *bytes, size_t size);
/* Take back what was written behind this position of a file. */
void perfdata_sink_cut(struct perfdata_sink *sink, uint64_t position);
/* Append one whole record. */
struct pesa_error *perfdata_sink_record(struct perfdata_sink *sink, const void *record,
					size_t size);
struct pesa_error *perfdata_sink_flush(struct perfdata_sink *sink);

/* write_features.c: the contents of a section; false if the writer has none of that. */
bool perfdata_feature_build(const struct pesa_perfdata_writer *writer,
			    enum perfdata_feature feature, struct perfdata_buffer *buffer);
/* The recordings of a merged file as PMUs with names and values.  False: out of memory. */
bool perfdata_recordings_build(const struct pesa_recording *recordings, size_t count,
			       struct perfdata_buffer *buffer);
/* One build id as the BUILD_ID section and record hold it. */
void perfdata_build_id_record(const struct perfdata_build_id *build_id,
			      struct perfdata_buffer *buffer);

#endif
