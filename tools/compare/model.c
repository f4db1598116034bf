/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa compare --write-model: the text of the model with the numbers of the findings in it.
 * Everything else, comments and order included, stays as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/comparison.h"

/* ---- Words of a line ----------------------------------------------------------------------- */

static bool begins(const char *word, size_t length, const char *prefix)
{
	return length >= strlen(prefix) && !strncmp(word, prefix, strlen(prefix));
}

static bool is_word(const char *word, size_t length, const char *other)
{
	return length == strlen(other) && !strncmp(word, other, length);
}

/* "a:NAME,b" with every number in it replaced. */
static void write_latencies(FILE *out, const char *list, size_t length, int value)
{
	size_t at = 0;

	while (at < length) {
		size_t end = at;

		while (end < length && list[end] != ',')
			end++;
		fprintf(out, "%d", value);
		while (at < end && list[at] != ':')
			at++;
		fprintf(out, "%.*s%s", (int)(end - at), list + at, end < length ? "," : "");
		at = end + 1;
	}
}

/* "R:[ACQUIRE-]RELEASE,..." with that of one resource replaced. */
static void write_uses(FILE *out, const char *list, size_t length, const char *resource, int value)
{
	size_t at = 0;

	while (at < length) {
		const char *one = list + at, *colon;
		size_t size = strcspn(one, ","), name;

		if (size > length - at)
			size = length - at;
		colon = memchr(one, ':', size);
		name = colon ? (size_t)(colon - one) : size;
		if (is_word(one, name, resource)) {
			const char *dash = colon ? memchr(colon, '-', size - name) : NULL;

			fprintf(out, "%s:%.*s%d", resource, dash ? (int)(dash - colon) : 0,
				dash ? colon + 1 : "", value);
		} else {
			fprintf(out, "%.*s", (int)size, one);
		}
		at += size + 1;
		if (at <= length)
			fputc(',', out);
	}
}

/* "OPERAND:CYCLES[:WRITES]" with the cycles replaced. */
static void write_advance(FILE *out, const char *text, size_t length, int value)
{
	const char *first = memchr(text, ':', length), *second;

	if (!first) {
		fprintf(out, "%.*s", (int)length, text);
		return;
	}
	second = memchr(first + 1, ':', length - (size_t)(first + 1 - text));
	fprintf(out, "%.*s%d", (int)(first + 1 - text), text, value);
	if (second)
		fprintf(out, "%.*s", (int)(length - (size_t)(second - text)), second);
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void write_class_word(FILE *out, const struct pesa_compare_finding *finding,
			     const char *word, size_t length)
{
	if (finding->kind == PESA_COMPARE_LATENCY && begins(word, length, "latency=")) {
		fputs("latency=", out);
		write_latencies(out, word + 8, length - 8, finding->measured);
	} else if (finding->kind == PESA_COMPARE_LATENCY && strchr(finding->change, ' ') &&
		   begins(word, length, "uses=")) {
		/* A unit that is occupied for as long: "CLASS.latency=N CLASS.RESOURCE=N". */
		const char *name = strrchr(finding->change, '.') + 1;
		char resource[64];

		snprintf(resource, sizeof(resource), "%.*s", (int)strcspn(name, "="), name);
		fputs("uses=", out);
		write_uses(out, word + 5, length - 5, resource, finding->measured);
	} else if (finding->kind == PESA_COMPARE_CYCLES && begins(word, length, "uses=")) {
		fputs("uses=", out);
		write_uses(out, word + 5, length - 5, finding->resource, finding->measured);
	} else if (finding->kind == PESA_COMPARE_ISSUE && begins(word, length, "uops=")) {
		fprintf(out, "uops=%s", strrchr(finding->change, '=') + 1);
	} else if (finding->kind == PESA_COMPARE_ADVANCE && begins(word, length, "advance=")) {
		fputs("advance=", out);
		write_advance(out, word + 8, length - 8, finding->measured);
	} else {
		fprintf(out, "%.*s", (int)length, word);
	}
}

static void write_resource_word(FILE *out, const struct pesa_compare_finding *finding,
				const char *word, size_t length)
{
	if (finding->measured && begins(word, length, "units="))
		fprintf(out, "units=%d", finding->measured);
	else
		fprintf(out, "%.*s", (int)length, word);
}

/* One line, without its end, as a finding changes it.  NULL: out of memory. */
static char *change_line(const struct pesa_compare_finding *finding, const char *line)
{
	const char *first = line, *name = line + strcspn(line, " ");
	size_t first_length = (size_t)(name - first), name_length, size;
	bool class = is_word(first, first_length, "class");
	bool resource = is_word(first, first_length, "resource");
	bool group = is_word(first, first_length, "group");
	char *text = NULL;
	FILE *out;

	name += strspn(name, " ");
	name_length = strcspn(name, " ");
	class &= finding->kind != PESA_COMPARE_UNITS && !finding->varies &&
		 is_word(name, name_length, finding->scheduling_class);
	resource &= finding->kind == PESA_COMPARE_UNITS &&
		    is_word(name, name_length, finding->resource);
	group &= finding->kind == PESA_COMPARE_UNITS && !finding->measured;
	if (!class && !resource && !group)
		return strdup(line);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	while (*line) {
		size_t length = strcspn(line, " "), blanks;

		if (class)
			write_class_word(out, finding, line, length);
		else if (resource)
			write_resource_word(out, finding, line, length);
		else if (!is_word(line, length, finding->resource))
			fprintf(out, "%.*s", (int)length, line);
		line += length;
		blanks = strspn(line, " ");
		fprintf(out, "%.*s", (int)blanks, line);
		line += blanks;
	}
	/* A resource of one unit need not say so. */
	if (resource && finding->measured && !strstr(name, "units="))
		fprintf(out, " units=%d", finding->measured);
	fclose(out);
	return text;
}

static bool write_line(const struct comparison *comparison, FILE *out, const char *line,
		       size_t length)
{
	unsigned int count = pesa_compare_finding_count(comparison->compare);
	char *text = strndup(line, length);

	for (unsigned int i = 0; i < count && text; i++) {
		char *changed = change_line(pesa_compare_finding(comparison->compare, i), text);

		free(text);
		text = changed;
	}
	if (text)
		fprintf(out, "%s\n", text);
	free(text);
	return text != NULL;
}

static void write_head(const struct comparison *comparison, FILE *out)
{
	fprintf(out, "# %s, with what pesa compare found in %s:\n", comparison->cpu,
		profile_base_name(comparison->wanted->input.path));
	for (unsigned int i = 0; i < pesa_compare_finding_count(comparison->compare); i++) {
		const struct pesa_compare_finding *finding =
			pesa_compare_finding(comparison->compare, i);

		fprintf(out, "#   %s, was %d\n", finding->change, finding->model);
	}
}

/* ---- All of it ----------------------------------------------------------------------------- */

static struct pesa_error *read_text(const char *path, char **text, size_t *size)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;

	*text = NULL;
	*size = 0;
	if (!file)
		return pesa_error_system(errno, "%s: cannot open the processor model", path);
	do {
		if (*size == room) {
			char *larger = realloc(*text, room = 2 * room + 65536);

			if (!larger) {
				free(*text);
				fclose(file);
				return pesa_error_no_memory();
			}
			*text = larger;
		}
		*size += fread(*text + *size, 1, room - *size, file);
	} while (!feof(file) && !ferror(file));
	fclose(file);
	return NULL;
}

static struct pesa_error *write_text(const struct comparison *comparison, const char *text,
				     size_t size)
{
	const char *path = comparison->wanted->write_model, *end = text + size;
	FILE *out = fopen(path, "we");
	bool done = true;

	if (!out)
		return pesa_error_system(errno, "%s: cannot create", path);
	write_head(comparison, out);
	while (text < end && done) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		size_t length = next ? (size_t)(next - text) : (size_t)(end - text);

		done = write_line(comparison, out, text, length);
		text += length + 1;
	}
	if (!done) {
		fclose(out);
		return pesa_error_no_memory();
	}
	done = !ferror(out);
	if (fclose(out) || !done)
		return pesa_error_system(errno, "%s: cannot write", path);
	return NULL;
}

struct pesa_error *compare_write_model(const struct comparison *comparison)
{
	const char *builtin;
	struct pesa_error *error;
	size_t size;
	char *text;

	if (!comparison->model_path) {
		builtin = pesa_mca_builtin_text(comparison->processor->name, &size);
		return write_text(comparison, builtin, size);
	}
	error = read_text(comparison->model_path, &text, &size);
	if (error)
		return error;
	error = write_text(comparison, text, size);
	free(text);
	return error;
}
