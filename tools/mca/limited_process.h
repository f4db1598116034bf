/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a helper program with resource limits, on input from others; it never outlives pesa.
 *
 * The limits are the kernel's (setrlimit(2)): memory, CPU time, file size, no core dump.  pesa
 * limits the elapsed time itself, because a waiting program uses none of these.  The program has
 * its own process group, so that its children are killed with it; it is killed when pesa ends
 * (PR_SET_PDEATHSIG).
 */
#ifndef TOOLS_MCA_LIMITED_PROCESS_H
#define TOOLS_MCA_LIMITED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

struct process_limits {
	unsigned int seconds;		 /* elapsed time, and CPU time */
	uint64_t memory_size, file_size; /* bytes of address space; bytes of an output file */
};

/* Why a program ended. */
enum process_end {
	PROCESS_EXITED, /* with status 0 */
	PROCESS_FAILED, /* with another status, or by a signal unrelated to the limits */
	PROCESS_LATE,	/* exceeded the elapsed or CPU time */
	PROCESS_WROTE_TOO_MUCH,
};

/*
 * Start a process with limits.  Returns 0 in the child, the pid in the parent, or -1 and errno.  The
 * caller calls exec in the child, whose standard input is empty and whose standard output and error
 * are `output`.
 */
pid_t limited_process_start(const struct process_limits *limits, int output);

/* Wait for its end; on timeout kill it and its children. */
struct pesa_error *limited_process_wait(pid_t process, const struct process_limits *limits,
					enum process_end *end);

#endif
