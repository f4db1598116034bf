// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening a perf.data file, pipe or directory: header, attributes, position of the records. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/perfdata/reader.h"

#define IDS_MAX (1u << 22) /* sanity limit, over all attributes */

static struct pesa_error *read_exactly(struct pesa_perfdata *reader, void *bytes, size_t size)
{
	uint8_t *to = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t got = read(reader->descriptor, to + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pesa_error_system(errno, "cannot read %s", reader->path);
		if (!got)
			return pesa_error_create(
				PESA_ERROR_FORMAT,
				reader->file_position + done
					? "%s: ends within its header, it was cut off: record or copy it again"
					: "%s: is empty, its recording was interrupted: record again",
				reader->path);
		done += got;
	}
	reader->file_position += size;
	return NULL;
}

static struct pesa_error *bad_header(const struct pesa_perfdata *reader, const char *what)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%s: %s: the header is damaged", reader->path,
				 what);
}

/* The attribute section: for each attribute a struct perf_event_attr and the location of its
 * ids. */
static struct pesa_error *read_attributes(struct pesa_perfdata *reader,
					  const struct perfdata_header *header)
{
	const struct perfdata_section *section = &header->attributes;
	struct pesa_error *error = NULL;
	size_t entry = header->attr_size, count;
	uint8_t *bytes, *ids = NULL;

	if (entry < PERF_ATTR_SIZE_VER0 + sizeof(*section) || entry > PERFDATA_RECORD_MAX)
		return bad_header(reader, "attributes of an impossible size");
	if (section->offset > reader->file_size ||
	    section->size > reader->file_size - section->offset)
		return bad_header(reader, "attributes beyond the end of the file");
	count = section->size / entry;
	if (!count)
		return bad_header(reader, "no attributes");
	if (count > PERFDATA_ATTRIBUTES_MAX)
		return bad_header(reader, "more attributes than any recording has");
	bytes = malloc(entry);
	for (size_t i = 0; !error && i < count; i++) {
		struct perfdata_section id_section = {0};

		if (!bytes) {
			error = pesa_error_no_memory();
			break;
		}
		if (pread(reader->descriptor, bytes, entry, section->offset + i * entry) !=
		    (ssize_t)entry) {
			error = bad_header(reader, "attributes that cannot be read");
			break;
		}
		id_section.offset = perfdata_u64(bytes + entry - 16, reader->swap);
		id_section.size = perfdata_u64(bytes + entry - 8, reader->swap);
		if (id_section.offset > reader->file_size ||
		    id_section.size > reader->file_size - id_section.offset ||
		    id_section.size / sizeof(uint64_t) > IDS_MAX - reader->id_count) {
			perfdata_damage(reader, 0, 0, section->offset + i * entry,
					"an attribute with ids that cannot be");
			id_section.size = 0;
		}
		ids = malloc(id_section.size + 1);
		if (!ids)
			error = pesa_error_no_memory();
		else if (pread(reader->descriptor, ids, id_section.size, id_section.offset) !=
			 (ssize_t)id_section.size)
			error = bad_header(reader, "ids that cannot be read");
		else
			error = perfdata_attribute_add(reader, bytes, entry - sizeof(*section), ids,
						       id_section.size / sizeof(uint64_t));
		free(ids);
	}
	free(bytes);
	return error;
}

/* The bit map of features: 64-bit words, or 32-bit words from some other machines. */
static void swap_features(uint64_t features[4])
{
	for (unsigned int i = 0; i < 4; i++)
		features[i] = bswap_64(features[i]);
	if (features[0] >> PERFDATA_FEATURE_HOSTNAME & 1)
		return;
	for (unsigned int i = 0; i < 4; i++)
		features[i] = features[i] >> 32 | features[i] << 32;
}

/* A finished file has feature sections after its records. */
static bool no_features(const struct perfdata_header *header)
{
	for (size_t i = 0; i < sizeof(header->features) / sizeof(header->features[0]); i++)
		if (header->features[i])
			return false;
	return true;
}

static struct pesa_error *open_file(struct pesa_perfdata *reader, struct perfdata_header *header)
{
	const size_t start = sizeof(struct perfdata_pipe_header);
	struct pesa_error *error;
	uint64_t size;

	error = read_exactly(reader, (uint8_t *)header + start, sizeof(*header) - start);
	if (error)
		return error;
	if (reader->swap) {
		uint64_t *words = (uint64_t *)header;

		for (size_t i = 0; i < offsetof(struct perfdata_header, features) / 8; i++)
			words[i] = bswap_64(words[i]);
		swap_features(header->features);
	}
	if (header->data.offset < sizeof(*header) || header->data.offset > reader->file_size)
		return bad_header(reader, "records beyond the end of the file");
	error = read_attributes(reader, header);
	if (error)
		return error;
	size = reader->file_size - header->data.offset;
	if (!header->data.size || (header->data.size < size && no_features(header))) {
		/* Our writer updates the size periodically; more records may follow the stated
		 * end. */
		perfdata_damage(reader, 0, 0, header->data.offset,
				"the recorder was killed: the size of the data was not written");
	} else if (header->data.size > size) {
		perfdata_damage(reader, 0, header->data.size - size, reader->file_size,
				"the file is cut off");
	} else {
		size = header->data.size;
		error = perfdata_features_read(reader, header->data.offset + size,
					       header->features);
	}
	reader->file_position = reader->file.offset = header->data.offset;
	reader->data_end = header->data.offset + size;
	reader->claimed_end = reader->data_end;
	if (header->data.size > size) /* truncated */
		reader->claimed_end = UINT64_MAX - header->data.size < header->data.offset
					      ? UINT64_MAX
					      : header->data.offset + header->data.size;
	return error;
}

static struct pesa_error *open_stream(struct pesa_perfdata *reader)
{
	struct perfdata_header header;
	struct pesa_error *error;

	error = read_exactly(reader, &header, sizeof(struct perfdata_pipe_header));
	if (error)
		return error;
	if (header.magic != PERFDATA_MAGIC && header.magic != PERFDATA_MAGIC_SWAPPED)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s: is not a perf.data file (no PERFILE2 at its start); 'pesa record' writes one",
			reader->path);
	reader->swap = header.magic == PERFDATA_MAGIC_SWAPPED;
	reader->queue.swap = reader->swap;
	header.size = perfdata_u64(&header.size, reader->swap);
	if (header.size == sizeof(struct perfdata_pipe_header)) {
		reader->pipe = true;
		reader->file.offset = header.size;
		reader->data_end = reader->claimed_end = UINT64_MAX;
	} else if (header.size != sizeof(header)) {
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s: a header of %" PRIu64
					 " bytes: damaged, or another version of the format",
					 reader->path, header.size);
	} else if (!reader->file_size) {
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"%s: is a perf.data file that comes through a pipe, where it cannot be "
			"searched; give its path",
			reader->path);
	} else {
		error = open_file(reader, &header);
		if (error)
			return error;
	}
	perfdata_read_first_records(reader);
	if (!reader->attribute_count)
		return bad_header(reader, "no attributes before the first record");
	return NULL;
}

static struct pesa_error *open_descriptor(struct pesa_perfdata *reader, const char *path)
{
	bool standard = !strcmp(path, "-");
	struct stat status;

	reader->path = strdup(standard ? "standard input" : path);
	if (!reader->path)
		return pesa_error_no_memory();
	reader->descriptor = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
				      : open(path, O_RDONLY | O_CLOEXEC);
	if (reader->descriptor < 0)
		return pesa_error_system(errno, "cannot open %s", reader->path);
	if (fstat(reader->descriptor, &status))
		return pesa_error_system(errno, "cannot open %s", reader->path);
	if (S_ISDIR(status.st_mode))
		return perfdata_open_directory(reader);
	if (S_ISREG(status.st_mode))
		reader->file_size = reader->total_size = status.st_size;
	return NULL;
}

struct pesa_error *pesa_perfdata_open(const char *path, struct pesa_perfdata **result)
{
	struct pesa_perfdata *reader = calloc(1, sizeof(*reader));
	struct pesa_error *error;

	if (!reader)
		return pesa_error_no_memory();
	reader->descriptor = reader->directory = -1;
	perfdata_streams_init(reader);
	error = open_descriptor(reader, path);
	if (!error)
		error = open_stream(reader);
	if (!error)
		perfdata_recordings_damage(reader);
	if (error) {
		pesa_perfdata_close(reader);
		return error;
	}
	*result = reader;
	return NULL;
}

void pesa_perfdata_close(struct pesa_perfdata *reader)
{
	if (!reader)
		return;
	if (reader->delivered)
		perfdata_block_put(&reader->pool, reader->delivered);
	perfdata_stop_threads(reader);
	perfdata_queue_free(&reader->queue);
	perfdata_stream_close(&reader->file);
	perfdata_stream_close(&reader->plain);
	perfdata_pool_free(&reader->pool);
	ZSTD_freeDCtx(reader->decompressor);
	perfdata_attributes_free(reader);
	perfdata_features_free(reader);
	if (reader->descriptor >= 0)
		close(reader->descriptor);
	if (reader->directory >= 0)
		close(reader->directory);
	free(reader->losses.damage);
	free(reader->path);
	free(reader);
}
