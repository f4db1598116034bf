/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare: measured cycles set against what a processor model predicts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/compare/llvm.h"
#include "tools/ui/listing.h"
#include "tools/mca/target.h"
#include "tools/ui/pager.h"
#include "tools/ui/progress.h"
#include "tools/record/virtual_core.h"

enum {
	KEY_MODEL = PROFILE_KEY_FIRST_FREE,
	KEY_MIN_SHARE,
	KEY_WRITE_MODEL,
	KEY_HTML,
	KEY_SYMBOL,
	KEY_FORMAT,
	KEY_LLVM,
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
	{0},
};

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
	       "\n"
	       "The manual page pesa-compare(1) explains every column.",
};

/* ---- The model ----------------------------------------------------------------------------- */

static bool is_built_in(const char *cpu)
{
	const char *name;

	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++)
		if (!strcmp(name, cpu))
			return true;
	return false;
}

static struct pesa_error *choose_model(struct comparison *comparison)
{
	const struct compare_options *wanted = comparison->wanted;
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(comparison->input.profile);
	size_t length;

	comparison->cpu = wanted->cpu;
	/* A recording names a built-in model or none: no file is opened because it says so. */
	if (!comparison->cpu && *capabilities->model && is_built_in(capabilities->model))
		comparison->cpu = capabilities->model;
	if (wanted->model) {
		struct pesa_error *error = pesa_mca_model_load(wanted->model, &comparison->model);

		comparison->model_path = strdup(wanted->model);
		if (!error && !comparison->model_path)
			error = pesa_error_no_memory();
		if (error)
			return error;
		comparison->processor =
			comparison->cpu
				? pesa_mca_model_processor(comparison->model, comparison->cpu)
				: NULL;
		if (!comparison->processor && wanted->cpu)
			return pesa_error_create(PESA_ERROR_ARGUMENT, "%s has no processor %s",
						 wanted->model, wanted->cpu);
		if (!comparison->processor)
			comparison->processor = pesa_mca_model_processor(comparison->model, NULL);
		comparison->cpu = wanted->model;
		return NULL;
	}
	if (!comparison->cpu)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s does not name a processor model that is built in%s%s; "
					 "choose one with -mcpu=NAME or --model FILE",
					 wanted->input.path, *capabilities->model ? ", but " : "",
					 capabilities->model);
	length = pesa_mca_model_path_length(comparison->cpu);
	if (length) {
		comparison->model_path = strndup(comparison->cpu, length);
		if (!comparison->model_path)
			return pesa_error_no_memory();
	}
	return pesa_mca_model_open(comparison->cpu, &comparison->model, &comparison->processor);
}

/* What the recording's core description says beyond the model. */
static void describe_core(struct comparison *comparison)
{
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(comparison->input.profile);
	struct pesa_core core;
	struct pesa_error *error;

	comparison->core.retire_width = capabilities->retire_width;
	if (!*capabilities->core)
		return;
	error = virtual_core_load(capabilities->core, &core);
	if (error) {
		pesa_error_free(error);
		return;
	}
	comparison->core_known = true;
	comparison->core = (struct pesa_compare_core){
		.dispatch_width = core.dispatch_width,
		.retire_width = core.retire_width,
		.reorder_buffer = core.rob_entries,
		.load_queue = core.load_queue,
		.store_queue = core.store_queue,
		.forward_latency = core.forward_latency,
		/* A store leaves after it has retired, the load follows. */
		.drain_latency = 1 + 2 * core.dcache.latency,
		.fetch_width = core.fetch_width,
		.taken_branches = 1,
		.fetch_buffer = core.fetch_buffer,
		.fetch_bytes = core.fetch_bytes,
		.mispredict_penalty = core.redirect + core.fetch_depth,
		/* It enters the core a cycle before it can issue, and retires a cycle after it is
		 * complete, where the engine does both in one.  Elsewhere these cycles overlap with
		 * those of the instruction before. */
		.redirect_stall = 2,
	};
}

/* A model of the other register width says nothing of this code. */
static struct pesa_error *check_width(const struct comparison *comparison)
{
	const char *isa = comparison->processor->isa;
	unsigned int xlen = pesa_profile_capabilities(comparison->input.profile)->xlen;

	for (unsigned int i = 0; i < pesa_profile_dso_count(comparison->input.profile); i++) {
		const char *code = pesa_profile_isa(comparison->input.profile, i);

		if (code)
			xlen = strncmp(code, "rv32", 4) ? 64 : 32;
	}
	if (!isa || strncmp(isa, xlen == 32 ? "rv64" : "rv32", 4))
		return NULL;
	return pesa_error_create(
		PESA_ERROR_ARGUMENT,
		"%s: the model is for %.4s, the code of %s is for rv%u; choose another one with -mcpu=NAME",
		comparison->processor->name, isa, comparison->wanted->input.path, xlen);
}

/* What to say where nothing is shown. */
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

/* Of a function that is wanted; says so if there is none. */
static bool has_wanted(const struct comparison *comparison)
{
	const struct pesa_compare *compare = comparison->compare;

	for (size_t i = 0; i < pesa_compare_region_count(compare); i++)
		if (compare_wants(comparison, pesa_compare_region(compare, i)))
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

static bool make(struct comparison *comparison)
{
	struct pesa_compare_options chosen;
	struct ui_progress progress;
	struct pesa_error *error = choose_model(comparison);

	pesa_compare_options_default(&chosen);
	if (!error)
		error = check_width(comparison);
	if (!error) {
		describe_core(comparison);
		chosen.processor = comparison->processor->name;
		chosen.core = comparison->core;
		chosen.min_share = comparison->wanted->min_share;
		chosen.progress = ui_progress_update;
		chosen.progress_context = &progress;
		ui_progress_start(&progress, "predicting");
		error = pesa_compare_create(comparison->input.profile, comparison->input.symbols,
					    comparison->model, &chosen, &comparison->compare);
		ui_progress_finish(&progress);
	}
	return !error || !profile_fail("compare", error);
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

/* Write the findings for LLVM; false: said why not. */
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

/* ---- The subcommand ------------------------------------------------------------------------ */

static int compare(struct comparison *comparison)
{
	struct ui_terminal terminal = ui_terminal_open(comparison->wanted->input.colour);

	if (!profile_has_cycles(&comparison->input))
		return 1;
	comparison->isas = listing_isas_create(&comparison->input);
	if (!comparison->isas)
		return profile_fail("compare", pesa_error_no_memory());
	if (!make(comparison))
		return 1;
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

	if (status)
		return status;
	wanted.input.outputs[0] = wanted.html;
	wanted.input.outputs[1] = wanted.write_model;
	if (!profile_input_open(&comparison.input, &wanted.input, "compare"))
		return 1;
	status = compare(&comparison);
	pesa_compare_free(comparison.compare);
	pesa_mca_model_free(comparison.model);
	listing_isas_free(comparison.isas);
	free(comparison.model_path);
	profile_input_close(&comparison.input);
	return status;
}
