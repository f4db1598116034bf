/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions without a symbol, as most of a stripped binary has them.
 *
 * Where they begin and end is known from the unwinding table (frame_table.h).  In code that it does
 * not describe a function begins where a direct call goes or an address is taken, and ends where the
 * next one begins; that is read from RISC-V code only.
 */
#ifndef DECODER_BINARY_SYMBOL_UNNAMED_H
#define DECODER_BINARY_SYMBOL_UNNAMED_H

#include <libelf.h>

#include "decoder/binary/symbol_table.h"

/* Add the functions of an ELF file's code to the table, which prefers symbols. */
struct pesa_error *pesa_unnamed_functions_load(Elf *elf, struct pesa_symbol_table *table);

#endif
