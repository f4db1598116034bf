// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of a range of the store.  See page.h. */
#include "daemon/pesad/http/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/pesad/base/store.h"
#include "daemon/pesad/base/watchdog.h"
#include "daemon/pesad/http/excerpt.h"
#include "decoder/base/clock.h"
#include "decoder/base/terminal_text.h"
#include "decoder/base/wall_time.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define POLL_NS	      20000000 /* between two looks at the child */
#define DESCRIPTORS   16
#define MESSAGE_LINE  200 /* bytes of the child's message that are passed on */

/* A page that is being made. */
struct making {
	struct pesad_pager *pager;
	const struct pesad_range *range;
	struct pesad_answer *answer;
	char directory[PATH_MAX]; /* of its own */
	char input[PATH_MAX];	  /* the store, or excerpts of it */
	char page[PATH_MAX], messages[PATH_MAX];
	struct wall_time_range time;
};

static void __attribute__((format(printf, 3, 4)))
refuse(struct making *making, unsigned int status, const char *format, ...)
{
	va_list arguments;

	making->answer->status = status;
	va_start(arguments, format);
	vsnprintf(making->answer->text, sizeof(making->answer->text), format, arguments);
	va_end(arguments);
}

static void refuse_error(struct making *making, struct pesa_error *error)
{
	refuse(making, error->code == PESA_ERROR_NOT_FOUND ? 404 : 500, "%.*s\n", MESSAGE_LINE,
	       error->message);
	pesa_error_free(error);
}

/* ---- The range ----------------------------------------------------------------------------- */

static bool read_time(struct making *making, const char *name, const char *text, int64_t *time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (wall_time_read(text, (int64_t)now.tv_sec * (int64_t)NS_PER_SECOND + now.tv_nsec, time))
		return true;
	refuse(making, 400,
	       "%s: a time as in 2026-11-21T19:43, with a Z at its end for UTC, or -10min\n", name);
	return false;
}

static bool read_range(struct making *making)
{
	const struct pesad_range *range = making->range;

	making->time.has_since = *range->since;
	making->time.has_until = *range->until;
	return (!*range->since || read_time(making, "since", range->since, &making->time.since)) &&
	       (!*range->until || read_time(making, "until", range->until, &making->time.until));
}

/* ---- Intervals without the kernel's addresses ---------------------------------------------- */

/* Write an excerpt of an interval, as old as the interval is. */
static struct pesa_error *hide(struct making *making, const char *name, const struct stat *status)
{
	const struct pesad_excerpt excerpt = {.end = UINT64_MAX, .hide_kernel = true};
	const struct timespec times[] = {status->st_atim, status->st_mtim};
	struct pesad_answerer *answerer = making->pager->answerer;
	char from[PATH_MAX], to[PATH_MAX];
	struct pesa_error *error;
	uint64_t hidden = 0;

	if (snprintf(from, sizeof(from), "%s/%s", making->pager->store, name) >=
		    (int)sizeof(from) ||
	    snprintf(to, sizeof(to), "%s/%s", making->input, name) >= (int)sizeof(to))
		return NULL;
	pthread_mutex_lock(&answerer->exporting);
	pesad_watch_begin();
	error = pesad_excerpt_write(from, &excerpt, to, &hidden);
	pesad_watch_end();
	pthread_mutex_unlock(&answerer->exporting);
	pesad_count(&answerer->metrics->samples_hidden, hidden);
	if (!error && utimensat(AT_FDCWD, to, times, 0))
		return pesa_error_system(errno, "%s", to);
	/* It was rotated away. */
	if (error && access(from, F_OK)) {
		unlink(to);
		pesa_error_free(error);
		return NULL;
	}
	return error;
}

static bool is_in_range(const struct making *making, const char *name, const struct stat *status)
{
	int64_t begin, end = (int64_t)status->st_mtim.tv_sec * (int64_t)NS_PER_SECOND +
			     status->st_mtim.tv_nsec;

	return wall_time_of_interval(name, &begin) && wall_time_overlaps(&making->time, begin, end);
}

/* Excerpts of all intervals of the range, until the time is over. */
static struct pesa_error *hide_all(struct making *making, uint64_t deadline)
{
	DIR *store = opendir(making->pager->store);
	struct pesa_error *error = NULL;
	const struct dirent *entry;
	uint64_t bytes = 0;

	if (!store)
		return pesa_error_system(errno, "%s", making->pager->store);
	while (!error && (entry = readdir(store))) {
		struct stat status;

		if (fnmatch(PESAD_STORE_PATTERN, entry->d_name, FNM_PERIOD) ||
		    fstatat(dirfd(store), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode) || !is_in_range(making, entry->d_name, &status))
			continue;
		bytes += (uint64_t)status.st_size;
		if (bytes > making->pager->size || pesa_monotonic() > deadline)
			error = pesa_error_create(PESA_ERROR_OTHER,
						  "the range is too large: ask for a shorter one");
		else
			error = hide(making, entry->d_name, &status);
	}
	closedir(store);
	if (!error && !bytes)
		error = pesa_error_create(PESA_ERROR_NOT_FOUND,
					  "no interval of the store is of that time");
	return error;
}

/* ---- The child ----------------------------------------------------------------------------- */

/* In the child, after a fork of a process with threads: only system calls.  Does not return. */
static void run(const struct making *making, char *const *words, char *const *environment,
		pid_t worker)
{
	uint64_t seconds = making->pager->time / NS_PER_SECOND + 1, size = making->pager->size;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int messages = open(making->messages, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker || null < 0 || messages < 0)
		_exit(126);
	setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){size, size});
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(making->pager->program, words, environment);
	_exit(127);
}

/* This process's environment with another TMPDIR; NULL: out of memory. */
static char **environment_with(char *directory)
{
	size_t count = 0, kept = 0;
	char **result;

	while (environ[count])
		count++;
	result = calloc(count + 2, sizeof(*result));
	if (!result)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "TMPDIR=", 7) != 0)
			result[kept++] = environ[i];
	result[kept] = directory;
	return result;
}

/* Wait for the child, and end it when its time is over.  false: that was so. */
static bool wait_for(pid_t child, uint64_t deadline, int *status)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	while (waitpid(child, status, WNOHANG) == 0) {
		if (pesa_monotonic() > deadline) {
			kill(child, SIGKILL);
			waitpid(child, status, 0);
			return false;
		}
		nanosleep(&pause, NULL);
	}
	return true;
}

#define WORDS_MAX 16

struct command {
	char since[64], until[64], unit[PESAD_NAME_MAX + 8], host[PESAD_NAME_MAX + 8];
	char cgroup[PESAD_PATH_MAX + 16], html[PATH_MAX + 8], temporary[PATH_MAX + 8];
	char *words[WORDS_MAX];
	size_t count;
};

static void add_word(struct command *command, char *word)
{
	command->words[command->count++] = word;
}

static void add_time(struct command *command, char *word, size_t size, const char *option,
		     int64_t time)
{
	time_t seconds = (time_t)(time / (int64_t)NS_PER_SECOND);
	struct tm utc;
	size_t length = (size_t)snprintf(word, size, "--%s=", option);

	if (gmtime_r(&seconds, &utc) &&
	    strftime(word + length, size - length, "%Y-%m-%dT%H:%M:%SZ", &utc))
		add_word(command, word);
}

static void __attribute__((format(printf, 4, 5)))
add_text(struct command *command, char *word, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(word, size, format, arguments);
	va_end(arguments);
	add_word(command, word);
}

static void make_command(struct making *making, struct command *command)
{
	const struct pesad_range *range = making->range;

	add_word(command, "pesa");
	add_word(command, "report");
	add_word(command, "--stdio");
	add_word(command, "-i");
	add_word(command, making->input);
	add_text(command, command->html, sizeof(command->html), "--html=%s", making->page);
	if (making->time.has_since)
		add_time(command, command->since, sizeof(command->since), "since",
			 making->time.since);
	if (making->time.has_until)
		add_time(command, command->until, sizeof(command->until), "until",
			 making->time.until);
	if (*range->unit)
		add_text(command, command->unit, sizeof(command->unit), "--unit=%s", range->unit);
	if (*range->cgroup)
		add_text(command, command->cgroup, sizeof(command->cgroup), "--cgroup=%s",
			 range->cgroup);
	if (*range->host)
		add_text(command, command->host, sizeof(command->host), "--host=%s", range->host);
	snprintf(command->temporary, sizeof(command->temporary), "TMPDIR=%s", making->directory);
}

/* The first line that the child wrote, safe to pass on. */
static void read_message(const struct making *making, char *message, size_t size)
{
	FILE *file = fopen(making->messages, "re");

	*message = '\0';
	if (!file)
		return;
	if (fgets(message, MESSAGE_LINE, file)) {
		message[strcspn(message, "\n")] = '\0';
		terminal_text_in_place(message, size);
	}
	fclose(file);
}

/* The answer, by how the child ended. */
static void take_page(struct making *making, bool in_time, int status)
{
	struct pesad_answer *answer = making->answer;
	struct stat page;
	char message[4 * MESSAGE_LINE];

	if (!in_time || WIFSIGNALED(status)) {
		refuse(making, 503, "the page was not done within its limits of %s: ask for less\n",
		       in_time ? "memory, file size and processor time" : "time");
		return;
	}
	answer->file = open(making->page, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (answer->file >= 0 && !fstat(answer->file, &page) && page.st_size > 0) {
		answer->size = (size_t)page.st_size;
		return;
	}
	if (answer->file >= 0)
		close(answer->file);
	answer->file = -1;
	read_message(making, message, sizeof(message));
	refuse(making,
	       WEXITSTATUS(status) == 1	  ? 404
	       : WEXITSTATUS(status) == 2 ? 400
					  : 500,
	       "%.*s\n", MESSAGE_LINE, *message ? message : "pesa report did not make a page");
}

static void run_child(struct making *making, uint64_t deadline)
{
	struct command command = {0};
	pid_t worker = getpid(), child;
	char **environment;
	bool in_time;
	int status;

	make_command(making, &command);
	environment = environment_with(command.temporary);
	if (!environment) {
		refuse_error(making, pesa_error_no_memory());
		return;
	}
	child = fork();
	if (!child)
		run(making, command.words, environment, worker);
	free(environment);
	if (child < 0) {
		refuse_error(making, pesa_error_system(errno, "no process can be started"));
		return;
	}
	in_time = wait_for(child, deadline, &status);
	take_page(making, in_time, status);
}

/* ---- A page -------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status __attribute__((unused)),
		      int type __attribute__((unused)), struct FTW *walk __attribute__((unused)))
{
	remove(path);
	return 0;
}

static void make_page(struct making *making, bool hide_kernel)
{
	uint64_t deadline = pesa_monotonic() + making->pager->time;
	struct pesa_error *error = NULL;

	if (hide_kernel) {
		snprintf(making->input, sizeof(making->input), "%.*s/store", PATH_MAX - 8,
			 making->directory);
		if (mkdir(making->input, 0700))
			error = pesa_error_system(errno, "%s", making->input);
		else
			error = hide_all(making, deadline);
	} else {
		snprintf(making->input, sizeof(making->input), "%s", making->pager->store);
	}
	if (error)
		refuse_error(making, error);
	else
		run_child(making, deadline);
}

void pesad_answer_page(struct pesad_pager *pager, bool hide_kernel, const struct pesad_range *range,
		       struct pesad_answer *answer)
{
	struct making making = {.pager = pager, .range = range, .answer = answer};

	*answer = (struct pesad_answer){.status = 200, .file = -1};
	if (!pager->program) {
		refuse(&making, 501, "pages need the program pesa beside pesad\n");
		return;
	}
	if (!read_range(&making))
		return;
	if (pthread_mutex_trylock(&pager->busy)) {
		refuse(&making, 503, "another page is being made; ask again later\n");
		return;
	}
	snprintf(making.directory, sizeof(making.directory), "%.*s/pesad-page-XXXXXX",
		 PATH_MAX - 64, pager->answerer->directory);
	if (!mkdtemp(making.directory)) {
		refuse_error(&making, pesa_error_system(errno, "%s", making.directory));
	} else {
		snprintf(making.page, sizeof(making.page), "%.*s/page", PATH_MAX - 16,
			 making.directory);
		snprintf(making.messages, sizeof(making.messages), "%.*s/messages", PATH_MAX - 16,
			 making.directory);
		make_page(&making, hide_kernel);
		nftw(making.directory, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
	}
	pthread_mutex_unlock(&pager->busy);
}

void pesad_pager_begin(struct pesad_pager *pager)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof("pesa"));
	char *slash;

	pthread_mutex_init(&pager->busy, NULL);
	path[length < 0 ? 0 : length] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return;
	strcpy(slash + 1, "pesa");
	if (!access(path, X_OK))
		pager->program = strdup(path);
}

void pesad_pager_end(struct pesad_pager *pager)
{
	free(pager->program);
	pthread_mutex_destroy(&pager->busy);
}
