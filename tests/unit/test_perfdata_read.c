/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading perf.data: every sample layout in both byte orders, order of events, damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zstd.h>

#include "pesa/perfdata.h"
#include "tests/perfdata_builder.h"

#define FINISHED_ROUND	68
#define COMPRESSED	81
#define COMPRESSED2	83
#define ALL_SAMPLE_BITS 25

static struct pesa_perfdata *open_bytes(const struct bytes *file, char **path)
{
	struct pesa_perfdata *reader = NULL;
	struct pesa_error *error;

	*path = save(file->at, file->size);
	error = pesa_perfdata_open(*path, &reader);
	if (error)
		fail_msg("%s", error->message);
	return reader;
}

static void close_file(struct pesa_perfdata *reader, char *path)
{
	pesa_perfdata_close(reader);
	unlink(path);
	free(path);
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t random64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* What one sample of the test says; everything else in it is filler. */
struct expected {
	uint64_t ip, time, address, id, stream_id, period, weight;
	uint32_t pid, tid, cpu;
	uint8_t raw[52];
	uint64_t callers[3], branches[2][3];
	uint64_t turned_flags[2]; /* of the branches, as the other byte order has them */
};

static void put_regs(struct bytes *bytes, uint64_t mask)
{
	put64(bytes, PERF_SAMPLE_REGS_ABI_64);
	for (; mask; mask &= mask - 1)
		put64(bytes, random64());
}

static void put_read(struct bytes *bytes, uint64_t format)
{
	unsigned int values = format & PERF_FORMAT_GROUP ? 3 : 1;

	if (format & PERF_FORMAT_GROUP)
		put64(bytes, values);
	else
		put64(bytes, random64());
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put64(bytes, random64());
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put64(bytes, random64());
	for (unsigned int i = 0; i < values; i++) {
		if (format & PERF_FORMAT_GROUP)
			put64(bytes, random64());
		if (format & PERF_FORMAT_ID)
			put64(bytes, random64());
		if (format & 1 << 4) /* PERF_FORMAT_LOST */
			put64(bytes, random64());
	}
}

/* One sample in the order that include/uapi/linux/perf_event.h gives. */
static void put_sample(struct bytes *bytes, const struct perf_event_attr *attr,
		       const struct expected *sample)
{
	size_t start = record_begin(bytes, PERF_RECORD_SAMPLE,
				    PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(bytes, sample->id);
	if (type & PERF_SAMPLE_IP)
		put64(bytes, sample->ip);
	if (type & PERF_SAMPLE_TID) {
		put32(bytes, sample->pid);
		put32(bytes, sample->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		put64(bytes, sample->time);
	if (type & PERF_SAMPLE_ADDR)
		put64(bytes, sample->address);
	if (type & PERF_SAMPLE_ID)
		put64(bytes, sample->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(bytes, sample->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		put32(bytes, sample->cpu);
		put32(bytes, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		put64(bytes, sample->period);
	if (type & PERF_SAMPLE_READ)
		put_read(bytes, attr->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put64(bytes, 3);
		for (unsigned int i = 0; i < 3; i++)
			put64(bytes, sample->callers[i]);
	}
	if (type & PERF_SAMPLE_RAW) {
		put32(bytes, sizeof(sample->raw));
		put(bytes, sample->raw, sizeof(sample->raw));
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		put64(bytes, 2);
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			put64(bytes, 7);
		for (unsigned int i = 0; i < 2; i++) {
			put64(bytes, sample->branches[i][0]);
			put64(bytes, sample->branches[i][1]);
			put64(bytes,
			      bytes->swap ? sample->turned_flags[i] : sample->branches[i][2]);
		}
	}
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(bytes, attr->sample_regs_user);
	if (type & PERF_SAMPLE_STACK_USER) {
		put64(bytes, 16);
		put_zeros(bytes, 16);
		put64(bytes, 8);
	}
	if (type & PERF_SAMPLE_WEIGHT)
		put64(bytes, sample->weight);
	else if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
		/* one union of 64 bits: the low 32 are var1_dw, of either byte order the first
		 * bytes */
		put32(bytes, sample->weight);
		put16(bytes, 11);
		put16(bytes, 12);
	}
	if (type & PERF_SAMPLE_DATA_SRC)
		put64(bytes, random64());
	if (type & PERF_SAMPLE_TRANSACTION)
		put64(bytes, random64());
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(bytes, attr->sample_regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put64(bytes, random64());
	if (type & PERF_SAMPLE_CGROUP)
		put64(bytes, random64());
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put64(bytes, 4096);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put64(bytes, 4096);
	if (type & PERF_SAMPLE_AUX) {
		put64(bytes, 24);
		put_zeros(bytes, 24);
	}
	record_end(bytes, start);
}

static struct expected make_expected(uint64_t time)
{
	struct expected sample = {
		.ip = random64(),
		.time = time,
		.address = random64(),
		.id = 100,
		.stream_id = random64(),
		.period = random64(),
		.weight = random64() >> 32,
		.pid = random64(),
		.tid = random64(),
		.cpu = random64() & 0xff,
	};

	for (unsigned int i = 0; i < sizeof(sample.raw); i++)
		sample.raw[i] = random64();
	for (unsigned int i = 0; i < 3; i++)
		sample.callers[i] = random64();
	for (unsigned int i = 0; i < 2; i++) {
		sample.branches[i][0] = random64();
		sample.branches[i][1] = random64();
		/* mispred 1, predicted 0, in_tx 0, abort 1, cycles 0x1234, type 5: from the bottom,
		 * and from the top */
		sample.branches[i][2] = 1 | 1 << 3 | 0x1234ull << 4 | 5ull << 20;
		sample.turned_flags[i] = 1ull << 63 | 1ull << 60 | 0x1234ull << 44 | 5ull << 40;
	}
	return sample;
}

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
	CHECK(PERF_SAMPLE_CPU, cpu);
	CHECK(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, weight);
#undef CHECK
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

static struct perf_event_attr test_attr(uint64_t sample_type)
{
	return (struct perf_event_attr){
		.type = 42,
		.size = PERF_ATTR_SIZE_VER7,
		.config = 3,
		.sample_period = 4711,
		.sample_type = sample_type,
		.sample_regs_user = 0xff,
		.sample_regs_intr = 0x8001,
		.precise_ip = 2,
		.mmap = 1,
	};
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
		attr.branch_sample_type = random64() & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0;
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

#define SIDEBAND_TYPE                                                           \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void put_trailer(struct bytes *bytes, uint64_t time)
{
	put32(bytes, 1);
	put32(bytes, 2);
	put64(bytes, time);
	put64(bytes, 100);
	put64(bytes, 5);
	put32(bytes, 3);
	put32(bytes, 0);
	put64(bytes, 100);
}

static void put_map(struct bytes *bytes, bool second, bool build_id, uint64_t time,
		    const char *path)
{
	size_t start = record_begin(bytes, second ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP,
				    build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID
					     : PERF_RECORD_MISC_MMAP_DATA);

	put32(bytes, 77);
	put32(bytes, 78);
	put64(bytes, 0x10000);
	put64(bytes, 0x2000);
	put64(bytes, 0x3000);
	if (second && build_id) {
		put8(bytes, 20);
		put_zeros(bytes, 3);
		for (unsigned int i = 0; i < 20; i++)
			put8(bytes, 0x40 + i);
	} else if (second) {
		put32(bytes, 8);
		put32(bytes, 1);
		put64(bytes, 4242);
		put64(bytes, 0);
	}
	if (second) {
		put32(bytes, 5);
		put32(bytes, 2);
	}
	put_path(bytes, path);
	put_trailer(bytes, time);
	record_end(bytes, start);
}

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
	put_lost(&records, true, 18, 0); /* the kernel's total, one more than the rings told */
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

/* `count` samples whose ip counts up, at most 1024 of them in a round. */
static void put_counted_samples(struct bytes *records, const struct perf_event_attr *attr,
				unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct expected sample = make_expected(1000 + i);

		sample.ip = i;
		put_sample(records, attr, &sample);
		if (i % 1024 == 1023)
			record_end(records, record_begin(records, FINISHED_ROUND, 0));
	}
}

/* As perf does it: one stream of zstd, flushed now and then, cut into records anywhere. */
static void put_compressed_stream(struct bytes *out, const struct bytes *plain, size_t piece,
				  bool second)
{
	ZSTD_CCtx *compressor = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(plain->size) + plain->size / piece * 32 + 4096;
	ZSTD_outBuffer output = {malloc(bound), bound, 0};

	for (size_t at = 0; at < plain->size; at += piece) {
		ZSTD_inBuffer input = {plain->at + at,
				       plain->size - at < piece ? plain->size - at : piece, 0};
		size_t before = output.pos, size, start;

		assert_int_equal(ZSTD_compressStream2(compressor, &output, &input, ZSTD_e_flush),
				 0);
		size = output.pos - before;
		assert_true(size < 65000);
		start = record_begin(out, second ? COMPRESSED2 : COMPRESSED, 0);
		if (second)
			put64(out, size);
		put(out, (uint8_t *)output.dst + before, size);
		if (second)
			put_zeros(out, -size % 8);
		record_end(out, start);
	}
	free(output.dst);
	ZSTD_freeCCtx(compressor);
}

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

/* ---- Damage -------------------------------------------------------------------------------- */

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
		cmocka_unit_test(every_single_sample_field_is_read),
		cmocka_unit_test(every_combination_of_sample_fields_is_read),
		cmocka_unit_test(attributes_of_the_other_byte_order_are_read),
		cmocka_unit_test(samples_find_their_attribute_by_id),
		cmocka_unit_test(side_band_records_are_read),
		cmocka_unit_test(losses_are_added_up_once),
		cmocka_unit_test(events_come_in_the_order_of_rounds),
		cmocka_unit_test(events_without_a_time_are_handed_out_at_once),
		cmocka_unit_test(compressed_records_are_read_like_plain_ones),
		cmocka_unit_test(feature_sections_are_read),
		cmocka_unit_test(a_pipe_carries_all_in_records),
		cmocka_unit_test(trace_data_in_a_file_are_passed_over),
		cmocka_unit_test(what_is_missing_is_counted_at_every_cut),
		cmocka_unit_test(reading_goes_on_behind_damage),
		cmocka_unit_test(large_files_are_read_in_pieces),
		cmocka_unit_test(random_damage_never_breaks_the_reader),
		cmocka_unit_test(what_is_no_perf_data_is_refused),
		cmocka_unit_test(a_file_without_data_size_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
