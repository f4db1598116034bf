/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact records from a region of shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "daemon/vcore/exact.h"

#define WIDTH 4u

struct seen {
	unsigned int records, buckets, transfers;
	uint64_t weight, executions, taken, pc;
	bool disordered; /* a pc below the one before */
};

static struct pesa_error *see(void *context, const struct vcore_exact *exact)
{
	const struct pesa_exact_record *header = (const void *)exact->bytes;
	const struct pesa_exact_bucket *bucket = (const void *)(header + 1);
	const struct pesa_exact_transfer *transfer = (const void *)(bucket + header->buckets);
	struct seen *seen = context;

	assert_int_equal(header->version, PESA_EXACT_VERSION);
	assert_int_equal(header->size, exact->size);
	assert_int_equal(header->size, sizeof(*header) + header->buckets * sizeof(*bucket) +
					       header->transfers * sizeof(*transfer));
	for (unsigned int i = 0; i < header->buckets; i++)
		seen->weight += bucket[i].weight;
	for (unsigned int i = 0; i < header->transfers; i++)
		seen->taken += transfer[i].count;
	seen->records++;
	seen->buckets += header->buckets;
	seen->transfers += header->transfers;
	seen->executions += header->executions;
	seen->disordered |= header->pc < seen->pc;
	seen->pc = header->pc;
	return NULL;
}

static int make_region(void **state)
{
	struct vcore_region *region = mmap(NULL, VCORE_REGION_SIZE, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (region == MAP_FAILED)
		return -1;
	region->golden_stride = 64;
	*state = region;
	return 0;
}

static int free_region(void **state)
{
	return munmap(*state, VCORE_REGION_SIZE);
}

static struct vcore_golden *entry(struct vcore_region *region, uint32_t index, uint64_t pc)
{
	struct vcore_golden *golden =
		(struct vcore_golden *)((char *)region + VCORE_GOLDEN_OFFSET + index * 64ull);

	golden->pc = pc;
	if (index >= atomic_load(&region->golden_entries))
		atomic_store(&region->golden_entries, index + 1);
	return golden;
}

static void add_node(struct vcore_region *region, _Atomic uint32_t *list, uint32_t key,
		     uint64_t target, uint64_t count)
{
	uint32_t number = atomic_fetch_add(&region->nodes, 1) + 1;
	struct vcore_node *node =
		(struct vcore_node *)((char *)region + VCORE_NODES_OFFSET) + (number - 1);

	*node = (struct vcore_node){atomic_load(list), key, target, count};
	atomic_store(list, number);
}

static struct seen take(struct vcore_region *region, uint32_t entries, uint64_t start, uint64_t end)
{
	struct vcore_exact *scratch = malloc(sizeof(*scratch));
	struct seen seen = {0};

	assert_non_null(scratch);
	assert_null(vcore_exact_take(region, WIDTH, entries, start, end, scratch, see, &seen));
	free(scratch);
	return seen;
}

static void an_entry_becomes_a_record_once(void **state)
{
	struct vcore_golden *golden = entry(*state, 0, 0x1000);
	struct seen seen;

	golden->retired[0] = 3;
	golden->retired[3] = 8;
	golden->target = 0x2000;
	golden->taken = 5;
	add_node(*state, &golden->buckets, vcore_bucket_key(PESA_STATE_STALLED, 1, 8), 0, 7);
	seen = take(*state, UINT32_MAX, 0, UINT64_MAX);
	assert_int_equal(seen.records, 1);
	assert_int_equal(seen.buckets, 3);
	assert_int_equal(seen.transfers, 1);
	assert_int_equal(seen.taken, 5);
	assert_int_equal(seen.executions, 11);
	assert_int_equal(seen.weight, (3 + 8 / 4 + 7) * (uint64_t)PESA_CYCLE);
	assert_int_equal(take(*state, UINT32_MAX, 0, UINT64_MAX).records, 0);
}

static void only_a_range_and_what_was_there_is_taken(void **state)
{
	for (uint32_t i = 0; i < 4; i++)
		entry(*state, i, 0x1000 + i)->retired[0] = 1;
	assert_int_equal(take(*state, 3, 0x1001, 0x1004).records, 2);
	assert_int_equal(take(*state, UINT32_MAX, 0, UINT64_MAX).records, 2);
}

static void records_come_in_order_of_pc(void **state)
{
	const uint64_t pc[] = {0x3000, 0x1000, 0x2000, 0x1000};
	struct seen seen;

	for (uint32_t i = 0; i < 4; i++)
		entry(*state, i, pc[i])->retired[0] = 1;
	seen = take(*state, UINT32_MAX, 0, UINT64_MAX);
	assert_int_equal(seen.records, 4);
	assert_false(seen.disordered);
}

static void what_does_not_fit_is_split(void **state)
{
	struct vcore_golden *golden = entry(*state, 0, 0x1000);
	struct seen seen;

	golden->retired[0] = 10000;
	for (uint32_t i = 0; i < 10000; i++)
		add_node(*state, &golden->transfers, 0, 0x2000 + i, 1);
	seen = take(*state, UINT32_MAX, 0, UINT64_MAX);
	assert_true(seen.records > 1);
	assert_int_equal(seen.taken, 10000);
	assert_int_equal(seen.executions, 10000);
	assert_int_equal(seen.buckets, 1);
}

/* The guest can write anything over the region. */
static void damage_ends(void **state)
{
	struct vcore_region *region = *state;
	struct vcore_golden *golden = entry(region, 0, 0x1000);
	struct vcore_node *node = (struct vcore_node *)((char *)region + VCORE_NODES_OFFSET);

	golden->retired[0] = 1;
	add_node(region, &golden->buckets, vcore_bucket_key(PESA_STATE_DRAINED, 1, 0), 0, 1);
	node->next = 1;
	take(region, UINT32_MAX, 0, UINT64_MAX);
	atomic_store(&golden->transfers, UINT32_MAX);
	take(region, UINT32_MAX, 0, UINT64_MAX);
	atomic_store(&region->golden_entries, UINT32_MAX);
	take(region, UINT32_MAX, 0, UINT64_MAX);
	region->golden_stride = 8;
	take(region, UINT32_MAX, 0, UINT64_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_region, free_region)
	const struct CMUnitTest tests[] = {
		TEST(an_entry_becomes_a_record_once),
		TEST(only_a_range_and_what_was_there_is_taken),
		TEST(records_come_in_order_of_pc),
		TEST(what_does_not_fit_is_split),
		TEST(damage_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
