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

void source_texts_free(struct source_texts *texts)
{
	struct source *source, *next;

	if (!texts)
		return;
	HASH_ITER(hh, texts->sources, source, next)
	{
		HASH_DEL(texts->sources, source);
		free(source->text);
		free(source->line);
		free(source);
	}
	free(texts->root);
	free(texts);
}

static FILE *open_file(const char *path)
{
	int descriptor = pesa_regular_file_open(path, 0);

	return descriptor < 0 ? NULL : fdopen(descriptor, "r");
}

static FILE *open_source(const struct source_texts *texts, const char *path)
{
	FILE *stream = NULL;
	char *below;

	if (texts->root && asprintf(&below, "%s/%s", texts->root, path) >= 0) {
		stream = open_file(below);
		free(below);
	}
	return stream ? stream : open_file(path);
}

static char *read_whole(FILE *stream, size_t *size)
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
				return NULL;
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
	*size = used;
	return text;
}

static void split(struct source *source, size_t size)
{
	size_t lines = 1, line = 0;

	for (size_t i = 0; i < size; i++)
		lines += source->text[i] == '\n';
	source->line = calloc(lines, sizeof(*source->line));
	if (!source->line)
		return;
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
}

static struct source *source_of(struct source_texts *texts, const char *path)
{
	struct source *source;
	FILE *stream;
	size_t size = 0;

	HASH_FIND_STR(texts->sources, path, source);
	if (source)
		return source;
	source = calloc(1, sizeof(*source) + strlen(path) + 1);
	if (!source)
		return NULL;
	strcpy(source->path, path);
	HASH_ADD_STR(texts->sources, path, source);
	if (!source->hh.tbl) {
		free(source);
		return NULL;
	}
	stream = open_source(texts, path);
	if (!stream)
		return source;
	source->text = read_whole(stream, &size);
	fclose(stream);
	if (source->text)
		split(source, size);
	return source;
}

const char *source_text_line(struct source_texts *texts, const char *path, unsigned int line)
{
	struct source *source = source_of(texts, path);

	return source && line && line <= source->lines ? source->line[line - 1] : NULL;
}

void source_texts_missing(const struct source_texts *texts,
			  void (*missing)(void *context, const char *path), void *context)
{
	const struct source *source;

	for (source = texts->sources; source; source = source->hh.next)
		if (!source->lines)
			missing(context, source->path);
}
