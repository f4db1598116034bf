// SPDX-License-Identifier: GPL-2.0-or-later
/* Compressed files as a stream: see unpack.h. */
#include "decoder/base/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_BYTES 65536u
#define LZMA_MEMORY (UINT64_C(128) << 20) /* bytes: enough for the dictionaries of xz -9 */

enum outcome { GOES_ON, ENDED, DAMAGED };

struct pesa_unpack {
	int file;
	char *path;
	uint64_t done, total;
	bool at_end; /* of the file */
	bool over;   /* no more output */
	bool inside; /* within a compressed frame */
	const char *damage;
	/* read and not used yet */
	unsigned char input[INPUT_BYTES];
	size_t at, filled;
	enum outcome (*expand)(struct pesa_unpack *unpack, unsigned char *bytes, size_t size,
			       size_t *got);
	z_stream gzip;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	bool gzip_begun;
};

static enum outcome expand_plain(struct pesa_unpack *unpack, unsigned char *bytes, size_t size,
				 size_t *got)
{
	size_t left = unpack->filled - unpack->at;

	*got = left < size ? left : size;
	memcpy(bytes, unpack->input + unpack->at, *got);
	unpack->at += *got;
	return GOES_ON;
}

static enum outcome expand_gzip(struct pesa_unpack *unpack, unsigned char *bytes, size_t size,
				size_t *got)
{
	z_stream *gzip = &unpack->gzip;
	int status;

	gzip->next_in = unpack->input + unpack->at;
	gzip->avail_in = (uInt)(unpack->filled - unpack->at);
	gzip->next_out = bytes;
	gzip->avail_out = (uInt)size;
	status = inflate(gzip, Z_NO_FLUSH);
	unpack->at = unpack->filled - gzip->avail_in;
	*got = size - gzip->avail_out;
	/* No progress was possible; the state is unchanged. */
	if (status == Z_BUF_ERROR)
		return GOES_ON;
	unpack->inside = status != Z_STREAM_END;
	if (status == Z_STREAM_END)
		/* Another member may follow. */
		return inflateReset(gzip) == Z_OK ? GOES_ON : DAMAGED;
	return status == Z_OK ? GOES_ON : DAMAGED;
}

static enum outcome expand_zstd(struct pesa_unpack *unpack, unsigned char *bytes, size_t size,
				size_t *got)
{
	ZSTD_inBuffer in = {unpack->input, unpack->filled, unpack->at};
	ZSTD_outBuffer out = {bytes, size, 0};
	size_t status = ZSTD_decompressStream(unpack->zstd, &out, &in);

	*got = out.pos;
	if (in.pos != unpack->at || out.pos)
		unpack->inside = status != 0;
	unpack->at = in.pos;
	return ZSTD_isError(status) ? DAMAGED : GOES_ON;
}

static enum outcome expand_xz(struct pesa_unpack *unpack, unsigned char *bytes, size_t size,
			      size_t *got)
{
	lzma_stream *xz = &unpack->xz;
	lzma_ret status;

	xz->next_in = unpack->input + unpack->at;
	xz->avail_in = unpack->filled - unpack->at;
	xz->next_out = bytes;
	xz->avail_out = size;
	status = lzma_code(xz, unpack->at_end ? LZMA_FINISH : LZMA_RUN);
	unpack->at = unpack->filled - xz->avail_in;
	*got = size - xz->avail_out;
	unpack->inside = status != LZMA_STREAM_END;
	if (status == LZMA_STREAM_END)
		return ENDED;
	return status == LZMA_OK || status == LZMA_BUF_ERROR ? GOES_ON : DAMAGED;
}

/* Read more input; at the end of the file there is none. */
static struct pesa_error *fill(struct pesa_unpack *unpack)
{
	ssize_t got;

	if (unpack->at) {
		memmove(unpack->input, unpack->input + unpack->at, unpack->filled - unpack->at);
		unpack->filled -= unpack->at;
		unpack->at = 0;
	}
	do
		got = read(unpack->file, unpack->input + unpack->filled,
			   INPUT_BYTES - unpack->filled);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return pesa_error_system(errno, "%s: cannot be read", unpack->path);
	unpack->at_end = !got && unpack->filled < INPUT_BYTES;
	unpack->filled += (size_t)got;
	unpack->done += (size_t)got;
	return NULL;
}

static bool begins(const struct pesa_unpack *unpack, const char *magic, size_t size)
{
	return unpack->filled >= size && !memcmp(unpack->input, magic, size);
}

static struct pesa_error *choose(struct pesa_unpack *unpack)
{
	struct pesa_error *error = NULL;

	while (!error && !unpack->at_end && unpack->filled < 6)
		error = fill(unpack);
	if (error)
		return error;
	unpack->expand = expand_plain;
	if (begins(unpack, "\x1f\x8b", 2)) {
		if (inflateInit2(&unpack->gzip, 16 + MAX_WBITS) != Z_OK)
			return pesa_error_no_memory();
		unpack->gzip_begun = true;
		unpack->expand = expand_gzip;
	} else if (begins(unpack, "\x28\xb5\x2f\xfd", 4)) {
		unpack->zstd = ZSTD_createDStream();
		if (!unpack->zstd)
			return pesa_error_no_memory();
		unpack->expand = expand_zstd;
	} else if (begins(unpack,
			  "\xfd"
			  "7zXZ\0",
			  6)) {
		if (lzma_stream_decoder(&unpack->xz, LZMA_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
			return pesa_error_no_memory();
		unpack->expand = expand_xz;
	}
	return NULL;
}

struct pesa_error *pesa_unpack_open(const char *path, struct pesa_unpack **result)
{
	struct pesa_unpack *unpack = calloc(1, sizeof(*unpack));
	struct pesa_error *error;
	struct stat status;

	if (!unpack)
		return pesa_error_no_memory();
	unpack->file = -1;
	unpack->xz = (lzma_stream)LZMA_STREAM_INIT;
	unpack->path = strdup(strcmp(path, "-") ? path : "standard input");
	if (!unpack->path) {
		pesa_unpack_close(unpack);
		return pesa_error_no_memory();
	}
	unpack->file = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
					 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (unpack->file < 0) {
		error = pesa_error_system(errno, "%s", unpack->path);
		pesa_unpack_close(unpack);
		return error;
	}
	if (!fstat(unpack->file, &status) && S_ISREG(status.st_mode))
		unpack->total = (uint64_t)status.st_size;
	error = choose(unpack);
	if (error) {
		pesa_unpack_close(unpack);
		return error;
	}
	*result = unpack;
	return NULL;
}

struct pesa_error *pesa_unpack_read(struct pesa_unpack *unpack, void *bytes, size_t size,
				    size_t *got)
{
	struct pesa_error *error = NULL;

	*got = 0;
	while (!error && !unpack->over && !*got) {
		switch (unpack->expand(unpack, bytes, size, got)) {
		case DAMAGED:
			unpack->damage = "its compressed data is damaged";
			unpack->over = true;
			break;
		case ENDED:
			unpack->over = true;
			break;
		case GOES_ON:
			if (*got)
				break;
			if (unpack->at_end) {
				unpack->over = true;
				if (unpack->inside)
					unpack->damage = "its compressed data is cut off";
				break;
			}
			error = fill(unpack);
			break;
		}
	}
	return error;
}

const char *pesa_unpack_damage(const struct pesa_unpack *unpack)
{
	return unpack->damage;
}

void pesa_unpack_progress(const struct pesa_unpack *unpack, uint64_t *done, uint64_t *total)
{
	*done = unpack->done;
	*total = unpack->total;
}

void pesa_unpack_close(struct pesa_unpack *unpack)
{
	if (!unpack)
		return;
	if (unpack->file >= 0)
		close(unpack->file);
	if (unpack->gzip_begun)
		inflateEnd(&unpack->gzip);
	ZSTD_freeDStream(unpack->zstd);
	lzma_end(&unpack->xz);
	free(unpack->path);
	free(unpack);
}
