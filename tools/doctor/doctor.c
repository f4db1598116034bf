// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa doctor: what this machine has, what pesa can do with it, and what mends what is missing. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/machine/findings.h"
#include "pesa/version.h"
#include "tools/commands.h"
#include "tools/record/emulator.h"
#include "tools/record/event_options.h"
#include "tools/ui/json.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

#define COMMAND	    "doctor"
#define FAULTS_MOST (1u << 20)

struct arguments {
	const char *root; /* "": this machine */
	bool json, report, has_require;
	const char *output; /* of --json or --report; NULL: standard output */
	enum pesa_source_level require;
	struct event_options names;
};

/* All that is known, for every form of output. */
struct diagnosis {
	const struct arguments *arguments;
	struct machine machine;
	struct pesa_sampling_source source;
	struct machine_knowledge knowledge;
	struct machine_findings findings;
	struct machine_ability abilities[MACHINE_ABILITIES_MAX];
	size_t ability_count;
};

/* ---- Options ------------------------------------------------------------------------------- */

enum { KEY_JSON = 256, KEY_REPORT, KEY_ROOT, KEY_REQUIRE };

static const struct argp_option options[] = {
	{"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Print JSON (schemas: pesa's Documentation/json.md)", 0},
	{"report", KEY_REPORT, "FILE", OPTION_ARG_OPTIONAL,
	 "Print what an owner of the machine sends to pesa's authors: JSON, with what each event "
	 "answers; no names of users, hosts or programs",
	 0},
	{"require", KEY_REQUIRE, "LEVEL", 0,
	 "Status 0 only if samples tell this much: " PESA_SOURCE_LEVEL_NAMES, 0},
	{"root", KEY_ROOT, "DIR", 0,
	 "Look at the saved files of another machine, below DIR as they are below / there", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct stat status;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->names;
		return 0;
	case KEY_JSON:
		arguments->json = true;
		arguments->output = argument;
		return 0;
	case KEY_REPORT:
		arguments->report = true;
		arguments->output = argument;
		return 0;
	case KEY_REQUIRE:
		if (!pesa_source_level_parse(argument, &arguments->require))
			profile_bad_value(state, "--require", argument, PESA_SOURCE_LEVEL_NAMES);
		arguments->has_require = true;
		return 0;
	case KEY_ROOT:
		if (stat(argument, &status) || !S_ISDIR(status.st_mode))
			profile_usage_error(state, "--root: '%s' is no folder", argument);
		arguments->root = argument;
		return 0;
	case ARGP_KEY_ARG:
		profile_usage_error(state, "unexpected argument '%s'", argument);
		return 0;
	case ARGP_KEY_END:
		if (arguments->json && arguments->report)
			profile_usage_error(state, "give either --json or --report");
		if (arguments->has_require && *arguments->root)
			profile_usage_error(state, "--require: sources can be tried on this "
						   "machine only, without --root");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = event_options_children,
	.doc = "Say what this machine has for counting and sampling, what each subcommand can do "
	       "with it, and the command or configuration line that mends what is missing.\v"
	       "The exit status is 0 if nothing is missing that could be mended, 1 if something is "
	       "(with --require: if samples tell less), 2 for wrong usage.\n"
	       "\n"
	       "Examples:\n"
	       "  pesa doctor\n"
	       "  pesa doctor --require cycles && pesa record -g -- ./program\n"
	       "  pesa doctor --report=board.json\n"
	       "\n"
	       "The manual page pesa-doctor(1) explains all.",
};

/* ---- Looking ------------------------------------------------------------------------------- */

/* The table of faults that comes with pesa.  NULL: there is none.  The caller frees it. */
static char *read_faults(void)
{
	char path[PATH_MAX];
	size_t size;

	if (!pesa_path_data("events/firmware.csv", path))
		return NULL;
	return machine_file("", path, FAULTS_MOST, &size);
}

static void look(struct diagnosis *diagnosis, char emulator_error[256])
{
	const struct arguments *arguments = diagnosis->arguments;
	struct machine_knowledge *knowledge = &diagnosis->knowledge;
	char emulator[PATH_MAX], plugin[PATH_MAX];
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct pesa_source_answer answer;
	struct pesa_error *error;

	machine_read(arguments->root, &diagnosis->machine);
	if (!*arguments->root) {
		pesa_source_choose(&arguments->names.source, false, &PESA_SOURCE_KERNEL,
				   &diagnosis->source);
		knowledge->source = &diagnosis->source;
		error = pesa_source_try(&arguments->names.source, "cycles", &PESA_SOURCE_COUNTER,
					&answer);
		knowledge->counts = !error && !answer.refusal;
		pesa_error_free(error);
	}
	knowledge->event_files = arguments->names.catalogue.events.count;
	knowledge->debuginfod = servers && *servers;
	error = emulator_find(emulator, plugin);
	if (error) {
		snprintf(emulator_error, 256, "%s", error->message);
		knowledge->emulator = emulator_error;
		pesa_error_free(error);
	}
	knowledge->faults = read_faults();
	machine_judge(&diagnosis->machine, knowledge, &diagnosis->findings);
	diagnosis->ability_count = machine_abilities(knowledge, diagnosis->abilities);
}

/* The exit status. */
static int status_of(const struct diagnosis *diagnosis)
{
	if (diagnosis->arguments->has_require)
		return diagnosis->source.level > diagnosis->arguments->require;
	for (size_t i = 0; i < diagnosis->findings.count; i++)
		if (diagnosis->findings.finding[i].state == MACHINE_LACK)
			return 1;
	return 0;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_line(const struct ui_terminal *terminal, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What is printed may come from files of others. */
static void print_line(const struct ui_terminal *terminal, const char *format, ...)
{
	struct ui_text line = {0};
	char text[2048];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	ui_text_add_safe(&line, "%s", text);
	fputs(ui_text_get(&line), terminal->out);
	fputc('\n', terminal->out);
	ui_text_free(&line);
}

static void print_text(const struct diagnosis *diagnosis)
{
	const struct machine_findings *findings = &diagnosis->findings;
	struct ui_terminal terminal = ui_terminal_open(UI_NEVER);
	unsigned int mended = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct machine_finding *one = &findings->finding[i];

		print_line(&terminal, "%-7s %-20s %s",
			   one->state == MACHINE_GOOD ? "" : machine_state_name(one->state),
			   one->subject, one->value);
		if (*one->effect)
			print_line(&terminal, "%28s -> %s", "", one->effect);
	}
	print_line(&terminal, "%s", "");
	print_line(&terminal, "What pesa can do here:");
	for (size_t i = 0; i < diagnosis->ability_count; i++)
		print_line(&terminal, "  %-50s %-8s %s", diagnosis->abilities[i].command,
			   diagnosis->abilities[i].able, diagnosis->abilities[i].text);
	for (size_t i = 0; i < findings->count; i++) {
		const struct machine_finding *one = &findings->finding[i];

		if (!*one->mend)
			continue;
		if (!mended++) {
			print_line(&terminal, "%s", "");
			print_line(&terminal, "What mends it:");
		}
		print_line(&terminal, "  %s: %s", one->subject, one->mend);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_object *text_or_null(const char *text)
{
	return *text ? ui_json_string(text) : NULL;
}

static json_object *number_or_null(const struct machine_number *number)
{
	return number->known ? json_object_new_int64(number->value) : NULL;
}

static json_object *finding_json(const struct machine_finding *finding)
{
	json_object *one = json_object_new_object();

	json_object_object_add(one, "subject", ui_json_string(finding->subject));
	json_object_object_add(one, "state", ui_json_string(machine_state_name(finding->state)));
	json_object_object_add(one, "value", ui_json_string(finding->value));
	json_object_object_add(one, "effect", text_or_null(finding->effect));
	json_object_object_add(one, "mend", text_or_null(finding->mend));
	return one;
}

static json_object *machine_json(const struct machine *machine)
{
	static const char *const values[] = {NULL, "n", "m", "y"};
	json_object *one = json_object_new_object(), *config = json_object_new_object();

	json_object_object_add(one, "architecture", ui_json_string(machine->architecture));
	json_object_object_add(one, "board", text_or_null(machine->board));
	json_object_object_add(one, "processor", text_or_null(machine->cpu.name));
	json_object_object_add(one, "uarch", text_or_null(machine->cpu.uarch));
	json_object_object_add(one, "cpu_id", text_or_null(machine->cpu.id));
	json_object_object_add(one, "isa", text_or_null(machine->cpu.isa));
	json_object_object_add(one, "harts", ui_json_count(machine->cpu.harts));
	json_object_object_add(one, "kernel", text_or_null(machine->release));
	json_object_object_add(one, "distribution", text_or_null(machine->distribution));
	json_object_object_add(one, "configuration", text_or_null(machine->config));
	for (unsigned int i = 0; i < MACHINE_OPTIONS; i++)
		json_object_object_add(config, machine_option_names[i],
				       ui_json_string(values[machine->options[i]]));
	json_object_object_add(one, "options", config);
	json_object_object_add(one, "tree_pmu", json_object_new_boolean(machine->tree_pmu));
	json_object_object_add(one, "tree_details", json_object_new_boolean(machine->tree_details));
	json_object_object_add(one, "pmu_cpu", json_object_new_boolean(machine->pmu_cpu));
	json_object_object_add(one, "pmu_pesa", json_object_new_boolean(machine->pmu_pesa));
	json_object_object_add(one, "interrupt", json_object_new_boolean(machine->interrupt));
	json_object_object_add(one, "perf_event_paranoid", number_or_null(&machine->paranoid));
	json_object_object_add(one, "kptr_restrict", number_or_null(&machine->kptr_restrict));
	json_object_object_add(one, "perf_event_max_sample_rate",
			       number_or_null(&machine->sample_rate));
	json_object_object_add(one, "perf_event_mlock_kb", number_or_null(&machine->mlock_kb));
	json_object_object_add(one, "privileged", json_object_new_boolean(machine->privileged));
	json_object_object_add(one, "governor", text_or_null(machine->governor));
	return one;
}

/* What an event answers on this machine. */
static json_object *answer_json(const struct event_options *names, const char *event)
{
	json_object *one = json_object_new_object();
	struct pesa_source_answer answer;
	struct pesa_error *error =
		pesa_source_try(&names->source, event, &PESA_SOURCE_KERNEL, &answer);

	json_object_object_add(one, "event", ui_json_string(event));
	json_object_object_add(one, "error", error ? ui_json_string(error->message) : NULL);
	json_object_object_add(one, "refusal",
			       answer.refusal ? ui_json_string(strerrorname_np(answer.refusal))
					      : NULL);
	json_object_object_add(one, "sampled", json_object_new_boolean(answer.sampled));
	json_object_object_add(one, "exact", json_object_new_boolean(answer.exact));
	json_object_object_add(one, "user_only", json_object_new_boolean(answer.user_only));
	pesa_error_free(error);
	return one;
}

static void add_report(const struct diagnosis *diagnosis, struct ui_json *json)
{
	static const char *const events[] = {"cycles",	   "cycles:u",	   "cycles:k",
					     "cycles:pp",  "instructions", "instructions:u",
					     "task-clock", "cpu-clock"};
	const struct event_options *names = &diagnosis->arguments->names;
	const struct pesa_event_file *files = &names->catalogue.events;

	ui_json_member(json, "pesa", ui_json_string(PESA_VERSION));
	ui_json_array_begin(json, "log");
	for (size_t i = 0; i < diagnosis->machine.log_line_count; i++)
		ui_json_element(json, ui_json_string(diagnosis->machine.log_lines[i]));
	ui_json_array_end(json);
	ui_json_array_begin(json, "answers");
	for (size_t i = 0; !*diagnosis->arguments->root && i < sizeof(events) / sizeof(events[0]);
	     i++)
		ui_json_element(json, answer_json(names, events[i]));
	/* Most events do not happen in the trial, but all that there are can be opened. */
	for (size_t i = 0; !*diagnosis->arguments->root && i < files->count; i++)
		ui_json_element(json, answer_json(names, files->definitions[i].name));
	ui_json_array_end(json);
}

static struct pesa_error *print_json(const struct diagnosis *diagnosis)
{
	const struct arguments *arguments = diagnosis->arguments;
	const struct pesa_sampling_source *source = diagnosis->knowledge.source;
	struct pesa_error *error;
	struct ui_json json;
	FILE *stream;

	error = ui_json_open(arguments->output, &stream);
	if (error)
		return error;
	ui_json_begin(&json, stream, COMMAND);
	ui_json_member(&json, "machine", machine_json(&diagnosis->machine));
	ui_json_member(&json, "level",
		       source ? ui_json_string(pesa_source_level_name(source->level)) : NULL);
	ui_json_array_begin(&json, "findings");
	for (size_t i = 0; i < diagnosis->findings.count; i++)
		ui_json_element(&json, finding_json(&diagnosis->findings.finding[i]));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "subcommands");
	for (size_t i = 0; i < diagnosis->ability_count; i++) {
		const struct machine_ability *ability = &diagnosis->abilities[i];
		json_object *one = json_object_new_object();

		json_object_object_add(one, "commands", ui_json_string(ability->command));
		json_object_object_add(one, "able", ui_json_string(ability->able));
		json_object_object_add(one, "text", ui_json_string(ability->text));
		ui_json_element(&json, one);
	}
	ui_json_array_end(&json);
	if (arguments->report)
		add_report(diagnosis, &json);
	ui_json_end(&json);
	return ui_json_close(stream);
}

/* ---- The command --------------------------------------------------------------------------- */

int pesa_command_doctor(int argc, char **argv)
{
	struct arguments arguments = {.root = ""};
	struct diagnosis diagnosis = {.arguments = &arguments};
	char emulator_error[256], id[PESA_CPU_ID_MAX];
	struct pesa_error *error;
	int status = profile_parse(&argp, COMMAND, argc, argv, &arguments);

	if (status)
		return status;
	if (*arguments.root && !arguments.names.cpu_id && pesa_cpu_id(arguments.root, id))
		arguments.names.cpu_id = id;
	error = event_options_load(&arguments.names, COMMAND);
	if (error)
		return profile_fail(COMMAND, error);
	look(&diagnosis, emulator_error);
	if (arguments.json || arguments.report)
		error = print_json(&diagnosis);
	else
		print_text(&diagnosis);
	status = error ? profile_fail(COMMAND, error) : status_of(&diagnosis);
	machine_free(&diagnosis.machine);
	free(diagnosis.knowledge.faults);
	event_options_free(&arguments.names);
	return status;
}
