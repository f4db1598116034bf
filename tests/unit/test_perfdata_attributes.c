// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading perf.data: events of files without ids, of older kernels, and samples cut short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/perfdata_records.h"

static void without_ids_all_samples_are_of_the_first_event(void **state)
{
	const struct perf_event_attr attrs[2] = {test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME),
						 test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME)};
	struct bytes records = {0}, file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	char *path;

	(void)state;
	put_counted_samples(&records, &attrs[0], 3);
	file = build_file(false, attrs, 2, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.attribute, 0);
		assert_int_equal(event.sample.ip, i);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

/* The first kernels' attributes have 64 bytes; ids stand where later ones have fields. */
static void attributes_of_old_kernels_are_shorter(void **state)
{
	const struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct bytes file = {0}, whole = {0};
	const struct pesa_attribute *read;
	struct pesa_perfdata *reader;
	size_t start;
	char *path;

	(void)state;
	put_attr(&whole, &attr);
	whole.at[4] = PERF_ATTR_SIZE_VER0;
	put64(&file, 0x32454c4946524550ull);
	put64(&file, 16);
	start = record_begin(&file, 64, 0); /* HEADER_ATTR */
	put(&file, whole.at, PERF_ATTR_SIZE_VER0);
	put64(&file, 31);
	put64(&file, 32);
	record_end(&file, start);
	reader = open_bytes(&file, &path);
	read = pesa_perfdata_attribute(reader, 0);
	assert_non_null(read);
	assert_int_equal(read->attr.sample_type, attr.sample_type);
	assert_int_equal(read->attr.sample_period, attr.sample_period);
	assert_int_equal(read->attr.config2, 0);
	assert_int_equal(read->attr.branch_sample_type, 0);
	assert_int_equal(read->id_count, 2);
	assert_int_equal(read->ids[0], 31);
	assert_int_equal(read->ids[1], 32);
	assert_null(pesa_perfdata_attribute(reader, 1));
	close_file(reader, path);
	/* And it need not have any. */
	file.size = start;
	start = record_begin(&file, 64, 0);
	put(&file, whole.at, PERF_ATTR_SIZE_VER0);
	record_end(&file, start);
	reader = open_bytes(&file, &path);
	read = pesa_perfdata_attribute(reader, 0);
	assert_non_null(read);
	assert_int_equal(read->attr.sample_period, attr.sample_period);
	assert_int_equal(read->id_count, 0);
	close_file(reader, path);
	free(whole.at);
	free(file.at);
}

/* The header of a file says how large its attributes are, with where their ids are behind them. */
static void attributes_of_a_file_have_at_least_those_fields(void **state)
{
	const struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const struct expected sample = make_expected(5);

	(void)state;
	for (unsigned int less = 0; less < 2; less++) {
		const size_t size = PERF_ATTR_SIZE_VER0 + 16 - less;
		struct bytes file = {0}, whole = {0}, records = {0};
		struct pesa_perfdata *reader = NULL;
		struct pesa_event event;
		struct pesa_error *error;
		char *path;

		put_attr(&whole, &attr);
		whole.at[4] = PERF_ATTR_SIZE_VER0;
		put_sample(&records, &attr, &sample);
		put64(&file, 0x32454c4946524550ull);
		put64(&file, 104);
		put64(&file, size);
		put64(&file, 104);
		put64(&file, size);
		put64(&file, 104 + size);
		put64(&file, records.size);
		put_zeros(&file, 16 + 32);
		put(&file, whole.at, PERF_ATTR_SIZE_VER0 - less);
		put_zeros(&file, 16);
		put(&file, records.at, records.size);
		path = save(file.at, file.size);
		error = pesa_perfdata_open(path, &reader);
		if (less) {
			assert_non_null(strstr(error->message, "attributes of an impossible size"));
			pesa_error_free(error);
		} else {
			assert_null(error);
			assert_int_equal(pesa_perfdata_attribute(reader, 0)->attr.sample_type,
					 attr.sample_type);
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.sample.ip, sample.ip);
		}
		close_file(reader, path);
		free(whole.at);
		free(records.at);
		free(file.at);
	}
}

/* What a record of perf says of its own contents is not believed. */
static void contents_end_with_their_record(void **state)
{
	const struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const struct expected sample = make_expected(5);
	struct bytes file = {0}, records = {0};
	struct pesa_perfdata *reader;
	struct pesa_event event;
	size_t start;
	char *path;

	(void)state;
	put64(&file, 0x32454c4946524550ull);
	put64(&file, 16);
	start = record_begin(&file, 64, 0); /* HEADER_ATTR */
	put_attr(&file, &attr);
	record_end(&file, start);
	start = record_begin(&file, 80, 0); /* HEADER_FEATURE: arch, of 64 bytes, 52 there */
	put64(&file, 6);
	put32(&file, 64);
	put(&file, "mips", 4);
	put_zeros(&file, 48);
	record_end(&file, start);
	put_sample(&file, &attr, &sample);
	reader = open_bytes(&file, &path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_int_equal(event.sample.ip, sample.ip);
	assert_null(pesa_perfdata_arch(reader));
	close_file(reader, path);
	free(file.at);

	start = record_begin(&records, COMPRESSED2, 0);
	put64(&records, 17);
	put_zeros(&records, 16);
	record_end(&records, start);
	put_sample(&records, &attr, &sample);
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_int_equal(event.sample.ip, sample.ip);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 1);
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "shorter than its contents"));
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

/* Whatever its last field is, one that is not whole is damage, and the next sample is read. */
static void a_sample_that_lacks_its_last_field_is_damaged(void **state)
{
	static const uint64_t last[] = {
		PERF_SAMPLE_TIME,	  PERF_SAMPLE_PERIOD,	      PERF_SAMPLE_RAW,
		PERF_SAMPLE_DATA_SRC,	  PERF_SAMPLE_TRANSACTION,    PERF_SAMPLE_REGS_INTR,
		PERF_SAMPLE_PHYS_ADDR,	  PERF_SAMPLE_CGROUP,	      PERF_SAMPLE_DATA_PAGE_SIZE,
		PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_CODE_PAGE_SIZE,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		const struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | last[i]);
		const struct expected sample = make_expected(5);
		struct bytes records = {0}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		uint16_t size;
		char *path;

		put_sample(&records, &attr, &sample);
		memcpy(&size, records.at + 6, sizeof(size));
		size -= 8;
		memcpy(records.at + 6, &size, sizeof(size));
		records.size = size;
		put_sample(&records, &attr, &sample);
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, sample.ip);
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 1);
		assert_non_null(strstr(pesa_perfdata_losses(reader)->damage, "shorter"));
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

static void the_names_of_events_say_whose_and_how_exact_they_are(void **state)
{
	static const struct {
		const char *name;
		bool own, exact, tagged;
	} events[] = {
		{"pesa/cycles/", true, true, false},
		{"pesa/exact/", true, true, false},
		{"pesa/lcofi/", true, false, false},
		{"pesa/last-commit/", true, false, true},
		{"pesa/next-commit/", true, false, true},
		{"pesa/dispatch/", true, false, true},
		{"cycles", false, false, false},
		{"other/pesa/cycles/", false, false, false},
		{NULL, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		const struct pesa_attribute attribute = {.name = events[i].name};

		assert_int_equal(pesa_attribute_is_own(&attribute), events[i].own);
		assert_int_equal(pesa_attribute_has_exact_pc(&attribute), events[i].exact);
		assert_int_equal(pesa_attribute_is_tagged(&attribute), events[i].tagged);
	}
	assert_false(pesa_attribute_is_own(NULL));
	assert_false(pesa_attribute_has_exact_pc(NULL));
	assert_false(pesa_attribute_is_tagged(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_ids_all_samples_are_of_the_first_event),
		cmocka_unit_test(attributes_of_old_kernels_are_shorter),
		cmocka_unit_test(attributes_of_a_file_have_at_least_those_fields),
		cmocka_unit_test(contents_end_with_their_record),
		cmocka_unit_test(a_sample_that_lacks_its_last_field_is_damaged),
		cmocka_unit_test(the_names_of_events_say_whose_and_how_exact_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
