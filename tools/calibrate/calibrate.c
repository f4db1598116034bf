/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa calibrate: learn where interrupts are taken, on loops of which it is known what holds them up. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "decoder/base/number.h"
#include "tools/calibrate/learn.h"
#include "tools/commands.h"
#include "tools/plain/calibrations.h"
#include "tools/files/temporary_directory.h"

#define COMMAND	       "calibrate"
#define WORDS_MAX      80u
#define SETTINGS_MAX   16u
#define CYCLES_KERNEL  UINT64_C(6000000000) /* some seconds */
#define CYCLES_VIRTUAL UINT64_C(20000000)
#define PERIOD_VIRTUAL "500"
#define SAMPLES_LEAST  2000u
#define FOUND_LEAST    0.8 /* of what a loop's holders are known to have */

struct arguments {
	const char *output, *events, *period, *frequency, *core, *skid, *json;
	const char *setting[SETTINGS_MAX];
	unsigned int settings;
	uint64_t cycles;
	bool wants_json;
	struct plain_options plain;
};

/* ---- Options --------------------------------------------------------------------------------- */

enum { KEY_CORE = 256, KEY_SET, KEY_SKID, KEY_CYCLES, KEY_JSON };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "The calibration (default: where the other subcommands find it by themselves, in "
	 "pesa/calibrations below $XDG_DATA_HOME or ~/.local/share)",
	 0},
	{"event", 'e', "EVENT", 0, "As for pesa record (default: the best source, as it chooses)",
	 0},
	{"period", 'c', "CYCLES", 0, "One sample every so many cycles, as for pesa record", 0},
	{"frequency", 'F', "HZ", 0, "So many samples a second, as for pesa record", 0},
	{"mcpu", 'm', "NAME", 0,
	 "The processor model (default: the one that the recording names, or a generic one)", 0},
	{"cycles", KEY_CYCLES, "N", 0,
	 "Run the loops for so many cycles, about (default: 6000000000, on the virtual core "
	 "20000000)",
	 0},
	{"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Print JSON (schemas: pesa's Documentation/json.md)", 0},
	{NULL, 0, NULL, 0, "On the virtual core, whose sampler is lcofi then:", 3},
	{"core", KEY_CORE, "NAME", 0, "Core description, see 'pesa list'; needs -o", 0},
	{"set", KEY_SET, "KEY=VALUE", 0, "Change a key of it, as for pesa record", 0},
	{"skid", KEY_SKID, "LOW-HIGH", 0, "Where interrupts are taken, as for pesa record", 0},
	{0},
};

static void check(const struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->period && arguments->frequency)
		profile_usage_error(state, "give either --period or --frequency");
	if (!arguments->core && (arguments->skid || arguments->settings))
		profile_usage_error(state, "--skid and --set are of the virtual core: name it with "
					   "--core");
	if (arguments->core && arguments->events)
		profile_usage_error(state, "-e is of this machine's kernel, --core of the virtual "
					   "core");
	if (arguments->core && !arguments->output)
		profile_usage_error(state, "-o FILE is missing: a calibration of the virtual core "
					   "is not kept for this machine");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'o':
		arguments->output = argument;
		return 0;
	case 'e':
		arguments->events = argument;
		return 0;
	case 'c':
		arguments->period = argument;
		return 0;
	case 'F':
		arguments->frequency = argument;
		return 0;
	case 'm':
		arguments->plain.cpu = strncmp(argument, "cpu=", 4) ? argument : argument + 4;
		return 0;
	case KEY_CYCLES:
		if (!number_read(argument, 0, 1000, UINT64_C(1000000000000), &arguments->cycles))
			profile_bad_value(state, "--cycles", argument, "1000 to 1000000000000");
		return 0;
	case KEY_CORE:
		arguments->core = argument;
		return 0;
	case KEY_SET:
		if (arguments->settings == SETTINGS_MAX)
			profile_usage_error(state, "more than %u --set", SETTINGS_MAX);
		arguments->setting[arguments->settings++] = argument;
		return 0;
	case KEY_SKID:
		arguments->skid = argument;
		return 0;
	case KEY_JSON:
		arguments->wants_json = true;
		arguments->json = argument;
		return 0;
	case ARGP_KEY_ARG:
		profile_usage_error(state, "unexpected argument '%s'", argument);
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Learn how far behind the instruction that waited this core and kernel take "
	       "interrupts.  Loops run of which it is known what holds them up; they are sampled "
	       "as pesa record samples, and what was learned becomes a file, which pesa annotate, "
	       "report and error use for recordings of this machine.\v"
	       "Only samples whose PC skids can be calibrated: not those of a clock, and not exact "
	       "ones.\n"
	       "\n"
	       "Examples:\n"
	       "  pesa calibrate && pesa record -- ./program && pesa annotate\n"
	       "  pesa calibrate --core ooo-4 --skid 3-6 -o skid.txt\n"
	       "  pesa annotate --calibration skid.txt -i perf.data\n"
	       "\n"
	       "The manual page pesa-calibrate(1) explains all.",
};

/* ---- Recording the loops --------------------------------------------------------------------- */

static struct pesa_error *write_program(const struct microloops *loops, const char *path)
{
	FILE *stream = fopen(path, "wxe");
	bool failed;

	if (!stream)
		return pesa_error_system(errno, "cannot create %s", path);
	failed = fchmod(fileno(stream), 0700) ||
		 fwrite(loops->file, 1, loops->size, stream) != loops->size;
	if (fclose(stream) || failed)
		return pesa_error_system(errno, "cannot write %s", path);
	return NULL;
}

/* What pesa record is called with. */
struct words {
	char *word[WORDS_MAX];
	int count;
};

static void add(struct words *words, const char *word)
{
	words->word[words->count++] = (char *)word;
}

static void add_option(struct words *words, const char *option, const char *value)
{
	if (!value)
		return;
	add(words, option);
	add(words, value);
}

static int record(const struct arguments *arguments, const char *data, const char *program)
{
	struct words words = {.count = 0};

	add(&words, "record");
	add(&words, "-q");
	add_option(&words, "-o", data);
	add_option(&words, "-e", arguments->events);
	add_option(&words, "-F", arguments->frequency);
	add_option(&words, "-c",
		   arguments->period || arguments->frequency || !arguments->core ? arguments->period
										 : PERIOD_VIRTUAL);
	add_option(&words, "--core", arguments->core);
	add_option(&words, "--sampler", arguments->core ? "lcofi" : NULL);
	add_option(&words, "--skid", arguments->skid);
	for (unsigned int i = 0; i < arguments->settings; i++)
		add_option(&words, "--set", arguments->setting[i]);
	add(&words, "--");
	add(&words, program);
	return pesa_command_record(words.count, words.word);
}

/* ---- The result ------------------------------------------------------------------------------ */

struct calibrating {
	const struct arguments *arguments;
	struct microloops loops;
	struct microloop_result *results;
	struct profile_input input;
	struct plain_estimate plain;
	struct pesa_calibration calibration;
	const char *path; /* of the calibration */
	char default_path[PATH_MAX];
};

/* Whether the estimate finds what holds a loop up. */
static bool is_found(const struct microloop_result *result)
{
	return isnan(result->known) || result->estimated >= FOUND_LEAST * result->known;
}

static void print_text(const struct calibrating *calibrating)
{
	const struct pesa_calibration *calibration = &calibrating->calibration;
	struct ui_terminal terminal = ui_terminal_open(UI_AUTO);
	struct ui_text line = {0};
	unsigned int missed = 0;

	ui_text_add_safe(&line, "%" PRIu64 " samples of %s on %s, model %s", calibration->samples,
			 calibration->event, calibration->cpu, calibration->model);
	ui_text_add(&line, "%s", calibrating->plain.generic ? " (a generic one)" : "");
	ui_print_line(&terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "interrupts are taken: ");
	plain_ways_text(calibrating->plain.deskid, &line);
	ui_print_line(&terminal, ui_text_get(&line));
	ui_text_free(&line);
	fprintf(terminal.out, "\n%-22s %6s %10s %9s %10s  %s\n", "loop", "cycles", "known",
		"sampled", "estimated", "held up by");
	for (size_t i = 0; i < calibrating->loops.count; i++) {
		const struct microloop *loop = &calibrating->loops.loop[i];
		const struct microloop_result *result = &calibrating->results[i];

		fprintf(terminal.out, "%-22s %6.1f", loop->name, result->cycles);
		if (loop->holders)
			fprintf(terminal.out, "   >= %3.0f %% %7.1f %% %8.1f %%  %s",
				100 * result->known, 100 * result->sampled, 100 * result->estimated,
				loop->held_by);
		fputc('\n', terminal.out);
		missed += !is_found(result);
	}
	fprintf(terminal.out, "\n");
	if (missed)
		fprintf(terminal.out,
			"note: in %u of the loops the estimate does not find what holds them up: "
			"the model is not this processor's (-mcpu), or something else ran\n",
			missed);
	ui_text_add_safe(&line, "written to %s", calibrating->path);
	ui_print_line(&terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static json_object *loop_json(const struct microloop *loop, const struct microloop_result *result)
{
	json_object *one = json_object_new_object();

	json_object_object_add(one, "name", ui_json_string(loop->name));
	json_object_object_add(one, "held_by", ui_json_string(loop->held_by));
	json_object_object_add(one, "iterations", ui_json_count(loop->iterations));
	json_object_object_add(one, "cycles", ui_json_number(result->cycles));
	json_object_object_add(one, "known", ui_json_number(result->known));
	json_object_object_add(one, "sampled", ui_json_number(result->sampled));
	json_object_object_add(one, "estimated", ui_json_number(result->estimated));
	return one;
}

static struct pesa_error *print_json(const struct calibrating *calibrating)
{
	const struct pesa_calibration *calibration = &calibrating->calibration;
	struct pesa_error *error;
	struct ui_json json;
	FILE *stream;

	error = ui_json_open(calibrating->arguments->json, &stream);
	if (error)
		return error;
	ui_json_begin(&json, stream, COMMAND);
	ui_json_member(&json, "output", ui_json_string(calibrating->path));
	ui_json_member(&json, "cpu", ui_json_string(calibration->cpu));
	ui_json_member(&json, "event", ui_json_string(calibration->event));
	ui_json_member(&json, "kernel", ui_json_string(calibration->kernel));
	ui_json_member(&json, "model", ui_json_string(calibration->model));
	ui_json_member(&json, "generic", json_object_new_boolean(calibrating->plain.generic));
	ui_json_member(&json, "samples", ui_json_count(calibration->samples));
	ui_json_member(&json, "interrupts", plain_ways_json(calibrating->plain.deskid));
	ui_json_array_begin(&json, "loops");
	for (size_t i = 0; i < calibrating->loops.count; i++)
		ui_json_element(&json,
				loop_json(&calibrating->loops.loop[i], &calibrating->results[i]));
	ui_json_array_end(&json);
	ui_json_end(&json);
	return ui_json_close(stream);
}

/* Where it goes if the user does not say. */
static struct pesa_error *choose_path(struct calibrating *calibrating)
{
	calibrating->path = calibrating->arguments->output;
	if (calibrating->path)
		return NULL;
	if (!calibration_path(&calibrating->calibration, calibrating->default_path))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "there is no place for it: neither XDG_DATA_HOME nor HOME "
					 "names a directory (-o FILE)");
	calibrating->path = calibrating->default_path;
	return calibration_make_directories(calibrating->path);
}

static struct pesa_error *write_calibration(struct calibrating *calibrating)
{
	struct pesa_error *error = choose_path(calibrating);
	bool failed;
	FILE *stream;

	if (error)
		return error;
	stream = fopen(calibrating->path, "we");
	if (!stream)
		return pesa_error_system(errno, "cannot create %s", calibrating->path);
	fprintf(stream, "# written by pesa calibrate; pesa annotate --calibration reads it\n");
	pesa_calibration_write(&calibrating->calibration, stream);
	failed = ferror(stream);
	if (fclose(stream) || failed)
		return pesa_error_system(errno, "cannot write %s", calibrating->path);
	return NULL;
}

/* ---- The subcommand -------------------------------------------------------------------------- */

/* Why the samples cannot be learned from; NULL: they can. */
static struct pesa_error *check_samples(const struct calibrating *calibrating)
{
	const struct profile_input *input = &calibrating->input;
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const char *event = pesa_profile_event(input->profile);

	if (input->time || input->other)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"there is nothing to calibrate: the samples are of %s, which does not count "
			"cycles; 'pesa doctor' says what is missing",
			event ? event : "an unknown event");
	if (totals->samples && !plain_is_skidding(input))
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"there is nothing to calibrate: samples of %s have exact PCs, or more",
			event ? event : "an unknown event");
	if (totals->samples < SAMPLES_LEAST)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%" PRIu64 " samples are too few, it takes %u: a shorter "
					 "period (-c), or more --cycles",
					 totals->samples, SAMPLES_LEAST);
	return NULL;
}

static struct pesa_error *learn(struct calibrating *calibrating)
{
	struct pesa_error *error = check_samples(calibrating);

	if (error)
		return error;
	calibration_describe(calibrating->input.profile, &calibrating->calibration);
	calibrating->calibration.samples = pesa_profile_totals(calibrating->input.profile)->samples;
	error = plain_estimate_open(&calibrating->plain, &calibrating->input,
				    &calibrating->arguments->plain);
	if (error)
		return error;
	calibrating->results = calloc(calibrating->loops.count, sizeof(*calibrating->results));
	if (!calibrating->results)
		return pesa_error_no_memory();
	learn_results(&calibrating->loops, &calibrating->plain, calibrating->results);
	learn_ways(&calibrating->plain, &calibrating->calibration);
	if (!*calibrating->calibration.cpu)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "the kernel does not name the processor in /proc/cpuinfo "
					 "(mvendorid, marchid, mimpid): a calibration would be "
					 "nobody's");
	return write_calibration(calibrating);
}

static int calibrate(struct calibrating *calibrating)
{
	const struct arguments *arguments = calibrating->arguments;
	struct profile_input_options input = {.pid = -1, .tid = -1, .path_given = true};
	char data[PATH_MAX], program[PATH_MAX];
	const char *directory;
	struct pesa_error *error;
	int status;

	error = microloops_create(arguments->cycles, &calibrating->loops);
	if (!error)
		error = temporary_directory_create("pesa-calibrate", &directory);
	if (error)
		return profile_fail(COMMAND, error);
	snprintf(data, sizeof(data), "%s/perf.data", directory);
	snprintf(program, sizeof(program), "%s/microloops", directory);
	error = write_program(&calibrating->loops, program);
	if (error)
		return profile_fail(COMMAND, error);
	status = record(arguments, data, program);
	if (status) {
		profile_complain(COMMAND, "the loops could not be recorded");
		return 1;
	}
	input.path = data;
	error = profile_input_open(&calibrating->input, &input, COMMAND);
	if (error)
		return profile_fail(COMMAND, error);
	error = learn(calibrating);
	if (!error && arguments->wants_json)
		error = print_json(calibrating);
	else if (!error)
		print_text(calibrating);
	status = error ? profile_fail(COMMAND, error) : 0;
	plain_estimate_close(&calibrating->plain);
	profile_input_close(&calibrating->input);
	return status;
}

int pesa_command_calibrate(int argc, char **argv)
{
	struct arguments arguments = {.plain = {.calibrating = true}};
	struct calibrating calibrating = {.arguments = &arguments};
	int status = profile_parse(&argp, COMMAND, argc, argv, &arguments);

	if (status)
		return status;
#ifndef __riscv
	if (!arguments.core) {
		profile_complain(COMMAND, "this is no RISC-V machine, so there is nothing to "
					  "calibrate; --core NAME calibrates the virtual core");
		return 1;
	}
#endif
	if (!arguments.cycles)
		arguments.cycles = arguments.core ? CYCLES_VIRTUAL : CYCLES_KERNEL;
	status = calibrate(&calibrating);
	free(calibrating.results);
	microloops_free(&calibrating.loops);
	return status;
}
