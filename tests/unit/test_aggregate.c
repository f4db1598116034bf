/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs that the kernel has counted: what becomes of a bank, and the samples that pairs stand for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/pesad/aggregate_pairs.h"
#include "tests/perfdata_builder.h"

#define FLAGS (PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS)

static const struct pesa_aggregated pair = {
	.record = {.version = PESA_RECORD_VERSION,
		   .xlen = 64,
		   .size = PESA_RECORD_SIZE,
		   .flags = FLAGS,
		   .pc = 0x1234,
		   .details = 7},
	.pid = 10,
	.tid = 11,
	.cpu = 3,
	.samples = 1000,
	.periods = 123456789,
	.first = 5000,
	.last = 9000,
};

/* ---- Banks --------------------------------------------------------------------------------- */

struct taken {
	struct pesa_aggregated pair[8];
	size_t count, fail_at;
};

static struct pesa_error *take(void *context, const struct pesa_aggregated *handed)
{
	struct taken *taken = context;

	taken->pair[taken->count++] = *handed;
	return taken->count == taken->fail_at ? pesa_error_create(PESA_ERROR_OTHER, "full") : NULL;
}

static void fill(struct pesa_aggregate_slot *slots, const size_t *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct pesa_aggregate_slot *slot = &slots[at[i]];

		slot->count = 10 + i;
		slot->periods = 1000 + i;
		slot->first = 1;
		slot->last = 2 + i;
		slot->data = 0xd0 + i;
		slot->lost = i;
		slot->pair.pid = 100;
		slot->pair.tid = i ? 100 + (uint32_t)i : 0;
		slot->pair.record = pair.record;
	}
}

static void a_bank_is_handed_over_and_free(void **state)
{
	static const struct pesa_aggregate_slot nothing[16];
	struct pesa_aggregate_slot slots[16] = {0};
	const size_t at[] = {0, 7, 15};
	struct taken taken = {0};
	struct pesa_error *error = NULL;
	uint64_t dropped = 0;

	(void)state;
	fill(slots, at, 3);
	aggregate_take_bank(slots, 16, 5, take, &taken, &error, &dropped);
	assert_null(error);
	assert_int_equal(taken.count, 3);
	assert_int_equal(dropped, 0);
	assert_memory_equal(slots, nothing, sizeof(slots));
	assert_int_equal(taken.pair[0].tid, 100); /* threads that are not distinguished */
	assert_int_equal(taken.pair[2].tid, 102);
	assert_int_equal(taken.pair[2].samples, 12);
	assert_int_equal(taken.pair[2].periods, 1002);
	assert_int_equal(taken.pair[2].last, 4);
	assert_int_equal(taken.pair[2].lost, 2);
	assert_int_equal(taken.pair[2].cpu, 5);
	assert_int_equal(taken.pair[2].record.data, 0xd2);
	assert_int_equal(taken.pair[2].record.pc, pair.record.pc);
}

static void what_is_behind_an_error_is_dropped_and_counted(void **state)
{
	static const struct pesa_aggregate_slot nothing[8];
	struct pesa_aggregate_slot slots[8] = {0};
	const size_t at[] = {1, 2, 3};
	struct taken taken = {.fail_at = 1};
	struct pesa_error *error = NULL;
	uint64_t dropped = 100;

	(void)state;
	fill(slots, at, 3);
	aggregate_take_bank(slots, 8, 0, take, &taken, &error, &dropped);
	assert_non_null(error);
	assert_int_equal(taken.count, 1);
	assert_int_equal(dropped, 100 + 11 + 12);
	assert_memory_equal(slots, nothing, sizeof(slots));
	pesa_error_free(error);
}

/* ---- Samples ------------------------------------------------------------------------------- */

struct sums {
	uint64_t samples, periods, lost, runs, shortest, longest;
	uint16_t misc;
};

static struct pesa_error *add(void *context, const struct pesa_sample *sample, uint16_t misc,
			      uint64_t count)
{
	struct sums *sums = context;
	struct pesa_record record;

	assert_int_equal(sample->raw_size, sizeof(record));
	memcpy(&record, sample->raw, sizeof(record));
	assert_true(count > 0);
	sums->runs++;
	sums->samples += count;
	sums->periods += count * sample->period;
	sums->lost += count * (record.flags >> PESA_RECORD_LOST_SHIFT);
	if (sample->period < sums->shortest)
		sums->shortest = sample->period;
	if (sample->period > sums->longest)
		sums->longest = sample->period;
	sums->misc = misc;
	assert_int_equal(sample->time, pair.last);
	assert_int_equal(sample->ip, record.pc);
	assert_int_equal(record.flags & 0xffff, FLAGS);
	return NULL;
}

static struct sums sums_of(const struct pesa_aggregated *counted)
{
	struct sums sums = {.shortest = UINT64_MAX};

	assert_null(pesa_aggregated_runs(counted, add, &sums));
	assert_int_equal(sums.samples, counted->samples);
	assert_int_equal(sums.periods, counted->periods);
	assert_int_equal(sums.lost, counted->lost);
	assert_true(sums.longest - sums.shortest <= 1);
	return sums;
}

static void runs_add_up_exactly(void **state)
{
	static const uint64_t samples[] = {1, 2, 3, 1000}, periods[] = {0, 1, 999, 1000, 123456789},
			      lost[] = {0, 1, 0xfffe, 0xffff, 0x10000, 0x1fffe, 0x1ffff};

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 5; j++)
			for (size_t k = 0; k < 7; k++) {
				struct pesa_aggregated counted = pair;

				counted.samples = samples[i];
				counted.periods = periods[j];
				counted.lost = lost[k] > samples[i] * 0xffff ? 0 : lost[k];
				assert_true(sums_of(&counted).runs <= 4);
			}
}

static void the_mode_is_that_of_the_address(void **state)
{
	struct pesa_aggregated counted = pair;

	(void)state;
	assert_int_equal(sums_of(&counted).misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
	counted.record.pc = UINT64_C(0xffffffff80001234);
	assert_int_equal(sums_of(&counted).misc,
			 PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_EXACT_IP);
}

static void a_file_has_the_samples(void **state)
{
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.size = sizeof(struct perf_event_attr),
			 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_RAW,
			 .sample_id_all = 1},
		.name = "pesa/cycles/",
	};
	char *command[] = {(char *)"test", NULL}, *path = save("", 0);
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .command = command, .cpus = 1};
	struct pesa_aggregated counted = pair;
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint64_t samples = 0, periods = 0, lost = 0;

	(void)state;
	counted.lost = 70000;
	assert_null(pesa_perfdata_writer_create(path, &options, &writer));
	assert_null(pesa_aggregated_write(&counted, writer));
	assert_null(pesa_perfdata_writer_finish(writer));
	assert_null(pesa_perfdata_open(path, &reader));
	while (pesa_perfdata_next(reader, &event)) {
		struct pesa_record record;

		if (event.type != PERF_RECORD_SAMPLE)
			continue;
		memcpy(&record, event.sample.raw, sizeof(record));
		samples++;
		periods += event.sample.period;
		lost += record.flags >> PESA_RECORD_LOST_SHIFT;
		assert_int_equal(event.time, counted.last);
		assert_int_equal(event.sample.pid, counted.pid);
		assert_int_equal(event.sample.tid, counted.tid);
		assert_int_equal(event.sample.cpu, counted.cpu);
		assert_int_equal(event.sample.ip, counted.record.pc);
		assert_true(event.misc & PERF_RECORD_MISC_EXACT_IP);
		assert_int_equal(record.details, counted.record.details);
	}
	assert_int_equal(samples, counted.samples);
	assert_int_equal(periods, counted.periods);
	assert_int_equal(lost, counted.lost);
	pesa_perfdata_close(reader);
	unlink(path);
	free(path);
}

static void events_with_more_than_a_record_cannot_be_counted(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						      PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW};

	(void)state;
	assert_null(pesa_aggregate_obstacle(&attr));
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	assert_non_null(pesa_aggregate_obstacle(&attr));
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	assert_non_null(pesa_aggregate_obstacle(&attr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bank_is_handed_over_and_free),
		cmocka_unit_test(what_is_behind_an_error_is_dropped_and_counted),
		cmocka_unit_test(runs_add_up_exactly),
		cmocka_unit_test(the_mode_is_that_of_the_address),
		cmocka_unit_test(a_file_has_the_samples),
		cmocka_unit_test(events_with_more_than_a_record_cannot_be_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
