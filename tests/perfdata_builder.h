/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds perf.data files byte by byte, in either byte order, without the writer under test:
 * attributes with ids, records, feature sections.  Test code: allocation failures abort.
 */
#ifndef TESTS_PERFDATA_BUILDER_H
#define TESTS_PERFDATA_BUILDER_H

#include <byteswap.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes {
	uint8_t *at;
	size_t size, capacity;
	bool swap; /* the other byte order */
};

static inline void put(struct bytes *bytes, const void *data, size_t size)
{
	if (bytes->size + size > bytes->capacity) {
		bytes->capacity = (bytes->size + size) * 2;
		bytes->at = realloc(bytes->at, bytes->capacity);
		if (!bytes->at)
			abort();
	}
	if (size)
		memcpy(bytes->at + bytes->size, data, size);
	bytes->size += size;
}

static inline void put8(struct bytes *bytes, uint8_t value)
{
	put(bytes, &value, sizeof(value));
}

static inline void put16(struct bytes *bytes, uint16_t value)
{
	value = bytes->swap ? bswap_16(value) : value;
	put(bytes, &value, sizeof(value));
}

static inline void put32(struct bytes *bytes, uint32_t value)
{
	value = bytes->swap ? bswap_32(value) : value;
	put(bytes, &value, sizeof(value));
}

static inline void put64(struct bytes *bytes, uint64_t value)
{
	value = bytes->swap ? bswap_64(value) : value;
	put(bytes, &value, sizeof(value));
}

static inline void put_zeros(struct bytes *bytes, size_t count)
{
	while (count--)
		put8(bytes, 0);
}

/* A text with its zero, padded to 8 bytes. */
static inline void put_path(struct bytes *bytes, const char *text)
{
	size_t length = strlen(text) + 1;

	put(bytes, text, length);
	put_zeros(bytes, -length % 8);
}

/* A string of a feature section. */
static inline void put_string(struct bytes *bytes, const char *text)
{
	size_t length = strlen(text) + 1;

	put32(bytes, (length + 63) / 64 * 64);
	put(bytes, text, length);
	put_zeros(bytes, -length % 64);
}

/* Start a record; record_end() fills in its size. */
static inline size_t record_begin(struct bytes *bytes, uint32_t type, uint16_t misc)
{
	size_t start = bytes->size;

	put32(bytes, type);
	put16(bytes, misc);
	put16(bytes, 0);
	return start;
}

static inline void record_end(struct bytes *bytes, size_t start)
{
	uint16_t size = bytes->size - start;

	size = bytes->swap ? bswap_16(size) : size;
	memcpy(bytes->at + start + 6, &size, sizeof(size));
}

/*
 * The flags of struct perf_event_attr as the other byte order has them: bit fields are allocated
 * from the top of the 64 bits, in the order of their declaration.
 */
static inline uint64_t attr_flags(const struct perf_event_attr *attr, bool swap)
{
	/* {value, width} in the order of declaration, as far as tests use them */
	const struct {
		uint64_t value;
		unsigned int width;
	} flags[] = {
		{attr->disabled, 1},	   {attr->inherit, 1},	    {attr->pinned, 1},
		{attr->exclusive, 1},	   {attr->exclude_user, 1}, {attr->exclude_kernel, 1},
		{attr->exclude_hv, 1},	   {attr->exclude_idle, 1}, {attr->mmap, 1},
		{attr->comm, 1},	   {attr->freq, 1},	    {attr->inherit_stat, 1},
		{attr->enable_on_exec, 1}, {attr->task, 1},	    {attr->watermark, 1},
		{attr->precise_ip, 2},	   {attr->mmap_data, 1},    {attr->sample_id_all, 1},
	};
	unsigned int position = 0;
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		bits |= flags[i].value << (swap ? 64 - position - flags[i].width : position);
		position += flags[i].width;
	}
	return bits;
}

static inline void put_attr(struct bytes *bytes, const struct perf_event_attr *attr)
{
	put32(bytes, attr->type);
	put32(bytes, PERF_ATTR_SIZE_VER7);
	put64(bytes, attr->config);
	put64(bytes, attr->sample_period);
	put64(bytes, attr->sample_type);
	put64(bytes, attr->read_format);
	put64(bytes, attr_flags(attr, bytes->swap));
	put32(bytes, attr->wakeup_events);
	put32(bytes, attr->bp_type);
	put64(bytes, attr->config1);
	put64(bytes, attr->config2);
	put64(bytes, attr->branch_sample_type);
	put64(bytes, attr->sample_regs_user);
	put32(bytes, attr->sample_stack_user);
	put32(bytes, attr->clockid);
	put64(bytes, attr->sample_regs_intr);
	put32(bytes, attr->aux_watermark);
	put16(bytes, attr->sample_max_stack);
	put16(bytes, 0);
	put32(bytes, attr->aux_sample_size);
	put32(bytes, 0);
	put64(bytes, 0); /* sig_data */
}

/* A feature section on its way into a file. */
struct feature {
	unsigned int bit;
	struct bytes contents;
};

/*
 * A whole file: `attrs` (attribute i has the ids 100 * (i + 1) and the one after), records,
 * features in the order of their bits.
 */
static inline struct bytes build_file(bool swap, const struct perf_event_attr *attrs, size_t count,
				      const struct bytes *records, const struct feature *features,
				      size_t feature_count)
{
	struct bytes file = {.swap = swap};
	uint64_t map[4] = {0}, place;

	put64(&file, 0x32454c4946524550ull);
	put64(&file, 104);
	put64(&file, PERF_ATTR_SIZE_VER7 + 16);
	put64(&file, 104 + count * 16);
	put64(&file, count * (PERF_ATTR_SIZE_VER7 + 16));
	put64(&file, 104 + count * (PERF_ATTR_SIZE_VER7 + 32));
	put64(&file, records->size);
	put64(&file, 0);
	put64(&file, 0);
	for (size_t i = 0; i < feature_count; i++)
		map[features[i].bit / 64] |= 1ull << features[i].bit % 64;
	for (size_t i = 0; i < 4; i++)
		put64(&file, map[i]);
	for (size_t i = 0; i < count; i++) {
		put64(&file, 100 * (i + 1));
		put64(&file, 100 * (i + 1) + 1);
	}
	for (size_t i = 0; i < count; i++) {
		put_attr(&file, &attrs[i]);
		put64(&file, 104 + i * 16);
		put64(&file, 16);
	}
	put(&file, records->at, records->size);
	place = file.size + feature_count * 16;
	for (size_t i = 0; i < feature_count; i++) {
		put64(&file, place);
		put64(&file, features[i].contents.size);
		place += features[i].contents.size;
	}
	for (size_t i = 0; i < feature_count; i++)
		put(&file, features[i].contents.at, features[i].contents.size);
	return file;
}

/* Write bytes to a new temporary file and return its path, to be unlinked and freed. */
static inline char *save(const void *data, size_t size)
{
	char *path = strdup("/tmp/pesa-test-XXXXXX");
	int descriptor = path ? mkstemp(path) : -1;

	if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
		abort();
	close(descriptor);
	return path;
}

#endif
