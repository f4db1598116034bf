// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing tarballs: see tar_writer.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "decoder/base/regular_file.h"
#include "tools/archive/tar_writer.h"

#define BLOCK 512
#define CHUNK (256 * 1024)
/* 1980-01-01, the earliest date that all archivers support */
#define FILE_TIME  315532800
#define SIZE_OCTAL UINT64_C(077777777777) /* largest number of 11 octal digits */
#define ZSTD_LEVEL 9
#define GZIP_LEVEL 6

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
		magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155],
		unused[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header of a tarball has 512 bytes");

enum compression { PLAIN, ZSTD, GZIP };

static const struct {
	const char *suffix;
	enum compression compression;
} suffixes[] = {
	{".tar.zst", ZSTD}, {".tzst", ZSTD}, {".tar.gz", GZIP}, {".tgz", GZIP}, {".tar", PLAIN},
};

struct tar_writer {
	char *path, *temporary;
	int descriptor; /* -1: not open */
	enum compression compression;
	ZSTD_CCtx *zstd;
	z_stream gzip;
	bool has_gzip;
	uint64_t written; /* before compression */
	uint8_t in[CHUNK], out[CHUNK];
};

static bool find_suffix(const char *path, enum compression *compression)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t size = strlen(suffixes[i].suffix);

		if (length <= size || strcmp(path + length - size, suffixes[i].suffix))
			continue;
		*compression = suffixes[i].compression;
		return true;
	}
	return false;
}

bool tar_writer_knows(const char *path)
{
	enum compression compression;

	return find_suffix(path, &compression);
}

/* ---- Bytes --------------------------------------------------------------------------------- */

static struct pesa_error *write_out(struct tar_writer *writer, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t written = write(writer->descriptor, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return pesa_error_system(errno, "cannot write %s", writer->path);
		at += written;
		size -= (size_t)written;
	}
	return NULL;
}

static struct pesa_error *put_zstd(struct tar_writer *writer, const void *bytes, size_t size,
				   bool end)
{
	ZSTD_inBuffer in = {bytes, size, 0};
	struct pesa_error *error = NULL;
	size_t left;

	do {
		ZSTD_outBuffer out = {writer->out, sizeof(writer->out), 0};

		left = ZSTD_compressStream2(writer->zstd, &out, &in,
					    end ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return pesa_error_create(PESA_ERROR_OTHER, "zstd: %s",
						 ZSTD_getErrorName(left));
		error = write_out(writer, writer->out, out.pos);
	} while (!error && (end ? left > 0 : in.pos < in.size));
	return error;
}

static struct pesa_error *put_gzip(struct tar_writer *writer, const void *bytes, size_t size,
				   bool end)
{
	struct pesa_error *error = NULL;
	z_stream *stream = &writer->gzip;

	stream->next_in = (Bytef *)bytes;
	stream->avail_in = (uInt)size;
	do {
		stream->next_out = writer->out;
		stream->avail_out = sizeof(writer->out);
		deflate(stream, end ? Z_FINISH : Z_NO_FLUSH);
		error = write_out(writer, writer->out, sizeof(writer->out) - stream->avail_out);
	} while (!error && !stream->avail_out);
	return error;
}

/* Write at most a chunk; with `end` the last one. */
static struct pesa_error *put(struct tar_writer *writer, const void *bytes, size_t size, bool end)
{
	writer->written += size;
	switch (writer->compression) {
	case ZSTD:
		return put_zstd(writer, bytes, size, end);
	case GZIP:
		return put_gzip(writer, bytes, size, end);
	default:
		return write_out(writer, bytes, size);
	}
}

/* Write zeros up to the end of the block. */
static struct pesa_error *pad(struct tar_writer *writer)
{
	static const uint8_t zeros[BLOCK];

	return put(writer, zeros, (size_t)(-writer->written % BLOCK), false);
}

/* ---- Headers ------------------------------------------------------------------------------- */

static struct pesa_error *put_header(struct tar_writer *writer, const char *name, uint64_t size,
				     char type)
{
	struct header header = {0};
	unsigned int sum = 0;
	char number[16];

	memcpy(header.name, name, strnlen(name, sizeof(header.name)));
	memcpy(header.mode, type == '5' ? "0000755" : "0000644", 8);
	memcpy(header.uid, "0000000", 8);
	memcpy(header.gid, "0000000", 8);
	snprintf(header.size, sizeof(header.size), "%011" PRIo64, (uint64_t)(size & SIZE_OCTAL));
	snprintf(header.mtime, sizeof(header.mtime), "%011o", FILE_TIME);
	memset(header.checksum, ' ', sizeof(header.checksum));
	header.type = type;
	memcpy(header.magic, "ustar", 6);
	memcpy(header.version, "00", 2);
	memcpy(header.user, "root", 4);
	memcpy(header.group, "root", 4);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += ((const uint8_t *)&header)[i];
	snprintf(number, sizeof(number), "%06o", sum);
	memcpy(header.checksum, number, 7);
	return put(writer, &header, sizeof(header), false);
}

/* "LENGTH KEY=VALUE\n"; LENGTH includes its own digits. */
static int extended_record(char *record, size_t room, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, length = rest;
	char digits[24];

	do { /* until the number of digits is stable */
		length = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", length);
	} while (length != rest + (size_t)snprintf(digits, sizeof(digits), "%zu", length));
	return snprintf(record, room, "%zu %s=%s\n", length, key, value);
}

/* Write an extended header for what does not fit into the ustar header. */
static struct pesa_error *put_extended(struct tar_writer *writer, const char *name, uint64_t size)
{
	size_t room = strlen(name) + 128, used = 0;
	struct pesa_error *error;
	char *records, number[24];

	if (strlen(name) < sizeof(((struct header *)0)->name) && size <= SIZE_OCTAL)
		return NULL;
	records = malloc(room);
	if (!records)
		return pesa_error_no_memory();
	if (strlen(name) >= sizeof(((struct header *)0)->name))
		used += (size_t)extended_record(records, room, "path", name);
	snprintf(number, sizeof(number), "%" PRIu64, size);
	if (size > SIZE_OCTAL)
		used += (size_t)extended_record(records + used, room - used, "size", number);
	error = put_header(writer, "pax", used, 'x');
	if (!error)
		error = put(writer, records, used, false);
	if (!error)
		error = pad(writer);
	free(records);
	return error;
}

/* ---- Entries ------------------------------------------------------------------------------- */

struct pesa_error *tar_writer_directory(struct tar_writer *writer, const char *name)
{
	struct pesa_error *error;
	char *with_slash;

	if (asprintf(&with_slash, "%s/", name) < 0)
		return pesa_error_no_memory();
	error = put_extended(writer, with_slash, 0);
	if (!error)
		error = put_header(writer, with_slash, 0, '5');
	free(with_slash);
	return error;
}

static struct pesa_error *put_contents(struct tar_writer *writer, const char *path, int descriptor,
				       uint64_t size)
{
	struct pesa_error *error = NULL;

	while (!error && size) {
		size_t wanted = size < sizeof(writer->in) ? (size_t)size : sizeof(writer->in);
		ssize_t got = read(descriptor, writer->in, wanted);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return pesa_error_system(errno, "cannot read %s", path);
		if (!got)
			return pesa_error_create(PESA_ERROR_OTHER,
						 "%s became shorter while it was archived", path);
		error = put(writer, writer->in, (size_t)got, false);
		size -= (uint64_t)got;
	}
	return error;
}

struct pesa_error *tar_writer_file(struct tar_writer *writer, const char *name, const char *path)
{
	int descriptor = pesa_regular_file_open(path, 0);
	struct pesa_error *error = NULL;
	struct stat status;

	if (descriptor < 0) {
		error = pesa_regular_file_failed(path);
	} else if (fstat(descriptor, &status)) {
		error = pesa_error_system(errno, "cannot read %s", path);
	} else {
		error = put_extended(writer, name, (uint64_t)status.st_size);
		if (!error)
			error = put_header(writer, name, (uint64_t)status.st_size, '0');
		if (!error)
			error = put_contents(writer, path, descriptor, (uint64_t)status.st_size);
		if (!error)
			error = pad(writer);
	}
	if (descriptor >= 0)
		close(descriptor);
	return error;
}

struct pesa_error *tar_writer_bytes(struct tar_writer *writer, const char *name, const void *bytes,
				    size_t size)
{
	const uint8_t *at = bytes;
	struct pesa_error *error = put_extended(writer, name, size);

	if (!error)
		error = put_header(writer, name, size, '0');
	while (!error && size) {
		size_t part = size < CHUNK ? size : CHUNK;

		error = put(writer, at, part, false);
		at += part;
		size -= part;
	}
	return error ? error : pad(writer);
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static void writer_free(struct tar_writer *writer)
{
	if (writer->descriptor >= 0)
		close(writer->descriptor);
	ZSTD_freeCCtx(writer->zstd);
	if (writer->has_gzip)
		deflateEnd(&writer->gzip);
	free(writer->path);
	free(writer->temporary);
	free(writer);
}

static struct pesa_error *start_compression(struct tar_writer *writer)
{
	if (writer->compression == ZSTD) {
		writer->zstd = ZSTD_createCCtx();
		if (!writer->zstd)
			return pesa_error_no_memory();
		ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1);
	} else if (writer->compression == GZIP) {
		/* zlib stores neither time nor name in the gzip header */
		if (deflateInit2(&writer->gzip, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return pesa_error_no_memory();
		writer->has_gzip = true;
	}
	return NULL;
}

struct pesa_error *tar_writer_create(const char *path, struct tar_writer **result)
{
	struct tar_writer *writer;
	struct pesa_error *error;
	struct stat status;

	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is no file", path);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return pesa_error_no_memory();
	writer->descriptor = -1;
	find_suffix(path, &writer->compression);
	writer->path = strdup(path);
	if (!writer->path ||
	    asprintf(&writer->temporary, "%s.%ld.part", path, (long)getpid()) < 0) {
		writer->temporary = NULL;
		writer_free(writer);
		return pesa_error_no_memory();
	}
	error = start_compression(writer);
	if (!error) {
		writer->descriptor =
			open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (writer->descriptor < 0)
			error = pesa_error_system(errno, "cannot create %s", path);
	}
	if (error)
		writer_free(writer);
	else
		*result = writer;
	return error;
}

void tar_writer_abandon(struct tar_writer *writer)
{
	if (!writer)
		return;
	unlink(writer->temporary);
	writer_free(writer);
}

struct pesa_error *tar_writer_finish(struct tar_writer *writer)
{
	static const uint8_t zeros[2 * BLOCK];
	struct pesa_error *error = put(writer, zeros, sizeof(zeros), true);

	if (!error && close(writer->descriptor))
		error = pesa_error_system(errno, "cannot write %s", writer->path);
	writer->descriptor = -1;
	if (!error && rename(writer->temporary, writer->path))
		error = pesa_error_system(errno, "cannot rename %s to %s", writer->temporary,
					  writer->path);
	if (error)
		unlink(writer->temporary);
	writer_free(writer);
	return error;
}
