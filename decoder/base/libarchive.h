/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libarchive as pesa uses it: loaded when an archive is read, and not needed to build pesa.
 *
 * Debian's package of its headers brings the library and ICU, 40 MB.  So the types of the functions
 * that are called are stated here, of libarchive's binary interface 13; tests/unit/test_libarchive.c
 * holds them against the headers.
 */
#ifndef DECODER_BASE_LIBARCHIVE_H
#define DECODER_BASE_LIBARCHIVE_H

#include <sys/types.h>

/* The name under which the loader finds it. */
#define LIBARCHIVE_FILE "libarchive.so.13"

struct archive;
struct archive_entry;

/* What functions return. */
enum libarchive_status {
	LIBARCHIVE_OK = 0,
	LIBARCHIVE_END = 1,	  /* no further member */
	LIBARCHIVE_WARNING = -20, /* a member that is not read completely as it was meant */
};

/* Gives the next bytes; 0 at the end, -1 after an error. */
typedef ssize_t libarchive_read(struct archive *archive, void *context, const void **bytes);
typedef int libarchive_open(struct archive *archive, void *context);
typedef int libarchive_close(struct archive *archive, void *context);

/* FUNCTION(what it returns, its name, its parameters) for each function that is called. */
#define LIBARCHIVE_FUNCTIONS(FUNCTION)                                                       \
	FUNCTION(struct archive *, archive_read_new, (void))                                 \
	FUNCTION(int, archive_read_support_format_tar, (struct archive *))                   \
	FUNCTION(int, archive_read_open,                                                     \
		 (struct archive *, void *, libarchive_open *, libarchive_read *,            \
		  libarchive_close *))                                                       \
	FUNCTION(int, archive_read_next_header, (struct archive *, struct archive_entry **)) \
	FUNCTION(ssize_t, archive_read_data, (struct archive *, void *, size_t))             \
	FUNCTION(const char *, archive_error_string, (struct archive *))                     \
	FUNCTION(int, archive_read_free, (struct archive *))                                 \
	FUNCTION(const char *, archive_entry_pathname, (struct archive_entry *))             \
	FUNCTION(const char *, archive_entry_pathname_utf8, (struct archive_entry *))        \
	FUNCTION(mode_t, archive_entry_filetype, (struct archive_entry *))                   \
	FUNCTION(const char *, archive_entry_hardlink, (struct archive_entry *))

struct libarchive {
#define FUNCTION(type, name, parameters) type(*name) parameters;
	LIBARCHIVE_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

#endif
