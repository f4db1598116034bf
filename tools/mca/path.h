/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path through a program: where it begins, and the successor of every control transfer
 * instruction.
 *
 * In a file there is one address a line, hexadecimal with or without 0x, of the ELF file; empty
 * lines and what follows # do not count.  The first is the entry, each further one the address at
 * which execution went on after the next branch, jump, call or return, the fall-through of a branch
 * that was not taken included.  The path ends with the first one that has no successor.
 *
 * From a profile the successors are chosen such that, however often the path has come by an
 * instruction, its successors were taken as near to their measured shares as whole numbers allow.
 * Nothing is random: the same profile gives the same path.  A return goes to where the path's own
 * call came from; calls into other binaries, or to where was not measured, are stepped
 * over.  Where it cannot go on it begins anew, up to the length that was asked for.
 */
#ifndef TOOLS_MCA_PATH_H
#define TOOLS_MCA_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/error.h"
#include "pesa/image.h"
#include "pesa/riscv.h"

#define MCA_PATH_MAX 1000000 /* instructions */

/* Why a path from a profile could not go on. */
enum mca_path_end {
	MCA_PATH_COMPLETE,
	MCA_PATH_UNMEASURED,  /* the profile does not tell where this branch goes */
	MCA_PATH_LEFT,	      /* control left the program, and to where it returns is not known */
	MCA_PATH_UNDECODABLE, /* there is no instruction here */
};

struct mca_path {
	uint64_t entry;
	uint64_t *successor;
	unsigned int *line; /* of each in the file; NULL for a profile */
	unsigned int count;
	uint64_t instructions; /* from a profile: after which it ends; 0: where successors end */
	uint64_t outside;      /* from a profile: calls to elsewhere that were stepped over */
	uint64_t restarts;     /* from a profile: times that it ended and begins anew */
	enum mca_path_end end;
	uint64_t end_address;
};

/* The same from an open file; `name` is for messages. */
struct pesa_error *mca_path_parse(FILE *stream, const char *name, struct mca_path *path);
struct pesa_error *mca_path_read(const char *file, struct mca_path *path);

struct mca_path_from {
	const char *profile;
	const char *program;
	const struct pesa_image *image;
	const struct pesa_isa *isa;
	bool has_entry; /* else the function with the instruction that executed most often */
	uint64_t entry;
	unsigned int length;
};
struct pesa_error *mca_path_from_profile(const struct mca_path_from *from, struct mca_path *path);
void mca_path_free(struct mca_path *path);

#endif
