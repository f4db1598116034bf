// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk against hand-made texts: each behaviour by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pesa/walk.h"
#include "tests/walk_program.h"

/* 0x100: a straight line of 2- and 4-byte instructions; 0x200..: jumps. */
static const struct insn demo[] = {
	{.address = 0x100, .length = 4},
	{.address = 0x104, .length = 2},
	{.address = 0x106, .length = 4},
	{.address = 0x10a, .length = 2},
	{.address = 0x10c, .length = 4, .flow = PESA_FLOW_BRANCH, .target = 0x200},
	{.address = 0x110, .length = 2},
	{.address = 0x112, .length = 4, .flow = PESA_FLOW_RETURN},
	{.address = 0x116, .status = PESA_TEXT_UNDECODABLE},
	{.address = 0x200, .length = 2, .flow = PESA_FLOW_JUMP, .target = 0x300},
	{.address = 0x202, .length = 4},
	{.address = 0x300, .length = 4, .flow = PESA_FLOW_BRANCH, .target = 0x100},
	{.address = 0x304, .length = 2},
	{.address = 0x306, .length = 4, .flow = PESA_FLOW_INDIRECT},
	{.address = 0x400, .status = PESA_TEXT_MISSING},
	{.address = 0x500, .length = 4},
	{.address = 0x504, .status = PESA_TEXT_UNDECODABLE},
	{.address = 0x600, .length = 4, .flow = PESA_FLOW_TRAP},
	{.address = 0x604, .length = 4},
	{.address = 0x700, .length = 4, .flow = PESA_FLOW_BRANCH, .target = 0x100},
	{.address = 0x704, .length = 4},
	{.address = 0x708, .length = 4, .flow = PESA_FLOW_TRAP},
};

static struct pesa_walk_result walk_of(const struct pesa_record *record,
				       const struct pesa_branch_entry *branches, size_t count)
{
	struct program program = {demo, sizeof(demo) / sizeof(*demo)};
	const struct pesa_text text = {read_insn, &program};
	struct pesa_walk_result result;

	memset(&result, 0xa5, sizeof(result));
	pesa_walk(record, &text, branches, count, &result);
	return result;
}

/* The steps with weight have these addresses, in this order (0 ends), each with 1/n of the cycle.
 */
static void assert_steps(const struct pesa_walk_result *result, unsigned int n, ...)
{
	va_list addresses;
	unsigned int i = 0;

	assert_int_equal(total_of(result), PESA_CYCLE);
	va_start(addresses, n);
	for (;;) {
		uint64_t address = va_arg(addresses, unsigned int);

		if (!address)
			break;
		assert_true(i < result->step_count);
		assert_int_equal(result->step[i].address, address);
		assert_int_equal(result->step[i].weight, PESA_CYCLE / n);
		i++;
	}
	va_end(addresses);
	while (i < result->step_count)
		assert_int_equal(result->step[i++].weight, 0);
}

/* ---- Details and raw payloads -----------------------------------------------------------------
 */

static void details_unpack_what_was_packed(void **state)
{
	(void)state;
	for (uint64_t word = 0; word < UINT64_C(1) << 32; word += 0x10037) {
		struct pesa_details details = pesa_details_unpack(word);

		assert_int_equal(pesa_details_pack(&details), word);
	}
	/* INSTRET 4, RSTATE 0, CTs 2 at 1 and 3, CAUSEOFFSET 5, CAUSE bits 3 and 4: by hand. */
	struct pesa_details details = pesa_details_unpack(0x4 | 2 << 6 | 1 << 10 | 3 << 14 |
							  5 << 18 | UINT64_C(0x18) << 22);

	assert_int_equal(details.instret, 4);
	assert_int_equal(details.state, PESA_STATE_RETIRING);
	assert_int_equal(details.transfers, 2);
	assert_int_equal(details.transfer_offset[0], 1);
	assert_int_equal(details.transfer_offset[1], 3);
	assert_int_equal(details.cause_offset, 5);
	assert_int_equal(details.cause, PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS);
}

static void raw_payloads_that_cannot_be_are_refused(void **state)
{
	struct pesa_record record = record_of(0x100, (struct pesa_details){.instret = 1}, 0, 0),
			   read;
	struct pesa_error *error;
	uint8_t raw[64] = {0};
	static const struct {
		size_t size;
		unsigned int at;
		uint8_t value;
	} wrong[] = {
		{47, 0, 1},  /* too short */
		{52, 0, 2},  /* version */
		{52, 1, 63}, /* xlen */
		{52, 2, 47}, /* size below the least */
		{52, 2, 53}, /* size above what is there */
		{0, 0, 1},
	};

	(void)state;
	memcpy(raw, &record, sizeof(record));
	/* perf pads the payload. */
	assert_null(pesa_record_read(raw, 52, &read));
	assert_memory_equal(&read, &record, sizeof(record));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(raw, &record, sizeof(record));
		raw[wrong[i].at] = wrong[i].value;
		error = pesa_record_read(raw, wrong[i].size, &read);
		assert_non_null(error);
		assert_int_equal(error->code, PESA_ERROR_FORMAT);
		pesa_error_free(error);
	}
}

/* ---- One behaviour each ------------------------------------------------------------------------
 */

static void retiring_in_a_straight_line_shares_the_cycle(void **state)
{
	struct pesa_record record = record_of(0x100, (struct pesa_details){.instret = 4}, 0, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 4, 0x100, 0x104, 0x106, 0x10a, 0);
	assert_int_equal(result.transfer_count, 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(result.step[i].role, PESA_ROLE_RETIRED);
		assert_int_equal(result.step[i].transfer, PESA_STEP_TRANSFER_NONE);
	}
}

static void both_targets_are_followed(void **state)
{
	struct pesa_record record =
		record_of(0x10a,
			  (struct pesa_details){.instret = 5,
						.transfers = 2,
						.transfer_offset = {2, 3},
						.cause_offset = 4,
						.cause = PESA_CAUSE_ICACHE_MISS},
			  0x200, 0x300);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 5, 0x10a, 0x10c, 0x200, 0x300, 0x304, 0);
	assert_int_equal(result.transfer_count, 2);
	assert_int_equal(result.transfer[0].from, 0x10c);
	assert_int_equal(result.transfer[0].to, 0x200);
	assert_int_equal(result.transfer[1].from, 0x200);
	assert_int_equal(result.transfer[1].to, 0x300);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_TAKEN);
	assert_int_equal(result.step[3].transfer, PESA_STEP_TRANSFER_NONE);
	assert_int_equal(result.step[3].cause, PESA_CAUSE_ICACHE_MISS);
	assert_int_equal(result.step[2].cause, 0);
}

static void cause_behind_the_last_is_blamed_without_weight(void **state)
{
	struct pesa_record record =
		record_of(0x100,
			  (struct pesa_details){
				  .instret = 2, .cause_offset = 3, .cause = PESA_CAUSE_DCACHE_MISS},
			  0, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 2, 0x100, 0x104, 0);
	assert_int_equal(result.step_count, 3);
	assert_int_equal(result.step[2].address, 0x106);
	assert_int_equal(result.step[2].role, PESA_ROLE_BLAMED);
	assert_int_equal(result.step[2].cause, PESA_CAUSE_DCACHE_MISS);
}

static void without_retirement_the_pc_has_the_whole_cycle(void **state)
{
	static const struct {
		uint8_t state, role;
	} cases[] = {
		{PESA_STATE_STALLED, PESA_ROLE_STALLED},
		{PESA_STATE_FLUSHED, PESA_ROLE_FLUSH_CAUSE},
		{PESA_STATE_DRAINED, PESA_ROLE_DRAINED_NEXT},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pesa_record record = record_of(0x9990, /* no text there: none is needed */
						      (struct pesa_details){.state = cases[i].state,
									    .cause_offset = 1,
									    .cause = 0x18},
						      0, 0);
		struct pesa_walk_result result = walk_of(&record, NULL, 0);

		assert_steps(&result, 1, 0x9990, 0);
		assert_int_equal(result.step[0].state, cases[i].state);
		assert_int_equal(result.step[0].role, cases[i].role);
		assert_int_equal(result.step[0].cause, 0x18);
	}
}

static void a_jump_needs_no_target_and_a_branch_at_a_known_offset_neither(void **state)
{
	/* A core with offsets but without target registers. */
	struct pesa_record record = record_of(
		0x10a,
		(struct pesa_details){.instret = 5, .transfers = 2, .transfer_offset = {2, 3}}, 0,
		0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 5, 0x10a, 0x10c, 0x200, 0x300, 0x304, 0);
	assert_int_equal(result.transfer_count, 2);
}

static void three_transfers_follow_where_the_text_leaves_no_choice(void **state)
{
	/* branch (bt1), jump (bt2), then a branch that must be taken: one transfer is left. */
	struct pesa_record record = record_of(
		0x10c,
		(struct pesa_details){.instret = 5, .transfers = 3, .transfer_offset = {1, 2}},
		0x200, 0x300);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	/* 0x300 is taken to 0x100, or falls through to 0x304 and 0x306, which is indirect. */
	assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_TRANSFERS], 2 * (PESA_CYCLE / 5));
	assert_int_equal(result.step[2].transfer, PESA_STEP_TRANSFER_UNKNOWN);
	/* With one more instruction the way over the indirect jump has two places left to be. */
	record = record_of(
		0x10c,
		(struct pesa_details){.instret = 4, .transfers = 4, .transfer_offset = {1, 2}},
		0x200, 0x300);
	result = walk_of(&record, NULL, 0);
	/* Two more transfers among 0x300 and what follows: only taken 0x300 and then a trap fits.
	 */
	assert_steps(&result, 4, 0x10c, 0x200, 0x300, 0x100, 0);
}

static void branch_stack_supplies_the_rest_and_is_checked(void **state)
{
	struct pesa_record record = record_of(
		0x10c,
		(struct pesa_details){.instret = 5, .transfers = 3, .transfer_offset = {1, 2}},
		0x200, 0x300);
	struct pesa_branch_entry branches[] = {
		{.from = 0x300, .to = 0x100}, /* newest */
		{.from = 0x200, .to = 0x300},
		{.from = 0x10c, .to = 0x200},
		{.from = 0x999, .to = 0x998},
	};
	struct pesa_walk_result result = walk_of(&record, branches, 4);

	(void)state;
	assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0x100, 0x104, 0);
	assert_int_equal(result.transfer_count, 3);

	/* Only the newest one is there: it is the third transfer. */
	result = walk_of(&record, branches, 1);
	assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0x100, 0x104, 0);

	/* One that contradicts bt2 is not of this cycle, and not used. */
	branches[1].to = 0x202;
	result = walk_of(&record, branches, 4);
	assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_TRANSFERS], 2 * (PESA_CYCLE / 5));

	/* Nor one that left from elsewhere. */
	branches[1].to = 0x300;
	branches[0].from = 0x110;
	result = walk_of(&record, branches, 4);
	assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0);

	/* An indirect jump without targets in the record: the stack tells. */
	record = record_of(
		0x304,
		(struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {2, 0}}, 0,
		0);
	branches[0] = (struct pesa_branch_entry){.from = 0x306, .to = 0x100};
	result = walk_of(&record, branches, 1);
	assert_steps(&result, 3, 0x304, 0x306, 0x100, 0);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 3, 0x304, 0x306, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_TRANSFERS], PESA_CYCLE / 3);

	/* The text allows both targets: the record's own is that of this cycle. */
	record.bt[0] = 0x300;
	record.flags |= PESA_RECORD_HAS_BT1;
	result = walk_of(&record, branches, 1);
	assert_steps(&result, 3, 0x304, 0x306, 0x300, 0);
}

static void what_the_branch_stack_leaves_out_is_not_used(void **state)
{
	struct pesa_record record = record_of(
		0x10c,
		(struct pesa_details){.instret = 5, .transfers = 3, .transfer_offset = {1, 2}},
		0x200, 0x300);
	/* Targets that are hidden (0), or that none can be (odd). */
	static const struct pesa_branch_entry newest[] = {
		{.from = 0x300, .to = 0},
		{.from = 0x300, .to = 0x999},
	};
	struct pesa_walk_result hidden, odd;

	(void)state;
	for (size_t i = 0; i < sizeof(newest) / sizeof(newest[0]); i++) {
		struct pesa_walk_result result = walk_of(&record, &newest[i], 1);

		assert_steps(&result, 5, 0x10c, 0x200, 0x300, 0x100, 0x104, 0);
		assert_int_equal(result.transfer_count, 3);
	}
	/* Where it left from is known by the text then. */
	record = record_of(
		0x304,
		(struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {2, 0}}, 0,
		0);
	hidden = walk_of(&record, &(struct pesa_branch_entry){.from = 0, .to = 0x100}, 1);
	assert_steps(&hidden, 3, 0x304, 0x306, 0x100, 0);
	odd = walk_of(&record, &(struct pesa_branch_entry){.from = 0x999, .to = 0x100}, 1);
	assert_steps(&odd, 3, 0x304, 0x306, 0x100, 0);
}

static void a_trap_may_come_behind_any_instruction(void **state)
{
	/* Behind the second of three plain ones, and twice behind the same. */
	struct pesa_record record = record_of(
		0x100,
		(struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {2, 0}},
		0x500, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 3, 0x100, 0x104, 0x500, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_NONE);
	assert_int_equal(result.transfer[0].from, 0x104);

	record = record_of(
		0x10c,
		(struct pesa_details){.instret = 2, .transfers = 2, .transfer_offset = {1, 1}},
		0x200, 0x500);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 2, 0x10c, 0x500, 0);
	assert_int_equal(result.step[0].transfer, PESA_STEP_TRANSFER_TAKEN);
	assert_int_equal(result.transfer_count, 2);
	assert_int_equal(result.transfer[1].from, 0x200);
}

static void a_trap_without_a_target_is_known_by_the_text(void **state)
{
	/* At a known offset: behind a plain instruction it can be nothing else. */
	struct pesa_record record = record_of(
		0x100, (struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {2}},
		0, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);
	const struct pesa_branch_entry trap = {.from = 0x104, .to = 0x500};

	(void)state;
	assert_steps(&result, 3, 0x100, 0x104, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_NONE);
	/* Behind a branch that is the last, or a jump: these, and not a trap. */
	record = record_of(
		0x10a, (struct pesa_details){.instret = 2, .transfers = 1, .transfer_offset = {2}},
		0, 0);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 2, 0x10a, 0x10c, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_TAKEN);
	record = record_of(
		0x304, (struct pesa_details){.instret = 2, .transfers = 1, .transfer_offset = {2}},
		0, 0);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 2, 0x304, 0x306, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_TAKEN);
	/* The branch stack names the instruction that had not retired, with offsets and without. */
	for (uint8_t offset = 0; offset < 2; offset++) {
		record = record_of(0x100,
				   (struct pesa_details){.instret = 2,
							 .transfers = 1,
							 .transfer_offset = {offset}},
				   0, 0);
		result = walk_of(&record, &trap, 1);
		assert_steps(&result, 2, 0x100, 0x500, 0);
		assert_int_equal(result.step[0].transfer, PESA_STEP_TRANSFER_NONE);
		assert_int_equal(result.transfer_count, 1);
	}
}

/*
 * A transfer more than the record places: of the last instruction, or a trap.  Were that unknown, the
 * directions that are known of the branch would be those in which it is not taken.
 */
static void a_branch_is_rather_taken_than_followed_by_a_trap(void **state)
{
	const struct pesa_record three = record_of(
		0x10c,
		(struct pesa_details){.instret = 3, .transfers = 3, .transfer_offset = {1, 2}},
		0x200, 0x300);
	struct pesa_record record = three;
	struct pesa_walk_result result = walk_of(&three, NULL, 0);
	const struct pesa_branch_entry trap[] = {{.from = 0x304, .to = 0x500},
						 {.from = 0x200, .to = 0x300},
						 {.from = 0x10c, .to = 0x200}};

	(void)state;
	assert_steps(&result, 3, 0x10c, 0x200, 0x300, 0);
	assert_int_equal(result.step[2].transfer, PESA_STEP_TRANSFER_TAKEN);
	assert_int_equal(result.transfer_count, 3);
	assert_int_equal(result.transfer[2].from, 0x300);
	assert_int_equal(result.transfer[2].to, 0x100);
	/* In the midst, where the other way ends with a plain instruction, 0x110. */
	record = record_of(0x10a, (struct pesa_details){.instret = 3, .transfers = 1}, 0, 0);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 3, 0x10a, 0x10c, 0x200, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_TAKEN);
	/* Where targets in the kernel were removed, the one that is missing may be one of them. */
	record = three;
	record.flags |= PESA_RECORD_SCRUBBED;
	result = walk_of(&record, NULL, 0);
	assert_int_equal(result.step[2].transfer, PESA_STEP_TRANSFER_UNKNOWN);
	/* The branch stack says that it was a trap. */
	result = walk_of(&three, trap, 3);
	assert_steps(&result, 3, 0x10c, 0x200, 0x300, 0);
	assert_int_equal(result.step[2].transfer, PESA_STEP_TRANSFER_NONE);
}

/* Behind ecall a trap is no exception: it may as well be the transfer as a branch before it. */
static void a_trap_is_expected_behind_ecall(void **state)
{
	struct pesa_record record =
		record_of(0x700, (struct pesa_details){.instret = 3, .transfers = 1}, 0, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_int_equal(result.step[0].transfer, PESA_STEP_TRANSFER_UNKNOWN);
}

/* A core may count the transfer of the last instruction in the next cycle. */
static void the_last_of_a_cycle_may_be_a_jump_that_is_not_counted(void **state)
{
	struct pesa_record record = record_of(0x110, (struct pesa_details){.instret = 2}, 0, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 2, 0x110, 0x112, 0);
	assert_int_equal(result.step[1].transfer, PESA_STEP_TRANSFER_UNKNOWN);
}

static void the_remainder_has_a_reason(void **state)
{
	static const struct {
		struct pesa_details details;
		uint64_t pc, bt1;
		unsigned int steps;
		enum pesa_unattributed reason;
	} cases[] = {
		{{.instret = 3}, 0x500, 0, 1, PESA_UNATTRIBUTED_UNDECODABLE},
		{{.instret = 3}, 0x604, 0, 1, PESA_UNATTRIBUTED_UNMAPPED},
		{{.instret = 3}, 0x400, 0, 1, PESA_UNATTRIBUTED_NO_TEXT},
		{{.instret = 3}, 0x9000, 0, 1, PESA_UNATTRIBUTED_UNMAPPED},
		{{.instret = 3, .transfers = 1, .transfer_offset = {1}},
		 0x306,
		 0,
		 1,
		 PESA_UNATTRIBUTED_TRANSFERS},
		/* a return in the middle of a record without transfers */
		{{.instret = 3}, 0x110, 0, 1, PESA_UNATTRIBUTED_IMPOSSIBLE},
		/* a jump that went elsewhere */
		{{.instret = 2, .transfers = 1, .transfer_offset = {1}},
		 0x200,
		 0x302,
		 1,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		/* records that contradict themselves */
		{{.instret = 0}, 0x100, 0, 0, PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 1, .state = PESA_STATE_STALLED},
		 0x100,
		 0,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.state = PESA_STATE_STALLED, .transfers = 1},
		 0x100,
		 0,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.state = PESA_STATE_STALLED, .cause_offset = 2},
		 0x100,
		 0,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 2, .cause_offset = 4}, 0x100, 0, 0, PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 2, .transfers = 1, .transfer_offset = {3}},
		 0x100,
		 0x200,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 2, .transfers = 1, .transfer_offset = {0}},
		 0x100,
		 0x200,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 3, .transfers = 2, .transfer_offset = {2, 1}},
		 0x100,
		 0x200,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
		{{.instret = 1}, 0x101, 0, 0, PESA_UNATTRIBUTED_IMPOSSIBLE},
		/* a target that is no address */
		{{.instret = 2, .transfers = 1, .transfer_offset = {1}},
		 0x10c,
		 0x201,
		 0,
		 PESA_UNATTRIBUTED_IMPOSSIBLE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pesa_record record =
			record_of(cases[i].pc, cases[i].details, cases[i].bt1, 0);
		struct pesa_walk_result result = walk_of(&record, NULL, 0);
		unsigned int instret = cases[i].details.instret;

		assert_int_equal(total_of(&result), PESA_CYCLE);
		assert_int_equal(result.step_count, cases[i].steps);
		assert_int_equal(result.unattributed[cases[i].reason],
				 cases[i].steps ? PESA_CYCLE / instret * (instret - 1)
						: PESA_CYCLE);
	}
}

static void a_known_target_finds_the_way_again(void **state)
{
	/* The text of 0x400 is not there, but bt1 names where the third instruction is. */
	struct pesa_record record = record_of(
		0x400, (struct pesa_details){.instret = 4, .transfers = 1, .transfer_offset = {2}},
		0x100, 0);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 4, 0x400, 0x100, 0x104, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_NO_TEXT], PESA_CYCLE / 4);
}

/* Transfers come in order: before one whose place is known none of those behind it happens. */
static void an_open_transfer_waits_for_the_one_before_it(void **state)
{
	struct pesa_record record = record_of(
		0x400,
		(struct pesa_details){.instret = 4, .transfers = 3, .transfer_offset = {2, 3}},
		0x100, 0x200);
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 4, 0x400, 0x100, 0x200, 0);
	assert_int_equal(result.step[0].transfer, PESA_STEP_TRANSFER_NONE);
	assert_int_equal(result.step[2].transfer, PESA_STEP_TRANSFER_TAKEN);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_NO_TEXT], PESA_CYCLE / 4);
	/* The next one may be anywhere, when nothing says where. */
	record = record_of(0x400, (struct pesa_details){.instret = 2, .transfers = 1}, 0, 0);
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 2, 0x400, 0);
	assert_int_equal(result.step[0].transfer, PESA_STEP_TRANSFER_UNKNOWN);
}

static void scrubbed_addresses_are_a_reason_of_their_own(void **state)
{
	struct pesa_record record = record_of(
		0x104, (struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {1}},
		0, 0);
	struct pesa_walk_result result;

	(void)state;
	record.flags |= PESA_RECORD_SCRUBBED | PESA_RECORD_HAS_BT1;
	result = walk_of(&record, NULL, 0);
	assert_steps(&result, 3, 0x104, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_SCRUBBED], PESA_CYCLE / 3 * 2);
	record.pc = 0;
	result = walk_of(&record, NULL, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_SCRUBBED], PESA_CYCLE);
}

static void without_details_the_pc_is_all_there_is(void **state)
{
	struct pesa_record record = {.xlen = 64, .pc = 0x101};
	struct pesa_walk_result result = walk_of(&record, NULL, 0);

	(void)state;
	assert_steps(&result, 1, 0x101, 0);
	assert_int_equal(result.step[0].role, PESA_ROLE_PLAIN);
	assert_int_equal(result.step[0].state, PESA_STATE_UNKNOWN);
	assert_int_equal(result.step[0].cause, 0);
	/* Causes stand in the details, where the hardware has those alone. */
	record.details = (uint64_t)PESA_CAUSE_DTLB_MISS << PESA_DETAILS_CAUSE_SHIFT;
	result = walk_of(&record, NULL, 0);
	assert_int_equal(result.step[0].cause, 0);
	record.flags = PESA_RECORD_HAS_CAUSES;
	result = walk_of(&record, NULL, 0);
	assert_int_equal(result.step[0].cause, PESA_CAUSE_DTLB_MISS);
	record.flags = 0;
	record.pc = 0;
	result = walk_of(&record, NULL, 0);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_NO_DETAILS], PESA_CYCLE);
}

static void rv32_addresses_have_32_bits(void **state)
{
	static const struct insn wrapping[] = {
		{.address = 0xfffffffc, .length = 4},
		{.address = 0,
		 .length = 4,
		 .flow = PESA_FLOW_JUMP,
		 .target = UINT64_C(0x1fffffffc)},
	};
	struct program program = {wrapping, 2};
	const struct pesa_text text = {read_insn, &program};
	struct pesa_record record = record_of(
		0xfffffffc,
		(struct pesa_details){.instret = 3, .transfers = 1, .transfer_offset = {2}}, 0, 0);
	struct pesa_walk_result result;

	(void)state;
	record.xlen = 32;
	pesa_walk(&record, &text, NULL, 0, &result);
	assert_int_equal(result.step_count, 3);
	assert_int_equal(result.step[1].address, 0);
	assert_int_equal(result.step[2].address, 0xfffffffc);
	record.pc = UINT64_C(0x1fffffffc);
	pesa_walk(&record, &text, NULL, 0, &result);
	assert_int_equal(result.unattributed[PESA_UNATTRIBUTED_IMPOSSIBLE], PESA_CYCLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(details_unpack_what_was_packed),
		cmocka_unit_test(raw_payloads_that_cannot_be_are_refused),
		cmocka_unit_test(retiring_in_a_straight_line_shares_the_cycle),
		cmocka_unit_test(both_targets_are_followed),
		cmocka_unit_test(cause_behind_the_last_is_blamed_without_weight),
		cmocka_unit_test(without_retirement_the_pc_has_the_whole_cycle),
		cmocka_unit_test(a_jump_needs_no_target_and_a_branch_at_a_known_offset_neither),
		cmocka_unit_test(three_transfers_follow_where_the_text_leaves_no_choice),
		cmocka_unit_test(branch_stack_supplies_the_rest_and_is_checked),
		cmocka_unit_test(what_the_branch_stack_leaves_out_is_not_used),
		cmocka_unit_test(a_trap_may_come_behind_any_instruction),
		cmocka_unit_test(a_trap_without_a_target_is_known_by_the_text),
		cmocka_unit_test(a_branch_is_rather_taken_than_followed_by_a_trap),
		cmocka_unit_test(a_trap_is_expected_behind_ecall),
		cmocka_unit_test(the_last_of_a_cycle_may_be_a_jump_that_is_not_counted),
		cmocka_unit_test(the_remainder_has_a_reason),
		cmocka_unit_test(a_known_target_finds_the_way_again),
		cmocka_unit_test(an_open_transfer_waits_for_the_one_before_it),
		cmocka_unit_test(scrubbed_addresses_are_a_reason_of_their_own),
		cmocka_unit_test(without_details_the_pc_is_all_there_is),
		cmocka_unit_test(rv32_addresses_have_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
