/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Profile-guided optimisation: what compilers and binary optimisers read.
 *
 * A compiler that optimises by a profile wants to know how often each source line was executed (by
 * function, inlined calls as a tree, lines relative to where the function begins), how often each
 * function was entered, and what indirect calls called.  A binary optimiser wants branches: from
 * where to where, how often, how often mispredicted.  Both follow from the control flow of a profile
 * (pesa/control_flow.h), so no branch records are needed.
 *
 * Of a binary with pseudo probes (clang -fpseudo-probe-for-profiling) LLVM's formats have these, not
 * lines, as llvm-profgen does; of other binaries they then have nothing.
 *
 * Formats: LLVM's sample profile, as text and in its extensible binary form (llvm-profdata's and
 * clang's manual: "Using Sampling Profilers"); GCC's for -fauto-profile, as its version 12 reads
 * (gcc/auto-profile.cc); BOLT's for `llvm-bolt --data` (branches, or basic samples), and its
 * pre-aggregated form for `perf2bolt -pa` (bolt/docs/profiles.md); AutoFDO's text form for
 * create_llvm_prof and create_gcov; branch stacks as perf script prints them, for llvm-profgen.
 *
 * Threads: different sets of arguments may be used by different threads at the same time.
 */
#ifndef PESA_PGO_H
#define PESA_PGO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/api.h"
#include "pesa/control_flow.h"
#include "pesa/error.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"

PESA_DECLARATIONS_BEGIN

/** The format that is written. */
enum pesa_pgo_format {
	PESA_PGO_LLVM_SAMPLE,	/**< text: clang -fprofile-sample-use */
	PESA_PGO_LLVM_BINARY,	/**< the same, extensible binary */
	PESA_PGO_GCC,		/**< binary: gcc -fauto-profile */
	PESA_PGO_BOLT,		/**< text: llvm-bolt --data, branches */
	PESA_PGO_BOLT_BASIC,	/**< text: llvm-bolt --data, samples without branches */
	PESA_PGO_PREAGGREGATED, /**< text: perf2bolt -pa */
	PESA_PGO_AUTOFDO,	/**< text: create_llvm_prof, create_gcov with --profiler=text */
	PESA_PGO_BRANCH_STACK,	/**< text: as perf script -F ip,brstack prints branch records */
	PESA_PGO_FORMATS	/**< how many there are */
};

/** "llvm-sample", ...: as on the command line.
 * @any_thread @static_result */
const char *pesa_pgo_format_name(enum pesa_pgo_format format);
/** False: no format has this name.
 * @any_thread @nothing_owned */
bool pesa_pgo_format_parse(const char *name, enum pesa_pgo_format *format);
/** Whether a format has the addresses of one binary, not names of functions of any.
 * @any_thread @nothing_owned */
bool pesa_pgo_format_is_of_one_binary(enum pesa_pgo_format format);
/** Whether a format is binary.
 * @any_thread @nothing_owned */
bool pesa_pgo_format_is_binary(enum pesa_pgo_format format);

/** No binary in particular. */
#define PESA_PGO_ANY_DSO UINT32_MAX

/** What was written, in executions of instructions. */
struct pesa_pgo_summary {
	double executions;  /**< of the binaries that were wanted */
	double no_debug;    /**< of these, in binaries without debug information */
	double no_line;	    /**< of these, of instructions that debug information has no line of */
	double no_symbol;   /**< of these, in no function (formats with names of symbols) */
	uint32_t dso;	    /**< the binary, of formats that have one; PESA_PGO_ANY_DSO: none */
	bool probed;	    /**< places are pseudo probes, not lines: no_line and no_debug are code
			     * without probes */
	uint64_t functions; /**< how many were written */
	uint64_t records;   /**< how many lines or branches were written */
	uint64_t lost_probes;	 /**< pseudo probes of functions that no symbol names */
	uint64_t damaged_probes; /**< binaries whose pseudo probes are damaged: those behind the
				  * damage are missing */
};

/** Write a profile.  `dso`: only this binary; PESA_PGO_ANY_DSO: all, or of a format of one binary the
 * program (no shared library) with the most executions.  What has no place in the format is left out and
 * counted.  PESA_ERROR_NOT_FOUND: nothing was left.  `out` is neither flushed nor closed.
 * @any_thread @nothing_owned */
struct pesa_error *pesa_pgo_write(enum pesa_pgo_format format, const struct pesa_profile *profile,
				  struct pesa_symbols *symbols,
				  const struct pesa_control_flow *flow, uint32_t dso, FILE *out,
				  struct pesa_pgo_summary *summary);

PESA_DECLARATIONS_END

#endif
