// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing perf.data: attributes, header, rounds, the end.  See writer.h for the parts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/perfdata/writer.h"

/* Features known at the start of a recording, in the order of perf's bits. */
static const enum perfdata_feature early_features[] = {
	PERFDATA_FEATURE_HOSTNAME,   PERFDATA_FEATURE_OSRELEASE,    PERFDATA_FEATURE_VERSION,
	PERFDATA_FEATURE_ARCH,	     PERFDATA_FEATURE_NRCPUS,	    PERFDATA_FEATURE_CPUDESC,
	PERFDATA_FEATURE_CPUID,	     PERFDATA_FEATURE_TOTAL_MEM,    PERFDATA_FEATURE_CMDLINE,
	PERFDATA_FEATURE_EVENT_DESC, PERFDATA_FEATURE_CPU_TOPOLOGY, PERFDATA_FEATURE_PMU_MAPPINGS,
	PERFDATA_FEATURE_COMPRESSED, PERFDATA_FEATURE_PMU_CAPS,
};

static bool early_feature_of_file(enum perfdata_feature feature)
{
	/* Features that are needed to interpret a file whose recorder was killed. */
	return feature == PERFDATA_FEATURE_ARCH || feature == PERFDATA_FEATURE_CMDLINE ||
	       feature == PERFDATA_FEATURE_EVENT_DESC || feature == PERFDATA_FEATURE_COMPRESSED ||
	       feature == PERFDATA_FEATURE_PMU_MAPPINGS || feature == PERFDATA_FEATURE_PMU_CAPS;
}

static void writer_free(struct pesa_perfdata_writer *writer)
{
	struct perfdata_build_id *build_id, *next;

	perfdata_sink_close(&writer->sink);
	for (unsigned int i = 0; i < writer->attribute_count; i++) {
		free(writer->attributes[i].name);
		free(writer->attributes[i].ids);
	}
	free(writer->attributes);
	for (unsigned int i = 0; i < writer->command_words; i++)
		free(writer->command[i]);
	free(writer->command);
	HASH_ITER(hh, writer->build_ids, build_id, next)
	{
		HASH_DEL(writer->build_ids, build_id);
		free(build_id->path);
		free(build_id);
	}
	perfdata_buffer_free(&writer->counts);
	free(writer->pmu);
	free(writer->arch);
	free(writer->cpu_description);
	free(writer->hostname);
	free(writer->os_release);
	perfdata_buffer_free(&writer->recordings);
	free(writer->cpu_id);
	perfdata_buffer_free(&writer->record);
	free(writer);
}

/* ---- Creating -------------------------------------------------------------------------------- */

static bool copy_text(char **copy, const char *text)
{
	if (text)
		*copy = strdup(text);
	return !text || *copy;
}

static struct pesa_error *copy_attribute(struct perfdata_writer_attribute *to,
					 const struct pesa_perfdata_writer_attribute *from,
					 uint64_t made_id)
{
	to->attr = from->attr;
	to->attr.size = PERF_ATTR_SIZE_VER7;
	to->id_count = from->ids ? from->id_count : 1;
	to->ids = calloc(to->id_count + 1, sizeof(*to->ids));
	if (!to->ids || !copy_text(&to->name, from->name ? from->name : "unknown"))
		return pesa_error_no_memory();
	if (from->ids)
		memcpy(to->ids, from->ids, to->id_count * sizeof(*to->ids));
	else
		to->ids[0] = made_id;
	return NULL;
}

static struct pesa_error *copy_options(struct pesa_perfdata_writer *writer,
				       const struct pesa_perfdata_writer_options *options)
{
	struct pesa_error *error;
	unsigned int words = 0;

	writer->compression = options->compression;
	writer->cpus = options->cpus ? options->cpus : 1;
	if (!copy_text(&writer->pmu, options->pmu ? options->pmu : "pesa") ||
	    !copy_text(&writer->arch, options->arch) ||
	    !copy_text(&writer->cpu_description, options->cpu_description) ||
	    !copy_text(&writer->cpu_id, options->cpu_id))
		return pesa_error_no_memory();
	writer->reproducible = options->reproducible;
	writer->recording_count = options->recording_count;
	writer->other_machine = options->machine;
	if (options->machine && (!copy_text(&writer->hostname, options->machine->hostname) ||
				 !copy_text(&writer->os_release, options->machine->os_release)))
		return pesa_error_no_memory();
	error = perfdata_recordings_build(options->recordings, options->recording_count,
					  &writer->recordings);
	if (error)
		return error;
	if (options->capabilities) {
		writer->capabilities = *options->capabilities;
		writer->has_capabilities = true;
	}
	while (options->command && options->command[words])
		words++;
	writer->command = calloc(words + 1, sizeof(*writer->command));
	if (!writer->command)
		return pesa_error_no_memory();
	for (; writer->command_words < words; writer->command_words++)
		if (!copy_text(&writer->command[writer->command_words],
			       options->command[writer->command_words]))
			return pesa_error_no_memory();
	writer->attributes = calloc(options->attribute_count, sizeof(*writer->attributes));
	if (!writer->attributes)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < options->attribute_count; i++) {
		writer->attribute_count++;
		error = copy_attribute(&writer->attributes[i], &options->attributes[i], i + 1);
		if (error)
			return error;
	}
	return NULL;
}

static struct pesa_error *check_options(const struct pesa_perfdata_writer_options *options)
{
	const uint64_t identifies = PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER;

	if (!options->attribute_count)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a perf.data file needs an attribute");
	if (options->compression < 0 || options->compression > ZSTD_maxCLevel())
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "compression level %d is not between 0 (none) and %d",
					 options->compression, ZSTD_maxCLevel());
	for (unsigned int i = 0; options->attribute_count > 1 && i < options->attribute_count; i++)
		if (!(options->attributes[i].attr.sample_type & identifies))
			return pesa_error_create(
				PESA_ERROR_ARGUMENT,
				"attribute %u of %u: its samples carry no ID, so that nobody can "
				"tell whose they are; add PERF_SAMPLE_IDENTIFIER to sample_type",
				i, options->attribute_count);
	return NULL;
}

/* Write header, ids and attributes. pesa_perfdata_finish() sets the features. */
static struct pesa_error *write_file_start(struct pesa_perfdata_writer *writer)
{
	struct perfdata_header header = {
		.magic = PERFDATA_MAGIC,
		.size = sizeof(header),
		.attr_size = PERF_ATTR_SIZE_VER7 + sizeof(struct perfdata_section),
	};
	struct perfdata_buffer start = {0};
	struct perfdata_section ids = {.offset = sizeof(header)};
	struct pesa_error *error;

	perfdata_buffer_zeros(&start, sizeof(header));
	for (unsigned int i = 0; i < writer->attribute_count; i++)
		perfdata_buffer_append(&start, writer->attributes[i].ids,
				       writer->attributes[i].id_count * sizeof(uint64_t));
	header.attributes.offset = start.size;
	header.attributes.size = writer->attribute_count * header.attr_size;
	for (unsigned int i = 0; i < writer->attribute_count; i++) {
		ids.size = writer->attributes[i].id_count * sizeof(uint64_t);
		perfdata_buffer_append(&start, &writer->attributes[i].attr, PERF_ATTR_SIZE_VER7);
		perfdata_buffer_append(&start, &ids, sizeof(ids));
		ids.offset += ids.size;
	}
	header.data.offset = writer->data_offset = start.size;
	if (start.failed) {
		perfdata_buffer_free(&start);
		return pesa_error_no_memory();
	}
	memcpy(start.bytes, &header, sizeof(header));
	error = perfdata_sink_direct(&writer->sink, start.bytes, start.size);
	perfdata_buffer_free(&start);
	return error;
}

/* Write an attribute's name, for readers that ignore the event description. */
static struct pesa_error *write_event_update(struct pesa_perfdata_writer *writer,
					     const struct perfdata_writer_attribute *attribute)
{
	struct perfdata_record head = {.type = PERFDATA_RECORD_EVENT_UPDATE};
	size_t length = strlen(attribute->name) + 1;
	struct perfdata_buffer *record = &writer->record;

	record->size = 0;
	perfdata_buffer_zeros(record, sizeof(head));
	perfdata_buffer_u64(record, PERFDATA_EVENT_UPDATE_NAME);
	perfdata_buffer_u64(record, attribute->ids[0]);
	perfdata_buffer_append(record, attribute->name, length);
	perfdata_buffer_zeros(record, -length % 8);
	if (record->failed)
		return pesa_error_no_memory();
	head.size = record->size;
	if (record->size > PERFDATA_RECORD_MAX)
		return NULL;
	memcpy(record->bytes, &head, sizeof(head));
	return perfdata_sink_direct(&writer->sink, record->bytes, record->size);
}

static struct pesa_error *write_pipe_start(struct pesa_perfdata_writer *writer)
{
	const struct perfdata_pipe_header header = {PERFDATA_MAGIC, sizeof(header)};
	struct pesa_error *error = perfdata_sink_direct(&writer->sink, &header, sizeof(header));
	struct perfdata_buffer *record = &writer->record;

	for (unsigned int i = 0; !error && i < writer->attribute_count; i++) {
		const struct perfdata_writer_attribute *attribute = &writer->attributes[i];
		struct perfdata_record head = {.type = PERFDATA_RECORD_ATTRIBUTE};
		size_t size =
			sizeof(head) + PERF_ATTR_SIZE_VER7 + attribute->id_count * sizeof(uint64_t);

		if (size > PERFDATA_RECORD_MAX)
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s: %" PRIu32
						 " ids do not fit into a pipe's attribute record; "
						 "record to a file",
						 attribute->name, attribute->id_count);
		head.size = size;
		record->size = 0;
		perfdata_buffer_append(record, &head, sizeof(head));
		perfdata_buffer_append(record, &attribute->attr, PERF_ATTR_SIZE_VER7);
		perfdata_buffer_append(record, attribute->ids,
				       attribute->id_count * sizeof(uint64_t));
		if (record->failed)
			return pesa_error_no_memory();
		error = perfdata_sink_direct(&writer->sink, record->bytes, record->size);
		if (!error)
			error = write_event_update(writer, attribute);
	}
	return error;
}

/*
 * perf 6.1 stops `--header-only` here.  For later versions of perf this is another feature
 * (CPU_DOMAIN_INFO): they read the zeros as an empty list.
 */
static struct pesa_error *write_end_of_features(struct pesa_perfdata_writer *writer)
{
	const struct {
		struct perfdata_record header;
		uint64_t feature, zeros[2];
	} record = {
		.header = {.type = PERFDATA_RECORD_FEATURE, .size = sizeof(record)},
		.feature = PERFDATA_FEATURE_END,
	};

	return perfdata_sink_direct(&writer->sink, &record, sizeof(record));
}

/* Features as records in the stream: all features of a pipe, and those of a file that are needed
 * early. */
static struct pesa_error *write_early_features(struct pesa_perfdata_writer *writer)
{
	struct perfdata_buffer *record = &writer->record;

	for (size_t i = 0; i < sizeof(early_features) / sizeof(early_features[0]); i++) {
		struct perfdata_record header = {.type = PERFDATA_RECORD_FEATURE};
		struct pesa_error *error;

		if (!writer->sink.streams && !early_feature_of_file(early_features[i]))
			continue;
		record->size = 0;
		perfdata_buffer_zeros(record, sizeof(header));
		perfdata_buffer_u64(record, early_features[i]);
		if (!perfdata_feature_build(writer, early_features[i], record))
			continue;
		perfdata_buffer_zeros(record, -record->size % 8);
		if (record->failed)
			return pesa_error_no_memory();
		if (record->size > PERFDATA_RECORD_MAX)
			continue; /* in a file it is written as a feature section */
		header.size = record->size;
		memcpy(record->bytes, &header, sizeof(header));
		error = perfdata_sink_direct(&writer->sink, record->bytes, record->size);
		if (error)
			return error;
	}
	return writer->sink.streams ? write_end_of_features(writer) : NULL;
}

/* Update the data size in the header of a file: perf refuses a data size of 0. */
static struct pesa_error *update_data_size(struct pesa_perfdata_writer *writer)
{
	uint64_t size = writer->sink.position - writer->data_offset;

	if (writer->sink.streams)
		return NULL;
	return perfdata_sink_rewrite(&writer->sink, offsetof(struct perfdata_header, data.size),
				     &size, sizeof(size));
}

struct pesa_error *pesa_perfdata_writer_create(const char *path,
					       const struct pesa_perfdata_writer_options *options,
					       struct pesa_perfdata_writer **result)
{
	struct pesa_error *error = check_options(options);
	struct pesa_perfdata_writer *writer;

	if (error)
		return error;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return pesa_error_no_memory();
	writer->sink.descriptor = -1;
	writer->first_sample = UINT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &writer->flushed);
	error = copy_options(writer, options);
	if (!error)
		error = perfdata_sink_open(&writer->sink, path, options->compression,
					   options->keep_previous);
	if (!error)
		error = writer->sink.streams ? write_pipe_start(writer) : write_file_start(writer);
	if (!error)
		error = write_early_features(writer);
	if (!error)
		error = update_data_size(writer);
	if (error) {
		writer_free(writer);
		return error;
	}
	*result = writer;
	return NULL;
}

/* ---- Rounds and the end ---------------------------------------------------------------------- */

struct pesa_error *pesa_perfdata_writer_flush(struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = perfdata_sink_flush(&writer->sink);

	clock_gettime(CLOCK_MONOTONIC, &writer->flushed);
	return error ? error : update_data_size(writer);
}

struct pesa_error *pesa_perfdata_write_round(struct pesa_perfdata_writer *writer)
{
	const struct perfdata_record round = {.type = PERFDATA_RECORD_FINISHED_ROUND,
					      .size = sizeof(round)};
	struct pesa_error *error = perfdata_sink_record(&writer->sink, &round, sizeof(round));
	struct timespec now;

	if (error)
		return error;
	if (writer->reproducible)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - writer->flushed.tv_sec < 2 &&
	    (now.tv_sec - writer->flushed.tv_sec) * 1000000000ll + now.tv_nsec -
			    writer->flushed.tv_nsec <
		    1000000000ll)
		return NULL;
	return pesa_perfdata_writer_flush(writer);
}

/* Write the table of sections in the order of their bits, then their contents, then the header
 * again. */
static struct pesa_error *finish_file(struct pesa_perfdata_writer *writer)
{
	struct perfdata_section sections[PERFDATA_FEATURES];
	struct perfdata_header header = {0};
	struct perfdata_buffer contents = {0};
	const uint64_t end = writer->sink.position;
	unsigned int count = 0;
	struct pesa_error *error;

	for (unsigned int feature = 0; feature < PERFDATA_FEATURES; feature++) {
		size_t start = contents.size;

		if (!perfdata_feature_build(writer, feature, &contents))
			continue;
		sections[count].offset = start;
		sections[count++].size = contents.size - start;
		header.features[feature / 64] |= 1ull << feature % 64;
	}
	if (contents.failed) {
		perfdata_buffer_free(&contents);
		return pesa_error_no_memory();
	}
	for (unsigned int i = 0; i < count; i++)
		sections[i].offset += end + count * sizeof(sections[0]);
	error = perfdata_sink_direct(&writer->sink, sections, count * sizeof(sections[0]));
	if (!error)
		error = perfdata_sink_direct(&writer->sink, contents.bytes, contents.size);
	perfdata_buffer_free(&contents);
	if (!error) /* last, because it marks the file as complete */
		error = perfdata_sink_rewrite(&writer->sink,
					      offsetof(struct perfdata_header, features),
					      header.features, sizeof(header.features));
	if (error) /* partial sections would be read as records */
		perfdata_sink_cut(&writer->sink, end);
	return error;
}

static struct pesa_error *finish_pipe(struct pesa_perfdata_writer *writer)
{
	struct perfdata_build_id *build_id = writer->build_ids;
	struct pesa_error *error = NULL;

	for (; !error && build_id; build_id = build_id->hh.next) {
		uint32_t type = PERFDATA_RECORD_BUILD_ID;

		writer->record.size = 0;
		perfdata_build_id_record(build_id, &writer->record);
		if (writer->record.failed)
			return pesa_error_no_memory();
		memcpy(writer->record.bytes, &type, sizeof(type));
		error = perfdata_sink_direct(&writer->sink, writer->record.bytes,
					     writer->record.size);
	}
	return error;
}

struct pesa_error *pesa_perfdata_writer_finish(struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = pesa_perfdata_write_round(writer);

	if (!error)
		error = pesa_perfdata_writer_flush(writer);
	if (!error)
		error = writer->sink.streams ? finish_pipe(writer) : finish_file(writer);
	if (error) /* disk full: the records written so far stay readable */
		pesa_error_free(update_data_size(writer));
	writer_free(writer);
	return error;
}

void pesa_perfdata_writer_abandon(struct pesa_perfdata_writer *writer)
{
	if (writer)
		writer_free(writer);
}
