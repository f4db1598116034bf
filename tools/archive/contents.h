/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes into an archive: the recording, and of each binary in which any of its events was
 * sampled the ELF file, its separate debug file and what that shares with others; of the kernel its
 * symbols and the note that names it; of code made at run time the map that names it; and source
 * files.
 *
 * Names are those under which readers look below --symfs: the path of a binary; for one whose path
 * is taken by another build, or is not plain, .build-id/ab/cdef.../elf; for debug files
 * usr/lib/debug/.build-id/ab/cdef....debug.  No name begins with a slash or has a "..".
 */
#ifndef TOOLS_ARCHIVE_CONTENTS_H
#define TOOLS_ARCHIVE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <uthash.h>

#include "pesa/error.h"

struct archive_entry {
	char *name;
	char *path;  /* of the file */
	char *bytes; /* or what it is; neither: a directory */
	size_t size;
	char *from; /* for the summary */
};

struct archive_missing {
	char *path, *problem;
	double share; /* of the cycles of its event, the largest of all events */
};

struct archive_seen;

struct archive_contents {
	struct archive_entry *entry; /* sorted by name */
	size_t count, capacity, directories;
	struct archive_missing *missing; /* largest share first */
	size_t missing_count;
	char *damage;		   /* of the recording; NULL: none */
	struct archive_seen *seen; /* names that there are */
};

/* `path` is a recording, or an archive that is packed anew. */
struct pesa_error *archive_collect(struct archive_contents *contents, const char *path,
				   const char *root, bool sources);
void archive_contents_free(struct archive_contents *contents);

#endif
