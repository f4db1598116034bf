/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: a directory of finished intervals, each a perf.data file that is complete by itself.
 *
 *     /var/lib/pesa/pesa-20261121T194313.250Z.data           (UTC, when the interval began)
 *     /var/lib/pesa/.pesad-20261121T194413.252Z.1234a.data   (the one under way, of process 1234)
 *
 * A file appears under its name when it is whole (rename), so that whatever matches
 * "pesa-*.data" can be read at any time by anyone.  When the name is taken, as after a clock was
 * set back, a number is appended ("...Z-1.data").
 *
 * What a daemon that was killed had under way is found at the next start (and counted as
 * files_recovered): readers can read such a file up to its last flush, but it does not record what
 * was lost.  It becomes "pesa-20261121T194413.252-unfinished.data" (or "...-unfinished-1.data")
 * when a sample can be read from it, and is removed otherwise.
 *
 * Rotation: when the files together are larger than `size`, or older than `age`, the oldest go; the
 * newest stays, however large it is.
 * Ages are kept by a clock that cannot be set: files that are found at the start are as old as the
 * wall clock says, those that are made later as old as they are.
 */
#ifndef DAEMON_PESAD_BASE_STORE_H
#define DAEMON_PESAD_BASE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "daemon/pesad/base/metrics.h"
#include "pesa/error.h"

#define PESAD_STORE_PATTERN "pesa-*.data" /* finished files, for glob(3) */

struct pesad_store;

/*
 * Open the directory, created if needed, and handle what an earlier daemon left.  A directory that
 * another user than this one or root owns, or that others can write to, is refused: they could put
 * links where the daemon writes.
 */
struct pesa_error *pesad_store_open(const struct pesad_config *config,
				    struct pesad_metrics *metrics, struct pesad_log *log,
				    struct pesad_store **store);
/* Apply the limits of a reloaded configuration. */
void pesad_store_limits(struct pesad_store *store, const struct pesad_config *config);
void pesad_store_close(struct pesad_store *store);

/*
 * The path for the next interval.  It alternates between two names, because intervals overlap.
 * Valid until the store is closed.
 */
const char *pesad_store_next(struct pesad_store *store);

/*
 * Give a finished file its final name.  `from`: wall time of its start, ns.  *path is valid until
 * the next call.
 */
struct pesa_error *pesad_store_keep(struct pesad_store *store, const char *file, uint64_t from,
				    const char **path);
/* Remove a file that could not be finished. */
void pesad_store_drop(struct pesad_store *store, const char *file);

/* Remove files beyond the size and age limits. */
void pesad_store_rotate(struct pesad_store *store);

#endif
