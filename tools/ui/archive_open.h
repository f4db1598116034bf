/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings in archives: what pesa archive made is read as the recording that is in it.
 *
 * A tarball is told by its contents (zstd, gzip, or none of them) and extracted into a directory of
 * its own below $TMPDIR (/tmp), which is gone when the process is (temporary_directory.h); what it
 * may have is in decoder/base/archive_extract.h, and how large it may be in PESA_ARCHIVE_LIMIT.  A
 * directory that has a perf.data is an archive that was extracted.
 */
#ifndef TOOLS_UI_ARCHIVE_OPEN_H
#define TOOLS_UI_ARCHIVE_OPEN_H

#include "pesa/error.h"

/* The directory in an archive, and the recording in that. */
#define ARCHIVE_DIRECTORY "pesa-archive"
#define ARCHIVE_RECORDING "perf.data"

/*
 * The directory of the archive at `path`, below which binaries are as below --symfs, and its
 * recording; NULL: it is none.  Both are kept until the process exits.
 */
struct pesa_error *archive_open(const char *path, const char **directory, const char **recording);

#endif
