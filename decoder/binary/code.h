/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a program made at run time, as far as it is known: bytes at run-time addresses.
 *
 * No address has two bytes.  Where a program overwrites code, the old and the new version are two
 * of these (see pesa_spaces_apply()).
 */
#ifndef DECODER_BINARY_CODE_H
#define DECODER_BINARY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pesa_code;

/* NULL: out of memory. */
struct pesa_code *pesa_code_create(void);
void pesa_code_free(struct pesa_code *code);
/* Whether nothing else is known of these addresses than the bytes given. */
bool pesa_code_agrees(const struct pesa_code *code, uint64_t address, const uint8_t *bytes,
		      size_t size);
/* Bytes that agree.  The range does not wrap.  False: out of memory. */
bool pesa_code_add(struct pesa_code *code, uint64_t address, const uint8_t *bytes, size_t size);
/* Nothing is known of the range any more. */
void pesa_code_forget(struct pesa_code *code, uint64_t start, uint64_t end);
/* Copy what is known from an address on, without a gap.  Returns how many of `size` bytes. */
size_t pesa_code_read(const struct pesa_code *code, uint64_t address, void *buffer, size_t size);

#endif
