/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extracting a tarball that somebody else made, into a directory that nobody else can enter.
 *
 * Decompressed it is by unpack.h, taken apart by libarchive, written here: regular files, each with
 * its parents, new, of mode 0600 and of the one who extracts.  Nothing of an archive decides more
 * than the names below the directory and the contents of files.  One that has anything else than
 * regular files and directories, or a name that is not plainly below `top`, is refused as a whole.
 */
#ifndef DECODER_BASE_ARCHIVE_EXTRACT_H
#define DECODER_BASE_ARCHIVE_EXTRACT_H

#include <stdint.h>

#include "pesa/error.h"

/* Of decompressed bytes, unless the user says otherwise: recordings and binaries with their debug
 * information have some gigabytes at most. */
#define PESA_ARCHIVE_LIMIT (UINT64_C(16) << 30)

/*
 * Extract the tarball at `path`, whose members all are below `top` (a name without a slash), into
 * the open directory.  It may have `limit` bytes, where every member takes at least 4096, and must
 * leave a tenth of the room of the directory's file system.  What was extracted before an error
 * stays.
 */
struct pesa_error *pesa_archive_extract(const char *path, const char *top, int directory,
					uint64_t limit);

#endif
