/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the separate debug file of a module, for libdwfl.
 *
 * libdwfl's own search ends with debuginfod, whose client library and the thirty below it are
 * loaded before it is known whether any server is named: that takes longer than to read most
 * recordings.  So where no server is named and no file is in any place that would be looked at, the
 * search is not begun.
 */
#ifndef DECODER_BINARY_SYMBOL_DEBUG_FILE_H
#define DECODER_BINARY_SYMBOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/*
 * A Dwfl_Find_Debuginfo.  The module's user data must be the search path that its Dwfl has in
 * debuginfo_path (a char *), or NULL for "always ask libdwfl".
 */
int pesa_debug_file_find(Dwfl_Module *module, void **user_data, const char *module_name,
			 Dwarf_Addr base, const char *file_name, const char *link_name,
			 GElf_Word link_checksum, char **debug_file_name);

/*
 * Debug information names more files: those of split units, and one that several debug files have
 * in common.  libdw opens them by itself, whatever they are.  Whether it may: in every place where
 * it looks for `name`, which the ELF file at `from` tells, is a regular file (regular_file.h) or
 * none.  `directory` is where the compiler was started; NULL: unknown, or of no meaning.
 */
bool pesa_debug_file_may_open(const char *from, const char *directory, const char *name);

#endif
