/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registers of the newest instructions, and the walk over frames in this process's own memory. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tools/vcore/stack/register_log.h"

#define RA 1
#define S0 8

/* Note an instruction whose ra is `mark`. */
static void note(struct register_log *log, uint64_t pc, uint64_t mark)
{
	register_log_next(log, pc)[RA] = mark;
}

static void the_registers_are_those_before_the_sampled_instruction(void **state)
{
	struct register_log *log = register_log_create(1u << RA);

	(void)state;
	assert_int_equal(register_log_wanted(log), 1u << RA);
	for (uint64_t i = 0; i < 10; i++)
		note(log, 0x1000 + 4 * i, i);
	/* The tenth waits; the batch has the three before it. */
	register_log_begin(log, 3, true);
	assert_int_equal(register_log_find(log, 0, 0x1018)[RA], 6);
	assert_int_equal(register_log_find(log, 2, 0x1020)[RA], 8);
	assert_int_equal(register_log_find(log, -2, 0x1010)[RA], 4);
	register_log_end(log);
	assert_int_equal(register_log_find(log, -1, 0x1020)[RA], 8);
	register_log_begin(log, 1, false);
	assert_int_equal(register_log_find(log, 0, 0x1024)[RA], 9);
	register_log_free(log);
}

static void of_a_loop_it_is_the_same_iteration(void **state)
{
	struct register_log *log = register_log_create(1u << RA);

	(void)state;
	for (uint64_t i = 0; i < 3000; i++)
		note(log, 0x1000 + 4 * (i & 1), i);
	register_log_begin(log, 2, true);
	assert_int_equal(register_log_find(log, 0, 0x1004)[RA], 2997);
	assert_int_equal(register_log_find(log, -10, 0x1004)[RA], 2987);
	/* A loop of one instruction. */
	for (uint64_t i = 3000; i < 3100; i++)
		note(log, 0x2000, i);
	register_log_begin(log, 2, true);
	assert_int_equal(register_log_find(log, 0, 0x2000)[RA], 3097);
	register_log_end(log);
	assert_int_equal(register_log_find(log, -1, 0x2000)[RA], 3098);
	/* It was overwritten. */
	assert_null(register_log_find(log, -2000, 0x1004));
	register_log_free(log);
}

static void a_restarted_instruction_was_noted_twice(void **state)
{
	struct register_log *log = register_log_create(1u << RA);
	const uint64_t pcs[] = {0x1000, 0x1004, 0x1008, 0x1008, 0x100c};

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		note(log, pcs[i], i);
	/* The batch has three steps: 0x1004 is the second. */
	register_log_begin(log, 3, true);
	assert_int_equal(register_log_find(log, 1, 0x1004)[RA], 1);
	assert_int_equal(register_log_find(log, 0, 0x1000)[RA], 0);
	assert_null(register_log_find(log, 2, 0x2000));
	register_log_free(log);
}

static void the_walk_is_that_of_the_kernel(void **state)
{
	/* Frames of fp and ra, innermost first; fp is the address behind a frame. */
	uint64_t frame[3][2], registers[VCORE_REGISTERS] = {0};
	uint64_t entry[REGISTER_LOG_FRAMES + 1];
	bool cut;

	(void)state;
	for (int i = 0; i < 3; i++) {
		frame[i][0] = (uint64_t)(uintptr_t)frame + (uint64_t)(i + 2) * sizeof(frame[0]);
		frame[i][1] = 0x2000 + (uint64_t)i;
	}
	frame[2][0] = 0;
	registers[S0] = (uint64_t)(uintptr_t)frame + sizeof(frame[0]);
	registers[RA] = 0x1500;
	/* ra stands for the first frame's. */
	assert_int_equal(register_log_walk(0, registers, 0x1000, entry, &cut), 5);
	assert_false(cut);
	assert_true(entry[0] == (uint64_t)PERF_CONTEXT_USER);
	assert_int_equal(entry[1], 0x1000);
	assert_int_equal(entry[2], 0x1500);
	assert_int_equal(entry[3], 0x2001);
	assert_int_equal(entry[4], 0x2002);
	registers[RA] = 0;
	assert_int_equal(register_log_walk(0, registers, 0x1000, entry, &cut), 5);
	assert_int_equal(entry[2], 0x2000);
	/* A frame that points to itself. */
	frame[0][0] = registers[S0];
	assert_int_equal(register_log_walk(0, registers, 0x1000, entry, &cut),
			 REGISTER_LOG_FRAMES + 1);
	assert_true(cut);
	registers[S0] = 24;
	assert_int_equal(register_log_walk(0, registers, 0x1000, entry, &cut), 2);
	assert_false(cut);
}

static void a_copy_ends_where_no_memory_is_mapped(void **state)
{
	const size_t page = 4096;
	char bytes[8192];
	char *memory =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_false(munmap(memory + 2 * page, page));
	memory[2 * page - 1] = 7;
	assert_int_equal(
		register_log_copy((uint64_t)(uintptr_t)memory, page + 96, bytes, sizeof(bytes)),
		page - 96);
	assert_int_equal(bytes[page - 97], 7);
	assert_int_equal(register_log_copy((uint64_t)(uintptr_t)memory, 2 * page, bytes, 8), 0);
	munmap(memory, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registers_are_those_before_the_sampled_instruction),
		cmocka_unit_test(of_a_loop_it_is_the_same_iteration),
		cmocka_unit_test(a_restarted_instruction_was_noted_twice),
		cmocka_unit_test(the_walk_is_that_of_the_kernel),
		cmocka_unit_test(a_copy_ends_where_no_memory_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
