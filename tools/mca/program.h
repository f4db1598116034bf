/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code as the input of `pesa mca`: a part of a program, bytes, or a path through a program.
 *
 * The result is what assembly source gives (source.h), as one region, and where each
 * instruction is.  A path is unrolled: an instruction is there as often as the path comes by.
 */
#ifndef TOOLS_MCA_PROGRAM_H
#define TOOLS_MCA_PROGRAM_H

#include "tools/mca/path.h"
#include "tools/mca/source.h"

struct mca_program_options {
	const char *path;    /* of the program; NULL for bytes */
	const char *isa;     /* what to decode bytes for; a program says itself what it is for */
	const char *symbol;  /* a function, or */
	const char *range;   /* "A-B": addresses of the ELF file, B not included, or */
	const char *hex;     /* "13050500 ...": bytes in the order of memory, or */
	const char *trace;   /* a file of addresses, see path.h, or */
	const char *profile; /* a perf.data file; begins at the symbol or the range, if given */
	unsigned int length; /* of the path from a profile, instructions */
	bool instruments;    /* heed vsetvli */
};

/* What is wrong with a file that is to be read as assembly, but is an ELF file; else NULL. */
struct pesa_error *mca_program_check_assembly(const char *path);
struct pesa_error *mca_program_read(const struct mca_program_options *options,
				    struct mca_source *source);

#endif
