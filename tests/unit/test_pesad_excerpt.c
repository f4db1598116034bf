// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of a recording that is still being written, and recordings without the kernel's addresses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/pesad/http/excerpt.h"
#include "pesa/perfdata.h"
#include "tests/temporary_folder.h"

#define KERNEL UINT64_C(0xffffffff80001000)
#define USER   UINT64_C(0x10000)
#define CHAIN  3

static char source[64], target[64];

static void good(struct pesa_error *error)
{
	if (error)
		fail_msg("%s", error->message);
}

/* ---- A recording --------------------------------------------------------------------------- */

static struct pesa_perfdata_writer *begin(int compression)
{
	static const uint64_t ids[] = {7, 8};
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .size = PERF_ATTR_SIZE_VER7,
			 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
					PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
					PERF_SAMPLE_BRANCH_STACK,
			 .sample_id_all = 1},
		.name = "pesa/cycles/",
		.ids = ids,
		.id_count = 2,
	};
	const struct pesa_mmap maps[] = {
		{.pid = UINT32_MAX,
		 .address = KERNEL,
		 .length = 1 << 20,
		 .path = "[kernel.kallsyms]_text"},
		{.pid = 5, .tid = 5, .address = USER, .length = 4096, .path = "/bin/five"},
	};
	const struct pesa_perfdata_writer_options options = {.attributes = &attribute,
							     .attribute_count = 1,
							     .compression = compression,
							     .arch = "riscv64"};
	struct pesa_perfdata_writer *writer;

	snprintf(source, sizeof(source), "%s/source", folder);
	snprintf(target, sizeof(target), "%s/target", folder);
	good(pesa_perfdata_writer_create(source, &options, &writer));
	good(pesa_perfdata_write_mmap(writer, &maps[0], 0));
	good(pesa_perfdata_write_mmap(writer, &maps[1], 0));
	good(pesa_perfdata_write_comm(writer, 5, 5, "five", false, 0));
	return writer;
}

static void take(struct pesa_perfdata_writer *writer, uint64_t time, bool kernel)
{
	const struct pesa_record record = {.version = PESA_RECORD_VERSION,
					   .xlen = 64,
					   .size = PESA_RECORD_SIZE,
					   .flags = PESA_RECORD_HAS_DETAILS | PESA_RECORD_HAS_DATA |
						    PESA_RECORD_HAS_BT1,
					   .pc = kernel ? KERNEL + 8 : USER + 8,
					   .data = kernel ? KERNEL + 64 : USER + 64,
					   .details = 0x1234,
					   .bt = {KERNEL + 32, 0}};
	const uint64_t chain[CHAIN] = {(uint64_t)PERF_CONTEXT_KERNEL, KERNEL + 8, USER + 8};
	const struct pesa_branch_entry branch = {.from = USER, .to = KERNEL + 16};
	const struct pesa_sample sample = {.ip = record.pc,
					   .time = time,
					   .pid = 5,
					   .tid = 5,
					   .period = 1000,
					   .raw = (const uint8_t *)&record,
					   .raw_size = sizeof(record),
					   .callchain = (const uint8_t *)chain,
					   .callchain_count = CHAIN,
					   .branches = (const uint8_t *)&branch,
					   .branch_count = 1};

	good(pesa_perfdata_write_sample(writer, &sample,
					kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER));
}

static uint64_t flush(struct pesa_perfdata_writer *writer)
{
	struct stat status;

	good(pesa_perfdata_writer_flush(writer));
	assert_int_equal(stat(source, &status), 0);
	return (uint64_t)status.st_size;
}

/* ---- Parts --------------------------------------------------------------------------------- */

/* The sum of the times of the samples; *named: that process 5 has a name and a map. */
static uint64_t sum_times(const char *path, uint64_t *samples, uint64_t *lost)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint64_t sum = 0;
	bool named = false, mapped = false;

	*samples = *lost = 0;
	good(pesa_perfdata_open(path, &reader));
	while (pesa_perfdata_next(reader, &event) == 1) {
		if (event.type == PERF_RECORD_COMM)
			named |= !strcmp(event.comm.name, "five");
		if (event.type == PERF_RECORD_MMAP2)
			mapped |= !strcmp(event.mmap.path, "/bin/five");
		if (event.type == PERF_RECORD_LOST_SAMPLES)
			*lost += event.lost.count;
		if (event.type != PERF_RECORD_SAMPLE)
			continue;
		sum += event.sample.time;
		++*samples;
	}
	assert_true(named && mapped);
	assert_null(pesa_perfdata_losses(reader)->damage);
	assert_string_equal(pesa_perfdata_arch(reader), "riscv64");
	assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "pesa/cycles/");
	pesa_perfdata_close(reader);
	return sum;
}

static void check_part(uint64_t from, uint64_t to, uint64_t count, uint64_t sum, uint64_t lost)
{
	const struct pesad_excerpt part = {.begin = from, .end = to};
	uint64_t samples, were_lost, hidden = 77;

	good(pesad_excerpt_write(source, &part, target, &hidden));
	assert_int_equal(hidden, 0);
	assert_int_equal(sum_times(target, &samples, &were_lost), sum);
	assert_int_equal(samples, count);
	assert_int_equal(were_lost, lost);
}

static void parts_have_each_sample_once(void **state)
{
	(void)state;
	for (int compression = 0; compression < 4; compression += 3) {
		struct pesa_perfdata_writer *writer = begin(compression);
		uint64_t first, second;

		for (uint64_t time = 1; time <= 1000; time++)
			take(writer, time, time & 1);
		first = flush(writer);
		check_part(0, first, 1000, 500500, 0);
		for (uint64_t time = 1001; time <= 1010; time++)
			take(writer, time, false);
		good(pesa_perfdata_write_lost(writer, 0, 3, 1010));
		second = flush(writer);
		/* While the file is being written, */
		check_part(first, second, 10, 10055, 3);
		check_part(second, second, 0, 0, 0);
		take(writer, 2000, true);
		good(pesa_perfdata_writer_finish(writer));
		/* and when it is there. */
		check_part(0, first, 1000, 500500, 0);
		check_part(first, second, 10, 10055, 3);
		check_part(second, UINT64_MAX, 1, 2000, 0);
		check_part(0, UINT64_MAX, 1011, 512555, 3);
	}
	unlink(source);
	unlink(target);
}

/* ---- Without the kernel -------------------------------------------------------------------- */

static void check_hidden_sample(const struct pesa_event *event, bool kernel)
{
	uint64_t chain[CHAIN];
	struct pesa_branch_entry branch;
	struct pesa_record record;

	assert_true(event->sample.raw_size >= sizeof(record));
	memcpy(&record, event->sample.raw, sizeof(record));
	memcpy(chain, event->sample.callchain, sizeof(chain));
	memcpy(&branch, event->sample.branches, sizeof(branch));
	assert_int_equal(record.details, 0x1234);
	assert_int_equal(record.pc, event->sample.ip);
	assert_true(record.flags & PESA_RECORD_SCRUBBED);
	assert_int_equal(record.bt[0], 0);
	assert_true(chain[0] == (uint64_t)PERF_CONTEXT_KERNEL && chain[2] == USER + 8);
	assert_true(branch.from == USER && branch.to == 0);
	assert_int_equal(event->misc & PERF_RECORD_MISC_CPUMODE_MASK,
			 kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	if (kernel) {
		assert_int_equal(record.data, 0);
		assert_false(record.flags & PESA_RECORD_HAS_DATA);
		assert_int_equal(chain[1], record.pc);
	} else {
		assert_int_equal(record.pc, USER + 8);
		assert_int_equal(record.data, USER + 64);
	}
}

/* Eight bytes that are an address of the kernel of this test, anywhere in the file. */
static bool has_kernel_address(const char *path)
{
	FILE *stream = fopen(path, "r");
	uint8_t window[8] = {0};
	uint64_t value;
	bool found = false;
	int byte;

	assert_non_null(stream);
	while ((byte = fgetc(stream)) != EOF) {
		memmove(window, window + 1, 7);
		window[7] = (uint8_t)byte;
		memcpy(&value, window, sizeof(value));
		found |= value >= KERNEL && value < KERNEL + (1 << 20);
	}
	fclose(stream);
	return found;
}

static void the_kernel_is_hidden(void **state)
{
	const struct pesad_excerpt hide = {.end = UINT64_MAX, .hide_kernel = true};
	struct pesa_perfdata_writer *writer = begin(0);
	uint64_t hidden = 0, place = 0, samples = 0;
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	take(writer, 1, true);
	take(writer, 2, false);
	take(writer, 3, true);
	good(pesa_perfdata_writer_finish(writer));
	assert_true(has_kernel_address(source));
	good(pesad_excerpt_write(source, &hide, target, &hidden));
	assert_int_equal(hidden, 3);
	assert_false(has_kernel_address(target));
	good(pesa_perfdata_open(target, &reader));
	while (pesa_perfdata_next(reader, &event) == 1) {
		if (event.type == PERF_RECORD_MMAP2 && event.mmap.pid == UINT32_MAX) {
			assert_string_equal(event.mmap.path, PESAD_EXCERPT_HIDDEN);
			place = event.mmap.address;
		}
		if (event.type != PERF_RECORD_SAMPLE)
			continue;
		samples++;
		check_hidden_sample(&event, event.sample.time != 2);
		if (event.sample.time != 2)
			assert_int_equal(event.sample.ip, place);
	}
	assert_int_equal(samples, 3);
	pesa_perfdata_close(reader);
	unlink(source);
	unlink(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_have_each_sample_once),
		cmocka_unit_test(the_kernel_is_hidden),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
