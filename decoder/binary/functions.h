/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that a program made at run time, as named by a jitdump, by run-time address.  They do
 * not overlap: another function at the same address is in another version of the dso (see
 * pesa_spaces_apply()).
 */
#ifndef DECODER_BINARY_FUNCTIONS_H
#define DECODER_BINARY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/binary/jitdump.h"
#include "pesa/error.h"
#include "pesa/symbols.h"

struct pesa_functions;

struct pesa_function {
	struct pesa_symbol symbol; /* start, size; no name if it is empty in the dump */
	const struct pesa_jitdump_function *dumped;
	char *demangled; /* NULL: the name is not mangled */
};

/* NULL: out of memory. */
struct pesa_functions *pesa_functions_create(void);
void pesa_functions_free(struct pesa_functions *functions);

/* The first function that overlaps a range; NULL: none. */
const struct pesa_function *pesa_functions_first(const struct pesa_functions *functions,
						 uint64_t start, uint64_t end);
/* Whether the function can be added at `start`: the range is free, or has the same function. */
bool pesa_functions_agree(const struct pesa_functions *functions, uint64_t start,
			  const struct pesa_jitdump_function *function);
/* Add a function that agrees; it must outlive the set. */
struct pesa_error *pesa_functions_add(struct pesa_functions *functions, uint64_t start,
				      const struct pesa_jitdump_function *function);
/* As pesa_symbols_by_name(). */
size_t pesa_functions_by_name(const struct pesa_functions *functions, const char *name,
			      const struct pesa_symbol **found, size_t max);

#endif
