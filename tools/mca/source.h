/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input of `pesa mca`: reads assembly source, and makes decoded instructions and the regions to
 * analyse.
 *
 * Region and instrument markers are comments, which an object file does not have.  Before the
 * source is assembled, each marker is replaced by a label, so that its address is that of a symbol
 * in the object file.
 */
#ifndef TOOLS_MCA_SOURCE_H
#define TOOLS_MCA_SOURCE_H

#include "pesa/mca.h"

struct mca_source_region {
	char *name;		   /* "": anonymous */
	bool has_begin, has_end;   /* its markers; neither: the whole input */
	unsigned int first, count; /* index of the first instruction; number of instructions */
};

struct mca_source {
	struct pesa_mca_instruction *instructions;
	/* For each instruction: */
	char **text;	/* its assembly */
	char **comment; /* the comment on its line, from "//"; an entry or the array may be NULL */
	uint64_t *address; /* its address in the program; NULL: the input was assembly */
	unsigned int count;
	struct mca_source_region *regions; /* in the order of their begin markers */
	unsigned int region_count;
	unsigned int closed; /* regions at the beginning of `regions` that have both markers */
};

struct mca_source_options {
	const char *path;   /* "-": standard input */
	const char *isa;    /* ISA string to assemble and decode with */
	bool instruments;   /* apply instrument markers (LMUL, SEW, latency) and vsetvli */
	bool skip_rejected; /* leave out what the assembler rejects, with a warning */
};

struct pesa_error *mca_source_read(const struct mca_source_options *options,
				   struct mca_source *source);
/*
 * Make one region of all instructions, which have no markers.  `instruments`: follow vsetvli, so
 * that each instruction has its LMUL and SEW.
 */
struct pesa_error *mca_source_whole(struct mca_source *source, bool instruments);
void mca_source_free(struct mca_source *source);

#endif
