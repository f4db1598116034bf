/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing perf.data: what is written is read back, event by event, and survives damage in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/perfdata_builder.h"
#include "tests/perfdata_stream.h"

static char *temporary(void)
{
	return save("", 0);
}

static struct pesa_perfdata *reopen(const char *path)
{
	struct pesa_perfdata *reader = NULL;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);

	if (error)
		fail_msg("%s", error->message);
	return reader;
}

static void done(struct pesa_perfdata *reader, char *path)
{
	pesa_perfdata_close(reader);
	unlink(path);
	free(path);
}

static struct bytes load(const char *path)
{
	struct bytes file = {0};
	FILE *stream = fopen(path, "rb");
	char piece[65536];
	size_t got;

	while ((got = fread(piece, 1, sizeof(piece), stream)))
		put(&file, piece, got);
	fclose(stream);
	return file;
}

#define WRITTEN_TYPE                                                                               \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |             \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | \
	 PERF_SAMPLE_WEIGHT)

static struct pesa_perfdata_writer *create(const char *path, int compression, uint64_t type,
					   unsigned int attributes)
{
	static const uint64_t kernel_ids[] = {71, 72, 73};
	const struct pesa_perfdata_writer_attribute attribute[2] = {
		{.attr = {.type = 42,
			  .sample_type = type,
			  .sample_id_all = 1,
			  .sample_period = 9,
			  .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX},
		 .name = "pesa/cycles/",
		 .ids = kernel_ids,
		 .id_count = 3},
		{.attr = {.type = 42, .config = 1, .sample_type = type, .sample_id_all = 1},
		 .name = "pesa/other/"},
	};
	char *command[] = {(char *)"pesa", (char *)"record", NULL};
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options options = {
		.attributes = attribute,
		.attribute_count = attributes,
		.compression = compression,
		.arch = "riscv64",
		.command = command,
		.capabilities = &capabilities,
		.cpus = 4,
	};
	struct pesa_perfdata_writer *writer = NULL;
	struct pesa_error *error;

	pesa_capabilities_default(&capabilities);
	strcpy(capabilities.core, "a-core");
	error = pesa_perfdata_writer_create(path, &options, &writer);
	if (error)
		fail_msg("%s", error->message);
	return writer;
}

static void every_event_is_read_back(void **state)
{
	(void)state;
	for (int compression = 0; compression < 2; compression++) {
		const uint64_t chain[] = {0x10, 0x20, 0x30};
		const struct pesa_branch_entry branches[] = {{1, 2, 3}, {4, 5, 6}};
		const struct pesa_sample sample = {
			.ip = 0x1234,
			.time = 60,
			.address = 0x77,
			.stream_id = 5,
			.period = 11,
			.weight = 12,
			.pid = 13,
			.tid = 14,
			.cpu = 3,
			.attribute = 1,
			.exact_ip = true,
			.raw = (const uint8_t *)"0123456789",
			.raw_size = 10,
			.branches = (const uint8_t *)branches,
			.branch_count = 2,
			.callchain = (const uint8_t *)chain,
			.callchain_count = 3,
		};
		const struct pesa_mmap mmap = {
			.pid = 13,
			.tid = 14,
			.address = 0x10000,
			.length = 0x2000,
			.offset = 0x1000,
			.protection = 5,
			.flags = 2,
			.build_id_size = 20,
			.build_id = {1, 2, 3, 4},
			.path = "/bin/program",
		};
		struct pesa_mmap data = mmap;
		char *path = temporary();
		struct pesa_perfdata_writer *writer = create(path, compression, WRITTEN_TYPE, 2);
		uint8_t build_id[PESA_BUILD_ID_MAX], build_id_size;
		struct pesa_perfdata *reader;
		struct pesa_event event;

		data.data = true;
		data.build_id_size = 0;
		data.path = "/bin/data";
		assert_null(
			pesa_perfdata_write_comm(writer, 13, 14, "a-rather-long-name", true, 10));
		assert_null(pesa_perfdata_write_mmap(writer, &mmap, 20));
		assert_null(pesa_perfdata_write_mmap(writer, &data, 30));
		assert_null(pesa_perfdata_write_fork(writer, 1, 2, 3, 4, 40));
		assert_null(pesa_perfdata_write_exit(writer, 5, 6, 7, 8, 50));
		assert_null(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
		assert_null(
			pesa_perfdata_write_text(writer, 13, 14, 0x7000, "\1\2\3\4\5\6", 6, 65));
		assert_null(pesa_perfdata_write_lost(writer, 1, 99, 70));
		assert_null(pesa_perfdata_writer_finish(writer));

		reader = reopen(path);
		assert_int_equal(pesa_perfdata_attribute_count(reader), 2);
		assert_string_equal(pesa_perfdata_attribute(reader, 0)->name, "pesa/cycles/");
		assert_string_equal(pesa_perfdata_attribute(reader, 1)->name, "pesa/other/");
		assert_int_equal(pesa_perfdata_attribute(reader, 0)->id_count, 3);
		assert_int_equal(pesa_perfdata_attribute(reader, 0)->ids[2], 73);
		assert_string_equal(pesa_perfdata_arch(reader), "riscv64");
		assert_string_equal(pesa_perfdata_cmdline(reader), "pesa record");
		assert_string_equal(pesa_perfdata_capabilities(reader)->core, "a-core");
		assert_true(
			pesa_perfdata_build_id(reader, "/bin/program", build_id, &build_id_size));
		assert_memory_equal(build_id, mmap.build_id, 20);
		assert_false(pesa_perfdata_build_id(reader, "/bin/data", build_id, &build_id_size));

		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_COMM);
		assert_string_equal(event.comm.name, "a-rather-long-n");
		assert_true(event.comm.exec);
		assert_int_equal(event.time, 10);
		for (int i = 0; i < 2; i++) {
			const struct pesa_mmap *expected = i ? &data : &mmap;

			assert_int_equal(pesa_perfdata_next(reader, &event), 1);
			assert_int_equal(event.time, 20 + 10 * i);
			assert_int_equal(event.mmap.pid, expected->pid);
			assert_int_equal(event.mmap.address, expected->address);
			assert_int_equal(event.mmap.length, expected->length);
			assert_int_equal(event.mmap.offset, expected->offset);
			assert_int_equal(event.mmap.protection, expected->protection);
			assert_int_equal(event.mmap.data, expected->data);
			assert_int_equal(event.mmap.build_id_size, expected->build_id_size);
			assert_string_equal(event.mmap.path, expected->path);
		}
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_FORK);
		assert_int_equal(event.task.parent_tid, 4);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_EXIT);
		assert_int_equal(event.task.tid, 7);
		assert_int_equal(event.time, 50);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_SAMPLE);
		assert_int_equal(event.misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
		assert_int_equal(event.sample.ip, sample.ip);
		assert_int_equal(event.sample.time, 60);
		assert_int_equal(event.sample.address, sample.address);
		assert_int_equal(event.sample.stream_id, 5);
		assert_int_equal(event.sample.period, 11);
		assert_int_equal(event.sample.weight, 12);
		assert_int_equal(event.sample.pid, 13);
		assert_int_equal(event.sample.tid, 14);
		assert_int_equal(event.sample.cpu, 3);
		assert_int_equal(event.sample.attribute, 1);
		assert_int_equal(event.sample.id, 2);
		assert_true(event.sample.exact_ip);
		assert_int_equal(event.sample.raw_size, 12); /* with its size in front 16 */
		assert_memory_equal(event.sample.raw, "0123456789\0", 12);
		assert_int_equal(event.sample.branch_count, 2);
		assert_memory_equal(event.sample.branches, branches, sizeof(branches));
		assert_int_equal(event.sample.callchain_count, 3);
		assert_memory_equal(event.sample.callchain, chain, sizeof(chain));
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_TEXT_POKE);
		assert_int_equal(event.misc, PERF_RECORD_MISC_USER);
		assert_int_equal(event.time, 65);
		assert_int_equal(event.text.pid, 13);
		assert_int_equal(event.text.address, 0x7000);
		assert_int_equal(event.text.size, 6);
		assert_memory_equal(event.text.bytes, "\1\2\3\4\5\6", 6);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.type, PERF_RECORD_LOST_SAMPLES);
		assert_int_equal(event.lost.count, 99);
		assert_int_equal(pesa_perfdata_next(reader, &event), 0);
		assert_int_equal(pesa_perfdata_losses(reader)->lost, 99);
		assert_null(pesa_perfdata_losses(reader)->damage);
		done(reader, path);
	}
}

static void registers_and_stack_are_read_back(void **state)
{
	const uint64_t registers[3] = {0x1000, 0x2000, 0x3000}, mask = 7;
	const struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = 42,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
					PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT,
			 .sample_regs_user = mask,
			 .sample_stack_user = 64},
		.name = "pesa/cycles/"};
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .arch = "riscv64"};
	struct pesa_sample sample = {.ip = 0x1234, .weight = 99};
	char *path = temporary();
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	assert_null(pesa_perfdata_writer_create(path, &options, &writer));
	/* None at all; registers; both, of which a size is no multiple of 8. */
	assert_null(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
	sample.registers = (const uint8_t *)registers;
	sample.register_mask = mask;
	assert_null(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
	sample.stack = (const uint8_t *)"0123456789a";
	sample.stack_size = 11;
	assert_null(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.sample.weight, 99);
		assert_int_equal(event.sample.register_mask, i ? mask : 0);
		assert_int_equal(event.sample.stack_size, i == 2 ? 11 : 0);
		if (i)
			assert_memory_equal(event.sample.registers, registers, sizeof(registers));
		if (i == 2)
			assert_memory_equal(event.sample.stack, "0123456789a", 11);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	done(reader, path);
}

static void a_raw_record_goes_through_unchanged(void **state)
{
	struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME};
	struct bytes record = {0};
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 1, attr.sample_type, 1);
	struct pesa_error *error;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	size_t start = record_begin(&record, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	(void)state;
	put64(&record, 0xabcdef);
	put64(&record, 5);
	record_end(&record, start);
	assert_null(pesa_perfdata_write_raw(writer, record.at, record.size));
	error = pesa_perfdata_write_raw(writer, record.at, record.size - 1);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_int_equal(event.sample.ip, 0xabcdef);
	assert_int_equal(event.sample.time, 5);
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	done(reader, path);
	free(record.at);
}

/* A record of the kernel's with these bytes: it is taken as it is, and what it says is noted. */
static void write_raw(struct pesa_perfdata_writer *writer, uint32_t type, uint16_t misc,
		      const struct bytes *contents)
{
	struct bytes record = {0};
	size_t start = record_begin(&record, type, misc);

	put(&record, contents->at, contents->size);
	record_end(&record, start);
	assert_null(pesa_perfdata_write_raw(writer, record.at, record.size));
	free(record.at);
}

static void refuse_raw(struct pesa_perfdata_writer *writer, uint16_t claimed, size_t size)
{
	struct bytes record = {0};
	struct pesa_error *error;

	put32(&record, 100);
	put16(&record, 0);
	put16(&record, claimed);
	put_zeros(&record, 70000);
	error = pesa_perfdata_write_raw(writer, record.at, size);
	assert_non_null(error);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	free(record.at);
}

static void a_raw_record_is_one_with_its_header(void **state)
{
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 0, PERF_SAMPLE_IP | PERF_SAMPLE_TIME, 1);
	struct bytes largest = {0};
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	put_zeros(&largest, 65535 - 8);
	write_raw(writer, 100, 0, &largest);
	refuse_raw(writer, 16, 24);
	refuse_raw(writer, 0, 65536);
	for (size_t size = 0; size < 8; size++) {
		/* What was reported before does not count. */
		refuse_raw(writer, (uint16_t)size, 8);
		refuse_raw(writer, (uint16_t)size, size);
	}
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	done(reader, path);
	free(largest.at);
}

/* The section of a feature, from its table on by hand. */
static struct bytes section_of(const char *path, unsigned int wanted)
{
	struct bytes file = load(path), section = {0};
	uint64_t word[13], place[2], table;

	memcpy(word, file.at, sizeof(word));
	table = word[5] + word[6];
	for (unsigned int bit = 0; bit < 256; bit++) {
		if (!(word[9 + bit / 64] >> bit % 64 & 1))
			continue;
		memcpy(place, file.at + table, sizeof(place));
		if (bit == wanted)
			put(&section, file.at + place[0], place[1]);
		table += sizeof(place);
	}
	free(file.at);
	return section;
}

static void sections_tell_of_raw_records(void **state)
{
	/* Fields in front of the time. */
	static const uint64_t types[] = {PERF_SAMPLE_TIME, PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
					 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						 PERF_SAMPLE_TIME};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint64_t expected[2] = {20, 30}, times[] = {25, 20, 30};
		uint8_t build_id[PESA_BUILD_ID_MAX], size;
		struct bytes map = {0}, section;
		char *path = temporary();
		struct pesa_perfdata_writer *writer = create(path, 0, types[i], 1);
		struct pesa_perfdata *reader;

		for (unsigned int j = 0; j < 3; j++) {
			struct bytes sample = {0};

			for (int k = __builtin_popcountll(types[i]); k > 1; k--)
				put64(&sample, 7);
			put64(&sample, times[j]);
			write_raw(writer, PERF_RECORD_SAMPLE, 0, &sample);
			free(sample.at);
		}
		put_zeros(&map, 32);
		put8(&map, 18);
		put_zeros(&map, 3);
		for (unsigned int j = 0; j < 20; j++)
			put8(&map, 0x40 + j);
		put64(&map, 5);
		put_path(&map, "/bin/mapped");
		write_raw(writer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &map);
		/* The same bit says something else of other records. */
		map.at[map.size - 16 + 5] = 'M';
		write_raw(writer, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, &map);
		free(map.at);
		assert_null(pesa_perfdata_writer_finish(writer));

		section = section_of(path, 21); /* SAMPLE_TIME */
		assert_int_equal(section.size, sizeof(expected));
		assert_memory_equal(section.at, expected, sizeof(expected));
		free(section.at);
		reader = reopen(path);
		assert_true(pesa_perfdata_build_id(reader, "/bin/mapped", build_id, &size));
		assert_int_equal(size, 18);
		assert_int_equal(build_id[0], 0x40);
		assert_int_equal(build_id[17], 0x40 + 17);
		assert_false(pesa_perfdata_build_id(reader, "/bin/Mapped", build_id, &size));
		done(reader, path);
	}
}

static void the_memory_of_the_machine_is_told(void **state)
{
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 0, PERF_SAMPLE_IP, 1);
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long expected = 0;
	struct bytes section;
	uint64_t found;

	(void)state;
	assert_non_null(file);
	assert_int_equal(fscanf(file, "MemTotal: %llu kB", &expected), 1);
	fclose(file);
	assert_null(pesa_perfdata_writer_finish(writer));
	section = section_of(path, 10); /* TOTAL_MEM */
	assert_int_equal(section.size, sizeof(found));
	memcpy(&found, section.at, sizeof(found));
	assert_int_equal(found, expected);
	free(section.at);
	unlink(path);
	free(path);
}

/* Code is read back whatever its size: nothing of its padding, and nothing is missing. */
static void code_of_any_size_is_read_back(void **state)
{
	static uint8_t code[PESA_PERFDATA_TEXT_MAX + 1];
	char *path = temporary();
	struct pesa_perfdata_writer *writer =
		create(path, 1, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, 1);
	struct bytes longer = {0};
	struct pesa_perfdata *reader;
	struct pesa_event event;
	struct pesa_error *error;

	(void)state;
	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned int i = 0; i <= 40; i++)
		assert_null(pesa_perfdata_write_text(writer, 13, 14, 0x1000 + i, code,
						     i < 40 ? i : PESA_PERFDATA_TEXT_MAX, 10 + i));
	error = pesa_perfdata_write_text(writer, 13, 14, 0, code, sizeof(code), 99);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	/* One that says that it has one byte more than there is. */
	put64(&longer, 0x9000);
	put16(&longer, 0);
	put16(&longer, 5);
	put_zeros(&longer, 4);
	put64(&longer, 1); /* the trailer: process, time */
	put64(&longer, 100);
	write_raw(writer, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_USER, &longer);
	free(longer.at);
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	for (unsigned int i = 0; i <= 40; i++) {
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_int_equal(event.text.address, 0x1000 + i);
		assert_int_equal(event.text.size, i < 40 ? i : PESA_PERFDATA_TEXT_MAX);
		assert_memory_equal(event.text.bytes, code, event.text.size);
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_int_equal(pesa_perfdata_losses(reader)->damaged_records, 1);
	assert_non_null(strstr(pesa_perfdata_losses(reader)->damage,
			       "code that is shorter than its fields"));
	done(reader, path);
}

static void an_exact_record_of_any_size_adds_up(void **state)
{
	enum { BUCKETS = 7001, TRANSFERS = 9003 };
	struct pesa_exact_bucket *buckets = calloc(BUCKETS, sizeof(*buckets));
	struct pesa_exact_transfer *transfers = calloc(TRANSFERS, sizeof(*transfers));
	const struct pesa_sample sample = {.pid = 1, .tid = 1, .time = 5, .period = 1};
	uint64_t weight = 0, count = 0, executions = 0, written = 0, period = 0;
	size_t read_buckets = 0, read_transfers = 0;
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 1, WRITTEN_TYPE, 1);
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	for (size_t i = 0; i < BUCKETS; i++) {
		buckets[i] =
			(struct pesa_exact_bucket){i * PESA_CYCLE, 2 * i, i & 0x3ff, i & 3, 1, 0};
		written += i;
	}
	for (size_t i = 0; i < TRANSFERS; i++)
		transfers[i] = (struct pesa_exact_transfer){i * 2, i};
	assert_null(pesa_perfdata_write_exact(writer, &sample, PERF_RECORD_MISC_USER, 64, 0x4000,
					      777, buckets, BUCKETS, transfers, TRANSFERS));
	assert_null(pesa_perfdata_write_exact(writer, &sample, PERF_RECORD_MISC_USER, 64, 0x4004, 1,
					      NULL, 0, NULL, 0));
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	while (pesa_perfdata_next(reader, &event)) {
		struct pesa_exact_record head;
		const uint8_t *at = event.sample.raw + sizeof(head);

		memcpy(&head, event.sample.raw, sizeof(head));
		assert_int_equal(head.version, PESA_EXACT_VERSION);
		assert_int_equal(head.xlen, 64);
		assert_true(head.size <= event.sample.raw_size);
		assert_int_equal(head.size, sizeof(head) + head.buckets * sizeof(*buckets) +
						    head.transfers * sizeof(*transfers));
		assert_int_equal(head.pc, event.sample.ip);
		executions += head.executions;
		period += event.sample.period;
		if (head.pc == 0x4004)
			continue;
		assert_memory_equal(at, buckets + read_buckets, head.buckets * sizeof(*buckets));
		for (unsigned int i = 0; i < head.buckets; i++) {
			weight += buckets[read_buckets + i].weight;
			count += buckets[read_buckets + i].count;
		}
		read_buckets += head.buckets;
		at += head.buckets * sizeof(*buckets);
		assert_memory_equal(at, transfers + read_transfers,
				    head.transfers * sizeof(*transfers));
		read_transfers += head.transfers;
	}
	assert_int_equal(read_buckets, BUCKETS);
	assert_int_equal(read_transfers, TRANSFERS);
	assert_int_equal(executions, 778);
	assert_int_equal(weight, written * PESA_CYCLE);
	assert_int_equal(period, written);
	assert_int_equal(count, 2 * written);
	free(buckets);
	free(transfers);
	done(reader, path);
}

static void a_sample_that_is_too_large_is_refused_and_nothing_is_written(void **state)
{
	uint8_t *raw = calloc(1, 1 << 20);
	const uint32_t sizes[] = {65500, 65535, 1 << 20};
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 1, WRITTEN_TYPE, 1);
	struct pesa_sample sample = {.time = 1, .raw = raw};
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pesa_error *error;

		sample.raw_size = sizes[i];
		error = pesa_perfdata_write_sample(writer, &sample, 0);
		assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
		assert_non_null(strstr(error->message, "65535"));
		pesa_error_free(error);
	}
	sample.raw_size = 65000;
	assert_null(pesa_perfdata_write_sample(writer, &sample, 0));
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	assert_int_equal(pesa_perfdata_next(reader, &event), 1);
	assert_in_range(event.sample.raw_size, 65000, 65007);
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	free(raw);
	done(reader, path);
}

/* Records that do not shrink: the writer has to cut its frames, and at last write them as they are.
 */
static void what_cannot_be_compressed_is_written_all_the_same(void **state)
{
	uint64_t random = 4711;
	uint8_t raw[65000];
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 1, WRITTEN_TYPE, 1);
	struct pesa_perfdata *reader;
	struct pesa_event event;

	(void)state;
	for (unsigned int i = 0; i < 300; i++) {
		struct pesa_sample sample = {.time = 1 + i, .raw = raw};

		for (size_t j = 0; j < sizeof(raw); j++)
			raw[j] = stream_random(&random);
		sample.raw_size = i % 3 ? 100 + i : sizeof(raw);
		assert_null(pesa_perfdata_write_sample(writer, &sample, 0));
	}
	assert_null(pesa_perfdata_writer_finish(writer));
	reader = reopen(path);
	random = 4711;
	for (unsigned int i = 0; i < 300; i++) {
		for (size_t j = 0; j < sizeof(raw); j++)
			raw[j] = stream_random(&random);
		assert_int_equal(pesa_perfdata_next(reader, &event), 1);
		assert_memory_equal(event.sample.raw, raw, i % 3 ? 100 + i : sizeof(raw));
	}
	assert_int_equal(pesa_perfdata_next(reader, &event), 0);
	assert_null(pesa_perfdata_losses(reader)->damage);
	done(reader, path);
}

static void options_that_make_no_sense_are_refused(void **state)
{
	const struct pesa_perfdata_writer_attribute attributes[2] = {
		{.attr = {.sample_type = PERF_SAMPLE_IP}, .name = "a"},
		{.attr = {.sample_type = PERF_SAMPLE_IP}, .name = "b"},
	};
	const struct pesa_perfdata_writer_options cases[] = {
		{.attributes = attributes, .attribute_count = 0},
		{.attributes = attributes, .attribute_count = 2}, /* whose is a sample? */
		{.attributes = attributes, .attribute_count = 1, .compression = 99},
	};
	struct pesa_perfdata_writer *writer;
	struct pesa_error *error;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		error = pesa_perfdata_writer_create("/tmp/never", &cases[i], &writer);
		assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
		pesa_error_free(error);
		assert_int_not_equal(access("/tmp/never", F_OK), 0);
	}
	error = pesa_perfdata_writer_create("/nonexistent/x",
					    &(struct pesa_perfdata_writer_options){
						    .attributes = attributes, .attribute_count = 1},
					    &writer);
	assert_int_equal(error->code, PESA_ERROR_SYSTEM);
	assert_non_null(strstr(error->message, "/nonexistent/x"));
	pesa_error_free(error);
}

static void a_sample_type_that_cannot_be_made_is_refused(void **state)
{
	char *path = temporary();
	struct pesa_perfdata_writer *writer = create(path, 0, PERF_SAMPLE_REGS_INTR, 1);
	struct pesa_error *error =
		pesa_perfdata_write_sample(writer, &(struct pesa_sample){.ip = 1}, 0);

	(void)state;
	assert_int_equal(error->code, PESA_ERROR_UNSUPPORTED);
	pesa_error_free(error);
	error = pesa_perfdata_write_sample(writer, &(struct pesa_sample){.attribute = 1}, 0);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	pesa_perfdata_writer_abandon(writer);
	unlink(path);
	free(path);
}

static uint64_t count_samples(const char *path, struct pesa_perfdata_losses *losses)
{
	struct pesa_perfdata *reader = reopen(path);
	struct pesa_event event;
	uint64_t samples = 0;

	while (pesa_perfdata_next(reader, &event))
		samples += event.type == PERF_RECORD_SAMPLE;
	*losses = *pesa_perfdata_losses(reader);
	pesa_perfdata_close(reader);
	return samples;
}

static void a_killed_recorder_leaves_what_was_flushed(void **state)
{
	(void)state;
	for (int compression = 0; compression < 2; compression++) {
		const struct stream stream = {
			.compression = compression, .samples = 20000, .threads = 3};
		struct pesa_perfdata_losses losses;
		char *path = temporary();

		assert_null(stream_write(path, &stream, true));
		assert_int_equal(count_samples(path, &losses), 20000);
		assert_int_equal(losses.damaged_bytes, 0);
		unlink(path);
		free(path);
	}
}

/* A flipped bit costs one frame: the checksum tells, the frames behind it are read. */
static void damage_to_a_compressed_record_leaves_the_others(void **state)
{
	const struct stream stream = {.compression = 3, .samples = 30000, .threads = 2};
	struct pesa_perfdata_losses losses;
	char *path = temporary();
	struct bytes file;
	uint64_t random = 99;

	(void)state;
	assert_null(stream_write(path, &stream, false));
	file = load(path);
	assert_int_equal(count_samples(path, &losses), stream.samples);
	for (unsigned int i = 0; i < 60; i++) {
		size_t at = 20000 + stream_random(&random) % (file.size - 40000);
		FILE *out = fopen(path, "wb");
		uint64_t samples;

		file.at[at] ^= 0x10;
		fwrite(file.at, 1, file.size, out);
		fclose(out);
		file.at[at] ^= 0x10;
		samples = count_samples(path, &losses);
		assert_in_range(samples, stream.samples - 2700, stream.samples - 1);
		assert_in_range(losses.damaged_records, 1, 2);
	}
	free(file.at);
	unlink(path);
	free(path);
}

static void what_is_cut_off_every_4_KiB_is_counted(void **state)
{
	(void)state;
	for (int compression = 0; compression < 2; compression++) {
		const struct stream stream = {
			.compression = compression, .samples = 5000, .threads = 2};
		uint64_t before = 0, samples = 0;
		struct pesa_perfdata_losses losses;
		char *path = temporary();
		struct bytes file;

		assert_null(stream_write(path, &stream, false));
		file = load(path);
		for (size_t size = 4096; size < file.size; size += 4096) {
			FILE *out = fopen(path, "wb");

			fwrite(file.at, 1, size, out);
			fclose(out);
			samples = count_samples(path, &losses);
			assert_true(samples >= before);
			/* nothing but the features may be missing without being counted */
			if (samples < stream.samples)
				assert_true(losses.damaged_bytes > 0);
			before = samples;
		}
		assert_true(before > 0);
		free(file.at);
		unlink(path);
		free(path);
	}
}

static void a_sample_takes_at_most_60_bytes(void **state)
{
	const struct stream stream = {
		.compression = PESA_PERFDATA_COMPRESSION, .samples = 100000, .threads = 4};
	char *path = temporary();
	struct stat status;

	(void)state;
	assert_null(stream_write(path, &stream, false));
	assert_int_equal(stat(path, &status), 0);
	assert_in_range(status.st_size, 1, 60 * stream.samples);
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_read_back),
		cmocka_unit_test(registers_and_stack_are_read_back),
		cmocka_unit_test(a_raw_record_goes_through_unchanged),
		cmocka_unit_test(a_raw_record_is_one_with_its_header),
		cmocka_unit_test(sections_tell_of_raw_records),
		cmocka_unit_test(the_memory_of_the_machine_is_told),
		cmocka_unit_test(code_of_any_size_is_read_back),
		cmocka_unit_test(an_exact_record_of_any_size_adds_up),
		cmocka_unit_test(a_sample_that_is_too_large_is_refused_and_nothing_is_written),
		cmocka_unit_test(what_cannot_be_compressed_is_written_all_the_same),
		cmocka_unit_test(options_that_make_no_sense_are_refused),
		cmocka_unit_test(a_sample_type_that_cannot_be_made_is_refused),
		cmocka_unit_test(a_killed_recorder_leaves_what_was_flushed),
		cmocka_unit_test(damage_to_a_compressed_record_leaves_the_others),
		cmocka_unit_test(what_is_cut_off_every_4_KiB_is_counted),
		cmocka_unit_test(a_sample_takes_at_most_60_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
