// SPDX-License-Identifier: GPL-2.0-or-later
/* What the host threads of this process are doing.  See host_thread.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/vcore/guest/host_thread.h"

struct host_call host_call_of(uint32_t tid)
{
	struct host_call call = {.number = HOST_CALL_NONE};
	char path[64], text[256], *end;
	ssize_t size;
	int file;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", tid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0) {
		if (errno == ENOENT)
			call.number = HOST_CALL_GONE;
		return call;
	}
	size = read(file, text, sizeof(text) - 1);
	if (size < 0 && errno == ESRCH)
		call.number = HOST_CALL_GONE;
	close(file);
	if (size <= 0)
		return call;
	text[size] = '\0';
	/* No stack: the main thread has ended while others continue. */
	if (!strncmp(text, "-1 0x0 ", 7))
		call.number = HOST_CALL_GONE;
	if (text[0] < '0' || text[0] > '9')
		return call;
	call.number = strtol(text, &end, 10);
	call.argument = strtoull(end, NULL, 16);
	return call;
}

bool host_call_lasts(uint32_t tid, const struct host_call *call)
{
	struct host_call now = host_call_of(tid);

	return now.number == call->number && now.argument == call->argument;
}

bool host_call_pauses(const struct host_call *call)
{
	return call->number == SYS_clock_nanosleep
#ifdef SYS_nanosleep
	       || call->number == SYS_nanosleep
#endif
		;
}

bool host_threads_open(struct host_threads *threads)
{
	threads->directory = opendir("/proc/self/task");
	return threads->directory;
}

bool host_threads_next(struct host_threads *threads, uint32_t *tid)
{
	const struct dirent *entry;

	do {
		entry = readdir(threads->directory);
	} while (entry && entry->d_name[0] == '.');
	if (!entry)
		return false;
	*tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
	return true;
}

void host_threads_close(struct host_threads *threads)
{
	closedir(threads->directory);
}
