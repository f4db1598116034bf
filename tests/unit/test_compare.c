/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which load reads what which store wrote, what waiting for it costs on the model, and how much of
 * an effect is measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/compare/memory.h"
#include "decoder/compare/search/search.h"
#include "pesa/assemble.h"
#include "pesa/mca.h"

static struct pesa_insn assemble(const char *extensions, const char *line, size_t length)
{
	struct pesa_assembly assembly;
	struct pesa_isa *isa;

	assert_null(pesa_isa_create(extensions, &isa));
	if (!pesa_assemble(isa, line, length, &assembly))
		fail_msg("not understood: %.*s", (int)length, line);
	pesa_isa_free(isa);
	assert_int_equal(assembly.count, 1);
	return assembly.insn[0];
}

/* What the last of the lines of `text` reads from. */
static struct compare_forward forward_of(const char *text)
{
	static struct compare_memory memory;
	struct compare_forward forward = {0};
	uint64_t address = 0x1000;

	compare_memory_begin(&memory);
	while (*text) {
		size_t length = strcspn(text, "\n");
		struct pesa_insn insn = assemble("rv64imafdc", text, length);

		forward = compare_memory_step(&memory, &insn, address);
		address += insn.length;
		text += length + (text[length] == '\n');
	}
	return forward;
}

static void assert_reads(const char *text, unsigned int distance, bool partly)
{
	struct compare_forward forward = forward_of(text);

	assert_int_equal(forward.distance, distance);
	assert_int_equal(forward.partly, partly);
}

static void a_reload_reads_the_newest_store_to_its_place(void **state)
{
	(void)state;
	assert_reads("sd a0, 8(sp)\nld a1, 8(sp)", 1, false);
	assert_reads("sd a0, 8(sp)\nsd a2, 8(sp)\nnop\nld a1, 8(sp)", 2, false);
	assert_reads("sd a0, 8(sp)\nsd a2, 16(sp)\nld a1, 8(sp)", 2, false);
	assert_reads("fsd fa0, 8(sp)\nfld fa1, 8(sp)", 1, false);
	assert_reads("sd a0, 8(sp)\nlbu a1, 9(sp)", 1, false);
}

static void a_load_of_another_place_reads_no_store(void **state)
{
	(void)state;
	assert_reads("sd a0, 8(sp)\nld a1, 16(sp)", 0, false);
	assert_reads("sd a0, 8(sp)\nld a1, 8(s0)", 0, false);
	assert_reads("sd a0, 0(a1)\nld a1, 8(a2)\nld a3, 0(a1)", 0, false);
	assert_reads("sd a0, 0(a1)\nmul a1, a1, a2\nld a3, 0(a1)", 0, false);
	assert_reads("sd a0, 0(a0)\necall\nld a1, 0(a0)", 0, false);
}

static void a_base_is_followed_through_sums_and_copies(void **state)
{
	(void)state;
	assert_reads("sd a0, 8(sp)\naddi sp, sp, -32\nld a1, 40(sp)", 2, false);
	assert_reads("sd a0, 8(sp)\nmv s0, sp\nld a1, 8(s0)", 2, false);
	assert_reads("lui a2, 16\nsd a0, 8(a2)\nlui a3, 16\naddi a3, a3, 8\nld a1, 0(a3)", 3,
		     false);
	/* The same of the same. */
	assert_reads("slli a5, a4, 3\nadd a5, a5, a0\nsd a1, 0(a5)\nslli a6, a4, 3\n"
		     "add a6, a0, a6\nld a2, 0(a6)",
		     3, false);
}

static void a_base_is_followed_through_memory(void **state)
{
	(void)state;
	/* Spilled and reloaded. */
	assert_reads("sd a1, 16(sp)\nsd a0, 0(a1)\nld a2, 16(sp)\nld a3, 0(a2)", 2, false);
	/* Loaded twice from where nothing was stored. */
	assert_reads("ld a1, 16(s0)\nsw a0, 8(a1)\nld a2, 16(s0)\nlw a3, 8(a2)", 2, false);
	assert_reads("ld a1, 16(s0)\nsw a0, 8(a1)\nsd a4, 16(s0)\nld a2, 16(s0)\nlw a3, 8(a2)", 0,
		     false);
}

static void a_load_of_two_stores_waits_for_the_newer_one(void **state)
{
	(void)state;
	assert_reads("sw a0, 8(sp)\nld a1, 8(sp)", 1, true);
	assert_reads("sw a0, 8(sp)\nsw a2, 12(sp)\nnop\nld a1, 8(sp)", 2, true);
	/* A newer store to other bytes beside it is not one of them. */
	assert_reads("sw a0, 8(sp)\nsw a2, 12(sp)\nlw a1, 8(sp)", 2, false);
	assert_reads("sw a0, 8(sp)\nsw a2, 12(sp)\nlw a1, 12(sp)", 1, false);
	assert_reads("sw a0, 8(sp)\nsw a2, 16(sp)\nlw a1, 8(sp)", 2, false);
}

/* ---- Any accesses, beside a search of all that is remembered --------------------------------- */

#define BASES 8 /* registers, each another symbol */

/* An access that a search looks at. */
struct place {
	unsigned int base, size, writer;
	int64_t offset;
};

struct places {
	struct place place[20000];
	unsigned int count;
};

static bool is_overlapped(const struct place *one, const struct place *other)
{
	return one->base == other->base && one->offset < other->offset + (int64_t)other->size &&
	       other->offset < one->offset + (int64_t)one->size;
}

/* The step of the newest store to the place among the last COMPARE_CELLS accesses, 0: none; *known: whether
 * there is any access to it. */
static unsigned int search_all(const struct places *places, const struct place *place, bool *known)
{
	*known = false;
	for (unsigned int i = places->count; i && i + COMPARE_CELLS > places->count; i--) {
		const struct place *one = &places->place[i - 1];

		if (!is_overlapped(one, place))
			continue;
		*known = true;
		if (one->writer)
			return one->writer;
	}
	return 0;
}

static void a_load_is_found_its_store_among_many(void **state)
{
	static const char *const names[][2] = {{"lw", "sw"}, {"ld", "sd"}};
	static struct compare_memory memory;
	static struct places places;
	uint64_t seed = 11;
	unsigned int stored = 0, none = 0;

	(void)state;
	compare_memory_begin(&memory);
	for (unsigned int step = 1; step <= 4000; step++) {
		bool store, is_double, known;
		struct compare_forward forward;
		struct place place;
		struct pesa_insn insn;
		char text[64];
		unsigned int writer;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		store = seed >> 40 & 1;
		is_double = seed >> 41 & 1;
		place = (struct place){.base = (unsigned int)(seed >> 42) % BASES,
				       .offset = (int64_t)(seed >> 50) % 64 * 4,
				       .size = is_double ? 8 : 4,
				       .writer = store ? step : 0};
		snprintf(text, sizeof(text), "%s a%u, %d(s%u)", names[is_double][store],
			 place.base % 4, (int)place.offset, 2 + place.base);
		insn = assemble("rv64imafd", text, strlen(text));
		forward = compare_memory_step(&memory, &insn, 0x1000);
		writer = search_all(&places, &place, &known);
		if (!store) {
			assert_int_equal(forward.distance, writer ? step - writer : 0);
			stored += writer != 0;
			none += !known;
		}
		if (store || !known)
			places.place[places.count++] = place;
	}
	assert_true(stored > 500 && none > 100);
}

/* ---- On the model ---------------------------------------------------------------------------- */

#define CLASSES                                      \
	"class add uops=1 latency=1 uses=ALU\n"      \
	"\tADDI SD\n"                                \
	"class load uops=1 latency=4 uses=ALU\n"     \
	"\tLD FLD\n"                                 \
	"class product uops=1 latency=20 uses=ALU\n" \
	"\tMUL\n"                                    \
	"end\n"

static const char model_text[] = "pesa-processor-model 1\n"
				 "name Example\n"
				 "processor example rv64imafdc\n"
				 "issue-width 4\n"
				 "micro-op-buffer 64\n"
				 "resource ALU units=4 buffer=-1\n" CLASSES;
static const char in_order_text[] = "pesa-processor-model 1\n"
				    "name Example\n"
				    "processor example rv64imafdc\n"
				    "issue-width 4\n"
				    "micro-op-buffer 0\n"
				    "resource ALU units=4 buffer=0\n" CLASSES;

#define ROUNDS	    20
#define MANY_ROUNDS 900 /* more than there are registers for the data of stores */
#define LINES	    3

struct outcome {
	bool partly, after, free_order, in_order;
	unsigned int forward_latency, drain_latency, load_latency, commit_width;
	unsigned int rounds; /* 0: ROUNDS */
};

/* The cycles of so many rounds of three lines, whose first one reads what the last one of the round
 * before stores; `forwarded` false: it is not said. */
static uint64_t cycles_of(const char *const lines[LINES], bool forwarded, struct outcome how)
{
	const struct pesa_mca_block_options block_options = {
		.own_operands = true,
		.forward_latency = how.forward_latency,
		.drain_latency = how.drain_latency,
		.load_latency = how.load_latency,
	};
	const struct pesa_mca_run_options options = {
		.iterations = 1, .free_order = how.free_order, .commit_width = how.commit_width};
	const unsigned int count = (how.rounds ? how.rounds : ROUNDS) * LINES;
	static struct pesa_mca_instruction instructions[MANY_ROUNDS * LINES];
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	const char *text;
	uint64_t cycles;

	memset(instructions, 0, sizeof(instructions));
	for (unsigned int i = 0; i < count; i++) {
		instructions[i].insn =
			assemble("rv64imafd", lines[i % LINES], strlen(lines[i % LINES]));
		instructions[i].latency = -1;
		if (forwarded && i >= LINES && i % LINES == 0) {
			instructions[i].forwarded_by = 1;
			instructions[i].forwarded_partly = how.partly;
			instructions[i].after_store = how.after;
		}
	}
	text = how.in_order ? in_order_text : model_text;
	assert_null(pesa_mca_model_parse("text", text, strlen(text), &model));
	assert_null(pesa_mca_block_create(model, instructions, count, &block_options, &block));
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
	return cycles;
}

static const char *const counter[LINES] = {"ld t4, 0(t5)", "addi t4, t4, 1", "sd t4, 0(t5)"};

static void a_forwarded_load_ends_so_many_cycles_after_the_store(void **state)
{
	uint64_t three = cycles_of(counter, true, (struct outcome){.forward_latency = 3});
	uint64_t five = cycles_of(counter, true, (struct outcome){.forward_latency = 5});
	uint64_t none = cycles_of(counter, false, (struct outcome){0});

	(void)state;
	/* Store, 1 cycle, and load end 1 + 3 after the store issues, the sum 1 later. */
	assert_true(three > none);
	assert_int_equal(five - three, 2 * (ROUNDS - 1));
	assert_in_range(three, 5 * (ROUNDS - 1), 5 * (ROUNDS - 1) + 12);
}

static void any_number_of_loads_are_forwarded_to(void **state)
{
	uint64_t few = cycles_of(counter, true, (struct outcome){.forward_latency = 3});
	uint64_t many = cycles_of(counter, true,
				  (struct outcome){.forward_latency = 3, .rounds = MANY_ROUNDS});

	(void)state;
	assert_int_equal(many - few, 5 * (MANY_ROUNDS - ROUNDS));
}

static void a_load_is_not_later_for_a_store_that_is_done(void **state)
{
	/* A load takes 4 cycles: what is there after 2 or 3 is early enough. */
	(void)state;
	assert_int_equal(cycles_of(counter, true, (struct outcome){.forward_latency = 2}),
			 cycles_of(counter, true, (struct outcome){.forward_latency = 3}));
}

static void a_partly_forwarded_load_waits_until_the_store_has_retired(void **state)
{
	uint64_t nine =
		cycles_of(counter, true, (struct outcome){.partly = true, .drain_latency = 9});
	uint64_t ten =
		cycles_of(counter, true, (struct outcome){.partly = true, .drain_latency = 10});

	(void)state;
	assert_int_equal(ten - nine, ROUNDS - 1);
	/* Load, sum, store and retirement, and 9 from there on. */
	assert_in_range(nine, (9 + 1 + 1 + 1) * (ROUNDS - 1), (9 + 1 + 1 + 2) * ROUNDS + 12);
	assert_int_equal(cycles_of(counter, true, (struct outcome){.partly = true}),
			 cycles_of(counter, false, (struct outcome){0}));
}

static void a_load_that_waits_for_a_retirement_has_begun_meanwhile(void **state)
{
	/* A load takes 4 cycles, but its data is there 2 or 3 after the store has retired. */
	uint64_t two =
		cycles_of(counter, true, (struct outcome){.partly = true, .drain_latency = 2});
	uint64_t three =
		cycles_of(counter, true, (struct outcome){.partly = true, .drain_latency = 3});

	(void)state;
	assert_int_equal(three - two, ROUNDS - 1);
}

static void in_order_too_a_partly_forwarded_load_waits(void **state)
{
	uint64_t nine =
		cycles_of(counter, true,
			  (struct outcome){.in_order = true, .partly = true, .drain_latency = 9});
	uint64_t ten =
		cycles_of(counter, true,
			  (struct outcome){.in_order = true, .partly = true, .drain_latency = 10});

	(void)state;
	assert_int_equal(ten - nine, ROUNDS - 1);
	assert_in_range(nine, (9 + 1 + 1) * (ROUNDS - 1), (9 + 1 + 1 + 2) * ROUNDS + 12);
}

static void in_order_a_store_retires_behind_what_retires_before_it(void **state)
{
	/* All three have executed in the same cycle, the store is the last of them. */
	static const char *const lines[LINES] = {"ld t4, 0(t5)", "addi t0, t1, 1", "sd t1, 0(t5)"};
	struct outcome how = {.in_order = true, .partly = true, .drain_latency = 9};
	uint64_t all = cycles_of(lines, true, how);

	(void)state;
	how.commit_width = 3;
	assert_int_equal(cycles_of(lines, true, how), all);
	how.commit_width = 2;
	assert_int_equal(cycles_of(lines, true, how), all + ROUNDS - 1);
	how.commit_width = 1;
	assert_int_equal(cycles_of(lines, true, how), all + 2 * (ROUNDS - 1));
}

static void a_load_after_a_store_begins_when_that_issues(void **state)
{
	uint64_t four = cycles_of(counter, true, (struct outcome){.after = true});
	uint64_t nine =
		cycles_of(counter, true, (struct outcome){.after = true, .load_latency = 9});

	(void)state;
	/* Load and sum, over and over; the store issues in the cycle in which the sum is there. */
	assert_in_range(four, (4 + 1) * (ROUNDS - 1), (4 + 1) * ROUNDS + 12);
	assert_in_range(nine, (9 + 1) * (ROUNDS - 1), (9 + 1) * ROUNDS + 12);
}

static void a_load_takes_no_less_than_a_hit(void **state)
{
	uint64_t four = cycles_of(counter, false, (struct outcome){0});

	(void)state;
	assert_int_equal(cycles_of(counter, false, (struct outcome){.load_latency = 4}), four);
	assert_int_equal(cycles_of(counter, false, (struct outcome){.load_latency = 11}), four + 7);
}

/* The cycles of a product, a quotient that needs it, and another quotient that needs nothing. */
static uint64_t cycles_of_quotients(unsigned int ordered_cycles)
{
	static const char text[] = "pesa-processor-model 1\n"
				   "name Example\n"
				   "processor example rv64imafdc\n"
				   "issue-width 4\n"
				   "micro-op-buffer 64\n"
				   "resource ALU units=4 buffer=-1\n"
				   "resource DIV units=1 buffer=-1\n"
				   "class product uops=1 latency=20 uses=ALU\n"
				   "\tMUL\n"
				   "class quotient uops=1 latency=10 uses=DIV:10\n"
				   "\tDIV\n"
				   "end\n";
	static const char *const lines[LINES] = {"mul t0, t1, t2", "div t3, t0, t1",
						 "div t4, t1, t2"};
	const struct pesa_mca_block_options block_options = {.own_operands = true,
							     .ordered_cycles = ordered_cycles};
	const struct pesa_mca_run_options options = {.iterations = 1, .free_order = true};
	struct pesa_mca_instruction instructions[LINES] = {0};
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	uint64_t cycles;

	for (unsigned int i = 0; i < LINES; i++) {
		instructions[i].insn = assemble("rv64imafd", lines[i], strlen(lines[i]));
		instructions[i].latency = -1;
	}
	assert_null(pesa_mca_model_parse("text", text, strlen(text), &model));
	assert_null(pesa_mca_block_create(model, instructions, LINES, &block_options, &block));
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
	return cycles;
}

static void a_unit_may_be_taken_in_program_order(void **state)
{
	uint64_t by_readiness = cycles_of_quotients(0), in_order = cycles_of_quotients(10);

	(void)state;
	/* The second quotient is done before the product is, or begins after the first one. */
	assert_in_range(by_readiness, 20 + 10, 20 + 10 + 5);
	assert_int_equal(in_order - by_readiness, 10);
	/* The unit is not occupied for so long. */
	assert_int_equal(cycles_of_quotients(11), by_readiness);
}

static void in_free_order_a_store_does_not_wait_for_older_loads(void **state)
{
	/* The load needs a product; the store does not, and what it forwards to does neither. */
	static const char *const lines[LINES] = {"ld t4, 0(t5)", "ld t6, 0(t3)", "sd t4, 0(t5)"};
	static const char *const late[LINES] = {"ld t4, 0(t5)", "mul t3, t4, t4", "sd t4, 0(t5)"};

	(void)state;
	assert_true(cycles_of(lines, true, (struct outcome){.free_order = true}) <=
		    cycles_of(lines, true, (struct outcome){0}));
	assert_true(cycles_of(late, true, (struct outcome){.free_order = true}) <=
		    cycles_of(late, true, (struct outcome){0}));
}

/* ---- The store queue ------------------------------------------------------------------------- */

/* The cycles of a line that is executed `options->iterations` times. */
static uint64_t cycles_of_repeated(const char *line, const struct pesa_mca_run_options *options)
{
	const struct pesa_mca_block_options block_options = {0};
	struct pesa_mca_instruction instruction = {
		.insn = assemble("rv64imafd", line, strlen(line)), .latency = -1};
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	uint64_t cycles;

	assert_null(pesa_mca_model_parse("text", model_text, strlen(model_text), &model));
	assert_null(pesa_mca_block_create(model, &instruction, 1, &block_options, &block));
	assert_null(pesa_mca_run(block, options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
	return cycles;
}

/* The cycles of so many independent stores, with a queue of one entry or more. */
static uint64_t cycles_of_stores(unsigned int stores, unsigned int entries, unsigned int ports,
				 unsigned int latency)
{
	const struct pesa_mca_run_options options = {
		.iterations = stores,
		.free_order = true,
		.store_queue = entries,
		.store_ports = ports,
		.store_latency = latency,
	};

	return cycles_of_repeated("sd a0, 0(a1)", &options);
}

static void a_store_leaves_its_queue_when_it_is_in_the_cache(void **state)
{
	(void)state;
	/* One entry: the next store enters when this one retires, or in the cycle after it was
	 * `latency` cycles in the cache, to which it goes a cycle after it retired. */
	for (unsigned int latency = 0; latency < 6; latency++)
		assert_int_equal(cycles_of_stores(50, 1, 1, latency),
				 cycles_of_stores(50, 1, 0, 0) + 49 * (latency + 2));
	/* Many entries: as if there were no queue. */
	assert_int_equal(cycles_of_stores(50, 50, 1, 5), cycles_of_stores(50, 0, 0, 0));
	/* Few: each of them is taken anew once in the cycles that one store takes. */
	assert_true(cycles_of_stores(400, 4, 1, 8) < cycles_of_stores(400, 2, 1, 8));
	assert_true(cycles_of_stores(400, 4, 1, 8) > cycles_of_stores(400, 4, 0, 0));
}

/* ---- Registers of results -------------------------------------------------------------------- */

static void results_of_each_kind_have_registers_of_their_own(void **state)
{
	static const struct {
		const char *line;
		bool integer, floating;
	} lines[] = {
		{"mul a0, a1, a2", true, false},    {"ld a0, 0(a1)", true, false},
		{"fld fa0, 0(a1)", false, true},    {"sd a0, 0(a1)", false, false},
		{"mul zero, a1, a2", false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint64_t unlimited = cycles_of_repeated(
			lines[i].line, &(struct pesa_mca_run_options){.iterations = 100});

		for (unsigned int size = 1; size < 12; size++) {
			/* All results share this file, as in llvm-mca. */
			uint64_t shared = cycles_of_repeated(
				lines[i].line,
				&(struct pesa_mca_run_options){.iterations = 100,
							       .register_file_size = size});

			assert_int_equal(cycles_of_repeated(lines[i].line,
							    &(struct pesa_mca_run_options){
								    .iterations = 100,
								    .integer_results = size}),
					 lines[i].integer ? shared : unlimited);
			assert_int_equal(cycles_of_repeated(
						 lines[i].line,
						 &(struct pesa_mca_run_options){
							 .iterations = 100, .float_results = size}),
					 lines[i].floating ? shared : unlimited);
			assert_true(size > 1 || shared > unlimited ||
				    !(lines[i].integer || lines[i].floating));
		}
	}
}

/* ---- Barriers -------------------------------------------------------------------------------- */

/* The cycles of some lines, executed once out of order; a fence is a barrier if `barrier`. */
static uint64_t cycles_of_lines(const char *const *lines, unsigned int count, bool barrier,
				unsigned int drain_latency)
{
	const struct pesa_mca_block_options block_options = {.own_operands = true,
							     .skip_unsupported = true,
							     .drain_latency = drain_latency,
							     .load_latency = 4};
	const struct pesa_mca_run_options options = {.iterations = 1, .free_order = true};
	struct pesa_mca_instruction instructions[16] = {0};
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	uint64_t cycles;

	for (unsigned int i = 0; i < count; i++) {
		instructions[i].insn = assemble("rv64imafd", lines[i], strlen(lines[i]));
		instructions[i].latency = -1;
		instructions[i].barrier = barrier && strstr(lines[i], "fence");
	}
	assert_null(pesa_mca_model_parse("text", model_text, strlen(model_text), &model));
	assert_null(pesa_mca_block_create(model, instructions, count, &block_options, &block));
	/* The model has no fence. */
	assert_int_equal(pesa_mca_block_count(block), barrier ? count : count - 1);
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
	return cycles;
}

static void loads_and_stores_wait_at_a_barrier_and_arithmetic_does_not(void **state)
{
	static const char *const loads[] = {"ld a0, 0(a1)", "fence", "ld a2, 0(a3)"};
	static const char *const product[] = {"ld a0, 0(a1)", "fence", "mul a2, a3, a4"};
	static const char *const stores[] = {"sd a0, 0(a1)", "fence", "ld a2, 0(a3)"};

	(void)state;
	/* A load of 4 cycles, the barrier of 1, another load. */
	assert_int_equal(cycles_of_lines(loads, 3, true, 0),
			 cycles_of_lines(loads, 3, false, 0) + 4 + 1);
	/* A product takes 20 cycles: a barrier that waits for a load does not delay it. */
	assert_int_equal(cycles_of_lines(product, 3, true, 0),
			 cycles_of_lines(product, 3, false, 0));
	/* A store is waited for until it is in the cache, 6 cycles after it retired: a load of 4 ends
	 * after 10. */
	assert_int_equal(cycles_of_lines(stores, 3, true, 10),
			 cycles_of_lines(stores, 3, true, 4) + 6);
}

/* ---- How much of an effect is measured ----------------------------------------------------- */

#define BLOCKS 20

/* A candidate that moves each of some blocks of code, one instruction each, in a region of its own,
 * by as much as is measured. */
static struct compare_candidate fit_exact_effect(double misfit)
{
	struct compare_residual node[BLOCKS];
	struct compare_block block[BLOCKS];
	struct compare_effect effect[BLOCKS];
	struct compare_residuals residuals = {.node = node, .block = block, .regions = BLOCKS};
	struct compare_candidate candidate = {
		.effect = effect, .effects = BLOCKS, .misfit = misfit};

	for (uint32_t i = 0; i < BLOCKS; i++) {
		effect[i] = (struct compare_effect){.node = i, .cycles = 100 + i};
		node[i] = (struct compare_residual){
			.value = effect[i].cycles, .variance = 400, .block = i};
		block[i] = (struct compare_block){.value = effect[i].cycles,
						  .variance = 400,
						  .shift = 400,
						  .scale = 1000,
						  .region = i};
	}
	assert_true(compare_fit(&residuals, &candidate));
	candidate.effect = NULL;
	return candidate;
}

static void an_effect_is_found_as_far_as_misfit_lets_it(void **state)
{
	struct compare_candidate clear = fit_exact_effect(0);
	struct compare_candidate hidden = fit_exact_effect(0.2);

	(void)state;
	assert_float_equal(clear.theta, 1, 1e-6);
	assert_float_equal(hidden.theta, 1, 1e-6);
	/* Each block tells theta with 20 of 110 cycles, and beside misfit with 201 of them. */
	assert_float_equal(clear.error, 20 / 110.0 / sqrt(BLOCKS), 0.005);
	assert_true(hidden.error > 201 / 110.0 / sqrt(BLOCKS));
	assert_true(clear.whole > 9 && hidden.whole < 9);
	assert_true(clear.theta / clear.error > 9 && hidden.theta / hidden.error < 3);
}

/* Whoever waits makes others faster that wait meanwhile: that they are says nothing of who waits.
 */
static void what_a_change_makes_slower_has_to_be_slower(void **state)
{
	struct compare_residual node[BLOCKS];
	struct compare_block block[BLOCKS];
	struct compare_effect effect[BLOCKS];
	struct compare_residuals residuals = {.node = node, .block = block, .regions = BLOCKS};
	struct compare_candidate candidate = {.effect = effect, .effects = BLOCKS, .shifted = 3000};
	struct compare_node code[BLOCKS] = {{0}};
	struct pesa_compare compare = {.code = {.node = code, .count = BLOCKS}};
	const struct compare_search search = {
		.compare = &compare, .deviations = 3, .entry_deviations = 3, .core = 100000};

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		for (uint32_t i = 0; i < BLOCKS; i++) {
			double cycles = i ? -100 : 1000, seen = i || waits ? cycles : 0;

			code[i].group = i;
			effect[i] = (struct compare_effect){.node = i, .cycles = cycles};
			node[i] = (struct compare_residual){
				.value = seen, .variance = 400, .block = i};
			block[i] = (struct compare_block){
				.value = seen, .variance = 400, .shift = 400, .region = i};
		}
		/* Not known to be at its place, as where the whole block is off. */
		node[0].variance = block[0].shift = block[0].variance = waits ? 400 : 250000;
		assert_true(compare_fit(&residuals, &candidate));
		assert_true(candidate.theta > 0.9 && candidate.whole > 100);
		assert_float_equal(candidate.direct, waits, 1e-6);
		assert_int_equal(compare_is_significant(&search, &candidate), waits);
	}
}

static void what_is_left_is_less_likely_than_nothing(void **state)
{
	struct compare_residual node[BLOCKS];
	struct compare_block block[BLOCKS];
	struct compare_residuals residuals = {.node = node, .block = block, .regions = BLOCKS};
	double exact, off, unknown;

	(void)state;
	for (uint32_t i = 0; i < BLOCKS; i++) {
		node[i] = (struct compare_residual){.variance = 400, .block = i};
		block[i] = (struct compare_block){
			.variance = 400, .shift = 400, .scale = 1000, .region = i};
	}
	exact = compare_likelihood(&residuals, BLOCKS, BLOCKS, 0);
	/* Twice the logarithm of a normal density; an instruction that is all of its block says no
	 * more than that. */
	assert_float_equal(exact, -2 * BLOCKS * log(400), 1e-6);
	unknown = compare_likelihood(&residuals, BLOCKS, BLOCKS, 0.1);
	block[3].value = node[3].value = 20;
	off = compare_likelihood(&residuals, BLOCKS, BLOCKS, 0);
	assert_float_equal(off, exact - 1, 1e-6);
	assert_true(unknown < off);
	/* Far off, by a straight line instead of a square. */
	block[3].value = node[3].value = 200;
	assert_float_equal(compare_likelihood(&residuals, BLOCKS, BLOCKS, 0), exact - 2 * (20 - 2),
			   1e-6);
}

/* What is said of an instruction is said of the class in the model's file, also while its opcode has
 * another one of its own. */
static void an_opcode_that_is_split_off_tells_its_class(void **state)
{
	struct pesa_mca_model *model;
	unsigned int before;

	(void)state;
	assert_null(pesa_mca_model_builtin("sifive-p670", &model));
	before = model->class_count;
	assert_null(pesa_mca_model_change(model, "C_LD.latency=9", NULL));
	assert_null(pesa_mca_model_change(model, "ADDI.latency=3", NULL));
	assert_true(model->class_count > before);
	for (unsigned int i = 0; i < model->class_count; i++) {
		const struct mca_identity *identity = &model->identities[i];

		assert_true(identity->whole < before);
		assert_true(i >= before || identity->whole == i);
		assert_int_equal(model->identities[identity->whole].entry, identity->entry);
	}
	pesa_mca_model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opcode_that_is_split_off_tells_its_class),
		cmocka_unit_test(a_reload_reads_the_newest_store_to_its_place),
		cmocka_unit_test(a_load_of_another_place_reads_no_store),
		cmocka_unit_test(a_base_is_followed_through_sums_and_copies),
		cmocka_unit_test(a_base_is_followed_through_memory),
		cmocka_unit_test(a_load_of_two_stores_waits_for_the_newer_one),
		cmocka_unit_test(a_load_is_found_its_store_among_many),
		cmocka_unit_test(a_forwarded_load_ends_so_many_cycles_after_the_store),
		cmocka_unit_test(any_number_of_loads_are_forwarded_to),
		cmocka_unit_test(a_load_is_not_later_for_a_store_that_is_done),
		cmocka_unit_test(a_partly_forwarded_load_waits_until_the_store_has_retired),
		cmocka_unit_test(in_order_too_a_partly_forwarded_load_waits),
		cmocka_unit_test(in_order_a_store_retires_behind_what_retires_before_it),
		cmocka_unit_test(a_load_that_waits_for_a_retirement_has_begun_meanwhile),
		cmocka_unit_test(a_load_after_a_store_begins_when_that_issues),
		cmocka_unit_test(a_load_takes_no_less_than_a_hit),
		cmocka_unit_test(a_unit_may_be_taken_in_program_order),
		cmocka_unit_test(in_free_order_a_store_does_not_wait_for_older_loads),
		cmocka_unit_test(a_store_leaves_its_queue_when_it_is_in_the_cache),
		cmocka_unit_test(results_of_each_kind_have_registers_of_their_own),
		cmocka_unit_test(loads_and_stores_wait_at_a_barrier_and_arithmetic_does_not),
		cmocka_unit_test(an_effect_is_found_as_far_as_misfit_lets_it),
		cmocka_unit_test(what_a_change_makes_slower_has_to_be_slower),
		cmocka_unit_test(what_is_left_is_less_likely_than_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
