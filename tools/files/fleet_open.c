// SPDX-License-Identifier: GPL-2.0-or-later
/* A database as an input.  See fleet_open.h. */
#include "tools/files/fleet_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/paths.h"
#include "tools/files/temporary_directory.h"

#define MESSAGE_MAX 1024

bool fleet_is_url(const char *path)
{
	return !strncmp(path, "clickhouse://", strlen("clickhouse://")) ||
	       !strncmp(path, "clickhouses://", strlen("clickhouses://"));
}

/* Run the program; what it says on standard error is its message. */
static struct pesa_error *run(const char *program, const char *url, const char *file)
{
	char message[MESSAGE_MAX + 1];
	size_t length = 0;
	ssize_t size;
	int ends[2], status;
	pid_t child;

	if (pipe(ends))
		return pesa_error_system(errno, "pipe");
	child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return pesa_error_system(errno, "fork");
	}
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program, program, FLEET_READ, url, file, (char *)NULL);
		dprintf(STDERR_FILENO, "%s: %s", program, strerror(errno));
		_exit(1);
	}
	close(ends[1]);
	while ((size = read(ends[0], message + length, MESSAGE_MAX - length)) > 0 ||
	       (size < 0 && errno == EINTR))
		length += size > 0 ? (size_t)size : 0;
	close(ends[0]);
	message[length] = '\0';
	message[strcspn(message, "\n")] = '\0';
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return pesa_error_system(errno, "waitpid");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	return pesa_error_create(PESA_ERROR_OTHER, "%s",
				 *message ? message : "the program pesa-fleet ended early");
}

struct pesa_error *fleet_open(const char *path, const char **file)
{
	char program[PATH_MAX], *name;
	const char *directory;
	struct pesa_error *error;

	*file = NULL;
	if (!fleet_is_url(path))
		return NULL;
	if (!pesa_path_libexec("pesa-fleet", program))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s reads databases and is not here: is pesa installed "
					 "in full?",
					 program);
	error = temporary_directory_create("pesa-fleet", &directory);
	if (error)
		return error;
	if (asprintf(&name, "%s/fleet.data", directory) < 0)
		return pesa_error_no_memory();
	error = run(program, path, name);
	if (error)
		free(name);
	else
		*file = name; /* as long as the process */
	return error;
}
