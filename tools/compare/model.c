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

/* Write a line `class` with the number of a finding. */
static void write_class_line(FILE *out, const struct pesa_compare_finding *finding,
			     const char *line)
{
	while (*line) {
		size_t length = strcspn(line, " "), blanks;

		write_class_word(out, finding, line, length);
		line += length;
		blanks = strspn(line, " ");
		fprintf(out, "%.*s", (int)blanks, line);
		line += blanks;
	}
	fputc('\n', out);
}

/* Write a line `resource` or `group` with the number of units of a finding. */
static void write_units_line(FILE *out, const struct pesa_compare_finding *finding,
			     const char *line, bool group)
{
	bool written = false;

	while (*line) {
		size_t length = strcspn(line, " "), blanks;

		written |= begins(line, length, "units=");
		if (!group)
			write_resource_word(out, finding, line, length);
		else if (!is_word(line, length, finding->resource))
			fprintf(out, "%.*s", (int)length, line);
		line += length;
		blanks = strspn(line, " ");
		fprintf(out, "%.*s", (int)blanks, line);
		line += blanks;
	}
	/* A resource of one unit need not say so. */
	if (!group && finding->measured && !written)
		fprintf(out, " units=%d", finding->measured);
	fputc('\n', out);
}

/* ---- Lines of a text ------------------------------------------------------------------------- */

struct lines {
	char *text;	   /* whose ends of lines are NUL */
	const char **line; /* `count` of them */
	size_t count;
};

static void free_lines(struct lines *lines)
{
	free(lines->text);
	free(lines->line);
}

/* Split a text, which then belongs to the lines. */
static struct pesa_error *split_lines(char *text, size_t size, struct lines *lines)
{
	*lines = (struct lines){.text = text, .line = calloc(size + 1, sizeof(*lines->line))};
	if (!lines->line)
		return pesa_error_no_memory();
	for (char *rest = text, *end = text + size; rest < end;) {
		char *next = memchr(rest, '\n', (size_t)(end - rest));

		if (next)
			*next = '\0';
		lines->line[lines->count++] = rest;
		rest = next ? next + 1 : end;
	}
	return NULL;
}

/* Whether a line is of this kind and has this name; any, if it is NULL. */
static bool is_line(const char *line, const char *kind, const char *name)
{
	const char *rest = line + strcspn(line, " ");

	if (!is_word(line, (size_t)(rest - line), kind))
		return false;
	rest += strspn(rest, " ");
	return !name || is_word(rest, strcspn(rest, " "), name);
}

/* Whether a line belongs to the line `class` above it. */
static bool is_below_class(const char *line)
{
	return *line == '\t' || *line == ' ' || *line == '#' || is_line(line, "write", NULL);
}

/* ---- The classes of one SchedWrite ----------------------------------------------------------- */

/* Write the lines below a class: those of the SchedWrite, or all others.  Returns whether there were
 * any instructions. */
static bool write_part(FILE *out, const struct lines *lines, size_t first, size_t end,
		       const char *write, bool of_write)
{
	bool inside = false, any = false;

	for (size_t i = first; i < end; i++) {
		if (is_line(lines->line[i], "write", NULL))
			inside = is_line(lines->line[i], "write", write);
		if (inside != of_write)
			continue;
		any |= *lines->line[i] != '#';
		if (out)
			fprintf(out, "%s\n", lines->line[i]);
	}
	return any;
}

/*
 * Write a class, whose line is `first`, and what is below it, up to `end`.  If others share its
 * numbers, the classes of the SchedWrite get a line `class` of their own, called CLASS-WRITE.
 * Returns whether they do.
 */
static bool write_section(FILE *out, const struct pesa_compare_finding *finding,
			  const struct lines *lines, size_t first, size_t end)
{
	const char *write = finding->scheduling_class, *line = lines->line[first];
	const char *name = line + strcspn(line, " ") + 1, *rest = name + strcspn(name, " ");
	bool some = write_part(NULL, lines, first + 1, end, write, true);
	bool others = write_part(NULL, lines, first + 1, end, write, false);

	if (!some || others)
		fprintf(out, "%s\n", line);
	if (others)
		write_part(out, lines, first + 1, end, write, false);
	if (!some)
		return false;
	fprintf(out, "class %.*s%s%s", (int)(rest - name), name, others ? "-" : "",
		others ? write : "");
	write_class_line(out, finding, rest);
	write_part(out, lines, first + 1, end, write, true);
	return others;
}

/* Write a line `variant`, in which CLASS/WRITE is called CLASS-WRITE/WRITE where it has been moved. */
static void write_variant(FILE *out, const char *line, const char *write, char *const *moved,
			  size_t count)
{
	while (*line) {
		size_t length = strcspn(line, " "), blanks;
		const char *slash = memchr(line, '/', length);
		bool renamed = false;

		for (size_t i = 0; i < count && slash; i++)
			renamed |= is_word(line, (size_t)(slash - line), moved[i]) &&
				   is_word(slash + 1, length - (size_t)(slash + 1 - line), write);
		if (renamed)
			fprintf(out, "%.*s-%s/%s", (int)(slash - line), line, write, write);
		else
			fprintf(out, "%.*s", (int)length, line);
		line += length;
		blanks = strspn(line, " ");
		fprintf(out, "%.*s", (int)blanks, line);
		line += blanks;
	}
	fputc('\n', out);
}

static struct pesa_error *write_changed_write(FILE *out, const struct pesa_compare_finding *finding,
					      const struct lines *lines)
{
	const char *write = finding->scheduling_class;
	char **moved = calloc(lines->count + 1, sizeof(*moved));
	size_t count = 0;
	bool done = moved != NULL;

	for (size_t i = 0, end; i < lines->count && done; i = end) {
		const char *line = lines->line[i];

		end = i + 1;
		if (is_line(line, "variant", NULL)) {
			write_variant(out, line, write, moved, count);
			continue;
		}
		if (!is_line(line, "class", NULL) || !strchr(line, ' ')) {
			fprintf(out, "%s\n", line);
			continue;
		}
		while (end < lines->count && is_below_class(lines->line[end]))
			end++;
		if (write_section(out, finding, lines, i, end)) {
			const char *name = strchr(line, ' ') + 1;

			moved[count] = strndup(name, strcspn(name, " "));
			done = moved[count++] != NULL;
		}
	}
	for (size_t i = 0; i < count; i++)
		free(moved[i]);
	free(moved);
	return done ? NULL : pesa_error_no_memory();
}

/* ---- A finding ------------------------------------------------------------------------------- */

static void write_changed_lines(FILE *out, const struct pesa_compare_finding *finding,
				const struct lines *lines)
{
	bool units = finding->kind == PESA_COMPARE_UNITS;

	for (size_t i = 0; i < lines->count; i++) {
		const char *line = lines->line[i];

		if (!units && is_line(line, "class", finding->scheduling_class))
			write_class_line(out, finding, line);
		else if (units && is_line(line, "resource", finding->resource))
			write_units_line(out, finding, line, false);
		else if (units && !finding->measured && is_line(line, "group", NULL))
			write_units_line(out, finding, line, true);
		else
			fprintf(out, "%s\n", line);
	}
}

/* Replace the text by one with the finding in it. */
static struct pesa_error *change_text(const struct pesa_compare_finding *finding, char **text,
				      size_t *size)
{
	struct lines lines;
	struct pesa_error *error = split_lines(*text, *size, &lines);
	FILE *out;

	*text = NULL;
	out = error ? NULL : open_memstream(text, size);
	if (!error && !out)
		error = pesa_error_no_memory();
	if (!error && finding->one_write)
		error = write_changed_write(out, finding, &lines);
	else if (!error)
		write_changed_lines(out, finding, &lines);
	if (out && fclose(out) && !error)
		error = pesa_error_no_memory();
	free_lines(&lines);
	return error;
}

/* Write a line `set` for each change of some opcodes of a class. */
static void write_sets(const struct comparison *comparison, FILE *out)
{
	for (unsigned int i = 0; i < pesa_compare_finding_count(comparison->compare); i++) {
		const struct pesa_compare_finding *finding =
			pesa_compare_finding(comparison->compare, i);
		const char *rest = finding->change;

		while (finding->some_opcodes && !finding->varies && *rest) {
			size_t length = strcspn(rest, " ");

			fprintf(out, "set %.*s\n", (int)length, rest);
			rest += length + strspn(rest + length, " ");
		}
	}
}

/* Add the lines `set` in front of the line `end`. */
static struct pesa_error *add_sets(const struct comparison *comparison, char **text, size_t *size)
{
	struct lines lines;
	struct pesa_error *error = split_lines(*text, *size, &lines);
	FILE *out;

	*text = NULL;
	out = error ? NULL : open_memstream(text, size);
	if (!error && !out)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < lines.count && out; i++) {
		if (is_line(lines.line[i], "end", NULL))
			write_sets(comparison, out);
		fprintf(out, "%s\n", lines.line[i]);
	}
	if (out && fclose(out) && !error)
		error = pesa_error_no_memory();
	free_lines(&lines);
	return error;
}

/* A finding whose numbers differ proposes no number. */
static struct pesa_error *change_by_all(const struct comparison *comparison, char **text,
					size_t *size)
{
	unsigned int count = pesa_compare_finding_count(comparison->compare);
	struct pesa_error *error = NULL;

	/* Those of whole lines first, while these have all their instructions. */
	for (unsigned int i = 0; i < 2 * count && !error; i++) {
		const struct pesa_compare_finding *finding =
			pesa_compare_finding(comparison->compare, i % count);

		if (!finding->varies && !finding->some_opcodes &&
		    finding->one_write == (i >= count))
			error = change_text(finding, text, size);
	}
	return error ? error : add_sets(comparison, text, size);
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
	const char *path = comparison->wanted->write_model;
	FILE *out = fopen(path, "we");
	bool done;

	if (!out)
		return pesa_error_system(errno, "%s: cannot create", path);
	write_head(comparison, out);
	done = fwrite(text, 1, size, out) == size && !ferror(out);
	if (fclose(out) || !done)
		return pesa_error_system(errno, "%s: cannot write", path);
	return NULL;
}

struct pesa_error *compare_write_model(const struct comparison *comparison)
{
	struct pesa_error *error = NULL;
	size_t size;
	char *text;

	if (comparison->model_path) {
		error = read_text(comparison->model_path, &text, &size);
	} else {
		const char *builtin = pesa_mca_builtin_text(comparison->processor->name, &size);

		text = malloc(size + 1);
		if (text)
			memcpy(text, builtin, size);
		else
			error = pesa_error_no_memory();
	}
	if (!error)
		error = change_by_all(comparison, &text, &size);
	if (!error)
		error = write_text(comparison, text, size);
	free(text);
	return error;
}
