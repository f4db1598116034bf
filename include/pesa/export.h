/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Export: a recording in the formats that other tools read.
 *
 * A profile (profile.h) adds up the cycles of each instruction.  Other tools need more of each
 * sample:  thread, process, CPU, call chain.  An export is a listener that keeps these while a
 * profile is loaded, as rows.  A row has the cycles and executions of one call stack in one task,
 * in one state of the retire stage under one set of causes.  Rows with equal keys are added up, so
 * memory depends on the number of distinct rows, not of samples.
 *
 * Unattributed cycles are rows too; their innermost frame is named after the reason:
 * "[unattributed:  unmapped]".  So the cycles of all rows are always the cycles of the profile.
 *
 * Rounding.  Weights are in 1/PESA_CYCLE of a cycle; formats of whole numbers are written in whole
 * cycles such that the running sum is rounded, not each value: every value, and every sum of values
 * in the order of rows, is less than a cycle off, and the sum of all of them is exact.
 *
 * Threads: different exports may be used by different threads at the same time, one export (with its
 * profile and symbols) by one thread at a time.
 */
#ifndef PESA_EXPORT_H
#define PESA_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"

PESA_DECLARATIONS_BEGIN

/** The rows that were kept while a profile was loaded. */
struct pesa_export;

/** The format that is written. */
enum pesa_export_format {
	PESA_EXPORT_PPROF,	/**< gzip-compressed profile.proto: binary */
	PESA_EXPORT_FOLDED,	/**< FlameGraph's folded stacks: text */
	PESA_EXPORT_SPEEDSCOPE, /**< JSON */
	PESA_EXPORT_FIREFOX,	/**< JSON, Firefox Profiler's processed format */
	PESA_EXPORT_FORMATS	/**< how many there are */
};

/** "pprof", ...: as on the command line.
 * @any_thread @static_result */
const char *pesa_export_format_name(enum pesa_export_format format);
/** False: no format has this name.
 * @any_thread @nothing_owned */
bool pesa_export_format_parse(const char *name, enum pesa_export_format *format);

/** The frame above the innermost function (folded, speedscope). */
enum pesa_export_by {
	PESA_EXPORT_BY_SYMBOL, /**< nothing */
	PESA_EXPORT_BY_LINE,   /**< the source line */
	PESA_EXPORT_BY_INSN,   /**< the instruction */
};

/** What is written, and how. */
struct pesa_export_options {
	enum pesa_export_format format; /**< of the file */
	enum pesa_export_by by;		/**< innermost frame (folded, speedscope) */
	/** Above that, state of the retire stage and causes (folded, speedscope). */
	bool states;
	/** Names of functions and lines are left out: who reads it finds them by build id (pprof). */
	bool addresses_only;
	/* Facts that a recording lacks. */
	uint64_t began;	   /**< ns since 1970; 0: unknown */
	uint64_t duration; /**< how long it took, ns; 0: from the first sample to the last */
};

/** No rows yet.  NULL: out of memory.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_export *pesa_export_create(void);
/** Free the rows.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_export_free(struct pesa_export *rows);
/** For pesa_profile_options.listener, of one profile; lives as long as `rows`.
 * @one_thread @object_owns */
const struct pesa_profile_listener *pesa_export_listener(const struct pesa_export *rows);

/** How many rows were kept.
 * @one_thread @nothing_owned */
size_t pesa_export_count(const struct pesa_export *rows);

/**
 * Write what was kept while `profile` was loaded, with names from `symbols`.  `out` is neither flushed
 * nor closed; that something could not be written is an error.  Works more than once.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_export_write(struct pesa_export *rows, const struct pesa_profile *profile,
				     struct pesa_symbols *symbols,
				     const struct pesa_export_options *options, FILE *out);

/**
 * All of it for one file ("-": standard input).  load may be NULL; its listener must be.  A recording
 * that is damaged is written as far as it could be read.  *refused: how many maps of code made at run
 * time were not read (pesa_symbols_refused()).
 * @any_thread @nothing_owned */
struct pesa_error *pesa_export_recording(const char *path, const struct pesa_profile_options *load,
					 const struct pesa_export_options *options, FILE *out,
					 size_t *refused);

PESA_DECLARATIONS_END

#endif
