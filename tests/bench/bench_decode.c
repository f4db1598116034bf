/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions decoded per second (length, opcode, operands) on one core.
 *
 *   bench_decode [FILE]     the code of FILE (an ELF file for RISC-V); default: valid random words,
 *                           and the distribution's C library for RISC-V if it is installed
 *
 * Prints the best of several runs over the same bytes, because other load on the machine can only
 * make a run slower.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pesa/riscv.h"

#define RUNS	   7
#define CODE_BYTES (1 << 22)

/* CPU time in seconds, which does not include other programs on the machine. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Random bytes of which only valid instructions are kept. */
static size_t random_code(const struct pesa_isa *isa, uint8_t *code, size_t size)
{
	uint64_t state = 88172645463325252u;
	size_t used = 0;

	while (used + 8 <= size) {
		uint64_t word = random_next(&state);
		struct pesa_insn insn;
		unsigned int length = pesa_insn_decode(isa, &word, sizeof(word), &insn);

		memcpy(code + used, &word, length);
		used += length;
	}
	return used;
}

/* The executable sections of an ELF file, as far as there is room. */
static size_t file_code(const char *path, uint8_t *code, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	Elf *elf = NULL;

	elf_version(EV_CURRENT);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
		Elf_Data *data;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
		    header.sh_type != SHT_PROGBITS)
			continue;
		data = elf_getdata(section, NULL);
		if (!data || data->d_size > size - used)
			continue;
		memcpy(code + used, data->d_buf, data->d_size);
		used += data->d_size;
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
	if (!used) {
		fprintf(stderr, "bench_decode: %s: no code found; give an ELF file for RISC-V\n",
			path);
		exit(1);
	}
	return used;
}

/* Decode `code` again and again; print the best rate. */
static void measure(const struct pesa_isa *isa, const uint8_t *code, size_t size, const char *what)
{
	uint64_t check = 0;
	double best = 0;

	for (int run = 0; run < RUNS; run++) {
		uint64_t count = 0;
		double start = now(), rate;

		for (int repeat = 0; repeat < 8; repeat++)
			for (size_t offset = 0; offset + 2 <= size;) {
				struct pesa_insn insn;
				unsigned int length =
					pesa_insn_decode(isa, code + offset, size - offset, &insn);

				if (!length) {
					offset += 2;
					continue;
				}
				check += insn.opcode + (insn.operands ? insn.operand[0].value : 0);
				offset += length;
				count++;
			}
		rate = count / (now() - start);
		if (rate > best)
			best = rate;
	}
	printf("decode %.1f million instructions/s (%s, check %llx)\n", best / 1e6, what,
	       (unsigned long long)check);
}

int main(int argc, char **argv)
{
	static const char library[] = "/usr/riscv64-linux-gnu/lib/libc.so.6";
	uint8_t *code = malloc(CODE_BYTES);
	struct pesa_error *error;
	struct pesa_isa *isa;

	error = pesa_isa_create("rv64gcv_zba_zbb_zbs", &isa);
	if (error || !code) {
		fprintf(stderr, "bench_decode: %s\n", error ? error->message : "no memory");
		return 1;
	}
	if (argc > 1) {
		measure(isa, code, file_code(argv[1], code, CODE_BYTES), argv[1]);
	} else {
		measure(isa, code, random_code(isa, code, CODE_BYTES), "random code");
		if (!access(library, R_OK))
			measure(isa, code, file_code(library, code, CODE_BYTES), library);
	}
	pesa_isa_free(isa);
	free(code);
	return 0;
}
