/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information: source lines and inlined functions from the DWARF of one file.
 *
 * The index of units is made from the units' own address ranges (not .debug_aranges, which some
 * compilers leave out).  The functions of a unit are indexed when an address of the unit is first
 * asked for, each with the calls that were inlined into it as nested ranges.
 */
#ifndef DECODER_BINARY_DEBUG_INFO_H
#define DECODER_BINARY_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/symbols.h"

struct pesa_debug_info;

/*
 * `dwarf` is borrowed and must outlive the result; `bias` is what to subtract from an address to
 * get DWARF's.  `from` is the file that it is of, whose split units are followed where their files
 * are regular ones; of others there are the lines that the file itself has.  NULL: no unit with
 * code (or out of memory).
 */
struct pesa_debug_info *pesa_debug_info_create(Dwarf *dwarf, uint64_t bias, const char *from);
void pesa_debug_info_free(struct pesa_debug_info *info);

struct pesa_source pesa_debug_info_source(struct pesa_debug_info *info, uint64_t address);
size_t pesa_debug_info_inlines(struct pesa_debug_info *info, uint64_t address,
			       struct pesa_inline_frame *frames, size_t max);

#endif
