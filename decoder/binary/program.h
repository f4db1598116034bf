/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What kind of program a file is: enough to know whether and how the emulator can run it.
 */
#ifndef DECODER_BINARY_PROGRAM_H
#define DECODER_BINARY_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pesa_program_kind {
	PESA_PROGRAM_UNREADABLE, /* errno says why */
	PESA_PROGRAM_OTHER,	 /* nothing below */
	PESA_PROGRAM_FOREIGN,	 /* an ELF file for another machine */
	PESA_PROGRAM_RISCV,	 /* an ELF file for RISC-V */
	PESA_PROGRAM_SCRIPT,	 /* begins with #! */
};

struct pesa_program {
	enum pesa_program_kind kind;
	unsigned int xlen;	    /* RISC-V: 32 or 64 */
	char interpreter[PATH_MAX]; /* program interpreter or the script's; "": none */
	char argument[256];	    /* the script's argument for it; "": none */
};

void pesa_program_probe(const char *path, struct pesa_program *program);

/*
 * Build id of an ELF file, in `build_id` of `size` bytes.  Returns its length, 0: none.  At most
 * 128 segments and 64 KiB of notes are read, whatever the file says that it has.
 */
size_t pesa_program_build_id(const char *path, uint8_t *build_id, size_t size);
/* The same of one that is open. */
size_t pesa_program_build_id_read(int fd, uint8_t *build_id, size_t size);

#endif
