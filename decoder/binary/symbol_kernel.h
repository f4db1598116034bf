/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols of the running kernel and its modules, from /proc/kallsyms.
 *
 * They are valid for the recorded kernel only, so its build id is compared with that of the running
 * one (/sys/kernel/notes).  Addresses are run-time addresses.
 */
#ifndef DECODER_BINARY_SYMBOL_KERNEL_H
#define DECODER_BINARY_SYMBOL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/binary/symbol_table.h"
#include "pesa/error.h"
#include "pesa/event.h"

/* Find the GNU build id in ELF notes.  Returns its size in bytes and sets *id to its position in
 * `notes`; 0: none. */
size_t pesa_kernel_notes_build_id(const uint8_t *notes, size_t size, const uint8_t **id);

/* Add the functions of /proc/kallsyms text to `table`.  *hidden: all addresses are 0, as for
 * unprivileged users. */
struct pesa_error *pesa_kernel_symbols_parse(const char *text, size_t size,
					     struct pesa_symbol_table *table, bool *hidden);

/* Get the build id of the running kernel if it has the symbol at this address.  *size: bytes of
 * `id`; 0: it has not, addresses are hidden, or the files cannot be read.  `root` as below. */
struct pesa_error *pesa_kernel_running_build_id(const char *root, const char *symbol,
						uint64_t address, uint8_t id[PESA_BUILD_ID_MAX],
						size_t *size);

/* Load the symbols of the running kernel (or of the files below `root`, if they exist) if its build
 * id is the given one. */
struct pesa_error *pesa_kernel_symbols_load(const char *root, const uint8_t *build_id,
					    size_t build_id_size, struct pesa_symbol_table *table);

#endif
