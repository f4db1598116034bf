/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of code that a program made at run time, by run-time address.
 *
 * Each address has at most one byte.  If a program overwrites code, the old and the new version are
 * two objects (see pesa_spaces_apply()).
 */
#ifndef DECODER_BINARY_CODE_H
#define DECODER_BINARY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_code;

/* NULL: out of memory. */
struct pesa_code *pesa_code_create(void);
void pesa_code_free(struct pesa_code *code);
/* Whether the known bytes at these addresses are equal to those given. */
bool pesa_code_agrees(const struct pesa_code *code, uint64_t address, const uint8_t *bytes,
		      size_t size);
/* Add bytes that agree with the known ones.  The range does not wrap. */
struct pesa_error *pesa_code_add(struct pesa_code *code, uint64_t address, const uint8_t *bytes,
				 size_t size);
/* Remove all bytes of the range. */
void pesa_code_forget(struct pesa_code *code, uint64_t start, uint64_t end);
/* Copy known bytes from an address, up to the first gap.  Returns their number, at most `size`. */
size_t pesa_code_read(const struct pesa_code *code, uint64_t address, void *buffer, size_t size);

#endif
