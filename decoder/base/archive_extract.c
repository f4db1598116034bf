/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "decoder/base/archive_extract.h"
#include "decoder/base/libarchive.h"
#include "decoder/base/unpack.h"

#define CHUNK	     (256 * 1024)
#define MEMBER_BYTES 4096u /* minimum size of a member on disk: its inode and its block */

struct extraction {
	const char *path, *top;
	int directory;
	uint64_t limit;		 /* bytes */
	uint64_t unpacked, used; /* bytes: of the tarball; on disk */
	bool limited_by_room;
	struct pesa_unpack *unpack;
	struct libarchive library;
	struct archive *archive;
	struct pesa_error *error; /* the error of the read callback */
	uint8_t bytes[CHUNK], contents[CHUNK];
};

/* Load the library when an archive is read: linking with it would cost every start of pesa more
 * than the start itself. */
static struct pesa_error *load(struct libarchive *library)
{
	void *handle = dlopen(LIBARCHIVE_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	bool complete = handle;

	if (!handle)
		return pesa_error_create(PESA_ERROR_SYSTEM,
					 "cannot load libarchive, which reads archives (%s): "
					 "install it (Debian: libarchive13 or libarchive13t64)",
					 dlerror());
#define FUNCTION(type, name, parameters) \
	complete &= !!(library->name = (__typeof__(library->name))dlsym(handle, #name));
	LIBARCHIVE_FUNCTIONS(FUNCTION)
#undef FUNCTION
	dlclose(handle);
	return complete ? NULL
			: pesa_error_create(PESA_ERROR_SYSTEM, "%s lacks functions of libarchive",
					    LIBARCHIVE_FILE);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static struct pesa_error *too_large(const struct extraction *extraction)
{
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "%s: has more than %" PRIu64 " bytes when it is extracted, %s",
				 extraction->path, extraction->limit,
				 extraction->limited_by_room
					 ? "for which there is no room (set TMPDIR)"
					 : "which is the limit (set PESA_ARCHIVE_LIMIT)");
}

/* Add bytes to a count; false if it exceeds the limit. */
static bool account(const struct extraction *extraction, uint64_t *count, uint64_t bytes)
{
	if (bytes > extraction->limit || *count > extraction->limit - bytes)
		return false;
	*count += bytes;
	return true;
}

static struct pesa_error *limit_to_room(struct extraction *extraction)
{
	struct statvfs room;
	uint64_t left;

	if (fstatvfs(extraction->directory, &room))
		return pesa_error_system(errno, "cannot see what room there is for %s",
					 extraction->path);
	left = (uint64_t)room.f_bavail * room.f_frsize;
	left -= left / 10;
	extraction->limited_by_room = left < extraction->limit;
	if (extraction->limited_by_room)
		extraction->limit = left;
	return NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static struct pesa_error *damaged(const struct extraction *extraction, const char *why)
{
	return pesa_error_create(
		PESA_ERROR_FORMAT,
		"%s: cannot be extracted (%s): the archive is damaged; copy it again",
		extraction->path, why ? why : "it is no tarball");
}

/* Read the next bytes of the tarball; *got is 0 at its end. */
static struct pesa_error *read_on(struct extraction *extraction, size_t *got)
{
	struct pesa_error *error = pesa_unpack_read(extraction->unpack, extraction->bytes,
						    sizeof(extraction->bytes), got);

	if (error)
		return error;
	if (!*got && pesa_unpack_damage(extraction->unpack))
		return damaged(extraction, pesa_unpack_damage(extraction->unpack));
	if (!account(extraction, &extraction->unpacked, *got))
		return too_large(extraction);
	return NULL;
}

static ssize_t give(struct archive *archive, void *context, const void **bytes)
{
	struct extraction *extraction = context;
	size_t got = 0;

	(void)archive;
	if (!extraction->error)
		extraction->error = read_on(extraction, &got);
	*bytes = extraction->bytes;
	return extraction->error ? -1 : (ssize_t)got;
}

/* The error of the read callback, or else that of the library. */
static struct pesa_error *library_failed(struct extraction *extraction)
{
	struct pesa_error *error = extraction->error;

	extraction->error = NULL;
	return error ? error
		     : damaged(extraction,
			       extraction->library.archive_error_string(extraction->archive));
}

/* ---- Writing --------------------------------------------------------------------------------- */

static struct pesa_error *foreign(const struct extraction *extraction, const char *name,
				  const char *what)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%s: was not made by pesa archive: '%s' %s",
				 extraction->path, name ? name : "", what);
}

/* Whether a name is relative, below `top`, and without empty parts, "." and "..". */
static bool is_plain(const char *name, const char *top)
{
	size_t length = strlen(top);

	if (strncmp(name, top, length) || name[length] != '/' || strlen(name) >= PATH_MAX)
		return false;
	for (;;) {
		length = strcspn(name, "/");
		if (!length || (length == 1 && *name == '.') ||
		    (length == 2 && name[0] == '.' && name[1] == '.'))
			return false;
		if (!name[length])
			return true;
		name += length + 1;
	}
}

static struct pesa_error *cannot_write(const struct extraction *extraction, const char *name)
{
	if (errno == EEXIST || errno == ENOTDIR || errno == EISDIR)
		return foreign(extraction, name, "is there twice");
	return pesa_error_system(errno, "%s: cannot extract %s", extraction->path, name);
}

/* No link can be followed: only directories are made here, and no links. */
static struct pesa_error *make_parents(struct extraction *extraction, const char *name)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(part, name, (size_t)(slash - name));
		part[slash - name] = '\0';
		if (!mkdirat(extraction->directory, part, 0700)) {
			if (!account(extraction, &extraction->used, MEMBER_BYTES))
				return too_large(extraction);
		} else if (errno != EEXIST) {
			return cannot_write(extraction, name);
		}
	}
	return NULL;
}

static struct pesa_error *write_all(const struct extraction *extraction, const char *name, int file,
				    size_t size)
{
	const uint8_t *bytes = extraction->contents;

	while (size) {
		ssize_t written = write(file, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return pesa_error_system(errno, "%s: cannot extract %s", extraction->path,
						 name);
		bytes += written;
		size -= (size_t)written;
	}
	return NULL;
}

static struct pesa_error *copy(struct extraction *extraction, const char *name, int file)
{
	struct pesa_error *error = NULL;
	ssize_t got;

	do {
		got = extraction->library.archive_read_data(
			extraction->archive, extraction->contents, sizeof(extraction->contents));
		if (got < 0)
			return library_failed(extraction);
		if (!account(extraction, &extraction->used, (uint64_t)got))
			return too_large(extraction);
		error = write_all(extraction, name, file, (size_t)got);
	} while (!error && got);
	return error;
}

static struct pesa_error *extract_member(struct extraction *extraction, const char *name)
{
	struct pesa_error *error = make_parents(extraction, name);
	int file;

	if (error)
		return error;
	if (!account(extraction, &extraction->used, MEMBER_BYTES))
		return too_large(extraction);
	file = openat(extraction->directory, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return cannot_write(extraction, name);
	error = copy(extraction, name, file);
	if (close(file) && !error)
		error = pesa_error_system(errno, "%s: cannot extract %s", extraction->path, name);
	return error;
}

/* ---- Members --------------------------------------------------------------------------------- */

static struct pesa_error *take_member(struct extraction *extraction, struct archive_entry *entry)
{
	const struct libarchive *library = &extraction->library;
	const char *name = library->archive_entry_pathname(entry);

	/* The name has characters outside the locale's character set. */
	if (!name)
		name = library->archive_entry_pathname_utf8(entry);
	if (!name)
		return foreign(extraction, name, "is no name");
	if (library->archive_entry_hardlink(entry))
		return foreign(extraction, name, "is a link");
	switch (library->archive_entry_filetype(entry)) {
	case S_IFDIR: /* directories are made when a file needs them */
		return NULL;
	case S_IFREG:
		break;
	default:
		return foreign(extraction, name, "is no regular file");
	}
	if (!strncmp(name, "./", 2))
		name += 2;
	if (!is_plain(name, extraction->top))
		return foreign(extraction, name, "is not plainly below its directory");
	return extract_member(extraction, name);
}

static struct pesa_error *take_members(struct extraction *extraction)
{
	const struct libarchive *library = &extraction->library;
	struct pesa_error *error = NULL;
	struct archive_entry *entry;
	size_t rest = 1;
	int status;

	while (!error) {
		status = library->archive_read_next_header(extraction->archive, &entry);
		if (status == LIBARCHIVE_END)
			break;
		/* Warnings concern a name's character set, or attributes that are not used. */
		if (status != LIBARCHIVE_OK && status != LIBARCHIVE_WARNING)
			return library_failed(extraction);
		error = take_member(extraction, entry);
	}
	/* Read checksums after the last member. */
	while (!error && rest)
		error = read_on(extraction, &rest);
	return error;
}

static struct pesa_error *extract(struct extraction *extraction)
{
	const struct libarchive *library = &extraction->library;
	struct pesa_error *error = load(&extraction->library);

	if (!error)
		error = limit_to_room(extraction);
	if (!error)
		error = pesa_unpack_open(extraction->path, &extraction->unpack);
	if (error)
		return error;
	extraction->archive = library->archive_read_new();
	if (!extraction->archive)
		error = pesa_error_no_memory();
	else if (library->archive_read_support_format_tar(extraction->archive) != LIBARCHIVE_OK ||
		 library->archive_read_open(extraction->archive, extraction, NULL, give, NULL) !=
			 LIBARCHIVE_OK)
		error = library_failed(extraction);
	else
		error = take_members(extraction);
	if (extraction->archive)
		library->archive_read_free(extraction->archive);
	pesa_unpack_close(extraction->unpack);
	pesa_error_free(extraction->error);
	return error;
}

struct pesa_error *pesa_archive_extract(const char *path, const char *top, int directory,
					uint64_t limit)
{
	struct extraction *extraction = calloc(1, sizeof(*extraction));
	struct pesa_error *error;

	if (!extraction)
		return pesa_error_no_memory();
	extraction->path = path;
	extraction->top = top;
	extraction->directory = directory;
	extraction->limit = limit;
	error = extract(extraction);
	free(extraction);
	return error;
}
