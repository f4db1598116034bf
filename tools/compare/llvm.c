/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare --format td: what to change in LLVM's scheduling models.  See llvm.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/compare/llvm.h"
#include "tools/compare/reduced.h"
#include "tools/compare/tablegen_files.h"

#define FOLDER "lib/Target/RISCV"

/* ---- Words ----------------------------------------------------------------------------------- */

/* LLVM's name of the number of a finding: "Latency", "ReleaseAtCycles of Div", ... */
static void name_field(const struct pesa_compare_finding *finding, char *name, size_t size)
{
	static const char *const fields[PESA_COMPARE_CHANGES] = {
		[PESA_COMPARE_LATENCY] = "Latency",
		[PESA_COMPARE_CYCLES] = "ReleaseAtCycles",
		[PESA_COMPARE_ADVANCE] = "ReadAdvance cycles",
		[PESA_COMPARE_UNITS] = "units",
		[PESA_COMPARE_ISSUE] = "NumMicroOps",
	};

	snprintf(name, size, "%s%s%s", fields[finding->kind],
		 finding->kind == PESA_COMPARE_CYCLES ? " on " : "",
		 finding->kind == PESA_COMPARE_CYCLES ? finding->resource : "");
}

/* The old and the new number; micro-ops are those of the change. */
static void name_numbers(const struct comparison *comparison,
			 const struct pesa_compare_finding *finding, char *text, size_t size)
{
	int width = (int)pesa_mca_model_issue_width(comparison->model);
	int measured = finding->measured;

	if (finding->kind == PESA_COMPARE_ISSUE)
		snprintf(text, size, "%d -> %s", finding->model > 1 ? finding->model * width : 1,
			 strrchr(finding->change, '=') + 1);
	else
		snprintf(text, size, "%d -> %d", finding->model, measured);
}

static const char *entry_of(const struct compare_edit *edit)
{
	return edit->write			 ? edit->write
	       : edit->finding->scheduling_class ? edit->finding->scheduling_class
						 : edit->finding->resource;
}

/* One line: the evidence for a change. */
static void make_evidence(const struct comparison *comparison, const struct compare_edit *edit,
			  char *text, size_t size)
{
	const struct pesa_compare_finding *finding = edit->finding;
	double all = pesa_compare_totals(comparison->compare)->cycles;
	char field[128], numbers[64], opcodes[1024];

	name_field(finding, field, sizeof(field));
	name_numbers(comparison, finding, numbers, sizeof(numbers));
	compare_opcodes_text(comparison, edit->index, opcodes, sizeof(opcodes));
	snprintf(text, size,
		 "pesa compare: %s %s %s, measured %.1f to %.1f (95 %%), %.1f standard errors; it "
		 "changes the prediction by %.1f %% of the cycles and explains %.0f %% of the "
		 "differences%s%s.",
		 entry_of(edit), field, numbers, finding->estimate.low, finding->estimate.high,
		 finding->deviations, all > 0 ? 100 * finding->cycles / all : 0,
		 100 * finding->explained, *opcodes ? "; " : "", opcodes);
}

/* ---- The list -------------------------------------------------------------------------------- */

static void write_list(const struct comparison *comparison, const struct compare_edits *edits,
		       FILE *out)
{
	fprintf(out,
		"# What pesa compare found of %s in a recording, as definitions in LLVM's\n"
		"# llvm/" FOLDER ".\n#\n",
		comparison->cpu);
	for (size_t i = 0; i < edits->count; i++) {
		const struct compare_edit *edit = &edits->edit[i];
		char field[128], numbers[64], evidence[2048];

		name_field(edit->finding, field, sizeof(field));
		name_numbers(comparison, edit->finding, numbers, sizeof(numbers));
		make_evidence(comparison, edit, evidence, sizeof(evidence));
		fprintf(out, "# %s: %s", edit->from ? edit->from : "(place not known)",
			entry_of(edit));
		for (size_t j = 0; j < edit->opcodes; j++)
			fprintf(out, "%s%s", j ? "," : " of ", edit->opcode[j]->name);
		fprintf(out, ": %s %s\n#   %s\n", field, numbers, evidence);
	}
	fputs("#\n", out);
}

/* ---- The patch ------------------------------------------------------------------------------- */

/* The folder of the models in a checkout, of all of LLVM's projects or of the project llvm alone; and
 * the prefix of its file names in a diff. */
static struct pesa_error *find_folder(const char *llvm, char **folder, const char **prefix)
{
	static const char *const places[] = {"llvm/" FOLDER "/", FOLDER "/"};
	struct stat status;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (asprintf(folder, "%s/%s", llvm, places[i]) < 0)
			return pesa_error_no_memory();
		*prefix = places[i];
		if (!stat(*folder, &status) && S_ISDIR(status.st_mode))
			return NULL;
		free(*folder);
	}
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "%s: no checkout of LLVM: it has no folder llvm/" FOLDER, llvm);
}

static void write_new_file(const char *path, const char *text, FILE *out)
{
	size_t lines = 0;

	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	fprintf(out, "--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%zu @@\n", path, lines);
	for (const char *at = text; *at; at = strchr(at, '\n') + 1)
		fprintf(out, "+%.*s\n", (int)strcspn(at, "\n"), at);
}

static struct pesa_error *write_test(const struct comparison *comparison,
				     const struct compare_edits *edits, bool whole, FILE *out)
{
	unsigned int regions = 0;
	struct pesa_error *error;
	char *text = NULL, path[256];
	size_t size;
	FILE *test = open_memstream(&text, &size);

	if (!test)
		return pesa_error_no_memory();
	error = compare_write_reduced(comparison, edits, test, &regions);
	if (fclose(test) && !error)
		error = pesa_error_no_memory();
	snprintf(path, sizeof(path), "%stest/tools/llvm-mca/RISCV/pesa-%s.s", whole ? "llvm/" : "",
		 comparison->processor->name);
	if (!error && regions)
		write_new_file(path, text, out);
	free(text);
	return error;
}

/* Change the files; findings that cannot be applied are reported. */
static struct pesa_error *change_files(const struct comparison *comparison,
				       const struct compare_edits *edits,
				       const struct model_lines *model,
				       struct tablegen_files *files, size_t *left)
{
	for (size_t i = 0; i < edits->count; i++) {
		const struct compare_edit *edit = &edits->edit[i];
		char evidence[2048], field[128], numbers[64];
		struct pesa_error *error;

		make_evidence(comparison, edit, evidence, sizeof(evidence));
		error = tablegen_change(files, edit, model, evidence);
		if (error && error->code == PESA_ERROR_NO_MEMORY)
			return error;
		if (!error)
			continue;
		++*left;
		name_field(edit->finding, field, sizeof(field));
		name_numbers(comparison, edit->finding, numbers, sizeof(numbers));
		profile_complain("compare", "not in the patch: %s %s %s: %s", entry_of(edit), field,
				 numbers, error->message);
		pesa_error_free(error);
	}
	return NULL;
}

static struct pesa_error *write_patch(const struct comparison *comparison,
				      const struct compare_edits *edits,
				      const struct model_lines *model, FILE *out, size_t *left)
{
	struct tablegen_files files = {0};
	const char *prefix;
	char *folder;
	struct pesa_error *error = find_folder(comparison->wanted->llvm, &folder, &prefix);

	if (error)
		return error;
	files.folder = folder;
	error = change_files(comparison, edits, model, &files, left);
	if (!error)
		error = tablegen_write_diff(&files, prefix, out);
	if (!error && *left < edits->count)
		error = write_test(comparison, edits, *prefix == 'l' && prefix[1] == 'l', out);
	tablegen_files_free(&files);
	free(folder);
	return error;
}

struct pesa_error *compare_write_tablegen(const struct comparison *comparison, FILE *out,
					  size_t *count, size_t *left)
{
	struct model_lines model = {0};
	struct compare_edits edits;
	struct pesa_error *error = compare_edits_list(comparison, &edits);
	unsigned int regions;
	size_t size;
	char *text;

	*left = 0;
	if (error)
		return error;
	*count = edits.count;
	if (edits.count && comparison->wanted->llvm) {
		error = model_text_get(comparison, &text, &size);
		if (!error)
			error = model_lines_split(text, size, &model);
		if (!error)
			error = write_patch(comparison, &edits, &model, out, left);
		model_lines_free(&model);
	} else if (edits.count) {
		write_list(comparison, &edits, out);
		error = compare_write_reduced(comparison, &edits, out, &regions);
	}
	compare_edits_free(&edits);
	return error;
}
