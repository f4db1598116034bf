/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spool: profiles on disk that wait to be sent.
 *
 * A directory with one file per profile, bounded in bytes and age: the oldest are dropped and
 * counted.  The file name is FROM-UNTIL-ID.pprof.gz: nanoseconds since 1970, and a random UUID by
 * which a store can detect a second delivery.  A file gets its name when it is complete, so all
 * files found after a crash are complete; partial files are removed.
 *
 * One thread adds profiles; another borrows the oldest one, sends it, and removes or returns it.
 * Borrowed profiles are not dropped.  All functions can be called from any thread.
 */
#ifndef DAEMON_PESAD_PUSH_SPOOL_H
#define DAEMON_PESAD_PUSH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESA_UUID_SIZE 37 /* bytes of its text, terminated */

#define PESA_SPOOL_REFUSED_MOST 16u

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
 * Open a spool, created if needed, with the files of an earlier process.  `now`: ns since 1970.
 * The caller closes it.
 */
struct pesa_error *pesa_spool_open(const char *directory, const struct pesa_spool_limits *limits,
				   uint64_t now, struct pesa_spool **spool);
void pesa_spool_close(struct pesa_spool *spool);

/*
 * Add a profile and create its `id`.  If it cannot be written, an error is returned and it is
 * counted as dropped.  It is not an error if the limits drop it immediately.
 */
struct pesa_error *pesa_spool_put(struct pesa_spool *spool, uint64_t from, uint64_t until,
				  const void *data, size_t size, uint64_t now);

/*
 * Borrow the oldest profile; the caller frees its contents with free().  false: none, or already
 * borrowed.  An unreadable file is dropped and reported in *error (else NULL).
 */
bool pesa_spool_borrow(struct pesa_spool *spool, uint64_t now, struct pesa_spool_entry *entry,
		       void **data, struct pesa_error **error);
/* Return a borrowed profile: remove it, or keep it. */
void pesa_spool_remove(struct pesa_spool *spool, const struct pesa_spool_entry *entry);
/* Take a borrowed profile out of the spool, and keep it beside as "refused-NAME" for whoever looks why;
 * of these the newest PESA_SPOOL_REFUSED_MOST are kept. */
void pesa_spool_set_aside(struct pesa_spool *spool, const struct pesa_spool_entry *entry);
void pesa_spool_return(struct pesa_spool *spool, const struct pesa_spool_entry *entry);

struct pesa_spool_counts pesa_spool_counts(struct pesa_spool *spool);

#endif
