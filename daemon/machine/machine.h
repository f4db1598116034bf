/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine has for counting and sampling, as its files tell: processor, firmware, kernel,
 * device tree, privileges.
 *
 * The files are below a root: "" is this machine, any other directory has the saved files of
 * another one, in the same places (/proc, /sys, /lib/modules, /boot, /dev/kmsg as text).  None of
 * them is trusted: reads are bounded, and what is missing or makes no sense is unknown.
 */
#ifndef DAEMON_MACHINE_MACHINE_H
#define DAEMON_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/machine/parse.h"

/* Options of the kernel that matter: those of MACHINE_OPTION_LIST, in this order. */
#define MACHINE_OPTION_LIST(OPTION) \
	OPTION(PERF_EVENTS)         \
	OPTION(RISCV_PMU)           \
	OPTION(RISCV_PMU_SBI)       \
	OPTION(RISCV_PMU_LEGACY)    \
	OPTION(ERRATA_THEAD_PMU)    \
	OPTION(ANDES_CUSTOM_PMU)    \
	OPTION(KALLSYMS)            \
	OPTION(HIGH_RES_TIMERS)     \
	OPTION(MODULES)             \
	OPTION(BPF_SYSCALL)         \
	OPTION(BPF_EVENTS)          \
	OPTION(DEBUG_INFO_BTF)

enum {
#define OPTION(name) MACHINE_##name,
	MACHINE_OPTION_LIST(OPTION)
#undef OPTION
		MACHINE_OPTIONS
};

struct machine_number {
	bool known;
	int64_t value;
};

#define MACHINE_LOG_MAX 64u /* lines of the kernel's log about SBI and PMUs that are kept */

struct machine {
	const char *root;
	char architecture[72]; /* as uname has it; "riscv64" for saved files of a RISC-V machine */
	char release[96];      /* of the kernel; "": unknown */
	char board[128];       /* model in the device tree; "": none */
	char distribution[32]; /* ID in os-release; "": unknown */
	struct machine_cpu cpu;
	bool riscv;

	bool log_read; /* the kernel's log could be read; it may have lost its beginning */
	struct machine_log log;
	char *log_lines[MACHINE_LOG_MAX];
	size_t log_line_count;

	char config[160]; /* file of the kernel's configuration; "": none found */
	enum machine_option options[MACHINE_OPTIONS];

	bool tree;	   /* there is a device tree */
	bool tree_pmu;	   /* with a node for the SBI PMU: riscv,pmu */
	bool tree_details; /* with a node for shpmsdetails */

	bool pmu_cpu;	/* PMU of the processor in sysfs */
	bool pmu_pesa;	/* PMU pesa in sysfs */
	bool module;	/* the kernel has the module pesa to load */
	bool interrupt; /* the overflow interrupt is set up */

	struct machine_number paranoid, kptr_restrict, sample_rate, mlock_kb;
	bool privileged; /* the caller has CAP_PERFMON or CAP_SYS_ADMIN */

	char governor[32]; /* of the first CPU's frequency; "": it does not change, or is unknown */
	struct machine_number frequency_least, frequency_most; /* kHz */
	bool debug_files;				       /* installed below /usr/lib/debug */
};

extern const char *const machine_option_names[MACHINE_OPTIONS]; /* without CONFIG_ */

/* `root` must outlive the result. */
void machine_read(const char *root, struct machine *machine);
void machine_free(struct machine *machine);

/* Read a file below the root, of at most `most` bytes.  NULL: there is none.  The caller frees it. */
char *machine_file(const char *root, const char *path, size_t most, size_t *size);

#endif
