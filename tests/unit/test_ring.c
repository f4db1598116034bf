/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/events/event.h"
#include "daemon/record/ring.h"

#define SIZE 256u /* bytes of the ring */

struct fixture {
	struct perf_event_mmap_page page;
	uint64_t data[SIZE / 8];
	struct pesa_ring ring;
};

static int setup_as(void **state, bool overwritable)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	assert_null(pesa_ring_attach(&fixture->page, (uint8_t *)fixture->data, SIZE, overwritable,
				     &fixture->ring));
	*state = fixture;
	return 0;
}

static int setup(void **state)
{
	return setup_as(state, false);
}

static int setup_overwritable(void **state)
{
	return setup_as(state, true);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pesa_ring_unmap(&fixture->ring);
	free(fixture);
	return 0;
}

/* A record of `size` bytes with `value` in each of its words, where the kernel would put it. */
static void put(struct fixture *fixture, uint64_t position, uint16_t size, uint64_t value)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = size};

	memcpy(&fixture->data[position % SIZE / 8], &header, sizeof(header));
	for (uint64_t at = 8; at < size; at += 8)
		fixture->data[(position + at) % SIZE / 8] = value;
}

static void append(struct fixture *fixture, uint16_t size, uint64_t value)
{
	put(fixture, fixture->page.data_head, size, value);
	fixture->page.data_head += size;
}

static void prepend(struct fixture *fixture, uint16_t size, uint64_t value)
{
	fixture->page.data_head -= size;
	put(fixture, fixture->page.data_head, size, value);
}

static void expect(struct pesa_ring *ring, size_t size, uint64_t value)
{
	size_t got = 0;
	const uint8_t *record = pesa_ring_next(ring, &got);

	assert_non_null(record);
	assert_int_equal(got, size);
	for (size_t at = 8; at < size; at += 8) {
		uint64_t word;

		memcpy(&word, record + at, sizeof(word));
		assert_int_equal(word, value);
	}
}

static void expect_end(struct pesa_ring *ring)
{
	size_t size;

	assert_null(pesa_ring_next(ring, &size));
}

static void records_come_in_order_and_their_room_is_given_back(void **state)
{
	struct fixture *fixture = *state;

	append(fixture, 16, 1);
	append(fixture, 40, 2);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 16, 1);
	expect(&fixture->ring, 40, 2);
	expect_end(&fixture->ring);
	assert_int_equal(fixture->page.data_tail, 0);
	pesa_ring_end(&fixture->ring);
	assert_int_equal(fixture->page.data_tail, 56);
	assert_int_equal(fixture->ring.damaged, 0);
}

static void what_arrives_during_a_reading_is_left_for_the_next(void **state)
{
	struct fixture *fixture = *state;

	append(fixture, 16, 1);
	pesa_ring_begin(&fixture->ring);
	append(fixture, 16, 2);
	expect(&fixture->ring, 16, 1);
	expect_end(&fixture->ring);
	pesa_ring_end(&fixture->ring);
	assert_int_equal(fixture->page.data_tail, 16);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 16, 2);
	expect_end(&fixture->ring);
}

static void a_record_over_the_end_of_the_ring_is_whole(void **state)
{
	struct fixture *fixture = *state;

	/* Every place at which a record can run over the end, many times round. */
	for (uint64_t i = 0; i < 1000; i++) {
		uint16_t size = (uint16_t)(16 + i % 29 * 8);

		append(fixture, size, i);
		pesa_ring_begin(&fixture->ring);
		expect(&fixture->ring, size, i);
		expect_end(&fixture->ring);
		pesa_ring_end(&fixture->ring);
	}
	assert_int_equal(fixture->page.data_tail, fixture->page.data_head);
	assert_int_equal(fixture->ring.damaged, 0);
}

static void a_full_ring_is_read_whole(void **state)
{
	struct fixture *fixture = *state;

	fixture->page.data_head = fixture->page.data_tail = 200;
	append(fixture, 128, 1);
	append(fixture, 128, 2);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 128, 1);
	expect(&fixture->ring, 128, 2);
	expect_end(&fixture->ring);
}

static void a_torn_record_ends_the_reading_and_is_counted(void **state)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 64};
	struct fixture *fixture = *state;
	uint64_t damaged = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		append(fixture, 16, 1);
		put(fixture, fixture->page.data_head, sizes[i], 2);
		fixture->page.data_head += 32; /* less than 64, more than the others */
		pesa_ring_begin(&fixture->ring);
		expect(&fixture->ring, 16, 1);
		expect_end(&fixture->ring);
		pesa_ring_end(&fixture->ring);
		damaged += 32;
		assert_int_equal(fixture->ring.damaged, damaged);
		assert_int_equal(fixture->page.data_tail, fixture->page.data_head);
	}
}

static void a_head_that_cannot_be_is_not_followed(void **state)
{
	struct fixture *fixture = *state;

	fixture->page.data_head = SIZE + 8;
	pesa_ring_begin(&fixture->ring);
	expect_end(&fixture->ring);
	pesa_ring_end(&fixture->ring);
	assert_int_equal(fixture->ring.damaged, SIZE + 8);
	assert_int_equal(fixture->page.data_tail, SIZE + 8);
	/* Not even a header is whole. */
	fixture->page.data_head += 4;
	pesa_ring_begin(&fixture->ring);
	expect_end(&fixture->ring);
	assert_int_equal(fixture->ring.damaged, SIZE + 12);
}

static void an_overwritable_ring_gives_the_newest_first(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 1; i <= 3; i++)
		prepend(fixture, 24, i);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 24, 3);
	expect(&fixture->ring, 24, 2);
	expect(&fixture->ring, 24, 1);
	expect_end(&fixture->ring);
	pesa_ring_end(&fixture->ring);
	assert_int_equal(fixture->page.data_tail, 0); /* the kernel's position does not move */
}

static void an_overwritable_ring_that_went_round_ends_before_the_torn_record(void **state)
{
	struct fixture *fixture = *state;

	/* 256 / 40: six whole ones, the seventh is half overwritten. */
	for (uint64_t i = 1; i <= 20; i++)
		prepend(fixture, 40, i);
	pesa_ring_begin(&fixture->ring);
	for (uint64_t i = 20; i > 14; i--)
		expect(&fixture->ring, 40, i);
	expect_end(&fixture->ring);
	assert_int_equal(fixture->ring.damaged, 0);
}

static void what_was_read_of_an_overwritable_ring_is_not_read_again(void **state)
{
	struct fixture *fixture = *state;

	prepend(fixture, 24, 1);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 24, 1);
	expect_end(&fixture->ring);
	prepend(fixture, 32, 2);
	pesa_ring_begin(&fixture->ring);
	expect(&fixture->ring, 32, 2);
	expect_end(&fixture->ring);
	pesa_ring_begin(&fixture->ring);
	expect_end(&fixture->ring);
}

static void an_overwritable_ring_with_a_crooked_head_is_not_read(void **state)
{
	struct fixture *fixture = *state;

	prepend(fixture, 24, 1);
	fixture->page.data_head += 7;
	pesa_ring_begin(&fixture->ring);
	expect_end(&fixture->ring);
	assert_int_equal(fixture->ring.damaged, SIZE);
}

/* The raw payload stands behind the fixed fields and the call chain. */
static void a_raw_payload_is_found_where_it_is_and_nowhere_else(void **state)
{
	const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			      PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	uint64_t record[9] = {0};
	uint8_t *bytes = (uint8_t *)record;
	uint32_t size = 12, got;

	(void)state;
	record[4] = 2; /* callers */
	memcpy(bytes + 7 * 8, &size, sizeof(size));
	assert_ptr_equal(pesa_sample_raw(type, bytes, sizeof(record), &got), bytes + 60);
	assert_int_equal(got, 12);
	/* Cut anywhere it has none. */
	for (size_t cut = 8; cut < sizeof(record); cut++)
		assert_null(pesa_sample_raw(type, bytes, cut, &got));
	assert_null(
		pesa_sample_raw(type & ~(uint64_t)PERF_SAMPLE_RAW, bytes, sizeof(record), &got));
	record[4] = UINT64_MAX / 8 + 2; /* callers whose size wraps around */
	assert_null(pesa_sample_raw(type, bytes, sizeof(record), &got));
}

int main(void)
{
#define TEST(name)	   cmocka_unit_test_setup_teardown(name, setup, teardown)
#define OVERWRITABLE(name) cmocka_unit_test_setup_teardown(name, setup_overwritable, teardown)
	const struct CMUnitTest tests[] = {
		TEST(records_come_in_order_and_their_room_is_given_back),
		TEST(what_arrives_during_a_reading_is_left_for_the_next),
		TEST(a_record_over_the_end_of_the_ring_is_whole),
		TEST(a_full_ring_is_read_whole),
		TEST(a_torn_record_ends_the_reading_and_is_counted),
		TEST(a_head_that_cannot_be_is_not_followed),
		OVERWRITABLE(an_overwritable_ring_gives_the_newest_first),
		OVERWRITABLE(an_overwritable_ring_that_went_round_ends_before_the_torn_record),
		OVERWRITABLE(what_was_read_of_an_overwritable_ring_is_not_read_again),
		OVERWRITABLE(an_overwritable_ring_with_a_crooked_head_is_not_read),
		cmocka_unit_test(a_raw_payload_is_found_where_it_is_and_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
