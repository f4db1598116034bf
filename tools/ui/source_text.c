/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/base/regular_file.h"
#include "tools/ui/source_text.h"

/* Larger files are not source text, bytes. */
#define SIZE_MAX_BYTES (64u << 20)

struct source {
	char *text;  /* lines are terminated */
	char **line; /* into text */
	size_t lines;
	UT_hash_handle hh;
	char path[];
};

struct source_texts {
	char *root;
	struct source *sources;
};

struct source_texts *source_texts_create(const char *root)
{
	struct source_texts *texts = calloc(1, sizeof(*texts));

	if (texts && root && !(texts->root = strdup(root))) {
		free(texts);
		return NULL;
	}
	return texts;
}

static void free_source(struct source *source)
{
	free(source->text);
	free(source->line);
	free(source);
}

void source_texts_free(struct source_texts *texts)
{
	struct source *source, *next;

	if (!texts)
		return;
	HASH_ITER(hh, texts->sources, source, next)
	{
		HASH_DEL(texts->sources, source);
		free_source(source);
	}
	free(texts->root);
	free(texts);
}

static FILE *open_file(const char *path)
{
	int descriptor = pesa_regular_file_open(path, 0);

	return descriptor < 0 ? NULL : fdopen(descriptor, "r");
}

/* *stream is NULL if there is no such file. */
static struct pesa_error *open_source(const struct source_texts *texts, const char *path,
				      FILE **stream)
{
	char *below;

	*stream = NULL;
	if (texts->root) {
		if (asprintf(&below, "%s/%s", texts->root, path) < 0)
			return pesa_error_no_memory();
		*stream = open_file(below);
		free(below);
	}
	if (!*stream)
		*stream = open_file(path);
	return NULL;
}

/* *text stays NULL if the file is too large. */
static struct pesa_error *read_whole(FILE *stream, char **result, size_t *size)
{
	char *text = NULL;
	size_t used = 0, room = 0;

	for (;;) {
		size_t got;

		if (used + 1 >= room) {
			size_t wanted = room ? room * 2 : 65536;
			char *grown = wanted <= SIZE_MAX_BYTES ? realloc(text, wanted) : NULL;

			if (!grown) {
				free(text);
				return wanted <= SIZE_MAX_BYTES ? pesa_error_no_memory() : NULL;
			}
			text = grown;
			room = wanted;
		}
		got = fread(text + used, 1, room - used - 1, stream);
		if (!got)
			break;
		used += got;
	}
	text[used] = '\0';
	*result = text;
	*size = used;
	return NULL;
}

static struct pesa_error *split(struct source *source, size_t size)
{
	size_t lines = 1, line = 0;

	for (size_t i = 0; i < size; i++)
		lines += source->text[i] == '\n';
	source->line = calloc(lines, sizeof(*source->line));
	if (!source->line)
		return pesa_error_no_memory();
	source->line[line++] = source->text;
	for (size_t i = 0; i < size; i++) {
		if (source->text[i] == '\n') {
			source->text[i] = '\0';
			source->line[line++] = source->text + i + 1;
		} else if ((unsigned char)source->text[i] < ' ' && source->text[i] != '\t') {
			source->text[i] = ' '; /* control characters are unsafe on a terminal */
		}
	}
	source->lines = lines;
	return NULL;
}

static struct pesa_error *read_source(const struct source_texts *texts, struct source *source)
{
	struct pesa_error *error;
	size_t size = 0;
	FILE *stream;

	error = open_source(texts, source->path, &stream);
	if (error || !stream)
		return error;
	error = read_whole(stream, &source->text, &size);
	fclose(stream);
	if (!error && source->text)
		error = split(source, size);
	return error;
}

static struct pesa_error *source_of(struct source_texts *texts, const char *path,
				    struct source **result)
{
	struct pesa_error *error;
	struct source *source;

	HASH_FIND_STR(texts->sources, path, source);
	if (!source) {
		source = calloc(1, sizeof(*source) + strlen(path) + 1);
		if (!source)
			return pesa_error_no_memory();
		strcpy(source->path, path);
		error = read_source(texts, source);
		if (error) {
			free_source(source);
			return error;
		}
		HASH_ADD_STR(texts->sources, path, source);
		if (!source->hh.tbl) {
			free_source(source);
			return pesa_error_no_memory();
		}
	}
	*result = source;
	return NULL;
}

struct pesa_error *source_text_line(struct source_texts *texts, const char *path, unsigned int line,
				    const char **text)
{
	struct source *source;
	struct pesa_error *error = source_of(texts, path, &source);

	if (!error)
		*text = line && line <= source->lines ? source->line[line - 1] : NULL;
	return error;
}

void source_texts_missing(const struct source_texts *texts,
			  void (*missing)(void *context, const char *path), void *context)
{
	const struct source *source;

	for (source = texts->sources; source; source = source->hh.next)
		if (!source->lines)
			missing(context, source->path);
}
