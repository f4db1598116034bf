/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records for tests of the perf.data reader: samples of every layout, maps, many samples in a row,
 * and a stream of them compressed as perf does it.  Include after cmocka.h.
 */
#ifndef TESTS_PERFDATA_RECORDS_H
#define TESTS_PERFDATA_RECORDS_H

#include <zstd.h>

#include "pesa/perfdata.h"
#include "tests/perfdata_builder.h"

#define FINISHED_ROUND 68
#define COMPRESSED     81
#define COMPRESSED2    83

#define BRANCH_COUNTERS (UINT64_C(1) << 19) /* PERF_SAMPLE_BRANCH_COUNTERS of newer kernels */

static inline struct pesa_perfdata *open_bytes(const struct bytes *file, char **path)
{
	struct pesa_perfdata *reader = NULL;
	struct pesa_error *error;

	*path = save(file->at, file->size);
	error = pesa_perfdata_open(*path, &reader);
	if (error)
		fail_msg("%s", error->message);
	return reader;
}

static inline void close_file(struct pesa_perfdata *reader, char *path)
{
	pesa_perfdata_close(reader);
	unlink(path);
	free(path);
}

/* Of one program always the same. */
static inline uint64_t random64(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* ---- Samples ------------------------------------------------------------------------------- */

/* What one sample of the test says; everything else in it is filler. */
struct expected {
	uint64_t ip, time, address, id, stream_id, period, weight, cgroup;
	uint32_t pid, tid, cpu;
	uint8_t raw[52];
	uint64_t callers[3], branches[2][3];
	uint64_t turned_flags[2]; /* of the branches, as the other byte order has them */
};

static inline void put_regs(struct bytes *bytes, uint64_t mask)
{
	put64(bytes, PERF_SAMPLE_REGS_ABI_64);
	for (; mask; mask &= mask - 1)
		put64(bytes, random64());
}

static inline void put_read(struct bytes *bytes, uint64_t format)
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
static inline void put_sample(struct bytes *bytes, const struct perf_event_attr *attr,
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
		if (attr->branch_sample_type & BRANCH_COUNTERS)
			for (unsigned int i = 0; i < 2; i++)
				put64(bytes, random64());
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
		put64(bytes, sample->cgroup);
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

static inline struct expected make_expected(uint64_t time)
{
	struct expected sample = {
		.ip = random64(),
		.time = time,
		.address = random64(),
		.id = 100,
		.stream_id = random64(),
		.period = random64(),
		.weight = random64() >> 32,
		.cgroup = random64(),
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

static inline struct perf_event_attr test_attr(uint64_t sample_type)
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

/* ---- Side band ----------------------------------------------------------------------------- */

#define SIDEBAND_TYPE                                                           \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static inline void put_trailer(struct bytes *bytes, uint64_t time)
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

static inline void put_map(struct bytes *bytes, bool second, bool build_id, uint64_t time,
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

/* ---- Compression --------------------------------------------------------------------------- */

/* `count` samples whose ip counts up, at most 1024 of them in a round. */
static inline void put_counted_samples(struct bytes *records, const struct perf_event_attr *attr,
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
static inline void put_compressed_stream(struct bytes *out, const struct bytes *plain, size_t piece,
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

#endif
