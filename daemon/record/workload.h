/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program of a recording: started in two steps, so that events can be opened on a process that
 * has not begun to run it yet.
 */
#ifndef DAEMON_RECORD_WORKLOAD_H
#define DAEMON_RECORD_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "pesa/error.h"

struct pesa_workload {
	pid_t process; /* 0: none */
	int go;	       /* written to: run */
	int failure;   /* read from: the errno of a program that cannot be run */
};

/* Make a process that waits to run argv, with the given signal mask.  `to_stderr`: what it writes
 * to standard output goes to standard error. */
struct pesa_error *pesa_workload_start(char *const *argv, const sigset_t *mask, bool to_stderr,
				       struct pesa_workload *workload);
/* Let it run. */
struct pesa_error *pesa_workload_go(char *const *argv, struct pesa_workload *workload);
/* The signals that end a run, and SIGCHLD, to be taken by a descriptor.  What is ignored, as in the
 * background of a script, stays so. */
void pesa_workload_signals(sigset_t *taken);
/* End one that never ran, and close what is open.  One that runs is left alone. */
void pesa_workload_close(struct pesa_workload *workload);

#endif
