/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spool: profiles on disk that wait for their profile store.
 *
 * A directory of files, one for each profile, that is bounded in bytes and in age: what does not
 * fit any more makes room oldest first, and is counted.  A file's name says what it holds
 * (FROM-UNTIL-ID.pprof.gz: nanoseconds since 1970, and a random UUID that stays with the profile,
 * so that a store can tell a second delivery from a second profile).  It gets that name when it is
 * whole, so that whatever is found after a crash is whole; what was being written is removed.
 *
 * One thread puts profiles in, another borrows the oldest, sends it and removes it or gives it
 * back. What is lent is not dropped.  Every function may be called from any thread.
 */
#ifndef DAEMON_PESAD_PUSH_SPOOL_H
#define DAEMON_PESAD_PUSH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESA_UUID_SIZE 37 /* bytes of its text, terminated */

struct pesa_spool_limits {
	uint64_t bytes; /* of all files together */
	uint64_t age;	/* ns since the profile's end; 0: any */
};

struct pesa_spool_entry {
	uint64_t from, until; /* ns since 1970 */
	uint64_t bytes;
	char id[PESA_UUID_SIZE];
};

struct pesa_spool_counts {
	uint64_t entries, bytes; /* now */
	uint64_t put;		 /* since the spool was opened, as all below */
	uint64_t dropped_full;	 /* to make room, or larger than all room */
	uint64_t dropped_old;
	uint64_t dropped_unwritten; /* could not be written */
};

struct pesa_spool;

/*
 * Open a spool, made if need be, with what an earlier process left in it.  `now`: ns since 1970.
 * Owned by the caller.
 */
struct pesa_error *pesa_spool_open(const char *directory, const struct pesa_spool_limits *limits,
				   uint64_t now, struct pesa_spool **spool);
void pesa_spool_close(struct pesa_spool *spool);

/*
 * Put a profile in; its `id` is made here.  When it cannot be written the error says why, and it is
 * counted as dropped.  When the limits drop it at once that is no error.
 */
struct pesa_error *pesa_spool_put(struct pesa_spool *spool, uint64_t from, uint64_t until,
				  const void *data, size_t size, uint64_t now);

/*
 * Borrow the oldest profile: its contents are the caller's, to be freed with free().  false: there
 * is none, or it is lent already.  A file that cannot be read any more is dropped with an error,
 * which is stored in *error (else NULL).
 */
bool pesa_spool_borrow(struct pesa_spool *spool, uint64_t now, struct pesa_spool_entry *entry,
		       void **data, struct pesa_error **error);
/* End the borrowing: the profile is done with, or stays. */
void pesa_spool_remove(struct pesa_spool *spool, const struct pesa_spool_entry *entry);
void pesa_spool_return(struct pesa_spool *spool, const struct pesa_spool_entry *entry);

struct pesa_spool_counts pesa_spool_counts(struct pesa_spool *spool);

#endif
