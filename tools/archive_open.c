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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tools/archive_open.h"

#define COMPLAINT   256u /* bytes of what tar says that are told */
#define CHUNK	    (256 * 1024)
#define DESCRIPTORS 16

extern char **environ;

/* ---- Removing ------------------------------------------------------------------------------ */

/* What is kept until the process exits. */
static struct place {
	char *extracted; /* removed at exit; NULL: a directory that was there */
	char *directory, *recording;
} * places;
static size_t place_count;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

static void remove_places(void)
{
	for (size_t i = 0; i < place_count; i++) {
		if (places[i].extracted)
			nftw(places[i].extracted, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
		free(places[i].extracted);
		free(places[i].directory);
		free(places[i].recording);
	}
	free(places);
}

/* A new place; NULL: no memory. */
static struct place *add_place(void)
{
	struct place *grown = realloc(places, (place_count + 1) * sizeof(*places));

	if (!grown || (!places && atexit(remove_places))) {
		if (grown)
			places = grown;
		return NULL;
	}
	places = grown;
	grown[place_count] = (struct place){0};
	return &grown[place_count++];
}

/* Name the archive's directory and recording.  False: no memory. */
static bool name_place(struct place *place, const char *directory, const char *below)
{
	if (asprintf(&place->directory, "%s%s", directory, below) < 0)
		place->directory = NULL;
	if (!place->directory ||
	    asprintf(&place->recording, "%s/%s", place->directory, ARCHIVE_RECORDING) < 0)
		place->recording = NULL;
	return place->recording;
}

/* Make a directory that is removed at exit. */
static struct pesa_error *make_directory(struct place *place, const char *archive)
{
	const char *base = getenv("TMPDIR");
	char *path;

	if (asprintf(&path, "%s/pesa-archive-XXXXXX", base && *base ? base : "/tmp") < 0)
		return pesa_error_no_memory();
	if (mkdtemp(path)) {
		place->extracted = path;
		return NULL;
	}
	free(path);
	return pesa_error_system(errno, "cannot make a directory to extract %s (set TMPDIR)",
				 archive);
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

/* tar, which reads from *pipe and complains to a file.  -o: as the one who extracts, whoever owned
 * the files. */
static struct pesa_error *start_tar(const char *directory, int complaints, pid_t *tar,
				    int *pipe_end)
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
			number = posix_spawn_file_actions_adddup2(&actions, complaints,
								  STDERR_FILENO);
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

/* What tar said first, as the end of a message of ours. */
static void read_complaint(int complaints, char text[COMPLAINT])
{
	ssize_t size = pread(complaints, text + 2, COMPLAINT - 3, 0);

	memcpy(text, ": ", 2);
	text[size > 0 ? 2 + size : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

static struct pesa_error *extract_into(struct source *source, decompress_function *decompress,
				       const char *directory, int complaints)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	char complaint[COMPLAINT];
	struct pesa_error *error;
	int status;
	pid_t tar;

	error = start_tar(directory, complaints, &tar, &source->pipe);
	if (error)
		return error;
	sigaction(SIGPIPE, &ignore, &before);
	error = decompress(source);
	close(source->pipe);
	sigaction(SIGPIPE, &before, NULL);
	while (waitpid(tar, &status, 0) < 0)
		if (errno != EINTR)
			return error ? error : pesa_error_system(errno, "cannot wait for tar");
	/* Of what is cut off tar knows less than we do. */
	if (error || (WIFEXITED(status) && !WEXITSTATUS(status)))
		return error;
	read_complaint(complaints, complaint);
	return pesa_error_create(PESA_ERROR_FORMAT, "%s: tar could not extract it below %s%s",
				 source->path, directory, complaint);
}

static struct pesa_error *extract(struct source *source, decompress_function *decompress,
				  const char *directory)
{
	int complaints = memfd_create("tar", MFD_CLOEXEC);
	struct pesa_error *error;

	if (complaints < 0)
		return pesa_error_system(errno, "cannot make a file for what tar says");
	error = extract_into(source, decompress, directory, complaints);
	close(complaints);
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

static struct pesa_error *open_tarball(struct source *source, struct place **result)
{
	decompress_function *decompress;
	struct pesa_error *error;
	struct place *place;
	uint8_t head[512];
	ssize_t size;

	size = pread(source->descriptor, head, sizeof(head), 0);
	decompress = size > 0 ? find_compression(head, (size_t)size) : NULL;
	if (!decompress)
		return NULL;
	place = add_place();
	if (!place)
		return pesa_error_no_memory();
	error = make_directory(place, source->path);
	if (!error)
		error = extract(source, decompress, place->extracted);
	if (!error && !name_place(place, place->extracted, "/" ARCHIVE_DIRECTORY))
		error = pesa_error_no_memory();
	if (!error && access(place->recording, R_OK))
		error = pesa_error_create(PESA_ERROR_FORMAT,
					  "%s: has no %s/%s: was not made by pesa archive",
					  source->path, ARCHIVE_DIRECTORY, ARCHIVE_RECORDING);
	*result = place;
	return error;
}

static struct pesa_error *open_file(const char *path, struct place **place)
{
	struct source *source = malloc(sizeof(*source));
	struct pesa_error *error = NULL;

	if (!source)
		return pesa_error_no_memory();
	source->path = path;
	source->available = 0;
	source->ended = false;
	source->descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (source->descriptor >= 0) {
		error = open_tarball(source, place);
		close(source->descriptor);
	} /* else whoever opens it as a recording says why that is not possible */
	free(source);
	return error;
}

/* A directory with a recording in it, which perf record --threads makes none of. */
static struct pesa_error *open_directory(const char *path, struct place **result)
{
	struct place *place;
	char *recording;
	bool there;

	if (asprintf(&recording, "%s/%s", path, ARCHIVE_RECORDING) < 0)
		return pesa_error_no_memory();
	there = !access(recording, F_OK);
	free(recording);
	if (!there)
		return NULL;
	place = add_place();
	if (!place || !name_place(place, path, ""))
		return pesa_error_no_memory();
	*result = place;
	return NULL;
}

struct pesa_error *archive_open(const char *path, const char **directory, const char **recording)
{
	struct pesa_error *error = NULL;
	struct place *place = NULL;
	struct stat status;

	*directory = *recording = NULL;
	if (!strcmp(path, "-") || stat(path, &status))
		return NULL;
	if (S_ISDIR(status.st_mode))
		error = open_directory(path, &place);
	else if (S_ISREG(status.st_mode))
		error = open_file(path, &place);
	if (error || !place)
		return error;
	*directory = place->directory;
	*recording = place->recording;
	return NULL;
}
