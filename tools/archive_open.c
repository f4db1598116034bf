// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings in archives: see archive_open.h. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tools/archive_open.h"

#define CHUNK	    (256 * 1024)
#define DESCRIPTORS 16

extern char **environ;

/* ---- Removing ------------------------------------------------------------------------------ */

/* Directories to be removed at exit. */
static char **extracted;
static size_t extracted_count;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

static void remove_extracted(void)
{
	for (size_t i = 0; i < extracted_count; i++) {
		nftw(extracted[i], remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
		free(extracted[i]);
	}
	free(extracted);
}

/* A new directory that is removed at exit; NULL with errno set when it cannot be made. */
static const char *make_directory(void)
{
	const char *base = getenv("TMPDIR");
	char **grown = realloc(extracted, (extracted_count + 1) * sizeof(*extracted));
	char *path;

	if (!grown)
		return NULL;
	if (!extracted && atexit(remove_extracted))
		return NULL;
	extracted = grown;
	if (asprintf(&path, "%s/pesa-archive-XXXXXX", base && *base ? base : "/tmp") < 0)
		return NULL;
	if (!mkdtemp(path)) {
		free(path);
		return NULL;
	}
	extracted[extracted_count++] = path;
	return path;
}

/* ---- Decompressing ------------------------------------------------------------------------- */

struct source {
	const char *path;
	int descriptor, pipe;
	uint8_t in[CHUNK], out[CHUNK];
	size_t available; /* of `in` */
	bool ended;
};

static struct pesa_error *refill(struct source *source)
{
	ssize_t got;

	do {
		got = read(source->descriptor, source->in, sizeof(source->in));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return pesa_error_system(errno, "cannot read %s", source->path);
	source->available = (size_t)got;
	source->ended = !got;
	return NULL;
}

/* To tar.  When it went away it has said why, or its status does. */
static struct pesa_error *hand_on(struct source *source, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(source->pipe, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EPIPE) {
			source->ended = true;
			return NULL;
		}
		if (written < 0)
			return pesa_error_system(errno, "cannot write to tar");
		bytes += written;
		size -= (size_t)written;
	}
	return NULL;
}

static struct pesa_error *damaged(const struct source *source, const char *why)
{
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "%s: cannot be decompressed (%s): the archive is damaged; copy it "
				 "again",
				 source->path, why);
}

typedef struct pesa_error *decompress_function(struct source *source);

static struct pesa_error *pass_plain(struct source *source)
{
	struct pesa_error *error = refill(source);

	while (!error && !source->ended) {
		error = hand_on(source, source->in, source->available);
		if (!error && !source->ended)
			error = refill(source);
	}
	return error;
}

static struct pesa_error *pass_zstd(struct source *source)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	struct pesa_error *error = context ? refill(source) : pesa_error_no_memory();
	size_t left = 0;

	while (!error && !source->ended) {
		ZSTD_inBuffer in = {source->in, source->available, 0};

		while (!error && !source->ended && in.pos < in.size) {
			ZSTD_outBuffer out = {source->out, sizeof(source->out), 0};

			left = ZSTD_decompressStream(context, &out, &in);
			if (ZSTD_isError(left))
				error = damaged(source, ZSTD_getErrorName(left));
			else
				error = hand_on(source, source->out, out.pos);
		}
		if (!error && !source->ended)
			error = refill(source);
		if (!error && source->ended && !source->available && left)
			error = damaged(source, "it is cut off");
	}
	ZSTD_freeDCtx(context);
	return error;
}

static struct pesa_error *inflate_all(struct source *source, z_stream *stream)
{
	struct pesa_error *error = refill(source);
	int status = Z_OK;

	while (!error && !source->ended && status != Z_STREAM_END) {
		stream->next_in = source->in;
		stream->avail_in = (uInt)source->available;
		while (!error && !source->ended && status == Z_OK && stream->avail_in) {
			stream->next_out = source->out;
			stream->avail_out = sizeof(source->out);
			status = inflate(stream, Z_NO_FLUSH);
			if (status != Z_OK && status != Z_STREAM_END)
				error = damaged(source, stream->msg ? stream->msg : "zlib");
			else
				error = hand_on(source, source->out,
						sizeof(source->out) - stream->avail_out);
		}
		if (!error && !source->ended && status != Z_STREAM_END)
			error = refill(source);
		if (!error && source->ended && !source->available)
			error = damaged(source, "it is cut off");
	}
	return error;
}

static struct pesa_error *pass_gzip(struct source *source)
{
	z_stream stream = {0};
	struct pesa_error *error;

	if (inflateInit2(&stream, 15 + 16) != Z_OK) /* windows of any size, gzip's header */
		return pesa_error_no_memory();
	error = inflate_all(source, &stream);
	inflateEnd(&stream);
	return error;
}

/* ---- Extracting ---------------------------------------------------------------------------- */

/* tar, which reads from *pipe.  -o: as the one who extracts, whoever owned the files. */
static struct pesa_error *start_tar(const char *directory, pid_t *tar, int *pipe_end)
{
	char *words[] = {(char *)"tar", (char *)"-xof",	   (char *)"-",
			 (char *)"-C",	(char *)directory, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], number;

	if (pipe2(ends, O_CLOEXEC))
		return pesa_error_system(errno, "cannot make a pipe");
	number = posix_spawn_file_actions_init(&actions);
	if (!number) {
		number = posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
		if (!number)
			number = posix_spawnp(tar, "tar", &actions, NULL, words, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[0]);
	*pipe_end = ends[1];
	if (!number)
		return NULL;
	close(ends[1]);
	return pesa_error_system(number, "cannot run tar, which extracts archives");
}

static struct pesa_error *extract(struct source *source, decompress_function *decompress,
				  const char *directory)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	struct pesa_error *error;
	int status;
	pid_t tar;

	error = start_tar(directory, &tar, &source->pipe);
	if (error)
		return error;
	sigaction(SIGPIPE, &ignore, &before);
	error = decompress(source);
	close(source->pipe);
	sigaction(SIGPIPE, &before, NULL);
	while (waitpid(tar, &status, 0) < 0)
		if (errno != EINTR)
			return error ? error : pesa_error_system(errno, "cannot wait for tar");
	if (!error && (!WIFEXITED(status) || WEXITSTATUS(status)))
		error = pesa_error_create(PESA_ERROR_FORMAT,
					  "%s: tar could not extract it below %s", source->path,
					  directory);
	return error;
}

/* How a tarball is compressed, by how it begins; NULL: it is none. */
static decompress_function *find_compression(const uint8_t *bytes, size_t size)
{
	static const struct {
		size_t offset, size;
		const char *magic;
		decompress_function *decompress;
	} kinds[] = {
		{0, 4, "\x28\xb5\x2f\xfd", pass_zstd},
		{0, 2, "\x1f\x8b", pass_gzip},
		{257, 5, "ustar", pass_plain},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (size >= kinds[i].offset + kinds[i].size &&
		    !memcmp(bytes + kinds[i].offset, kinds[i].magic, kinds[i].size))
			return kinds[i].decompress;
	return NULL;
}

static struct pesa_error *open_tarball(struct source *source, char **directory)
{
	decompress_function *decompress;
	struct pesa_error *error;
	uint8_t head[512];
	const char *extracted_to;
	char *recording;
	ssize_t size;

	size = pread(source->descriptor, head, sizeof(head), 0);
	decompress = size > 0 ? find_compression(head, (size_t)size) : NULL;
	if (!decompress)
		return NULL;
	extracted_to = make_directory();
	if (!extracted_to)
		return pesa_error_system(
			errno, "cannot make a directory to extract %s (set TMPDIR)", source->path);
	error = extract(source, decompress, extracted_to);
	if (error)
		return error;
	if (asprintf(directory, "%s/%s", extracted_to, ARCHIVE_DIRECTORY) < 0)
		return pesa_error_no_memory();
	if (asprintf(&recording, "%s/%s", *directory, ARCHIVE_RECORDING) < 0)
		recording = NULL;
	if (!recording || access(recording, R_OK))
		error = recording ? pesa_error_create(
					    PESA_ERROR_FORMAT,
					    "%s: has no %s/%s: was not made by pesa archive",
					    source->path, ARCHIVE_DIRECTORY, ARCHIVE_RECORDING)
				  : pesa_error_no_memory();
	free(recording);
	if (error)
		free(*directory);
	return error;
}

struct pesa_error *archive_open(const char *path, char **directory)
{
	struct pesa_error *error = NULL;
	struct source *source;
	struct stat status;
	char *recording;

	*directory = NULL;
	if (!strcmp(path, "-") || stat(path, &status))
		return NULL;
	if (S_ISDIR(status.st_mode)) {
		if (asprintf(&recording, "%s/%s", path, ARCHIVE_RECORDING) < 0)
			return pesa_error_no_memory();
		if (!access(recording, F_OK) && !(*directory = strdup(path)))
			error = pesa_error_no_memory();
		free(recording);
		return error;
	}
	if (!S_ISREG(status.st_mode))
		return NULL;
	source = malloc(sizeof(*source));
	if (!source)
		return pesa_error_no_memory();
	source->path = path;
	source->available = 0;
	source->ended = false;
	source->descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (source->descriptor >= 0) {
		error = open_tarball(source, directory);
		close(source->descriptor);
	} /* else whoever opens it as a recording says why that is not possible */
	if (error)
		*directory = NULL;
	free(source);
	return error;
}
