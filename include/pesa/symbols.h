/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Symbols: names and source lines for addresses of a binary.
 *
 * By libdw: the ELF symbol tables, DWARF lines and inlined subroutines; separate debug files are found
 * by debug link, build-id directory (/usr/lib/debug/.build-id) and, when DEBUGINFOD_URLS is set, from
 * a debuginfod server.  JIT code is named by a jitdump or by
 * /tmp/perf-PID.map.  Names of C++ and Rust are demangled.
 *
 * Threads: different struct pesa_symbols may be used by different threads at the same time, one of them,
 * with its profile, by one thread at a time; pesa_demangle() may be called by any thread at any time.
 */
#ifndef PESA_SYMBOLS_H
#define PESA_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/profile.h"

PESA_DECLARATIONS_BEGIN

/** Symbols and debug information of the binaries of a profile, read when they are asked for. */
struct pesa_symbols;

/** A function. */
struct pesa_symbol {
	const char *name; /**< demangled; "[unknown]" style names are never made up here: NULL */
	const char *linkage_name; /**< as in the ELF file */
	uint64_t start;		  /**< ELF virtual address */
	uint64_t size;		  /**< bytes */
};

/** A place in source code. */
struct pesa_source {
	const char *file;    /**< full path as in DWARF; NULL: unknown */
	unsigned int line;   /**< from 1; 0: unknown */
	unsigned int column; /**< likewise */
};

/** A function of an inlined call chain. */
struct pesa_inline_frame {
	const char *function;	   /**< demangled */
	struct pesa_source source; /**< where in that function */
};

/** A cache of symbol information for the dsos of a profile, which must outlive it.  root as
 * pesa_profile_options.symbol_root.
 * @one_thread @caller_owns */
struct pesa_error *pesa_symbols_create(const struct pesa_profile *profile, const char *root,
				       struct pesa_symbols **symbols);
/** The same for dsos that are found one by one, before there is a profile.  dso() returns the dso with
 * an index, which must never change once it was returned, or NULL if there is none.
 * @one_thread @caller_owns */
struct pesa_error *
pesa_symbols_create_for(const struct pesa_dso *(*dso)(void *context, uint32_t index), void *context,
			const char *root, struct pesa_symbols **symbols);
/** Free them, and with them what they returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_symbols_free(struct pesa_symbols *symbols);

/** The function that holds an address; NULL: none.  Strings live as long as `symbols`.
 * @one_thread @object_owns */
const struct pesa_symbol *pesa_symbols_find(struct pesa_symbols *symbols, uint32_t dso,
					    uint64_t address);
/** The functions with this name, demangled or linkage, up to max.  A name of C++ or Rust may be given
 * without its parameter list where no function has exactly that name; a mere prefix is not enough.
 * @one_thread @object_owns */
size_t pesa_symbols_by_name(struct pesa_symbols *symbols, uint32_t dso, const char *name,
			    const struct pesa_symbol **found, size_t max);
/** Source line of an address.
 * @one_thread @object_owns */
struct pesa_source pesa_symbols_source(struct pesa_symbols *symbols, uint32_t dso,
				       uint64_t address);
/** Inlined call chain, innermost first, the function itself last.  Returns how many were filled.
 * @one_thread @object_owns */
size_t pesa_symbols_inlines(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
			    struct pesa_inline_frame *frames, size_t max);
/** Files; the caller frees the paths; NULL: there is none. */
struct pesa_symbol_paths {
	char *main;	 /**< the ELF file, or, where that is not to be had, one with its symbols */
	char *debug;	 /**< its separate debug file */
	char *alternate; /**< what several debug files have in common, and its build id */
	uint8_t alternate_id[20];  /**< its build id */
	uint8_t alternate_id_size; /**< bytes of it; 0: none */
};
/** The files that the symbols of a dso come from, as they were opened: for those who copy them.
 * @one_thread @object_owns */
struct pesa_symbol_paths pesa_symbols_paths(struct pesa_symbols *symbols, uint32_t dso);
/** What went wrong for a dso (no symbols, no debug information, ...): one line, NULL: nothing.
 * @one_thread @object_owns */
const char *pesa_symbols_problem(struct pesa_symbols *symbols, uint32_t dso);
/** Maps of code made at run time that were not read, because of who owns them or what they are, as
 * far as they were asked for; the reason of the first.
 * @one_thread @object_owns */
size_t pesa_symbols_refused(const struct pesa_symbols *symbols, const char **first);

/** Demangle a C++ (Itanium) or Rust (legacy, v0) name; NULL if it is not mangled.  Caller frees.
 * @any_thread @caller_owns */
char *pesa_demangle(const char *name);

PESA_DECLARATIONS_END

#endif
