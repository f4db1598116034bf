/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes reproducible tarballs: the bytes depend on names and contents only.
 *
 * POSIX.1-1988 headers (ustar), with POSIX.1-2001 extended headers for long names and large files;
 * owner root, mode 0644, a fixed time.  The file name selects the compression: .tar.zst (.tzst),
 * .tar.gz (.tgz), .tar.
 */
#ifndef TOOLS_ARCHIVE_TAR_WRITER_H
#define TOOLS_ARCHIVE_TAR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct tar_writer;

/* Return whether the file name has a known suffix. */
bool tar_writer_knows(const char *path);
/* The file gets its name when it is finished.  An existing path must be a regular file. */
struct pesa_error *tar_writer_create(const char *path, struct tar_writer **writer);
/* Add a directory; its name has no final slash. */
struct pesa_error *tar_writer_directory(struct tar_writer *writer, const char *name);
/* Add the file at `path` as `name`.  It is an error if the file shrinks meanwhile. */
struct pesa_error *tar_writer_file(struct tar_writer *writer, const char *name, const char *path);
/* Add bytes as the file `name`. */
struct pesa_error *tar_writer_bytes(struct tar_writer *writer, const char *name, const void *bytes,
				    size_t size);
/* Finish or abandon; both free the writer. */
struct pesa_error *tar_writer_finish(struct tar_writer *writer);
void tar_writer_abandon(struct tar_writer *writer);

#endif
