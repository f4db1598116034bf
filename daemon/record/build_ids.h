/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build ids of files, each file read once.
 *
 * Every program that starts maps the same few libraries, and the recorder wants the build id of
 * each map.  What a file has is remembered under what the kernel says of it: device, inode, size,
 * and when its contents and its inode were last changed.  A file that was written anew is another
 * one by these, and so is one that replaced it under the same name.  A path is no key: processes
 * see different files under the same one.
 *
 * As many files are remembered as there is room for from the beginning, so that memory is bounded
 * whatever the machine runs; those that were not asked for the longest make room.
 */
#ifndef DAEMON_RECORD_BUILD_IDS_H
#define DAEMON_RECORD_BUILD_IDS_H

#include <stdint.h>

#include "pesa/perfdata.h"

#define PESA_BUILD_IDS_MOST 1024u /* files that are remembered: 88 kB */

struct pesa_build_ids; /* of one thread */

/* NULL: there is no memory. */
struct pesa_build_ids *pesa_build_ids_create(void);
void pesa_build_ids_free(struct pesa_build_ids *ids);

/*
 * The build id of the file at a path.  Returns its length; 0: it has none, is no regular file, or
 * cannot be read.
 */
uint8_t pesa_build_ids_find(struct pesa_build_ids *ids, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX]);

/* How often a file was opened. */
uint64_t pesa_build_ids_opened(const struct pesa_build_ids *ids);

#endif
