/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine code as the input of `pesa mca`: a part of a program, bytes, or a path through a program.
 *
 * The result is the same as that of assembly source (source.h), with one region and with the address
 * of each instruction.  A path is unrolled: an instruction occurs once for each time that the path
 * executes it.
 */
#ifndef TOOLS_MCA_PROGRAM_H
#define TOOLS_MCA_PROGRAM_H

#include "tools/mca/path.h"
#include "tools/mca/source.h"

struct mca_program_options {
	const char *path; /* the program, an ELF file; NULL: `hex` */
	const char *isa;  /* ISA string to decode `hex` with; a program has its own */
	/* One of these; `symbol` or `range` may be the start of a path from `profile`. */
	const char *symbol;  /* a function */
	const char *range;   /* "A-B": addresses of the ELF file, B not included */
	const char *hex;     /* "13050500 ...": bytes in the order of memory */
	const char *trace;   /* a path file, see path.h */
	const char *profile; /* a perf.data file */
	unsigned int length; /* instructions of the path from `profile` */
	bool instruments;    /* follow vsetvli */
};

struct pesa_error *mca_program_read(const struct mca_program_options *options,
				    struct mca_source *source);

#endif
