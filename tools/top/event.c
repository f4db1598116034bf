// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals that pesa top records itself.  A child process records and switches files; each file
 * appears in the folder under its final name when it is complete.  See source.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/record/record.h"
#include "tools/top/source.h"

#define FILE_NAME "own.data" /* complete files have a time stamp appended */
#define TEXT_MAX  1024	     /* bytes of the recorder's error message */

struct event_source {
	struct top_event_options options;
	char *folder;
	int events;   /* epoll of the two descriptors below */
	int folders;  /* inotify: files are renamed */
	int messages; /* the recorder's last message */
	pid_t recorder;
	bool ended; /* the recorder has ended, and the caller got its message */
};

/* ---- The recorder -------------------------------------------------------------------------- */

/* Runs in the child process; its last message goes to `messages`. */
static void record(const struct event_source *source, int messages)
{
	char program[] = "pesa", subcommand[] = "top", output[4096];
	char *command[] = {program, subcommand, NULL};
	const char *events[] = {source->options.event, source->options.second};
	const struct pesa_hardware_options options = {
		.devices = PESA_PMU_DIRECTORY,
		.events = events,
		.event_count = source->options.second ? 2 : 1,
		.joined = source->options.joined,
		.catalogue = source->options.catalogue,
		.sampling = {.period = source->options.period,
			     .frequency = source->options.frequency,
			     .inherit = true,
			     .stack_dump = PESA_STACK_DUMP_DEFAULT},
		.system_wide = !source->options.process_count && !source->options.thread_count,
		.processes = source->options.processes,
		.process_count = source->options.process_count,
		.threads = source->options.threads,
		.thread_count = source->options.thread_count,
		.switch_time = source->options.delay,
		.output = output,
		.command = command,
	};
	struct pesa_hardware_summary summary;
	struct pesa_error *error;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Leave the terminal's process group: its signals (Ctrl-C) are for the parent only. */
	setpgid(0, 0);
	if (null >= 0)
		for (int i = 0; i < 3; i++)
			dup2(null, i);
	snprintf(output, sizeof(output), "%s/" FILE_NAME, source->folder);
	error = pesa_hardware_record(&options, &summary);
	if (error)
		dprintf(messages, "%s", error->message);
	else if (summary.status)
		dprintf(messages, "the recording ended");
	_exit(error != NULL);
}

static struct pesa_error *start(struct event_source *source)
{
	int ends[2];
	sigset_t none;

	if (pipe2(ends, O_CLOEXEC))
		return pesa_error_system(errno, "cannot make a pipe");
	fflush(NULL);
	source->recorder = fork();
	if (!source->recorder) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		record(source, ends[1]);
	}
	close(ends[1]);
	source->messages = ends[0];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return source->recorder < 0 ? pesa_error_system(errno, "cannot start the recorder") : NULL;
}

/* ---- Recorded files ------------------------------------------------------------------------ */

/* Find the oldest complete file; the names differ in their time stamps. */
static bool oldest_file(const struct event_source *source, char *path, size_t size)
{
	char oldest[256] = "";
	DIR *listing = opendir(source->folder);
	const struct dirent *file;

	while (listing && (file = readdir(listing)))
		if (!strncmp(file->d_name, FILE_NAME ".", strlen(FILE_NAME ".")) &&
		    (!*oldest || strcmp(file->d_name, oldest) < 0))
			snprintf(oldest, sizeof(oldest), "%s", file->d_name);
	if (listing)
		closedir(listing);
	snprintf(path, size, "%s/%s", source->folder, oldest);
	return *oldest;
}

static void discard_events(struct event_source *source)
{
	char events[4096];

	while (read(source->folders, events, sizeof(events)) > 0)
		;
}

static bool take(void *state, struct top_interval *interval)
{
	struct event_source *source = state;
	char text[TEXT_MAX + 1], taken[sizeof(interval->path)];
	ssize_t size;

	*interval = (struct top_interval){0};
	discard_events(source);
	if (oldest_file(source, interval->path, sizeof(interval->path))) {
		/* Rename the file, so that it is not found again. */
		snprintf(taken, sizeof(taken), "%s/taken", source->folder);
		if (rename(interval->path, taken))
			return false;
		strcpy(interval->path, taken);
		return true;
	}
	*interval->path = '\0';
	if (source->ended)
		return false;
	size = read(source->messages, text, TEXT_MAX);
	if (size < 0)
		return false;
	text[size] = '\0';
	source->ended = true;
	/* Stop polling the pipe: at its end of file it is always readable. */
	epoll_ctl(source->events, EPOLL_CTL_DEL, source->messages, NULL);
	interval->error =
		pesa_error_create(PESA_ERROR_OTHER, "%s",
				  size ? text : "the recording ended: what it recorded has gone");
	interval->fatal = true;
	return true;
}

static void close_source(void *state)
{
	struct event_source *source = state;
	char path[4096];

	if (source->recorder > 0) {
		kill(source->recorder, SIGTERM);
		while (waitpid(source->recorder, NULL, 0) < 0 && errno == EINTR)
			;
	}
	while (oldest_file(source, path, sizeof(path)) && !unlink(path))
		;
	snprintf(path, sizeof(path), "%s/" FILE_NAME, source->folder);
	unlink(path);
	close(source->folders);
	close(source->messages);
	close(source->events);
	free(source->folder);
	free(source);
}

static struct pesa_error *watch(struct event_source *source)
{
	struct epoll_event readable = {.events = EPOLLIN};

	source->folders = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	source->events = epoll_create1(EPOLL_CLOEXEC);
	if (source->folders < 0 || source->events < 0 ||
	    inotify_add_watch(source->folders, source->folder, IN_MOVED_TO) < 0 ||
	    epoll_ctl(source->events, EPOLL_CTL_ADD, source->folders, &readable))
		return pesa_error_system(errno, "%s: cannot be watched", source->folder);
	return NULL;
}

struct pesa_error *top_event_open(const struct top_event_options *options, const char *folder,
				  struct top_source *result)
{
	struct event_source *source = calloc(1, sizeof(*source));
	struct epoll_event readable = {.events = EPOLLIN};
	struct pesa_error *error;

	if (!source)
		return pesa_error_no_memory();
	source->options = *options;
	source->events = source->folders = source->messages = -1;
	source->folder = strdup(folder);
	error = source->folder ? watch(source) : pesa_error_no_memory();
	if (!error)
		error = start(source);
	if (!error && epoll_ctl(source->events, EPOLL_CTL_ADD, source->messages, &readable))
		error = pesa_error_system(errno, "cannot wait for the recorder");
	if (error) {
		close_source(source);
		return error;
	}
	*result = (struct top_source){.state = source,
				      .name = source->options.joined ? source->options.joined
								     : "own event",
				      .descriptor = source->events,
				      .take = take,
				      .close = close_source};
	return NULL;
}
