/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it takes to run a program on the virtual core: a core description, an emulator with the
 * plugin that fits it, a RISC-V program, and for a dynamic one the place of its libraries.  Every
 * command that runs programs finds them in the same way, and complains in the same words.
 */
#ifndef TOOLS_RECORD_VIRTUAL_CORE_H
#define TOOLS_RECORD_VIRTUAL_CORE_H

#include <limits.h>

#include "daemon/vcore/record.h"

/* Cycles between samples, and the share of them by which intervals vary either way, when the
 * options do not say; of imported traces too. */
#define VIRTUAL_CORE_PERIOD	    10000u
#define VIRTUAL_CORE_JITTER_DIVISOR 8u

#define VIRTUAL_CORE_DEFAULT "ooo-4"

struct virtual_core {
	struct pesa_core core;
	char changes[4096]; /* of its processor model, a line each */
	char emulator[PATH_MAX], plugin[PATH_MAX], program[PATH_MAX];
	const char *sysroot; /* NULL: as is */
};

/* Read a core description: one that comes with pesa, or a file, whose name has a slash. */
struct pesa_error *virtual_core_load(const char *name, struct pesa_core *core);
/*
 * Find everything.  `core` is a name or a file, `sysroot` what the user said or NULL, `program` is
 * looked up as the shell does.  Errors say what is missing and what to do.
 */
struct pesa_error *virtual_core_find(struct virtual_core *found, const char *core,
				     const char *sysroot, const char *program);
/*
 * Change the core: `setting` is KEY=VALUE with a key of its description, or a change of its
 * processor model (pesa_mca_model_change()).  Errors say what is allowed.
 */
struct pesa_error *virtual_core_set(struct virtual_core *found, const char *setting);
/* The emulator ended with `status`, as of waitpid(), before the program began. */
struct pesa_error *virtual_core_not_begun(const struct pesa_vcore_options *record, int status);
/* The exit status that stands for `status`, as of waitpid(): 128 + N for signal N. */
int virtual_core_exit_status(int status);
/* What was not run or recorded as it should, a line each: nothing where all is well. */
void virtual_core_print_problems(const char *command, const struct pesa_vcore_summary *summary);

#endif
