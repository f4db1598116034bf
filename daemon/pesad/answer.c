// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers that take time.  See answer.h. */
#include "daemon/pesad/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "pesa/export.h"
#include "pesa/merge.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define PATIENCE      (30 * NS_PER_SECOND) /* with the collector, behind a cut */

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
	refuse(answer, 503, "the collector did not end an interval, or the daemon stops\n");
}

/* ---- A profile ----------------------------------------------------------------------------- */

/* Files of the intervals first to last that have one. */
struct files {
	char **paths;
	size_t count;
	uint64_t from, until;
};

static void files_free(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	free(files->paths);
}

/* Returns NULL, or why the files cannot be had. */
static const char *collect_files(struct pesad_answerer *answerer, uint32_t first, uint32_t last,
				 struct files *files)
{
	struct pesad_message message;

	files->paths = calloc(last - first + 1, sizeof(*files->paths));
	if (!files->paths)
		return "out of memory";
	for (uint32_t serial = first; serial <= last; serial++) {
		if (!pesad_intervals_find(answerer->intervals, serial, &message))
			return "an interval of it is not known any more; ask for fewer seconds";
		if (!*message.path)
			continue;
		files->paths[files->count] = strdup(message.path);
		if (!files->paths[files->count])
			return "out of memory";
		if (!files->count++)
			files->from = message.from;
		files->until = message.until;
	}
	return files->count ? NULL : "nothing was sampled in these seconds";
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

static struct pesa_error *export(const char *path, const struct files *files,
				 struct pesad_answer *answer)
{
	struct pesa_export_options options = {.format = PESA_EXPORT_PPROF,
					      .began = files->from,
					      .duration = files->until - files->from};
	FILE *out = open_memstream(&answer->data, &answer->size);
	struct pesa_error *error;

	if (!out)
		return pesa_error_no_memory();
	error = pesa_export_recording(path, NULL, &options, out);
	if (fclose(out) && !error)
		error = pesa_error_no_memory();
	return error;
}

static struct pesa_error *make_profile(struct pesad_answerer *answerer, const struct files *files,
				       struct pesad_answer *answer)
{
	struct pesa_error *error;
	char *merged = NULL;
	int file;

	if (files->count == 1)
		return export(files->paths[0], files, answer);
	if (asprintf(&merged, "%s/pesad-profile-XXXXXX", answerer->directory) < 0)
		return pesa_error_no_memory();
	file = mkstemp(merged);
	if (file < 0) {
		error = pesa_error_system(errno, "%s: cannot be made", merged);
	} else {
		close(file);
		error = merge(files, merged);
		if (!error)
			error = export(merged, files, answer);
		unlink(merged);
	}
	free(merged);
	return error;
}

void pesad_answer_profile(struct pesad_answerer *answerer, uint64_t seconds,
			  struct pesad_answer *answer)
{
	struct pesad_message first, last;
	struct pesa_error *error;
	struct files files = {0};
	const char *why;

	*answer = (struct pesad_answer){.status = 200, .file = -1};
	/* It begins where what is under way now is cut. */
	if (!pesad_intervals_wait(answerer->intervals, pesa_monotonic(), PATIENCE, &first) ||
	    !pesad_intervals_wait(answerer->intervals,
				  first.monotonic_until + seconds * NS_PER_SECOND, PATIENCE,
				  &last)) {
		refuse_late(answer);
		return;
	}
	why = collect_files(answerer, first.serial + 1, last.serial, &files);
	if (why) {
		refuse(answer, 503, "%s\n", why);
	} else {
		pthread_mutex_lock(&answerer->exporting);
		error = make_profile(answerer, &files, answer);
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

void pesad_answer_interval(struct pesad_answerer *answerer, uint32_t after, uint64_t seconds,
			   struct pesad_answer *answer)
{
	struct pesad_message *interval = &answer->interval;
	struct stat status;

	*answer = (struct pesad_answer){.status = 200, .file = -1};
	if (!pesad_intervals_wait_after(answerer->intervals, after,
					pesa_monotonic() + seconds * NS_PER_SECOND, PATIENCE,
					interval)) {
		refuse_late(answer);
		return;
	}
	if (!*interval->path) {
		/* The caller shall go on behind it. */
		answer->status = 204;
		return;
	}
	answer->file = open(interval->path, O_RDONLY | O_CLOEXEC);
	if (answer->file < 0 || fstat(answer->file, &status))
		refuse(answer, 503, "the interval's file cannot be read: %s\n", strerror(errno));
	else
		answer->size = (size_t)status.st_size;
}
