/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing tarballs whose bytes depend on nothing but names and contents: POSIX.1-1988 headers
 * (ustar), with extended ones of POSIX.1-2001 where a name or size does not fit; owner root, mode
 * 0644, one fixed time.  Compressed by zstd or zlib as the name of the file says: .tar.zst (.tzst),
 * .tar.gz (.tgz), .tar.
 */
#ifndef TOOLS_ARCHIVE_TAR_WRITER_H
#define TOOLS_ARCHIVE_TAR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct tar_writer;

/* Whether a file's name says how it is to be compressed. */
bool tar_writer_knows(const char *path);
/* The file appears when it is finished.  Refuses a path that is there and is no regular file. */
struct pesa_error *tar_writer_create(const char *path, struct tar_writer **writer);
/* A directory; its name without a slash at the end. */
struct pesa_error *tar_writer_directory(struct tar_writer *writer, const char *name);
/* The file at `path` as `name`.  A file that becomes shorter meanwhile is an error. */
struct pesa_error *tar_writer_file(struct tar_writer *writer, const char *name, const char *path);
/* Bytes as the file `name`. */
struct pesa_error *tar_writer_bytes(struct tar_writer *writer, const char *name, const void *bytes,
				    size_t size);
/* Finish, or give up; both free the writer. */
struct pesa_error *tar_writer_finish(struct tar_writer *writer);
void tar_writer_abandon(struct tar_writer *writer);

#endif
