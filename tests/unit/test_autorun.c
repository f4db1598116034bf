/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of the hart's own: from AUX buffers to the file, against what was put there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/record/autorun.h"
#include "pesa/csr.h"

#define SIZE   4096u
#define PERIOD 1000u

struct fixture {
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
	struct pesa_autorun autorun;
	struct pesa_autorun_event event;
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata *reader;
	char path[32];
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.size = sizeof(attribute.attr),
			 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_RAW,
			 .sample_id_all = 1},
		.name = "pesa/cycles,autorun/",
	};
	struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .arch = "riscv64", .cpus = 1};

	if (!fixture)
		return -1;
	strcpy(fixture->path, "/tmp/test_autorun.XXXXXX");
	close(mkstemp(fixture->path));
	/* Twice the cycles, and 5 ns later. */
	fixture->page.cap_user_time_zero = 1;
	fixture->page.time_zero = 5;
	fixture->page.time_mult = 4;
	fixture->page.time_shift = 1;
	fixture->autorun =
		(struct pesa_autorun){.page = &fixture->page, .data = fixture->data, .size = SIZE};
	fixture->event = (struct pesa_autorun_event){.period = PERIOD, .ct_targets = 2, .cpu = 3};
	assert_null(pesa_perfdata_writer_create(fixture->path, &options, &fixture->writer));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pesa_perfdata_writer_abandon(fixture->writer);
	pesa_perfdata_close(fixture->reader);
	pesa_autorun_unmap(&fixture->autorun);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

/* A record of the hardware. */
static void put(struct fixture *fixture, uint64_t at, uint64_t pc, uint64_t transfers,
		uint64_t target, uint64_t discarded, uint64_t cycles)
{
	uint64_t words[8] = {pc,	 transfers << PESA_DETAILS_CTS_SHIFT,	 target,
			     target + 2, discarded << PESA_DATA_DISCARDED_SHIFT, cycles};

	memcpy(fixture->data + at % SIZE, words, sizeof(words));
}

/* A record of the kernel: `words` behind the header, then the trailer. */
static bool take(struct fixture *fixture, uint64_t offset, uint64_t size, uint64_t flags)
{
	uint64_t record[8] = {0, offset, size, flags, 7 | (uint64_t)8 << 32, 1000000, 3, 1};
	struct perf_event_header header = {.type = PERF_RECORD_AUX, .size = sizeof(record)};
	bool full;

	memcpy(record, &header, sizeof(header));
	assert_null(pesa_autorun_take(&fixture->autorun, &fixture->event, (uint8_t *)record,
				      sizeof(record), fixture->writer, &full));
	return full;
}

static void switch_out(struct fixture *fixture, uint32_t pid, uint64_t time)
{
	uint64_t record[6] = {0, 0, pid | (uint64_t)pid << 32, time, 3, 1};
	struct perf_event_header header = {.type = PERF_RECORD_SWITCH_CPU_WIDE,
					   .misc = PERF_RECORD_MISC_SWITCH_OUT,
					   .size = sizeof(record)};

	memcpy(record, &header, sizeof(header));
	assert_null(pesa_autorun_switch(&fixture->autorun, (uint8_t *)record, sizeof(record)));
}

static void read_back(struct fixture *fixture)
{
	assert_null(pesa_perfdata_writer_finish(fixture->writer));
	fixture->writer = NULL;
	assert_null(pesa_perfdata_open(fixture->path, &fixture->reader));
}

static struct pesa_sample next(struct fixture *fixture, struct pesa_record *record)
{
	struct pesa_event event;

	do
		assert_int_equal(pesa_perfdata_next(fixture->reader, &event), 1);
	while (event.type != PERF_RECORD_SAMPLE);
	assert_true(event.sample.raw_size >= sizeof(*record));
	memcpy(record, event.sample.raw, sizeof(*record));
	return event.sample;
}

static void records_become_samples(void **state)
{
	struct fixture *fixture = *state;
	struct pesa_record record;
	struct pesa_sample sample;

	/* The second one is at the start of the buffer again. */
	put(fixture, SIZE - 64, 0x10000, 1, 0x10010, 0, 100);
	put(fixture, SIZE, 0xffffffff80000000, 2, 0x10020, 70000, 200);
	assert_false(take(fixture, SIZE - 64, 128, 0));
	assert_int_equal(fixture->page.aux_tail, SIZE + 64);
	assert_int_equal(fixture->autorun.samples, 2);
	assert_int_equal(fixture->autorun.discarded, 70000);
	read_back(fixture);
	sample = next(fixture, &record);
	assert_int_equal(sample.ip, 0x10000);
	assert_int_equal(sample.time, 205);
	assert_int_equal(sample.pid, 7);
	assert_int_equal(sample.tid, 8);
	assert_int_equal(sample.cpu, 3);
	assert_int_equal(sample.period, PERIOD);
	assert_true(sample.exact_ip);
	assert_int_equal(record.flags,
			 PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS | PESA_RECORD_HAS_BT1);
	assert_int_equal(record.bt[0], 0x10010);
	assert_int_equal(record.bt[1], 0);
	sample = next(fixture, &record);
	assert_int_equal(sample.ip, 0xffffffff80000000);
	assert_int_equal(record.flags >> PESA_RECORD_LOST_SHIFT, PESA_RECORD_LOST_MASK);
	assert_int_equal(record.bt[1], 0x10022);
}

static void each_sample_has_the_task_of_its_time(void **state)
{
	static const uint64_t cycles[] = {100, 200, 300};
	static const uint32_t tasks[] = {20, 30, 7};
	struct fixture *fixture = *state;
	struct pesa_record record;

	switch_out(fixture, 20, 205);
	switch_out(fixture, 30, 500);
	for (unsigned int i = 0; i < 3; i++)
		put(fixture, 64 * i, 0x10000, 0, 0, 0, cycles[i]);
	take(fixture, 0, 192, 0);
	assert_int_equal(fixture->autorun.slice_count, 0);
	read_back(fixture);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(next(fixture, &record).pid, tasks[i]);
}

static void a_target_that_was_left_out_is_scrubbed(void **state)
{
	struct fixture *fixture = *state;
	struct pesa_record record;

	fixture->event.scrubbed = true;
	put(fixture, 0, 0x10000, 1, 0, 0, 1);
	take(fixture, 0, 64, 0);
	read_back(fixture);
	next(fixture, &record);
	assert_true(record.flags & PESA_RECORD_SCRUBBED);
	assert_false(record.flags & PESA_RECORD_HAS_BT1);
}

static void a_full_buffer_is_told(void **state)
{
	assert_true(take(*state, 0, 64, PERF_AUX_FLAG_TRUNCATED));
}

static void what_cannot_be_is_passed_over(void **state)
{
	static const uint64_t cases[][2] = {{0, SIZE + 64}, {0, 63}, {8, 64}, {0, UINT64_MAX}};
	struct fixture *fixture = *state;
	uint8_t record[64] = {0};
	bool full;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t damaged = fixture->autorun.damaged;

		take(fixture, cases[i][0], cases[i][1], 0);
		assert_true(fixture->autorun.damaged != damaged);
	}
	assert_int_equal(fixture->autorun.samples, 0);
	for (size_t size = 0; size < sizeof(record); size++)
		assert_null(pesa_autorun_take(&fixture->autorun, &fixture->event, record, size,
					      fixture->writer, &full));
}

static void without_a_clock_there_are_no_samples(void **state)
{
	struct fixture *fixture = *state;
	uint64_t record[8] = {0, 0, 64, 0, 0, 0, 0, 0};
	struct pesa_error *error;
	bool full;

	fixture->page.cap_user_time_zero = 0;
	error = pesa_autorun_take(&fixture->autorun, &fixture->event, (uint8_t *)record,
				  sizeof(record), fixture->writer, &full);
	assert_non_null(error);
	pesa_error_free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_become_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(each_sample_has_the_task_of_its_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_target_that_was_left_out_is_scrubbed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_buffer_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_clock_there_are_no_samples, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
