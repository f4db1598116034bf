/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of this process do on the host, as the kernel tells it (proc(5)).
 *
 * A thread that the host's scheduler does not let run is no different from one that runs: neither
 * sleeps in a system call.  So nothing here depends on how loaded the machine is.
 */
#ifndef TOOLS_VCORE_GUEST_HOST_THREAD_H
#define TOOLS_VCORE_GUEST_HOST_THREAD_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#define HOST_CALL_NONE -1 /* it runs, or is about to */
#define HOST_CALL_GONE -2 /* there is no such thread */

/* The system call that a thread sleeps in. */
struct host_call {
	long number;	   /* or HOST_CALL_* */
	uint64_t argument; /* the first one */
};

struct host_call host_call_of(uint32_t tid);
/* The thread sleeps in the same call as when `call` was read. */
bool host_call_lasts(uint32_t tid, const struct host_call *call);
/* The call ends by itself: it waits for the clock. */
bool host_call_pauses(const struct host_call *call);

/* All threads of the process, those of the emulator among them. */
struct host_threads {
	DIR *directory;
};

/* Returns false: they cannot be listed. */
bool host_threads_open(struct host_threads *threads);
bool host_threads_next(struct host_threads *threads, uint32_t *tid);
void host_threads_close(struct host_threads *threads);

#endif
