/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare: measured cycles set against what a processor model predicts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/compare/llvm.h"
#include "tools/ui/listing.h"
#include "tools/ui/pager.h"

enum {
	KEY_MODEL = PROFILE_KEY_FIRST_FREE,
	KEY_MIN_SHARE,
	KEY_WRITE_MODEL,
	KEY_HTML,
	KEY_SYMBOL,
	KEY_FORMAT,
	KEY_LLVM,
	KEY_BLOCK,
};

#define MIN_SHARE_DEFAULT 0.001

static const struct argp_option options[] = {
	{"mcpu", 'm', "NAME", 0,
	 "The processor whose model predicts: a built-in one, or FILE.model[:NAME] (default: the "
	 "one that the recording names)",
	 0},
	{"model", KEY_MODEL, "FILE", 0, "A processor model of your own", 0},
	{"min-share", KEY_MIN_SHARE, "PERCENT", 0,
	 "Leave out regions with less than PERCENT of all cycles (default: 0.1%)", 0},
	{"symbol", KEY_SYMBOL, "NAME", 0, "Show the regions of this function only", 0},
	{"write-model", KEY_WRITE_MODEL, "FILE", 0, "Write the model with the findings corrected",
	 0},
	{"format", KEY_FORMAT, "FORMAT", 0,
	 "Write the findings for those who edit LLVM: td (a patch of its scheduling models, or "
	 "what to change in them) or exegesis (for llvm-exegesis --mode=analysis)",
	 0},
	{"llvm", KEY_LLVM, "DIR", 0, "With --format td: a checkout of LLVM to make the patch for",
	 0},
	{"html", KEY_HTML, "FILE", 0, "Write a page that shows it all, for a browser", 0},
	{"block", KEY_BLOCK, NULL, 0,
	 "Compare the cycles between taken branches, block by block, from branch stacks; that is "
	 "also done where samples tell nothing else",
	 0},
	{0},
};

/* The option that writes what timed branches do not tell; NULL: none. */
static const char *needs_findings(const struct compare_options *wanted)
{
	return wanted->write_model		? "--write-model"
	       : wanted->html			? "--html"
	       : wanted->format != COMPARE_TEXT ? "--format"
						: NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct compare_options *result = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		result->min_share = MIN_SHARE_DEFAULT;
		state->child_inputs[0] = &result->input;
		break;
	case 'm':
		/* -mcpu=NAME, as pesa mca and compilers have it, is the letter m with "cpu=NAME".
		 */
		result->cpu = strncmp(argument, "cpu=", 4) ? argument : argument + 4;
		break;
	case KEY_FORMAT:
		if (strcmp(argument, "td") != 0 && strcmp(argument, "exegesis") != 0)
			profile_usage_error(state, "--format: expected td or exegesis, not '%s'",
					    argument);
		result->format = *argument == 't' ? COMPARE_TABLEGEN : COMPARE_EXEGESIS;
		break;
	case KEY_LLVM:
		result->llvm = argument;
		break;
	case ARGP_KEY_END:
		if (result->llvm && result->format != COMPARE_TABLEGEN)
			profile_usage_error(state, "--llvm needs --format td");
		if (result->format != COMPARE_TEXT && result->input.json)
			profile_usage_error(state, "--json and --format exclude each other");
		if (result->blocks && needs_findings(result))
			profile_usage_error(state, "--block has no findings for %s",
					    needs_findings(result));
		break;
	case KEY_MODEL:
		result->model = argument;
		break;
	case KEY_MIN_SHARE:
		result->min_share = strtod(argument, &end) / 100;
		if (end == argument || (*end && strcmp(end, "%")) ||
		    !(result->min_share >= 0 && result->min_share <= 1))
			profile_usage_error(state,
					    "--min-share is a percentage from 0 to 100, not '%s'",
					    argument);
		break;
	case KEY_SYMBOL:
		result->symbol = argument;
		break;
	case KEY_WRITE_MODEL:
		result->write_model = argument;
		break;
	case KEY_HTML:
		result->html = argument;
		break;
	case KEY_BLOCK:
		result->blocks = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_input_children,
	.doc = "Set the cycles that a recording measured against what a processor model predicts "
	       "for the same paths through the program, by region and instruction, and name the "
	       "entries of the model that explain the differences.\vExample:\n"
	       "  pesa compare -i perf.data\n"
	       "  pesa compare -mcpu=sifive-p670 --symbol mainSort --html compare.html\n"
	       "  pesa compare --format td --llvm llvm-project > model.patch\n"
	       "  pesa compare --write-model new.model && pesa compare --model new.model\n"
	       "  perf record -e cycles:ppp -b ./program && pesa compare -mcpu=sifive-p670\n"
	       "\n"
	       "The manual page pesa-compare(1) explains every column.",
};

/* The message if nothing is shown. */
static void note_nothing(const struct comparison *comparison)
{
	const struct pesa_compare_totals *totals = pesa_compare_totals(comparison->compare);

	if (totals->time.unknown > 0 && totals->time.core <= 0)
		profile_complain("compare",
				 "%s: its samples tell only where, not in which state: regions are "
				 "shown, nothing is predicted; pesa report and pesa annotate work",
				 comparison->wanted->input.path);
	if (!pesa_compare_region_count(comparison->compare))
		profile_complain(
			"compare",
			"%s: no region has %g%% of all cycles; --min-share shows smaller ones",
			comparison->wanted->input.path, 100 * comparison->wanted->min_share);
}

/* Find out what --symbol means among the functions of the regions. */
static struct pesa_error *search(struct comparison *comparison)
{
	const struct pesa_compare *compare = comparison->compare;
	struct pesa_error *error;

	if (!comparison->wanted->symbol)
		return NULL;
	error = name_search_begin(&comparison->search, comparison->wanted->symbol);
	for (size_t i = 0; i < pesa_compare_region_count(compare) && !error; i++) {
		const char *name = pesa_compare_region(compare, i)->symbol;

		if (name)
			error = name_search_consider(&comparison->search, name, NULL);
	}
	return error;
}

/* Whether there is a region of the function that --symbol names; a message if not. */
static bool has_wanted(struct comparison *comparison)
{
	const struct pesa_compare *compare = comparison->compare;
	struct pesa_error *error = search(comparison);

	if (error)
		return !profile_fail("compare", error);
	for (size_t i = 0; i < pesa_compare_region_count(compare); i++)
		if (compare_wants(comparison, pesa_compare_region(compare, i)->symbol))
			return true;
	if (!comparison->wanted->symbol || !pesa_compare_region_count(compare))
		return true;
	profile_complain(
		"compare",
		"%s: no region with %g%% of all cycles is in a function '%s'; 'pesa report' lists "
		"functions, and --min-share shows smaller regions",
		comparison->wanted->input.path, 100 * comparison->wanted->min_share,
		comparison->wanted->symbol);
	return false;
}

static bool write_files(const struct comparison *comparison)
{
	struct pesa_error *error = NULL;

	if (comparison->wanted->write_model)
		error = compare_write_model(comparison);
	if (!error && comparison->wanted->html)
		error = compare_write_html(comparison);
	return !error || !profile_fail("compare", error);
}

/* Write the findings for LLVM; false: failed, after a message. */
static bool write_format(const struct comparison *comparison)
{
	size_t count = 0, left = 0;
	struct pesa_error *error =
		comparison->wanted->format == COMPARE_TABLEGEN
			? compare_write_tablegen(comparison, stdout, &count, &left)
			: compare_write_exegesis(comparison, stdout, &count);

	if (error)
		return !profile_fail("compare", error);
	if (!count)
		profile_complain("compare", "%s: no finding has a number to write",
				 comparison->wanted->input.path);
	return left < count || !count;
}

/* ---- Timed branches ------------------------------------------------------------------------ */

/* Whether blocks are compared: as wanted, or because samples tell nothing but PCs. */
static bool is_timed(const struct comparison *comparison)
{
	return comparison->wanted->blocks ||
	       (comparison->input.plain && pesa_timed_compare_samples(comparison->timed));
}

static int compare_blocks(struct comparison *comparison, struct ui_terminal *terminal)
{
	const struct compare_options *wanted = comparison->wanted;
	struct pesa_error *error;

	if (!pesa_timed_compare_samples(comparison->timed)) {
		profile_complain("compare",
				 "%s: no sample has a branch stack with cycle counts; record with "
				 "'perf record -b' on hardware with Ssctr, or 'pesa record --set "
				 "sample.ctr_depth=32' on the virtual core",
				 wanted->input.path);
		return 1;
	}
	if (needs_findings(wanted)) {
		profile_complain("compare",
				 "%s: its samples tell nothing but timed branches, from which no "
				 "entry of the model is named: nothing to write for %s",
				 wanted->input.path, needs_findings(wanted));
		return 1;
	}
	error = compare_choose(comparison);
	if (!error)
		error = compare_timed(comparison);
	if (error)
		return profile_fail("compare", error);
	if (!pesa_timed_compare_count(comparison->timed))
		profile_complain("compare", "%s: no block of its branch stacks has a prediction",
				 wanted->input.path);
	if (!compare_timed_has_wanted(comparison))
		return 1;
	if (wanted->input.json) {
		compare_timed_json(comparison);
	} else {
		ui_pager_start(terminal, !wanted->input.no_pager);
		compare_timed_print(comparison, terminal);
	}
	return profile_finish("compare", terminal, NULL) || comparison->input.damaged;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static int compare(struct comparison *comparison)
{
	struct ui_terminal terminal = ui_terminal_open(comparison->wanted->input.colour);
	struct pesa_error *error;

	if (!profile_has_cycles(&comparison->input))
		return 1;
	comparison->isas = listing_isas_create(&comparison->input);
	if (!comparison->isas)
		return profile_fail("compare", pesa_error_no_memory());
	if (is_timed(comparison))
		return compare_blocks(comparison, &terminal);
	error = compare_make(comparison, comparison->wanted->min_share, false);
	if (error)
		return profile_fail("compare", error);
	note_nothing(comparison);
	if (!has_wanted(comparison))
		return 1;
	if (!write_files(comparison))
		return 1;
	if (comparison->wanted->format != COMPARE_TEXT) {
		if (!write_format(comparison))
			return 1;
	} else if (comparison->wanted->input.json) {
		compare_json(comparison);
	} else {
		ui_pager_start(&terminal, !comparison->wanted->input.no_pager);
		compare_print(comparison, &terminal);
	}
	return profile_finish("compare", &terminal, NULL) || comparison->input.damaged;
}

int pesa_command_compare(int argc, char **argv)
{
	struct compare_options wanted = {0};
	struct comparison comparison = {.wanted = &wanted};
	int status = profile_parse(&argp, "compare", argc, argv, &wanted);
	struct pesa_error *error;

	if (status)
		return status;
	wanted.input.outputs[0] = wanted.html;
	wanted.input.outputs[1] = wanted.write_model;
	comparison.timed = pesa_timed_compare_create(wanted.blocks);
	if (!comparison.timed)
		return profile_fail("compare", pesa_error_no_memory());
	wanted.input.listener = pesa_timed_compare_listener(comparison.timed);
	error = profile_input_open(&comparison.input, &wanted.input, "compare");
	if (error) {
		pesa_timed_compare_free(comparison.timed);
		return profile_fail("compare", error);
	}
	status = compare(&comparison);
	compare_release(&comparison);
	name_search_end(&comparison.search);
	listing_isas_free(comparison.isas);
	profile_input_close(&comparison.input);
	return status;
}
