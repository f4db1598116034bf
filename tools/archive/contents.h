/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contents of an archive: the recording; for each sampled binary the ELF file, its separate
 * debug file and the supplementary debug file; the kernel's symbols and build id note; the jitdump
 * or map files of JIT code; and source files.
 *
 * Names are those that readers use below --symfs: the path of a binary, or .build-id/ab/cdef.../elf
 * if its path is used by another build or is not plain; usr/lib/debug/.build-id/ab/cdef....debug
 * for debug files.  No name begins with a slash or has "..".
 */
#ifndef TOOLS_ARCHIVE_CONTENTS_H
#define TOOLS_ARCHIVE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "pesa/error.h"

struct archive_entry {
	char *name;
	char *path;  /* of the file */
	char *bytes; /* or its contents; neither: a directory */
	size_t size;
	char *from; /* for the summary */
};

struct archive_missing {
	char *path, *problem;
	double share; /* of its event's cycles; the maximum over all events */
};

struct archive_seen;

struct archive_contents {
	struct archive_entry *entry; /* sorted by name */
	size_t count, capacity, directories;
	struct archive_missing *missing; /* largest share first */
	size_t missing_count;
	char *damage;		   /* damage of the recording; NULL: none */
	bool sampled;		   /* it has samples, or an exact profile */
	uint64_t lost;		   /* samples that an event has lost; the maximum */
	struct archive_seen *seen; /* set of used names */
};

/* `path` is a recording, or an archive to be packed again. */
struct pesa_error *archive_collect(struct archive_contents *contents, const char *path,
				   const char *root, bool sources);
void archive_contents_free(struct archive_contents *contents);

#endif
