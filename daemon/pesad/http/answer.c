// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers that take time.  See answer.h. */
#include "daemon/pesad/http/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/http/excerpt.h"
#include "daemon/pesad/base/watchdog.h"
#include "pesa/export.h"
#include "pesa/merge.h"

#define NS_PER_SECOND UINT64_C(1000000000)
/* time for the collector to respond after the requested time */
#define TIMEOUT (30 * NS_PER_SECOND)

static void __attribute__((format(printf, 3, 4)))
refuse(struct pesad_answer *answer, unsigned int status, const char *format, ...)
{
	va_list arguments;

	answer->status = status;
	va_start(arguments, format);
	vsnprintf(answer->text, sizeof(answer->text), format, arguments);
	va_end(arguments);
}

static void refuse_error(struct pesad_answer *answer, struct pesa_error *error)
{
	refuse(answer, 500, "%s\n", error->message);
	pesa_error_free(error);
}

static void refuse_late(struct pesad_answer *answer)
{
	refuse(answer, 503, "the collector did not answer, or the daemon stops\n");
}

/* ---- Files of pieces ----------------------------------------------------------------------- */

static bool is_whole(const struct pesad_piece *piece)
{
	return !piece->begin && piece->end == UINT64_MAX;
}

/* Create a file in the directory; the caller frees its name. */
static struct pesa_error *make_file(const struct pesad_answerer *answerer, char **path)
{
	int file;

	if (asprintf(path, "%s/pesad-profile-XXXXXX", answerer->directory) < 0) {
		*path = NULL;
		return pesa_error_no_memory();
	}
	file = mkstemp(*path);
	if (file >= 0) {
		close(file);
		return NULL;
	}
	return pesa_error_system(errno, "%s: cannot be made", *path);
}

/*
 * Write an excerpt of a piece.  If its interval ends meanwhile, the file is found by its new name.
 */
static struct pesa_error *take_out(struct pesad_answerer *answerer, struct pesad_piece *piece,
				   bool hide_kernel, int compression, const char *to)
{
	const struct pesad_excerpt excerpt = {.begin = piece->begin,
					      .end = piece->end,
					      .hide_kernel = hide_kernel,
					      .compression = compression};
	uint64_t hidden = 0;
	struct pesa_error *error = pesad_excerpt_write(piece->path, &excerpt, to, &hidden);

	if (error && access(piece->path, F_OK) &&
	    pesad_intervals_find_again(answerer->intervals, TIMEOUT, piece) && *piece->path) {
		pesa_error_free(error);
		error = pesad_excerpt_write(piece->path, &excerpt, to, &hidden);
	}
	pesad_count(&answerer->metrics->samples_hidden, hidden);
	return error;
}

/* ---- A profile ----------------------------------------------------------------------------- */

/* The files of several intervals that make up a profile. */
struct files {
	struct pesad_piece *pieces; /* one per interval */
	char **paths; /* files to export; temporary unless the original can be used as it is */
	bool *made;
	size_t count;
	uint64_t from, until;
};

static void files_free(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->made[i])
			unlink(files->paths[i]);
		free(files->paths[i]);
	}
	free(files->pieces);
	free(files->paths);
	free(files->made);
}

/* Returns NULL, or why the files are not available. */
static const char *collect_files(struct pesad_answerer *answerer, uint32_t first, uint32_t last,
				 struct files *files)
{
	size_t room = last - first + 1;
	struct pesad_piece piece;

	files->pieces = calloc(room, sizeof(*files->pieces));
	files->paths = calloc(room, sizeof(*files->paths));
	files->made = calloc(room, sizeof(*files->made));
	if (!files->pieces || !files->paths || !files->made)
		return "out of memory";
	for (uint32_t serial = first; serial <= last; serial++) {
		struct pesad_piece *before = files->count ? &files->pieces[files->count - 1] : NULL;

		if (!pesad_intervals_find(answerer->intervals, serial, &piece))
			return "an interval of it is not known any more; ask for fewer seconds";
		if (!*piece.path)
			continue;
		if (!files->count)
			files->from = piece.from;
		files->until = piece.until;
		if (before && before->interval == piece.interval) {
			piece.begin = before->begin;
			*before = piece;
		} else {
			files->pieces[files->count++] = piece;
		}
	}
	return files->count ? NULL : "nothing was sampled in these seconds";
}

static struct pesa_error *take_out_all(struct pesad_answerer *answerer, bool hide_kernel,
				       struct files *files)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < files->count && !error; i++) {
		struct pesad_piece *piece = &files->pieces[i];

		if (is_whole(piece) && !hide_kernel) {
			files->paths[i] = strdup(piece->path);
			if (!files->paths[i])
				error = pesa_error_no_memory();
			continue;
		}
		error = make_file(answerer, &files->paths[i]);
		files->made[i] = !error;
		if (!error)
			error = take_out(answerer, piece, hide_kernel, 0, files->paths[i]);
	}
	return error;
}

static struct pesa_error *merge(const struct files *files, const char *path)
{
	struct pesa_merge *merge;
	struct pesa_error *error = pesa_merge_create(&merge);
	const char *damage;

	if (error)
		return error;
	for (size_t i = 0; !error && i < files->count; i++)
		error = pesa_merge_add(merge, files->paths[i], &damage);
	if (!error)
		error = pesa_merge_arrange(merge);
	if (!error)
		error = pesa_merge_write(merge, path, 0);
	pesa_merge_free(merge);
	return error;
}

static struct pesa_error *export(const struct pesad_answerer *answerer, const char *path,
				 const struct files *files, struct pesad_answer *answer)
{
	struct pesa_export_options options = {.format = PESA_EXPORT_PPROF,
					      .began = files->from,
					      .duration = files->until - files->from};
	FILE *out = open_memstream(&answer->data, &answer->size);
	struct pesa_error *error;
	size_t refused;

	if (!out)
		return pesa_error_no_memory();
	error = pesa_export_recording(path, NULL, &options, out, &refused);
	pesad_count(&answerer->metrics->maps_refused[PESAD_WORKER_HTTP], refused);
	if (fclose(out) && !error)
		error = pesa_error_no_memory();
	return error;
}

static struct pesa_error *make_profile(struct pesad_answerer *answerer, bool hide_kernel,
				       struct files *files, struct pesad_answer *answer)
{
	struct pesa_error *error = take_out_all(answerer, hide_kernel, files);
	char *merged = NULL;

	if (error)
		return error;
	if (files->count == 1)
		return export(answerer, files->paths[0], files, answer);
	error = make_file(answerer, &merged);
	if (!error) {
		error = merge(files, merged);
		if (!error)
			error = export(answerer, merged, files, answer);
		unlink(merged);
	}
	free(merged);
	return error;
}

void pesad_answer_profile(struct pesad_answerer *answerer, bool hide_kernel, uint64_t seconds,
			  struct pesad_answer *answer)
{
	struct pesad_piece first, last;
	struct pesa_error *error;
	struct files files = {0};
	const char *why;

	*answer = (struct pesad_answer){.status = 200, .file = -1};
	/* Begin with a flush of the current interval. */
	if (!pesad_intervals_wait(answerer->intervals, pesa_monotonic(), TIMEOUT, &first) ||
	    !pesad_intervals_wait(answerer->intervals,
				  first.monotonic_until + seconds * NS_PER_SECOND, TIMEOUT,
				  &last)) {
		refuse_late(answer);
		return;
	}
	why = collect_files(answerer, first.serial + 1, last.serial, &files);
	if (why) {
		refuse(answer, 503, "%s\n", why);
	} else {
		pthread_mutex_lock(&answerer->exporting);
		pesad_watch_begin();
		error = make_profile(answerer, hide_kernel, &files, answer);
		pesad_watch_end();
		pthread_mutex_unlock(&answerer->exporting);
		if (error) {
			free(answer->data);
			answer->data = NULL;
			refuse_error(answer, error);
		}
	}
	files_free(&files);
}

/* ---- An interval --------------------------------------------------------------------------- */

/* Open the file itself if it is all of the piece, otherwise an unnamed excerpt. */
static struct pesa_error *open_interval(struct pesad_answerer *answerer, bool hide_kernel,
					struct pesad_answer *answer)
{
	struct pesad_piece *piece = &answer->interval;
	struct pesa_error *error;
	struct stat status;
	char *made = NULL;

	if (is_whole(piece) && !hide_kernel) {
		answer->file = open(piece->path, O_RDONLY | O_CLOEXEC);
	} else {
		error = make_file(answerer, &made);
		if (!error) {
			pthread_mutex_lock(&answerer->exporting);
			pesad_watch_begin();
			error = take_out(answerer, piece, hide_kernel, answerer->compression, made);
			pesad_watch_end();
			pthread_mutex_unlock(&answerer->exporting);
			answer->file = error ? -1 : open(made, O_RDONLY | O_CLOEXEC);
			unlink(made);
		}
		free(made);
		if (error)
			return error;
	}
	if (answer->file < 0 || fstat(answer->file, &status))
		return pesa_error_system(errno, "the interval's file cannot be read");
	answer->size = (size_t)status.st_size;
	return NULL;
}

void pesad_answer_interval(struct pesad_answerer *answerer, bool hide_kernel, uint32_t after,
			   uint64_t seconds, struct pesad_answer *answer)
{
	struct pesa_error *error;

	*answer = (struct pesad_answer){.status = 200, .file = -1};
	if (!pesad_intervals_wait_after(answerer->intervals, after,
					pesa_monotonic() + seconds * NS_PER_SECOND, TIMEOUT,
					&answer->interval)) {
		refuse_late(answer);
		return;
	}
	if (!*answer->interval.path) {
		/* The client continues after this piece. */
		answer->status = 204;
		return;
	}
	error = open_interval(answerer, hide_kernel, answer);
	if (!error)
		return;
	refuse(answer, 503, "%s\n", error->message);
	pesa_error_free(error);
}
