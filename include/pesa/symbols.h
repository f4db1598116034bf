/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Symbols: names and source lines for addresses of a binary.
 *
 * By libdw: the ELF symbol tables, DWARF lines and inlined subroutines; separate debug files are found
 * by debug link, build-id directory (/usr/lib/debug/.build-id) and, when DEBUGINFOD_URLS is set, from
 * a debuginfod server; names that a distribution left in the binary (.gnu_debugdata) are read too.
 * Functions without a symbol are those of the unwinding table (.eh_frame) and of calls.  JIT code is named by a jitdump or by
 * /tmp/perf-PID.map.  Names of C++ and Rust are demangled.
 *
 * The functions that look something up read files, each at its first use.  Their errors say that there
 * was no memory for it; what was read by then is dropped, and the next call tries again.  Files that
 * cannot be read are no errors but the dso's problem (pesa_symbols_problem()).
 *
 * Threads: different struct pesa_symbols may be used by different threads at the same time, one of them,
 * with its profile, by one thread at a time; pesa_demangle() may be called by any thread at any time.
 */
#ifndef PESA_SYMBOLS_H
#define PESA_SYMBOLS_H

#include <stdbool.h>
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
	/** demangled; of a function without a symbol, binary and address: "python3.13+0x31f92" */
	const char *name;
	const char *linkage_name; /**< as in the ELF file; NULL: a function without a symbol */
	uint64_t start;		  /**< ELF virtual address */
	uint64_t size;		  /**< bytes */
	bool local; /**< a local symbol of the ELF file: others may have the same name */
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

/** A place as compilers key it in profiles: the line in its function, not in the file, so that a
 * profile outlives changes elsewhere. */
struct pesa_source_frame {
	const char *function; /**< linkage name in DWARF, else the name */
	unsigned int begins;  /**< line on which the function is declared; 0: unknown */
	unsigned int line;    /**< line in the file: of the instruction, or of the inlined call */
	unsigned int discriminator; /**< tells places on one line apart, as in DWARF */
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

/** The function that holds an address.  *symbol: NULL if there is none.  Strings live as long as
 * `symbols`.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_find(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
				     const struct pesa_symbol **symbol);
/** The functions with this name, demangled or linkage, up to max; *count: how many.  A name of C++ or
 * Rust may be given without its parameter list where no function has exactly that name; a mere prefix
 * is not enough.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_by_name(struct pesa_symbols *symbols, uint32_t dso,
					const char *name, const struct pesa_symbol **found,
					size_t max, size_t *count);
/** Source line of an address.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_source(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
				       struct pesa_source *source);
/** Inlined call chain, innermost first, the function itself last.  *count: how many were filled.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_inlines(struct pesa_symbols *symbols, uint32_t dso,
					uint64_t address, struct pesa_inline_frame *frames,
					size_t max, size_t *count);
/** The same chain as compilers key it: lines of functions, linkage names, discriminators.  Without
 * debug information for the address *count is 0.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_source_frames(struct pesa_symbols *symbols, uint32_t dso,
					      uint64_t address, struct pesa_source_frame *frames,
					      size_t max, size_t *count);
/** Files; the caller frees the paths; NULL: there is none. */
struct pesa_symbol_paths {
	char *main;	 /**< the ELF file; if it is not available, one with its symbols */
	char *debug;	 /**< its separate debug file */
	char *alternate; /**< the file with the common parts of several debug files (dwz) */
	uint8_t alternate_id[20];  /**< its build id */
	uint8_t alternate_id_size; /**< bytes of it; 0: none */
};
/** The files that the symbols of a dso come from, as they were opened; for archives.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_paths(struct pesa_symbols *symbols, uint32_t dso,
				      struct pesa_symbol_paths *paths);
/** What went wrong for a dso (no symbols, no debug information, ...): one line.  *problem: NULL if
 * nothing did.
 * @one_thread @object_owns */
struct pesa_error *pesa_symbols_problem(struct pesa_symbols *symbols, uint32_t dso,
					const char **problem);
/** Number of perf-PID.map files that were refused so far, because of their owner or type; *first is
 * the reason for the first.
 * @one_thread @object_owns */
size_t pesa_symbols_refused(const struct pesa_symbols *symbols, const char **first);

/** Demangle a C++ (Itanium) or Rust (legacy, v0) name.  *readable: NULL if it is not mangled, or would be
 * longer than 64 KiB; the caller frees it.
 * @any_thread @caller_owns */
struct pesa_error *pesa_demangle(const char *name, char **readable);

PESA_DECLARATIONS_END

#endif
