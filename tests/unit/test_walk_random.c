// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk against executions of random programs: whatever the walk says must be what happened, and
 * what it says must add up to the cycle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pesa/walk.h"
#include "tests/walk_program.h"

#define INSNS 24

static uint64_t random_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

static unsigned int random_program(struct insn *insn, uint64_t *seed, unsigned int holes)
{
	static const uint8_t flows[] = {PESA_FLOW_NEXT,	  PESA_FLOW_NEXT,     PESA_FLOW_NEXT,
					PESA_FLOW_BRANCH, PESA_FLOW_BRANCH,   PESA_FLOW_BRANCH,
					PESA_FLOW_JUMP,	  PESA_FLOW_INDIRECT, PESA_FLOW_CALL,
					PESA_FLOW_RETURN};
	uint64_t address = 0x1000;

	for (unsigned int i = 0; i < INSNS; i++) {
		insn[i] = (struct insn){
			.address = address,
			.length = random_number(seed) & 1 ? 2 : 4,
			.flow = flows[random_number(seed) % (sizeof(flows) / sizeof(*flows))],
		};
		address += insn[i].length;
		if (holes && random_number(seed) % 16 < holes)
			insn[i].status = 1 + random_number(seed) % 3;
	}
	insn[INSNS - 1].flow = PESA_FLOW_JUMP;
	for (unsigned int i = 0; i < INSNS; i++)
		insn[i].target = insn[random_number(seed) % INSNS].address;
	return INSNS;
}

/* What happened in one cycle. */
struct truth {
	unsigned int retired, transfers;
	uint64_t address[16]; /* one more: where it goes on */
	bool taken[16];
	unsigned int offset[16];
	struct pesa_branch_entry branch[16]; /* oldest first */
};

static struct truth execute(const struct insn *insn, uint64_t *seed)
{
	struct truth truth = {.retired = 1 + random_number(seed) % 15};
	unsigned int at = random_number(seed) % INSNS;

	truth.address[0] = insn[at].address;
	for (unsigned int i = 0; i < truth.retired; i++) {
		bool direct = is_direct(insn[at].flow);
		uint64_t to = insn[at].address + insn[at].length;

		truth.taken[i] = insn[at].flow == PESA_FLOW_BRANCH
					 ? random_number(seed) & 1
					 : insn[at].flow != PESA_FLOW_NEXT;
		if (truth.taken[i]) {
			to = direct ? insn[at].target : insn[random_number(seed) % INSNS].address;
			truth.offset[truth.transfers] = i + 1;
			truth.branch[truth.transfers++] =
				(struct pesa_branch_entry){.from = insn[at].address, .to = to};
		}
		truth.address[i + 1] = to;
		for (at = 0; at < INSNS - 1 && insn[at].address != to; at++)
			;
	}
	return truth;
}

static struct pesa_record record_of_truth(const struct truth *truth, unsigned int targets)
{
	struct pesa_details details = {.instret = (uint8_t)truth->retired,
				       .transfers = (uint8_t)truth->transfers};

	for (unsigned int i = 0; i < 2 && i < truth->transfers; i++)
		details.transfer_offset[i] = (uint8_t)truth->offset[i];
	return record_of(truth->address[0], details,
			 targets > 0 && truth->transfers > 0 ? truth->branch[0].to : 0,
			 targets > 1 && truth->transfers > 1 ? truth->branch[1].to : 0);
}

/* Everything that the result says happened, in that order. */
static void assert_true_to(const struct truth *truth, const struct pesa_walk_result *result)
{
	unsigned int at = 0, transfer = 0;

	assert_int_equal(total_of(result), PESA_CYCLE);
	for (unsigned int i = 0; i < result->step_count; i++, at++) {
		const struct pesa_step *step = &result->step[i];

		while (at <= truth->retired && truth->address[at] != step->address)
			at++;
		assert_true(at < truth->retired);
	}
	for (unsigned int i = 0; i < result->transfer_count; i++, transfer++) {
		while (transfer < truth->transfers &&
		       (truth->branch[transfer].from != result->transfer[i].from ||
			truth->branch[transfer].to != result->transfer[i].to))
			transfer++;
		assert_true(transfer < truth->transfers);
	}
}

static void nothing_is_said_that_did_not_happen(void **state)
{
	uint64_t seed = 0x5eed;
	unsigned int whole = 0, partial = 0;

	(void)state;
	for (unsigned int round = 0; round < 60000; round++) {
		struct insn insn[INSNS];
		struct program program = {insn, random_program(insn, &seed, 0)};
		const struct pesa_text text = {read_insn, &program};
		struct truth truth = execute(insn, &seed);
		unsigned int targets = round % 3;
		unsigned int depth = random_number(&seed) % 4 ? random_number(&seed) % 16 : 0;
		struct pesa_record record = record_of_truth(&truth, targets);
		struct pesa_branch_entry stack[16];
		struct pesa_walk_result result;
		bool all;

		for (unsigned int i = 0; i < depth; i++) /* newest first, older cycles behind */
			stack[i] = i < truth.transfers ? truth.branch[truth.transfers - 1 - i]
						       : (struct pesa_branch_entry){.from = 0x5550,
										    .to = 0x5560};
		pesa_walk(&record, &text, stack, depth, &result);
		assert_true_to(&truth, &result);
		for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
			if (i != PESA_UNATTRIBUTED_TRANSFERS)
				assert_int_equal(result.unattributed[i], 0);
		/* With all targets known, all of it is said. */
		all = depth >= truth.transfers || targets >= truth.transfers;
		if (all) {
			assert_int_equal(result.step_count, truth.retired);
			assert_int_equal(result.transfer_count, truth.transfers);
			for (unsigned int i = 0; i < truth.retired; i++)
				assert_int_equal(result.step[i].transfer,
						 truth.taken[i] ? PESA_STEP_TRANSFER_TAKEN
								: PESA_STEP_TRANSFER_NONE);
		}
		whole += result.step_count == truth.retired;
		partial += result.step_count < truth.retired;
	}
	/* Both happen often enough to be tested. */
	assert_true(whole > 10000 && partial > 5000);
}

static void any_record_on_any_text_adds_up_to_the_cycle(void **state)
{
	uint64_t seed = 0xacce55;

	(void)state;
	for (unsigned int round = 0; round < 200000; round++) {
		struct insn insn[INSNS];
		struct program program = {insn, random_program(insn, &seed, 3)};
		const struct pesa_text text = {read_insn, &program};
		struct pesa_branch_entry stack[16];
		unsigned int depth = random_number(&seed) % 17;
		struct pesa_walk_result result;
		struct pesa_record record = {
			.xlen = random_number(&seed) & 1 ? 64 : 32,
			.flags = (uint32_t)random_number(&seed) & 0x1f,
			.pc = insn[random_number(&seed) % INSNS].address,
			.details = random_number(&seed) ^ random_number(&seed) << 20,
			.bt = {insn[random_number(&seed) % INSNS].address,
			       random_number(&seed) % 4 ? insn[random_number(&seed) % INSNS].address
							: random_number(&seed)},
		};

		if (random_number(&seed) % 4) /* mostly retiring, and possible in itself */
			record.details &=
				~(uint64_t)(PESA_DETAILS_RSTATE_MASK << PESA_DETAILS_RSTATE_SHIFT);
		for (unsigned int i = 0; i < depth; i++)
			stack[i] = (struct pesa_branch_entry){
				.from = insn[random_number(&seed) % INSNS].address,
				.to = insn[random_number(&seed) % INSNS].address};
		memset(&result, 0xa5, sizeof(result));
		pesa_walk(&record, &text, stack, depth, &result);
		assert_true(result.step_count <= PESA_WALK_STEPS_MAX);
		assert_true(result.transfer_count <= 16);
		assert_int_equal(total_of(&result), PESA_CYCLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_that_did_not_happen),
		cmocka_unit_test(any_record_on_any_text_adds_up_to_the_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
