/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol file: symbols and debug information of one ELF file and its separate debug file.
 *
 * Three parts are loaded, each at its first use: the symbol tables (without DWARF), the index of
 * compilation units (for lines), and the functions of a unit with their inlined calls.  Lookups are
 * binary searches.  Addresses are the ELF file's own virtual addresses.
 */
#ifndef DECODER_BINARY_SYMBOL_FILE_H
#define DECODER_BINARY_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/binary/symbol_table.h"
#include "pesa/error.h"
#include "pesa/symbols.h"

struct pesa_symbol_file;

/*
 * Open an ELF file.  Separate debug files are searched next to it, below `root` (may be NULL) and
 * in /usr/lib/debug.  The caller owns the result.
 */
struct pesa_error *pesa_symbol_file_open(const char *path, const char *root,
					 struct pesa_symbol_file **file);
/*
 * Open a substitute, by build id, for a binary that no longer exists: its debug file, a copy in
 * perf's build-id cache (~/.debug) or, if DEBUGINFOD_URLS is set, the file from a server.
 */
struct pesa_error *pesa_symbol_file_open_by_id(const uint8_t *build_id, size_t size,
					       const char *root, struct pesa_symbol_file **file);
/*
 * Fetch the program or library with a build id from the servers in DEBUGINFOD_URLS, whose client keeps it
 * in its cache.  *path, which the caller owns, is unchanged if there is no server or none has it.
 */
struct pesa_error *pesa_symbol_file_fetch(const uint8_t *build_id, size_t size, char **path);
void pesa_symbol_file_free(struct pesa_symbol_file *file);

/* Add the functions to `table`. */
struct pesa_error *pesa_symbol_file_load(struct pesa_symbol_file *file,
					 struct pesa_symbol_table *table);

/* Whether the file and its debug file have dynamic symbols only.  Valid after loading. */
bool pesa_symbol_file_is_stripped(struct pesa_symbol_file *file);

/* Search for debug information, at the first call only.  *found: there is some.  It is required for
 * the functions below. */
struct pesa_error *pesa_symbol_file_open_debug(struct pesa_symbol_file *file, bool *found);
/* Paths of the file and of its debug information.  The caller owns the strings. */
struct pesa_error *pesa_symbol_file_paths(struct pesa_symbol_file *file,
					  struct pesa_symbol_paths *paths);
/* As in pesa/symbols.h.  Strings are valid as long as the file. */
struct pesa_error *pesa_symbol_file_source(struct pesa_symbol_file *file, uint64_t address,
					   struct pesa_source *source);
struct pesa_error *pesa_symbol_file_inlines(struct pesa_symbol_file *file, uint64_t address,
					    struct pesa_inline_frame *frames, size_t max,
					    size_t *count);
struct pesa_error *pesa_symbol_file_source_frames(struct pesa_symbol_file *file, uint64_t address,
						  struct pesa_source_frame *frames, size_t max,
						  size_t *count);

#endif
