/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembly source to instructions, see source.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/mca/reader.h"
#include "tools/ui/large_pages.h"

#define LARGE 65536 /* bytes of an input for which a large page is worth clearing */

struct pesa_error *mca_source_whole(struct mca_source *source, bool instruments)
{
	const struct mca_source_options options = {.instruments = instruments};
	struct mca_reader reader = {.options = &options, .source = source};

	return mca_markers_apply(&reader);
}

/* Read to the end.  A file that begins as an ELF file is refused; standard input is not looked at. */
static struct pesa_error *read_stream(FILE *file, const char *path, char **text, size_t *size)
{
	static const char elf[] = {0x7f, 'E', 'L', 'F'};
	struct stat status;
	size_t room = 0;

	if (!fstat(fileno(file), &status) && S_ISDIR(status.st_mode))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: is a directory", path);
	do {
		if (*size + 1 >= room) {
			char *larger = realloc(*text, room = 2 * room + 65536);

			if (!larger)
				return pesa_error_no_memory();
			*text = larger;
		}
		*size += fread(*text + *size, 1, room - *size - 1, file);
		if (file != stdin && *size >= sizeof(elf) && !memcmp(*text, elf, sizeof(elf)))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "%s is an ELF file: choose a part with --symbol, "
						 "--range or --branch-trace",
						 path);
	} while (!feof(file) && !ferror(file));
	return NULL;
}

static struct pesa_error *read_all(const char *path, char **text, size_t *size)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct pesa_error *error;

	*text = NULL;
	*size = 0;
	if (!file)
		return pesa_error_system(errno, "%s: cannot open", path);
	error = read_stream(file, path, text, size);
	if (file != stdin)
		fclose(file);
	return error;
}

static struct pesa_error *read_text(struct mca_reader *reader, const char *text, size_t size)
{
	struct pesa_error *error = mca_lines_scan(reader, text, size);
	bool done = false;

	if (!error)
		error = mca_assemble(reader, &done);
	if (!error && !done)
		error = mca_assemble_by_program(reader);
	/*
	 * Rejected statements were left out: try the built-in assembler again, which keeps more of
	 * the source's text than an object file does.
	 */
	if (!error && reader->changed_count) {
		mca_reader_clear(reader);
		error = mca_assemble(reader, &done);
		if (!error && !done)
			error = mca_assemble_by_program(reader);
	}
	return error ? error : mca_markers_apply(reader);
}

struct pesa_error *mca_source_read(const struct mca_source_options *options,
				   struct mca_source *source)
{
	struct mca_reader reader = {.options = options, .source = source};
	struct pesa_error *error;
	char *text;
	size_t size;

	memset(source, 0, sizeof(*source));
	reader.name = strcmp(options->path, "-") ? options->path : "<stdin>";
	error = read_all(options->path, &text, &size);
	if (!error && size >= LARGE)
		large_pages_for_heap();
	if (!error)
		error = read_text(&reader, text, size);
	free(text);
	for (unsigned int i = 0; i < reader.marker_count; i++)
		free(reader.markers[i].text);
	free(reader.markers);
	free(reader.lines);
	for (unsigned int i = 0; i < reader.changed_count; i++)
		free(reader.changed[i]);
	free(reader.changed);
	free(reader.offsets);
	if (error)
		mca_source_free(source);
	return error;
}

void mca_source_free(struct mca_source *source)
{
	for (unsigned int i = 0; i < source->count; i++) {
		free(source->text[i]);
		if (source->comment)
			free(source->comment[i]);
	}
	for (unsigned int i = 0; i < source->region_count; i++)
		free(source->regions[i].name);
	free(source->text);
	free(source->comment);
	free(source->regions);
	free(source->instructions);
	free(source->address);
	memset(source, 0, sizeof(*source));
}
