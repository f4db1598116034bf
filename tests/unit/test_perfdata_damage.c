/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading perf.data that is damaged, cut off, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decoder/perfdata/reader.h"
#include "tests/perfdata_records.h"

/* Read what is left of a file; -1: it cannot be opened. */
static long read_samples(const void *data, size_t size, struct pesa_perfdata_losses *losses)
{
	struct pesa_perfdata *reader;
	char *path = save(data, size);
	struct pesa_error *error = pesa_perfdata_open(path, &reader);
	struct pesa_event event;
	long samples = 0;

	if (error) {
		assert_non_null(strstr(error->message, path));
		assert_null(strchr(error->message, '\n'));
		pesa_error_free(error);
		unlink(path);
		free(path);
		return -1;
	}
	while (pesa_perfdata_next(reader, &event))
		samples += event.type == PERF_RECORD_SAMPLE;
	*losses = *pesa_perfdata_losses(reader);
	/* whatever is counted has a text, which goes with the reader */
	assert_true(losses->damage || (!losses->damaged_records && !losses->damaged_bytes));
	close_file(reader, path);
	return samples;
}

static void what_is_missing_is_counted_at_every_cut(void **state)
{
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const size_t sample_size = 24, data = 104 + 16 + 128 + 16;
	struct bytes records = {0}, file;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		struct expected sample = make_expected(1000 + i);

		put_sample(&records, &attr, &sample);
	}
	file = build_file(false, &attr, 1, &records, NULL, 0);
	for (size_t size = 0; size < file.size; size++) {
		struct pesa_perfdata_losses losses;
		long samples = read_samples(file.at, size, &losses);

		if (size < data) {
			assert_int_equal(samples, -1);
			continue;
		}
		assert_int_equal(samples, (size - data) / sample_size);
		/* what was read and what is missing is all there was */
		assert_int_equal(samples * sample_size + losses.damaged_bytes, records.size);
	}
	free(records.at);
	free(file.at);
}

static void reading_goes_on_behind_damage(void **state)
{
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const size_t sample_size = 24, data = 104 + 16 + 128 + 16;
	struct bytes records = {0}, file;

	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		struct expected sample = make_expected(1000 + i);

		put_sample(&records, &attr, &sample);
	}
	file = build_file(false, &attr, 1, &records, NULL, 0);
	for (unsigned int broken = 0; broken < 97; broken++) {
		uint8_t *header = file.at + data + broken * sample_size;
		struct pesa_perfdata_losses losses;
		uint8_t saved[8];

		memcpy(saved, header, 8);
		memset(header, 0xff, 8);
		assert_int_equal(read_samples(file.at, file.size, &losses), 99);
		assert_int_equal(losses.damaged_records, 1);
		assert_int_equal(losses.damaged_bytes, sample_size);
		memset(header, 0, 8);
		assert_int_equal(read_samples(file.at, file.size, &losses), 99);
		memcpy(header, saved, 8);
	}
	free(records.at);
	free(file.at);
}

/*
 * A file that is read ahead, in pieces: records lie across their borders, large ones that nobody
 * knows among them; a header that cannot be makes the reader look for three records in a row.
 */
static void large_files_are_read_in_pieces(void **state)
{
	struct perf_event_attr attr =
		test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
	const unsigned int count = 30000, unknown = 100;
	struct bytes records = {0}, file;
	struct pesa_perfdata_losses losses;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	size_t sample_size = 0, broken = 0, start;
	char *path;

	(void)state;
	for (unsigned int i = 0; i < count; i++) {
		struct expected sample = make_expected(1000 + i);

		start = records.size;
		sample.ip = i;
		put_sample(&records, &attr, &sample);
		sample_size = records.size - start;
		if (i == count / 2)
			broken = start;
		for (unsigned int j = i % 997 ? 0 : 3; j--;) {
			start = record_begin(&records, unknown, 0);
			put_zeros(&records, 8 * (random64() % 8190));
			record_end(&records, start);
		}
	}
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, i);
		assert_int_equal(event.sample.raw_size, 52);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	/* closed before it has been read */
	reader = open_bytes(&file, &path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	close_file(reader, path);
	memset(file.at + (file.size - records.size) + broken, 0xff, 8);
	assert_int_equal(read_samples(file.at, file.size, &losses), count - 1);
	assert_int_equal(losses.damaged_records, 1);
	assert_int_equal(losses.damaged_bytes, sample_size);
	free(records.at);
	free(file.at);
}

/* Events beyond the memory wait in a temporary file: those that do not come back are counted. */
static void what_a_temporary_file_loses_is_counted(void **state)
{
	enum { SAMPLES = 40000 };
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct bytes records = {0}, file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	struct perfdata_spill *spill;
	const struct pesa_perfdata_losses *losses;
	unsigned int samples = 0;
	char *path;

	(void)state;
	for (unsigned int i = 0; i < SAMPLES; i++) {
		struct expected sample = make_expected(1000 + i);

		put_sample(&records, &attr, &sample);
	}
	file = build_file(false, &attr, 1, &records, NULL, 0);
	path = save(file.at, file.size);
	assert_null(pesa_perfdata_open(path, &reader));
	/* Runs of more than is loaded at a time. */
	reader->queue.events_max = SAMPLES / 5;
	spill = &reader->queue.spill;
	while (pesa_perfdata_next(reader, &event)) {
		assert_int_equal(event.type, PERF_RECORD_SAMPLE);
		if (!samples++) {
			assert_true(spill->count > 1);
			assert_int_equal(ftruncate(spill->descriptor, (off_t)spill->size / 2), 0);
		}
	}
	losses = pesa_perfdata_losses(reader);
	assert_true(losses->damaged_records > SAMPLES / 10);
	assert_int_equal(samples + losses->damaged_records, SAMPLES);
	assert_non_null(strstr(losses->damage, "temporary file"));
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

static void random_damage_never_breaks_the_reader(void **state)
{
	struct perf_event_attr attr =
		test_attr(SIDEBAND_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN);
	struct feature features[] = {{6, {0}}, {11, {0}}};
	struct bytes plain = {0}, records = {0}, file;

	(void)state;
	attr.sample_id_all = 1;
	put_map(&plain, true, true, 3, "/lib/some");
	put_counted_samples(&plain, &attr, 30);
	put(&records, plain.at, plain.size);
	put_compressed_stream(&records, &plain, 2000, false);
	put_string(&features[0].contents, "x86_64");
	put32(&features[1].contents, 1);
	put_string(&features[1].contents, "perf");
	file = build_file(false, &attr, 1, &records, features, 2);
	for (unsigned int i = 0; i < 3000; i++) {
		struct bytes copy = {0};
		struct pesa_perfdata_losses losses;

		put(&copy, file.at, file.size);
		for (uint64_t flips = 1 + random64() % 4; flips--;) {
			uint64_t bit = random64() % (copy.size * 8);

			copy.at[bit / 8] ^= 1 << bit % 8;
		}
		read_samples(copy.at, copy.size, &losses);
		free(copy.at);
	}
	for (unsigned int i = 0; i < 2; i++)
		free(features[i].contents.at);
	free(plain.at);
	free(records.at);
	free(file.at);
}

static void what_is_no_perf_data_is_refused(void **state)
{
	const struct {
		const char *contents, *message;
		size_t size;
	} cases[] = {
		{"", "is empty", 0},
		{"PERFILE2", "cut off", 8},
		{"#!/bin/sh\necho hello there\n", "not a perf.data file", 27},
		{"PERFILE2\x99\0\0\0\0\0\0\0", "header of 153 bytes", 16},
	};
	struct pesa_perfdata *reader;
	struct pesa_error *error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *path = save(cases[i].contents, cases[i].size);

		error = pesa_perfdata_open(path, &reader);
		assert_non_null(error);
		assert_non_null(strstr(error->message, cases[i].message));
		assert_int_equal(error->code, PESA_ERROR_FORMAT);
		pesa_error_free(error);
		unlink(path);
		error = pesa_perfdata_open(path, &reader);
		assert_int_equal(error->code, PESA_ERROR_SYSTEM);
		assert_non_null(strstr(error->message, path));
		pesa_error_free(error);
		free(path);
	}
}

static void a_file_without_data_size_is_read_to_its_end(void **state)
{
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct bytes records = {0}, file;
	struct pesa_perfdata_losses losses;

	(void)state;
	put_counted_samples(&records, &attr, 10);
	file = build_file(false, &attr, 1, &records, NULL, 0);
	memset(file.at + 48, 0, 8);
	assert_int_equal(read_samples(file.at, file.size, &losses), 10);
	assert_non_null(losses.damage);
	assert_int_equal(losses.damaged_bytes, 0);
	free(records.at);
	free(file.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_counted_at_every_cut),
		cmocka_unit_test(reading_goes_on_behind_damage),
		cmocka_unit_test(large_files_are_read_in_pieces),
		cmocka_unit_test(what_a_temporary_file_loses_is_counted),
		cmocka_unit_test(random_damage_never_breaks_the_reader),
		cmocka_unit_test(what_is_no_perf_data_is_refused),
		cmocka_unit_test(a_file_without_data_size_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
