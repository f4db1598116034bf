/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol table: the functions of one binary, one for each address.
 *
 * ELF files have several names for one address, sizes of zero, and labels inside functions.  The
 * table takes all of them and chooses once, as perf does.  Among symbols with the same start, one
 * with a size is preferred to one without; then strong to weak, global to local, fewer leading
 * underscores, and the longer name.  A symbol without a size extends to the next symbol or to the
 * end of its section.  A label (no type) is used only outside of functions.
 *
 * A function without a symbol is used where no symbol is.  It is named by the binary and its address,
 * "python3.13+0x31f92", and has no linkage name.
 *
 * Names are copied; demangled names, and those of functions without a symbol, are made at their first
 * use.
 */
#ifndef DECODER_BINARY_SYMBOL_TABLE_H
#define DECODER_BINARY_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/symbols.h"

enum pesa_symbol_binding { /* in ascending order of preference */
			   PESA_SYMBOL_WEAK,
			   PESA_SYMBOL_LOCAL,
			   PESA_SYMBOL_GLOBAL,
};

struct pesa_symbol_candidate {
	const char *name;     /* NULL: a function without a symbol */
	uint64_t start, size; /* size 0: unknown */
	uint64_t limit;	      /* upper bound of its end: the end of its section; 0: unknown */
	enum pesa_symbol_binding binding;
	bool label;	  /* no type: may lie inside a function */
	bool latest_wins; /* for equal starts use the one added last (JIT code that was replaced, and
			   * the kernel's list) */
};

struct pesa_symbol_table;

/* binary: its file name, for functions without a symbol; copied.  NULL: out of memory. */
struct pesa_symbol_table *pesa_symbol_table_create(const char *binary);
void pesa_symbol_table_free(struct pesa_symbol_table *table);

struct pesa_error *pesa_symbol_table_add(struct pesa_symbol_table *table,
					 const struct pesa_symbol_candidate *symbol);
/* Choose among the symbols: after the last addition, before the first lookup. */
struct pesa_error *pesa_symbol_table_finish(struct pesa_symbol_table *table);

/* Number of functions that lookups can return. */
size_t pesa_symbol_table_count(const struct pesa_symbol_table *table);
/* *symbol: NULL if no function holds the address. */
struct pesa_error *pesa_symbol_table_find(struct pesa_symbol_table *table, uint64_t address,
					  const struct pesa_symbol **symbol);
/* As pesa_symbols_by_name(). */
struct pesa_error *pesa_symbol_table_by_name(struct pesa_symbol_table *table, const char *name,
					     const struct pesa_symbol **found, size_t max,
					     size_t *count);

#endif
