// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What files are to the reader and the writer of perf.data: directories, pipes, disks that are full
 * or fail.  Whatever happens, what was read and what was counted as lost is all there was.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "decoder/perfdata/reader.h"
#include "decoder/perfdata/writer.h"
#include "tests/perfdata_records.h"
#include "tests/temporary_folder.h"

#define SAMPLE_BYTES 24 /* of PERF_SAMPLE_IP and PERF_SAMPLE_TIME */

static struct perf_event_attr timed_attr(void)
{
	return test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
}

/* Samples whose ip and time count up, without rounds. */
static struct bytes counted_samples(unsigned int count)
{
	const struct perf_event_attr attr = timed_attr();
	struct bytes records = {0};

	for (unsigned int i = 0; i < count; i++) {
		struct expected sample = make_expected(1000 + i);

		sample.ip = i;
		put_sample(&records, &attr, &sample);
	}
	return records;
}

/* How many samples come, which count up from the first. */
static uint64_t read_counted(struct pesa_perfdata *reader, uint64_t first)
{
	struct pesa_event event;
	uint64_t samples = 0;

	while (pesa_perfdata_next(reader, &event))
		if (event.type == PERF_RECORD_SAMPLE) {
			assert_int_equal(event.sample.ip, first + samples);
			samples++;
		}
	return samples;
}

static void write_named(const char *name, const struct bytes *bytes)
{
	char path[sizeof(folder) + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes->at, 1, bytes->size, file), bytes->size);
	assert_int_equal(fclose(file), 0);
}

static void remove_named(const char *name)
{
	char path[sizeof(folder) + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

/* ---- Directories ----------------------------------------------------------------------------- */

static void a_directory_is_read_part_by_part(void **state)
{
	enum { PARTS = 12, EACH = 100 };
	const struct perf_event_attr attr = timed_attr();
	struct bytes records = counted_samples(PARTS * EACH), none = {0}, file;
	uint64_t done = 0, total = 0, before = 0, all;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	char name[32];

	(void)state;
	record_end(&none, record_begin(&none, FINISHED_ROUND, 0));
	file = build_file(false, &attr, 1, &none, NULL, 0);
	write_named("data", &file);
	all = file.size + records.size;
	for (unsigned int i = 0; i < PARTS; i++) {
		const struct bytes part = {.at = records.at + i * EACH * SAMPLE_BYTES,
					   .size = EACH * SAMPLE_BYTES};

		snprintf(name, sizeof(name), "data.%u", i);
		write_named(name, &part);
	}
	assert_null(pesa_perfdata_open(folder, &reader));
	/* Programs that we start have nothing of it. */
	assert_int_equal(fcntl(reader->descriptor, F_GETFD), FD_CLOEXEC);
	for (unsigned int i = 0; i < PARTS * EACH; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, i);
		pesa_perfdata_progress(reader, &done, &total);
		assert_int_equal(total, all);
		assert_true(done >= before && done <= total);
		before = done;
	}
	assert_int_equal(fcntl(reader->descriptor, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	pesa_perfdata_progress(reader, &done, &total);
	assert_int_equal(done, all);
	assert_null(pesa_perfdata_losses(reader)->damage);
	pesa_perfdata_close(reader);
	for (unsigned int i = 0; i < PARTS; i++) {
		snprintf(name, sizeof(name), "data.%u", i);
		remove_named(name);
	}
	remove_named("data");
	free(records.at);
	free(none.at);
	free(file.at);
}

/* A part that is gone when its turn comes is counted; one that is a named pipe is none, and nobody
 * waits for it. */
static void parts_that_are_gone_or_none_are_passed_over(void **state)
{
	const struct perf_event_attr attr = timed_attr();
	struct bytes records = counted_samples(30), file;
	const struct bytes last = {.at = records.at + 20 * SAMPLE_BYTES, .size = 10 * SAMPLE_BYTES};
	struct pesa_perfdata *reader;
	struct pesa_error *error;
	char path[sizeof(folder) + 64];
	uint64_t samples = 0;
	struct pesa_event event;

	(void)state;
	records.size = 10 * SAMPLE_BYTES;
	file = build_file(false, &attr, 1, &records, NULL, 0);
	write_named("data", &file);
	write_named("data.0", &records);
	write_named("data.1", &last);
	snprintf(path, sizeof(path), "%s/data.2", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(pesa_perfdata_open(folder, &reader));
	assert_int_equal(reader->parts, 2);
	remove_named("data.0");
	while (pesa_perfdata_next(reader, &event))
		samples++;
	assert_int_equal(samples, 20);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 1);
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "that is gone"));
	pesa_perfdata_close(reader);
	remove_named("data.2");
	remove_named("data.1");
	remove_named("data");
	error = pesa_perfdata_open(folder, &reader);
	assert_int_equal(error->code, PESA_ERROR_SYSTEM);
	assert_non_null(strstr(error->message, "not one of perf record"));
	pesa_error_free(error);
	free(records.at);
	free(file.at);
}

/* ---- Files that fail while they are read ------------------------------------------------------
 */

/* Read by one thread, and by two. */
static const unsigned int sample_counts[] = {30000, 200000};

static void check_all_is_counted(struct pesa_perfdata *reader, const struct bytes *records,
				 uint64_t first, const char *says)
{
	const struct pesa_perfdata_losses *losses = pesa_perfdata_losses(reader);
	uint64_t samples = first + read_counted(reader, first);

	assert_true(samples < records->size / SAMPLE_BYTES);
	assert_int_equal(samples * SAMPLE_BYTES + losses->damaged_bytes, records->size);
	if (!strstr(losses->damage, says))
		fail_msg("%s, not %s", losses->damage, says);
	assert_int_equal(losses->damaged_bytes % SAMPLE_BYTES, 0);
}

static void what_cannot_be_read_is_counted(void **state)
{
	const struct perf_event_attr attr = timed_attr();

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct bytes records = counted_samples(sample_counts[i]), file;
		struct pesa_perfdata *reader;
		char *path;
		int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

		assert_true(memory >= 0);
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		/* Nothing is mapped so far down: an error of reading. */
		assert_int_equal(dup2(memory, reader->descriptor), reader->descriptor);
		check_all_is_counted(reader, &records, 0, strerror(EIO));
		close(memory);
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

/* The thread that reads tells of an error when what it got before has been taken. */
static void pieces_end_where_reading_fails(void **state)
{
	const size_t size = 2 * PERFDATA_PIECE_BYTES + 8192, page = 4096;
	struct perfdata_pool pool = {0};
	struct perfdata_block *block;
	struct perfdata_fetch *fetch;
	size_t got, taken = 0;
	uint64_t start;
	uint8_t *bytes;
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC), number = 0;

	(void)state;
	bytes = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)random64();
	assert_int_equal(munmap(bytes + size, page), 0);
	start = (uintptr_t)bytes;
	fetch = perfdata_fetch_start(&pool, memory, start, start + 4 * PERFDATA_PIECE_BYTES);
	assert_non_null(fetch);
	assert_int_equal(perfdata_fetch_position(fetch), start);
	while ((block = perfdata_fetch_take(fetch, &got, &number))) {
		assert_int_equal(number, 0);
		assert_true(taken + got <= size);
		assert_memory_equal(block->bytes + PERFDATA_PIECE_ROOM, bytes + taken, got);
		taken += got;
		assert_int_equal(perfdata_fetch_position(fetch), start + taken);
		perfdata_block_put(&pool, block);
	}
	assert_int_equal(taken, size);
	assert_int_equal(number, EIO);
	/* Once. */
	assert_null(perfdata_fetch_take(fetch, &got, &number));
	assert_int_equal(number, 0);
	perfdata_fetch_stop(fetch);
	/* Up to there all is well, and the end is no error. */
	fetch = perfdata_fetch_start(&pool, memory, start, start + size);
	assert_non_null(fetch);
	for (taken = 0; (block = perfdata_fetch_take(fetch, &got, &number)); taken += got)
		perfdata_block_put(&pool, block);
	assert_int_equal(taken, size);
	assert_int_equal(number, 0);
	perfdata_fetch_stop(fetch);
	assert_int_equal(pool.in_use, 0);
	perfdata_pool_free(&pool);
	munmap(bytes, size);
	close(memory);
}

static void a_file_that_becomes_shorter_is_counted(void **state)
{
	const struct perf_event_attr attr = timed_attr();

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct bytes records = counted_samples(sample_counts[i / 2]), file;
		struct pesa_perfdata *reader;
		size_t whole;
		char *path;

		file = build_file(false, &attr, 1, &records, NULL, 0);
		whole = file.size - records.size +
			records.size / 4 * 3 / SAMPLE_BYTES * SAMPLE_BYTES;
		/* The end is come to more than once where records are looked for. */
		if (i & 1)
			memset(file.at + whole - SAMPLE_BYTES, 0xff, 8);
		reader = open_bytes(&file, &path);
		/* Within a record. */
		assert_int_equal(truncate(path, (off_t)whole + 5), 0);
		check_all_is_counted(reader, &records, 0, "became shorter while it was read");
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

/* errno is of the last error, whenever that was. */
static void an_old_interruption_is_no_error(void **state)
{
	const struct perf_event_attr attr = timed_attr();
	struct bytes records = counted_samples(30000), file;
	struct pesa_perfdata *reader;
	char *path;

	(void)state;
	file = build_file(false, &attr, 1, &records, NULL, 0);
	errno = EINTR;
	reader = open_bytes(&file, &path);
	errno = EINTR;
	assert_int_equal(read_counted(reader, 0), 30000);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

static void memory_that_is_short_ends_reading_and_is_told(void **state)
{
	const struct perf_event_attr attr = timed_attr();

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct bytes records = counted_samples(10), file;
		struct pesa_perfdata *reader;
		char *path;

		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		*(i ? &reader->plain.no_memory : &reader->file.no_memory) = true;
		assert_int_equal(read_counted(reader, 0), 10);
		assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "out of memory"));
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

/* ---- Full disks ------------------------------------------------------------------------------ */

/* No file can be written beyond so many bytes. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, bytes == RLIM_INFINITY ? SIG_DFL : SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Events beyond the memory wait in a temporary file: where that has no room, they are counted. */
static void a_full_disk_for_waiting_events_is_told(void **state)
{
	enum { SAMPLES = 40000 };
	const struct perf_event_attr attr = timed_attr();
	struct bytes records = counted_samples(SAMPLES), file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint64_t samples = 0;
	char *path;

	(void)state;
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	reader->queue.events_max = SAMPLES / 5;
	limit_files(SAMPLES / 5 * 48 + 1000);
	while (pesa_perfdata_next(reader, &event))
		samples++;
	limit_files(RLIM_INFINITY);
	assert_int_equal(samples + pesa_perfdata_losses(reader)->damaged_records, SAMPLES);
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "temporary file"));
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, strerror(EFBIG)));
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

static struct pesa_perfdata_writer *create(const char *path, bool reproducible)
{
	const struct pesa_perfdata_writer_attribute attributes[2] = {
		{.attr = {.type = 42,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
			  .sample_id_all = 1},
		 .name = "pesa/cycles/"},
		{.attr = {.type = 42,
			  .config = 1,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
			  .sample_id_all = 1},
		 .name = "pesa/other/"},
	};
	const struct pesa_perfdata_writer_options options = {.attributes = attributes,
							     .attribute_count = 2,
							     .arch = "riscv64",
							     .reproducible = reproducible};
	struct pesa_perfdata_writer *writer = NULL;
	struct pesa_error *error = pesa_perfdata_writer_create(path, &options, &writer);

	if (error)
		fail_msg("%s", error->message);
	return writer;
}

static void write_samples(struct pesa_perfdata_writer *writer, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_sample sample = {.ip = i, .time = 1000 + i, .attribute = i % 2};

		assert_null(pesa_perfdata_write_sample(writer, &sample, 0));
	}
}

static uint64_t samples_in(const char *path)
{
	struct pesa_perfdata *reader;
	uint64_t samples;

	assert_null(pesa_perfdata_open(path, &reader));
	samples = read_counted(reader, 0);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_bytes, 0);
	pesa_perfdata_close(reader);
	return samples;
}

/* The disk is full when all but the sections is there: an error, and all samples can be read. */
static void a_disk_that_is_full_at_the_end_costs_no_sample(void **state)
{
	struct stat flushed, whole;
	char *path = save("", 0);
	struct pesa_perfdata_writer *writer = create(path, true);

	(void)state;
	write_samples(writer, 100);
	assert_null(pesa_perfdata_writer_flush(writer));
	assert_int_equal(stat(path, &flushed), 0);
	assert_null(pesa_perfdata_writer_finish(writer));
	assert_int_equal(stat(path, &whole), 0);
	assert_true(whole.st_size > flushed.st_size + 100);
	for (off_t size = flushed.st_size; size < whole.st_size; size += 37) {
		struct pesa_error *error;

		writer = create(path, true);
		write_samples(writer, 100);
		assert_null(pesa_perfdata_writer_flush(writer));
		limit_files((rlim_t)size);
		error = pesa_perfdata_writer_finish(writer);
		limit_files(RLIM_INFINITY);
		assert_non_null(error);
		assert_non_null(strstr(error->message, path));
		pesa_error_free(error);
		assert_int_equal(samples_in(path), 100);
	}
	unlink(path);
	free(path);
}

/* Rounds bring the file up to date now and then, unless it is not to depend on the time. */
static void rounds_write_what_waits_after_a_second(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const bool reproducible = i & 1, late = i & 2;
		char *path = save("", 0);
		struct pesa_perfdata_writer *writer = create(path, reproducible);

		write_samples(writer, 100);
		/* As if time had passed; nothing that takes so long comes between. */
		writer->flushed.tv_sec += late ? -3 : 1000;
		assert_null(pesa_perfdata_write_round(writer));
		assert_int_equal(writer->sink.pending_size > 0, reproducible || !late);
		if (!reproducible && late)
			assert_int_equal(samples_in(path), 100);
		assert_null(pesa_perfdata_writer_finish(writer));
		assert_int_equal(samples_in(path), 100);
		unlink(path);
		free(path);
	}
}

/* ---- Pipes ----------------------------------------------------------------------------------- */

static void a_pipe_carries_what_a_file_does(void **state)
{
	const struct pesa_mmap mmap = {.pid = 13,
				       .tid = 14,
				       .address = 0x10000,
				       .length = 0x2000,
				       .build_id_size = 20,
				       .build_id = {1, 2, 3},
				       .path = "/bin/program"};
	uint8_t build_id[PESA_BUILD_ID_MAX], size;
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata *reader;
	struct bytes received = {0};
	struct pesa_event event;
	uint8_t piece[4096];
	ssize_t got;
	char *path, name[32];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	writer = create(name, false);
	close(ends[1]);
	assert_null(pesa_perfdata_write_mmap(writer, &mmap, 10));
	write_samples(writer, 100);
	assert_null(pesa_perfdata_writer_finish(writer));
	while ((got = read(ends[0], piece, sizeof(piece))) > 0)
		put(&received, piece, (size_t)got);
	close(ends[0]);
	reader = open_bytes(&received, &path);
	assert_true(reader->pipe);
	assert_int_equal(pesa_perfdata_attribute_count(reader), 2);
	assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "pesa/cycles/");
	assert_string_equal(pesa_perfdata_attribute(reader, 1)->name, "pesa/other/");
	assert_int_equal(pesa_perfdata_attribute(reader, 1)->attr.config, 1);
	assert_string_equal(pesa_perfdata_arch(reader), "riscv64");
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_string_equal(event.mmap.path, "/bin/program");
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, i);
		assert_int_equal(event.sample.attribute, i % 2);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_true(pesa_perfdata_build_id(reader, "/bin/program", build_id, &size));
	assert_int_equal(size, 20);
	assert_memory_equal(build_id, mmap.build_id, 20);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	free(received.at);
}

struct sender {
	pthread_t target;
	int number;
	char *path;
	bool ended;  /* by main: opening the pipe is over */
	bool opened; /* nothing ended it, so there was a reader at last */
};

static void no_action(int number)
{
	(void)number;
}

/* Send the signal until it had its effect; if it never has, let the pipe be opened. */
static void *send_signals(void *context)
{
	struct sender *sender = context;

	for (unsigned int i = 0; i < 100 && !__atomic_load_n(&sender->ended, __ATOMIC_ACQUIRE);
	     i++) {
		usleep(10000);
		pthread_kill(sender->target, sender->number);
	}
	if (!__atomic_load_n(&sender->ended, __ATOMIC_ACQUIRE)) {
		int reader = open(sender->path, O_RDONLY | O_NONBLOCK);

		sender->opened = true;
		while (!__atomic_load_n(&sender->ended, __ATOMIC_ACQUIRE))
			usleep(1000);
		close(reader);
	}
	return NULL;
}

/* A recorder keeps these signals for its own loop; while nobody reads its pipe they end it. */
static void waiting_for_a_reader_of_a_pipe_can_be_ended(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction action = {.sa_handler = no_action};
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = 42, .sample_type = PERF_SAMPLE_IP}};
	const struct pesa_perfdata_writer_options options = {.attributes = &attribute,
							     .attribute_count = 1};
	char path[sizeof(folder) + 64];

	(void)state;
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sender sender = {
			.target = pthread_self(), .number = numbers[i], .path = path};
		struct pesa_perfdata_writer *writer = NULL;
		struct pesa_error *error;
		struct sigaction before;
		sigset_t kept, mask, after;
		pthread_t thread;

		assert_int_equal(sigaction(numbers[i], &action, &before), 0);
		sigemptyset(&kept);
		sigaddset(&kept, numbers[i]);
		pthread_sigmask(SIG_BLOCK, &kept, &mask);
		assert_int_equal(pthread_create(&thread, NULL, send_signals, &sender), 0);
		error = pesa_perfdata_writer_create(path, &options, &writer);
		__atomic_store_n(&sender.ended, true, __ATOMIC_RELEASE);
		pthread_join(thread, NULL);
		pthread_sigmask(SIG_SETMASK, &mask, &after);
		/* What was sent too often was delivered now. */
		assert_int_equal(sigaction(numbers[i], &before, NULL), 0);
		pesa_perfdata_writer_abandon(writer);
		assert_false(sender.opened);
		assert_non_null(error);
		assert_non_null(strstr(error->message, strerror(EINTR)));
		assert_int_equal(sigismember(&after, numbers[i]), 1);
		pesa_error_free(error);
	}
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_directory_is_read_part_by_part),
		cmocka_unit_test(parts_that_are_gone_or_none_are_passed_over),
		cmocka_unit_test(what_cannot_be_read_is_counted),
		cmocka_unit_test(pieces_end_where_reading_fails),
		cmocka_unit_test(a_file_that_becomes_shorter_is_counted),
		cmocka_unit_test(an_old_interruption_is_no_error),
		cmocka_unit_test(memory_that_is_short_ends_reading_and_is_told),
		cmocka_unit_test(a_full_disk_for_waiting_events_is_told),
		cmocka_unit_test(a_disk_that_is_full_at_the_end_costs_no_sample),
		cmocka_unit_test(rounds_write_what_waits_after_a_second),
		cmocka_unit_test(a_pipe_carries_what_a_file_does),
		cmocka_unit_test(waiting_for_a_reader_of_a_pipe_can_be_ended),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
