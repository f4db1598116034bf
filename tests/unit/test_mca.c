/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine by its laws: every instruction goes through every stage once, in order, in time. */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/model/model.h"

static void expect_ok(struct pesa_error *error)
{
	if (error)
		fail_msg("%s", error->message);
}

/* Decode words into instructions; all are known in rv64gcv. */
static void decode(const uint32_t *words, unsigned int count,
		   struct pesa_mca_instruction *instructions)
{
	struct pesa_isa *isa;

	expect_ok(pesa_isa_create("rv64gc", &isa));
	for (unsigned int i = 0; i < count; i++) {
		memset(&instructions[i], 0, sizeof(instructions[i]));
		instructions[i].latency = -1;
		assert_int_equal(pesa_insn_decode(isa, &words[i], 4, &instructions[i].insn), 4);
	}
	pesa_isa_free(isa);
}

static uint64_t cycles_of(const char *processor, const uint32_t *words, unsigned int count,
			  unsigned int iterations)
{
	const struct pesa_mca_block_options block_options = {.processor = processor};
	const struct pesa_mca_run_options options = {.iterations = iterations};
	struct pesa_mca_instruction instructions[16];
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	uint64_t cycles;

	decode(words, count, instructions);
	expect_ok(pesa_mca_model_builtin(processor, &model));
	expect_ok(pesa_mca_block_create(model, instructions, count, &block_options, &block));
	expect_ok(pesa_mca_run(block, &options, NULL, 0, &cycles));
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
	return cycles;
}

static void every_builtin_model_loads(void **state)
{
	const char *name;
	unsigned int count;

	(void)state;
	for (count = 0; (name = pesa_mca_builtin_processor(count)); count++) {
		struct pesa_mca_model *model;

		expect_ok(pesa_mca_model_builtin(name, &model));
		assert_non_null(pesa_mca_model_processor(model, name));
		assert_true(pesa_mca_model_resources(model) > 0);
		assert_true(pesa_mca_model_issue_width(model) > 0);
		pesa_mca_model_free(model);
	}
	assert_true(count >= 43);
}

static void expect_same_text(const char *one, const char *other)
{
	if (one && other)
		assert_string_equal(one, other);
	else
		assert_true(!one && !other);
}

static void expect_same_names(const struct pesa_mca_model *one, const struct pesa_mca_model *other)
{
	expect_same_text(one->name, other->name);
	for (unsigned int i = 0; i < one->processor_count; i++) {
		expect_same_text(one->processors[i].name, other->processors[i].name);
		expect_same_text(one->processors[i].isa, other->processors[i].isa);
		assert_int_equal(one->processors[i].tunings, other->processors[i].tunings);
		for (unsigned int j = 0; j < one->processors[i].tunings; j++)
			expect_same_text(one->processors[i].tuning[j],
					 other->processors[i].tuning[j]);
	}
	for (unsigned int i = 0; i < one->class_count; i++) {
		expect_same_text(one->identities[i].name, other->identities[i].name);
		expect_same_text(one->identities[i].write, other->identities[i].write);
		expect_same_text(one->identities[i].from, other->identities[i].from);
		expect_same_text(one->identities[i].reads, other->identities[i].reads);
		assert_int_equal(one->identities[i].costs, other->identities[i].costs);
		assert_int_equal(one->identities[i].entry, other->identities[i].entry);
		assert_int_equal(one->identities[i].whole, other->identities[i].whole);
	}
	for (unsigned int i = 0; i < one->read_count; i++) {
		expect_same_text(one->reads[i].name, other->reads[i].name);
		expect_same_text(one->reads[i].from, other->reads[i].from);
	}
	for (unsigned int i = 0; i < one->condition_count; i++) {
		expect_same_text(one->conditions[i].feature, other->conditions[i].feature);
		assert_int_equal(one->conditions[i].operand, other->conditions[i].operand);
		assert_int_equal(one->conditions[i].reg, other->conditions[i].reg);
	}
}

static void expect_same_resources(const struct pesa_mca_model *one,
				  const struct pesa_mca_model *other)
{
	for (unsigned int i = 0; i < one->resource_count; i++) {
		const struct pesa_mca_resource *left = &one->resources[i],
					       *right = &other->resources[i];

		expect_same_text(left->name, right->name);
		expect_same_text(left->from, right->from);
		assert_int_equal(left->group, right->group);
		assert_int_equal(left->units, right->units);
		assert_int_equal(left->buffer, right->buffer);
		assert_int_equal(left->members, right->members);
		for (unsigned int j = 0; j < left->members; j++)
			assert_int_equal(left->member[j], right->member[j]);
		assert_int_equal(one->super[i], other->super[i]);
		assert_int_equal(one->masks[i], other->masks[i]);
		assert_int_equal(one->of_bit[i], other->of_bit[i]);
	}
}

/* Elements of the arrays are compared member by member: some have padding. */
static void expect_same_costs(const struct pesa_mca_model *one, const struct pesa_mca_model *other)
{
#define SAME(array, index, member) \
	assert_int_equal(one->array[index].member, other->array[index].member)
	for (unsigned int i = 0; i < one->class_count; i++) {
		SAME(classes, i, micro_ops);
		SAME(classes, i, flags);
		SAME(classes, i, writes);
		SAME(classes, i, uses);
		SAME(classes, i, advances);
		SAME(classes, i, write);
		SAME(classes, i, use);
		SAME(classes, i, advance);
	}
	for (unsigned int i = 0; i < one->write_count; i++) {
		SAME(writes, i, latency);
		SAME(writes, i, name);
	}
	for (unsigned int i = 0; i < one->use_count; i++) {
		SAME(uses, i, resource);
		SAME(uses, i, acquire);
		SAME(uses, i, release);
	}
	for (unsigned int i = 0; i < one->advance_count; i++) {
		SAME(advances, i, operand);
		SAME(advances, i, write);
		SAME(advances, i, cycles);
	}
	for (unsigned int i = 0; i < one->variant_count; i++) {
		SAME(variants, i, alternative);
		SAME(variants, i, alternatives);
	}
	for (unsigned int i = 0; i < one->alternative_count; i++) {
		SAME(alternatives, i, class);
		SAME(alternatives, i, conditions);
		SAME(alternatives, i, condition);
	}
#undef SAME
}

static void expect_same_model(const struct pesa_mca_model *one, const struct pesa_mca_model *other)
{
#define SAME(number) assert_int_equal(one->number, other->number)
	SAME(issue_width);
	SAME(micro_op_buffer);
	SAME(load_latency);
	SAME(mispredict_penalty);
	SAME(reorder_buffer);
	SAME(retire_width);
	SAME(load_queue);
	SAME(store_queue);
	SAME(processor_count);
	SAME(resource_count);
	SAME(class_count);
	SAME(read_count);
	SAME(write_count);
	SAME(use_count);
	SAME(advance_count);
	SAME(variant_count);
	SAME(alternative_count);
	SAME(condition_count);
	SAME(write_name_count);
	SAME(vector_rows);
#undef SAME
	expect_same_names(one, other);
	expect_same_resources(one, other);
	expect_same_costs(one, other);
	assert_memory_equal(one->opcode_class, other->opcode_class,
			    mca_opcode_count * sizeof(*one->opcode_class));
	for (unsigned int i = 0; i < mca_opcode_count; i++) {
		const uint16_t *left = mca_model_vector(one, i),
			       *right = mca_model_vector(other, i);

		assert_true(!left == !right);
		if (left)
			assert_memory_equal(left, right, sizeof(*one->vector_class));
	}
}

/* Models are parsed when pesa is built.  A change gives the model memory of its own. */
static void a_builtin_model_is_what_its_text_says(void **state)
{
	static const char change[] = "lw.latency=9";
	const char *name;

	(void)state;
	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++) {
		struct pesa_mca_model *builtin, *parsed, *again;
		const char *text;
		size_t size;

		text = pesa_mca_builtin_text(name, &size);
		expect_ok(pesa_mca_model_parse(name, text, size, &parsed));
		expect_ok(pesa_mca_model_builtin(name, &builtin));
		expect_same_model(builtin, parsed);
		expect_ok(pesa_mca_model_change(builtin, change, NULL));
		expect_ok(pesa_mca_model_change(parsed, change, NULL));
		expect_same_model(builtin, parsed);
		expect_ok(pesa_mca_model_builtin(name, &again));
		assert_true(again->class_count < builtin->class_count);
		pesa_mca_model_free(again);
		pesa_mca_model_free(builtin);
		pesa_mca_model_free(parsed);
	}
}

static void an_unknown_processor_names_the_nearest(void **state)
{
	struct pesa_mca_model *model = NULL;
	struct pesa_error *error = pesa_mca_model_builtin("sifive-p67O", &model);

	(void)state;
	assert_non_null(error);
	assert_int_equal(error->code, PESA_ERROR_NOT_FOUND);
	assert_non_null(strstr(error->message, "sifive-p670"));
	pesa_error_free(error);
}

/* A multiplication that needs its own result: the latency in every iteration. */
static void a_dependent_chain_takes_its_latency(void **state)
{
	const uint32_t mul = 0x02b50533; /* mul a0, a0, a1 */
	uint64_t some = cycles_of("sifive-p670", &mul, 1, 100);
	uint64_t more = cycles_of("sifive-p670", &mul, 1, 200);

	(void)state;
	assert_int_equal(more - some, 100 * 2); /* 2 cycles in that model */
}

/* What happened to each instruction. */
struct life {
	unsigned int dispatched, ready, issued, executed, retired; /* how often */
	uint64_t last;						   /* cycle of the last of them */
};

struct lives {
	struct life *life;
	unsigned int count, next_to_retire;
	uint64_t cycle, micro_ops, registers;
};

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct lives *lives = data;
	struct life *life;

	if (event->kind == PESA_MCA_CYCLE_END) {
		lives->cycle++;
		return NULL;
	}
	assert_true(event->instruction < lives->count);
	life = &lives->life[event->instruction];
	assert_true(lives->cycle >= life->last);
	life->last = lives->cycle;
	switch (event->kind) {
	case PESA_MCA_DISPATCHED:
		assert_int_equal(life->retired, 0);
		life->dispatched++;
		lives->registers += event->registers;
		break;
	case PESA_MCA_READY:
		assert_true(life->dispatched && !life->issued);
		life->ready++;
		break;
	case PESA_MCA_ISSUED:
		assert_true(life->ready && !life->executed);
		life->issued++;
		break;
	case PESA_MCA_EXECUTED:
		assert_true(life->issued && !life->retired);
		life->executed++;
		break;
	default:
		assert_true(life->executed);
		life->retired++;
		lives->registers -= event->registers;
		lives->micro_ops += event->micro_ops;
	}
	return NULL;
}

static const uint32_t mixed[] = {
	0x00c58533, /* add a0, a1, a2 */
	0x0005b503, /* ld a0, 0(a1) */
	0x00a5b023, /* sd a0, 0(a1) */
	0x02c50533, /* mul a0, a0, a2 */
	0x02c545b3, /* div a1, a0, a2 */
	0x02c5f553, /* fadd.d fa0, fa1, fa2 */
	0x1ac57553, /* fdiv.d fa0, fa0, fa2 */
	0x00b57463, /* bgeu a0, a1, 8 */
	0x00a5b427, /* fsd fa0, 8(a1) */
};

static void every_instruction_passes_every_stage_once(void **state)
{
	enum { COUNT = sizeof(mixed) / sizeof(mixed[0]), ITERATIONS = 20 };
	static const char *const processors[] = {"sifive-u74",	    "sifive-p670",  "sifive-p870",
						 "spacemit-x60",    "rocket-rv64",  "mips-p8700",
						 "xiangshan-nanhu", "tt-ascalon-d8"};
	struct pesa_mca_instruction instructions[COUNT];

	(void)state;
	decode(mixed, COUNT, instructions);
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		const struct pesa_mca_block_options block_options = {.processor = processors[i]};
		const struct pesa_mca_run_options options = {.iterations = ITERATIONS,
							     .loads_alias_stores = i & 1};
		struct lives lives = {.count = COUNT * ITERATIONS};
		const struct pesa_mca_listener listener = {
			on_event, &lives,
			1u << PESA_MCA_CYCLE_END | 1u << PESA_MCA_DISPATCHED |
				1u << PESA_MCA_READY | 1u << PESA_MCA_ISSUED |
				1u << PESA_MCA_EXECUTED | 1u << PESA_MCA_RETIRED};
		struct pesa_mca_model *model;
		struct pesa_mca_block *block;
		uint64_t cycles, micro_ops = 0;

		lives.life = calloc(lives.count, sizeof(*lives.life));
		assert_non_null(lives.life);
		expect_ok(pesa_mca_model_builtin(processors[i], &model));
		expect_ok(
			pesa_mca_block_create(model, instructions, COUNT, &block_options, &block));
		expect_ok(pesa_mca_run(block, &options, &listener, 1, &cycles));
		for (unsigned int j = 0; j < lives.count; j++) {
			const struct life *life = &lives.life[j];
			struct pesa_mca_information information;

			pesa_mca_block_information(block, j % COUNT, &information);
			micro_ops += information.micro_ops;
			assert_true(life->dispatched >= 1);
			assert_int_equal(life->ready, 1);
			assert_int_equal(life->issued, 1);
			assert_int_equal(life->executed, 1);
			assert_int_equal(life->retired, 1);
		}
		assert_int_equal(lives.cycle, cycles);
		assert_int_equal(lives.micro_ops, micro_ops);
		assert_int_equal(lives.registers, 0);
		assert_true((double)cycles + 1e-6 >=
			    ITERATIONS * pesa_mca_block_throughput(block, 0) - 100);
		pesa_mca_block_free(block);
		pesa_mca_model_free(model);
		free(lives.life);
	}
}

static void what_cannot_run_is_refused(void **state)
{
	const struct pesa_mca_block_options block_options = {.processor = "sifive-u74"};
	struct pesa_mca_run_options options = {.iterations = 0};
	struct pesa_mca_instruction instruction;
	struct pesa_mca_model *model;
	struct pesa_mca_block *block;
	struct pesa_error *error;
	uint64_t cycles = 7;

	(void)state;
	decode(mixed, 1, &instruction);
	expect_ok(pesa_mca_model_builtin("sifive-u74", &model));
	expect_ok(pesa_mca_block_create(model, &instruction, 1, &block_options, &block));
	error = pesa_mca_run(block, &options, NULL, 0, &cycles);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	options.iterations = UINT32_MAX;
	error = pesa_mca_run(block, &options, NULL, 0, &cycles);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	assert_int_equal(cycles, 7);
	pesa_mca_block_free(block);
	expect_ok(pesa_mca_block_create(model, &instruction, 0, &block_options, &block));
	options.iterations = 1;
	error = pesa_mca_run(block, &options, NULL, 0, &cycles);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	pesa_mca_block_free(block);
	pesa_mca_model_free(model);
}

/* ---- Threads that share a model -------------------------------------------------------------- */

enum { MIXED = sizeof(mixed) / sizeof(mixed[0]), THREADS = 3, TURNS = 40 };

struct worker {
	const struct pesa_mca_model *model;
	struct pesa_mca_instruction instructions[MIXED];
	uint64_t cycles, events; /* of the first turn */
	bool differs;
};

static struct pesa_error *count_event(void *data, const struct pesa_mca_event *event)
{
	uint64_t *events = data;

	*events += 1 + event->instruction;
	return NULL;
}

/* Bind and run, with and without a listener; the same numbers each time. */
static void *work(void *data)
{
	struct worker *worker = data;
	const struct pesa_mca_block_options block_options = {.processor = "sifive-p670"};
	const struct pesa_mca_run_options options = {.iterations = 30, .pressure = true};

	for (unsigned int i = 0; i < TURNS; i++) {
		struct pesa_mca_block *block;
		uint64_t cycles[2] = {0}, events = 0;
		const struct pesa_mca_listener listener = {count_event, &events, UINT32_MAX};
		struct pesa_error *error = pesa_mca_block_create(
			worker->model, worker->instructions, MIXED, &block_options, &block);

		if (!error) {
			error = pesa_mca_run(block, &options, &listener, 1, &cycles[0]);
			if (!error)
				error = pesa_mca_run(block, &options, NULL, 0, &cycles[1]);
			pesa_mca_block_free(block);
		}
		if (!worker->cycles) {
			worker->cycles = cycles[0];
			worker->events = events;
		}
		worker->differs |= error || cycles[0] != worker->cycles ||
				   cycles[1] != worker->cycles || events != worker->events;
		pesa_error_free(error);
	}
	return NULL;
}

static void threads_share_a_model(void **state)
{
	struct worker together[THREADS] = {0}, alone[THREADS];
	pthread_t threads[THREADS];
	struct pesa_mca_model *model;

	(void)state;
	expect_ok(pesa_mca_model_builtin("sifive-p670", &model));
	for (unsigned int i = 0; i < THREADS; i++) {
		uint32_t words[MIXED];

		for (unsigned int j = 0; j < MIXED; j++)
			words[j] = mixed[(i + j) % MIXED];
		together[i].model = model;
		decode(words, MIXED, together[i].instructions);
		alone[i] = together[i];
		work(&alone[i]);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &together[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(alone[i].cycles > 0);
		assert_false(alone[i].differs);
		assert_false(together[i].differs);
		assert_int_equal(together[i].cycles, alone[i].cycles);
		assert_int_equal(together[i].events, alone[i].events);
	}
	pesa_mca_model_free(model);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

struct memory {
	uint64_t cycle;
	size_t most; /* bytes allocated at the end of a cycle */
};

static struct pesa_error *look_at_memory(void *data, const struct pesa_mca_event *event)
{
	struct memory *memory = data;
	size_t now = memory->cycle++ % 64 ? 0 : mallinfo2().uordblks;

	(void)event;
	if (now > memory->most)
		memory->most = now;
	return NULL;
}

static void memory_does_not_grow_with_iterations(void **state)
{
	static const char *const processors[] = {"sifive-p670", "sifive-u74"};
	struct pesa_mca_instruction instructions[MIXED];

	(void)state;
	decode(mixed, MIXED, instructions);
	for (unsigned int i = 0; i < 2; i++) {
		const struct pesa_mca_block_options block_options = {.processor = processors[i]};
		struct pesa_mca_model *model;
		struct pesa_mca_block *block;
		size_t most[2];

		expect_ok(pesa_mca_model_builtin(processors[i], &model));
		expect_ok(
			pesa_mca_block_create(model, instructions, MIXED, &block_options, &block));
		for (unsigned int j = 0; j < 2; j++) {
			const struct pesa_mca_run_options options = {.iterations = j ? 3000 : 300,
								     .pressure = true};
			struct memory memory = {0};
			const struct pesa_mca_listener listener = {look_at_memory, &memory,
								   1u << PESA_MCA_CYCLE_END |
									   1u << PESA_MCA_PRESSURE};
			uint64_t cycles;

			expect_ok(pesa_mca_run(block, &options, &listener, 1, &cycles));
			assert_true(cycles > options.iterations);
			most[j] = memory.most;
		}
		assert_int_equal(most[1], most[0]);
		pesa_mca_block_free(block);
		pesa_mca_model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_builtin_model_loads),
		cmocka_unit_test(a_builtin_model_is_what_its_text_says),
		cmocka_unit_test(an_unknown_processor_names_the_nearest),
		cmocka_unit_test(a_dependent_chain_takes_its_latency),
		cmocka_unit_test(every_instruction_passes_every_stage_once),
		cmocka_unit_test(what_cannot_run_is_refused),
		cmocka_unit_test(threads_share_a_model),
		cmocka_unit_test(memory_does_not_grow_with_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
