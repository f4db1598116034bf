/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program of a recording.  It is started in two steps, so that events can be opened for the
 * process before it executes the program.
 */
#ifndef DAEMON_RECORD_WORKLOAD_H
#define DAEMON_RECORD_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "pesa/error.h"

struct pesa_workload {
	pid_t process; /* 0: none */
	int go;	       /* write to this to run the program */
	int failure;   /* read the errno of a failed exec from this */
};

/*
 * Create a process that waits to run argv, with the given signal mask.  `to_stderr`: redirect its
 * standard output to standard error.
 */
struct pesa_error *pesa_workload_start(char *const *argv, const sigset_t *mask, bool to_stderr,
				       struct pesa_workload *workload);
/* Let it run. */
struct pesa_error *pesa_workload_go(char *const *argv, struct pesa_workload *workload);
/*
 * The signals that end a run, and SIGCHLD, to be read from a descriptor.  Signals that are ignored,
 * as in a background job of a script, stay ignored.
 */
void pesa_workload_signals(sigset_t *taken);
/*
 * End a process that never ran the program, and close the pipes.  A running program is not touched.
 */
void pesa_workload_close(struct pesa_workload *workload);

#endif
