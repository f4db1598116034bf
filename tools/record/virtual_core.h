/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what is needed to run a program on the virtual core: a core description, an emulator with a
 * plugin for its version, a RISC-V program, and for a dynamic program its libraries.  All commands
 * that run programs use this.
 */
#ifndef TOOLS_RECORD_VIRTUAL_CORE_H
#define TOOLS_RECORD_VIRTUAL_CORE_H

#include <limits.h>

#include "daemon/vcore/channel.h"
#include "daemon/vcore/record.h"

/*
 * Default cycles between samples, and the share by which intervals vary; also for imported traces.
 */
#define VIRTUAL_CORE_PERIOD	    10000u
#define VIRTUAL_CORE_JITTER_DIVISOR 8u

#define VIRTUAL_CORE_DEFAULT "ooo-4"

struct virtual_core {
	struct pesa_core core;
	char changes[4096]; /* changes of the processor model, one per line */
	char emulator[PATH_MAX], plugin[PATH_MAX], program[PATH_MAX];
	const char *sysroot; /* NULL: as is */
};

/* Read a core description that comes with pesa, or from a file, whose name has a slash. */
struct pesa_error *virtual_core_load(const char *name, struct pesa_core *core);
/*
 * Find everything.  `core`: name or file; `sysroot`: the user's or NULL; `program` is searched like
 * in the shell.  Errors say what is missing and what to do.
 */
struct pesa_error *virtual_core_find(struct virtual_core *found, const char *core,
				     const char *sysroot, const char *program);
/*
 * Change the core: `setting` is KEY=VALUE with a key of its description, or a change of its
 * processor model (pesa_mca_model_change()).  Errors say what is allowed.
 */
struct pesa_error *virtual_core_set(struct virtual_core *found, const char *setting);
/* The error for an emulator that ended with wait status `status` before the program began. */
struct pesa_error *virtual_core_not_begun(const struct pesa_vcore_options *record, int status);
/* Convert a wait status to an exit status: 128 + N for signal N. */
int virtual_core_exit_status(int status);
/* Print a line for each problem of the run or recording; nothing if there was none. */
void virtual_core_print_problems(const char *command, const struct pesa_vcore_summary *summary);

#endif
