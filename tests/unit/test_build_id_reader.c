/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that reads build ids: what it answers, and what becomes of who asks when it does not.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "daemon/record/build_id_reader.h"
#include "decoder/base/clock.h"
#include "decoder/binary/program.h"
#include "tests/elf_file.h"
#include "tests/temporary_folder.h"

#define MILLISECOND UINT64_C(1000000)
#define SECOND	    (1000 * MILLISECOND)
#define PATIENT	    (60 * SECOND) /* no answer is late on any machine */
#define HANGS	    30u		  /* s, after which a test fails that waits for ever */

static const char *path_of(const char *name)
{
	static char path[4][64];
	static unsigned int next;
	char *room = path[next++ % 4];

	snprintf(room, sizeof(path[0]), "%s/%s", folder, name);
	return room;
}

static const char *write_program(const char *name)
{
	static const uint8_t build_id[PESA_BUILD_ID_MAX] = {1, 2, 3, 4, 5};
	struct elf_file file = {.machine = EM_RISCV,
				.text = "text",
				.text_size = 4,
				.text_address = 0x10000,
				.text_offset = ELF_FILE_TEXT,
				.build_id = build_id};
	const char *path = path_of(name);
	uint8_t bytes[4096 + 16];
	FILE *out = fopen(path, "w");
	size_t size = elf_file_make(&file, bytes);

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
	return path;
}

static void write_text(const char *path)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs("no program", out);
	assert_int_equal(fclose(out), 0);
}

static struct pesa_build_id_reader *create(uint64_t deadline, uint64_t pause)
{
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(deadline, pause);

	assert_non_null(reader);
	return reader;
}

static uint8_t find(struct pesa_build_id_reader *reader, const char *path)
{
	uint8_t build_id[PESA_BUILD_ID_MAX];

	return pesa_build_id_reader_find(reader, path, build_id);
}

static void sleep_for(uint64_t time)
{
	const struct timespec pause = {.tv_sec = (time_t)(time / SECOND),
				       .tv_nsec = (long)(time % SECOND)};

	nanosleep(&pause, NULL);
}

static size_t open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* "State:" of a process, 0: there is none. */
static char state_of(pid_t process)
{
	char path[64], line[128], state = 0;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
	stream = fopen(path, "r");
	while (stream && fgets(line, sizeof(line), stream))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (stream)
		fclose(stream);
	return state;
}

/* The independent witness is the same reading without a process in between. */
static void it_finds_what_is_found_without_it(void **state)
{
	static const char *const names[] = {"program", "text", "pipe", "gone", "."};
	struct pesa_build_id_reader *reader = create(PATIENT, 0);
	uint8_t expected[PESA_BUILD_ID_MAX], found[PESA_BUILD_ID_MAX];

	(void)state;
	write_program("program");
	write_text(path_of("text"));
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(pesa_program_build_id(path_of("program"), expected, sizeof(expected)),
			 PESA_BUILD_ID_MAX);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned int twice = 0; twice < 2; twice++) {
			uint8_t size = pesa_build_id_reader_find(reader, path_of(names[i]), found);

			assert_int_equal(size, i ? 0 : PESA_BUILD_ID_MAX);
			if (size)
				assert_memory_equal(found, expected, size);
		}
	/* The program and the text, each once. */
	assert_int_equal(pesa_build_id_reader_opened(reader), 2);
	assert_int_equal(pesa_build_id_reader_late(reader), 0);
	unlink(path_of("program"));
	unlink(path_of("text"));
	unlink(path_of("pipe"));
	pesa_build_id_reader_free(reader);
}

static void a_path_that_is_too_long_is_none(void **state)
{
	struct pesa_build_id_reader *reader = create(PATIENT, 0);
	char path[PATH_MAX + 100];

	(void)state;
	for (size_t length = PATH_MAX - 2; length <= PATH_MAX + 1; length++) {
		memset(path, '/', length);
		path[length] = '\0';
		assert_int_equal(find(reader, path), 0);
	}
	assert_int_equal(pesa_build_id_reader_late(reader), 0);
	pesa_build_id_reader_free(reader);
}

/* The pause is longer than the test may take. */
static void who_does_not_answer_is_waited_for_once(void **state)
{
	struct pesa_build_id_reader *reader = create(200 * MILLISECOND, 1000 * SECOND);
	const char *path = write_program("program");
	uint64_t begun;
	pid_t process;

	(void)state;
	alarm(HANGS);
	assert_int_equal(find(reader, path), PESA_BUILD_ID_MAX);
	process = pesa_build_id_reader_process(reader);
	assert_int_equal(kill(process, SIGSTOP), 0);
	begun = pesa_monotonic();
	assert_int_equal(find(reader, path), 0);
	assert_true(pesa_monotonic() - begun >= 200 * MILLISECOND);
	assert_int_equal(pesa_build_id_reader_late(reader), 1);
	/* 1000 deadlines are 200 s. */
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(find(reader, path), 0);
	assert_int_equal(pesa_build_id_reader_late(reader), 1001);
	assert_int_equal(pesa_build_id_reader_opened(reader), 1);
	pesa_build_id_reader_free(reader);
	assert_int_equal(state_of(process), 0);
	alarm(0);
	unlink(path);
}

static void it_goes_on_after_the_pause(void **state)
{
	struct pesa_build_id_reader *reader = create(PATIENT, 100 * MILLISECOND);
	const char *path = write_program("program");
	pid_t first;

	(void)state;
	alarm(HANGS);
	assert_int_equal(find(reader, path), PESA_BUILD_ID_MAX);
	first = pesa_build_id_reader_process(reader);
	/* One that was killed by somebody: nobody waits for its answer. */
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(find(reader, path), 0);
	assert_int_equal(pesa_build_id_reader_late(reader), 1);
	while (!find(reader, path))
		sleep_for(10 * MILLISECOND);
	assert_int_not_equal(pesa_build_id_reader_process(reader), first);
	/* What the first one remembered is gone with it. */
	assert_int_equal(pesa_build_id_reader_opened(reader), 2);
	pesa_build_id_reader_free(reader);
	alarm(0);
	unlink(path);
}

/* Its own children are all that is found by who waits for any, and no SIGCHLD comes of it. */
static void the_callers_children_are_waited_for_as_ever(void **state)
{
	struct pesa_build_id_reader *reader = create(PATIENT, 0);
	sigset_t child, before;
	const struct timespec none = {0};

	(void)state;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	assert_int_equal(find(reader, "/"), 0);
	errno = 0;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	pesa_build_id_reader_free(reader);
	assert_int_equal(sigtimedwait(&child, NULL, &none), -1);
	assert_int_equal(errno, EAGAIN);
	errno = 0;
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void signals_for_the_recorder_do_not_end_it(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
	struct pesa_build_id_reader *reader = create(PATIENT, 0);
	const char *path = write_program("program");

	(void)state;
	assert_int_equal(find(reader, path), PESA_BUILD_ID_MAX);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_int_equal(kill(pesa_build_id_reader_process(reader), signals[i]), 0);
	assert_int_equal(find(reader, path), PESA_BUILD_ID_MAX);
	assert_int_equal(pesa_build_id_reader_late(reader), 0);
	pesa_build_id_reader_free(reader);
	unlink(path);
}

static void it_dies_with_the_recorder(void **state)
{
	int pipes[2];
	pid_t recorder, process = 0;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	recorder = fork();
	if (!recorder) {
		struct pesa_build_id_reader *reader = pesa_build_id_reader_create(PATIENT, 0);
		ssize_t written;

		find(reader, "/");
		process = pesa_build_id_reader_process(reader);
		/* One that cannot even see that its socket was closed. */
		kill(process, SIGSTOP);
		written = write(pipes[1], &process, sizeof(process));
		_exit(written != sizeof(process));
	}
	assert_int_equal(read(pipes[0], &process, sizeof(process)), sizeof(process));
	assert_true(process > 0);
	assert_int_equal(waitpid(recorder, NULL, 0), recorder);
	alarm(HANGS);
	/* As a zombie it is of whoever has taken it over. */
	while (state_of(process) && state_of(process) != 'Z')
		sleep_for(10 * MILLISECOND);
	alarm(0);
	close(pipes[0]);
	close(pipes[1]);
}

/* Nothing of the recorder but the socket, whatever is open in it. */
static void descriptors_are_neither_kept_nor_leaked(void **state)
{
	size_t before = open_descriptors(), count = 0;
	int held = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(held >= 0);
	for (unsigned int i = 0; i < 20; i++) {
		struct pesa_build_id_reader *reader = create(PATIENT, MILLISECOND);
		char path[64];
		DIR *directory;

		assert_int_equal(find(reader, "/"), 0);
		snprintf(path, sizeof(path), "/proc/%d/fd",
			 (int)pesa_build_id_reader_process(reader));
		directory = opendir(path);
		assert_non_null(directory);
		for (count = 0; readdir(directory);)
			count++;
		closedir(directory);
		assert_int_equal(count, 3); /* with . and .. */
		kill(pesa_build_id_reader_process(reader), SIGKILL);
		assert_int_equal(find(reader, "/"), 0);
		pesa_build_id_reader_free(reader);
	}
	close(held);
	assert_int_equal(open_descriptors(), before);
}

static uint64_t capabilities_of(pid_t process, const char *set)
{
	char path[64], line[128];
	unsigned long long value = 0;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
	stream = fopen(path, "r");
	assert_non_null(stream);
	while (fgets(line, sizeof(line), stream))
		if (!strncmp(line, set, strlen(set)))
			sscanf(line + strlen(set), ": %llx", &value);
	fclose(stream);
	return value;
}

static void of_capabilities_it_has_those_to_find_files(void **state)
{
	const uint64_t wanted =
		UINT64_C(1) << 2 /* CAP_DAC_READ_SEARCH */ | UINT64_C(1) << 19 /* CAP_SYS_PTRACE */;
	struct pesa_build_id_reader *reader = create(PATIENT, 0);
	pid_t process;

	(void)state;
	assert_int_equal(find(reader, "/"), 0);
	process = pesa_build_id_reader_process(reader);
	assert_int_equal(capabilities_of(process, "CapPrm"),
			 capabilities_of(getpid(), "CapPrm") & wanted);
	assert_int_equal(capabilities_of(process, "CapEff"), capabilities_of(process, "CapPrm"));
	assert_int_equal(capabilities_of(process, "CapInh"), 0);
	assert_int_equal(capabilities_of(process, "NoNewPrivs"), 1);
	pesa_build_id_reader_free(reader);
}

/* A FUSE file system whose server never answers, not even the kernel's first message. */
static void a_file_system_that_does_not_answer_holds_nobody(void **state)
{
	struct pesa_build_id_reader *reader;
	const char *path = write_program("program");
	char mount_point[64], options[128], file[128];
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	(void)state;
	snprintf(mount_point, sizeof(mount_point), "%s", path_of("mount"));
	snprintf(file, sizeof(file), "%s/program", mount_point);
	snprintf(options, sizeof(options), "fd=%d,rootmode=040000,user_id=0,group_id=0,allow_other",
		 fuse);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	if (fuse < 0 || mount("pesa-test", mount_point, "fuse", MS_NOSUID | MS_NODEV, options)) {
		print_message("no FUSE: %s\n", strerror(errno));
		if (fuse >= 0)
			close(fuse);
		rmdir(mount_point);
		unlink(path);
		skip();
	}
	reader = create(200 * MILLISECOND, 100 * MILLISECOND);
	alarm(HANGS);
	assert_int_equal(find(reader, file), 0);
	assert_int_equal(pesa_build_id_reader_late(reader), 1);
	while (!find(reader, path))
		sleep_for(10 * MILLISECOND);
	alarm(0);
	pesa_build_id_reader_free(reader);
	close(fuse);
	assert_int_equal(umount2(mount_point, MNT_DETACH), 0);
	rmdir(mount_point);
	unlink(path);
}

/* A recorder that may have no more processes loses build ids, and nothing else. */
static void where_no_process_can_be_had_there_are_none(void **state)
{
	struct pesa_build_id_reader *reader = create(PATIENT, MILLISECOND);
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0; /* nor a socket */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(find(reader, "/"), 0);
	assert_int_equal(pesa_build_id_reader_process(reader), 0);
	assert_int_equal(pesa_build_id_reader_late(reader), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	pesa_build_id_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_finds_what_is_found_without_it),
		cmocka_unit_test(a_path_that_is_too_long_is_none),
		cmocka_unit_test(who_does_not_answer_is_waited_for_once),
		cmocka_unit_test(it_goes_on_after_the_pause),
		cmocka_unit_test(the_callers_children_are_waited_for_as_ever),
		cmocka_unit_test(signals_for_the_recorder_do_not_end_it),
		cmocka_unit_test(it_dies_with_the_recorder),
		cmocka_unit_test(descriptors_are_neither_kept_nor_leaked),
		cmocka_unit_test(of_capabilities_it_has_those_to_find_files),
		cmocka_unit_test(a_file_system_that_does_not_answer_holds_nobody),
		cmocka_unit_test(where_no_process_can_be_had_there_are_none),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
