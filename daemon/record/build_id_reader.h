/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build ids of files, read by a process of its own.
 *
 * Who records everybody looks at files of everybody, and any of them can be on a file system whose
 * server never answers (FUSE, NFS): whoever looks at it then, if only with stat(), waits for ever,
 * and perhaps cannot even be killed.  So the recorder touches no such file.  It asks a child, and
 * waits until a deadline for the answer.  A child that misses it is killed, and what it was asked
 * for has no build id.  Until it has ended, and a pause is over, nothing else has one either: all
 * of these are counted as late, and answered at once, so that what does not answer costs the
 * recorder a deadline per pause and never more than one process.
 *
 * The child is started by the first question.  It has no descriptor of the recorder but the socket
 * on which it is asked, of the capabilities only those with which files of others are found
 * (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH), heeds no signal that is meant for the recorder, and ends
 * with it.  It remembers what it has read (build_ids.h).  Its end raises no SIGCHLD, and only who
 * asks for children of clone() by __WALL or __WCLONE finds it: the recorder's own children are
 * waited for as ever.
 */
#ifndef DAEMON_RECORD_BUILD_ID_READER_H
#define DAEMON_RECORD_BUILD_ID_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "pesa/perfdata.h"

struct pesa_build_id_reader; /* of one thread */

/* `deadline` and `pause` in ns, 0: 200 ms and 10 s.  NULL: there is no memory. */
struct pesa_build_id_reader *pesa_build_id_reader_create(uint64_t deadline, uint64_t pause);
/* End the child; one that the kernel does not let go is waited for 200 ms. */
void pesa_build_id_reader_free(struct pesa_build_id_reader *reader);

/*
 * The build id of the file at an absolute path.  Returns its length; 0: it has none, is no regular
 * file, cannot be read, or is late.
 */
uint8_t pesa_build_id_reader_find(struct pesa_build_id_reader *reader, const char *path,
				  uint8_t build_id[PESA_BUILD_ID_MAX]);

/* How often a file was opened. */
uint64_t pesa_build_id_reader_opened(const struct pesa_build_id_reader *reader);
/* How often the answer was late. */
uint64_t pesa_build_id_reader_late(const struct pesa_build_id_reader *reader);
/* The child; 0: there is none. */
pid_t pesa_build_id_reader_process(const struct pesa_build_id_reader *reader);

#endif
