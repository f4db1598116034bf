/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of the options that say what to observe and for how long, of every subcommand that has the
 * kernel count or sample: process and thread numbers, sizes and times.
 */
#ifndef TOOLS_RECORD_TARGET_OPTIONS_H
#define TOOLS_RECORD_TARGET_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One line that says what would be allowed.  Returns 2, the exit status. */
int option_bad_value(const char *command, const char *option, const char *text,
		     const char *allowed);

/* "12,13": put behind what *numbers has, which the caller owns.  0, else the exit status. */
int option_add_numbers(const char *command, const char *option, const char *text, pid_t **numbers,
		       size_t *count);

/* A positive number of bytes, with B, K, M or G; without, times `plain` (0: not allowed). */
bool option_read_bytes(const char *text, double plain, double *bytes);
/* Likewise of time in ns, with ms, s, m, h or d. */
bool option_read_time(const char *text, double plain, double *nanoseconds);

#endif
