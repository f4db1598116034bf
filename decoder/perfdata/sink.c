// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/perfdata/writer.h"

#define PAYLOAD_MAX (PERFDATA_RECORD_MAX - sizeof(struct perfdata_record))

/* Rename an existing output file before it is overwritten, as perf does.  An empty file is not
 * kept; links and devices stay as they are. */
static struct pesa_error *keep_previous_file(const char *path)
{
	struct pesa_error *error = NULL;
	struct stat there;
	char *old;

	if (lstat(path, &there) || !S_ISREG(there.st_mode) || !there.st_size)
		return NULL;
	if (asprintf(&old, "%s.old", path) < 0)
		return pesa_error_no_memory();
	if (rename(path, old))
		error = pesa_error_system(errno, "cannot keep what is in %s as %s", path, old);
	free(old);
	return error;
}

/* Opening a named pipe waits for its reader.  Until it returns, signals must be able to interrupt
 * it, even if the recorder handles them in its own loop; afterwards the recorder handles them
 * again, because it has a file to finish. */
static int open_file(const char *path)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t interrupting, mask;
	int descriptor, reason;
	struct stat there;

	if (stat(path, &there) || !S_ISFIFO(there.st_mode))
		return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	sigemptyset(&interrupting);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&interrupting, ending[i]);
	pthread_sigmask(SIG_UNBLOCK, &interrupting, &mask);
	descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	reason = errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	errno = reason;
	return descriptor;
}

struct pesa_error *perfdata_sink_open(struct perfdata_sink *sink, const char *path, int compression,
				      bool keep_previous)
{
	struct pesa_error *error;
	bool standard = !strcmp(path, "-");
	int descriptor;

	sink->descriptor = -1;
	sink->path = strdup(standard ? "standard output" : path);
	sink->pending = malloc(PERFDATA_CHUNK_MAX);
	sink->pending_limit = PERFDATA_CHUNK_MAX;
	if (!sink->path || !sink->pending)
		return pesa_error_no_memory();
	if (compression) {
		sink->pending_limit = PERFDATA_CHUNK_MAX / 2;
		sink->compressor = ZSTD_createCCtx();
		sink->compressed = malloc(PERFDATA_RECORD_MAX);
		if (!sink->compressor || !sink->compressed)
			return pesa_error_no_memory();
		ZSTD_CCtx_setParameter(sink->compressor, ZSTD_c_compressionLevel, compression);
		ZSTD_CCtx_setParameter(sink->compressor, ZSTD_c_checksumFlag, 1);
	}
	error = keep_previous && !standard ? keep_previous_file(path) : NULL;
	if (error)
		return error;
	descriptor = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : open_file(path);
	if (descriptor < 0)
		return pesa_error_system(errno, "cannot create %s", sink->path);
	sink->descriptor = descriptor;
	sink->streams = standard || lseek(descriptor, 0, SEEK_CUR) < 0;
	return NULL;
}

bool pesa_perfdata_is_standard_output(const char *path)
{
	struct stat standard, there;

	if (!strcmp(path, "-"))
		return true;
	return !fstat(STDOUT_FILENO, &standard) && !stat(path, &there) &&
	       (S_ISFIFO(there.st_mode) || S_ISREG(there.st_mode)) &&
	       there.st_dev == standard.st_dev && there.st_ino == standard.st_ino;
}

void perfdata_sink_close(struct perfdata_sink *sink)
{
	if (sink->descriptor >= 0)
		close(sink->descriptor);
	ZSTD_freeCCtx(sink->compressor);
	free(sink->compressed);
	free(sink->pending);
	free(sink->path);
}

struct pesa_error *perfdata_sink_direct(struct perfdata_sink *sink, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t written = write(sink->descriptor, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return pesa_error_system(errno, "cannot write %s at offset %llu",
						 sink->path, (unsigned long long)sink->position);
		at += written;
		size -= written;
		sink->position += written;
	}
	return NULL;
}

struct pesa_error *perfdata_sink_rewrite(struct perfdata_sink *sink, uint64_t offset,
					 const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t written = pwrite(sink->descriptor, at, size, offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return pesa_error_system(errno, "cannot write %s at offset %llu",
						 sink->path, (unsigned long long)offset);
		at += written;
		size -= written;
		offset += written;
	}
	return NULL;
}

void perfdata_sink_cut(struct perfdata_sink *sink, uint64_t position)
{
	if (!ftruncate(sink->descriptor, (off_t)position))
		sink->position = position;
}

/* End of the last whole record that starts in the first half; at least one record. */
static size_t half_of_records(const uint8_t *records, size_t size)
{
	struct perfdata_record record;
	size_t at = 0;

	do {
		memcpy(&record, records + at, sizeof(record));
		at += record.size;
	} while (at < size / 2);
	return at;
}

static struct pesa_error *compress_records(struct perfdata_sink *sink, const uint8_t *records,
					   size_t size)
{
	while (size) {
		struct perfdata_record header = {.type = PERFDATA_RECORD_COMPRESSED};
		struct pesa_error *error;
		size_t part = size, bytes;

		for (;;) {
			size_t half;

			bytes = ZSTD_compress2(sink->compressor, sink->compressed + sizeof(header),
					       PAYLOAD_MAX, records, part);
			if (!ZSTD_isError(bytes))
				break;
			/* The frame does not fit into one record: retry from the start with less
			 * input. */
			half = half_of_records(records, part);
			if (half == part) { /* one record that does not compress */
				bytes = 0;
				break;
			}
			part = half;
			sink->pending_limit =
				part < PERFDATA_RECORD_MAX ? PERFDATA_RECORD_MAX : part;
		}
		if (!bytes) {
			error = perfdata_sink_direct(sink, records, part);
		} else {
			header.size = sizeof(header) + bytes;
			memcpy(sink->compressed, &header, sizeof(header));
			error = perfdata_sink_direct(sink, sink->compressed, header.size);
			sink->plain_bytes += part;
			sink->compressed_bytes += header.size;
			if (bytes < PAYLOAD_MAX / 2 && part == size &&
			    part + PERFDATA_RECORD_MAX >= sink->pending_limit &&
			    sink->pending_limit < PERFDATA_CHUNK_MAX) {
				sink->pending_limit += sink->pending_limit / 2;
				if (sink->pending_limit > PERFDATA_CHUNK_MAX)
					sink->pending_limit = PERFDATA_CHUNK_MAX;
			}
		}
		if (error)
			return error;
		records += part;
		size -= part;
	}
	return NULL;
}

struct pesa_error *perfdata_sink_flush(struct perfdata_sink *sink)
{
	size_t size = sink->pending_size;

	sink->pending_size = 0;
	if (sink->compressor)
		return compress_records(sink, sink->pending, size);
	return perfdata_sink_direct(sink, sink->pending, size);
}

struct pesa_error *perfdata_sink_record(struct perfdata_sink *sink, const void *record, size_t size)
{
	if (sink->pending_size + size > sink->pending_limit) {
		struct pesa_error *error = perfdata_sink_flush(sink);

		if (error)
			return error;
	}
	memcpy(sink->pending + sink->pending_size, record, size);
	sink->pending_size += size;
	return NULL;
}
