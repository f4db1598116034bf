/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes LLVM's files as findings would: what pesa compare --format td does, without a recording.
 *
 *   patch_tablegen MODEL FOLDER PREFIX < CHANGES > PATCH
 *
 * A change is a line: "latency WRITE - NUMBER", "cycles WRITE RESOURCE NUMBER", "opcode WRITE OPCODE
 * NUMBER" (its latency), "units RESOURCE - NUMBER", "advance CLASS - NUMBER", "micro-ops WRITE - NUMBER".
 * What cannot be changed is said to standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/tablegen_files.h"

#define MODEL_SIZE (64u << 20)

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "patch_tablegen: %s\n", error->message);
	exit(1);
}

static void read_model(const char *path, struct model_lines *lines)
{
	char *text = malloc(MODEL_SIZE);
	FILE *file = fopen(path, "re");
	size_t size;

	if (!text || !file) {
		fprintf(stderr, "patch_tablegen: cannot read %s\n", path);
		exit(1);
	}
	size = fread(text, 1, MODEL_SIZE, file);
	fclose(file);
	stop(model_lines_split(text, size, lines));
}

/* Where the model says that LLVM defines it. */
static void find_place(const struct model_lines *lines, const char *kind, const char *name,
		       char *place, size_t size)
{
	const char *line = model_find_line(lines, kind, name);
	size_t length = 0;
	const char *from = line ? model_line_word(line, "from", &length) : NULL;

	snprintf(place, size, "%.*s", (int)length, from ? from : "");
}

static void change(struct tablegen_files *files, const struct model_lines *lines, const char *kind,
		   const char *name, const char *what, int number)
{
	static const struct {
		const char *name;
		enum pesa_compare_change change;
		const char *text; /* of the change, behind the name */
	} kinds[] = {
		{"latency", PESA_COMPARE_LATENCY, "latency"},
		{"cycles", PESA_COMPARE_CYCLES, NULL},
		{"opcode", PESA_COMPARE_LATENCY, "latency"},
		{"units", PESA_COMPARE_UNITS, "units"},
		{"advance", PESA_COMPARE_ADVANCE, "advance"},
		{"micro-ops", PESA_COMPARE_ISSUE, "uops"},
	};
	const struct pesa_compare_opcode opcode = {.name = what}, *opcodes[] = {&opcode};
	struct pesa_compare_finding finding = {.measured = number};
	struct compare_edit edit = {.finding = &finding};
	struct pesa_error *error;
	char place[1024];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		finding.kind = kinds[i].change;
		snprintf(finding.change, sizeof(finding.change), "%s.%s=%d",
			 strcmp(kind, "opcode") ? name : what, kinds[i].text ? kinds[i].text : what,
			 number);
	}
	finding.resource = finding.kind == PESA_COMPARE_UNITS ? name : what;
	finding.scheduling_class = name;
	if (finding.kind != PESA_COMPARE_UNITS && finding.kind != PESA_COMPARE_ADVANCE)
		edit.write = name;
	find_place(lines, finding.kind == PESA_COMPARE_UNITS ? "resource" : "write", name, place,
		   sizeof(place));
	edit.from = *place ? place : NULL;
	if (!strcmp(kind, "opcode")) {
		edit.opcode = (const struct pesa_compare_opcode **)opcodes;
		edit.opcodes = 1;
	}
	error = tablegen_change(files, &edit, lines, "changed");
	if (error)
		fprintf(stderr, "%s %s %s: %s\n", kind, name, what, error->message);
	pesa_error_free(error);
}

int main(int argc, char **argv)
{
	struct tablegen_files files = {0};
	struct model_lines lines;
	char kind[32], name[256], what[256];
	int number;

	if (argc != 4) {
		fputs("usage: patch_tablegen MODEL FOLDER PREFIX < CHANGES\n", stderr);
		return 2;
	}
	read_model(argv[1], &lines);
	files.folder = argv[2];
	while (scanf("%31s %255s %255s %d", kind, name, what, &number) == 4)
		change(&files, &lines, kind, name, what, number);
	stop(tablegen_write_diff(&files, argv[3], stdout));
	tablegen_files_free(&files);
	model_lines_free(&lines);
	return 0;
}
