/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading perf.data: every sample layout in both byte orders, side-band records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/perfdata_records.h"

#define ALL_SAMPLE_BITS 25

/* ---- Samples ------------------------------------------------------------------------------- */

static void check_sample(const struct pesa_event *event, const struct perf_event_attr *attr,
			 const struct expected *expected)
{
	const struct pesa_sample *sample = &event->sample;
	uint64_t type = attr->sample_type;

	assert_int_equal(event->type, PERF_RECORD_SAMPLE);
	assert_true(sample->exact_ip);
#define CHECK(bit, field) assert_int_equal(sample->field, type &(bit) ? expected->field : 0)
	CHECK(PERF_SAMPLE_IP, ip);
	CHECK(PERF_SAMPLE_TID, pid);
	CHECK(PERF_SAMPLE_TID, tid);
	CHECK(PERF_SAMPLE_TIME, time);
	CHECK(PERF_SAMPLE_ADDR, address);
	CHECK(PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, id);
	CHECK(PERF_SAMPLE_STREAM_ID, stream_id);
	CHECK(PERF_SAMPLE_CGROUP, cgroup);
	CHECK(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, weight);
#undef CHECK
	assert_int_equal(sample->cpu, type & PERF_SAMPLE_CPU ? expected->cpu : UINT32_MAX);
	assert_int_equal(sample->period,
			 type & PERF_SAMPLE_PERIOD ? expected->period : attr->sample_period);
	if (type & PERF_SAMPLE_RAW) {
		assert_int_equal(sample->raw_size, sizeof(expected->raw));
		assert_memory_equal(sample->raw, expected->raw, sizeof(expected->raw));
	} else {
		assert_null(sample->raw);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		assert_int_equal(sample->callchain_count, 3);
		assert_memory_equal(sample->callchain, expected->callers,
				    sizeof(expected->callers));
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		assert_int_equal(sample->branch_count, 2);
		assert_memory_equal(sample->branches, expected->branches,
				    sizeof(expected->branches));
	}
}

static void check_layout(const struct perf_event_attr *attr, bool swap)
{
	struct bytes records = {.swap = swap}, file;
	struct expected expected[3];
	struct pesa_perfdata *reader;
	struct pesa_event event;
	char *path;

	for (unsigned int i = 0; i < 3; i++) {
		expected[i] = make_expected(1000 + i);
		put_sample(&records, attr, &expected[i]);
	}
	file = build_file(swap, attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		check_sample(&event, attr, &expected[i]);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

static void every_single_sample_field_is_read(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < ALL_SAMPLE_BITS; bit++)
		for (unsigned int swap = 0; swap < 2; swap++) {
			struct perf_event_attr attr = test_attr(1ull << bit);

			check_layout(&attr, swap);
		}
}

static void every_combination_of_sample_fields_is_read(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 1500; i++) {
		struct perf_event_attr attr =
			test_attr(random64() & ((1ull << ALL_SAMPLE_BITS) - 1));

		if (attr.sample_type & PERF_SAMPLE_WEIGHT)
			attr.sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
		attr.read_format = random64() & 0x1f;
		attr.branch_sample_type = (random64() & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
					  (random64() & 1 ? BRANCH_COUNTERS : 0);
		check_layout(&attr, i & 1);
	}
}

static void attributes_of_the_other_byte_order_are_read(void **state)
{
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_RAW);

	(void)state;
	attr.exclude_kernel = 1;
	attr.sample_id_all = 1;
	attr.config1 = 0x1122334455667788ull;
	attr.sample_max_stack = 127;
	attr.wakeup_events = 9;
	for (unsigned int swap = 0; swap < 2; swap++) {
		struct bytes records = {.swap = swap};
		struct bytes file = build_file(swap, &attr, 1, &records, NULL, 0);
		const struct pesa_attribute *read;
		struct pesa_perfdata *reader;
		char *path;

		put_zeros(&file, 8); /* not quite empty: data size 0 means up to the end */
		reader = open_bytes(&file, &path);
		assert_int_equal(pesa_perfdata_attribute_count(reader), 1);
		read = pesa_perfdata_attribute(reader, 0);
		assert_memory_equal(&read->attr, &attr, PERF_ATTR_SIZE_VER7);
		assert_int_equal(read->id_count, 2);
		assert_int_equal(read->ids[0], 100);
		assert_int_equal(read->ids[1], 101);
		assert_string_equal(read->name, "type-42/config=0x3/");
		close_file(reader, path);
		free(file.at);
	}
}

static void samples_find_their_attribute_by_id(void **state)
{
	const uint64_t carriers[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_ID};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		bool swap = i & 1;
		uint64_t type =
			carriers[i / 2] | PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
		struct perf_event_attr attrs[3] = {
			test_attr(type), test_attr(type | PERF_SAMPLE_CPU), test_attr(type)};
		const uint64_t ids[] = {301, 100, 200, 0, 999, 201};
		const uint32_t owners[] = {2, 0, 1, 0, 0, 1};
		struct bytes records = {.swap = swap}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		char *path;

		for (unsigned int j = 0; j < 6; j++) {
			struct expected sample = make_expected(10 + j);

			sample.id = ids[j];
			put_sample(&records, &attrs[owners[j]], &sample);
		}
		file = build_file(swap, attrs, 3, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		for (unsigned int j = 0; j < 6; j++) {
			if (ids[j] == 999) /* nobody's */
				continue;
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.sample.attribute, owners[j]);
			assert_int_equal(event.sample.id, ids[j]);
		}
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 1);
		assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "does not describe"));
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

/* ---- Side band ----------------------------------------------------------------------------- */

static void side_band_records_are_read(void **state)
{
	(void)state;
	for (unsigned int swap = 0; swap < 2; swap++) {
		struct perf_event_attr attr = test_attr(SIDEBAND_TYPE);
		struct bytes records = {.swap = swap}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		size_t start;
		char *path;

		attr.sample_id_all = 1;
		put_map(&records, false, false, 10, "/lib/first");
		put_map(&records, true, true, 20, "/lib/second");
		put_map(&records, true, false, 30, "/lib/third-123");
		start = record_begin(&records, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
		put32(&records, 77);
		put32(&records, 79);
		put_path(&records, "name");
		put_trailer(&records, 40);
		record_end(&records, start);
		for (unsigned int i = 0; i < 2; i++) {
			start = record_begin(&records, i ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
			put32(&records, 1);
			put32(&records, 2);
			put32(&records, 3);
			put32(&records, 4);
			put64(&records, 50);
			put_trailer(&records, 50 + i);
			record_end(&records, start);
		}
		start = record_begin(&records, PERF_RECORD_ITRACE_START, 0);
		put64(&records, 1);
		put_trailer(&records, 60);
		record_end(&records, start);
		file = build_file(swap, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);

		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_MMAP);
		assert_int_equal(event.time, 10);
		assert_int_equal(event.mmap.pid, 77);
		assert_int_equal(event.mmap.tid, 78);
		assert_int_equal(event.mmap.address, 0x10000);
		assert_int_equal(event.mmap.length, 0x2000);
		assert_int_equal(event.mmap.offset, 0x3000);
		assert_true(event.mmap.data);
		assert_int_equal(event.mmap.build_id_size, 0);
		assert_string_equal(event.mmap.path, "/lib/first");
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.mmap.build_id_size, 20);
		for (unsigned int i = 0; i < 20; i++)
			assert_int_equal(event.mmap.build_id[i], 0x40 + i);
		assert_int_equal(event.mmap.protection, 5);
		assert_int_equal(event.mmap.flags, 2);
		assert_false(event.mmap.data);
		assert_string_equal(event.mmap.path, "/lib/second");
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.mmap.build_id_size, 0);
		assert_string_equal(event.mmap.path, "/lib/third-123");
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.comm.pid, 77);
		assert_int_equal(event.comm.tid, 79);
		assert_true(event.comm.exec);
		assert_string_equal(event.comm.name, "name");
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_FORK);
		assert_int_equal(event.task.pid, 1);
		assert_int_equal(event.task.parent_pid, 2);
		assert_int_equal(event.task.tid, 3);
		assert_int_equal(event.task.parent_tid, 4);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_EXIT);
		assert_int_equal(event.time, 51);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_ITRACE_START);
		assert_int_equal(event.time, 60);
		assert_int_equal(event.other.size, 64);
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_null(pesa_perfdata_losses(reader)->damage);
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

static void put_lost(struct bytes *bytes, bool samples, uint64_t count, uint64_t time)
{
	size_t start =
		record_begin(bytes, samples ? PERF_RECORD_LOST_SAMPLES : PERF_RECORD_LOST, 0);

	if (!samples)
		put64(bytes, 100);
	put64(bytes, count);
	put_trailer(bytes, time);
	record_end(bytes, start);
}

static void losses_are_added_up_once(void **state)
{
	struct perf_event_attr attr = test_attr(SIDEBAND_TYPE);
	struct bytes records = {0}, file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint64_t handed_out = 0;
	size_t start;
	char *path;

	(void)state;
	attr.sample_id_all = 1;
	put_lost(&records, false, 10, 1);
	put_lost(&records, false, 7, 2);
	put_lost(&records, true, 100, 3); /* the hardware's own */
	start = record_begin(&records, PERF_RECORD_THROTTLE, 0);
	put64(&records, 4);
	put64(&records, 100);
	put64(&records, 100);
	put_trailer(&records, 4);
	record_end(&records, start);
	put_lost(&records, true, 18, 0); /* the kernel's total, one more than the rings reported */
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	while (pesa_perfdata_next(reader, &event))
		if (event.type != PERF_RECORD_THROTTLE)
			handed_out += event.lost.count;
	assert_int_equal(handed_out, 135);
	assert_int_equal(pesa_perfdata_losses(reader)->lost, 118);
	assert_int_equal(pesa_perfdata_losses(reader)->throttled, 1);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 0);
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_single_sample_field_is_read),
		cmocka_unit_test(every_combination_of_sample_fields_is_read),
		cmocka_unit_test(attributes_of_the_other_byte_order_are_read),
		cmocka_unit_test(samples_find_their_attribute_by_id),
		cmocka_unit_test(side_band_records_are_read),
		cmocka_unit_test(losses_are_added_up_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
