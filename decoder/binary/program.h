/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kind of a program file.
 *
 * A probe of the file's first bytes finds whether the emulator can run the program, and how: as a
 * RISC-V ELF file, through its program interpreter, or through the interpreter of a script.
 */
#ifndef DECODER_BINARY_PROGRAM_H
#define DECODER_BINARY_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pesa_program_kind {
	PESA_PROGRAM_UNREADABLE, /* errno has the reason */
	PESA_PROGRAM_OTHER,	 /* none of the following */
	PESA_PROGRAM_FOREIGN,	 /* an ELF file for another machine */
	PESA_PROGRAM_RISCV,	 /* an ELF file for RISC-V */
	PESA_PROGRAM_SCRIPT,	 /* begins with #! */
};

struct pesa_program {
	enum pesa_program_kind kind;
	unsigned int xlen;	    /* RISC-V: 32 or 64 */
	char interpreter[PATH_MAX]; /* of the ELF file or the script; "": none */
	char argument[256];	    /* of the script, for its interpreter; "": none */
};

void pesa_program_probe(const char *path, struct pesa_program *program);

/*
 * Read the build id of an ELF file into `build_id` of `size` bytes.  Returns its length, 0: none.
 * At most 128 segments and 64 KiB of notes are read, for any contents.
 */
size_t pesa_program_build_id(const char *path, uint8_t *build_id, size_t size);
/* Likewise, for an open file. */
size_t pesa_program_build_id_read(int fd, uint8_t *build_id, size_t size);

#endif
