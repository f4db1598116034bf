// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_end(int *end)
{
	if (*end >= 0)
		close(*end);
	*end = -1;
}

void pesa_workload_signals(sigset_t *taken)
{
	static const int ending[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	struct sigaction action;

	sigemptyset(taken);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(taken, ending[i]);
	sigaddset(taken, SIGCHLD);
}

static bool is_elf(const char *path)
{
	char magic[4];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	bool found = file >= 0 && read(file, magic, sizeof(magic)) == sizeof(magic) &&
		     !memcmp(magic, "\177ELF", sizeof(magic));

	close_end(&file);
	return found;
}

/* Replace the process by a program; returns if that fails.  execvp() hands what the kernel does not know to
 * a shell, also programs of other processors. */
static void replace(char *const *argv)
{
	if (strchr(argv[0], '/') && is_elf(argv[0]))
		execv(argv[0], argv);
	else
		execvp(argv[0], argv);
}

/* In the child: wait for permission, then exec. */
static void run(char *const *argv, const sigset_t *mask, bool to_stderr, int go, int failure)
{
	char word = 0;
	int failed;

	if (to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	while (read(go, &word, 1) < 0 && errno == EINTR)
		;
	/* The pipe was closed: do not run. */
	if (word != 'g')
		_exit(125);
	sigprocmask(SIG_SETMASK, mask, NULL);
	replace(argv);
	failed = errno;
	if (write(failure, &failed, sizeof(failed)) < 0)
		_exit(126);
	_exit(127);
}

struct pesa_error *pesa_workload_start(char *const *argv, const sigset_t *mask, bool to_stderr,
				       struct pesa_workload *workload)
{
	int go[2], failure[2];
	pid_t process;

	if (pipe2(go, O_CLOEXEC))
		return pesa_error_system(errno, "cannot start %s", argv[0]);
	if (pipe2(failure, O_CLOEXEC)) {
		int failed = errno;

		close(go[0]);
		close(go[1]);
		return pesa_error_system(failed, "cannot start %s", argv[0]);
	}
	process = fork();
	if (!process) {
		close(go[1]);
		close(failure[0]);
		run(argv, mask, to_stderr, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	if (process < 0) {
		int failed = errno;

		close(go[1]);
		close(failure[0]);
		return pesa_error_system(failed, "cannot start %s", argv[0]);
	}
	*workload = (struct pesa_workload){.process = process, .go = go[1], .failure = failure[0]};
	return NULL;
}

struct pesa_error *pesa_workload_go(char *const *argv, struct pesa_workload *workload)
{
	int failed = 0;
	ssize_t got;

	if (write(workload->go, "g", 1) != 1)
		failed = errno;
	close_end(&workload->go);
	/* The pipe is closed by a successful exec. */
	do {
		int code;

		got = read(workload->failure, &code, sizeof(code));
		if (got == sizeof(code))
			failed = code;
	} while (got < 0 && errno == EINTR);
	close_end(&workload->failure);
	return failed ? pesa_error_system(failed, "cannot run %s", argv[0]) : NULL;
}

void pesa_workload_close(struct pesa_workload *workload)
{
	bool waiting = workload->process && workload->go >= 0;

	if (!workload->process)
		return;
	close_end(&workload->go);
	close_end(&workload->failure);
	if (waiting)
		waitpid(workload->process, NULL, 0);
}
