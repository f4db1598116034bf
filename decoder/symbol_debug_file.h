/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the separate debug file of a module, for libdwfl.
 *
 * libdwfl's own search ends with debuginfod, whose client library and the thirty below it are
 * loaded before it is known whether any server is named: that takes longer than to read most
 * recordings.  So where no server is named and no file is in any place that would be looked at, the
 * search is not begun.
 */
#ifndef DECODER_SYMBOL_DEBUG_FILE_H
#define DECODER_SYMBOL_DEBUG_FILE_H

#include <elfutils/libdwfl.h>

/*
 * A Dwfl_Find_Debuginfo.  The module's user data must be the search path that its Dwfl has in
 * debuginfo_path (a char *), or NULL for "always ask libdwfl".
 */
int pesa_debug_file_find(Dwfl_Module *module, void **user_data, const char *module_name,
			 Dwarf_Addr base, const char *file_name, const char *link_name,
			 GElf_Word link_checksum, char **debug_file_name);

#endif
