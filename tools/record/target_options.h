/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses option values of all subcommands that count or sample through the kernel: process and
 * thread ids, sizes and times.
 */
#ifndef TOOLS_RECORD_TARGET_OPTIONS_H
#define TOOLS_RECORD_TARGET_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Append "12,13", the argument of `option`, to *numbers, which the caller owns. */
void option_add_numbers(const struct argp_state *state, const char *option, const char *text,
			pid_t **numbers, size_t *count);

/*
 * A positive number of bytes with suffix B, K, M or G; without suffix, times `plain` (0: not
 * allowed).
 */
bool option_read_bytes(const char *text, double plain, double *bytes);
/* Same for a time in ns, with suffix ms, s, m, h or d. */
bool option_read_time(const char *text, double plain, double *nanoseconds);

#endif
