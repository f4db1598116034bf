/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a perf.data file, loaded into a profile: weights are conserved and everything that a
 * profile hands out can be read.  Maps of /proc/self/fd/900 have RISC-V text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/estimate.h"
#include "pesa/profile.h"
#include "tests/elf_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_DESCRIPTOR 900

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int descriptor = memfd_create("input", 0);
	struct pesa_profile *profile;
	struct pesa_error *error;
	char path[64];

	if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	error = pesa_profile_load(path, NULL, &profile);
	if (error) {
		pesa_error_free(error);
	} else {
		check(profile);
		pesa_profile_free(profile);
	}
	close(descriptor);
	return 0;
}
