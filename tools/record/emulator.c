// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the emulator that runs the virtual core.  See emulator.h. */
#include "tools/record/emulator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/paths.h"

#define NAME	   "qemu-riscv64"
#define TEXT_BYTES 32768 /* of an answer; the help of QEMU 10 has 3000 */

/* Read until the end of the file or of the buffer.  Returns how many bytes, or -1. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t got;

	do {
		got = read(fd, text + used, size - used);
		if (got > 0)
			used += (size_t)got;
	} while (used < size && (got > 0 || (got < 0 && errno == EINTR)));
	return got < 0 ? -1 : (ssize_t)used;
}

/* What the emulator prints with `option`, in `text` of TEXT_BYTES. */
static struct pesa_error *ask(const char *emulator, const char *option, char *text)
{
	struct pesa_error *error = NULL;
	ssize_t size = -1;
	pid_t child;
	int ends[2];

	if (pipe(ends))
		return pesa_error_system(errno, "cannot start %s", emulator);
	child = fork();
	if (child < 0)
		error = pesa_error_system(errno, "cannot start %s", emulator);
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(emulator, emulator, option, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (child > 0)
		size = read_all(ends[0], text, TEXT_BYTES - 1);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	text[size > 0 ? size : 0] = '\0';
	return error;
}

/* The plugin interface depends on the emulator's version: there is a plugin file for each. */
static struct pesa_error *choose_plugin(const char *emulator, char *text, char plugin[PATH_MAX])
{
	unsigned int major = 0, minor = 0;
	const char *name, *at;
	struct pesa_error *error = ask(emulator, "--version", text);

	if (error)
		return error;
	at = strstr(text, "version ");
	if (!at || sscanf(at, "version %u.%u", &major, &minor) != 2)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s does not tell its version; is it QEMU's " NAME "?",
					 emulator);
	if (major < 7 || (major == 7 && minor < 2))
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s is QEMU %u.%u; the virtual core needs 7.2 or newer",
					 emulator, major, minor);
	error = ask(emulator, "-h", text);
	if (error)
		return error;
	if (!strstr(text, "\n-plugin "))
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"%s (QEMU %u.%u) was built without plugins, and the virtual core is one; "
			"'make emulator' in pesa's source builds one that has them, or name "
			"another in PESA_QEMU",
			emulator, major, minor);
	name = major >= 9 ? "pesa-vcore-2.so" : "pesa-vcore-1.so";
	if (!pesa_path_libexec(name, plugin))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "no virtual core at %s; is pesa installed completely?",
					 plugin);
	return NULL;
}

struct pesa_error *emulator_find(char emulator[PATH_MAX], char plugin[PATH_MAX])
{
	const char *named = getenv("PESA_QEMU");
	struct pesa_error *error;
	char *text;

	if (named && !*named)
		named = NULL;
	if ((named || !pesa_path_libexec(NAME, emulator)) &&
	    !pesa_path_program(named ? named : NAME, emulator))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no emulator '%s'; install QEMU's user mode emulators (Debian: qemu-user) "
			"or name one in PESA_QEMU",
			named ? named : NAME);
	text = malloc(TEXT_BYTES);
	if (!text)
		return pesa_error_no_memory();
	error = choose_plugin(emulator, text, plugin);
	free(text);
	return error;
}
