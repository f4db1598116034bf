/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What held instructions of a path back: each case has one reason, which is known from the lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/why/inside.h"
#include "decoder/why/trial.h"
#include "pesa/assemble.h"

#define LINES_MAX 64

static const char out_of_order[] = "pesa-processor-model 1\n"
				   "name Example\n"
				   "processor example rv64imafdc\n"
				   "issue-width 4\n"
				   "micro-op-buffer 64\n"
				   "resource ALU units=4 buffer=-1\n"
				   "resource DIV units=1 buffer=-1\n"
				   "class add uops=1 latency=1 uses=ALU\n"
				   "\tADDI SD\n"
				   "class load uops=1 latency=4 uses=ALU\n"
				   "\tLD\n"
				   "class product uops=1 latency=5 uses=ALU\n"
				   "\tMUL\n"
				   "class quotient uops=1 latency=20 uses=DIV:20\n"
				   "\tDIV\n"
				   "end\n";

static const char in_order[] = "pesa-processor-model 1\n"
			       "name Example\n"
			       "processor example rv64imafdc\n"
			       "issue-width 2\n"
			       "micro-op-buffer 0\n"
			       "resource ALU units=2 buffer=0\n"
			       "resource DIV units=1 buffer=0\n"
			       "class add uops=1 latency=1 uses=ALU\n"
			       "\tADDI\n"
			       "class product uops=1 latency=5 uses=ALU\n"
			       "\tMUL\n"
			       "class quotient uops=1 latency=20 uses=DIV:20\n"
			       "\tDIV\n"
			       "end\n";

/* A path through straight-line code, and its timeline. */
struct scene {
	struct compare_node node[LINES_MAX];
	struct compare_step step[LINES_MAX];
	struct compare_path path;
	struct compare_code code;
	struct compare_paths paths;
	struct compare_predictor predictor;
	struct pesa_mca_model *model;
	struct why_timeline timeline;
};

static void write_lines(struct scene *scene, const char *text)
{
	struct pesa_isa *isa;

	assert_null(pesa_isa_create("rv64imafd", &isa));
	while (*text) {
		size_t length = strcspn(text, "\n");
		struct compare_node *node = &scene->node[scene->path.count];
		struct pesa_assembly assembly;

		if (!pesa_assemble(isa, text, length, &assembly))
			fail_msg("not understood: %.*s", (int)length, text);
		node->insn = assembly.insn[0];
		node->address = 0x1000 + 4 * scene->path.count;
		scene->step[scene->path.count].node = scene->path.count;
		scene->path.count++;
		text += length + (text[length] == '\n');
	}
	pesa_isa_free(isa);
}

static void setup(struct scene *scene, const char *model, const char *text)
{
	*scene = (struct scene){0};
	assert_null(pesa_mca_model_parse("model", model, strlen(model), &scene->model));
	write_lines(scene, text);
	scene->code = (struct compare_code){.node = scene->node, .count = scene->path.count};
	scene->paths = (struct compare_paths){
		.path = &scene->path, .count = 1, .step = scene->step, .steps = scene->path.count};
	scene->predictor = (struct compare_predictor){
		.code = &scene->code,
		.paths = &scene->paths,
		.core = {.forward_latency = 5, .drain_latency = 9},
	};
}

/* The last instruction. */
static const struct why_flight *run(struct scene *scene)
{
	assert_null(
		why_timeline_make(&scene->predictor, scene->model, &scene->path, &scene->timeline));
	assert_int_equal(scene->timeline.count, scene->path.count);
	return &scene->timeline.flight[scene->timeline.count - 1];
}

static void teardown(struct scene *scene)
{
	why_timeline_free(&scene->timeline);
	pesa_mca_model_free(scene->model);
}

static void the_producer_is_the_writer_of_the_operand_that_came_last(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "mul a0, a1, a2\naddi a3, a4, 1\nmul a0, a0, a3");
	last = run(&scene);
	assert_int_equal(last->producer, 0);
	assert_string_equal(pesa_mca_register_name(last->reg), "a0");
	/* The first product issues a cycle after it was dispatched, and takes five. */
	assert_int_equal(last->operands, 6);
	assert_int_equal(last->unit, 0);
	assert_int_equal(last->late, 0);
	assert_true(last->stalled > 3);
	teardown(&scene);
}

static void an_operand_that_is_there_is_not_waited_for(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "mul a0, a1, a2\naddi a3, a4, 1");
	last = run(&scene);
	assert_int_equal(last->producer, WHY_NOBODY);
	assert_int_equal(last->operands, 0);
	teardown(&scene);
}

static void a_busy_unit_names_who_has_it(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "div a0, a1, a2\naddi a5, a5, 1\ndiv a3, a4, a2");
	last = run(&scene);
	assert_int_equal(last->producer, WHY_NOBODY);
	assert_int_equal(last->holder, 0);
	assert_true(last->unit >= 19);
	assert_string_equal(
		pesa_mca_model_resource(scene.model, (unsigned int)last->resource)->name, "DIV");
	teardown(&scene);
}

static void a_miss_is_late_and_its_user_waits_for_it(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "ld a0, 0(a1)\naddi a0, a0, 1");
	scene.step[0].flags = COMPARE_PATH_MISSED;
	scene.node[0].late = 30;
	last = run(&scene);
	assert_int_equal(scene.timeline.flight[0].late, 30);
	assert_true(scene.timeline.flight[0].stalled >= 30);
	assert_int_equal(last->producer, 0);
	assert_true(last->operands >= 34);
	teardown(&scene);
}

static void a_load_waits_for_the_data_of_a_store(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "mul a0, a1, a2\nsd a0, 0(a3)\nld a4, 0(a3)");
	scene.step[2].forwarded = 1;
	last = run(&scene);
	assert_int_equal(last->producer, 1);
	assert_true(last->reg >= MCA_REGISTER_MEMORY);
	assert_true(last->operands > 4);
	teardown(&scene);
}

static void what_is_behind_a_fence_names_it(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, out_of_order, "ld a0, 0(a1)\nfence\nld a2, 0(a3)");
	scene.step[0].flags = COMPARE_PATH_MISSED;
	scene.node[0].late = 30;
	scene.step[1].flags = COMPARE_PATH_BARRIER;
	last = run(&scene);
	assert_int_equal(last->fence, 1);
	assert_true(last->order >= 30);
	assert_int_equal(scene.timeline.flight[1].fence, 1);
	teardown(&scene);
}

static void in_order_the_unit_and_the_operand_are_told_apart(void **state)
{
	struct scene scene;
	const struct why_flight *last;

	(void)state;
	setup(&scene, in_order, "mul a0, a1, a2\naddi a3, a0, 1");
	last = run(&scene);
	assert_int_equal(last->producer, 0);
	assert_true(last->operands >= 4);
	assert_int_equal(last->unit, 0);
	teardown(&scene);
	setup(&scene, in_order, "div a0, a1, a2\ndiv a3, a4, a2");
	last = run(&scene);
	assert_int_equal(last->producer, WHY_NOBODY);
	assert_int_equal(last->operands, 0);
	assert_true(last->unit >= 18);
	teardown(&scene);
}

/* The product is there after one cycle. */
static size_t shorten(void *context, const struct compare_path *path,
		      struct pesa_mca_instruction *instruction, bool *removed)
{
	(void)context;
	(void)path;
	(void)removed;
	instruction[1].latency = 1;
	return 1;
}

/* A path may begin anywhere: behind a fence, between a store and the load that reads it. */
static void a_change_is_tried_where_a_store_is_before_the_path(void **state)
{
	struct scene scene;
	struct pesa_compare compare = {.options = {.confidence = 0.95}, .totals = {.cycles = 100}};
	struct pesa_why why = {.compare = &compare};
	const struct why_change change = {.changer = shorten, .misfit = 0.1};
	struct why_saved saved;

	(void)state;
	setup(&scene, out_of_order, "ld a0, 0(sp)\nmul a1, a0, a0\naddi a2, a1, 1");
	scene.step[0].forwarded = 2;
	scene.path.weight = 1;
	for (unsigned int i = 0; i < scene.path.count; i++) {
		scene.node[i].occurrences = scene.node[i].executions = 1;
		scene.node[i].time.core = 10;
	}
	compare.code = scene.code;
	compare.paths = scene.paths;
	compare.predictor = scene.predictor;
	compare.model = scene.model;
	assert_null(why_trial(&why, &change, &saved));
	assert_int_equal(saved.changes, 1);
	assert_true(saved.saved.value > 1);
	why_trials_free(why.trials);
	teardown(&scene);
}

static size_t leave_alone(void *context, const struct compare_path *path,
			  struct pesa_mca_instruction *instruction, bool *removed)
{
	(void)context;
	(void)path;
	(void)instruction;
	(void)removed;
	return 1;
}

/* What waits for a place may be saved even if the model makes nothing shorter; a change may cost cycles,
 * unless it removes misses or mispredictions. */
static void an_interval_ends_at_what_the_measurement_allows(void **state)
{
	struct scene scene;
	struct pesa_compare compare = {.options = {.confidence = 0.95}, .totals = {.cycles = 1e6}};
	struct pesa_why why = {.compare = &compare};
	struct why_change change = {.changer = leave_alone, .misfit = 0.1};
	struct why_saved saved;
	double low;

	(void)state;
	setup(&scene, out_of_order, "mul a1, a0, a0\nmul a1, a1, a0\naddi a2, a1, 1");
	scene.path.weight = 1;
	for (unsigned int i = 0; i < scene.path.count; i++) {
		scene.node[i].occurrences = 1;
		scene.node[i].executions = 10;
		scene.node[i].time.core = 100;
	}
	compare.code = scene.code;
	compare.paths = scene.paths;
	compare.predictor = scene.predictor;
	compare.model = scene.model;
	assert_null(why_trial(&why, &change, &saved));
	assert_true(saved.saved.high == 0);
	low = saved.saved.low;
	assert_true(low < 0);
	change.waits = 40;
	assert_null(why_trial(&why, &change, &saved));
	assert_true(saved.saved.high == 40);
	assert_true(saved.saved.low == low);
	change = (struct why_change){.changer = shorten, .misfit = 3};
	assert_null(why_trial(&why, &change, &saved));
	assert_true(saved.saved.low < low);
	change.removes_events = true;
	assert_null(why_trial(&why, &change, &saved));
	assert_true(saved.saved.low == low);
	why_trials_free(why.trials);
	teardown(&scene);
}

static void names_are_those_of_the_documents(void **state)
{
	(void)state;
	assert_string_equal(pesa_why_kind_name(PESA_WHY_MISS), "miss");
	assert_string_equal(pesa_why_kind_name(PESA_WHY_UNKNOWN), "unknown");
	assert_string_equal(pesa_why_change_name(PESA_WHY_HIT), "hit");
	assert_string_equal(pesa_why_change_name(PESA_WHY_FREE_UNIT), "unit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_producer_is_the_writer_of_the_operand_that_came_last),
		cmocka_unit_test(an_operand_that_is_there_is_not_waited_for),
		cmocka_unit_test(a_busy_unit_names_who_has_it),
		cmocka_unit_test(a_miss_is_late_and_its_user_waits_for_it),
		cmocka_unit_test(a_load_waits_for_the_data_of_a_store),
		cmocka_unit_test(what_is_behind_a_fence_names_it),
		cmocka_unit_test(in_order_the_unit_and_the_operand_are_told_apart),
		cmocka_unit_test(a_change_is_tried_where_a_store_is_before_the_path),
		cmocka_unit_test(an_interval_ends_at_what_the_measurement_allows),
		cmocka_unit_test(names_are_those_of_the_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
