/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading perf.data: order of events, compression, features, pipes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/perfdata_records.h"

/* ---- Order --------------------------------------------------------------------------------- */

struct plain_event {
	uint64_t time, ip;
};

/* What perf does, in the simplest way: insertion into a list, whose head is cut off at rounds. */
struct model {
	struct plain_event waiting[4096], out[4096];
	size_t waiting_count, out_count;
	uint64_t newest, limit;
};

static void model_add(struct model *model, struct plain_event event)
{
	size_t at = model->waiting_count++;

	for (; at && model->waiting[at - 1].time > event.time; at--)
		model->waiting[at] = model->waiting[at - 1];
	model->waiting[at] = event;
	if (event.time > model->newest)
		model->newest = event.time;
}

static void model_round(struct model *model, uint64_t limit)
{
	size_t due = 0;

	while (due < model->waiting_count && model->waiting[due].time <= limit)
		model->out[model->out_count++] = model->waiting[due++];
	model->waiting_count -= due;
	memmove(model->waiting, model->waiting + due,
		model->waiting_count * sizeof(model->waiting[0]));
	model->limit = model->newest;
}

static void events_come_in_the_order_of_rounds(void **state)
{
	static struct model model;

	(void)state;
	for (unsigned int round_every = 0; round_every < 60; round_every += 1 + round_every / 4) {
		struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
		struct bytes records = {0}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		char *path;

		model = (struct model){0};
		for (unsigned int i = 0; i < 2000; i++) {
			struct expected sample = make_expected(1 + i / 4 + random64() % 100);

			sample.ip = i;
			put_sample(&records, &attr, &sample);
			model_add(&model, (struct plain_event){sample.time, i});
			if (round_every && i % round_every == 0) {
				record_end(&records, record_begin(&records, FINISHED_ROUND, 0));
				model_round(&model, model.limit);
			}
		}
		model_round(&model, UINT64_MAX);
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		for (unsigned int i = 0; i < 2000; i++) {
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.time, model.out[i].time);
			assert_int_equal(event.sample.ip, model.out[i].ip);
		}
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

static void events_without_a_time_are_handed_out_at_once(void **state)
{
	struct perf_event_attr attr = test_attr(SIDEBAND_TYPE);
	struct bytes records = {0}, file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	char *path;

	(void)state;
	attr.sample_id_all = 1;
	put_map(&records, true, false, 10, "/late");
	put_map(&records, true, false, 0, "/made-by-perf");
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_string_equal(event.mmap.path, "/made-by-perf");
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_string_equal(event.mmap.path, "/late");
	close_file(reader, path);
	free(records.at);
	free(file.at);
}

/* ---- Compression --------------------------------------------------------------------------- */

static void compressed_records_are_read_like_plain_ones(void **state)
{
	const size_t pieces[] = {1, 7, 1000, 50000};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct perf_event_attr attr =
			test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
		unsigned int count = pieces[i / 2] < 100 ? 40 : 5000;
		struct bytes plain = {0}, records = {0}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		char *path;

		put_counted_samples(&plain, &attr, count);
		put_compressed_stream(&records, &plain, pieces[i / 2], i & 1);
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		for (unsigned int j = 0; j < count; j++) {
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.sample.ip, j);
		}
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_null(pesa_perfdata_losses(reader)->damage);
		close_file(reader, path);
		free(plain.at);
		free(records.at);
		free(file.at);
	}
}

/* One record may hold several frames: one of nothing, one to be passed over, two with samples. */
static void frames_behind_each_other_in_a_record_are_all_read(void **state)
{
	static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct bytes plain = {0}, records = {0}, file;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint8_t frame[4096];
	size_t start, half;
	char *path;

	(void)state;
	put_counted_samples(&plain, &attr, 20);
	half = plain.size / 2;
	for (unsigned int i = 0; i < 3; i++) {
		start = record_begin(&records, COMPRESSED, 0);
		if (i == 1)
			put(&records, skippable, sizeof(skippable));
		else
			put(&records, frame, ZSTD_compress(frame, sizeof(frame), "", 0, 1));
		if (i != 2)
			put(&records, frame,
			    ZSTD_compress(frame, sizeof(frame), plain.at + i * half, half, 1));
		record_end(&records, start);
	}
	file = build_file(false, &attr, 1, &records, NULL, 0);
	reader = open_bytes(&file, &path);
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, i);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	close_file(reader, path);
	free(plain.at);
	free(records.at);
	free(file.at);
}

/* ---- Raw payloads ---------------------------------------------------------------------------- */

struct taken {
	const struct expected *expected;
	uint64_t period;
	unsigned int offered;
};

/* Every third is refused, and comes as an event. */
static bool take_raw(void *context, const struct pesa_raw_sample *sample)
{
	struct taken *taken = context;
	const struct expected *expected = &taken->expected[taken->offered];

	assert_int_equal(sample->attribute, 0);
	assert_int_equal(sample->pid, expected->pid);
	assert_int_equal(sample->tid, expected->tid);
	assert_int_equal(sample->period, taken->period ? taken->period : expected->period);
	assert_int_equal(sample->raw_size, sizeof(expected->raw));
	assert_memory_equal(sample->raw, expected->raw, sizeof(expected->raw));
	return taken->offered++ % 3 != 0;
}

static void raw_payloads_are_offered_in_their_place(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const bool has_period = i & 1, has_raw = i & 2;
		struct perf_event_attr attr = test_attr(
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			(has_period ? PERF_SAMPLE_PERIOD : 0) | (has_raw ? PERF_SAMPLE_RAW : 0));
		struct bytes records = {0}, file;
		struct expected expected[12];
		struct taken taken = {expected, has_period ? 0 : attr.sample_period, 0};
		struct pesa_perfdata *reader;
		struct pesa_event event;
		unsigned int events = 0;
		char *path;

		for (unsigned int j = 0; j < 12; j++) {
			expected[j] = make_expected(1000 + j);
			put_sample(&records, &attr, &expected[j]);
		}
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		pesa_perfdata_offer_raw(reader, take_raw, &taken);
		for (; pesa_perfdata_next(reader, &event); events++)
			assert_int_equal(event.sample.ip, expected[events * (has_raw ? 3 : 1)].ip);
		assert_int_equal(events, has_raw ? 4 : 12);
		assert_int_equal(taken.offered, has_raw ? 12 : 0);
		assert_null(pesa_perfdata_losses(reader)->damage);
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

/* ---- Features ------------------------------------------------------------------------------ */

static void feature_sections_are_read(void **state)
{
	(void)state;
	for (unsigned int swap = 0; swap < 2; swap++) {
		struct perf_event_attr attrs[2] = {test_attr(PERF_SAMPLE_IDENTIFIER),
						   test_attr(PERF_SAMPLE_IDENTIFIER)};
		struct feature features[] = {{2, {.swap = swap}},  {3, {.swap = swap}},
					     {6, {.swap = swap}},  {11, {.swap = swap}},
					     {12, {.swap = swap}}, {31, {.swap = swap}}};
		const size_t count = sizeof(features) / sizeof(features[0]);
		struct bytes records = {.swap = swap}, file, *contents;
		const struct pesa_capabilities *capabilities;
		struct pesa_perfdata *reader;
		uint8_t build_id[PESA_BUILD_ID_MAX], size;
		size_t start;
		char *path;

		contents = &features[0].contents;
		start = record_begin(contents, 0, PERF_RECORD_MISC_USER | 1 << 15);
		put32(contents, 1);
		for (unsigned int i = 0; i < 20; i++)
			put8(contents, i);
		put8(contents, 16);
		put_zeros(contents, 3);
		put_path(contents, "/bin/a");
		record_end(contents, start);
		start = record_begin(contents, 0, PERF_RECORD_MISC_USER);
		put32(contents, 1);
		put_zeros(contents, 24);
		put_path(contents, "/bin/b");
		record_end(contents, start);
		put_string(&features[1].contents, "host");
		put_string(&features[2].contents, "ppc64");
		put32(&features[3].contents, 3);
		put_string(&features[3].contents, "perf");
		put_string(&features[3].contents, "record");
		put_string(&features[3].contents, "a b");
		contents = &features[4].contents;
		put32(contents, 2);
		put32(contents, PERF_ATTR_SIZE_VER7);
		for (unsigned int i = 2; i--;) { /* in another order: ids tell */
			put_attr(contents, &attrs[i]);
			put32(contents, 2);
			put_string(contents, i ? "second" : "first");
			put64(contents, 100 * (i + 1));
			put64(contents, 100 * (i + 1) + 1);
		}
		contents = &features[5].contents;
		put32(contents, 2);
		put32(contents, 1);
		put_string(contents, "branches");
		put_string(contents, "32");
		put_string(contents, "cpu_core");
		put32(contents, 3);
		put_string(contents, "ct_targets");
		put_string(contents, "1");
		put_string(contents, "retire_width");
		put_string(contents, "6");
		put_string(contents, "from_the_future");
		put_string(contents, "yes");
		put_string(contents, "pesa");

		start = record_begin(&records, FINISHED_ROUND, 0);
		record_end(&records, start);
		file = build_file(swap, attrs, 2, &records, features, count);
		reader = open_bytes(&file, &path);
		assert_null(pesa_perfdata_losses(reader)->damage);
		assert_string_equal(pesa_perfdata_hostname(reader), "host");
		assert_string_equal(pesa_perfdata_arch(reader), "ppc64");
		assert_string_equal(pesa_perfdata_cmdline(reader), "perf record a b");
		assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "first");
		assert_string_equal(pesa_perfdata_attribute(reader, 1)->name, "second");
		capabilities = pesa_perfdata_capabilities(reader);
		assert_non_null(capabilities);
		assert_int_equal(capabilities->ct_targets, 1);
		assert_int_equal(capabilities->retire_width, 6);
		assert_true(pesa_perfdata_build_id(reader, "/bin/a", build_id, &size));
		assert_int_equal(size, 16);
		assert_int_equal(build_id[15], 15);
		assert_true(pesa_perfdata_build_id(reader, "/bin/b", build_id, &size));
		assert_int_equal(size, 20);
		assert_false(pesa_perfdata_build_id(reader, "/bin/c", build_id, &size));
		close_file(reader, path);
		for (size_t i = 0; i < count; i++)
			free(features[i].contents.at);
		free(records.at);
		free(file.at);
	}
}

/* ---- Pipes --------------------------------------------------------------------------------- */

static void a_pipe_carries_all_in_records(void **state)
{
	(void)state;
	for (unsigned int swap = 0; swap < 2; swap++) {
		struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
		struct bytes file = {.swap = swap};
		struct expected sample = make_expected(5);
		struct pesa_perfdata *reader;
		struct pesa_event event;
		size_t start;
		char *path;

		put64(&file, 0x32454c4946524550ull);
		put64(&file, 16);
		start = record_begin(&file, 64, 0); /* HEADER_ATTR */
		put_attr(&file, &attr);
		put64(&file, 31);
		record_end(&file, start);
		start = record_begin(&file, 78, 0); /* EVENT_UPDATE of the name */
		put64(&file, 2);
		put64(&file, 31);
		put_path(&file, "my-event");
		record_end(&file, start);
		start = record_begin(&file, 80, 0); /* HEADER_FEATURE: arch */
		put64(&file, 6);
		put_string(&file, "mips");
		record_end(&file, start);
		start = record_begin(&file, 66, 0); /* HEADER_TRACING_DATA, 24 bytes behind it */
		put32(&file, 24);
		record_end(&file, start);
		put_zeros(&file, 24);
		put_sample(&file, &attr, &sample);
		start = record_begin(&file, 71, 0); /* AUXTRACE, much behind it */
		put64(&file, 1000000);
		put_zeros(&file, 32);
		record_end(&file, start);
		put_zeros(&file, 1000000);
		sample.time++;
		put_sample(&file, &attr, &sample);
		start = record_begin(&file, 67, PERF_RECORD_MISC_USER); /* HEADER_BUILD_ID */
		put32(&file, 1);
		put_zeros(&file, 24);
		put_path(&file, "/bin/a");
		record_end(&file, start);

		reader = open_bytes(&file, &path);
		assert_string_equal(pesa_perfdata_arch(reader), "mips");
		assert_int_equal(pesa_perfdata_attribute_count(reader), 1);
		assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "my-event");
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.sample.ip, sample.ip);
			assert_int_equal(event.time, 5 + i);
		}
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_null(pesa_perfdata_losses(reader)->damage);
		assert_true(
			pesa_perfdata_build_id(reader, "/bin/a", (uint8_t[20]){0}, &(uint8_t){0}));
		close_file(reader, path);
		free(file.at);
	}
}

/* Of a feature that nobody knows not even its contents must be there. */
static void a_feature_record_may_be_empty(void **state)
{
	struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct expected sample = make_expected(5);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct bytes file = {0};
		struct pesa_perfdata *reader;
		struct pesa_event event;
		size_t start;
		char *path;

		put64(&file, 0x32454c4946524550ull);
		put64(&file, 16);
		start = record_begin(&file, 64, 0); /* HEADER_ATTR */
		put_attr(&file, &attr);
		record_end(&file, start);
		start = record_begin(&file, 80, 0); /* HEADER_FEATURE */
		if (i)
			put32(&file, 200);
		else
			put64(&file, 200);
		record_end(&file, start);
		put_sample(&file, &attr, &sample);
		reader = open_bytes(&file, &path);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.ip, sample.ip);
		/* But its number. */
		assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, i);
		close_file(reader, path);
		free(file.at);
	}
}

static void trace_data_in_a_file_are_passed_over(void **state)
{
	static const uint64_t sizes[] = {0, 8, 300000, 5000000};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct perf_event_attr attr = test_attr(PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
		struct bytes records = {0}, file;
		struct pesa_perfdata *reader;
		struct pesa_event event;
		size_t start;
		char *path;

		put_counted_samples(&records, &attr, 3);
		start = record_begin(&records, 71, 0); /* AUXTRACE */
		put64(&records, sizes[i]);
		put_zeros(&records, 32);
		record_end(&records, start);
		for (uint64_t j = 0; j < sizes[i]; j++)
			put8(&records, random64());
		put_counted_samples(&records, &attr, 3);
		file = build_file(false, &attr, 1, &records, NULL, 0);
		reader = open_bytes(&file, &path);
		for (unsigned int j = 0; j < 6; j++)
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_null(pesa_perfdata_losses(reader)->damage);
		close_file(reader, path);
		/* a size that cannot be: the record is damaged, what follows is read */
		memset(file.at + 104 + 16 + 144 + 3 * 24 + 8, 0x7f, 8);
		reader = open_bytes(&file, &path);
		for (unsigned int j = 0; j < (sizes[i] ? 3 : 6); j++)
			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_non_null(strstr(pesa_perfdata_losses(reader)->damage
					       ? pesa_perfdata_losses(reader)->damage
					       : "",
				       "larger than the file"));
		close_file(reader, path);
		free(records.at);
		free(file.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_in_the_order_of_rounds),
		cmocka_unit_test(events_without_a_time_are_handed_out_at_once),
		cmocka_unit_test(compressed_records_are_read_like_plain_ones),
		cmocka_unit_test(frames_behind_each_other_in_a_record_are_all_read),
		cmocka_unit_test(raw_payloads_are_offered_in_their_place),
		cmocka_unit_test(feature_sections_are_read),
		cmocka_unit_test(a_pipe_carries_all_in_records),
		cmocka_unit_test(a_feature_record_may_be_empty),
		cmocka_unit_test(trace_data_in_a_file_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
