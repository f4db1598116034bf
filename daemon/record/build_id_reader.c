// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads build ids in a child process: see build_id_reader.h. */
#include "daemon/record/build_id_reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/record/build_ids.h"
#include "decoder/base/clock.h"

#define MILLISECOND UINT64_C(1000000)
#define DEADLINE    (200 * MILLISECOND)
#define PAUSE	    (10000 * MILLISECOND)
#define DYING	    (200 * MILLISECOND) /* time to wait for the exit of a killed child */
#define CHANNEL	    0			/* the child's socket descriptor */

struct pesa_build_id_reader {
	struct pesa_build_ids *ids;	 /* used in the child; allocated before the fork, where
				     * malloc() is safe */
	uint64_t deadline, pause, again; /* ns; `again`: time from which a child may be started */
	uint64_t opened, late;
	pid_t child; /* 0: no child */
	int channel; /* socket to the child; -1: no child, or the child was killed */
};

struct answer {
	uint32_t opened; /* files opened for this request */
	uint8_t size, build_id[PESA_BUILD_ID_MAX];
};

/* ---- In the child -------------------------------------------------------------------------- */

/*
 * Ignore signals that the terminal or a service manager sends to the whole process group: the
 * recorder still needs build ids to finish its file.
 */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
}

/* With the system calls, because libcap allocates memory. */
static bool keep_capabilities(void)
{
	const uint32_t kept = UINT32_C(1) << CAP_SYS_PTRACE | UINT32_C(1) << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].permitted &= kept;
	data[0].effective = data[0].permitted;
	data[0].inheritable = 0;
	memset(data + 1, 0, sizeof(data) - sizeof(data[0]));
	return !syscall(SYS_capset, &header, data) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void answer_all(struct pesa_build_ids *ids)
{
	char path[PATH_MAX];
	ssize_t size;

	while ((size = recv(CHANNEL, path, sizeof(path), 0)) > 0 && !path[size - 1]) {
		struct answer answer = {0};
		uint64_t before = pesa_build_ids_opened(ids);

		answer.size = pesa_build_ids_find(ids, path, answer.build_id);
		answer.opened = (uint32_t)(pesa_build_ids_opened(ids) - before);
		if (send(CHANNEL, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			return;
	}
}

/* The child's main loop; does not return. */
static void be_reader(struct pesa_build_ids *ids, int channel, pid_t recorder)
{
	ignore_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(1);
	prctl(PR_SET_NAME, "pesa-build-ids");
	if (channel != CHANNEL)
		dup2(channel, CHANNEL);
	close_range(CHANNEL + 1, ~0u, 0);
	if (!keep_capabilities())
		_exit(1);
	answer_all(ids);
	_exit(0);
}

/* ---- The child's life ---------------------------------------------------------------------- */

/*
 * Like fork(), but without SIGCHLD at the child's end.  QEMU's user-mode emulation supports only
 * SIGCHLD.
 */
static pid_t split(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	return child < 0 && errno == EINVAL ? fork() : child;
}

static bool start(struct pesa_build_id_reader *reader)
{
	pid_t recorder = getpid(), child;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	child = split();
	if (!child)
		be_reader(reader->ids, ends[1], recorder);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return false;
	}
	reader->child = child;
	reader->channel = ends[0];
	return true;
}

/*
 * Return whether a killed child has ended.  Nothing else waits for the child, so its pid is not
 * reused before.
 */
static bool has_ended(struct pesa_build_id_reader *reader)
{
	if (reader->child && !waitpid(reader->child, NULL, WNOHANG | __WALL))
		return false;
	reader->child = 0;
	return true;
}

static void give_up(struct pesa_build_id_reader *reader)
{
	if (reader->child)
		kill(reader->child, SIGKILL);
	if (reader->channel >= 0)
		close(reader->channel);
	reader->channel = -1;
	reader->again = pesa_monotonic() + reader->pause;
}

/* Return whether there is a child to send requests to. */
static bool is_ready(struct pesa_build_id_reader *reader)
{
	if (reader->channel >= 0)
		return true;
	if (!has_ended(reader) || pesa_monotonic() < reader->again)
		return false;
	if (start(reader))
		return true;
	give_up(reader);
	return false;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/* Wait until the channel is readable, or until a time. */
static bool wait_until(int channel, uint64_t until)
{
	struct pollfd polled = {.fd = channel, .events = POLLIN};

	for (;;) {
		uint64_t now = pesa_monotonic(), left = until > now ? until - now : 0;
		uint64_t timeout = (left + MILLISECOND - 1) / MILLISECOND;
		int ready = poll(&polled, 1, timeout < INT_MAX ? (int)timeout : INT_MAX);

		if (ready > 0)
			return true;
		if ((ready < 0 && errno != EINTR) || pesa_monotonic() >= until)
			return false;
	}
}

static bool ask(struct pesa_build_id_reader *reader, const char *path, size_t size,
		struct answer *answer)
{
	uint64_t until = pesa_monotonic() + reader->deadline;

	return send(reader->channel, path, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size &&
	       wait_until(reader->channel, until) &&
	       recv(reader->channel, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer) &&
	       answer->size <= PESA_BUILD_ID_MAX;
}

uint8_t pesa_build_id_reader_find(struct pesa_build_id_reader *reader, const char *path,
				  uint8_t build_id[PESA_BUILD_ID_MAX])
{
	size_t size = strlen(path) + 1;
	struct answer answer;

	if (size > PATH_MAX)
		return 0;
	if (!is_ready(reader)) {
		reader->late++;
		return 0;
	}
	if (!ask(reader, path, size, &answer)) {
		reader->late++;
		give_up(reader);
		return 0;
	}
	reader->opened += answer.opened;
	memcpy(build_id, answer.build_id, answer.size);
	return answer.size;
}

uint64_t pesa_build_id_reader_opened(const struct pesa_build_id_reader *reader)
{
	return reader->opened;
}

uint64_t pesa_build_id_reader_late(const struct pesa_build_id_reader *reader)
{
	return reader->late;
}

pid_t pesa_build_id_reader_process(const struct pesa_build_id_reader *reader)
{
	return reader->child;
}

/* ---- The reader ---------------------------------------------------------------------------- */

struct pesa_build_id_reader *pesa_build_id_reader_create(uint64_t deadline, uint64_t pause)
{
	struct pesa_build_id_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->deadline = deadline ? deadline : DEADLINE;
	reader->pause = pause ? pause : PAUSE;
	reader->channel = -1;
	reader->ids = pesa_build_ids_create();
	if (reader->ids)
		return reader;
	free(reader);
	return NULL;
}

void pesa_build_id_reader_free(struct pesa_build_id_reader *reader)
{
	const struct timespec moment = {.tv_nsec = (long)MILLISECOND};
	uint64_t until = pesa_monotonic() + DYING;

	if (!reader)
		return;
	give_up(reader);
	while (!has_ended(reader) && pesa_monotonic() < until)
		nanosleep(&moment, NULL);
	pesa_build_ids_free(reader->ids);
	free(reader);
}
