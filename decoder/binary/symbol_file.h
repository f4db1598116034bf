/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol file: symbols and debug information of one ELF file, with its separate debug file.
 *
 * Three things are loaded, each when it is first asked for: the symbol tables (never DWARF), the
 * index of compilation units (for lines), and the functions of a unit with what was inlined into
 * them. Everything is found again by binary search.  Addresses are the ELF file's own virtual
 * addresses.
 */
#ifndef DECODER_BINARY_SYMBOL_FILE_H
#define DECODER_BINARY_SYMBOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/binary/symbol_table.h"
#include "pesa/error.h"
#include "pesa/symbols.h"

struct pesa_symbol_file;

/*
 * Open an ELF file.  Separate debug files are looked for beside it and below `root` (may be NULL)
 * and /usr/lib/debug.  Owned by the caller.
 */
struct pesa_error *pesa_symbol_file_open(const char *path, const char *root,
					 struct pesa_symbol_file **file);
/*
 * Open what is left of a binary that is gone, by its build id: its debug file, a copy in perf's
 * build-id cache (~/.debug) or, when DEBUGINFOD_URLS is set, the file from a server.
 */
struct pesa_error *pesa_symbol_file_open_by_id(const uint8_t *build_id, size_t size,
					       const char *root, struct pesa_symbol_file **file);
void pesa_symbol_file_free(struct pesa_symbol_file *file);

/* Put the functions into `table`.  False when out of memory. */
bool pesa_symbol_file_load(struct pesa_symbol_file *file, struct pesa_symbol_table *table);

/* Are there only the dynamic symbols, of the file and of any debug file?  After loading. */
bool pesa_symbol_file_is_stripped(struct pesa_symbol_file *file);

/* Is there debug information?  Looks for it when first called. */
bool pesa_symbol_file_has_debug(struct pesa_symbol_file *file);
/* Where it was found, and its debug information.  The result's paths are the caller's. */
struct pesa_symbol_paths pesa_symbol_file_paths(struct pesa_symbol_file *file);
/* As in pesa/symbols.h.  Strings live as long as the file. */
struct pesa_source pesa_symbol_file_source(struct pesa_symbol_file *file, uint64_t address);
size_t pesa_symbol_file_inlines(struct pesa_symbol_file *file, uint64_t address,
				struct pesa_inline_frame *frames, size_t max);

#endif
