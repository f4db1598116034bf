/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that leaves out what repeats gives the cycles and instructions of one that does not; one
 * whose snapshots of the machine lack a part does not.  MCA_STEADY_BLOCKS: blocks per processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/engine.h"

#define INSTRUCTIONS_MAX 20
#define BLOCKS		 40 /* per processor */

struct counts {
	uint64_t cycles, last, left_out;
};

static void on_event(void *data, const struct pesa_mca_event *event)
{
	struct counts *counts = data;

	if (event->kind == PESA_MCA_CYCLE_END) {
		counts->cycles++;
	} else if (event->kind == PESA_MCA_RETIRED) {
		counts->last = event->instruction;
	} else {
		counts->cycles += event->cycles;
		counts->left_out = event->instruction;
	}
}

static unsigned int blocks_per_processor(void)
{
	const char *blocks = getenv("MCA_STEADY_BLOCKS");

	return blocks ? strtoul(blocks, NULL, 10) : BLOCKS;
}

static uint32_t pick(uint32_t *seed, uint32_t count)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % count;
}

static uint32_t encode(uint32_t *seed)
{
	static const uint32_t bases[] = {
		0x00000033, /* add */ 0x00000013,    /* addi */ 0x02000033,   /* mul */
		0x02004033, /* div */ 0x0200603b,    /* remw */ 0x00003003,   /* ld */
		0x00003023, /* sd */ 0x00002003,     /* lw */ 0x02000053,     /* fadd.d */
		0x12000053, /* fmul.d */ 0x1a000053, /* fdiv.d */ 0x02000043, /* fmadd.d */
		0x00003007, /* fld */ 0x00003027,    /* fsd */ 0xd2200053,    /* fcvt.d.l */
		0x1000202f, /* lr.w */ 0x0000302f,			      /* amoadd.d */
	};
	uint32_t base = bases[pick(seed, sizeof(bases) / sizeof(bases[0]))];
	uint32_t first = 10 + pick(seed, 5), second = 10 + pick(seed, 5);

	/* These have a fixed second source. */
	if (base == 0xd2200053 || base == 0x1000202f)
		second = 0;
	return base | (10 + pick(seed, 5)) << 7 | first << 15 | second << 20;
}

static struct pesa_mca_block *make_block(const struct pesa_mca_model *model,
					 const struct pesa_isa *isa, uint32_t *seed)
{
	const struct pesa_mca_block_options options = {.skip_unsupported = true};
	struct pesa_mca_instruction instructions[INSTRUCTIONS_MAX] = {0};
	unsigned int count = 1 + pick(seed, INSTRUCTIONS_MAX);
	struct pesa_mca_block *block;

	for (unsigned int i = 0; i < count; i++) {
		uint32_t bits = encode(seed);

		instructions[i].latency = -1;
		assert_int_equal(pesa_insn_decode(isa, &bits, sizeof(bits), &instructions[i].insn),
				 4);
	}
	assert_null(pesa_mca_block_create(model, instructions, count, &options, &block));
	return block;
}

static unsigned int compare(const struct pesa_mca_block *block, struct pesa_mca_run_options options)
{
	struct counts all = {0}, some = {0};
	struct pesa_mca_listener listener = {on_event, &all,
					     1u << PESA_MCA_CYCLE_END | 1u << PESA_MCA_RETIRED |
						     1u << PESA_MCA_REPEATED};
	uint64_t cycles, fewer, silent;

	options.every_iteration = true;
	assert_null(pesa_mca_run(block, &options, &listener, 1, &cycles));
	options.every_iteration = false;
	listener.data = &some;
	assert_null(pesa_mca_run(block, &options, &listener, 1, &fewer));
	assert_null(pesa_mca_run(block, &options, NULL, 0, &silent));
	assert_int_equal(all.left_out, 0);
	assert_int_equal(fewer, cycles);
	assert_int_equal(silent, cycles);
	assert_int_equal(all.cycles, cycles);
	assert_int_equal(some.cycles, cycles);
	assert_int_equal(some.last + some.left_out, all.last);
	return some.left_out != 0;
}

static void all_processors_give_the_same_cycles(void **state)
{
	unsigned int repeated = 0, runs = 0;
	uint32_t seed = 7;
	struct pesa_isa *isa;
	const char *name;

	(void)state;
	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++) {
		struct pesa_mca_model *model;

		assert_null(pesa_mca_model_builtin(name, &model));
		for (unsigned int j = 0; j < blocks_per_processor(); j++) {
			struct pesa_mca_block *block = make_block(model, isa, &seed);
			struct pesa_mca_run_options options = {
				.iterations = 1 + pick(&seed, 300),
				.loads_alias_stores = pick(&seed, 2),
				.register_file_size = pick(&seed, 3) ? 0 : 20 + pick(&seed, 40),
				.load_queue = pick(&seed, 3) ? 0 : 2 + pick(&seed, 6),
				.store_queue = pick(&seed, 3) ? 0 : 2 + pick(&seed, 6),
			};

			if (pesa_mca_block_count(block)) {
				repeated += compare(block, options);
				runs++;
			}
			pesa_mca_block_free(block);
		}
		pesa_mca_model_free(model);
	}
	pesa_isa_free(isa);
	/* Else it compared a run with itself. */
	assert_true(repeated > runs / 2);
	print_message("%u of %u runs repeat themselves\n", repeated, runs);
}

/* ---- What a snapshot consists of ------------------------------------------------------------ */

/*
 * A built-in model in which some instructions have many micro-ops, or occupy units for longer than
 * their results take: what is still to come is in the state of the machine then, not in that of
 * the instructions in flight.
 */
static struct pesa_mca_model *make_model(const char *name, uint32_t *seed)
{
	static const char *const changed[] = {"div", "mul", "fmul.d", "fdiv.d", "add", "ld"};
	struct pesa_mca_model *model;
	char change[128];

	assert_null(pesa_mca_model_builtin(name, &model));
	for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		if (pick(seed, 2))
			continue;
		snprintf(change, sizeof(change), "%s.latency=%u", changed[i], 1 + pick(seed, 4));
		pesa_error_free(pesa_mca_model_change(model, change, NULL));
		snprintf(change, sizeof(change), "%s.uops=%u", changed[i], 1 + pick(seed, 9));
		pesa_error_free(pesa_mca_model_change(model, change, NULL));
		for (unsigned int j = 0; j < pesa_mca_model_resources(model); j++) {
			snprintf(change, sizeof(change), "%s.%s=%u", changed[i],
				 pesa_mca_model_resource(model, j)->name, 1 + pick(seed, 12));
			/* An error: it is not a resource of that instruction. */
			pesa_error_free(pesa_mca_model_change(model, change, NULL));
		}
	}
	return model;
}

#define BIT(part) (UINT64_C(1) << MCA_SNAPSHOT_##part)
#define ALL	  (BIT(PARTS) - 1)

/*
 * Parts of a snapshot say much of the same, so that one alone can be left out of many without harm.
 * Each is left out together with others that can nearly always be left out as long as it is there.
 */
static const struct {
	const char *name;
	uint64_t part, others;
} parts[] = {
	{"units", BIT(UNITS), ALL & ~(BIT(UNITS) | BIT(NEXT_UNITS) | BIT(MEMORY))},
	{"next units", BIT(NEXT_UNITS), ALL & ~(BIT(UNITS) | BIT(NEXT_UNITS) | BIT(MEMORY))},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void leave_out(const struct pesa_mca_block *block, struct pesa_mca_run_options options,
		      unsigned int with[PARTS], unsigned int without[PARTS])
{
	uint64_t cycles, other;

	options.every_iteration = true;
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	options.every_iteration = false;
	for (size_t i = 0; i < PARTS; i++) {
		assert_null(mca_run_without(block, &options, NULL, 0, parts[i].others, &other));
		with[i] += other != cycles;
		assert_null(mca_run_without(block, &options, NULL, 0,
					    parts[i].others | parts[i].part, &other));
		without[i] += other != cycles;
	}
	/* A part that does not exist: only the fingerprints are switched off. */
	assert_null(mca_run_without(block, &options, NULL, 0, UINT64_C(1) << 63, &other));
	assert_int_equal(other, cycles);
}

static void a_snapshot_without_a_part_is_wrong(void **state)
{
	unsigned int with[PARTS] = {0}, without[PARTS] = {0}, missing = 0;
	uint32_t seed = 3;
	struct pesa_isa *isa;
	const char *name;

	(void)state;
	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++) {
		struct pesa_mca_model *model = make_model(name, &seed);

		for (unsigned int j = 0; j < blocks_per_processor(); j++) {
			struct pesa_mca_block *block = make_block(model, isa, &seed);
			struct pesa_mca_run_options options = {
				.iterations = 1 + pick(&seed, 100),
				.loads_alias_stores = pick(&seed, 2),
				.dispatch_width = pick(&seed, 3) ? 0 : 1 + pick(&seed, 6),
				.register_file_size = pick(&seed, 3) ? 0 : 20 + pick(&seed, 40),
				.load_queue = pick(&seed, 3) ? 0 : 2 + pick(&seed, 6),
				.store_queue = pick(&seed, 3) ? 0 : 2 + pick(&seed, 6),
			};

			/* Out of order, a run without listeners is quick.c's. */
			if (pesa_mca_block_count(block) && !pesa_mca_model_is_out_of_order(model))
				leave_out(block, options, with, without);
			pesa_mca_block_free(block);
		}
		pesa_mca_model_free(model);
	}
	pesa_isa_free(isa);
	for (size_t i = 0; i < PARTS; i++) {
		print_message("%s: %u runs are wrong with it, %u without it\n", parts[i].name,
			      with[i], without[i]);
		missing += without[i] <= with[i];
	}
	assert_int_equal(missing, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_give_the_same_cycles),
		cmocka_unit_test(a_snapshot_without_a_part_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
