/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug information: source lines and inlined functions from the DWARF of one file.
 *
 * The index of units is built from the units' own address ranges, not from .debug_aranges, which
 * some compilers omit.  The functions of a unit are indexed at the first query for an address of
 * the unit, each with its inlined calls as nested ranges.
 */
#ifndef DECODER_BINARY_DEBUG_INFO_H
#define DECODER_BINARY_DEBUG_INFO_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/symbols.h"

struct pesa_debug_info;

/*
 * `dwarf` is borrowed and must outlive the result.  `bias` is subtracted from an address to get the
 * address in DWARF.  `from` is the path of the file.  Its split units are used if their files are
 * regular ones; without them there are only the lines in the file itself.  *info: NULL if no unit
 * has code.
 */
struct pesa_error *pesa_debug_info_create(Dwarf *dwarf, uint64_t bias, const char *from,
					  struct pesa_debug_info **info);
void pesa_debug_info_free(struct pesa_debug_info *info);

struct pesa_error *pesa_debug_info_source(struct pesa_debug_info *info, uint64_t address,
					  struct pesa_source *source);
/* *count: number of frames, at most `max`; 0: no function is known there. */
struct pesa_error *pesa_debug_info_inlines(struct pesa_debug_info *info, uint64_t address,
					   struct pesa_inline_frame *frames, size_t max,
					   size_t *count);
/* Likewise, as in pesa/symbols.h. */
struct pesa_error *pesa_debug_info_source_frames(struct pesa_debug_info *info, uint64_t address,
						 struct pesa_source_frame *frames, size_t max,
						 size_t *count);

#endif
