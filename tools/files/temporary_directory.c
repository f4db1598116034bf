/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/files/temporary_directory.h"

#define DESCRIPTORS 16
#define ATTEMPTS    100
#define ATTEMPT_US  10000

static struct directory {
	char *path;
	pid_t owner, remover;
	int socket; /* to the remover */
	struct directory *next;
} * directories;

/* ---- The remover --------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	remove(path);
	return 0;
}

/*
 * Create the directory, send its path, wait until the other end of the socket is closed, and remove
 * the directory.  If it cannot be created, the exit status is the errno.
 */
static void run_remover(char *path, int socket)
{
	char none;

	setsid();
	if (socket > 0)
		close_range(0, (unsigned int)socket - 1, 0);
	close_range((unsigned int)socket + 1, ~0u, 0);
	if (!mkdtemp(path))
		_exit(errno);
	if (send(socket, path, strlen(path), MSG_NOSIGNAL) > 0)
		while (read(socket, &none, 1) < 0 && errno == EINTR)
			;
	/* Children of the owner may still write until they are killed: try again. */
	for (unsigned int attempt = 0; attempt < ATTEMPTS; attempt++) {
		nftw(path, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
		if (access(path, F_OK))
			break;
		usleep(ATTEMPT_US);
	}
	_exit(0);
}

/* ---- The owner ----------------------------------------------------------------------------- */

/* A forked process has copies of the sockets and must not end the removers. */
static void end_removers(void)
{
	while (directories) {
		struct directory *directory = directories;

		directories = directory->next;
		close(directory->socket);
		if (directory->owner == getpid())
			while (waitpid(directory->remover, NULL, 0) < 0 && errno == EINTR)
				;
		free(directory->path);
		free(directory);
	}
}

/* Block all signals during the fork, so that none of them ends the remover. */
static pid_t start_remover(char *path, int ends[2])
{
	sigset_t all, before;
	pid_t remover;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	remover = fork();
	if (!remover)
		run_remover(path, ends[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return remover;
}

static struct pesa_error *start(struct directory *directory)
{
	size_t length = strlen(directory->path);
	int ends[2], failed, status = 0;
	ssize_t got;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return pesa_error_system(errno, "cannot make a socket");
	directory->owner = getpid();
	directory->socket = ends[0];
	directory->remover = start_remover(directory->path, ends);
	failed = errno;
	close(ends[1]);
	if (directory->remover < 0) {
		close(ends[0]);
		return pesa_error_system(failed, "cannot start a process");
	}
	got = recv(ends[0], directory->path, length, MSG_WAITALL);
	if (got == (ssize_t)length)
		return NULL;
	close(ends[0]);
	while (waitpid(directory->remover, &status, 0) < 0 && errno == EINTR)
		;
	return pesa_error_system(WIFEXITED(status) ? WEXITSTATUS(status) : EIO,
				 "cannot make a directory %s (set TMPDIR)", directory->path);
}

static char *name_directory(const char *parent, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s-XXXXXX", parent, name) < 0 ? NULL : path;
}

struct pesa_error *temporary_directory_create(const char *name, const char **path)
{
	const char *base = getenv("TMPDIR");
	char *parent = realpath(base && *base ? base : "/tmp", NULL);
	struct directory *directory = calloc(1, sizeof(*directory));
	struct pesa_error *error = NULL;

	if (!parent)
		error = pesa_error_system(errno, "%s: cannot make a directory there (set TMPDIR)",
					  base && *base ? base : "/tmp");
	else if (!directory || !(directory->path = name_directory(parent, name)))
		error = pesa_error_no_memory();
	else if (!directories && atexit(end_removers))
		error = pesa_error_no_memory();
	else
		error = start(directory);
	free(parent);
	if (error) {
		if (directory)
			free(directory->path);
		free(directory);
		return error;
	}
	directory->next = directories;
	directories = directory;
	*path = directory->path;
	return NULL;
}
