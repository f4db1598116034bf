/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program that counts samples in the kernel, compiled for this machine: what it does with
 * samples, against counting them one by one in a list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/pesad/bpf/aggregate.h"

/* ---- In the place of the kernel, and of libbpf's header ------------------------------------ */

#define __BPF_HELPERS__
#define SEC(name)
#define __ksym
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#undef __always_inline
#define __always_inline	      inline
#define preserve_access_index unused
#define CONSTANT	      static
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#define CPUS  2u
#define SLOTS 64u /* the most that a test asks for */

static struct {
	struct pesa_aggregate_slot slots[CPUS * 2 * SLOTS];
	struct pesa_aggregate_cpu cpus[CPUS];
	uint32_t cpu, pid, uid, wanted_pid, wanted_uid;
	char comm[PESA_AGGREGATE_COMM], wanted_comm[PESA_AGGREGATE_COMM];
	uint32_t group; /* index in the filter, of which the task is below */
	const void *task;
} machine;

int pesa_aggregate(void *context);
void *bpf_cast_to_kern_ctx(void *context);

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_current_task_under_cgroup(void *map, uint32_t index);

static uint32_t bpf_get_smp_processor_id(void)
{
	return machine.cpu;
}

static uint64_t bpf_get_current_pid_tgid(void)
{
	return (uint64_t)machine.pid << 32 | (machine.pid + 1);
}

static uint64_t bpf_get_current_uid_gid(void)
{
	return UINT64_C(77) << 32 | machine.uid;
}

static long bpf_get_current_comm(void *text, uint32_t size)
{
	memcpy(text, machine.comm, size);
	return 0;
}

static void *bpf_get_current_task_btf(void)
{
	return (void *)(uintptr_t)machine.task;
}

static long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	if (!from)
		return -14;
	memcpy(to, from, size);
	return 0;
}

#include "daemon/pesad/bpf/aggregate.bpf.c"

void *bpf_cast_to_kern_ctx(void *context)
{
	return context;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	if (map == &slots)
		return index < CPUS * 2 * settings.slots ? &machine.slots[index] : NULL;
	if (map == &cpus)
		return index < CPUS ? &machine.cpus[index] : NULL;
	if (map == &pids)
		return index == machine.wanted_pid ? &machine : NULL;
	if (map == &uids)
		return index == machine.wanted_uid ? &machine : NULL;
	assert_ptr_equal(map, &comms);
	return memcmp(key, machine.wanted_comm, PESA_AGGREGATE_COMM) ? NULL : &machine;
}

static long bpf_current_task_under_cgroup(void *map, uint32_t index)
{
	assert_ptr_equal(map, &cgroups);
	return index == machine.group;
}

/* ---- Samples ------------------------------------------------------------------------------- */

struct given {
	uint32_t pid, tid, execs, data, lost;
	uint64_t pc, started, pages, period, time;
};

static uint64_t total; /* what the event has counted */

static int give_raw(const struct given *given, const void *bytes, uint32_t size)
{
	struct mm_struct mm = {.exec_vm = given->pages};
	struct task_struct leader = {.start_boottime = given->started};
	struct task_struct task = {
		.group_leader = &leader, .mm = &mm, .self_exec_id = given->execs};
	struct perf_raw_record raw = {.frag = {.data = (void *)(uintptr_t)bytes, .size = size}};
	struct perf_sample_data data = {.period = given->period,
					.time = given->time,
					.tid_entry = {given->pid, given->tid},
					.raw = bytes ? &raw : NULL};
	struct perf_event event = {0};
	struct bpf_perf_event_data_kern context = {.data = &data, .event = &event};

	total += given->period;
	event.count.a.a.counter = (int64_t)total;
	machine.task = &task;
	return pesa_aggregate(&context);
}

static struct pesa_record record_of(const struct given *given)
{
	return (struct pesa_record){
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = PESA_RECORD_SIZE,
		.flags = PESA_RECORD_HAS_DATA | given->lost << PESA_RECORD_LOST_SHIFT,
		.pc = given->pc,
		.data = given->data,
	};
}

static int give(const struct given *given)
{
	struct pesa_record record = record_of(given);

	return give_raw(given, &record, sizeof(record));
}

static int setup(void **state)
{
	(void)state;
	memset(&machine, 0, sizeof(machine));
	machine.group = UINT32_MAX;
	settings = (struct pesa_aggregate_settings){.slots = SLOTS, .cpus = CPUS};
	bank = 0;
	total = 0;
	for (unsigned int i = 0; i < CPUS; i++)
		machine.cpus[i].watched = 1;
	return 0;
}

/* The slots of a bank that hold something. */
static size_t used(uint32_t which, const struct pesa_aggregate_slot **first)
{
	size_t count = 0;

	for (uint32_t i = 0; i < settings.slots; i++) {
		const struct pesa_aggregate_slot *slot = &machine.slots[which * settings.slots + i];

		if (slot->count && !count++)
			*first = slot;
	}
	return count;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static const struct given one = {
	.pid = 10, .tid = 11, .execs = 3, .pc = 0x1000, .started = 5, .pages = 7, .period = 100};

static void equal_samples_are_one_pair(void **state)
{
	const struct pesa_aggregate_slot *slot = NULL;
	struct given given = one;

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		given.time = 1000 + i;
		given.period = 100 + i;
		given.tid = 11 + i;
		given.lost = i;
		given.data = i;
		assert_int_equal(give(&given), 0);
	}
	assert_int_equal(used(0, &slot), 1);
	assert_int_equal(slot->count, 5);
	assert_int_equal(slot->periods, 510);
	assert_int_equal(slot->first, 1000);
	assert_int_equal(slot->last, 1004);
	assert_int_equal(slot->lost, 10);
	assert_int_equal(slot->data, 4);
	assert_int_equal(slot->pair.tid, 0);
	assert_int_equal(slot->pair.record.flags, PESA_RECORD_HAS_DATA);
	assert_int_equal(slot->pair.record.data, 0);
	assert_int_equal(machine.cpus[0].counted, 5);
	assert_int_equal(machine.cpus[0].used[0], 1);
}

static void what_differs_is_another_pair(void **state)
{
	const struct pesa_aggregate_slot *slot = NULL;
	struct given other[7];

	(void)state;
	for (unsigned int i = 0; i < 7; i++)
		other[i] = one;
	other[1].pid++;
	other[2].execs++;
	other[3].started++;
	other[4].pages++;
	other[5].pc++;
	other[6].tid++;
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(give(&other[i]), 0);
	assert_int_equal(used(0, &slot), 6); /* but for the thread */
	settings.threads = 1;
	assert_int_equal(give(&other[0]), 0);
	assert_int_equal(give(&other[6]), 0);
	assert_int_equal(used(0, &slot), 8);
}

static void banks_and_cpus_are_apart(void **state)
{
	const struct pesa_aggregate_slot *slot = NULL;

	(void)state;
	give(&one);
	bank = 1;
	give(&one);
	give(&one);
	machine.cpu = 1;
	give(&one);
	assert_int_equal(used(0, &slot), 1);
	assert_int_equal(slot->count, 1);
	assert_int_equal(used(1, &slot), 1);
	assert_int_equal(slot->count, 2);
	assert_int_equal(used(2, &slot), 0);
	assert_int_equal(used(3, &slot), 1);
}

/* Every sample is in the pair that a list would have it in, or goes through the ring. */
static void counts_are_those_of_a_list(void **state)
{
	struct {
		struct given given;
		uint64_t count;
	} list[100] = {0};
	uint64_t overflowed = 0;

	(void)state;
	settings.slots = 32;
	srandom(1);
	for (unsigned int i = 0; i < 100; i++)
		list[i].given = (struct given){.pid = (uint32_t)random() % 3,
					       .execs = (uint32_t)random() % 2,
					       .pc = 0x1000 + i * 2,
					       .period = 50};
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int at = (unsigned int)random() % 100;

		if (give(&list[at].given))
			overflowed++;
		else
			list[at].count++;
	}
	assert_true(overflowed > 1000);
	assert_int_equal(machine.cpus[0].overflowed, overflowed);
	assert_int_equal(machine.cpus[0].counted, 20000 - overflowed);
	assert_true(machine.cpus[0].used[0] > 24 && machine.cpus[0].used[0] <= 32);
	for (unsigned int i = 0; i < 32; i++) {
		const struct pesa_aggregate_slot *slot = &machine.slots[i];
		unsigned int at = (unsigned int)(slot->pair.record.pc - 0x1000) / 2;

		if (!slot->count)
			continue;
		assert_in_range(at, 0, 99);
		assert_int_equal(slot->count, list[at].count);
		assert_int_equal(slot->periods, list[at].count * 50);
		assert_int_equal(slot->pair.pid, list[at].given.pid);
		assert_int_equal(slot->pair.execs, list[at].given.execs);
		list[at].count = 0;
	}
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(list[i].count, 0);
}

static void no_record_of_ours_goes_through_the_ring(void **state)
{
	struct pesa_record record = record_of(&one);

	(void)state;
	assert_int_equal(give_raw(&one, NULL, 0), 1);
	assert_int_equal(give_raw(&one, &record, sizeof(record) - 8), 1);
	record.version++;
	assert_int_equal(give_raw(&one, &record, sizeof(record)), 1);
	assert_int_equal(machine.cpus[0].passed, 3);
	assert_int_equal(machine.cpus[0].counted, 0);
}

static void filters_have_to_agree(void **state)
{
	struct given given = one;

	(void)state;
	given.lost = 2;
	settings.by_pid = settings.by_uid = settings.by_comm = 1;
	settings.cgroups = 3;
	machine.wanted_pid = machine.pid = 10;
	machine.wanted_uid = machine.uid = 20;
	strcpy(machine.comm, "worker");
	strcpy(machine.wanted_comm, "worker");
	machine.group = 2;
	assert_int_equal(give(&given), 0);
	assert_int_equal(machine.cpus[0].counted, 1);
	machine.pid++;
	give(&given);
	machine.pid--;
	machine.uid++;
	give(&given);
	machine.uid--;
	machine.comm[6] = 's';
	give(&given);
	machine.comm[6] = '\0';
	machine.group = 3; /* one more than there are */
	assert_int_equal(give(&given), 0);
	assert_int_equal(machine.cpus[0].counted, 1);
	assert_int_equal(machine.cpus[0].filtered, 4);
	assert_int_equal(machine.cpus[0].lost, 8);
}

static void dropped_samples_are_missed(void **state)
{
	struct given given = one;

	(void)state;
	machine.cpus[0].period = 100;
	give(&given);
	total += 290; /* three that the kernel did not show */
	give(&given);
	assert_int_equal(machine.cpus[0].missed, 3);
	machine.cpus[0].watched = 0;
	total += 100;
	give(&given);
	machine.cpus[0].watched = 1;
	machine.cpus[0].seen = PESA_AGGREGATE_UNSEEN; /* another event */
	total += 500;
	give(&given);
	assert_int_equal(machine.cpus[0].missed, 3);
	assert_int_equal(machine.cpus[0].counted, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(equal_samples_are_one_pair, setup),
		cmocka_unit_test_setup(what_differs_is_another_pair, setup),
		cmocka_unit_test_setup(banks_and_cpus_are_apart, setup),
		cmocka_unit_test_setup(counts_are_those_of_a_list, setup),
		cmocka_unit_test_setup(no_record_of_ours_goes_through_the_ring, setup),
		cmocka_unit_test_setup(filters_have_to_agree, setup),
		cmocka_unit_test_setup(dropped_samples_are_missed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
