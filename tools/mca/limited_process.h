/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that pesa starts to do a part of its work, on input from somebody else: it has limits,
 * and does not outlive pesa.
 *
 * Limits are the kernel's (setrlimit(2)): memory, CPU time, the size of a file, no core dump.  Time
 * by the clock is pesa's to look at, since a program that waits uses none of these.  The program is
 * in a process group of its own, so that what it starts ends with it; and it is killed when pesa
 * ends, whatever ends pesa (PR_SET_PDEATHSIG).
 */
#ifndef TOOLS_MCA_LIMITED_PROCESS_H
#define TOOLS_MCA_LIMITED_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pesa/error.h"

struct process_limits {
	unsigned int seconds;		 /* by the clock, and of CPU time */
	uint64_t memory_size, file_size; /* bytes of address space, of a file that it writes */
};

/* Why a program ended. */
enum process_end {
	PROCESS_EXITED, /* with status 0 */
	PROCESS_FAILED, /* with another, or by a signal that has nothing to do with limits */
	PROCESS_LATE,	/* by the clock or its CPU time */
	PROCESS_WROTE_TOO_MUCH,
};

/*
 * Start a process under limits.  Returns 0 in it, for the caller to exec, with nothing on standard
 * input and `output` as standard output and error; the process's id in pesa; or -1 and errno.
 */
pid_t limited_process_start(const struct process_limits *limits, int output);

/* Wait for its end, and kill it and what it started where the time is over. */
struct pesa_error *limited_process_wait(pid_t process, const struct process_limits *limits,
					enum process_end *end);

#endif
