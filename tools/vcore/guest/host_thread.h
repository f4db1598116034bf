/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host threads of this process are doing: the system call that a thread sleeps in, from
 * /proc (proc(5)).
 *
 * A runnable thread that has no processor looks the same as a running one: neither sleeps in a
 * system call.  So the results do not depend on the load of the machine.
 */
#ifndef TOOLS_VCORE_GUEST_HOST_THREAD_H
#define TOOLS_VCORE_GUEST_HOST_THREAD_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#define HOST_CALL_NONE -1 /* running or runnable */
#define HOST_CALL_GONE -2 /* no such thread */

/* The system call that a thread sleeps in. */
struct host_call {
	long number;	   /* or HOST_CALL_* */
	uint64_t argument; /* the first argument */
};

struct host_call host_call_of(uint32_t tid);
/* Return whether the thread still sleeps in the same call as when `call` was read. */
bool host_call_lasts(uint32_t tid, const struct host_call *call);
/* Return whether the call waits for the clock, so that it ends by itself. */
bool host_call_pauses(const struct host_call *call);

/* All threads of the process, including the emulator's own. */
struct host_threads {
	DIR *directory;
};

/* Returns false if the threads cannot be listed. */
bool host_threads_open(struct host_threads *threads);
bool host_threads_next(struct host_threads *threads, uint32_t *tid);
void host_threads_close(struct host_threads *threads);

#endif
