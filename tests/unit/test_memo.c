/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remembered results, the numbers of a model as a digest, and instructions that are bound once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/base/memo.h"
#include "decoder/mca/model/numbers.h"
#include "pesa/mca.h"
#include "pesa/riscv.h"

#define SLOTS 16
#define BYTES 100000

static struct pesa_digest digest_of(uint64_t number)
{
	struct pesa_digest digest = {{0}};

	pesa_digest_word(&digest, number);
	return digest;
}

static void a_result_is_found_by_its_digest_and_size(void **state)
{
	struct memo *memo = memo_create(SLOTS, BYTES);
	const struct pesa_digest digest = digest_of(1), other = digest_of(2);
	char result[4] = "";

	(void)state;
	assert_non_null(memo);
	assert_false(memo_find(memo, &digest, result, 1, 4));
	memo_add(memo, &digest, "abc", 1, 4);
	assert_false(memo_find(memo, &other, result, 1, 4));
	assert_false(memo_find(memo, &digest, result, 2, 4));
	assert_true(memo_find(memo, &digest, result, 1, 4));
	assert_string_equal(result, "abc");
	memo_free(memo);
}

/* Each number is found as it was added, or not at all. */
static void memory_is_bounded_and_nothing_is_mixed_up(void **state)
{
	struct memo *memo = memo_create(SLOTS, BYTES);
	unsigned int found = 0;

	(void)state;
	assert_non_null(memo);
	for (uint64_t i = 0; i < 1000; i++) {
		const struct pesa_digest digest = digest_of(i);

		memo_add(memo, &digest, &i, 1, sizeof(i));
	}
	for (uint64_t i = 0; i < 1000; i++) {
		const struct pesa_digest digest = digest_of(i);
		uint64_t result;

		if (!memo_find(memo, &digest, &result, 1, sizeof(result)))
			continue;
		assert_int_equal(result, i);
		found++;
	}
	assert_in_range(found, 1, SLOTS);
	memo_free(memo);
}

/* Results of every size, with elements of each size, few different ones and many, some of which are packed. */
static void a_packed_result_is_what_was_added(void **state)
{
	struct memo *memo = memo_create(SLOTS, BYTES);
	uint32_t words[3000], result[3000];
	uint64_t seed = 7;

	(void)state;
	for (unsigned int kinds = 1; kinds < 2000; kinds += kinds / 3 + 1)
		for (size_t count = 0; count < 3000; count += count / 2 + 1)
			for (size_t element = 1; element <= 4; element++) {
				const struct pesa_digest digest =
					digest_of((kinds * 10000 + count) * 5 + element);
				size_t elements = count / element, all = elements * element;

				for (size_t i = 0; i < all; i++) {
					seed = seed * 6364136223846793005u + 1442695040888963407u;
					words[i] = (uint32_t)(seed >> 40) % kinds * 0x01234567u;
				}
				memset(result, 0xa5, sizeof(result));
				memo_add(memo, &digest, words, elements, element * 4);
				assert_true(
					memo_find(memo, &digest, result, elements, element * 4));
				assert_memory_equal(result, words, all * sizeof(*words));
				assert_int_equal(all < 3000 ? result[all] : 0xa5a5a5a5, 0xa5a5a5a5);
			}
	memo_free(memo);
}

/* What is packed leaves room for more, and what does not fit is not remembered. */
static void results_have_a_limit_in_bytes(void **state)
{
	uint32_t alike[1000] = {1, 2, 3}, different[1000], result[1000];
	const uint32_t *const kinds[] = {different, alike};
	unsigned int found[2] = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++)
		different[i] = i * 7;
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct memo *memo = memo_create(1024, 20000);

		for (uint64_t i = 0; i < 100; i++) {
			const struct pesa_digest digest = digest_of(i);

			memo_add(memo, &digest, kinds[kind], 1000, sizeof(*alike));
		}
		for (uint64_t i = 0; i < 100; i++) {
			const struct pesa_digest digest = digest_of(i);

			found[kind] += memo_find(memo, &digest, result, 1000, sizeof(*alike));
		}
		memo_free(memo);
	}
	assert_int_equal(found[0], 4); /* of 4,000 bytes each */
	assert_in_range(found[1], 18, 19);
}

/* ---- The numbers of a model ------------------------------------------------------------------ */

static const char model_text[] = "pesa-processor-model 1\n"
				 "name Example\n"
				 "processor example rv64imafdc\n"
				 "issue-width 2\n"
				 "micro-op-buffer 16\n"
				 "resource ALU units=2\n"
				 "resource MEM units=1\n"
				 "class add uops=1 latency=1 uses=ALU advance=0:1\n"
				 "\tADDI\n"
				 "class load uops=1 latency=4 uses=MEM\n"
				 "\tLD\n"
				 "end\n";

#define ADDI 0x00158513 /* addi a0, a1, 1 */
#define LD   0x00053503 /* ld a0, 0(a0) */

static struct pesa_insn decode(uint32_t bits)
{
	struct pesa_insn insn;
	struct pesa_isa *isa;

	assert_null(pesa_isa_create("rv64imafdc", &isa));
	assert_int_equal(pesa_insn_decode(isa, &bits, sizeof(bits), &insn), 4);
	pesa_isa_free(isa);
	return insn;
}

static struct pesa_mca_model *make_model(const char *change)
{
	struct pesa_mca_model *model;

	assert_null(pesa_mca_model_parse("text", model_text, strlen(model_text), &model));
	if (change)
		assert_null(pesa_mca_model_change(model, change, NULL));
	return model;
}

/* Whether a change shows in the numbers of an instruction, and in those of the model. */
static void numbers_change(const char *change, uint32_t bits, bool *instruction, bool *model)
{
	struct pesa_mca_model *before = make_model(NULL), *after = make_model(change);
	struct pesa_digest keys[2][2] = {{{{0}}}};
	struct pesa_insn insn = decode(bits);

	mca_numbers_of_instruction(before, &insn, PESA_MCA_LMUL_NONE, 0, &keys[0][0]);
	mca_numbers_of_instruction(after, &insn, PESA_MCA_LMUL_NONE, 0, &keys[0][1]);
	mca_numbers_of_model(before, &keys[1][0]);
	mca_numbers_of_model(after, &keys[1][1]);
	*instruction = memcmp(&keys[0][0], &keys[0][1], sizeof(keys[0][0])) != 0;
	*model = memcmp(&keys[1][0], &keys[1][1], sizeof(keys[1][0])) != 0;
	pesa_mca_model_free(before);
	pesa_mca_model_free(after);
}

static void a_change_shows_in_what_it_changes_alone(void **state)
{
	static const struct {
		const char *change;
		bool add, load, model;
	} cases[] = {
		{"add.latency=2", true, false, false},	{"load.latency=5", false, true, false},
		{"ADDI.latency=2", true, false, false}, {"add.ALU=3", true, false, false},
		{"load.MEM=2", false, true, false},	{"load.uops=2", false, true, false},
		{"add.advance=0", true, false, false},	{"ALU.units=1", false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool instruction, model;

		numbers_change(cases[i].change, ADDI, &instruction, &model);
		assert_int_equal(instruction, cases[i].add);
		assert_int_equal(model, cases[i].model);
		numbers_change(cases[i].change, LD, &instruction, &model);
		assert_int_equal(instruction, cases[i].load);
	}
}

/* An opcode that is split off has a class of its own, with the same costs. */
static void the_number_of_a_class_is_told_apart_from_its_costs(void **state)
{
	struct pesa_mca_model *before = make_model(NULL), *after = make_model("ADDI.latency=1");
	struct pesa_digest costs[2] = {{{0}}}, classes[2] = {{{0}}};
	struct pesa_insn insn = decode(ADDI);

	(void)state;
	mca_numbers_of_instruction(before, &insn, PESA_MCA_LMUL_NONE, 0, &costs[0]);
	mca_numbers_of_instruction(after, &insn, PESA_MCA_LMUL_NONE, 0, &costs[1]);
	mca_numbers_of_class(before, &insn, PESA_MCA_LMUL_NONE, 0, &classes[0]);
	mca_numbers_of_class(after, &insn, PESA_MCA_LMUL_NONE, 0, &classes[1]);
	assert_memory_equal(&costs[0], &costs[1], sizeof(costs[0]));
	assert_memory_not_equal(&classes[0], &classes[1], sizeof(classes[0]));
	pesa_mca_model_free(before);
	pesa_mca_model_free(after);
}

/* ---- Instructions that are bound once -------------------------------------------------------- */

#define COUNT 60

/* Cycles of a list of instructions.  Where `given`, each has the latency of its class as one of its
 * own, so that none is bound like an earlier one. */
static uint64_t cycles_of(const struct pesa_mca_model *model, const uint32_t *bits, bool given)
{
	const struct pesa_mca_block_options options = {.own_operands = true};
	const struct pesa_mca_run_options run_options = {.iterations = 1};
	struct pesa_mca_instruction instruction[COUNT] = {0};
	struct pesa_mca_block *block;
	uint64_t cycles;

	for (unsigned int i = 0; i < COUNT; i++) {
		instruction[i].insn = decode(bits[i]);
		instruction[i].latency = given ? bits[i] == LD ? 4 : 1 : -1;
	}
	assert_null(pesa_mca_block_create(model, instruction, COUNT, &options, &block));
	assert_int_equal(pesa_mca_block_count(block), COUNT);
	assert_null(pesa_mca_run(block, &run_options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	return cycles;
}

static void an_instruction_like_an_earlier_one_is_bound_like_it(void **state)
{
	struct pesa_mca_model *model = make_model(NULL);
	uint64_t seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 50; round++) {
		uint32_t bits[COUNT];

		for (unsigned int i = 0; i < COUNT; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* addi and ld between four registers. */
			bits[i] = (seed >> 33 & 3) == 0
					  ? LD
					  : 0x00100013 | (uint32_t)(10 + (seed >> 40 & 3)) << 7 |
						    (uint32_t)(10 + (seed >> 50 & 3)) << 15;
		}
		assert_int_equal(cycles_of(model, bits, false), cycles_of(model, bits, true));
	}
	pesa_mca_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_is_found_by_its_digest_and_size),
		cmocka_unit_test(memory_is_bounded_and_nothing_is_mixed_up),
		cmocka_unit_test(a_packed_result_is_what_was_added),
		cmocka_unit_test(results_have_a_limit_in_bytes),
		cmocka_unit_test(a_change_shows_in_what_it_changes_alone),
		cmocka_unit_test(the_number_of_a_class_is_told_apart_from_its_costs),
		cmocka_unit_test(an_instruction_like_an_earlier_one_is_bound_like_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
