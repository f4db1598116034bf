/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine says of itself, as text: /proc/cpuinfo, the kernel's configuration and log, strings
 * of the device tree, faults of firmware.
 *
 * The text comes from the kernel, the firmware, or from the saved files of another machine: it is
 * never trusted.  Every parser takes any bytes, keeps fields of fixed size, and passes over what it
 * does not understand.  Text is terminated by a NUL.
 */
#ifndef DAEMON_MACHINE_PARSE_H
#define DAEMON_MACHINE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/events/catalogue.h"

/* ---- /proc/cpuinfo ------------------------------------------------------------------------- */

struct machine_cpu {
	unsigned int harts;	  /* "processor" lines */
	unsigned int kinds;	  /* different processor ids among them */
	char isa[1024];		  /* of the first hart; "": none */
	char uarch[64];		  /* "sifive,u74-mc"; "": none */
	char name[96];		  /* "model name"; "": none */
	char id[PESA_CPU_ID_MAX]; /* MVENDORID-MARCHID-MIMPID of the first hart; "": none */
};

void machine_parse_cpu(const char *text, struct machine_cpu *cpu);
/* Whether an ISA string has an extension: "v", "sscofpmf".  Ignores case and versions. */
bool machine_isa_has(const char *isa, const char *extension);

/* ---- The kernel's configuration ------------------------------------------------------------- */

enum machine_option {
	MACHINE_OPTION_UNKNOWN, /* there is no configuration to look at */
	MACHINE_OPTION_NO,
	MACHINE_OPTION_MODULE,
	MACHINE_OPTION_YES,
};

/* The value of CONFIG_`name` in a configuration file. */
enum machine_option machine_parse_option(const char *text, const char *name);

/* ---- The kernel's log ----------------------------------------------------------------------- */

#define MACHINE_SBI_OPENSBI 1u

struct machine_log {
	bool sbi; /* the kernel named the SBI */
	unsigned int sbi_major, sbi_minor;
	bool implementation;	    /* and what implements it */
	uint32_t implementation_id; /* MACHINE_SBI_OPENSBI, ... */
	uint32_t implementation_version;
	bool pmu;      /* the SBI has the PMU extension */
	bool counters; /* and these numbers of counters */
	unsigned int firmware_counters, hardware_counters;
	bool no_sampling; /* the kernel's driver found no overflow interrupt */
	bool legacy;	  /* the kernel uses its legacy driver: cycles and instructions only */
};

/* Add what a line of the log says. */
void machine_parse_log_line(const char *line, struct machine_log *log);

/* ---- Device tree ---------------------------------------------------------------------------- */

/* Whether a property is a list of strings (with a NUL behind each) that has `wanted`. */
bool machine_strings_have(const char *bytes, size_t size, const char *wanted);

/* ---- Faults of firmware --------------------------------------------------------------------- */

struct machine_fault {
	const char *effect, *commit; /* in the text */
	uint32_t mended;	     /* first version without it: major << 16 | minor; 0: none */
};

typedef void (*machine_fault_function)(void *context, const struct machine_fault *fault);

/*
 * Call `function` for the faults in a table (tools/events/firmware.csv) that a machine has.  The text
 * is changed.  Returns the number of lines that make no sense.
 */
size_t machine_faults_each(char *text, const struct machine_log *log, const struct machine_cpu *cpu,
			   machine_fault_function function, void *context);

#endif
