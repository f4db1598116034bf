/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/core/core.h"

#define CORE "tools/vcore/cores/ooo-4"

static char *read_core(size_t *size)
{
	FILE *stream = fopen(CORE, "r");
	char *text = calloc(1, 65536);

	assert_non_null(stream);
	assert_non_null(text);
	*size = fread(text, 1, 65535, stream);
	fclose(stream);
	return text;
}

static void the_descriptions_that_come_with_pesa_are_valid(void **state)
{
	static const char *const paths[] = {CORE, "tools/vcore/cores/inorder-2",
					    "tools/vcore/cores/ooo-3", "tools/vcore/cores/ooo-8"};
	struct pesa_core core;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct pesa_error *error = pesa_core_load(paths[i], &core);

		assert_null(error);
		assert_string_equal(core.name, strrchr(paths[i], '/') + 1);
	}
}

static void the_predictor_of_the_papers_has_28_kib(void **state)
{
	struct pesa_core core;

	(void)state;
	assert_null(pesa_core_load(CORE, &core));
	assert_int_equal(pesa_core_predictor_bits(&core), 28 * 1024 * 8);
}

static void values_have_their_places(void **state)
{
	struct pesa_core core;

	(void)state;
	assert_null(pesa_core_load(CORE, &core));
	assert_int_equal(core.out_of_order, 1);
	assert_int_equal(core.rob_entries, 128);
	assert_int_equal(core.icache.size, 32 << 10);
	assert_int_equal(core.llc.size, 4 << 20);
	assert_string_equal(core.model, "sifive-p670");
	assert_int_equal(core.latency[PESA_CORE_CLASS_FDIV_D], 0);
	assert_int_equal(core.event_bit[PESA_CORE_EVENT_LLC_MISS], 5);
	assert_int_equal(core.event_bit[PESA_CORE_EVENT_STORE_FORWARD], -1);
	assert_int_equal(core.cause_mask, 0x1ff);
}

static void capabilities_are_those_of_the_core(void **state)
{
	struct pesa_capabilities capabilities;
	struct pesa_core core;

	(void)state;
	assert_null(pesa_core_load(CORE, &core));
	pesa_core_capabilities(&core, &capabilities);
	assert_int_equal(capabilities.retire_width, 4);
	assert_int_equal(capabilities.cause_mask, 0x1ff);
	assert_string_equal(capabilities.cause_names[6], "alloc-blocked");
	assert_string_equal(capabilities.core, "ooo-4");
	assert_int_equal(capabilities.frequency, 3200000000);
}

/* Every line left out, and every value replaced by one that cannot be, is refused by name. */
static void every_line_is_needed_and_checked(void **state)
{
	size_t size, lines = 0;
	char *text = read_core(&size), *changed = malloc(size + 64);
	struct pesa_core core;

	(void)state;
	assert_non_null(changed);
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		size_t before = (size_t)(line - text), after = size - (size_t)(end + 1 - text);
		size_t key = strcspn(line, " =");
		struct pesa_error *error;
		char name[64];
		int used;

		if (*line == '#' || line == end)
			continue;
		lines++;
		snprintf(name, sizeof(name), "%.*s", (int)key, line);
		memcpy(changed, text, before);
		memcpy(changed + before, end + 1, after);
		error = pesa_core_parse("without", changed, before + after, &core);
		if (strncmp(name, "cause.", 6)) {
			assert_non_null(error);
			assert_non_null(strstr(error->message, name));
		} else {
			assert_null(error);
		}
		pesa_error_free(error);
		if (!strcmp(name, "name") || !strcmp(name, "summary") || !strcmp(name, "model"))
			continue;
		used = sprintf(changed + before, "%s = -1\n", name);
		memcpy(changed + before + used, end + 1, after);
		error = pesa_core_parse("wrong", changed, before + (size_t)used + after, &core);
		assert_non_null(error);
		assert_non_null(strstr(error->message, name));
		assert_non_null(strstr(error->message, "allowed: "));
		pesa_error_free(error);
	}
	assert_true(lines > 70);
	free(changed);
	free(text);
}

/* A description with one line in the place of that which sets the same key. */
static struct pesa_error *parse_with(const char *line, unsigned int *number)
{
	size_t size, key = strcspn(line, " "), length;
	char *text = read_core(&size), *changed = calloc(1, size + 256), *at, *end;
	struct pesa_core core;
	struct pesa_error *error;

	assert_non_null(changed);
	*number = 1;
	for (at = text; strncmp(at, line, key + 1); at = strchr(at, '\n') + 1)
		++*number;
	end = strchr(at, '\n');
	length = (size_t)(at - text);
	memcpy(changed, text, length);
	sprintf(changed + length, "%s%s", line, end);
	error = pesa_core_parse("x", changed, strlen(changed), &core);
	free(changed);
	free(text);
	return error;
}

static void what_cannot_be_is_refused_with_its_line_and_what_may_be(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		/* widths */
		{"fetch.width = 0", "'0' is no value for fetch.width; allowed: 1 to 32"},
		{"dispatch.width = 0", "'0' is no value for dispatch.width; allowed: 1 to 15"},
		{"retire.width = 0", "'0' is no value for retire.width; allowed: 1 to 15"},
		{"retire.width = 16", "'16' is no value for retire.width; allowed: 1 to 15"},
		{"rob.entries = 0", "'0' is no value for rob.entries; allowed: 2 to 4096"},
		/* geometry */
		{"line = 48", "'48' is no value for line; allowed: a power of two, 16 to 1024"},
		{"page = 5000", "'5000' is no value for page; allowed: a power of two"},
		{"icache.size = 48K",
		 "icache.size = 49152 is not icache.ways (8) x line (64) x a power of two; "
		 "allowed: 512, 1024, 2048, ..."},
		{"dcache.size = 40000",
		 "dcache.size = 40000 is not dcache.ways (8) x line (64) x a power of two"},
		{"l2.ways = 3", "l2.size = 524288 is not l2.ways (3) x line (64) x a power of two"},
		{"llc.size = 5M", "llc.size = 5242880 is not llc.ways (8) x line (64)"},
		{"btb.ways = 3", "btb.entries = 2048 is not btb.ways (3) x a power of two"},
		{"l2tlb.entries = 500", "l2tlb.entries = 500 is not l2tlb.ways (4) x a power"},
		{"predictor.bimodal = 1000", "'1000' is no value for predictor.bimodal; allowed: "
					     "a power of two, 64 to 1048576"},
		/* words */
		{"order = sideways",
		 "'sideways' is no value for order; allowed: in-order, out-of-order"},
		{"llc.inclusive = 1", "'1' is no value for llc.inclusive; allowed: yes, no"},
		{"model = adder", "'adder' is no value for model; allowed: a processor that"},
		{"cause.6 = llc-miss", "'llc-miss' is no value for cause.6; allowed: none, "},
		/* contradictions */
		{"predictor.history_max = 3",
		 "predictor.history_max = 3 is below predictor.history_min (4"},
		{"fetch.buffer = 7", "fetch.buffer = 7 is below fetch.width (8"},
		{"rob.entries = 3", "rob.entries = 3 is below dispatch.width (4"},
		{"retire.width = 1", "retire.width = 1 is below retire.transfers (2"},
		{"l2.size = 16K", "l2.size = 16384 is below dcache.size (32768"},
		{"llc.size = 256K", "llc.size = 262144 is below l2.size (524288"},
		{"llc.size = 0", "cause.5 = llc-miss, but llc.size = 0 (line "},
		{"dcache.streams = 4", "dcache.prefetch = 0, but dcache.streams = 4 (line "},
		{"walk.walkers = 0", "'0' is no value for walk.walkers; allowed: 1 to 16"},
		{"sample.counter_bits = 9", NULL},
		{"sample.minimum = 255", "'255' is no value for sample.minimum; allowed: 256 to"},
		{"sample.minimum = 1048576", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int number;
		struct pesa_error *error = parse_with(cases[i].line, &number);
		char place[32];

		if (!cases[i].message) {
			assert_null(error);
			continue;
		}
		assert_non_null(error);
		if (!strstr(error->message, cases[i].message))
			fail_msg("%s: %s", cases[i].line, error->message);
		/* The line is that of the key which the message begins with. */
		snprintf(place, sizeof(place), "x:%u: ", number);
		if (!strncmp(cases[i].message, cases[i].line, strcspn(cases[i].line, " ")) ||
		    *cases[i].message == '\'')
			assert_ptr_equal(strstr(error->message, place), error->message);
		else
			assert_int_equal(strncmp(error->message, "x:", 2), 0);
		assert_true(error->message[2] >= '1' && error->message[2] <= '9');
		pesa_error_free(error);
	}
}

static void damaged_text_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"name", "x:1: 'name' is not of the form"},
		{"\n\n  = 4\n", "x:3: unknown key ''"},
		{"name = a\nname = b\n", "x:2: 'name' is set twice"},
		{"name =\n", "x:1: '' is no value for name"},
		{"frequency = 99999999999999999999\n", "x:1: '99999999999999999999' is no value"},
		{"line = 64T\n", "x:1: '64T' is no value for line"},
		{"", "x: nothing sets 'name'"},
	};
	struct pesa_core core;
	char zeros[600];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pesa_error *error =
			pesa_core_parse("x", cases[i].text, strlen(cases[i].text), &core);

		assert_non_null(error);
		assert_ptr_equal(strstr(error->message, cases[i].message), error->message);
		pesa_error_free(error);
	}
	for (int fill = 0; fill < 2; fill++) {
		struct pesa_error *error;

		memset(zeros, fill ? 'a' : 0, sizeof(zeros));
		error = pesa_core_parse("x", zeros, sizeof(zeros), &core);
		assert_non_null(error);
		assert_non_null(strstr(error->message, "x:1: not a line of text"));
		pesa_error_free(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_descriptions_that_come_with_pesa_are_valid),
		cmocka_unit_test(the_predictor_of_the_papers_has_28_kib),
		cmocka_unit_test(what_cannot_be_is_refused_with_its_line_and_what_may_be),
		cmocka_unit_test(values_have_their_places),
		cmocka_unit_test(capabilities_are_those_of_the_core),
		cmocka_unit_test(every_line_is_needed_and_checked),
		cmocka_unit_test(damaged_text_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
