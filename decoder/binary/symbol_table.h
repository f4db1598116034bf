/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbol table: the functions of one binary, one for each address.
 *
 * ELF files give several names to one address, sizes of zero, labels inside functions.  The table
 * takes them all and decides once, as perf does: of several symbols with the same start the one
 * with a size wins over one without, then one that is not weak over a weak one, global over local,
 * fewer leading underscores, the longer name.  A symbol without a size reaches to the next symbol
 * or to the end of its section.  A label (no type) counts only where no function is.
 *
 * Names are copied; demangled names are made when they are first asked for.
 */
#ifndef DECODER_BINARY_SYMBOL_TABLE_H
#define DECODER_BINARY_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/symbols.h"

enum pesa_symbol_binding { /* best last */
			   PESA_SYMBOL_WEAK,
			   PESA_SYMBOL_LOCAL,
			   PESA_SYMBOL_GLOBAL,
};

struct pesa_symbol_candidate {
	const char *name;
	uint64_t start, size; /* size 0: unknown */
	uint64_t limit;	      /* where it ends at the latest: the end of its section; 0: unknown */
	enum pesa_symbol_binding binding;
	bool label;	  /* no type: may lie inside a function */
	bool latest_wins; /* of the same start, the one added last (JIT code that was replaced) */
};

struct pesa_symbol_table;

struct pesa_symbol_table *pesa_symbol_table_create(void); /* NULL: out of memory */
void pesa_symbol_table_free(struct pesa_symbol_table *table);

/* False when out of memory. */
bool pesa_symbol_table_add(struct pesa_symbol_table *table,
			   const struct pesa_symbol_candidate *symbol);
/* Decide; after the last one was added and before the first look-up.  False when out of memory. */
bool pesa_symbol_table_finish(struct pesa_symbol_table *table);

/* Number of functions that can be found. */
size_t pesa_symbol_table_count(const struct pesa_symbol_table *table);
const struct pesa_symbol *pesa_symbol_table_find(struct pesa_symbol_table *table, uint64_t address);
/* As pesa_symbols_by_name(). */
size_t pesa_symbol_table_by_name(struct pesa_symbol_table *table, const char *name,
				 const struct pesa_symbol **found, size_t max);

#endif
