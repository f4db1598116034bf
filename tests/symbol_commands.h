/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell commands in the folder of a test, with ${T} before the names of RISC-V tools, and a set of one
 * dso.  Include after cmocka.h. */
#ifndef TESTS_SYMBOL_COMMANDS_H
#define TESTS_SYMBOL_COMMANDS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "pesa/profile.h"
#include "tests/temporary_folder.h"

/* The tool of the RISC-V binutils or compiler by that name. */
static inline const char *tool_prefix(void)
{
	struct utsname system_name;

	if (!uname(&system_name) && !strcmp(system_name.machine, "riscv64"))
		return "";
	return "riscv64-linux-gnu-";
}

/* Run a shell command in the folder; false if it fails. */
static inline bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline bool run(const char *format, ...)
{
	char command[4096];
	int length =
		snprintf(command, sizeof(command), "cd %s && T=%s && { ", folder, tool_prefix());
	va_list arguments;

	va_start(arguments, format);
	length += vsnprintf(command + length, sizeof(command) - (size_t)length, format, arguments);
	va_end(arguments);
	snprintf(command + length, sizeof(command) - (size_t)length, "; }");
	return system(command) == 0;
}

static inline FILE *output_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline FILE *output_of(const char *format, ...)
{
	char command[4096];
	int length =
		snprintf(command, sizeof(command), "cd %s && T=%s && { ", folder, tool_prefix());
	FILE *stream;
	va_list arguments;

	va_start(arguments, format);
	length += vsnprintf(command + length, sizeof(command) - (size_t)length, format, arguments);
	va_end(arguments);
	snprintf(command + length, sizeof(command) - (size_t)length, "; }");
	stream = popen(command, "r");
	assert_non_null(stream);
	return stream;
}

static inline int clean(void **state)
{
	(void)state;
	return !run("rm -rf %s", folder);
}

static inline const struct pesa_dso *only_dso(void *context, uint32_t index)
{
	return index == 0 ? context : NULL;
}

#endif
