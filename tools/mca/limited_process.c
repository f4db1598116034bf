// SPDX-License-Identifier: GPL-2.0-or-later
/* A program under limits: see limited_process.h. */
#include "tools/mca/limited_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

/* ---- Child process --------------------------------------------------------------------------- */

/* Set a resource limit, unless it is lower already. */
static bool limit(int resource, uint64_t most)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now))
		return false;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
		most = now.rlim_max;
	now.rlim_cur = now.rlim_cur < most ? now.rlim_cur : most;
	now.rlim_max = most;
	return !setrlimit((__rlimit_resource_t)resource, &now);
}

/* The soft limit is 1 s below the hard one: SIGXCPU, which identifies this limit, precedes SIGKILL. */
static bool limit_time(unsigned int seconds)
{
	struct rlimit now;

	if (!limit(RLIMIT_CPU, (uint64_t)seconds + 1) || getrlimit(RLIMIT_CPU, &now))
		return false;
	if (now.rlim_cur > seconds)
		now.rlim_cur = seconds;
	return !setrlimit(RLIMIT_CPU, &now);
}

static bool set_up_child(const struct process_limits *limits, pid_t parent, int output)
{
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	/* If the parent ended before prctl(), there is no signal: compare the parent's id. */
	return !setpgid(0, 0) && !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent &&
	       !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && empty >= 0 &&
	       dup2(empty, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	       dup2(output, STDERR_FILENO) >= 0 && limit(RLIMIT_CORE, 0) &&
	       limit(RLIMIT_AS, limits->memory_size) && limit(RLIMIT_FSIZE, limits->file_size) &&
	       limit_time(limits->seconds) && signal(SIGXFSZ, SIG_DFL) != SIG_ERR &&
	       signal(SIGXCPU, SIG_DFL) != SIG_ERR && !sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t limited_process_start(const struct process_limits *limits, int output)
{
	pid_t parent = getpid(), process = fork();

	/* Do not run without the limits. */
	if (!process && !set_up_child(limits, parent, output))
		_exit(127);
	/* The child does this too; here it ensures that the group exists before it is killed. */
	if (process > 0)
		setpgid(process, process);
	return process;
}

/* ---- Parent process -------------------------------------------------------------------------- */

static int64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

/* Return whether the process ended in time.  Without pidfds only the limit of CPU time applies. */
static bool ends_in_time(pid_t process, unsigned int seconds)
{
	int64_t until = milliseconds() + (int64_t)seconds * 1000, left;
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
	int ready = 1;

	if (ended.fd < 0)
		return true;
	do {
		left = until - milliseconds();
		ready = poll(&ended, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	close(ended.fd);
	return ready != 0;
}

struct pesa_error *limited_process_wait(pid_t process, const struct process_limits *limits,
					enum process_end *end)
{
	bool late = !ends_in_time(process, limits->seconds);
	siginfo_t ended;
	int status;

	/* Kill the group before the process is reaped: its id cannot be reused until then. */
	if (late)
		kill(-process, SIGKILL);
	while (waitid(P_PID, (id_t)process, &ended, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			return pesa_error_system(errno, "cannot wait for a process");
	kill(-process, SIGKILL);
	while (waitpid(process, &status, 0) < 0)
		if (errno != EINTR)
			return pesa_error_system(errno, "cannot wait for a process");
	*end = PROCESS_FAILED;
	if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
		*end = PROCESS_LATE;
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		*end = PROCESS_WROTE_TOO_MUCH;
	else if (WIFEXITED(status) && !WEXITSTATUS(status))
		*end = PROCESS_EXITED;
	return NULL;
}
