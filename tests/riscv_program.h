/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The encodings in the code of programs, for tests of decoder and assembler.  Include after
 * cmocka.h. */
#ifndef TESTS_RISCV_PROGRAM_H
#define TESTS_RISCV_PROGRAM_H

#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pesa/riscv.h"

/* RV64GC; as many of them as are installed. */
static const char *const programs[] = {
	"/usr/riscv64-linux-gnu/lib/libc.so.6",
	"/usr/riscv64-linux-gnu/lib/libm.so.6",
	"/usr/riscv64-linux-gnu/lib/libstdc++.so.6",
	"/usr/riscv64-linux-gnu/lib/ld-linux-riscv64-lp64d.so.1",
	"/lib/riscv64-linux-gnu/libc.so.6",
	"/lib/riscv64-linux-gnu/libm.so.6",
};

#define PROGRAMS (sizeof(programs) / sizeof(*programs))

struct words {
	uint64_t *bits;
	size_t count, size;
};

static void words_add(struct words *words, uint64_t bits)
{
	if (words->count == words->size) {
		words->size = words->size ? words->size * 2 : 1024;
		words->bits = realloc(words->bits, words->size * sizeof(*words->bits));
		assert_non_null(words->bits);
	}
	words->bits[words->count++] = bits;
}

static uint64_t cut_to_length(uint64_t bits)
{
	unsigned int length = pesa_insn_length(bits);

	/* What is longer than we know, or reserved, is given to both as four bytes. */
	if (length != 2 && length != 6)
		length = 4;
	return bits & ((UINT64_C(1) << length * 8) - 1);
}

static int compare_words(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* The different encodings in the code of an ELF file.  False: there is no such file. */
static bool program_words(const char *path, const struct pesa_isa *isa, struct words *words)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
		    header.sh_type != SHT_PROGBITS)
			continue;
		data = elf_getdata(section, NULL);
		assert_non_null(data);
		for (size_t offset = 0; offset + 4 <= data->d_size;) {
			struct pesa_insn insn;
			uint8_t bytes[8] = {0};
			size_t rest = data->d_size - offset;
			unsigned int length;
			uint64_t bits = 0;

			memcpy(bytes, (uint8_t *)data->d_buf + offset, rest < 8 ? rest : 8);
			for (unsigned int byte = 0; byte < 8; byte++)
				bits |= (uint64_t)bytes[byte] << byte * 8;
			words_add(words, cut_to_length(bits));
			length = pesa_insn_decode(isa, bytes, rest < 8 ? rest : 8, &insn);
			offset += length ? length : 2;
		}
	}
	elf_end(elf);
	close(fd);
	qsort(words->bits, words->count, sizeof(*words->bits), compare_words);
	for (size_t i = 0; i < words->count; i++)
		if (!kept || words->bits[kept - 1] != words->bits[i])
			words->bits[kept++] = words->bits[i];
	words->count = kept;
	return true;
}

#endif
