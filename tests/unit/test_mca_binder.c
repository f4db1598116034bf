/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A binder that binds blocks to one variation of a model after the other, and keeps what has the same
 * costs in all of them, predicts as a block that is bound alone.  MCA_BINDER_BLOCKS: blocks per model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/model/numbers.h"
#include "pesa/mca.h"
#include "tests/unit/mca_blocks.h"

#define BLOCKS	     40
#define MODELS	     4 /* the first is as it was */
#define INSTRUCTIONS 60
#define POOL	     24 /* different instructions: most have been bound before */

static const struct pesa_mca_block_options options = {
	.own_operands = true, .skip_unsupported = true, .load_latency = 3};

/* Variations in the costs of some instructions. */
static void make_models(const struct pesa_mca_model *base, uint32_t *seed,
			struct pesa_mca_model *models[MODELS])
{
	static const char *const changes[] = {"ADD.latency", "MUL.latency", "LD.latency",
					      "ADD.advance", "DIV.uops",    "ADDI.latency"};

	for (unsigned int i = 0; i < MODELS; i++) {
		assert_null(pesa_mca_model_vary(base, &models[i]));
		for (unsigned int j = 0; i && j < 3; j++) {
			char change[64];

			snprintf(change, sizeof(change), "%s=%u",
				 changes[pick(seed, sizeof(changes) / sizeof(changes[0]))],
				 pick(seed, 9));
			/* An error: the model does not have it. */
			pesa_error_free(pesa_mca_model_change(models[i], change, NULL));
		}
	}
}

static uint64_t cycles_of(const struct pesa_mca_block *block)
{
	const struct pesa_mca_run_options once = {.iterations = 1, .free_order = true};
	uint64_t cycles;

	assert_null(pesa_mca_run(block, &once, NULL, 0, &cycles));
	return cycles;
}

static void check_block(struct mca_binder *binder, const struct pesa_mca_model *model,
			const struct pesa_mca_instruction pool[POOL], uint32_t *seed,
			unsigned int *bound)
{
	struct pesa_mca_instruction instructions[INSTRUCTIONS];
	struct pesa_digest costs[INSTRUCTIONS] = {0};
	struct pesa_mca_block *block, *alone;

	for (unsigned int i = 0; i < INSTRUCTIONS; i++) {
		instructions[i] = pool[pick(seed, POOL)];
		mca_numbers_of_instruction(model, &instructions[i].insn, PESA_MCA_LMUL_NONE, 0,
					   &costs[i]);
	}
	mca_binder_set_model(binder, model);
	assert_null(mca_binder_bind(binder, instructions, costs, INSTRUCTIONS, &block));
	assert_null(pesa_mca_block_create(model, instructions, INSTRUCTIONS, &options, &alone));
	assert_int_equal(block->count, alone->count);
	*bound += block->count;
	if (block->count)
		assert_int_equal(cycles_of(block), cycles_of(alone));
	pesa_mca_block_free(block);
	pesa_mca_block_free(alone);
}

static void what_is_kept_of_other_models_has_the_same_costs(void **state)
{
	struct pesa_isa *isa;
	uint32_t seed = 23;
	unsigned int bound = 0;
	const char *name;

	(void)state;
	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (unsigned int n = 0; (name = pesa_mca_builtin_processor(n)); n++) {
		struct pesa_mca_instruction pool[POOL] = {0};
		struct pesa_mca_model *base, *models[MODELS];
		struct mca_binder *binder;

		assert_null(pesa_mca_model_builtin(name, &base));
		make_models(base, &seed, models);
		for (unsigned int i = 0; i < POOL; i++) {
			uint32_t bits = encode(&seed);

			pool[i].latency = -1;
			pesa_insn_decode(isa, &bits, sizeof(bits), &pool[i].insn);
		}
		assert_null(mca_binder_create(models[0], &options, 16, &binder));
		for (unsigned int j = number_of_blocks("MCA_BINDER_BLOCKS", BLOCKS); j; j--) {
			/* The model before is not there any more. */
			struct pesa_mca_model *model;

			assert_null(pesa_mca_model_vary(models[pick(&seed, MODELS)], &model));
			check_block(binder, model, pool, &seed, &bound);
			pesa_mca_model_free(model);
		}
		mca_binder_free(binder);
		for (unsigned int i = 0; i < MODELS; i++)
			pesa_mca_model_free(models[i]);
		pesa_mca_model_free(base);
	}
	assert_true(bound > 0);
	pesa_isa_free(isa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_of_other_models_has_the_same_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
