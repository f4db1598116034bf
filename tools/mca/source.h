/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The input of `pesa mca`: assembly source to decoded instructions and the regions to analyse.
 *
 * Region and instrument markers are comments, which an object file does not have.  Each is replaced
 * by a label before the source is assembled, so that its place is a symbol of the object file.
 */
#ifndef TOOLS_MCA_SOURCE_H
#define TOOLS_MCA_SOURCE_H

#include "pesa/mca.h"

struct mca_source_region {
	char *name;		   /* "" for an anonymous one */
	bool has_begin, has_end;   /* neither: the whole input */
	unsigned int first, count; /* instructions */
};

struct mca_source {
	struct pesa_mca_instruction *instructions;
	char **text;	   /* assembly of each */
	char **comment;	   /* beside each in its line, from "//"; NULL: none of this, of any */
	uint64_t *address; /* of each in its program; NULL: it came from assembly */
	unsigned int count;
	struct mca_source_region *regions; /* in the order of their begin markers */
	unsigned int region_count;
};

struct mca_source_options {
	const char *path;   /* "-": standard input */
	const char *isa;    /* what to decode and to assemble for */
	bool instruments;   /* heed LMUL, SEW and latency */
	bool skip_rejected; /* leave out what the assembler rejects, with a warning */
};

struct pesa_error *mca_source_read(const struct mca_source_options *options,
				   struct mca_source *source);
/* Make one region of instructions that came without markers, under the vector types they set. */
struct pesa_error *mca_source_whole(struct mca_source *source, bool instruments);
void mca_source_free(struct mca_source *source);

#endif
