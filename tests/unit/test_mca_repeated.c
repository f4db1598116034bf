/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a run in which a steady state is extrapolated print what they print of one whose every
 * iteration is executed.  MCA_REPEATED_BLOCKS: blocks per processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/model/block.h"
#include "decoder/mca/views/views.h"
#include "tests/unit/mca_blocks.h"

#define BLOCKS 12 /* per processor */

static struct pesa_mca_run_options make_options(uint32_t *seed)
{
	return (struct pesa_mca_run_options){
		.iterations = 1 + pick(seed, 300),
		.loads_alias_stores = pick(seed, 2),
		.dispatch_width = pick(seed, 3) ? 0 : 1 + pick(seed, 6),
		.register_file_size = pick(seed, 3) ? 0 : 40 + pick(seed, 40),
		.load_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_ports = pick(seed, 3) ? 0 : 1 + pick(seed, 2),
		.retired_branches = pick(seed, 3) ? 0 : 1 + pick(seed, 2),
		.store_latency = pick(seed, 8),
		.pressure = true,
	};
}

/* Instructions of which no events are sent. */
static struct pesa_error *count_left_out(void *data, const struct pesa_mca_event *event)
{
	*(uint64_t *)data += event->instruction;
	return NULL;
}

static char *views_of(const struct pesa_mca_block *block,
		      const struct pesa_mca_run_options *options, uint64_t *left_out)
{
	static struct pesa_error *(*const makers[])(struct mca_view *,
						    const struct mca_view_context *) = {
		mca_view_summary,   mca_view_dispatch, mca_view_scheduler, mca_view_retire,
		mca_view_registers, mca_view_pressure, mca_view_timeline,  mca_view_bottleneck,
	};
	enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };
	const struct pesa_mca_model *model = pesa_mca_block_model(block);
	const char *lines[RANDOM_BLOCK_MAX];
	struct mca_view_context context = {
		.block = block,
		.model = model,
		.text = lines,
		.count = pesa_mca_block_count(block),
		.iterations = options->iterations,
		.dispatch_width = options->dispatch_width,
		.timeline_iterations = options->first_iterations,
	};
	/* As in pesa mca: an in-order processor has neither the last view nor that of retirement. */
	bool in_order = !pesa_mca_model_is_out_of_order(model);
	struct pesa_mca_listener listeners[MAKERS + 1];
	struct mca_view views[MAKERS];
	struct mca_text text = {0};
	unsigned int count = 0;
	size_t size;
	char *all;

	for (unsigned int i = 0; i < context.count; i++)
		lines[i] = "instruction";
	for (unsigned int i = 0; i < MAKERS; i++) {
		if (in_order && (makers[i] == mca_view_retire || makers[i] == mca_view_bottleneck))
			continue;
		assert_null(makers[i](&views[count], &context));
		listeners[count] = views[count].listener;
		count++;
	}
	listeners[count] =
		(struct pesa_mca_listener){count_left_out, left_out, 1u << PESA_MCA_REPEATED};
	assert_null(pesa_mca_run(block, options, listeners, count + 1, &context.cycles));
	text.stream = open_memstream(&all, &size);
	assert_non_null(text.stream);
	for (unsigned int i = 0; i < count; i++) {
		views[i].print(&views[i], &text);
		views[i].free(&views[i]);
	}
	fclose(text.stream);
	return all;
}

struct amounts {
	uint64_t all, left_out;
};

static void compare(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	struct pesa_mca_run_options options = make_options(seed);
	struct amounts *amounts = data;
	uint64_t none = 0;
	char *some, *whole;

	options.first_iterations =
		1 + pick(seed, options.iterations < 10 ? options.iterations : 10);
	some = views_of(block, &options, &amounts->left_out);
	amounts->all += (uint64_t)options.iterations * pesa_mca_block_count(block);
	options.every_iteration = true;
	whole = views_of(block, &options, &none);
	assert_string_equal(some, whole);
	assert_int_equal(none, 0);
	free(some);
	free(whole);
}

static void check(uint32_t seed, bool changed)
{
	struct amounts amounts = {0};

	for_each_block(random_block, seed, changed, number_of_blocks("MCA_REPEATED_BLOCKS", BLOCKS),
		       compare, &amounts);
	print_message("%.1f %% of the instructions are left out\n",
		      100. * amounts.left_out / amounts.all);
	assert_true(amounts.left_out > amounts.all / 8);
}

static void all_processors_print_the_same(void **state)
{
	(void)state;
	check(17, false);
}

static void changed_models_print_the_same(void **state)
{
	(void)state;
	check(23, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_print_the_same),
		cmocka_unit_test(changed_models_print_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
