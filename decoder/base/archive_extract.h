/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extracting an untrusted tarball into a directory that other users cannot enter.
 *
 * unpack.h decompresses, libarchive parses, and this code writes: new regular files of mode 0600,
 * owned by the caller, and their parent directories.  An archive determines only the names below
 * the directory and the contents of files.  An archive with members other than regular files and
 * directories, or with a name that is not below `top`, is refused as a whole.
 */
#ifndef DECODER_BASE_ARCHIVE_EXTRACT_H
#define DECODER_BASE_ARCHIVE_EXTRACT_H

#include <stdint.h>

#include "pesa/error.h"

/* Default limit in decompressed bytes: recordings and binaries with debug information have some
 * gigabytes at most. */
#define PESA_ARCHIVE_LIMIT (UINT64_C(16) << 30)

/*
 * Extract the tarball at `path` into the open directory.  All its members are below `top` (a name
 * without a slash).  It may have `limit` bytes, where every member counts for at least 4096, and
 * must leave a tenth of the file system free.  Files extracted before an error are kept.
 */
struct pesa_error *pesa_archive_extract(const char *path, const char *top, int directory,
					uint64_t limit);

#endif
