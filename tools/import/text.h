/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text executed by a pipeline trace: ELF files, at their own or at relocated addresses. */
#ifndef TOOLS_IMPORT_TEXT_H
#define TOOLS_IMPORT_TEXT_H

#include "pesa/image.h"
#include "pesa/riscv.h"
#include "pesa/walk.h"

#define IMPORT_FILES 32u

/* How the load address of a file was found. */
enum import_place {
	IMPORT_PLACE_GIVEN, /* given, or the file is not relocatable */
	IMPORT_PLACE_UNKNOWN,
	IMPORT_PLACE_FOUND, /* locate.h */
};

struct import_text {
	unsigned int count;
	struct import_file {
		char *path; /* absolute */
		struct pesa_image *image;
		struct pesa_isa *own, *every; /* from its attributes; all extensions of its width */
		uint64_t moved;		      /* offset added to the file's addresses */
		enum import_place place;
		uint32_t fits, steps; /* for a found address: matching steps, and all steps in
				       * the file */
	} file[IMPORT_FILES];
	bool narrow; /* RV32 */
};

/* Add "FILE" or "FILE@ADDRESS".  Errors name the file and say what to do. */
struct pesa_error *import_text_add(struct import_text *text, const char *argument);
void import_text_free(struct import_text *text);
/* The instruction at an address of the file; its target is a file address too. */
enum pesa_text_status import_file_instruction(const struct import_file *file, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialises);
/* The instruction at an address, and whether it flushes the pipeline in most cores. */
enum pesa_text_status import_text_instruction(const struct import_text *text, uint64_t address,
					      struct pesa_text_insn *insn, bool *serialises);

#endif
