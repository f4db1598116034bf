/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives made by pesa archive, read as the recording that they contain.
 *
 * A tarball is detected by its contents (zstd, gzip, or uncompressed) and extracted to a temporary
 * directory below $TMPDIR (/tmp), which is removed at exit (temporary_directory.h).
 * decoder/base/archive_extract.h defines what it may contain, PESA_ARCHIVE_LIMIT its maximum size.
 * A directory with a perf.data is an extracted archive.
 */
#ifndef TOOLS_FILES_ARCHIVE_OPEN_H
#define TOOLS_FILES_ARCHIVE_OPEN_H

#include "pesa/error.h"

/* The top directory of an archive, and the recording in it. */
#define ARCHIVE_DIRECTORY "pesa-archive"
#define ARCHIVE_RECORDING "perf.data"

/*
 * The directory of the archive at `path`, which has binaries like a --symfs directory, and its
 * recording; NULL: not an archive.  Both are kept until the process exits.
 */
struct pesa_error *archive_open(const char *path, const char **directory, const char **recording);

#endif
