/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa compare --write-model: the text of the model with the numbers of the findings in it.
 * Everything else, comments and order included, stays as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/changes.h"
#include "tools/compare/model_text.h"

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

/* "R:[ACQUIRE-]RELEASE,..." with the release of one resource replaced. */
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
		if (model_is_word(one, name, resource)) {
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
	if (finding->kind == PESA_COMPARE_LATENCY && model_begins(word, length, "latency=")) {
		fputs("latency=", out);
		write_latencies(out, word + 8, length - 8, finding->measured);
	} else if (finding->kind == PESA_COMPARE_LATENCY && strchr(finding->change, ' ') &&
		   model_begins(word, length, "uses=")) {
		/* A unit that is occupied for as long: "CLASS.latency=N CLASS.RESOURCE=N". */
		const char *name = strrchr(finding->change, '.') + 1;
		char resource[64];

		snprintf(resource, sizeof(resource), "%.*s", (int)strcspn(name, "="), name);
		fputs("uses=", out);
		write_uses(out, word + 5, length - 5, resource, finding->measured);
	} else if (finding->kind == PESA_COMPARE_CYCLES && model_begins(word, length, "uses=")) {
		fputs("uses=", out);
		write_uses(out, word + 5, length - 5, finding->resource, finding->measured);
	} else if (finding->kind == PESA_COMPARE_ISSUE && model_begins(word, length, "uops=")) {
		fprintf(out, "uops=%s", strrchr(finding->change, '=') + 1);
	} else if (finding->kind == PESA_COMPARE_ADVANCE &&
		   model_begins(word, length, "advance=")) {
		fputs("advance=", out);
		write_advance(out, word + 8, length - 8, finding->measured);
	} else {
		fprintf(out, "%.*s", (int)length, word);
	}
}

static void write_resource_word(FILE *out, const struct pesa_compare_finding *finding,
				const char *word, size_t length)
{
	if (finding->measured && model_begins(word, length, "units="))
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

		written |= model_begins(line, length, "units=");
		if (!group)
			write_resource_word(out, finding, line, length);
		else if (!model_is_word(line, length, finding->resource))
			fprintf(out, "%.*s", (int)length, line);
		line += length;
		blanks = strspn(line, " ");
		fprintf(out, "%.*s", (int)blanks, line);
		line += blanks;
	}
	/* units=1 is the default of a resource. */
	if (!group && finding->measured && !written)
		fprintf(out, " units=%d", finding->measured);
	fputc('\n', out);
}

/* ---- The classes of one SchedWrite ----------------------------------------------------------- */

/* Write the lines below a class: those of the SchedWrite, or all others.  Returns whether there were
 * any instructions. */
static bool write_part(FILE *out, const struct model_lines *lines, size_t first, size_t end,
		       const char *write, bool of_write)
{
	bool inside = false, any = false;

	for (size_t i = first; i < end; i++) {
		if (model_is_line(lines->line[i], "write", NULL))
			inside = model_is_line(lines->line[i], "write", write);
		if (inside != of_write)
			continue;
		any |= *lines->line[i] != '#';
		if (out)
			fprintf(out, "%s\n", lines->line[i]);
	}
	return any;
}

/* Write a class, whose line is `first`, and the lines below it, up to `end`. If other classes share
 * its numbers, those of the SchedWrite get a line `class` of their own, named CLASS-WRITE. Returns
 * whether they do. */
static bool write_section(FILE *out, const struct compare_edit *edit,
			  const struct model_lines *lines, size_t first, size_t end)
{
	const char *write = edit->write, *line = lines->line[first];
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
	write_class_line(out, edit->finding, rest);
	write_part(out, lines, first + 1, end, write, true);
	return others;
}

/* Write a line `variant`; CLASS/WRITE is CLASS-WRITE/WRITE if it has been moved. */
static void write_variant(FILE *out, const char *line, const char *write, char *const *moved,
			  size_t count)
{
	while (*line) {
		size_t length = strcspn(line, " "), blanks;
		const char *slash = memchr(line, '/', length);
		bool renamed = false;

		for (size_t i = 0; i < count && slash; i++)
			renamed |= model_is_word(line, (size_t)(slash - line), moved[i]) &&
				   model_is_word(slash + 1, length - (size_t)(slash + 1 - line),
						 write);
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

static struct pesa_error *write_changed_write(FILE *out, const struct compare_edit *edit,
					      const struct model_lines *lines)
{
	const char *write = edit->write;
	char **moved = calloc(lines->count + 1, sizeof(*moved));
	size_t count = 0;
	bool done = moved != NULL;

	for (size_t i = 0, end; i < lines->count && done; i = end) {
		const char *line = lines->line[i];

		end = i + 1;
		if (model_is_line(line, "variant", NULL)) {
			write_variant(out, line, write, moved, count);
			continue;
		}
		if (!model_is_line(line, "class", NULL) || !strchr(line, ' ')) {
			fprintf(out, "%s\n", line);
			continue;
		}
		while (end < lines->count && model_is_below_class(lines->line[end]))
			end++;
		if (write_section(out, edit, lines, i, end)) {
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

/* ---- A change -------------------------------------------------------------------------------- */

static void write_changed_lines(FILE *out, const struct compare_edit *edit,
				const struct model_lines *lines)
{
	const struct pesa_compare_finding *finding = edit->finding;
	bool units = finding->kind == PESA_COMPARE_UNITS;

	for (size_t i = 0; i < lines->count; i++) {
		const char *line = lines->line[i];

		if (!units && model_is_line(line, "class", finding->scheduling_class))
			write_class_line(out, finding, line);
		else if (units && model_is_line(line, "resource", finding->resource))
			write_units_line(out, finding, line, false);
		else if (units && !finding->measured && model_is_line(line, "group", NULL))
			write_units_line(out, finding, line, true);
		else
			fprintf(out, "%s\n", line);
	}
}

/* Write a line `set` for each opcode of a change, before the line `end`. */
static void write_sets(FILE *out, const struct compare_edit *edit, const struct model_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		const char *rest = edit->finding->change;

		while (model_is_line(lines->line[i], "end", NULL) && *rest) {
			size_t length = strcspn(rest, " ");

			fprintf(out, "set %.*s\n", (int)length, rest);
			rest += length + strspn(rest + length, " ");
		}
		fprintf(out, "%s\n", lines->line[i]);
	}
}

/* Replace the text by one with the change in it. */
static struct pesa_error *change_text(const struct compare_edit *edit, char **text, size_t *size)
{
	struct model_lines lines;
	struct pesa_error *error = model_lines_split(*text, *size, &lines);
	FILE *out;

	*text = NULL;
	out = error ? NULL : open_memstream(text, size);
	if (!error && !out)
		error = pesa_error_no_memory();
	if (!error && edit->opcodes)
		write_sets(out, edit, &lines);
	else if (!error && edit->write)
		error = write_changed_write(out, edit, &lines);
	else if (!error)
		write_changed_lines(out, edit, &lines);
	if (out && fclose(out) && !error)
		error = pesa_error_no_memory();
	model_lines_free(&lines);
	return error;
}

static struct pesa_error *change_by_all(const struct comparison *comparison, char **text,
					size_t *size)
{
	struct compare_edits edits;
	struct pesa_error *error = compare_edits_list(comparison, &edits);

	if (error)
		return error;
	/* First the changes of whole lines, while these have all their instructions. */
	for (size_t i = 0; i < 2 * edits.count && !error; i++) {
		const struct compare_edit *edit = &edits.edit[i % edits.count];

		if (!edit->write == (i < edits.count))
			error = change_text(edit, text, size);
	}
	compare_edits_free(&edits);
	return error;
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
	size_t size;
	char *text;
	struct pesa_error *error = model_text_get(comparison, &text, &size);

	if (error)
		return error;
	error = change_by_all(comparison, &text, &size);
	if (!error)
		error = write_text(comparison, text, size);
	free(text);
	return error;
}
