// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading perf.data: the stream of records.  See reader.h for the parts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "decoder/perfdata/reader.h"

#define HEADER_SIZE	 sizeof(struct perfdata_record)
#define AHEAD_FILE_BYTES (256 * 1024)
#define FETCH_FILE_BYTES (1024 * 1024)
#define SAMPLES_AHEAD	 1024 /* prefetch distance in bytes */

/* ---- Resynchronisation after damage ---------------------------------------------------------- */

/* Whether the header can be one of a record.  Unknown types may come from later versions of perf
 * and the kernel. */
static bool plausible(const struct perfdata_record *header)
{
	if (header->size < HEADER_SIZE || !header->type)
		return false;
	if (header->type < PERFDATA_RECORD_USER_FIRST)
		return header->type < 48 && header->size > HEADER_SIZE;
	return header->type <= PERFDATA_RECORD_USER_LAST;
}

/*
 * Whether a chain of records starts at `at`: three of them, or fewer that end at the end of the
 * data.  A single header is found too easily in other data.
 */
static bool chain_at(struct pesa_perfdata *reader, struct perfdata_stream *stream, size_t at)
{
	for (unsigned int links = 0; links < 3; links++) {
		struct perfdata_record header;

		if (!perfdata_stream_need(stream, at + HEADER_SIZE))
			return links && perfdata_stream_available(stream) == at;
		header = perfdata_record_header(perfdata_stream_head(stream) + at, reader->swap);
		if (!plausible(&header))
			return false;
		at += header.size;
	}
	return true;
}

/*
 * The record at head is impossible: find the next records.  Records are aligned to 8 bytes, except
 * in files with COMPRESSED records, whose sizes are odd.
 */
static void resynchronise(struct pesa_perfdata *reader, struct perfdata_stream *stream)
{
	size_t step = reader->seen_compressed && stream == &reader->file ? 1 : 8;
	uint64_t start = stream->offset, passed = 0;

	for (;;) {
		if (!perfdata_stream_need(stream, step)) {
			passed += perfdata_stream_available(stream);
			perfdata_stream_advance(stream, perfdata_stream_available(stream));
			break;
		}
		perfdata_stream_advance(stream, step);
		passed += step;
		if (chain_at(reader, stream, 0))
			break;
	}
	perfdata_damage(reader, 1, passed, start, "a record with an impossible header");
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

#define SHORTER "the file became shorter while it was read"

/* Stop reading this file. */
static void give_up_file(struct pesa_perfdata *reader, const char *why)
{
	uint64_t rest = reader->pipe ? 0 : reader->data_end - reader->file_position;

	perfdata_damage(reader, 0, rest, reader->file_position, why);
	if (!reader->pipe)
		reader->data_end = reader->file_position;
}

static size_t fill_file(void *context, uint8_t *bytes, size_t size)
{
	struct pesa_perfdata *reader = context;
	ssize_t got;

	if (!reader->pipe && size > reader->data_end - reader->file_position)
		size = reader->data_end - reader->file_position;
	if (!size)
		return 0;
	do {
		if (reader->pipe)
			got = read(reader->descriptor, bytes, size);
		else
			got = pread(reader->descriptor, bytes, size, reader->file_position);
	} while (got < 0 && errno == EINTR);
	if (got < 0 || (!got && !reader->pipe))
		give_up_file(reader, got ? strerror(errno) : SHORTER);
	if (got <= 0)
		return 0;
	reader->file_position += got;
	return got;
}

static struct perfdata_block *next_fetched(void *context, size_t *size)
{
	struct pesa_perfdata *reader = context;
	struct perfdata_block *block;
	int number;

	if (reader->file_position >= reader->data_end)
		return NULL;
	block = perfdata_fetch_take(reader->fetch, size, &number);
	reader->file_position = perfdata_fetch_position(reader->fetch);
	if (!block && reader->file_position < reader->data_end)
		give_up_file(reader, number ? strerror(number) : SHORTER);
	return block;
}

/* The records are uncompressed: read the file in a thread, if the rest is large enough. */
static void start_fetching(struct pesa_perfdata *reader)
{
	reader->fetch_tried = true;
	if (reader->pipe || reader->data_end - reader->file_position < FETCH_FILE_BYTES)
		return;
	reader->fetch = perfdata_fetch_start(&reader->pool, reader->descriptor,
					     reader->file_position, reader->data_end);
	if (reader->fetch)
		reader->file.next = next_fetched;
}

void perfdata_stop_threads(struct pesa_perfdata *reader)
{
	perfdata_ahead_stop(reader->ahead);
	perfdata_fetch_stop(reader->fetch);
	reader->ahead = NULL;
	reader->fetch = NULL;
	reader->fetch_tried = false;
	reader->file.next = NULL;
}

/* Discard the rest of a COMPRESSED record. */
static void give_up_compressed(struct pesa_perfdata *reader, const char *what)
{
	perfdata_damage(reader, 1, reader->compressed.size, reader->plain.offset, what);
	reader->compressed.pos = reader->compressed.size;
	reader->output_was_full = false;
	ZSTD_DCtx_reset(reader->decompressor, ZSTD_reset_session_only);
}

static size_t fill_plain(void *context, uint8_t *bytes, size_t size)
{
	struct pesa_perfdata *reader = context;
	ZSTD_outBuffer output = {bytes, size, 0};

	while (!output.pos &&
	       (reader->compressed.pos < reader->compressed.size || reader->output_was_full)) {
		size_t before = reader->compressed.pos, result;

		result = ZSTD_decompressStream(reader->decompressor, &output, &reader->compressed);
		if (ZSTD_isError(result)) {
			give_up_compressed(reader, "compressed records that do not decompress");
			break;
		}
		reader->output_was_full = output.pos == output.size;
		if (!output.pos && before == reader->compressed.pos)
			break;
	}
	return output.pos;
}

/* ---- Records that perf itself adds ----------------------------------------------------------- */

static const char *add_pipe_attribute(struct pesa_perfdata *reader, const uint8_t *record,
				      size_t size)
{
	uint32_t attr_size;

	if (size < HEADER_SIZE + PERF_ATTR_SIZE_VER0)
		return "an attribute that is shorter than its fields";
	attr_size = perfdata_u32(record + HEADER_SIZE + sizeof(uint32_t), reader->swap);
	if (!attr_size)
		attr_size = PERF_ATTR_SIZE_VER0;
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > size - HEADER_SIZE)
		return "an attribute that is shorter than its fields";
	if (!reader->pipe)
		return NULL; /* in a file, the attributes of the header apply */
	if (reader->attribute_count == PERFDATA_ATTRIBUTES_MAX)
		return "more attributes than any recording has";
	if (perfdata_attribute_add(reader, record + HEADER_SIZE, attr_size,
				   record + HEADER_SIZE + attr_size,
				   (size - HEADER_SIZE - attr_size) / sizeof(uint64_t)))
		return "an attribute (out of memory)";
	return NULL;
}

static const char *parse_event_update(struct pesa_perfdata *reader, const uint8_t *record,
				      size_t size)
{
	const size_t text = HEADER_SIZE + 2 * sizeof(uint64_t);
	uint32_t attribute;

	if (size < text)
		return "an event update that is shorter than its fields";
	if (perfdata_u64(record + HEADER_SIZE, reader->swap) != PERFDATA_EVENT_UPDATE_NAME ||
	    size == text ||
	    !perfdata_attribute_find(reader, perfdata_u64(record + HEADER_SIZE + 8, reader->swap),
				     &attribute))
		return NULL;
	if (perfdata_attribute_rename(reader, attribute, (const char *)record + text, size - text))
		return "an event update (out of memory)";
	return NULL;
}

static const char *parse_feature_record(struct pesa_perfdata *reader, const uint8_t *record,
					size_t size)
{
	const size_t contents = HEADER_SIZE + sizeof(uint64_t);
	struct pesa_error *error;
	const char *problem;
	uint64_t feature;

	if (size < contents)
		return "a feature that is shorter than its fields";
	feature = perfdata_u64(record + HEADER_SIZE, reader->swap);
	if (feature >= PERFDATA_FEATURES)
		return NULL;
	error = perfdata_feature_parse(reader, feature, record + contents, size - contents,
				       &problem);
	if (error)
		problem = "a feature (out of memory)";
	pesa_error_free(error);
	return problem;
}

static const char *parse_build_id_record(struct pesa_perfdata *reader, const uint8_t *record,
					 size_t size)
{
	const char *problem;
	struct pesa_error *error = perfdata_build_id_parse(reader, record, size, &problem);

	if (error)
		problem = "a build id (out of memory)";
	pesa_error_free(error);
	return problem;
}

/* The payload follows the record and is not included in its size. */
static const char *skip_payload(struct pesa_perfdata *reader, const uint8_t *record, size_t size)
{
	bool auxtrace = perfdata_u32(record, reader->swap) == PERFDATA_RECORD_AUXTRACE;

	if (size < HEADER_SIZE + (auxtrace ? sizeof(uint64_t) : sizeof(uint32_t)))
		return "trace data without their size";
	reader->skip = auxtrace ? perfdata_u64(record + HEADER_SIZE, reader->swap)
				: perfdata_u32(record + HEADER_SIZE, reader->swap);
	return NULL;
}

/*
 * Whether a COMPRESSED record can be decompressed ahead: it holds one whole frame that fits into a
 * block.  Only large files are worth a thread.
 */
static bool can_decompress_ahead(const struct pesa_perfdata *reader, const uint8_t *record,
				 const struct perfdata_record *header)
{
	unsigned long long content;

	if (header->type != PERFDATA_RECORD_COMPRESSED || reader->file_size < AHEAD_FILE_BYTES)
		return false;
	content = ZSTD_getFrameContentSize(record + HEADER_SIZE, header->size - HEADER_SIZE);
	return content && content <= PERFDATA_BLOCK_BYTES; /* unknown and error are larger */
}

/* Submit the COMPRESSED records that follow the one at head to the worker. */
static void submit_ahead(struct pesa_perfdata *reader)
{
	struct perfdata_stream *stream = &reader->file;
	struct perfdata_record header =
		perfdata_record_header(perfdata_stream_head(stream), reader->swap);
	size_t at = header.size;

	if (!reader->ahead && can_decompress_ahead(reader, perfdata_stream_head(stream), &header))
		reader->ahead = perfdata_ahead_start(&reader->pool);
	while (reader->ahead && perfdata_ahead_ready(reader->ahead)) {
		const uint8_t *record;

		if (at + PERFDATA_RECORD_MAX > PERFDATA_BLOCK_BYTES ||
		    !perfdata_stream_need(stream, at + HEADER_SIZE))
			break;
		header = perfdata_record_header(perfdata_stream_head(stream) + at, reader->swap);
		if (!plausible(&header) || !perfdata_stream_need(stream, at + header.size))
			break;
		record = perfdata_stream_head(stream) + at;
		if (!can_decompress_ahead(reader, record, &header))
			break;
		if (!perfdata_ahead_has(reader->ahead, stream->offset + at))
			perfdata_ahead_submit(reader->ahead, stream->offset + at, stream->block,
					      record + HEADER_SIZE, header.size - HEADER_SIZE);
		at += header.size;
	}
}

/* If the record at head was decompressed ahead, make it the plain stream. */
static bool take_ahead(struct pesa_perfdata *reader)
{
	struct perfdata_block *block;
	size_t size;

	if (!reader->ahead || perfdata_stream_available(&reader->plain))
		return false;
	block = perfdata_ahead_take(reader->ahead, reader->file.offset, &size);
	if (!block)
		return false;
	perfdata_stream_close(&reader->plain);
	reader->plain.block = block;
	reader->plain.tail = size;
	reader->plain.offset = reader->file.offset;
	return true;
}

static const char *start_compressed(struct pesa_perfdata *reader, const uint8_t *record,
				    size_t size)
{
	size_t start = HEADER_SIZE, length = size - HEADER_SIZE;
	unsigned long long content;

	if (perfdata_u32(record, reader->swap) == PERFDATA_RECORD_COMPRESSED2) {
		uint64_t data_size;

		start += sizeof(data_size);
		if (size < start)
			return "a compressed record that is shorter than its fields";
		data_size = perfdata_u64(record + HEADER_SIZE, reader->swap);
		if (data_size > size - start)
			return "a compressed record that is shorter than its contents";
		length = data_size;
	}
	if (!reader->decompressor) {
		reader->decompressor = ZSTD_createDCtx();
		if (!reader->decompressor)
			return "compressed records (out of memory)";
	}
	reader->seen_compressed = true;
	if (take_ahead(reader))
		return NULL;
	reader->compressed = (ZSTD_inBuffer){record + start, length, 0};
	reader->plain.offset = reader->file.offset;
	/* A frame that fits into the block is decompressed without a copy. */
	content = ZSTD_getFrameContentSize(record + start, length);
	if (content <= PERFDATA_BLOCK_BYTES)
		perfdata_stream_room(&reader->plain, content);
	return NULL;
}

/* What cannot be queued is lost, and counts as damage.  Queueing fails for want of memory alone. */
static void count_unqueued(struct pesa_perfdata *reader, struct pesa_error *error, uint64_t records,
			   uint64_t offset, const char *what)
{
	if (error)
		perfdata_damage(reader, records, 0, offset, what);
	pesa_error_free(error);
}

static const char *finish_round(struct pesa_perfdata *reader, const uint8_t *record, size_t size)
{
	struct pesa_error *error;

	(void)record;
	(void)size;
	if (reader->parts)
		return NULL; /* rounds of one file do not apply to the other files */
	error = perfdata_queue_round(&reader->queue, false);
	pesa_error_free(error);
	return error ? "a round (out of memory)" : NULL;
}

typedef const char *record_function(struct pesa_perfdata *reader, const uint8_t *record,
				    size_t size);

static record_function *const record_functions[] = {
	[PERFDATA_RECORD_ATTRIBUTE] = add_pipe_attribute,
	[PERFDATA_RECORD_TRACING_DATA] = skip_payload,
	[PERFDATA_RECORD_BUILD_ID] = parse_build_id_record,
	[PERFDATA_RECORD_FINISHED_ROUND] = finish_round,
	[PERFDATA_RECORD_AUXTRACE] = skip_payload,
	[PERFDATA_RECORD_EVENT_UPDATE] = parse_event_update,
	[PERFDATA_RECORD_FEATURE] = parse_feature_record,
	[PERFDATA_RECORD_COMPRESSED] = start_compressed,
	[PERFDATA_RECORD_COMPRESSED2] = start_compressed,
};

static void user_record(struct pesa_perfdata *reader, struct perfdata_stream *stream,
			const uint8_t *record, const struct perfdata_record *header)
{
	record_function *function = NULL;
	const char *problem;

	if (header->type < sizeof(record_functions) / sizeof(record_functions[0]))
		function = record_functions[header->type];
	if (!function)
		return; /* records of other types are ignored */
	if (stream == &reader->plain && (function == start_compressed || function == skip_payload))
		problem = "a record that cannot be inside a compressed one";
	else
		problem = function(reader, record, header->size);
	if (problem)
		perfdata_damage(reader, 1, 0, stream->offset, problem);
}

/* Skip the data that follows a record of trace data. */
static void skip_bytes(struct pesa_perfdata *reader)
{
	struct perfdata_stream *stream = &reader->file;

	if (reader->skip > reader->claimed_end - stream->offset) {
		perfdata_damage(reader, 1, 0, stream->offset,
				"trace data that are larger than the file");
		reader->skip = 0;
	}
	while (reader->skip) {
		size_t available;

		if (!perfdata_stream_need(stream, 1)) {
			perfdata_damage(reader, 1, 0, stream->offset,
					"trace data that are cut off");
			break;
		}
		available = perfdata_stream_available(stream);
		if (available >= reader->skip) {
			perfdata_stream_advance(stream, reader->skip);
			break;
		}
		perfdata_stream_advance(stream, available);
		reader->skip -= available;
		if (!reader->pipe && !reader->fetch) { /* do not read data that is not used */
			uint64_t rest = reader->data_end - reader->file_position;
			uint64_t jump = reader->skip < rest ? reader->skip : rest;

			reader->file_position += jump;
			stream->offset += jump;
			reader->skip -= jump;
		}
	}
	reader->skip = 0;
}

/* ---- The stream of records ------------------------------------------------------------------- */

/* Whether a whole record is available at the head of the stream. */
static bool record_at_head(struct pesa_perfdata *reader, struct perfdata_stream *stream,
			   struct perfdata_record *header)
{
	for (;;) {
		if (!perfdata_stream_need(stream, HEADER_SIZE))
			return false;
		*header = perfdata_record_header(perfdata_stream_head(stream), reader->swap);
		if (plausible(header))
			return perfdata_stream_need(stream, header->size);
		resynchronise(reader, stream);
	}
}

/* End of the file's records: the remaining bytes are the start of a record that was cut off. */
static void end_of_file(struct pesa_perfdata *reader)
{
	size_t rest = perfdata_stream_available(&reader->file);

	if (rest)
		perfdata_damage(reader, 1, rest, reader->file.offset, "a record that is cut off");
	rest = perfdata_stream_available(&reader->plain);
	if (rest)
		perfdata_damage(reader, 1, rest, reader->plain.offset,
				"a compressed record that is cut off");
	if (reader->file.no_memory || reader->plain.no_memory)
		perfdata_damage(reader, 0, 0, reader->file.offset,
				"reading stopped, out of memory,");
	perfdata_stream_advance(&reader->file, perfdata_stream_available(&reader->file));
	perfdata_stream_advance(&reader->plain, perfdata_stream_available(&reader->plain));
	perfdata_stop_threads(reader);
	reader->ended = !perfdata_next_part(reader);
}

/*
 * Losses.  A LOST record counts the records dropped because a ring was full.  Kernels since 6.0
 * count the same losses again per event, and perf writes them at its end as LOST_SAMPLES without a
 * time: the larger of the two sums is the number lost.  LOST_SAMPLES with a time are lost by the
 * hardware, and are added to it.
 */
static void count_lost(struct pesa_perfdata *reader, const struct pesa_event *event)
{
	uint64_t ring;

	if (event->type == PERF_RECORD_LOST)
		reader->lost_chunks += event->lost.count;
	else if (event->time)
		reader->lost_kernel += event->lost.count;
	else
		reader->lost_totals += event->lost.count;
	ring = reader->lost_chunks > reader->lost_totals ? reader->lost_chunks
							 : reader->lost_totals;
	reader->losses.lost = reader->lost_kernel + ring;
}

/* Decode and count an event; false if it is damaged. */
static bool deliver(struct pesa_perfdata *reader, uint8_t *record, uint64_t time, uint64_t offset,
		    struct pesa_event *event)
{
	const char *problem = perfdata_decode(reader, record, time, offset, event);

	if (problem) {
		perfdata_damage(reader, 1, 0, offset, problem);
		return false;
	}
	if (event->type == PERF_RECORD_LOST || event->type == PERF_RECORD_LOST_SAMPLES)
		count_lost(reader, event);
	else if (event->type == PERF_RECORD_THROTTLE)
		reader->losses.throttled++;
	return true;
}

/* Queue a kernel record, or hand it out at once if it has no time.  True: *event is filled. */
static bool kernel_record(struct pesa_perfdata *reader, struct perfdata_stream *stream,
			  uint8_t *record, const struct perfdata_record *header,
			  struct pesa_event *event)
{
	uint64_t time = perfdata_record_time(reader, record, header);
	const struct perfdata_queued queued = {time, stream->offset, record, stream->block};

	if (time && time != UINT64_MAX) {
		count_unqueued(reader, perfdata_queue_add(&reader->queue, &queued), 1,
			       stream->offset, "an event (out of memory)");
		return false;
	}
	if (!deliver(reader, record, 0, stream->offset, event))
		return false;
	reader->delivered = stream->block;
	reader->delivered->references++;
	return true;
}

/*
 * Most records are samples: queue all ordinary samples that are in the buffer.  Any other record is
 * left to read_record().
 */
static void queue_samples(struct pesa_perfdata *reader, struct perfdata_stream *stream)
{
	const uint32_t place = reader->sample_time;
	const bool swap = reader->swap, in_file = stream == &reader->file;

	while (perfdata_stream_available(stream) >= HEADER_SIZE) {
		uint8_t *record = perfdata_stream_head(stream);
		const struct perfdata_record header = perfdata_record_header(record, swap);
		struct perfdata_queued queued = {
			.offset = stream->offset,
			.record = record,
			.block = stream->block,
		};
		struct pesa_error *error;

		/* Another thread wrote these bytes, so they are in the cache of its core. */
		__builtin_prefetch(record + SAMPLES_AHEAD);
		if (header.type != PERF_RECORD_SAMPLE ||
		    header.size < place + sizeof(queued.time) ||
		    header.size > perfdata_stream_available(stream))
			return;
		queued.time = perfdata_u64(record + place, swap);
		if (!queued.time || queued.time == UINT64_MAX)
			return;
		error = perfdata_queue_add(&reader->queue, &queued);
		if (error) { /* read_record() counts the record as damage */
			pesa_error_free(error);
			return;
		}
		stream->head += header.size;
		if (in_file)
			stream->offset += header.size;
	}
}

/* Read one record (or a run of samples) and process it.  True: *event is filled. */
static bool read_record(struct pesa_perfdata *reader, struct pesa_event *event)
{
	struct perfdata_stream *stream = &reader->plain;
	struct perfdata_record header;
	bool filled = false;
	uint8_t *record;

	if (!reader->decompressor || !record_at_head(reader, stream, &header)) {
		stream = &reader->file;
		if (!record_at_head(reader, stream, &header)) {
			end_of_file(reader);
			return false;
		}
	}
	if (header.type == PERF_RECORD_SAMPLE && reader->sample_time) {
		size_t before = stream->head;

		if (stream == &reader->file && !reader->fetch_tried)
			start_fetching(reader);
		queue_samples(reader, stream);
		if (stream->head != before)
			return false;
	}
	if (header.type == PERFDATA_RECORD_COMPRESSED && stream == &reader->file)
		submit_ahead(reader);
	record = perfdata_stream_head(stream);
	if (header.type < PERFDATA_RECORD_USER_FIRST)
		filled = kernel_record(reader, stream, record, &header, event);
	else
		user_record(reader, stream, record, &header);
	stream->head += header.size;
	if (stream == &reader->file) {
		stream->offset += header.size;
		skip_bytes(reader);
	}
	return filled;
}

/* At the end: report errors of the temporary file for waiting events as damage. */
static void spill_damage(struct pesa_perfdata *reader)
{
	struct perfdata_spill *spill = &reader->queue.spill;
	char *what;

	if (!spill->error)
		return;
	if (asprintf(&what, "a temporary file to sort events (%s; set TMPDIR)",
		     strerror(spill->error)) < 0)
		what = NULL;
	perfdata_damage(reader, spill->lost, 0, reader->file.offset,
			what ? what : "a temporary file to sort events");
	free(what);
	spill->error = 0;
	spill->lost = 0;
}

/* A sample with the counts of its group is handed out as those of its members, if the file describes
 * any of them. */
static bool begin_members(struct pesa_perfdata *reader, struct pesa_event *event)
{
	if (!perfdata_knows_members(reader))
		return true;
	reader->members.event = *event;
	return perfdata_next_member(reader, event);
}

int pesa_perfdata_next(struct pesa_perfdata *reader, struct pesa_event *event)
{
	for (;;) {
		struct perfdata_queued queued;

		if (perfdata_next_member(reader, event))
			return 1;
		if (reader->delivered)
			perfdata_block_put(&reader->pool, reader->delivered);
		reader->delivered = NULL;
		if (perfdata_queue_next(&reader->queue, &queued)) {
			reader->delivered = queued.block;
			if (reader->take_raw && perfdata_offer_raw(reader, queued.record))
				continue;
			if (deliver(reader, queued.record, queued.time, queued.offset, event) &&
			    begin_members(reader, event))
				return 1;
		} else if (!reader->ended) {
			if (read_record(reader, event)) {
				if (begin_members(reader, event))
					return 1;
				continue;
			}
			if (reader->ended)
				count_unqueued(reader, perfdata_queue_round(&reader->queue, true),
					       reader->queue.count, reader->file.offset,
					       "the last events (out of memory)");
		} else {
			spill_damage(reader);
			return 0;
		}
	}
}

/*
 * Process perf's own records at the start, so that attributes and features are known.  In a pipe
 * they exist only as records; so do the features in a file whose recorder was killed.
 */
void perfdata_read_first_records(struct pesa_perfdata *reader)
{
	struct perfdata_record header;

	while (record_at_head(reader, &reader->file, &header)) {
		struct pesa_event unused;

		if (header.type < PERFDATA_RECORD_USER_FIRST ||
		    header.type == PERFDATA_RECORD_COMPRESSED ||
		    header.type == PERFDATA_RECORD_COMPRESSED2)
			break;
		read_record(reader, &unused);
	}
}

void perfdata_streams_init(struct pesa_perfdata *reader)
{
	perfdata_queue_init(&reader->queue, &reader->pool);
	reader->file.pool = reader->plain.pool = &reader->pool;
	reader->file.context = reader->plain.context = reader;
	reader->file.fill = fill_file;
	reader->plain.fill = fill_plain;
}

void pesa_perfdata_offer_raw(struct pesa_perfdata *reader, pesa_raw_sample_function take,
			     void *context)
{
	reader->take_raw = take;
	reader->take_raw_context = context;
}

const struct pesa_perfdata_losses *pesa_perfdata_losses(const struct pesa_perfdata *reader)
{
	return &reader->losses;
}

void pesa_perfdata_progress(const struct pesa_perfdata *reader, uint64_t *done, uint64_t *total)
{
	*done = reader->parts_done + reader->file.offset;
	*total = reader->total_size;
}
