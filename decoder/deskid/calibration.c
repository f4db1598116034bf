/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibrations as text: see include/pesa/calibration.h.  The text may be anybody's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/number.h"
#include "decoder/base/read_file.h"
#include "pesa/calibration.h"

#define FIRST	 "pesa-calibration 1"
#define LAST	 "end"
#define LINE_MAX 256	  /* bytes */
#define PARTS	 1000000u /* shares are counted in millionths of the samples */
#define ROUNDED	 2u	  /* parts by which the sum may be off, for each way */

static const char *const stages[] = {
	[PESA_DESKID_BEHIND] = "behind",
	[PESA_DESKID_OLDEST] = "oldest",
	[PESA_DESKID_FRONT] = "front",
	[PESA_DESKID_QUEUE] = "queue",
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))

struct reading {
	const char *name;
	unsigned int line; /* number */
	struct pesa_calibration *calibration;
	bool begun, ended, has_samples;
	uint64_t parts;
};

static struct pesa_error *wrong(const struct reading *reading, const char *what)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: %s; 'pesa calibrate' writes such files",
				 reading->name, reading->line, what);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The field for a name; NULL: there is none of this key. */
static char *name_field(struct pesa_calibration *calibration, const char *key)
{
	const struct {
		const char *key;
		char *field;
	} fields[] = {
		{"cpu", calibration->cpu},     {"event", calibration->event},
		{"host", calibration->host},   {"kernel", calibration->kernel},
		{"model", calibration->model},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(fields[i].key, key))
			return fields[i].field;
	return NULL;
}

static unsigned int number_most(enum pesa_deskid_stage stage)
{
	return stage == PESA_DESKID_BEHIND || stage == PESA_DESKID_QUEUE ? PESA_DESKID_BEHIND_MAX
									 : PESA_DESKID_CYCLES_MAX;
}

/* "STAGE NUMBER PARTS" */
static struct pesa_error *read_way(struct reading *reading, char *text)
{
	struct pesa_calibration *calibration = reading->calibration;
	char *stage = strsep(&text, " "), *number = strsep(&text, " ");
	struct pesa_deskid_way way = {0};
	uint64_t value, parts;
	unsigned int kind = 0;

	while (kind < STAGES && strcmp(stages[kind], stage))
		kind++;
	if (kind == STAGES)
		return wrong(reading, "this is no way in which interrupts are taken");
	way.stage = (enum pesa_deskid_stage)kind;
	if (!number || !number_read(number, 10, 0, number_most(way.stage), &value))
		return wrong(reading, "a way needs its number of instructions or cycles");
	way.number = (unsigned int)value;
	if (!text || !number_read(text, 10, 1, PARTS, &parts))
		return wrong(reading, "a way needs its share, in millionths");
	for (unsigned int i = 0; i < calibration->ways; i++)
		if (calibration->way[i].stage == way.stage &&
		    calibration->way[i].number == way.number)
			return wrong(reading, "this way is there twice");
	way.share = (double)parts / PARTS;
	reading->parts += parts;
	calibration->way[calibration->ways++] = way;
	return NULL;
}

static struct pesa_error *read_fact(struct reading *reading, char *line)
{
	const char *key = strsep(&line, " ");
	char *field;

	if (!line || !*line)
		return wrong(reading, "a fact has no value");
	if (!strcmp(key, "way"))
		return read_way(reading, line);
	if (!strcmp(key, "samples")) {
		reading->has_samples =
			number_read(line, 10, 1, UINT64_MAX, &reading->calibration->samples);
		return reading->has_samples ? NULL : wrong(reading, "samples are a number");
	}
	field = name_field(reading->calibration, key);
	if (!field)
		return wrong(reading, "this version of pesa knows no such fact");
	if (*field || strlen(line) >= PESA_CALIBRATION_NAME_MAX)
		return wrong(reading,
			     *field ? "this fact is there twice" : "this name is too long");
	strcpy(field, line);
	return NULL;
}

static bool is_control(char byte)
{
	return (unsigned char)byte < ' ' || byte == 0x7f;
}

static bool has_control(const char *text, size_t length)
{
	while (length && !is_control(text[length - 1]))
		length--;
	return length;
}

static struct pesa_error *read_line(struct reading *reading, const char *text, size_t length)
{
	char line[LINE_MAX];

	if (length && text[length - 1] == '\r')
		length--;
	if (!length || *text == '#')
		return NULL;
	if (reading->ended)
		return wrong(reading, "there is more behind the end");
	if (length >= sizeof(line) || has_control(text, length))
		return wrong(reading, "this is no line of a calibration");
	memcpy(line, text, length);
	line[length] = '\0';
	if (!reading->begun) {
		reading->begun = !strcmp(line, FIRST);
		return reading->begun
			       ? NULL
			       : wrong(reading, "this is no calibration that this version reads: "
						"it does not begin with '" FIRST "'");
	}
	reading->ended = !strcmp(line, LAST);
	return reading->ended ? NULL : read_fact(reading, line);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static struct pesa_error *check(struct reading *reading)
{
	struct pesa_calibration *calibration = reading->calibration;
	uint64_t off;

	if (!reading->begun || !reading->ended)
		return wrong(reading, "the file is cut off");
	if (!*calibration->cpu || !*calibration->event || !*calibration->model ||
	    !reading->has_samples || !calibration->ways)
		return wrong(reading, "cpu, event, model, samples or ways are missing");
	off = reading->parts > PARTS ? reading->parts - PARTS : PARTS - reading->parts;
	if (off > (uint64_t)ROUNDED * calibration->ways)
		return wrong(reading, "the shares of the ways do not add up to 1000000");
	return NULL;
}

struct pesa_error *pesa_calibration_parse(const char *name, const char *text, size_t size,
					  struct pesa_calibration *calibration)
{
	struct reading reading = {.name = name, .calibration = calibration};
	struct pesa_error *error = NULL;

	memset(calibration, 0, sizeof(*calibration));
	for (size_t at = 0; at < size && !error;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;

		reading.line++;
		error = read_line(&reading, text + at, length);
		at += length + 1;
	}
	return error ? error : check(&reading);
}

struct pesa_error *pesa_calibration_open(const char *path, bool own,
					 struct pesa_calibration *calibration)
{
	struct pesa_error *error;
	size_t size;
	char *text;

	error = pesa_read_foreign_file(path, own, &text, &size);
	if (error)
		return error;
	error = size > PESA_CALIBRATION_FILE_MAX
			? pesa_error_create(PESA_ERROR_FORMAT, "%s: too large for a calibration",
					    path)
			: pesa_calibration_parse(path, text, size, calibration);
	free(text);
	return error;
}

/* A name may be from a recording, and have characters that no line has. */
static void write_name(FILE *stream, const char *key, const char *value)
{
	if (!*value)
		return;
	fprintf(stream, "%s ", key);
	for (; *value; value++)
		fputc(is_control(*value) ? '?' : *value, stream);
	fputc('\n', stream);
}

void pesa_calibration_write(const struct pesa_calibration *calibration, FILE *stream)
{
	fprintf(stream, FIRST "\n");
	write_name(stream, "cpu", calibration->cpu);
	write_name(stream, "event", calibration->event);
	write_name(stream, "host", calibration->host);
	write_name(stream, "kernel", calibration->kernel);
	write_name(stream, "model", calibration->model);
	fprintf(stream, "samples %" PRIu64 "\n", calibration->samples);
	for (unsigned int i = 0; i < calibration->ways; i++) {
		const struct pesa_deskid_way *way = &calibration->way[i];
		uint64_t parts = (uint64_t)(way->share * PARTS + 0.5);

		if (parts)
			fprintf(stream, "way %s %u %" PRIu64 "\n", stages[way->stage], way->number,
				parts);
	}
	fprintf(stream, LAST "\n");
}
