/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads build ids of files in a child process, with a deadline.
 *
 * A system-wide recorder needs files of all users.  Any of them can be on a file system whose
 * server does not answer (FUSE, NFS): then even stat() blocks forever, and the process may not be
 * killable. So the recorder does not access such files.  It sends requests to a child and waits for
 * the answer until a deadline.  A child that misses the deadline is killed, and the file has no
 * build id.  Until the child has ended and a pause is over, further requests fail immediately.  All
 * these requests count as late.  So a file system that blocks costs one deadline per pause, and at
 * most one process.
 *
 * The child is started by the first request.  It inherits only the socket for requests, keeps only
 * the capabilities to reach other users' files (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH), ignores
 * signals that are meant for the recorder, and ends with it.  It caches build ids (build_ids.h).
 * Its exit raises no SIGCHLD, and only waits with __WALL or __WCLONE find it, so the recorder's
 * waits for its other children are not affected.
 */
#ifndef DAEMON_RECORD_BUILD_ID_READER_H
#define DAEMON_RECORD_BUILD_ID_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "pesa/perfdata.h"

struct pesa_build_id_reader; /* use by one thread only */

/* `deadline` and `pause` in ns, 0: 200 ms and 10 s.  NULL: out of memory. */
struct pesa_build_id_reader *pesa_build_id_reader_create(uint64_t deadline, uint64_t pause);
/* End the child; waits at most 200 ms for its exit. */
void pesa_build_id_reader_free(struct pesa_build_id_reader *reader);

/*
 * The build id of the file at an absolute path.  Returns its length; 0: the file has none, is not
 * regular, cannot be read, or the answer is late.
 */
uint8_t pesa_build_id_reader_find(struct pesa_build_id_reader *reader, const char *path,
				  uint8_t build_id[PESA_BUILD_ID_MAX]);

/* Number of files opened. */
uint64_t pesa_build_id_reader_opened(const struct pesa_build_id_reader *reader);
/* Number of late answers. */
uint64_t pesa_build_id_reader_late(const struct pesa_build_id_reader *reader);
/* The child's pid; 0: no child. */
pid_t pesa_build_id_reader_process(const struct pesa_build_id_reader *reader);

#endif
