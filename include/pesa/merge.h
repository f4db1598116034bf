/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Merging: many perf.data files become one.
 *
 * A file that no merge made is one *recording*; a merged file is a set of them.  Merging forms the
 * union of sets: it does not matter in which order, in which steps or how often a recording is given,
 * the bytes of the result are the same.  For that every recording has a canonical form, into which
 * its records are brought while they are read, and which can be had again from a merged file; what
 * names a recording is the digest of that form.  The set is in the order of host, begin and digest.
 *
 * A merged file has one recording after the other.  They differ in fields that every reader of
 * perf.data uses: event ids; process and thread numbers, which are unique in the file (a number
 * that an earlier recording uses is replaced by one above 4194304, which no kernel gives to a
 * process); and times, which do not overlap (a recording that began before the end of the previous
 * one is moved after it).  The file records these changes (Documentation/perf-data.md), so that
 * they can be undone.
 *
 * Each input is read twice: once for digest and process numbers, once to be copied.  Memory is that of
 * one reader, and some bytes for each process and thread.
 *
 * Threads: different objects may be used by different threads at the same time, one object by one
 * thread at a time.
 */
#ifndef PESA_MERGE_H
#define PESA_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"

PESA_DECLARATIONS_BEGIN

/** A recording, as far as it is known. */
struct pesa_merge_recording {
	const char *path;     /**< the input that it is from */
	const char *hostname; /**< NULL: unknown */
	const char *cmdline;  /**< NULL: unknown */
	char digest[33];      /**< hexadecimal */
	uint64_t begin;	      /**< ns of the recording machine's clock */
	uint64_t end;	      /**< likewise */
	uint64_t samples;     /**< in it */
	uint64_t lost;	      /**< reported lost */
	uint64_t
		left_out; /**< records of no use without their trace data, or that cannot be read */
	uint64_t damaged_records;    /**< records that could not be read */
	uint64_t damaged_bytes;	     /**< bytes that could not be read */
	uint64_t moved;		     /**< ns by which its times are larger in the merged file */
	size_t processes_renumbered; /**< processes and threads with another number there */
	uint32_t process;	     /**< the smallest number of a process or thread; 0: none */
	const char
		*same_as; /**< NULL, or the input that has this recording as well: counted once */
};

/** A merge that is being made. */
struct pesa_merge;

/** A merge without inputs.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_error *pesa_merge_create(struct pesa_merge **merge);
/** Free a merge, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_merge_free(struct pesa_merge *merge);

/**
 * Read an input for the first time.  An error leaves the merge as it was.  `path` is copied.
 * Damage is not an error: *damage is one line about what could not be read, valid as long as the
 * merge; NULL: none.
 * @one_thread @object_owns */
struct pesa_error *pesa_merge_add(struct pesa_merge *merge, const char *path, const char **damage);

/** Put all in order and check that they can be merged: of one instruction set, from equal cores.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_merge_arrange(struct pesa_merge *merge);

/** How many recordings there are, those given again included; after pesa_merge_arrange().
 * @one_thread @nothing_owned */
size_t pesa_merge_count(const struct pesa_merge *merge);
/** A recording, in the order of the merged file; duplicates are last.  Its strings live as long as
 * the merge.
 * @one_thread @object_owns */
void pesa_merge_recording(const struct pesa_merge *merge, size_t index,
			  struct pesa_merge_recording *recording);

/**
 * Events of one name that are recorded in different ways (another period, other fields) stay events
 * of their own.  The name of one of these, the index counts them; NULL: no more.
 * @one_thread @object_owns */
const char *pesa_merge_divided_event(const struct pesa_merge *merge, size_t index);

/**
 * Write the merged file: under a name of its own until it is complete, so that `path` may be one of
 * the inputs.  `compression` is zstd's level, 0: none.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_merge_write(struct pesa_merge *merge, const char *path, int compression);

PESA_DECLARATIONS_END

#endif
