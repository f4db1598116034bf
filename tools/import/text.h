/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of what a pipeline trace executed: ELF files, each at its own addresses or moved.
 */
#ifndef TOOLS_IMPORT_TEXT_H
#define TOOLS_IMPORT_TEXT_H

#include "pesa/image.h"
#include "pesa/riscv.h"
#include "pesa/walk.h"

#define IMPORT_FILES 32u

/* How it is known where a file was loaded. */
enum import_place {
	IMPORT_PLACE_GIVEN, /* or it can be loaded at its own addresses only */
	IMPORT_PLACE_UNKNOWN,
	IMPORT_PLACE_FOUND, /* locate.h */
};

struct import_text {
	unsigned int count;
	struct import_file {
		char *path; /* absolute */
		struct pesa_image *image;
		struct pesa_isa *own, *every; /* by its attributes; all extensions of its width */
		uint64_t moved;		      /* to add to addresses of the file */
		enum import_place place;
		uint32_t fits, steps; /* found: of so many steps in it so many lead where it says */
	} file[IMPORT_FILES];
	bool narrow; /* RV32 */
};

/* Add "FILE" or "FILE@ADDRESS".  Errors say which file, and what to do. */
struct pesa_error *import_text_add(struct import_text *text, const char *argument);
void import_text_free(struct import_text *text);
/* The instruction at an address of the file itself; targets likewise. */
enum pesa_text_status import_file_instruction(const struct import_file *file, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialises);
/* The instruction at an address, and whether most cores empty the pipeline for it. */
enum pesa_text_status import_text_instruction(const struct import_text *text, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialises);

#endif
