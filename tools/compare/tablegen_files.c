/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of LLVM's source, and the differences that changes make: see tablegen_files.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/compare/tablegen_files.h"

#define FILE_SIZE_MAX (16u << 20)
#define CONTEXT	      3 /* lines around a change */

/* ---- Files ----------------------------------------------------------------------------------- */

static struct pesa_error *read_text(int descriptor, const char *path, char **text, size_t *size)
{
	struct stat status;
	size_t done = 0;

	if (fstat(descriptor, &status))
		return pesa_error_system(errno, "%s", path);
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_SIZE_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s is no regular file of at most 16 MB", path);
	*text = malloc((size_t)status.st_size + 1);
	if (!*text)
		return pesa_error_no_memory();
	while (done < (size_t)status.st_size) {
		ssize_t part = read(descriptor, *text + done, (size_t)status.st_size - done);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0) {
			free(*text);
			return pesa_error_system(errno, "%s: cannot read", path);
		}
		if (!part)
			break;
		done += (size_t)part;
	}
	(*text)[done] = '\0';
	*size = done;
	return NULL;
}

static struct pesa_error *open_file(struct tablegen_files *files, char *name,
				    struct tablegen_file *file)
{
	struct pesa_error *error;
	char *path = NULL;
	size_t size;
	int descriptor;

	*file = (struct tablegen_file){.name = name};
	if (asprintf(&path, "%s/%s", files->folder, name) < 0)
		return pesa_error_no_memory();
	descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (descriptor < 0) {
		error = pesa_error_system(errno, "%s: cannot open", path);
	} else {
		error = read_text(descriptor, path, &file->text, &size);
		close(descriptor);
		if (!error)
			error = pesa_error_prefix(tablegen_parse(file->text, size, &file->tablegen),
						  "%s:", path);
	}
	free(path);
	if (error)
		free(file->text);
	return error;
}

struct pesa_error *tablegen_files_get(struct tablegen_files *files, const char *name, size_t length,
				      struct tablegen_file **file)
{
	struct tablegen_file *larger;
	struct pesa_error *error;
	char *copy;

	for (size_t i = 0; i < files->count; i++)
		if (strlen(files->file[i].name) == length &&
		    !strncmp(files->file[i].name, name, length)) {
			*file = &files->file[i];
			return NULL;
		}
	if (!length || *name == '.' || memchr(name, '/', length))
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"the model names a file '%.*s', which is no name of a file", (int)length,
			name);
	copy = strndup(name, length);
	larger = realloc(files->file, (files->count + 1) * sizeof(*larger));
	if (larger)
		files->file = larger;
	if (!copy || !larger) {
		free(copy);
		return pesa_error_no_memory();
	}
	error = open_file(files, copy, &files->file[files->count]);
	if (error) {
		free(copy);
		return error;
	}
	*file = &files->file[files->count++];
	return NULL;
}

void tablegen_files_free(struct tablegen_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		struct tablegen_file *file = &files->file[i];

		for (size_t j = 0; j < file->replacements; j++)
			free(file->replacement[j].text);
		free(file->replacement);
		for (size_t j = 0; j < file->givens; j++)
			free(file->given[j].value);
		free(file->given);
		tablegen_free(&file->tablegen);
		free(file->text);
		free(file->name);
	}
	free(files->file);
	files->file = NULL;
	files->count = 0;
}

struct pesa_error *tablegen_replace(struct tablegen_file *file, struct tablegen_span span,
				    const char *text)
{
	struct tablegen_replacement *larger =
		realloc(file->replacement, (file->replacements + 1) * sizeof(*larger));
	char *copy = strdup(text);

	if (larger)
		file->replacement = larger;
	if (!larger || !copy) {
		free(copy);
		return pesa_error_no_memory();
	}
	file->replacement[file->replacements] = (struct tablegen_replacement){
		.span = span, .text = copy, .order = (unsigned int)file->replacements};
	file->replacements++;
	return NULL;
}

struct pesa_error *tablegen_give(struct tablegen_file *file,
				 const struct tablegen_statement *statement, const char *field,
				 const char *value)
{
	struct tablegen_given *larger = realloc(file->given, (file->givens + 1) * sizeof(*larger));
	char *copy = strdup(value);

	if (larger)
		file->given = larger;
	if (!larger || !copy) {
		free(copy);
		return pesa_error_no_memory();
	}
	file->given[file->givens++] = (struct tablegen_given){
		.statement = statement,
		.field = field,
		.value = copy,
		.replacement = file->replacements - 1,
	};
	return NULL;
}

struct tablegen_given *tablegen_find_given(const struct tablegen_file *file,
					   const struct tablegen_statement *statement,
					   const char *field)
{
	for (size_t i = 0; i < file->givens; i++)
		if (file->given[i].statement == statement && !strcmp(file->given[i].field, field))
			return &file->given[i];
	return NULL;
}

struct pesa_error *tablegen_give_again(struct tablegen_file *file, struct tablegen_given *given,
				       const char *value)
{
	struct tablegen_replacement *one = &file->replacement[given->replacement];
	char *copy = strdup(value), *text = NULL, *old = strstr(one->text, given->value);

	if (!copy || !old ||
	    asprintf(&text, "%.*s%s%s", (int)(old - one->text), one->text, value,
		     old + strlen(given->value)) < 0) {
		free(copy);
		return pesa_error_no_memory();
	}
	free(one->text);
	one->text = text;
	free(given->value);
	given->value = copy;
	return NULL;
}

/* ---- Differences ----------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct tablegen_replacement *a = left, *b = right;

	if (a->span.start != b->span.start)
		return a->span.start < b->span.start ? -1 : 1;
	if (a->span.end != b->span.end)
		return a->span.end < b->span.end ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Whole lines of the text, and their replacement. */
struct change {
	size_t start, end; /* offsets of the lines */
	char *text;	   /* the replacement */
	const char *lines; /* in `text`: without unchanged lines at the beginning and end */
	size_t size;	   /* of `lines` */
};

static size_t line_start(const char *text, size_t at)
{
	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_after(const struct tablegen_file *file, size_t at)
{
	const char *end = memchr(file->text + at, '\n', file->tablegen.size - at);

	return end ? (size_t)(end - file->text) + 1 : file->tablegen.size;
}

/* The change that begins with replacement *at, with all other replacements in the same lines. */
static struct pesa_error *next_change(const struct tablegen_file *file, size_t *at,
				      struct change *change)
{
	const struct tablegen_replacement *one = &file->replacement[*at];
	size_t from, size;
	FILE *out = open_memstream(&change->text, &size);

	if (!out)
		return pesa_error_no_memory();
	from = change->start = line_start(file->text, one->span.start);
	change->end = line_after(file, one->span.end > from ? one->span.end - 1 : from);
	for (; *at < file->replacements; ++*at) {
		one = &file->replacement[*at];
		if (one->span.start >= change->end)
			break;
		/* If replacements overlap, only the first one is applied. */
		if (one->span.start < from)
			continue;
		fwrite(file->text + from, 1, one->span.start - from, out);
		fputs(one->text, out);
		from = one->span.end;
		if (from > change->start && line_after(file, from - 1) > change->end)
			change->end = line_after(file, from - 1);
	}
	fwrite(file->text + from, 1, change->end - from, out);
	return fclose(out) ? pesa_error_no_memory() : NULL;
}

static size_t count_lines(const char *text, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += text[i] == '\n';
	return count + (size && text[size - 1] != '\n');
}

static void write_lines(FILE *out, char sign, const char *text, size_t size)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;

		fprintf(out, "%c%.*s\n", sign, (int)length, text);
		if (!end) {
			fputs("\\ No newline at end of file\n", out);
			return;
		}
		text += length + 1;
		size -= length + 1;
	}
}

/* Leave out unchanged lines at the beginning and end. */
static void trim(const struct tablegen_file *file, struct change *change)
{
	change->lines = change->text;
	change->size = strlen(change->text);
	while (change->start < change->end && change->size) {
		size_t length = line_after(file, change->start) - change->start;

		if (length > change->size ||
		    memcmp(file->text + change->start, change->lines, length))
			break;
		change->start += length;
		change->lines += length;
		change->size -= length;
	}
	while (change->start < change->end && change->size) {
		size_t begin = line_start(file->text, change->end - 1);
		size_t length = change->end - begin;

		if (length > change->size ||
		    memcmp(file->text + begin, change->lines + change->size - length, length))
			break;
		change->end = begin;
		change->size -= length;
	}
}

/* The place `lines` lines before or after one. */
static size_t lines_before(const char *text, size_t at, unsigned int lines, size_t least)
{
	while (lines-- && at > least)
		at = line_start(text, at - 1);
	return at;
}

static size_t lines_after(const struct tablegen_file *file, size_t at, unsigned int lines)
{
	while (lines-- && at < file->tablegen.size)
		at = line_after(file, at);
	return at;
}

/* Write the hunks: changes with overlapping context are in one hunk. */
static void write_hunks(const struct tablegen_file *file, const struct change *change, size_t count,
			FILE *out)
{
	long shift = 0;

	for (size_t first = 0, last; first < count; first = last) {
		size_t from = lines_before(file->text, change[first].start, CONTEXT, 0), at = from;
		size_t end = lines_after(file, change[first].end, CONTEXT);
		size_t old, new;
		char *body = NULL;
		FILE *hunk = open_memstream(&body, &(size_t){0});

		if (!hunk)
			return;
		for (last = first; last < count && change[last].start <= end; last++) {
			const struct change *one = &change[last];

			end = lines_after(file, one->end, CONTEXT);
			write_lines(hunk, ' ', file->text + at, one->start - at);
			write_lines(hunk, '-', file->text + one->start, one->end - one->start);
			write_lines(hunk, '+', one->lines, one->size);
			at = one->end;
		}
		end = lines_after(file, at, CONTEXT);
		write_lines(hunk, ' ', file->text + at, end - at);
		fclose(hunk);
		old = count_lines(file->text + from, end - from);
		new = old;
		for (const char *line = body; *line; line = strchr(line, '\n') + 1)
			new += (*line == '+') - (*line == '-');
		fprintf(out, "@@ -%zu,%zu +%ld,%zu @@\n%s", tablegen_line(&file->tablegen, from),
			old, (long)tablegen_line(&file->tablegen, from) + shift, new, body);
		shift += (long)new - (long)old;
		free(body);
	}
}

struct pesa_error *tablegen_write_diff(struct tablegen_files *files, const char *prefix, FILE *out)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < files->count && !error; i++) {
		struct tablegen_file *file = &files->file[i];
		struct change *change = calloc(file->replacements + 1, sizeof(*change));
		size_t count = 0;

		if (!change)
			return pesa_error_no_memory();
		if (file->replacements)
			qsort(file->replacement, file->replacements, sizeof(*file->replacement),
			      by_place);
		for (size_t at = 0; at < file->replacements && !error;) {
			error = next_change(file, &at, &change[count]);
			if (!error)
				trim(file, &change[count++]);
		}
		if (count && !error) {
			fprintf(out, "--- a/%s%s\n+++ b/%s%s\n", prefix, file->name, prefix,
				file->name);
			write_hunks(file, change, count, out);
		}
		for (size_t j = 0; j < count; j++)
			free(change[j].text);
		free(change);
	}
	return error;
}
