/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa error: the distance between a sampled profile and the exact one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pesa/estimate.h"
#include "tools/commands.h"
#include "tools/plain/plain.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/pager.h"

struct error_options {
	struct profile_input_options input;
	const char *golden;
	struct plain_options plain;
	bool estimate;
};

enum { KEY_ESTIMATE = PROFILE_KEY_FIRST_FREE, KEY_CALIBRATION };

static const struct argp_option options[] = {
	{"golden", 'g', "FILE", 0, "The exact profile, as 'pesa record --golden FILE' writes it",
	 0},
	{"estimate", KEY_ESTIMATE, NULL, 0,
	 "Of samples whose PC skids: also the error of the cycles that pesa annotate estimates", 0},
	{"mcpu", 'm', "NAME", 0,
	 "For --estimate: the processor model (default: the one that the recording names)", 0},
	{"calibration", KEY_CALIBRATION, "FILE", 0, "For --estimate: " PLAIN_CALIBRATION_HELP, 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct error_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		break;
	case 'g':
		result->golden = argument;
		break;
	case KEY_ESTIMATE:
		result->estimate = true;
		break;
	case 'm':
		result->plain.cpu = strncmp(argument, "cpu=", 4) ? argument : argument + 4;
		break;
	case KEY_CALIBRATION:
		result->plain.calibration = argument;
		break;
	case ARGP_KEY_ARG:
		profile_usage_error(
			state, "unexpected argument '%s'; the files are named with --golden and -i",
			argument);
		break;
	case ARGP_KEY_END:
		if (!result->golden)
			profile_usage_error(state,
					    "--golden FILE is missing: what to compare with");
		if ((result->plain.cpu || result->plain.calibration) && !result->estimate)
			profile_usage_error(state, "%s needs --estimate",
					    result->plain.cpu ? "-mcpu" : "--calibration");
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
	.doc = "Compare a sampled profile with the exact one of the same run: half the sum, over "
	       "every instruction and bucket of its cycle stack, of the differences of their "
	       "shares; and the floor, the error that ideal random sampling of as many cycles "
	       "would have.\vExample:\n"
	       "  pesa record --golden golden.data -- ./program\n"
	       "  pesa error --golden golden.data -i perf.data\n"
	       "\n"
	       "The manual page pesa-error(1) explains the figures.",
};

/* The errors of the estimates from samples whose PC skids. */
struct estimates {
	double flow, all; /* by control flow and model alone; with the places of the samples */
	double held; /* share of the cycles of instructions whose interval has the exact number */
};

static void print_text(const struct profile_input *measured, const struct profile_input *golden,
		       const struct pesa_distance *distance, const struct estimates *estimates,
		       const struct ui_terminal *terminal)
{
	static const char *const what[] = {
		[PESA_DISTANCE_STACK] = "instruction, state and causes",
		[PESA_DISTANCE_CAUSES] = "instruction and causes",
		[PESA_DISTANCE_INSTRUCTION] = "instruction",
	};
	const struct pesa_distance_figures *figures = &distance->at[distance->level];
	FILE *out = terminal->out;

	fprintf(out, "error   %8.4f %%   of the cycles are attributed differently, by %s\n",
		figures->error * 100, what[distance->level]);
	fprintf(out, "floor   %8.4f %%   is expected of ideal random sampling\n",
		figures->floor * 100);
	for (unsigned int i = distance->level + 1; i < PESA_DISTANCE_LEVELS; i++)
		fprintf(out, "        %8.4f %%   by %s (floor %.4f %%)\n",
			distance->at[i].error * 100, what[i], distance->at[i].floor * 100);
	if (estimates)
		fprintf(out,
			"        %8.4f %%   of the estimate by control flow and model alone\n"
			"        %8.4f %%   of the estimate with the places of the samples\n"
			"        %8.4f %%   of its cycles have the exact number in the 95 %% interval\n",
			estimates->flow * 100, estimates->all * 100, estimates->held * 100);
	if (distance->level != PESA_DISTANCE_STACK)
		fprintf(out, "note: the samples of %s tell no %s\n",
			pesa_profile_event(measured->profile),
			distance->level == PESA_DISTANCE_CAUSES ? "state" : "state and no causes");
	fprintf(out, "samples %8" PRIu64 "     of %.0f cycles%s\n", distance->samples,
		cycles_of(pesa_profile_totals(golden->profile)->weight),
		pesa_profile_totals(measured->profile)->exact ? " (the measured profile is exact)"
							      : "");
	if (measured->unattributed)
		fprintf(out, "        %8.4f %%   of the measured cycles are unattributed\n",
			profile_share(measured, measured->unattributed) * 100);
}

static void print_json(const struct profile_input *measured, const struct profile_input *golden,
		       const struct pesa_distance *distance, const struct estimates *estimates)
{
	static const char *const names[] = {
		[PESA_DISTANCE_STACK] = "stack",
		[PESA_DISTANCE_CAUSES] = "causes",
		[PESA_DISTANCE_INSTRUCTION] = "instruction",
	};
	struct ui_json json;

	ui_json_begin(&json, stdout, "error");
	ui_json_member(&json, "input", ui_json_string(measured->options->path));
	ui_json_member(&json, "golden", ui_json_string(golden->options->path));
	ui_json_member(&json, "event", ui_json_string(pesa_profile_event(measured->profile)));
	ui_json_member(&json, "level", ui_json_string(names[distance->level]));
	ui_json_member(&json, "error", ui_json_number(distance->at[distance->level].error));
	ui_json_member(&json, "floor", ui_json_number(distance->at[distance->level].floor));
	for (unsigned int i = distance->level; i < PESA_DISTANCE_LEVELS; i++) {
		json_object *figures = json_object_new_object();

		json_object_object_add(figures, "error", ui_json_number(distance->at[i].error));
		json_object_object_add(figures, "floor", ui_json_number(distance->at[i].floor));
		ui_json_member(&json, names[i], figures);
	}
	if (estimates) {
		json_object *figures = json_object_new_object();

		json_object_object_add(figures, "flow", ui_json_number(estimates->flow));
		json_object_object_add(figures, "error", ui_json_number(estimates->all));
		json_object_object_add(figures, "held", ui_json_number(estimates->held));
		ui_json_member(&json, "estimate", figures);
	}
	ui_json_member(&json, "samples", ui_json_count(distance->samples));
	ui_json_member(&json, "cycles",
		       ui_json_number(cycles_of(pesa_profile_totals(golden->profile)->weight)));
	ui_json_member(&json, "unattributed_share",
		       ui_json_number(profile_share(measured, measured->unattributed)));
	ui_json_end(&json);
}

static uint32_t dso_of(const struct pesa_profile *profile, const char *path)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++)
		if (!strcmp(pesa_profile_dso(profile, i)->path, path))
			return i;
	return UINT32_MAX;
}

/* Of the cycles of instructions with an interval, those whose interval has the exact number. */
static double held_by(const struct pesa_profile *measured, const struct pesa_profile *golden)
{
	double all = 0, held = 0;

	for (size_t i = 0; i < pesa_profile_instruction_count(measured); i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(measured, i), *exact;
		struct pesa_estimate cycles =
			pesa_estimate_cycles(measured, one, PROFILE_CONFIDENCE);
		double right;

		if (!cycles.enough)
			continue;
		exact = pesa_profile_find(
			golden, dso_of(golden, pesa_profile_dso(measured, one->dso)->path),
			one->address);
		right = exact ? cycles_of(exact->weight) : 0;
		all += cycles.value;
		if (right >= cycles.low && right <= cycles.high)
			held += cycles.value;
	}
	return all > 0 ? held / all : 0;
}

/* The distances of the estimates, by step. */
static struct pesa_error *compare_estimates(const struct error_options *wanted,
					    struct profile_input *measured,
					    const struct profile_input *golden,
					    struct estimates *estimates)
{
	struct pesa_distance distance[PESA_DESKID_ALL + 1] = {0};
	struct plain_estimate plain;
	struct pesa_error *error = plain_estimate_open(&plain, measured, &wanted->plain);

	if (!error && !plain.deskid)
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s has no RISC-V code",
					  measured->options->path);
	for (int step = PESA_DESKID_BY_FLOW; step <= PESA_DESKID_ALL && !error; step++) {
		error = pesa_deskid_apply(plain.deskid, (enum pesa_deskid_step)step,
					  measured->profile);
		if (!error)
			error = pesa_profile_distance(measured->profile, golden->profile,
						      &distance[step]);
	}
	estimates->flow = distance[PESA_DESKID_BY_FLOW].at[PESA_DISTANCE_INSTRUCTION].error;
	estimates->all = distance[PESA_DESKID_ALL].at[PESA_DISTANCE_INSTRUCTION].error;
	if (!error)
		estimates->held = held_by(measured->profile, golden->profile);
	plain_estimate_close(&plain);
	return error;
}

static int compare(const struct error_options *wanted, struct profile_input *measured,
		   struct profile_input *golden)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	struct estimates estimates = {0};
	struct pesa_distance distance;
	struct pesa_error *error;

	if (!profile_has_cycles(golden) || !profile_has_cycles(measured))
		return 1;
	if (!pesa_profile_totals(golden->profile)->exact) {
		profile_complain(
			"error",
			"%s: this is a sampled profile, not an exact one; --golden takes what "
			"'pesa record --golden FILE' wrote",
			wanted->golden);
		return 1;
	}
	if (wanted->estimate && !plain_is_skidding(measured)) {
		profile_complain("error", "%s: there is nothing to estimate: the PC does not skid",
				 measured->options->path);
		return 1;
	}
	error = pesa_profile_distance(measured->profile, golden->profile, &distance);
	if (!error && wanted->estimate)
		error = compare_estimates(wanted, measured, golden, &estimates);
	if (error)
		return profile_fail("error", error);
	if (wanted->input.json)
		print_json(measured, golden, &distance, wanted->estimate ? &estimates : NULL);
	else
		print_text(measured, golden, &distance, wanted->estimate ? &estimates : NULL,
			   &terminal);
	return profile_finish("error", &terminal, NULL) || measured->damaged || golden->damaged;
}

int pesa_command_error(int argc, char **argv)
{
	struct error_options wanted = {0};
	struct profile_input measured, golden;
	struct profile_input_options golden_options;
	struct pesa_error *error;
	int status = profile_parse(&argp, "error", argc, argv, &wanted);

	if (status)
		return status;
	golden_options = wanted.input;
	golden_options.path = wanted.golden;
	golden_options.path_given = true;
	/* An exact record has no event, so the event filter applies to the samples only. */
	golden_options.event = NULL;
	golden_options.file = NULL;
	error = profile_open_archive(&golden_options);
	if (error)
		return profile_fail("error", error);
	error = profile_input_open(&golden, &golden_options, "error");
	if (error)
		return profile_fail("error", error);
	error = profile_input_open(&measured, &wanted.input, "error");
	if (error) {
		profile_input_close(&golden);
		return profile_fail("error", error);
	}
	status = compare(&wanted, &measured, &golden);
	profile_input_close(&measured);
	profile_input_close(&golden);
	return status;
}
