/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the separate debug file of a module, for libdwfl.
 *
 * libdwfl's own search ends with debuginfod: its client library and thirty others are loaded before
 * the list of servers is checked, which takes longer than reading most recordings.  So the search
 * is skipped if no server is configured and no file exists in any searched place.
 */
#ifndef DECODER_BINARY_SYMBOL_DEBUG_FILE_H
#define DECODER_BINARY_SYMBOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "pesa/error.h"

/*
 * A Dwfl_Find_Debuginfo callback.  The module's user data must be the search path in its Dwfl's
 * debuginfo_path (a char *), or NULL to always use libdwfl's search.
 */
int pesa_debug_file_find(Dwfl_Module *module, void **user_data, const char *module_name,
			 Dwarf_Addr base, const char *file_name, const char *link_name,
			 GElf_Word link_checksum, char **debug_file_name);

/*
 * Debug information names further files: those of split units, and a file shared by several debug
 * files. libdw opens them itself, whatever their type.  *may: whether it may, because in every place
 * where libdw searches for `name`, from the ELF file at `from`, there is a regular file
 * (regular_file.h) or no file.  `directory` is the compiler's working directory; NULL: unknown or
 * unused.
 */
struct pesa_error *pesa_debug_file_may_open(const char *from, const char *directory,
					    const char *name, bool *may);

#endif
