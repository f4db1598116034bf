/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path through a program: its entry, and the successor of every control transfer instruction.
 *
 * A path file has one address per line, hexadecimal with or without 0x, of the ELF file; empty
 * lines and comments after # are ignored.  The first address is the entry.  Each further one is the
 * address at which execution continued after the next branch, jump, call or return, including the
 * fall-through of a branch that was not taken.  The path ends at the first transfer without a
 * successor.
 *
 * In a path from a profile, the successors of each instruction are taken in proportion to their
 * measured shares, as exactly as whole numbers allow.  It is deterministic: the same profile gives
 * the same path.  A return goes back to the call of the path; calls into other binaries or
 * unmeasured code are stepped over.  A path that cannot continue restarts at its entry, until it has
 * the requested length.
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

/* Why a path from a profile ended. */
enum mca_path_end {
	MCA_PATH_COMPLETE,
	MCA_PATH_UNMEASURED,  /* the profile has no successor of this branch */
	MCA_PATH_LEFT,	      /* control left the program with an unknown return address */
	MCA_PATH_UNDECODABLE, /* not an instruction */
};

struct mca_path {
	uint64_t entry;
	uint64_t *successor;
	unsigned int *line; /* for each successor, its line in the file; NULL: from a profile */
	unsigned int count;
	uint64_t instructions; /* from a profile: length; 0: until there is no successor */
	uint64_t outside;      /* from a profile: number of calls stepped over */
	uint64_t restarts;     /* from a profile: number of restarts */
	enum mca_path_end end;
	uint64_t end_address;
};

/* Read a path file; or parse it from a stream, where `name` is used in messages. */
struct pesa_error *mca_path_parse(FILE *stream, const char *name, struct mca_path *path);
struct pesa_error *mca_path_read(const char *file, struct mca_path *path);

struct mca_path_from {
	const char *profile;
	const char *program;
	const struct pesa_image *image;
	const struct pesa_isa *isa;
	bool has_entry; /* false: start at the function whose instruction executed most often */
	uint64_t entry;
	unsigned int length;
};
struct pesa_error *mca_path_from_profile(const struct mca_path_from *from, struct mca_path *path);
void mca_path_free(struct mca_path *path);

#endif
