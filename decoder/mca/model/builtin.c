/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The built-in models: the files in decoder/mca/generated/models, embedded in the library as constants, and
 * unchanged. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/table.h"

/* .incbin searches from the working directory of the compiler. */
#define MODEL(file)                                                                                \
	extern const struct mca_model_table mca_model_table_##file;                                \
	extern const char mca_model_##file[], mca_model_##file##_end[];                            \
	__asm__(".pushsection .rodata\n"                                                           \
		".hidden mca_model_" #file "\n.hidden mca_model_" #file "_end\n"                   \
		".globl mca_model_" #file "\n.globl mca_model_" #file "_end\n"                     \
		"mca_model_" #file ":\n.incbin \"decoder/mca/generated/models/" #file ".model\"\n" \
		"mca_model_" #file "_end:\n.byte 0\n.popsection\n");
#define PROCESSOR(name, file)
#include "decoder/mca/generated/models.def"
#undef MODEL
#undef PROCESSOR

static const struct builtin {
	const char *processor, *text, *end;
	const struct mca_model_table *table;
} builtins[] = {
#define MODEL(file)
#define PROCESSOR(name, file) \
	{name, mca_model_##file, mca_model_##file##_end, &mca_model_table_##file},
#include "decoder/mca/generated/models.def"
#undef MODEL
#undef PROCESSOR
};

#define BUILTINS (sizeof(builtins) / sizeof(builtins[0]))

const char *pesa_mca_builtin_processor(unsigned int index)
{
	return index < BUILTINS ? builtins[index].processor : NULL;
}

const char *pesa_mca_builtin_text(const char *processor, size_t *size)
{
	for (size_t i = 0; i < BUILTINS; i++)
		if (!strcmp(builtins[i].processor, processor)) {
			*size = (size_t)(builtins[i].end - builtins[i].text);
			return builtins[i].text;
		}
	return NULL;
}

/* Edit distance of two names, of which at most 31 characters are compared. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32], columns = strnlen(b, 31);

	for (unsigned int i = 0; i <= columns; i++)
		row[i] = i;
	for (unsigned int line = 1; *a && line < 32; a++, line++) {
		unsigned int diagonal = row[0];

		row[0] = line;
		for (unsigned int i = 1; i <= columns; i++) {
			unsigned int best = diagonal + (*a != b[i - 1]);

			diagonal = row[i];
			if (row[i] + 1 < best)
				best = row[i] + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
		}
	}
	return row[columns];
}

struct pesa_error *pesa_mca_model_builtin(const char *processor, struct pesa_mca_model **model)
{
	const char *nearest = NULL;
	unsigned int least = ~0u;

	for (size_t i = 0; i < BUILTINS; i++) {
		unsigned int away = distance(processor, builtins[i].processor);

		if (!away)
			return mca_model_from_table(builtins[i].table, model);
		if (away < least) {
			least = away;
			nearest = builtins[i].processor;
		}
	}
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "no model for the processor '%s'; the nearest name is '%s', "
				 "-mcpu=help lists them all",
				 processor, nearest);
}

size_t pesa_mca_model_path_length(const char *cpu)
{
	const char *colon = strrchr(cpu, ':');

	if (!strchr(cpu, '/') && !strstr(cpu, ".model"))
		return 0;
	return colon ? (size_t)(colon - cpu) : strlen(cpu);
}

struct pesa_error *pesa_mca_model_open(const char *cpu, struct pesa_mca_model **model,
				       const struct pesa_mca_processor **processor)
{
	size_t length = pesa_mca_model_path_length(cpu);
	const char *name = cpu;
	struct pesa_error *error;
	char *path;

	if (!length) {
		error = pesa_mca_model_builtin(cpu, model);
	} else {
		path = strndup(cpu, length);
		if (!path)
			return pesa_error_no_memory();
		error = pesa_mca_model_load(path, model);
		free(path);
		name = cpu[length] ? cpu + length + 1 : NULL;
	}
	if (error)
		return error;
	*processor = pesa_mca_model_processor(*model, name);
	if (*processor)
		return NULL;
	error = pesa_error_create(PESA_ERROR_NOT_FOUND,
				  "the model in %s has no processor '%s'; its first one is '%s'",
				  cpu, name, pesa_mca_model_processor(*model, NULL)->name);
	pesa_mca_model_free(*model);
	return error;
}
