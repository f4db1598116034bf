/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cache of build ids of files: each file is read once.
 *
 * Most programs map the same few libraries, and the recorder needs the build id of each map.  The
 * key is what stat() returns: device, inode, size, mtime and ctime, so a file that was rewritten or
 * replaced has another key.  The path is not part of the key: processes in different mount
 * namespaces see different files under the same path.
 *
 * The cache has a fixed size, allocated at creation; the least recently used file is replaced.
 */
#ifndef DAEMON_RECORD_BUILD_IDS_H
#define DAEMON_RECORD_BUILD_IDS_H

#include <stdint.h>

#include "pesa/perfdata.h"

#define PESA_BUILD_IDS_MOST 1024u /* number of files; 88 kB */

struct pesa_build_ids; /* use by one thread only */

/* NULL: out of memory. */
struct pesa_build_ids *pesa_build_ids_create(void);
void pesa_build_ids_free(struct pesa_build_ids *ids);

/*
 * The build id of the file at a path.  Returns its length; 0: the file has none, is not regular, or
 * cannot be read.
 */
uint8_t pesa_build_ids_find(struct pesa_build_ids *ids, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX]);

/* Number of files opened. */
uint64_t pesa_build_ids_opened(const struct pesa_build_ids *ids);

#endif
