/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the markers in assembly source, and makes the regions that they enclose. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/reader.h"

/* ---- Lines --------------------------------------------------------------------------------- */

static bool is_directive(const char *line, size_t length, const char *name)
{
	size_t size = strlen(name);

	while (length && isspace((unsigned char)*line)) {
		line++;
		length--;
	}
	return length >= size && !strncmp(line, name, size) &&
	       (length == size || isspace((unsigned char)line[size]));
}

/* Alignment directives are left out: their padding must not become instructions. */
static bool is_padding(const char *line, size_t length)
{
	static const char *const names[] = {".align", ".p2align", ".balign"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_directive(line, length, names[i]))
			return true;
	return false;
}

/* The offset of the comment in a line; the line's length if there is none. */
static size_t comment_start(const char *line, size_t length)
{
	bool quoted = false;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '"' && (!i || line[i - 1] != '\\'))
			quoted = !quoted;
		if (quoted)
			continue;
		if (line[i] == '#' || (line[i] == '/' && i + 1 < length && line[i + 1] == '/'))
			return i;
	}
	return length;
}

static struct pesa_error *add_marker(struct mca_reader *reader, const char *text, size_t length,
				     unsigned int line, bool after_vsetvli)
{
	struct mca_marker *larger = reader->markers;
	unsigned int count = reader->marker_count;

	if (!(count & (count - 1)))
		larger = realloc(larger, (count ? 2 * (size_t)count : 1) * sizeof(*larger));
	if (!larger)
		return pesa_error_no_memory();
	reader->markers = larger;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	larger[reader->marker_count] = (struct mca_marker){
		.text = strndup(text, length),
		.line = line,
		.after_vsetvli = after_vsetvli,
	};
	if (!larger[reader->marker_count].text)
		return pesa_error_no_memory();
	reader->marker_count++;
	return NULL;
}

static struct pesa_error *scan_line(struct mca_reader *reader, const char *line, size_t length,
				    unsigned int number, bool *vsetvli_before)
{
	size_t comment = comment_start(line, length), rest = length - comment;
	struct mca_line *result = &reader->lines[reader->line_count++];
	const char *body = line + comment;
	bool vsetvli = memmem(line, comment, "vset", 4) && (memmem(line, comment, "vsetvli", 7) ||
							    memmem(line, comment, "vsetivli", 8));
	struct pesa_error *error = NULL;

	*result = (struct mca_line){
		.text = line,
		.length = is_padding(line, comment) ? 0 : comment,
		.marker = -1,
		.comment = memchr(line, '/', length) ? memmem(line, length, "//", 2) : NULL,
	};
	if (result->comment)
		result->comment_length = line + length - result->comment;
	while (rest && (*body == '#' || *body == '/' || *body == ' ' || *body == '\t')) {
		body++;
		rest--;
	}
	if (rest > 9 && !strncmp(body, "LLVM-MCA-", 9)) {
		result->marker = reader->marker_count;
		error = add_marker(reader, body + 9, rest - 9, number, vsetvli || *vsetvli_before);
	}
	*vsetvli_before = vsetvli;
	return error;
}

struct pesa_error *mca_lines_scan(struct mca_reader *reader, const char *text, size_t size)
{
	const char *end = text + size;
	struct pesa_error *error = NULL;
	bool vsetvli_before = false;
	unsigned int number = 0;
	size_t count = 1;

	for (const char *at = text; (at = memchr(at, '\n', end - at)); at++)
		count++;
	reader->lines = malloc(count * sizeof(*reader->lines));
	if (!reader->lines)
		return pesa_error_no_memory();
	for (const char *line = text; line < end && !error;) {
		const char *next = memchr(line, '\n', end - line);

		error = scan_line(reader, line, (next ? next : end) - line, ++number,
				  &vsetvli_before);
		line = next ? next + 1 : end;
	}
	return error;
}

/* ---- Regions and instruments --------------------------------------------------------------- */

static struct pesa_error *fail_at(const struct mca_reader *reader, const struct mca_marker *marker,
				  const char *format, ...) __attribute__((format(printf, 3, 4)));
static struct pesa_error *fail_at(const struct mca_reader *reader, const struct mca_marker *marker,
				  const char *format, ...)
{
	struct pesa_error *error, *whole;
	va_list arguments;

	va_start(arguments, format);
	error = pesa_error_vcreate(PESA_ERROR_FORMAT, format, arguments);
	va_end(arguments);
	whole = pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: error: %s", reader->name, marker->line,
				  error->message);
	pesa_error_free(error);
	error = pesa_error_create(PESA_ERROR_FORMAT, "# LLVM-MCA-%s", marker->text);
	whole = pesa_error_lines(
		whole, (const char *const[]){error->message, " ^",
					     "error: There was an error parsing comments.", NULL});
	pesa_error_free(error);
	return whole;
}

/* The index of the first instruction at or after a marker. */
static unsigned int instruction_at(const struct mca_reader *reader, const struct mca_marker *marker)
{
	uint64_t place = (uint64_t)marker->section << 48 | marker->offset;
	unsigned int low = 0, high = reader->source->count;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (reader->offsets[middle] < place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct mca_source_region *find_open(struct mca_source *source, const char *name,
					   unsigned int *open)
{
	struct mca_source_region *found = NULL;

	*open = 0;
	while (source->closed < source->region_count && source->regions[source->closed].has_begin &&
	       source->regions[source->closed].has_end)
		source->closed++;
	for (unsigned int i = source->closed; i < source->region_count; i++) {
		struct mca_source_region *region = &source->regions[i];

		if (!region->has_begin || region->has_end)
			continue;
		++*open;
		if (!name || !strcmp(region->name, name))
			found = region;
	}
	return found;
}

static struct pesa_error *begin_region(struct mca_reader *reader, const struct mca_marker *marker,
				       const char *name)
{
	struct mca_source *source = reader->source;
	struct mca_source_region *region;
	unsigned int open;

	if (find_open(source, name, &open))
		return *name ? fail_at(reader, marker,
				       "overlapping regions cannot have the same name: %s", name)
			     : fail_at(reader, marker,
				       "found multiple overlapping anonymous regions");
	if (!open && source->region_count == 1 && !source->regions[0].has_begin &&
	    !source->regions[0].has_end) {
		region = &source->regions[0];
		free(region->name);
	} else {
		region = realloc(source->regions, (source->region_count + 1) * sizeof(*region));
		if (!region)
			return pesa_error_no_memory();
		source->regions = region;
		region += source->region_count++;
	}
	*region = (struct mca_source_region){
		.name = strdup(name),
		.has_begin = true,
		.first = instruction_at(reader, marker),
	};
	region->count = source->count - region->first;
	return region->name ? NULL : pesa_error_no_memory();
}

static struct pesa_error *end_region(struct mca_reader *reader, const struct mca_marker *marker,
				     const char *name)
{
	struct mca_source *source = reader->source;
	struct mca_source_region *region;
	unsigned int open, end = instruction_at(reader, marker);

	region = find_open(source, *name ? name : NULL, &open);
	if (!*name && open != 1) {
		region = find_open(source, "", &open);
		if (!open && source->region_count == 1 && !source->regions[0].has_begin &&
		    !source->regions[0].has_end)
			region = &source->regions[0];
	}
	if (!region)
		return fail_at(
			reader, marker,
			"found an invalid region end directive: there is no active region%s%s",
			*name ? " named " : "", name);
	region->has_end = true;
	region->count = end > region->first ? end - region->first : 0;
	return NULL;
}

/* The current values of the instruments; latency -1: none. */
struct instruments {
	enum pesa_mca_lmul lmul;
	unsigned int sew;
	int latency;
};

/* llvm-mca's message, which scripts of its users look for, and the values that are valid. */
static struct pesa_error *bad_instrument(const struct mca_reader *reader,
					 const struct mca_marker *marker, const char *instrument,
					 const char *data, const char *expected)
{
	return fail_at(reader, marker, "Failed to create %s instrument with %s%s; expected %s",
		       instrument, *data ? "data: " : "no data", data, expected);
}

static struct pesa_error *set_instrument(struct mca_reader *reader, const struct mca_marker *marker,
					 struct instruments *instruments)
{
	static const char *const lmuls[] = {"", "M1", "M2", "M4", "M8", "MF8", "MF4", "MF2"};
	const struct instruments before = *instruments;
	const char *data;
	char *end;
	long value;

	if (!strncmp(marker->text, "RISCV-LMUL", 10)) {
		data = marker->text + 10 + strspn(marker->text + 10, " \t");
		for (unsigned int i = 1; i < 8; i++)
			if (!strcmp(data, lmuls[i])) {
				instruments->lmul =
					marker->after_vsetvli ? before.lmul : (enum pesa_mca_lmul)i;
				return NULL;
			}
		return bad_instrument(reader, marker, "RISCV-LMUL", data,
				      "M1, M2, M4, M8, MF2, MF4 or MF8");
	}
	if (!strncmp(marker->text, "RISCV-SEW", 9)) {
		data = marker->text + 9 + strspn(marker->text + 9, " \t");
		value = *data == 'E' ? strtol(data + 1, &end, 10) : 0;
		if ((value == 8 || value == 16 || value == 32 || value == 64) && !*end) {
			instruments->sew = marker->after_vsetvli ? before.sew : (unsigned int)value;
			return NULL;
		}
		return bad_instrument(reader, marker, "RISCV-SEW", data, "E8, E16, E32 or E64");
	}
	if (!strncmp(marker->text, "LATENCY", 7)) {
		data = marker->text + 7 + strspn(marker->text + 7, " \t");
		value = strtol(data, &end, 10);
		if (*data && !*end && value >= 0 && value <= 32767) {
			instruments->latency = value;
			return NULL;
		}
		return bad_instrument(reader, marker, "LATENCY", data, "a number of cycles");
	}
	return fail_at(reader, marker,
		       "Unknown instrumentation type in LLVM-MCA comment: %.*s; expected "
		       "RISCV-LMUL, RISCV-SEW or LATENCY",
		       (int)strcspn(marker->text, " \t"), marker->text);
}

/* vsetvli and vsetivli set LMUL and SEW for the instructions after them. */
static void follow_vsetvli(const struct pesa_mca_instruction *instruction,
			   struct instruments *instruments)
{
	static const uint8_t lmuls[] = {PESA_MCA_LMUL_1,   PESA_MCA_LMUL_2,    PESA_MCA_LMUL_4,
					PESA_MCA_LMUL_8,   PESA_MCA_LMUL_NONE, PESA_MCA_LMUL_1_8,
					PESA_MCA_LMUL_1_4, PESA_MCA_LMUL_1_2};
	const char *name = pesa_opcode_get(instruction->insn.opcode)->name;
	uint64_t type;

	if (instruction->pseudo || (strcmp(name, "VSETVLI") && strcmp(name, "VSETIVLI")))
		return;
	type = instruction->insn.operand[2].value;
	if (lmuls[type & 7] == PESA_MCA_LMUL_NONE || (type >> 3 & 7) > 3)
		return;
	instruments->lmul = lmuls[type & 7];
	instruments->sew = 8u << (type >> 3 & 7);
}

struct pesa_error *mca_markers_apply(struct mca_reader *reader)
{
	struct mca_source *source = reader->source;
	struct instruments instruments = {.latency = -1};
	unsigned int instruction = 0;

	source->regions = calloc(1, sizeof(*source->regions));
	if (!source->regions)
		return pesa_error_no_memory();
	source->region_count = 1;
	source->regions[0] = (struct mca_source_region){.name = strdup(""), .count = source->count};
	if (!source->regions[0].name)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i <= reader->marker_count; i++) {
		const struct mca_marker *marker = NULL;
		unsigned int until = source->count;
		struct pesa_error *error = NULL;
		const char *text;

		if (i < reader->marker_count)
			marker = &reader->markers[i];
		if (marker && marker->placed)
			until = instruction_at(reader, marker);
		for (; reader->options->instruments && instruction < until; instruction++) {
			struct pesa_mca_instruction *entry = &source->instructions[instruction];

			follow_vsetvli(entry, &instruments);
			entry->lmul = instruments.lmul;
			entry->sew = instruments.sew;
			entry->latency = instruments.latency;
		}
		if (!marker)
			break;
		text = marker->text;
		if (!strncmp(text, "BEGIN", 5))
			error = begin_region(reader, marker, text + 5 + strspn(text + 5, " \t"));
		else if (!strncmp(text, "END", 3))
			error = end_region(reader, marker, text + 3 + strspn(text + 3, " \t"));
		else if (reader->options->instruments)
			/* A marker beside a vsetvli: in llvm-mca the vsetvli overrides it. */
			error = set_instrument(reader, marker, &instruments);
		if (error)
			return error;
	}
	return NULL;
}
