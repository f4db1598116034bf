/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a perf.data file, loaded into a profile: weights are conserved and everything that a
 * profile hands out can be read; stacks of it are exported with all cycles, and in another format;
 * timed blocks add up, and what is compared of them with a model.  Maps of /proc/self/fd/900 have RISC-V text.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/estimate.h"
#include "pesa/export.h"
#include "pesa/profile.h"
#include "pesa/timed_blocks.h"
#include "pesa/timed_compare.h"
#include "tests/elf_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_DESCRIPTOR 900

/* In order, and out of order. */
static struct pesa_mca_model *models[2];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static uint8_t bytes[16384], text[4096];
	struct elf_file file = {
		.machine = EM_RISCV,
		.text = text,
		.text_size = sizeof(text),
		.text_address = 0x10200,
		.text_offset = ELF_FILE_TEXT,
		.isa = "rv64imafdc",
	};
	int descriptor = memfd_create("text", 0);
	size_t size;

	(void)argc;
	(void)argv;
	for (size_t i = 0; i + 4 <= sizeof(text); i += 4) { /* nop; c.nop, c.nop; beq -8; ret */
		static const uint32_t words[] = {0x00000013, 0x00010001, 0xfe000ce3, 0x00010001,
						 0x00008067};

		memcpy(text + i, &words[i / 4 % 5], 4);
	}
	size = elf_file_make(&file, bytes);
	if (descriptor < 0 || dup2(descriptor, TEXT_DESCRIPTOR) < 0 ||
	    pwrite(descriptor, bytes, size, 0) != (ssize_t)size)
		abort();
	unsetenv("HOME");
	if (pesa_mca_model_builtin("sifive-u74", &models[0]) ||
	    pesa_mca_model_builtin("sifive-p670", &models[1]))
		abort();
	return 0;
}

static void check(const struct pesa_profile *profile)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	uint64_t total = 0;

	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		total += totals->unattributed[i];
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(profile, i);
		uint64_t weight = 0;
		uint32_t word;

		if (instruction->dso >= pesa_profile_dso_count(profile) ||
		    pesa_profile_find(profile, instruction->dso, instruction->address) !=
			    instruction)
			abort();
		for (unsigned int j = 0; j < instruction->buckets; j++)
			weight += instruction->bucket[j].weight;
		for (unsigned int j = 0; j < instruction->edges; j++)
			if (instruction->edge[j].target_dso >= pesa_profile_dso_count(profile))
				abort();
		if (weight != instruction->weight)
			abort();
		total += weight;
		pesa_profile_text(profile, instruction->dso, instruction->address, &word,
				  sizeof(word));
		pesa_estimate_cycles(profile, instruction, 0.95);
		pesa_estimate_cycles_per_execution(profile, instruction, 0.95);
	}
	if (total != totals->weight)
		abort();
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++) {
		const struct pesa_dso *dso = pesa_profile_dso(profile, i);

		if ((dso->status == PESA_DSO_OK) != !dso->problem || !dso->path)
			abort();
	}
}

/* The last number of each line of folded stacks. */
static uint64_t sum_of_folded(char *text)
{
	uint64_t sum = 0;
	char *line;

	while ((line = strsep(&text, "\n")) && *line) {
		char *blank = strrchr(line, ' ');

		if (!blank)
			abort();
		sum += strtoull(blank + 1, NULL, 10);
	}
	return sum;
}

/* Folded stacks, and one of the other formats. */
static void check_exports(struct pesa_export *rows, const struct pesa_profile *profile,
			  size_t other)
{
	struct pesa_symbols *symbols = NULL;

	if (pesa_symbols_create(profile, NULL, &symbols))
		abort();
	for (unsigned int i = 0; i < PESA_EXPORT_FORMATS; i++) {
		const struct pesa_export_options options = {.format = (enum pesa_export_format)i,
							    .by = PESA_EXPORT_BY_INSN,
							    .states = true};
		char *text = NULL;
		size_t size = 0;
		FILE *out;

		if (i != PESA_EXPORT_FOLDED && i != other % PESA_EXPORT_FORMATS)
			continue;
		out = open_memstream(&text, &size);
		if (!out || pesa_export_write(rows, profile, symbols, &options, out) || fclose(out))
			abort();
		if (i == PESA_EXPORT_FOLDED &&
		    sum_of_folded(text) != pesa_profile_totals(profile)->weight / PESA_CYCLE)
			abort();
		free(text);
	}
	pesa_symbols_free(symbols);
}

/* Timed blocks: they add up to the periods of their samples, and distributions to blocks. */
static void check_timed(const char *path)
{
	struct pesa_timed_blocks *blocks = pesa_timed_blocks_create();
	const struct pesa_timed_totals *totals;
	struct pesa_profile_options options;
	struct pesa_profile *profile;
	struct pesa_error *error;
	double cycles;

	if (!blocks)
		abort();
	pesa_profile_options_default(&options);
	options.listener = pesa_timed_blocks_listener(blocks);
	error = pesa_profile_load(path, &options, &profile);
	if (error) {
		pesa_error_free(error);
		pesa_timed_blocks_free(blocks);
		return;
	}
	if (pesa_timed_blocks_finish(blocks, profile))
		abort();
	totals = pesa_timed_blocks_totals(blocks);
	cycles = totals->broken;
	for (size_t i = 0; i < pesa_timed_blocks_count(blocks); i++) {
		const struct pesa_timed_block *block = pesa_timed_blocks_at(blocks, i);
		size_t count;
		const struct pesa_timed_count *counts =
			pesa_timed_blocks_distribution(blocks, i, &count);
		uint64_t seen = 0;

		for (size_t k = 0; k < count; k++)
			seen += counts[k].seen;
		if (seen != block->seen || block->mispredicted > seen ||
		    block->dso >= pesa_profile_dso_count(profile) ||
		    pesa_timed_blocks_from(blocks, block->dso, block->start) > i ||
		    pesa_timed_blocks_quantile(blocks, i, 1) > PESA_BRANCH_CYCLES_MOST)
			abort();
		cycles += block->cycles;
	}
	if (!(fabs(cycles - totals->cycles) <= 1e-6 * totals->cycles) ||
	    pesa_timed_blocks_apply(blocks, profile))
		abort();
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(profile, i);

		if (pesa_profile_find(profile, one->dso, one->address) != one)
			abort();
	}
	pesa_profile_free(profile);
	pesa_timed_blocks_free(blocks);
}

static void check_difference(const struct pesa_timed_difference *one,
			     const struct pesa_profile *profile)
{
	if (!one->executions || !one->samples || !isfinite(one->difference.value) ||
	    !isfinite(one->cycles) || !(one->blocks >= 1) || one->start > one->last ||
	    one->dso >= pesa_profile_dso_count(profile) ||
	    !(one->difference.low <= one->difference.high) ||
	    !pesa_timed_verdict_name(one->verdict))
		abort();
	for (size_t k = 1; k < PESA_TIMED_QUANTILES; k++)
		if (one->quantile[k - 1] > one->quantile[k])
			abort();
}

/* Timed branches against a model: what is compared and what is not adds up to the stacks. */
static void check_timed_compare(const char *path, const struct pesa_mca_model *model)
{
	struct pesa_timed_compare *timed = pesa_timed_compare_create(true);
	const struct pesa_timed_compare_totals *totals;
	struct pesa_compare_options compare_options;
	struct pesa_profile_options options;
	struct pesa_profile *profile;
	struct pesa_error *error;
	double sum;

	if (!timed)
		abort();
	pesa_profile_options_default(&options);
	options.listener = pesa_timed_compare_listener(timed);
	error = pesa_profile_load(path, &options, &profile);
	if (error) {
		pesa_error_free(error);
		pesa_timed_compare_free(timed);
		return;
	}
	pesa_compare_options_default(&compare_options);
	if (pesa_timed_compare_predict(timed, profile, model, &compare_options))
		abort();
	totals = pesa_timed_compare_totals(timed);
	sum = totals->compared + totals->no_text + totals->ordering + totals->unsupported +
	      totals->mispredicted + totals->saturated + totals->warming;
	if (!(fabs(sum - totals->cycles) <= 1e-6 * totals->cycles))
		abort();
	for (size_t i = 0; i < pesa_timed_compare_count(timed); i++) {
		const struct pesa_timed_difference *one = pesa_timed_compare_at(timed, i);

		if (one->block >= pesa_timed_blocks_count(pesa_timed_compare_blocks(timed)))
			abort();
		check_difference(one, profile);
	}
	for (size_t i = 0; i < pesa_timed_compare_loop_count(timed); i++) {
		check_difference(pesa_timed_compare_loop_at(timed, i), profile);
		if (pesa_timed_compare_loop_at(timed, i)->block != SIZE_MAX)
			abort();
	}
	pesa_profile_free(profile);
	pesa_timed_compare_free(timed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_profile_options options;
	struct pesa_export *rows = pesa_export_create();
	int descriptor = memfd_create("input", 0);
	struct pesa_profile *profile;
	struct pesa_error *error;
	char path[64];

	if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	if (!rows)
		abort();
	pesa_profile_options_default(&options);
	options.listener = pesa_export_listener(rows);
	error = pesa_profile_load(path, &options, &profile);
	if (error) {
		pesa_error_free(error);
	} else {
		check(profile);
		check_exports(rows, profile, size);
		pesa_profile_free(profile);
	}
	pesa_export_free(rows);
	check_timed(path);
	for (unsigned int i = 0; i < 2; i++)
		check_timed_compare(path, models[i]);
	close(descriptor);
	return 0;
}
