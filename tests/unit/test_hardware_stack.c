// SPDX-License-Identifier: GPL-2.0-or-later
/* Call stacks that the hardware keeps become call chains of the sampled instruction. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "pesa/profile.h"
#include "tests/unit/recorded_program.h"

#define DEPTH	  16u
#define OUTER	  (TEXT + 0x00) /* calls INNER with 4 bytes, and INNER with 2 */
#define CALL	  (TEXT + 0x04)
#define SHORT	  (TEXT + 0x08)
#define INNER	  (TEXT + 0x10)
#define LEAVE	  (TEXT + 0x14) /* the return of INNER */
#define ELSEWHERE 0x900000u	/* not mapped */
#define KERNEL	  0xffffffff80000100u
#define CHAIN_MAX 64u

static const uint32_t program[] = {
	0x00000013, /* nop */
	0x00c000ef, /* jal ra, INNER */
	0x00019502, /* c.jalr a0; c.nop */
	0x00000013, /* nop */
	0x00000013, /* INNER: nop */
	0x00008067, /* ret */
};

static uint64_t chain[CHAIN_MAX];
static size_t length;
static struct pesa_profile_totals totals;

static struct pesa_error *take_group(void *context, const struct pesa_profile_sample *sample,
				     uint32_t *group)
{
	(void)context;
	*group = 0;
	length = sample->callchain_count;
	assert_true(length <= CHAIN_MAX);
	if (length)
		memcpy(chain, sample->callchain, length * sizeof(*chain));
	return NULL;
}

struct taken {
	uint64_t pc;
	struct pesa_details details;
	uint64_t flags;	   /* PESA_RECORD_*, besides HAS_DATA; 0: HAS_DETAILS */
	uint64_t bt1;	   /* 0: none */
	uint64_t next;	   /* sctrstatus.WRPTR, DEPTH for its 0; 0: unknown */
	uint64_t calls[8]; /* from, newest first; 0: no more */
	uint64_t to;	   /* of the newest */
	unsigned int full; /* so many further calls from ELSEWHERE */
	const uint64_t *kernel;
	size_t kernel_length;
};

/* Write a recording of one sample and load it: sets chain, length and totals. */
static void load(const struct taken *taken)
{
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = 42,
			 .size = sizeof(struct perf_event_attr),
			 .sample_period = 1000,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW |
					PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
			 .branch_sample_type = PERF_SAMPLE_BRANCH_USER |
					       PERF_SAMPLE_BRANCH_CALL_STACK |
					       PERF_SAMPLE_BRANCH_HW_INDEX,
			 .sample_id_all = 1},
		.name = "pesa/cycles/"};
	const struct pesa_perfdata_writer_options options = {.attributes = &attribute,
							     .attribute_count = 1,
							     .arch = "riscv64",
							     .capabilities = &capabilities,
							     .cpus = 1};
	uint32_t flags = (uint32_t)(taken->flags ? taken->flags : PESA_RECORD_HAS_DETAILS);
	struct pesa_record record = {
		.version = PESA_RECORD_VERSION,
		.xlen = 64,
		.size = htole16(PESA_RECORD_SIZE),
		.flags = htole32(flags | (taken->bt1 ? PESA_RECORD_HAS_BT1 : 0)),
		.pc = htole64(taken->pc),
		.details = htole64(pesa_details_pack(&taken->details)),
		.bt = {htole64(taken->bt1)},
	};
	const struct pesa_profile_listener listener = {.group = take_group};
	struct pesa_branch_entry entries[8 + DEPTH];
	struct pesa_sample sample = {.ip = taken->pc,
				     .pid = 7,
				     .tid = 7,
				     .time = 2000,
				     .exact_ip = true,
				     .raw = (const uint8_t *)&record,
				     .raw_size = sizeof(record),
				     .branches = (const uint8_t *)entries,
				     .branch_next = taken->next,
				     .callchain = (const uint8_t *)taken->kernel,
				     .callchain_count = taken->kernel_length};
	struct pesa_profile_options load_options;
	struct recorded_program recorded;
	struct pesa_profile *profile;

	pesa_capabilities_default(&capabilities);
	capabilities.ctr_depth = DEPTH;
	capabilities.call_stacks = 1;
	for (size_t i = 0; i < 8 && taken->calls[i]; i++)
		entries[sample.branch_count++] =
			(struct pesa_branch_entry){.from = taken->calls[i], .to = INNER};
	if (taken->to)
		entries[0].to = taken->to;
	for (unsigned int i = 0; i < taken->full; i++)
		entries[sample.branch_count++] =
			(struct pesa_branch_entry){.from = ELSEWHERE, .to = OUTER};
	recorded_program_begin(&recorded, &options, program, sizeof(program));
	assert_null(pesa_perfdata_write_sample(recorded.writer, &sample, PERF_RECORD_MISC_USER));
	assert_null(pesa_perfdata_writer_finish(recorded.writer));
	pesa_profile_options_default(&load_options);
	load_options.listener = &listener;
	assert_null(pesa_profile_load(recorded.path, &load_options, &profile));
	totals = *pesa_profile_totals(profile);
	pesa_profile_free(profile);
	recorded_program_remove(&recorded);
}

/* The user part of the chain: these addresses. */
static void check_chain(size_t count, const uint64_t *expected)
{
	assert_int_equal(length, count + 1);
	assert_int_equal(chain[0], (uint64_t)PERF_CONTEXT_USER);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(chain[i + 1], expected[i]);
}

#define CHECK(...)                                                           \
	do {                                                                 \
		const uint64_t expected[] = {__VA_ARGS__};                   \
		check_chain(sizeof(expected) / sizeof(*expected), expected); \
	} while (0)

static const struct pesa_details stalled = {.state = PESA_STATE_STALLED};

static void callers_are_return_addresses(void **state)
{
	(void)state;
	load(&(struct taken){.pc = INNER, .details = stalled, .next = 2, .calls = {CALL, SHORT}});
	CHECK(INNER, CALL + 4, SHORT + 2);
	assert_int_equal(totals.call_stacks, 1);
	assert_int_equal(totals.cut_call_stacks, 0);
}

static void a_call_without_text_is_two_bytes_long(void **state)
{
	(void)state;
	load(&(struct taken){.pc = INNER, .details = stalled, .next = 1, .calls = {ELSEWHERE}});
	CHECK(INNER, ELSEWHERE + 2);
}

static void a_call_of_the_sampled_cycle_is_taken_back(void **state)
{
	/* OUTER's nop and the call retired, with a call's target. */
	const struct pesa_details both = {
		.state = PESA_STATE_RETIRING, .instret = 2, .transfers = 1, .transfer_offset = {2}};

	(void)state;
	load(&(struct taken){
		.pc = OUTER, .details = both, .bt1 = INNER, .next = 2, .calls = {CALL, ELSEWHERE}});
	CHECK(OUTER, ELSEWHERE + 2);
}

static void a_return_of_the_sampled_cycle_is_taken_back(void **state)
{
	const struct pesa_details both = {
		.state = PESA_STATE_RETIRING, .instret = 2, .transfers = 1, .transfer_offset = {2}};

	(void)state;
	load(&(struct taken){
		.pc = INNER, .details = both, .bt1 = CALL + 4, .next = 1, .calls = {ELSEWHERE}});
	CHECK(INNER, CALL + 4, ELSEWHERE + 2);
	/* Hardware that had not recorded the return yet. */
	load(&(struct taken){.pc = INNER,
			     .details = both,
			     .bt1 = CALL + 4,
			     .next = 2,
			     .calls = {CALL, ELSEWHERE}});
	CHECK(INNER, CALL + 4, ELSEWHERE + 2);
}

static void a_return_that_flushed_leaves_its_function(void **state)
{
	const struct pesa_details flushed = {.state = PESA_STATE_FLUSHED};

	(void)state;
	load(&(struct taken){
		.pc = LEAVE, .details = flushed, .next = 1, .calls = {ELSEWHERE}, .to = OUTER});
	CHECK(LEAVE, OUTER + 1, ELSEWHERE + 2);
	/* A call that flushed has been recorded. */
	load(&(struct taken){
		.pc = SHORT, .details = flushed, .next = 2, .calls = {SHORT, ELSEWHERE}});
	CHECK(SHORT, ELSEWHERE + 2);
}

static void the_instruction_of_another_event_has_retired(void **state)
{
	(void)state;
	load(&(struct taken){
		.pc = CALL, .flags = PESA_RECORD_HAS_DATA, .next = 2, .calls = {CALL, ELSEWHERE}});
	CHECK(CALL, ELSEWHERE + 2);
}

static void the_kernels_part_is_kept(void **state)
{
	const uint64_t kernel[] = {(uint64_t)PERF_CONTEXT_KERNEL, KERNEL, KERNEL + 0x100,
				   (uint64_t)PERF_CONTEXT_USER,	  INNER,  0x1234};

	(void)state;
	load(&(struct taken){.pc = KERNEL,
			     .details = stalled,
			     .next = 1,
			     .calls = {CALL},
			     .kernel = kernel,
			     .kernel_length = 6});
	assert_int_equal(length, 6);
	assert_memory_equal(chain, kernel, 5 * sizeof(*chain));
	assert_int_equal(chain[5], CALL + 4);
	/* Without the place: the function that was called last. */
	load(&(struct taken){.pc = KERNEL,
			     .details = stalled,
			     .next = 1,
			     .calls = {CALL},
			     .kernel = kernel,
			     .kernel_length = 3});
	assert_int_equal(length, 6);
	assert_int_equal(chain[4], INNER);
}

static void a_full_stack_may_lack_calls(void **state)
{
	(void)state;
	load(&(struct taken){.pc = INNER, .details = stalled, .next = DEPTH, .full = DEPTH});
	assert_int_equal(length, DEPTH + 2);
	assert_int_equal(totals.cut_call_stacks, 1);
}

static void a_stack_that_was_full_lacks_calls(void **state)
{
	(void)state;
	/* 19 calls, of which 16 were kept, and 17 returned. */
	load(&(struct taken){.pc = INNER, .details = stalled, .next = 2, .calls = {0}});
	assert_int_equal(totals.cut_call_stacks, 1);
	load(&(struct taken){
		.pc = INNER, .details = stalled, .next = 5, .calls = {CALL, CALL, CALL}});
	assert_int_equal(totals.cut_call_stacks, 1);
	load(&(struct taken){
		.pc = INNER, .details = stalled, .next = 3, .calls = {CALL, CALL, CALL}});
	assert_int_equal(totals.cut_call_stacks, 0);
	/* The pointer is not known. */
	load(&(struct taken){.pc = INNER, .details = stalled, .next = 0, .calls = {CALL, CALL}});
	assert_int_equal(totals.cut_call_stacks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_return_addresses),
		cmocka_unit_test(a_call_without_text_is_two_bytes_long),
		cmocka_unit_test(a_call_of_the_sampled_cycle_is_taken_back),
		cmocka_unit_test(a_return_of_the_sampled_cycle_is_taken_back),
		cmocka_unit_test(a_return_that_flushed_leaves_its_function),
		cmocka_unit_test(the_instruction_of_another_event_has_retired),
		cmocka_unit_test(the_kernels_part_is_kept),
		cmocka_unit_test(a_full_stack_may_lack_calls),
		cmocka_unit_test(a_stack_that_was_full_lacks_calls),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
