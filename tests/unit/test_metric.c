/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formulas over events, and those that come with pesa. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/events/catalogue.h"
#include "daemon/events/metric.h"

/* The value of a formula in which a is 12, b is 3, z is 0 and u is not known. */
static double value_of(const char *text)
{
	double counts[PESA_METRIC_EVENTS_MAX] = {0}, value;
	struct pesa_metric *metric;

	assert_null(pesa_metric_parse(text, &metric));
	for (size_t i = 0; i < pesa_metric_event_count(metric); i++) {
		const char *name = pesa_metric_event(metric, i);

		counts[i] = !strcmp(name, "a")	 ? 12
			    : !strcmp(name, "b") ? 3
			    : !strcmp(name, "z") ? 0
						 : NAN;
	}
	value = pesa_metric_value(metric, counts);
	pesa_metric_free(metric);
	return value;
}

static void formulas_have_their_value(void **state)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"a", 12},
		{"a + b", 15},
		{"a - b - 1", 8},
		{"a / b / 2", 2},
		{"a - b * 2", 6},
		{"(a - b) * 2", 18},
		{"-a + 20", 8},
		{"2 - -b", 5},
		{"1.5e1 * .2", 3},
		{"min(a, b) + max(a, b) * 2", 27},
		{"d_ratio(a, b)", 4},
		{"d_ratio(a, z)", 0},
		{" ( ( a ) ) ", 12},
		{"1 - min(1, (a + b) / 30)", .5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (fabs(value_of(cases[i].text) - cases[i].value) > 1e-12)
			fail_msg("%s = %g", cases[i].text, value_of(cases[i].text));
	assert_true(isnan(value_of("a / z")));
	assert_true(isnan(value_of("u")));
	assert_true(isnan(value_of("a + u * 0")));
	assert_true(isnan(value_of("min(a, u)")));
	assert_true(isnan(value_of("d_ratio(a, u)")));
}

static void events_have_the_names_of_perf(void **state)
{
	struct pesa_metric *metric;

	(void)state;
	assert_null(pesa_metric_parse("stalled\\-cycles\\-frontend / cycles + INST.RET:u - cycles",
				      &metric));
	assert_int_equal(pesa_metric_event_count(metric), 3);
	assert_string_equal(pesa_metric_event(metric, 0), "stalled-cycles-frontend");
	assert_string_equal(pesa_metric_event(metric, 1), "cycles");
	assert_string_equal(pesa_metric_event(metric, 2), "INST.RET:u");
	pesa_metric_free(metric);
}

static void what_is_no_formula_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "character 1"},
		{"a +", "character 4"},
		{"a b", "character 3: an operator"},
		{"(a", "a ')' is missing"},
		{"a)", "an operator"},
		{"min(a)", "a comma"},
		{"min(a, b", "a ')'"},
		{"1x", "a number"},
		{"1e999", "a number"},
		{"a # b", "an operator"},
		{"*a", "is missing"},
		{"a //b", "is missing"},
	};
	char deep[200], many[4000] = "e0";
	struct pesa_metric *metric;
	struct pesa_error *error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		error = pesa_metric_parse(cases[i].text, &metric);
		if (!error || !strstr(error->message, cases[i].says))
			fail_msg("%s: %s", cases[i].text, error ? error->message : "taken");
		pesa_error_free(error);
	}
	memset(deep, '(', sizeof(deep));
	strcpy(deep + 150, "a");
	error = pesa_metric_parse(deep, &metric);
	assert_non_null(strstr(error->message, "too deeply"));
	pesa_error_free(error);
	for (unsigned int i = 1; i <= PESA_METRIC_EVENTS_MAX; i++)
		snprintf(many + strlen(many), 16, " + e%u", i);
	error = pesa_metric_parse(many, &metric);
	assert_non_null(strstr(error->message, "too many events"));
	pesa_error_free(error);
	strcpy(many, "1");
	for (unsigned int i = 0; i < 200; i++)
		strcat(many, "+1");
	error = pesa_metric_parse(many, &metric);
	assert_non_null(strstr(error->message, "too long"));
	pesa_error_free(error);
}

/* ---- The files that come with pesa --------------------------------------------------------- */

static const char *const processors[] = {
	"0x31e-0x8000000000008a45-0x5",
	"0x489-0x8000000000000007-0x4210427",
	"0x489-0x8000000000000107-0x7f",
	"0x489-0x8000000000000207-0xd1",
	"0x489-0x8000000000000008-0x6220425",
	"0x489-0x8000000000000608-0x9a",
	"0x5b7-0x0-0x0",
	"0x602-0x3-0x0",
	"0x67e-0x80000000db000080-0x1",
	"0x710-0x8000000058000001-0x1000000049772200",
};

static void a_metric_is_of_events_that_its_processor_has(void **state)
{
	static const char *const generic[] = {"cycles", "instructions"};

	(void)state;
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		struct pesa_event_catalogue catalogue;

		assert_null(pesa_event_catalogue_load("tools/events", processors[i], &catalogue));
		if (catalogue.bad || catalogue.events.count < 20)
			fail_msg("%s: %zu events, %s", processors[i], catalogue.events.count,
				 catalogue.problem);
		for (size_t j = 0; j < catalogue.events.metric_count; j++) {
			struct pesa_metric *metric;

			assert_null(
				pesa_metric_parse(catalogue.events.metrics[j].expression, &metric));
			for (size_t k = 0; k < pesa_metric_event_count(metric); k++) {
				const char *name = pesa_metric_event(metric, k);

				if (strcmp(name, generic[0]) && strcmp(name, generic[1]) &&
				    !pesa_event_catalogue_find(&catalogue, name))
					fail_msg("%s: %s", processors[i], name);
			}
			pesa_metric_free(metric);
		}
		pesa_event_catalogue_free(&catalogue);
	}
}

static void a_number_has_one_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		struct pesa_event_catalogue catalogue;
		const struct pesa_event_definition *all;

		assert_null(pesa_event_catalogue_load("tools/events", processors[i], &catalogue));
		all = catalogue.events.definitions;
		for (size_t j = 0; j < catalogue.events.count; j++)
			for (size_t k = 0; k < j; k++)
				if (!strcmp(all[j].terms, all[k].terms) ||
				    !strcasecmp(all[j].name, all[k].name))
					fail_msg("%s: %s and %s", processors[i], all[j].name,
						 all[k].name);
		pesa_event_catalogue_free(&catalogue);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas_have_their_value),
		cmocka_unit_test(events_have_the_names_of_perf),
		cmocka_unit_test(what_is_no_formula_is_refused_with_its_place),
		cmocka_unit_test(a_metric_is_of_events_that_its_processor_has),
		cmocka_unit_test(a_number_has_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
