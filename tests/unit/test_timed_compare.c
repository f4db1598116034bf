// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed branches against a model: what is compared, and what is said of a distribution of differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "pesa/timed_compare.h"
#include "tests/unit/recorded_program.h"

/* Text of c.nop, of which an in-order sifive-u74 executes two a cycle; and one fence. */
#define FENCE	  (TEXT + 0x300)       /* c.nop, fence, c.nop ... */
#define BRANCH	  (TEXT + 160 + EIGHT) /* c.bnez a0, TEXT */
#define C_BNEZ	  0xf929
#define PERIOD	  1000u
#define STACK_MAX 24u
#define EIGHT	  14 /* bytes from the first to the last of eight instructions */
#define PREDICTED 4  /* cycles of eight */

/* A block between two entries, oldest first. */
struct ran {
	uint64_t start, last;
	unsigned int cycles;
	bool mispredicted; /* the transfer that led there */
};

struct recording {
	struct recorded_program program;
	uint64_t samples;
};

static void begin(struct recording *recording)
{
	static uint16_t text[512];
	struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = PERF_TYPE_HARDWARE,
			 .config = PERF_COUNT_HW_CPU_CYCLES,
			 .size = sizeof(struct perf_event_attr),
			 .sample_period = PERIOD,
			 .precise_ip = 3,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_BRANCH_STACK,
			 .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
			 .sample_id_all = 1},
		.name = "cycles:ppp"};
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .arch = "riscv64", .cpus = 1};

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		text[i] = 1;
	text[(BRANCH - TEXT) / 2] = C_BNEZ;
	text[(FENCE - TEXT) / 2 + 1] = 0x000f;
	text[(FENCE - TEXT) / 2 + 2] = 0x0ff0;
	*recording = (struct recording){0};
	recorded_program_begin(&recording->program, &options, text, sizeof(text));
}

/* A sample whose stack has these blocks. */
static void add(struct recording *recording, const struct ran *ran, size_t count)
{
	struct pesa_branch_entry entries[STACK_MAX + 1];
	struct pesa_sample sample = {.ip = TEXT,
				     .pid = 7,
				     .tid = 7,
				     .time = 2000 + recording->samples++,
				     .period = PERIOD,
				     .branch_count = count + 1,
				     .branches = (const uint8_t *)entries};

	assert_true(count <= STACK_MAX);
	for (size_t i = 0; i <= count; i++)
		entries[count - i] = (struct pesa_branch_entry){
			.from = i ? ran[i - 1].last : TEXT,
			.to = i < count ? ran[i].start : TEXT,
			.flags = (i ? (uint64_t)ran[i - 1].cycles << 4 : 0) |
				 (i < count && ran[i].mispredicted ? PESA_BRANCH_MISPREDICTED : 2)};
	assert_null(pesa_perfdata_write_sample(recording->program.writer, &sample,
					       PERF_RECORD_MISC_USER));
}

static struct pesa_profile *profile;
static struct pesa_mca_model *model;

static struct pesa_timed_compare *finish(struct recording *recording)
{
	struct pesa_timed_compare *timed = pesa_timed_compare_create(true);
	struct pesa_compare_options options;
	struct pesa_profile_options load_options;
	const struct pesa_timed_compare_totals *totals;

	assert_non_null(timed);
	assert_null(pesa_perfdata_writer_finish(recording->program.writer));
	pesa_profile_options_default(&load_options);
	load_options.listener = pesa_timed_compare_listener(timed);
	assert_null(pesa_profile_load(recording->program.path, &load_options, &profile));
	assert_null(pesa_mca_model_builtin("sifive-u74", &model));
	pesa_compare_options_default(&options);
	assert_null(pesa_timed_compare_predict(timed, profile, model, &options));
	totals = pesa_timed_compare_totals(timed);
	assert_true(fabs(totals->compared + totals->no_text + totals->ordering +
			 totals->unsupported + totals->mispredicted + totals->saturated +
			 totals->warming - totals->cycles) < 1e-6 * totals->cycles + 1e-9);
	recorded_program_remove(&recording->program);
	return timed;
}

static void forget(struct pesa_timed_compare *timed)
{
	pesa_timed_compare_free(timed);
	pesa_profile_free(profile);
	pesa_mca_model_free(model);
}

/* The block that begins at an address; NULL: it has no prediction. */
static const struct pesa_timed_difference *find(const struct pesa_timed_compare *timed,
						uint64_t start)
{
	for (size_t i = 0; i < pesa_timed_compare_count(timed); i++) {
		const struct pesa_timed_difference *one = pesa_timed_compare_at(timed, i);
		const struct pesa_timed_block *block =
			pesa_timed_blocks_at(pesa_timed_compare_blocks(timed), one->block);

		if (block->start == start)
			return one;
	}
	return NULL;
}

/* Samples of a loop of eight instructions, whose executions take, in turn, so many cycles more than is
 * predicted. */
static struct pesa_timed_compare *loop_with(const int *more, size_t count)
{
	struct ran ran[STACK_MAX];
	struct recording recording;
	size_t turn = 0;

	begin(&recording);
	for (unsigned int i = 0; i < 60; i++) {
		for (size_t k = 0; k < STACK_MAX - 1; k++)
			ran[k] = (struct ran){TEXT, TEXT + EIGHT,
					      (unsigned int)(PREDICTED + more[turn++ % count]),
					      false};
		add(&recording, ran, STACK_MAX - 1);
	}
	return finish(&recording);
}

static void a_loop_that_takes_what_is_predicted_agrees(void **state)
{
	struct pesa_timed_compare *timed = loop_with((const int[]){0}, 1);
	const struct pesa_timed_difference *one = find(timed, TEXT);

	(void)state;
	assert_int_equal(pesa_timed_compare_count(timed), 1);
	assert_non_null(one);
	assert_true(one->loop);
	assert_false(one->memory);
	assert_int_equal(one->executions, 60 * (STACK_MAX - 1));
	assert_int_equal(one->samples, 60);
	assert_true(fabs(one->predicted - PREDICTED) < 1e-6);
	assert_true(fabs(one->measured - PREDICTED) < 1e-6);
	assert_int_equal(one->verdict, PESA_TIMED_AGREES);
	forget(timed);
}

static void cycles_more_in_each_execution_are_its_difference(void **state)
{
	struct pesa_timed_compare *timed = loop_with((const int[]){3}, 1);
	const struct pesa_timed_difference *one = find(timed, TEXT);

	(void)state;
	assert_true(fabs(one->difference.value - 3) < 1e-6);
	assert_true(one->difference.low <= 3 && one->difference.high >= 3);
	assert_true(fabs(one->around / 9 - 1) < 0.1);
	assert_int_equal(one->verdict, PESA_TIMED_SLOWER);
	/* Each execution of the program has them. */
	assert_true(fabs(one->cycles - 3.0 * 60 * PERIOD / (PREDICTED + 3)) < 1e-6 * one->cycles);
	forget(timed);
	timed = loop_with((const int[]){-2}, 1);
	one = find(timed, TEXT);
	assert_true(fabs(one->difference.value + 2) < 1e-6);
	assert_int_equal(one->verdict, PESA_TIMED_FASTER);
	forget(timed);
}

static void few_long_executions_do_not_count(void **state)
{
	/* A miss in every fifth: the mean would be 40 cycles off. */
	struct pesa_timed_compare *timed = loop_with((const int[]){0, 0, 0, 0, 200}, 5);
	const struct pesa_timed_difference *one = find(timed, TEXT);

	(void)state;
	assert_true(fabs(one->difference.value) < 1e-6);
	assert_int_equal(one->verdict, PESA_TIMED_AGREES);
	assert_true(one->quantile[4] > 100);
	forget(timed);
}

static void executions_that_take_what_is_predicted_speak_for_the_model(void **state)
{
	/* Most miss, and every tenth hits. */
	struct pesa_timed_compare *timed =
		loop_with((const int[]){20, 20, 20, 20, 20, 20, 20, 20, 20, 0}, 10);
	const struct pesa_timed_difference *one = find(timed, TEXT);

	(void)state;
	assert_true(one->difference.low > 0);
	assert_int_equal(one->verdict, PESA_TIMED_VARIES);
	forget(timed);
}

static void cycles_that_the_next_block_has_less_of_have_moved(void **state)
{
	struct ran ran[STACK_MAX];
	struct recording recording;
	struct pesa_timed_compare *timed;

	(void)state;
	begin(&recording);
	for (unsigned int i = 0; i < 60; i++) {
		for (size_t k = 0; k < STACK_MAX; k++)
			ran[k] = k % 2 ? (struct ran){TEXT + 64, TEXT + 64 + EIGHT, PREDICTED - 1,
						      false}
				       : (struct ran){TEXT, TEXT + EIGHT, PREDICTED + 1, false};
		add(&recording, ran, STACK_MAX);
	}
	timed = finish(&recording);
	assert_true(fabs(find(timed, TEXT)->difference.value - 1) < 1e-6);
	assert_int_equal(find(timed, TEXT)->verdict, PESA_TIMED_MOVED);
	assert_true(fabs(find(timed, TEXT + 64)->difference.value + 1) < 1e-6);
	assert_int_equal(find(timed, TEXT + 64)->verdict, PESA_TIMED_MOVED);
	assert_false(find(timed, TEXT)->loop);
	forget(timed);
}

static void a_pass_through_a_loop_is_from_one_arrival_at_its_head_to_the_next(void **state)
{
	/* A backwards branch (bnez a0, -64) ends each pass of two blocks. */
	struct ran ran[STACK_MAX];
	struct recording recording;
	struct pesa_timed_compare *timed;
	const struct pesa_timed_difference *one;

	(void)state;
	begin(&recording);
	for (unsigned int i = 0; i < 60; i++) {
		for (size_t k = 0; k < STACK_MAX; k++)
			ran[k] = (k > 12 ? k - 1 : k) % 2
					 ? (struct ran){TEXT + 160, BRANCH, PREDICTED + 2, false}
					 : (struct ran){TEXT, TEXT + EIGHT, PREDICTED + 1, false};
		/* It is left once, and entered again from elsewhere. */
		ran[12] = (struct ran){TEXT + 128, TEXT + 128 + EIGHT, PREDICTED, false};
		add(&recording, ran, STACK_MAX);
	}
	timed = finish(&recording);
	assert_int_equal(pesa_timed_compare_loop_count(timed), 1);
	one = pesa_timed_compare_loop_at(timed, 0);
	assert_int_equal(one->start, TEXT);
	assert_int_equal(one->last, BRANCH);
	assert_int_equal(one->block, SIZE_MAX);
	assert_true(fabs(one->blocks - 2) < 1e-9);
	/* On each side of that there are four: the first ones have no known arrival, the last no end. */
	assert_int_equal(one->executions, 60 * 8);
	assert_true(fabs(one->measured - (2 * PREDICTED + 3)) < 1e-6);
	/* As of llvm-mca: a branch issues alone in this place. */
	assert_true(fabs(one->predicted - (2 * PREDICTED + 1)) < 1e-6);
	assert_int_equal(one->verdict, PESA_TIMED_SLOWER);
	forget(timed);
}

static void few_executions_have_no_verdict(void **state)
{
	struct ran ran[STACK_MAX];
	struct recording recording;
	struct pesa_timed_compare *timed;

	(void)state;
	begin(&recording);
	for (size_t k = 0; k < STACK_MAX; k++)
		ran[k] = (struct ran){TEXT, TEXT + EIGHT, PREDICTED + 9, false};
	/* Many executions, but of a few samples. */
	for (unsigned int i = 0; i < 9; i++)
		add(&recording, ran, STACK_MAX);
	timed = finish(&recording);
	assert_true(find(timed, TEXT)->executions >= PESA_TIMED_EXECUTIONS_MIN);
	assert_int_equal(find(timed, TEXT)->verdict, PESA_TIMED_TOO_FEW);
	forget(timed);
}

static void what_cannot_be_compared_is_accounted_for(void **state)
{
	const uint64_t nowhere = 0x900000;
	struct ran ran[STACK_MAX];
	struct recording recording;
	struct pesa_timed_compare *timed;
	const struct pesa_timed_compare_totals *totals;

	(void)state;
	begin(&recording);
	for (unsigned int i = 0; i < 20; i++) {
		for (size_t k = 0; k < STACK_MAX; k++)
			ran[k] = (struct ran){TEXT, TEXT + EIGHT, PREDICTED, false};
		ran[8].mispredicted = true;
		ran[8].cycles = 21;
		ran[9].cycles = PESA_BRANCH_CYCLES_MOST;
		ran[10] = (struct ran){FENCE, FENCE + EIGHT, 31, false};
		ran[20] = (struct ran){nowhere, nowhere + 4, 41, false};
		/* Backwards: no straight-line code. */
		ran[21] = (struct ran){TEXT + 8, TEXT, 43, false};
		add(&recording, ran, STACK_MAX);
	}
	timed = finish(&recording);
	totals = pesa_timed_compare_totals(timed);
	assert_int_equal(totals->samples, 20);
	/* In the proportion of their counts. */
	assert_true(fabs(totals->ordering / totals->mispredicted - 31.0 / 21) < 1e-6);
	assert_true(fabs(totals->no_text / totals->mispredicted - 84.0 / 21) < 1e-6);
	assert_true(fabs(totals->saturated / totals->mispredicted - 65535.0 / 21) < 1e-6);
	/* Eight executions before the marked transfer; and behind the fence one, when 64 instructions have
	 * run there.  Behind what cannot be read two are too few. */
	assert_true(fabs(totals->compared / totals->mispredicted - 9.0 * PREDICTED / 21) < 1e-6);
	assert_true(fabs(totals->warming / totals->mispredicted - 10.0 * PREDICTED / 21) < 1e-6);
	assert_true(fabs(find(timed, TEXT)->difference.value) < 1e-6);
	assert_null(find(timed, FENCE));
	assert_null(find(timed, nowhere));
	forget(timed);
}

static void of_many_samples_some_are_executed_evenly_spread(void **state)
{
	struct ran ran[2] = {{TEXT, TEXT + EIGHT, PREDICTED, false},
			     {TEXT, TEXT + EIGHT, PREDICTED, false}};
	struct recording recording;
	struct pesa_timed_compare *timed;
	const struct pesa_timed_difference *one;

	(void)state;
	begin(&recording);
	/* The first quarter takes five cycles more. */
	for (unsigned int i = 0; i < 20000; i++) {
		ran[0].cycles = ran[1].cycles = PREDICTED + (i < 5000 ? 5 : 0);
		add(&recording, ran, 2);
	}
	timed = finish(&recording);
	one = find(timed, TEXT);
	assert_int_equal(pesa_timed_compare_samples(timed), 20000);
	assert_in_range(pesa_timed_compare_totals(timed)->samples, PESA_TIMED_STACKS_MOST / 2,
			PESA_TIMED_STACKS_MOST);
	/* They weigh what they stand for: 5000 / 9 of 5000 / 9 + 15000 / 4 executions. */
	assert_int_equal(one->quantile[3], 0);
	assert_int_equal(one->quantile[4], 5);
	forget(timed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_that_takes_what_is_predicted_agrees),
		cmocka_unit_test(cycles_more_in_each_execution_are_its_difference),
		cmocka_unit_test(few_long_executions_do_not_count),
		cmocka_unit_test(executions_that_take_what_is_predicted_speak_for_the_model),
		cmocka_unit_test(cycles_that_the_next_block_has_less_of_have_moved),
		cmocka_unit_test(a_pass_through_a_loop_is_from_one_arrival_at_its_head_to_the_next),
		cmocka_unit_test(few_executions_have_no_verdict),
		cmocka_unit_test(what_cannot_be_compared_is_accounted_for),
		cmocka_unit_test(of_many_samples_some_are_executed_evenly_spread),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
