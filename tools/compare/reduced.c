/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A test of llvm-mca with a loop of one instruction for each change: see reduced.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/assemble.h"
#include "tools/compare/reduced.h"

#define ITERATIONS  100
#define TEXT_SIZE   192
#define REPEATS_MAX 8 /* of the instruction in the loop: units are short when many want them */
#define ISA_DEFAULT "rv64gcv" /* of a tuning for any processor */

struct loop {
	char text[TEXT_SIZE]; /* of the instruction */
	unsigned int repeats;
	enum pesa_mca_lmul lmul;
	unsigned int sew;
	unsigned int before, after; /* cycles with the model, and with the changes */
};

struct models {
	const struct pesa_mca_model *before;
	struct pesa_mca_model *after;
	const struct pesa_mca_processor *processor;
	struct pesa_isa *isa;
};

/* ---- Models ---------------------------------------------------------------------------------- */

static struct pesa_error *apply(struct pesa_mca_model *model, const struct compare_edit *edit)
{
	char text[PESA_COMPARE_CHANGE_SIZE + 128], copy[PESA_COMPARE_CHANGE_SIZE], *rest = NULL;
	struct pesa_error *error = NULL;

	snprintf(copy, sizeof(copy), "%s", edit->finding->change);
	for (char *one = strtok_r(copy, " ", &rest); one && !error;
	     one = strtok_r(NULL, " ", &rest)) {
		/* Only of the SchedWrite, although the finding is for all classes with its
		 * numbers. */
		if (edit->write && !edit->opcodes)
			snprintf(text, sizeof(text), "%s%s", edit->write, strrchr(one, '.'));
		else
			snprintf(text, sizeof(text), "%s", one);
		error = pesa_mca_model_change(model, text, NULL);
	}
	return error;
}

static struct pesa_error *make_models(const struct comparison *comparison,
				      const struct compare_edits *edits, struct models *models)
{
	struct pesa_error *error;

	*models = (struct models){.before = comparison->model, .processor = comparison->processor};
	error = pesa_mca_model_vary(comparison->model, &models->after);
	for (size_t i = 0; i < edits->count && !error; i++)
		error = apply(models->after, &edits->edit[i]);
	if (!error)
		error = pesa_isa_create(comparison->processor->isa ? comparison->processor->isa
								   : ISA_DEFAULT,
					&models->isa);
	return error;
}

static void free_models(struct models *models)
{
	pesa_mca_model_free(models->after);
	pesa_isa_free(models->isa);
}

static struct pesa_error *run(const struct models *models, const struct pesa_mca_model *model,
			      const struct pesa_mca_instruction *instruction, unsigned int count,
			      unsigned int *cycles)
{
	const struct pesa_mca_block_options options = {.processor = models->processor->name};
	const struct pesa_mca_run_options how = {.iterations = ITERATIONS};
	struct pesa_mca_block *block;
	struct pesa_error *error =
		pesa_mca_block_create(model, instruction, count, &options, &block);
	uint64_t result = 0;

	if (error)
		return error;
	error = pesa_mca_run(block, &how, NULL, 0, &result);
	pesa_mca_block_free(block);
	*cycles = (unsigned int)result;
	return error;
}

/* Run a loop on both models; *shows: they differ. */
static struct pesa_error *try_loop(const struct models *models, struct loop *loop, bool *shows)
{
	struct pesa_mca_instruction instruction[REPEATS_MAX];
	struct pesa_assembly assembly;
	struct pesa_error *error;

	*shows = false;
	if (!pesa_assemble(models->isa, loop->text, strlen(loop->text), &assembly) ||
	    assembly.count != 1 || assembly.use != PESA_SYMBOL_NONE)
		return NULL;
	for (unsigned int i = 0; i < loop->repeats; i++)
		instruction[i] = (struct pesa_mca_instruction){.insn = assembly.insn[0],
							       .lmul = loop->lmul,
							       .sew = loop->sew,
							       .latency = -1};
	error = run(models, models->before, instruction, loop->repeats, &loop->before);
	if (!error)
		error = run(models, models->after, instruction, loop->repeats, &loop->after);
	*shows = !error && loop->before != loop->after;
	return error;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

/* The kind of register at the beginning of a text: 'x', 'f', 'v'; 0: none. */
static char file_of(const char *text, size_t length)
{
	if (!pesa_is_register_name(text, length))
		return 0;
	if (*text == 'v')
		return 'v';
	return *text == 'f' && strncmp(text, "fp", length) != 0 ? 'f' : 'x';
}

/* Make a dependency chain: the instruction reads its previous result, because its first source
 * of the same kind, or the address of a load, becomes its destination. False: it has no such
 * source. */
static bool make_chain(const char *text, char *chain, size_t size)
{
	const char *first = text + strcspn(text, " \t"), *at;
	size_t length;
	char file;

	first += strspn(first, " \t");
	length = strcspn(first, ", ");
	file = file_of(first, length);
	if (!file || !strncmp(first, "zero", length))
		return false;
	for (at = first + length; *at; at++) {
		size_t name = 0;

		while (isalnum((unsigned char)at[name]))
			name++;
		if (name && !isalnum((unsigned char)at[-1]) && file_of(at, name) == file) {
			snprintf(chain, size, "%.*s%.*s%s", (int)(at - text), text, (int)length,
				 first, at + name);
			return true;
		}
	}
	return false;
}

/* Break the dependency chain: another destination. */
static void make_apart(const char *text, char *apart, size_t size)
{
	const char *first = text + strcspn(text, " \t");
	size_t length;
	char file;

	first += strspn(first, " \t");
	length = strcspn(first, ", ");
	file = file_of(first, length);
	snprintf(apart, size, "%.*s%s%s", (int)(first - text), text,
		 file == 'x'   ? "t6"
		 : file == 'f' ? "ft11"
			       : "v24",
		 first + length);
	if (!file)
		snprintf(apart, size, "%s", text);
}

/* LMUL and SEW of a SchedWrite, "..._M1_E32". */
static void read_suffix(const char *write, struct loop *loop)
{
	static const struct {
		const char *name;
		enum pesa_mca_lmul lmul;
	} lmuls[] = {
		{"_MF8", PESA_MCA_LMUL_1_8}, {"_MF4", PESA_MCA_LMUL_1_4},
		{"_MF2", PESA_MCA_LMUL_1_2}, {"_M1", PESA_MCA_LMUL_1},
		{"_M2", PESA_MCA_LMUL_2},    {"_M4", PESA_MCA_LMUL_4},
		{"_M8", PESA_MCA_LMUL_8},
	};
	const char *place, *sew;

	for (size_t i = 0; write && i < sizeof(lmuls) / sizeof(lmuls[0]); i++) {
		place = strstr(write, lmuls[i].name);
		if (!place)
			continue;
		loop->lmul = lmuls[i].lmul;
		sew = strstr(place, "_E");
		if (sew)
			loop->sew = (unsigned int)strtoul(sew + 2, NULL, 10);
	}
}

/* Find a loop of an instruction that shows a change.  Tries a dependency chain, the plain
 * instruction, and several independent copies. */
static struct pesa_error *find_loop(const struct models *models, const struct compare_edit *edit,
				    const char *text, struct loop *loop, bool *shows)
{
	struct pesa_error *error = NULL;

	*shows = false;
	for (unsigned int i = 0; i < 4 && !*shows && !error; i++) {
		*loop = (struct loop){.repeats = i == 3 ? REPEATS_MAX : 1};
		read_suffix(edit->write, loop);
		if (i == 0 && !make_chain(text, loop->text, sizeof(loop->text)))
			continue;
		if (i == 1)
			snprintf(loop->text, sizeof(loop->text), "%s", text);
		if (i >= 2)
			make_apart(text, loop->text, sizeof(loop->text));
		error = try_loop(models, loop, shows);
	}
	return error;
}

/* Whether a change affects an opcode. */
static bool is_of(const struct comparison *comparison, const struct compare_edit *edit,
		  const char *opcode)
{
	unsigned int count = pesa_compare_opcode_count(comparison->compare, edit->index);

	for (size_t i = 0; i < edit->opcodes; i++)
		if (!strcmp(edit->opcode[i]->name, opcode))
			return true;
	for (unsigned int i = 0; i < count && !edit->opcodes; i++) {
		const struct pesa_compare_opcode *one =
			pesa_compare_opcode(comparison->compare, edit->index, i);

		if (!strcmp(one->name, opcode) &&
		    (!edit->write || (one->write && !strcmp(one->write, edit->write))))
			return true;
	}
	return false;
}

/* Whether a change of a resource affects an instruction. */
static bool is_mentioned(const struct compare_edit *edit, const char *mnemonic)
{
	size_t length = strlen(mnemonic);

	for (const char *at = edit->finding->mnemonics; *at; at += strspn(at, " ")) {
		size_t one = strcspn(at, " ");

		if (one == length && !strncmp(at, mnemonic, one))
			return true;
		at += one;
	}
	return false;
}

/* Find a loop of one of the program's instructions that a change affects. */
static struct pesa_error *find_any_loop(const struct comparison *comparison,
					const struct models *models,
					const struct compare_edit *edit, struct loop *loop,
					bool *shows)
{
	struct pesa_error *error = NULL;
	unsigned int tried = 0;

	*shows = false;
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		for (size_t j = 0; j < region->count && !*shows && !error && tried < 64; j++) {
			const struct pesa_compare_instruction *one =
				pesa_compare_instruction(comparison->compare, region, j);
			const struct pesa_opcode *opcode = pesa_opcode_get(one->insn.opcode);
			char text[TEXT_SIZE];

			if (!one->scheduling_class ||
			    (edit->finding->kind == PESA_COMPARE_UNITS
				     ? !is_mentioned(edit, opcode->mnemonic)
				     : !is_of(comparison, edit, opcode->name)))
				continue;
			tried++;
			compare_text_of(comparison, one, text, sizeof(text));
			error = find_loop(models, edit, text, loop, shows);
		}
	}
	return error;
}

/* ---- The test -------------------------------------------------------------------------------- */

static void write_region(const struct loop *loop, const char *name, FILE *out)
{
	static const char *const lmuls[] = {
		[PESA_MCA_LMUL_1] = "M1",    [PESA_MCA_LMUL_2] = "M2",
		[PESA_MCA_LMUL_4] = "M4",    [PESA_MCA_LMUL_8] = "M8",
		[PESA_MCA_LMUL_1_8] = "MF8", [PESA_MCA_LMUL_1_4] = "MF4",
		[PESA_MCA_LMUL_1_2] = "MF2",
	};

	fprintf(out, "\n# LLVM-MCA-BEGIN %s\n", name);
	if (loop->lmul)
		fprintf(out, "# LLVM-MCA-RISCV-LMUL %s\n", lmuls[loop->lmul]);
	if (loop->sew)
		fprintf(out, "# LLVM-MCA-RISCV-SEW E%u\n", loop->sew);
	for (unsigned int i = 0; i < loop->repeats; i++)
		fprintf(out, "%s\n", loop->text);
	fputs("# LLVM-MCA-END\n", out);
	fprintf(out, "# before: Total Cycles: %u\n", loop->before);
}

static void name_region(const struct compare_edit *edit, char *name, size_t size)
{
	char entry[128];

	compare_finding_name(edit->finding, entry, sizeof(entry));
	if (edit->write && !edit->opcodes && !edit->finding->one_write)
		snprintf(name, size, "%s %s%s%s", edit->write,
			 edit->finding->resource ? edit->finding->resource : "",
			 edit->finding->resource ? " " : "",
			 pesa_compare_change_name(edit->finding->kind));
	else
		snprintf(name, size, "%s", entry);
}

struct pesa_error *compare_write_reduced(const struct comparison *comparison,
					 const struct compare_edits *edits, FILE *out,
					 unsigned int *written)
{
	struct models models;
	struct pesa_error *error = make_models(comparison, edits, &models);
	char *checks = NULL;
	size_t size;
	FILE *check = open_memstream(&checks, &size);

	*written = 0;
	if (!check && !error)
		error = pesa_error_no_memory();
	if (!error)
		fprintf(out,
			"# RUN: llvm-mca -mtriple=%s -mcpu=%s -iterations=%d -all-views=false "
			"\\\n# RUN:   -summary-view < %%s | FileCheck %%s\n",
			pesa_isa_xlen(models.isa) == 32 ? "riscv32" : "riscv64",
			comparison->processor->name, ITERATIONS);
	for (size_t i = 0; i < edits->count && !error; i++) {
		struct loop loop;
		char name[160];
		bool shows;

		name_region(&edits->edit[i], name, sizeof(name));
		error = find_any_loop(comparison, &models, &edits->edit[i], &loop, &shows);
		if (error)
			break;
		if (!shows) {
			fprintf(out, "\n# %s: no loop of one instruction shows it.\n", name);
			continue;
		}
		write_region(&loop, name, out);
		fprintf(check, "# CHECK-LABEL: Code Region - %s\n", name);
		fprintf(check, "# CHECK: Total Cycles:{{ +}}%u{{$}}\n", loop.after);
		++*written;
	}
	if (check && fclose(check) && !error)
		error = pesa_error_no_memory();
	if (!error && *written)
		fprintf(out, "\n%s", checks);
	free(checks);
	free_models(&models);
	return error;
}
