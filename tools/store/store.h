/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store of pesad, read as one recording: a directory of perf.data files, one for each interval,
 * whose names say when it began (daemon/pesad/base/store.h).
 *
 * Intervals that overlap the wanted time are merged into one file (pesa/merge.h), which is removed
 * when the process ends.  Directories in the directory are read too, so that the stores of several
 * hosts can be beside each other.
 */
#ifndef TOOLS_STORE_STORE_H
#define TOOLS_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/base/wall_time.h"
#include "pesa/error.h"

/* Which intervals are wanted. */
struct store_wanted {
	struct wall_time_range time;
	const char *host; /* as recorded; NULL: all */
};

/* Whether a path is a directory with intervals. */
bool store_is_store(const char *path);

/* Merge what is wanted.  *file: the merged recording, valid until the process ends. */
struct pesa_error *store_open(const char *path, const struct store_wanted *wanted,
			      const char **file);

#endif
