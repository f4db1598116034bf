/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of events, when they wait in memory and when they wait on disk. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/perfdata/queue.h"
#include "tests/perfdata_stream.h"

#define EVENTS 5000

struct waiting {
	uint64_t time;
	unsigned int number;
};

/* Order by time and number: what a stable sort gives.  A model of rounds, in the simplest way. */
struct model {
	struct waiting waiting[EVENTS], out[EVENTS];
	unsigned int waiting_count, out_count;
	uint64_t newest, limit;
};

static int older(const void *left, const void *right)
{
	const struct waiting *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void model_round(struct model *model, uint64_t limit)
{
	unsigned int due = 0;

	qsort(model->waiting, model->waiting_count, sizeof(model->waiting[0]), older);
	while (due < model->waiting_count && model->waiting[due].time <= limit)
		model->out[model->out_count++] = model->waiting[due++];
	model->waiting_count -= due;
	memmove(model->waiting, model->waiting + due,
		model->waiting_count * sizeof(model->waiting[0]));
	model->limit = model->newest;
}

/* A record whose payload is its number, of a size that depends on it. */
static uint16_t put_record(uint8_t *at, unsigned int number)
{
	uint16_t size = 16 + number % 7 * 8 + (number % 50 ? 0 : 60000);

	memset(at, number, size);
	memcpy(at + 6, &size, sizeof(size));
	memcpy(at + 8, &number, sizeof(number));
	return size;
}

/* Take what is due and compare it with what the model said so far. */
static void take_due(struct perfdata_queue *queue, const struct model *model, unsigned int *taken)
{
	struct perfdata_queued event;

	while (perfdata_queue_next(queue, &event)) {
		unsigned int number;
		uint16_t size;

		memcpy(&number, event.record + 8, sizeof(number));
		memcpy(&size, event.record + 6, sizeof(size));
		assert_true(*taken < model->out_count);
		assert_int_equal(event.time, model->out[*taken].time);
		assert_int_equal(number, model->out[*taken].number);
		assert_int_equal(event.offset, number * 3);
		assert_int_equal(event.record[size - 1],
				 size > 16 ? number & 0xff : event.record[size - 1]);
		if (event.block)
			perfdata_block_put(queue->pool, event.block);
		++*taken;
	}
	assert_int_equal(*taken, model->out_count);
}

static void order_is_the_same_in_memory_and_on_disk(void **state)
{
	static struct model model;
	static const size_t limits[] = {1, 2, 16, 100, 100000};
	uint64_t random = 12345;

	(void)state;
	for (unsigned int i = 0; i < 5 * 6; i++) {
		unsigned int round_every = (unsigned int[]){0, 1, 10, 150, 999, 3000}[i / 5],
			     taken = 0;
		struct perfdata_pool pool = {0};
		struct perfdata_queue queue = {0};
		struct perfdata_block *block = perfdata_block_get(&pool);
		size_t used = 0;

		model = (struct model){0};
		perfdata_queue_init(&queue, &pool);
		queue.events_max = limits[i % 5];
		for (unsigned int number = 0; number < EVENTS; number++) {
			struct perfdata_queued event = {
				.time = 1 + number / 3 + stream_random(&random) % 200,
				.offset = number * 3,
			};

			if (PERFDATA_BLOCK_BYTES - used < 65536) {
				perfdata_block_put(&pool, block);
				block = perfdata_block_get(&pool);
				used = 0;
			}
			event.block = block;
			event.record = block->bytes + used;
			used += put_record(event.record, number);
			assert_null(perfdata_queue_add(&queue, &event));
			model.waiting[model.waiting_count++] = (struct waiting){event.time, number};
			if (event.time > model.newest)
				model.newest = event.time;
			if (!round_every || number % round_every)
				continue;
			model_round(&model, model.limit);
			assert_null(perfdata_queue_round(&queue, false));
			take_due(&queue, &model, &taken);
		}
		model_round(&model, UINT64_MAX);
		assert_null(perfdata_queue_round(&queue, true));
		take_due(&queue, &model, &taken);
		assert_int_equal(taken, EVENTS);
		assert_int_equal(queue.spill.error, 0);
		perfdata_block_put(&pool, block);
		assert_int_equal(pool.in_use, 0);
		perfdata_queue_free(&queue);
		perfdata_pool_free(&pool);
	}
}

/* No room for a temporary file: the events stay in memory, and the reason is kept. */
static void without_a_temporary_file_memory_is_used(void **state)
{
	struct perfdata_pool pool = {0};
	struct perfdata_queue queue = {0};
	struct perfdata_block *block = perfdata_block_get(&pool);
	struct perfdata_queued event;

	(void)state;
	setenv("TMPDIR", "/nonexistent", 1);
	perfdata_queue_init(&queue, &pool);
	queue.events_max = 4;
	for (unsigned int number = 0; number < 20; number++) {
		event = (struct perfdata_queued){
			.time = 100 - number, .record = block->bytes, .block = block};
		assert_null(perfdata_queue_add(&queue, &event));
	}
	unsetenv("TMPDIR");
	assert_int_equal(queue.spill.error, ENOENT);
	assert_null(perfdata_queue_round(&queue, true));
	for (unsigned int number = 0; number < 20; number++) {
		assert_true(perfdata_queue_next(&queue, &event));
		assert_int_equal(event.time, 81 + number);
		perfdata_block_put(&pool, event.block);
	}
	assert_false(perfdata_queue_next(&queue, &event));
	perfdata_block_put(&pool, block);
	perfdata_queue_free(&queue);
	perfdata_pool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_the_same_in_memory_and_on_disk),
		cmocka_unit_test(without_a_temporary_file_memory_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
