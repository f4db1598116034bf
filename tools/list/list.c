// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa list: core descriptions, and the events of the hardware. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/core/core.h"
#include "daemon/events/pmu.h"
#include "pesa/perfdata.h"
#include "tools/files/fleet_open.h"
#include "tools/commands.h"
#include "tools/record/event_options.h"
#include "tools/list/events.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/json.h"

#define PMU_DIRECTORY PESA_PMU_DIRECTORY "/" PESA_PMU_NAME

struct arguments {
	const char *core, *events, *recording;
	bool keys, all, json;
	struct event_options names;
};

/* ---- Options ------------------------------------------------------------------------------- */

enum { KEY_KEYS = 256, KEY_JSON, KEY_ALL };

static const struct argp_option options[] = {
	{"keys", KEY_KEYS, NULL, 0, "Every key of a core description, with what it allows", 0},
	{"event", 'e', "EVENTS", 0, "What events mean to the kernel", 0},
	{"all", KEY_ALL, NULL, 0, "Tracepoints, and this processor's events of libpfm4, as well",
	 0},
	{"input", 'i', "FILE", 0, "Event files of the processor of a recording", 1},
	{"json", KEY_JSON, NULL, 0, "Print JSON (schemas: pesa's Documentation/json.md)", 2},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->names;
		break;
	case KEY_KEYS:
		arguments->keys = true;
		break;
	case 'e':
		arguments->events = argument;
		break;
	case KEY_ALL:
		arguments->all = true;
		break;
	case 'i':
		arguments->recording = argument;
		break;
	case KEY_JSON:
		arguments->json = true;
		break;
	case ARGP_KEY_ARG:
		if (arguments->core)
			profile_usage_error(state, "unexpected argument '%s': one CORE at a time",
					    argument);
		arguments->core = argument;
		break;
	case ARGP_KEY_END:
		if (arguments->core && (arguments->keys || arguments->events))
			profile_usage_error(state,
					    "unexpected argument '%s': --keys and --event "
					    "take no CORE",
					    arguments->core);
		if (arguments->recording && arguments->names.cpu_id)
			profile_usage_error(state, "-i and --cpu-id exclude each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = event_options_children,
	.args_doc = "[CORE]",
	.doc = "Show what there is to record and count with: the core descriptions of the virtual "
	       "core, the PMU pesa where the kernel has one, and the names of events.  With CORE "
	       "(a name or a file), what that core can tell.\vExamples:\n"
	       "  pesa list ooo-4\n"
	       "  pesa list -e cache-misses\n"
	       "\n"
	       "The manual page pesa-list(1) explains all.",
};

/* ---- Core descriptions --------------------------------------------------------------------- */

static int is_description(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void cause_list(const struct pesa_capabilities *capabilities, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT && used < size; bit++)
		if (capabilities->cause_mask >> bit & 1)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 capabilities->cause_names[bit]);
}

static json_object *core_json(const struct pesa_core *core, const char *path)
{
	json_object *object = json_object_new_object(), *causes = json_object_new_array();
	struct pesa_capabilities capabilities;

	pesa_core_capabilities(core, &capabilities);
	json_object_object_add(object, "name", json_object_new_string(core->name));
	json_object_object_add(object, "summary", json_object_new_string(core->summary));
	json_object_object_add(object, "file", json_object_new_string(path));
	if (core->model[0])
		json_object_object_add(object, "model", json_object_new_string(core->model));
	json_object_object_add(object, "frequency", json_object_new_uint64(core->frequency));
	json_object_object_add(object, "out_of_order", json_object_new_boolean(core->out_of_order));
	json_object_object_add(object, "predictor_bytes",
			       json_object_new_uint64(pesa_core_predictor_bits(core) / 8));
	json_object_object_add(object, "retire_width", json_object_new_uint64(core->retire_width));
	json_object_object_add(object, "minimum_period",
			       json_object_new_uint64(core->minimum_period));
	json_object_object_add(object, "counter_bits", json_object_new_uint64(core->counter_bits));
	json_object_object_add(object, "ct_targets", json_object_new_uint64(core->ct_targets));
	json_object_object_add(object, "ctr_depth", json_object_new_uint64(core->ctr_depth));
	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++) {
		json_object *cause;

		if (!(capabilities.cause_mask >> bit & 1))
			continue;
		cause = json_object_new_object();
		json_object_object_add(cause, "bit", json_object_new_uint64(bit));
		json_object_object_add(cause, "name",
				       json_object_new_string(capabilities.cause_names[bit]));
		json_object_array_add(causes, cause);
	}
	json_object_object_add(object, "causes", causes);
	return object;
}

/* "32 KB, 8 ways" */
static void print_cache(const char *label, const struct pesa_core_cache *cache)
{
	if (cache->size)
		printf("  %-16s %" PRIu32 " KB, %" PRIu32 " ways, %" PRIu32 " cycles, %" PRIu32
		       " misses at a time%s\n",
		       label, cache->size / 1024, cache->ways, cache->latency, cache->mshrs,
		       cache->inclusive ? ", inclusive" : "");
}

static void print_predictor(const struct pesa_core *core)
{
	printf("  predictor        %.4g KB: %" PRIu32 " two-bit counters",
	       (double)pesa_core_predictor_bits(core) / 8 / 1024, core->bimodal_entries);
	if (core->tage_tables)
		printf(", %" PRIu32 " TAGE tables of %" PRIu32 " entries (%" PRIu32
		       "-bit tag, %u-bit counter, %u-bit usefulness), history "
		       "%" PRIu32 " to %" PRIu32,
		       core->tage_tables, core->tage_entries, core->tage_tag_bits,
		       PESA_CORE_TAGE_COUNTER_BITS, PESA_CORE_TAGE_USEFUL_BITS, core->history_min,
		       core->history_max);
	printf("\n");
}

static void print_core(const struct pesa_core *core, const char *path)
{
	struct pesa_capabilities capabilities;
	char causes[1024];

	pesa_core_capabilities(core, &capabilities);
	cause_list(&capabilities, causes, sizeof(causes));
	printf("%s: %s\n", core->name, core->summary);
	printf("  file             %s\n", path);
	if (core->model[0])
		printf("  processor model  %s\n", core->model);
	printf("  frequency        %.2f GHz\n", (double)core->frequency / 1e9);
	printf("  order            %s\n", core->out_of_order ? "out of order" : "in order");
	printf("  retire width     %" PRIu32 " instructions a cycle\n", core->retire_width);
	print_predictor(core);
	print_cache("L1I cache", &core->icache);
	print_cache("L1D cache", &core->dcache);
	print_cache("L2 cache", &core->l2);
	print_cache("last-level cache", &core->llc);
	printf("  shortest period  %" PRIu32 " cycles, longest %" PRIu64 "\n", core->minimum_period,
	       ((uint64_t)1 << core->counter_bits) - 1);
	printf("  branch targets   %" PRIu32 " in a record\n", core->ct_targets);
	printf("  branch records   %" PRIu32 "\n", core->ctr_depth);
	printf("  causes           %s\n", causes);
}

static struct pesa_error *find_core(const char *name, char *path, size_t size)
{
	char directory[PATH_MAX];

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return NULL;
	}
	if (!pesa_path_data("cores", directory))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no core descriptions in %s; is pesa installed completely?", directory);
	snprintf(path, size, "%s/%s", directory, name);
	if (access(path, R_OK))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "no core description '%s' in %s; 'pesa list' shows them",
					 name, directory);
	return NULL;
}

static struct pesa_error *list_core(const char *name, struct ui_json *json)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct pesa_core core;
	struct pesa_error *error = find_core(name, path, sizeof(path));

	if (!error)
		error = pesa_core_load(path, &core);
	if (error)
		return error;
	if (json)
		ui_json_element(json, core_json(&core, path));
	else
		print_core(&core, path);
	return NULL;
}

/* List the descriptions in the directory; unreadable ones are reported and skipped. */
static struct pesa_error *list_cores(struct ui_json *json, bool *damaged)
{
	char directory[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries;
	struct pesa_core core;
	int count;

	if (!pesa_path_data("cores", directory))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no core descriptions in %s; is pesa installed completely?", directory);
	count = scandir(directory, &entries, is_description, alphasort);
	if (count < 0)
		return pesa_error_system(errno, "cannot read %s", directory);
	if (!json)
		printf("Cores of the virtual core (pesa record --core NAME):\n");
	for (int i = 0; i < count; i++) {
		struct pesa_error *error;

		snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		free(entries[i]);
		error = pesa_core_load(path, &core);
		if (error) {
			safe_output_message("pesa list: %s", error->message);
			pesa_error_free(error);
			*damaged = true;
		} else if (json) {
			ui_json_element(json, core_json(&core, path));
		} else {
			printf("  %-14s %s\n", core.name, core.summary);
		}
	}
	free(entries);
	return NULL;
}

/* ---- Events of the hardware ---------------------------------------------------------------- */

static void read_line(const char *path, char *line, size_t size)
{
	FILE *stream = fopen(path, "re");

	line[0] = '\0';
	if (!stream)
		return;
	if (fgets(line, (int)size, stream))
		line[strcspn(line, "\n")] = '\0';
	fclose(stream);
}

static void list_pesa_events(struct ui_json *json)
{
	struct dirent **entries = NULL;
	int count = scandir(PMU_DIRECTORY "/events", &entries, is_description, alphasort);

	if (!json)
		printf("\nEvents of the pesa PMU (perf record -e pesa/NAME/):\n");
	if (count < 0 && !json)
		printf("  none: this kernel has no pesa PMU\n");
	for (int i = 0; i < count; i++) {
		char path[sizeof(PMU_DIRECTORY) + NAME_MAX + 16], terms[256];

		snprintf(path, sizeof(path), PMU_DIRECTORY "/events/%s", entries[i]->d_name);
		read_line(path, terms, sizeof(terms));
		if (json) {
			json_object *event = json_object_new_object();

			json_object_object_add(event, "name",
					       json_object_new_string(entries[i]->d_name));
			json_object_object_add(event, "terms", json_object_new_string(terms));
			ui_json_element(json, event);
		} else {
			printf("  pesa/%s/%*s %s\n", entries[i]->d_name,
			       (int)(8 - (strlen(entries[i]->d_name) < 8
						  ? strlen(entries[i]->d_name)
						  : 8)),
			       "", terms);
		}
		free(entries[i]);
	}
	free(entries);
}

/* ---- Capabilities of the hardware ---------------------------------------------------------- */

static void print_capability(void *context, const char *name, const char *value)
{
	(void)context;
	if (*value)
		printf("  %-16s %s\n", name, value);
}

static void add_capability(void *context, const char *name, const char *value)
{
	json_object_object_add(context, name, json_object_new_string(value));
}

/* The contents of the PMU's caps/; nothing without the PMU. */
static struct pesa_error *list_capabilities(struct ui_json *json)
{
	struct pesa_pmu pmu;
	struct pesa_error *error = pesa_pmu_open(PESA_PMU_DIRECTORY, PESA_PMU_NAME, &pmu);

	if (error && error->code == PESA_ERROR_NOT_FOUND) {
		pesa_error_free(error);
		error = NULL;
		pmu.has_capabilities = false;
	}
	if (error)
		return error;
	if (json) {
		json_object *capabilities = pmu.has_capabilities ? json_object_new_object() : NULL;

		if (pmu.has_capabilities)
			pesa_capabilities_each(&pmu.capabilities, add_capability, capabilities);
		ui_json_member(json, "capabilities", capabilities);
	} else if (pmu.has_capabilities) {
		printf("\nCapabilities of the pesa PMU:\n");
		pesa_capabilities_each(&pmu.capabilities, print_capability, NULL);
	}
	return NULL;
}

/* ---- Keys of core descriptions ------------------------------------------------------------- */

static void print_key(void *context, const char *key, const char *limits, const char *meaning)
{
	struct ui_json *json = context;
	json_object *object;

	if (!json) {
		printf("%-26s %-28s %s\n", key, limits, meaning);
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "key", json_object_new_string(key));
	json_object_object_add(object, "allowed", json_object_new_string(limits));
	json_object_object_add(object, "meaning", json_object_new_string(meaning));
	ui_json_element(json, object);
}

/* ---- Names of events ------------------------------------------------------------------------ */

/* The processor id of a recording; the caller frees `id`. */
static struct pesa_error *recorded_cpu_id(const char *path, char **id)
{
	struct pesa_perfdata *reader;
	const char *file;
	struct pesa_error *error = fleet_open(path, &file);

	if (!error)
		error = pesa_perfdata_open(file ? file : path, &reader);
	if (error)
		return error;
	*id = pesa_perfdata_cpu_id(reader) ? strdup(pesa_perfdata_cpu_id(reader)) : NULL;
	pesa_perfdata_close(reader);
	return *id ? NULL
		   : pesa_error_create(
			     PESA_ERROR_NOT_FOUND,
			     "%s does not tell the id of its processor: say it with --cpu-id",
			     path);
}

static struct pesa_error *load_names(struct arguments *arguments)
{
	char *id = NULL;
	struct pesa_error *error = NULL;

	if (arguments->recording) {
		error = recorded_cpu_id(arguments->recording, &id);
		arguments->names.cpu_id = id;
	}
	if (!error)
		error = event_options_load(&arguments->names, "list");
	arguments->names.cpu_id = NULL;
	free(id);
	return error;
}

static struct pesa_error *list_names(struct arguments *arguments, struct ui_json *json)
{
	struct pesa_error *error = load_names(arguments);

	if (json)
		ui_json_array_begin(json, arguments->events ? "meanings" : "names");
	if (!error && arguments->events)
		error = list_event_meanings(&arguments->names.source, arguments->events, json);
	else if (!error)
		list_events(&arguments->names.source, arguments->all, json);
	if (json)
		ui_json_array_end(json);
	event_options_free(&arguments->names);
	return error;
}

/* ---- The command --------------------------------------------------------------------------- */

/* Of two errors keep the first. */
static struct pesa_error *first_of(struct pesa_error *error, struct pesa_error *later)
{
	if (!error)
		return later;
	pesa_error_free(later);
	return error;
}

/* Cores, the PMU pesa, and all names. */
static struct pesa_error *list_all(struct arguments *arguments, struct ui_json *json, bool *damaged)
{
	struct pesa_error *error;

	if (json)
		ui_json_array_begin(json, "cores");
	error = list_cores(json, damaged);
	if (json) {
		ui_json_array_end(json);
		ui_json_array_begin(json, "events");
	}
	list_pesa_events(json);
	if (json)
		ui_json_array_end(json);
	error = first_of(error, list_capabilities(json));
	return first_of(error, list_names(arguments, json));
}

static struct pesa_error *list(struct arguments *arguments, struct ui_json *json, bool *damaged)
{
	struct pesa_error *error = NULL;

	if (arguments->events)
		return list_names(arguments, json);
	if (!arguments->keys && !arguments->core)
		return list_all(arguments, json, damaged);
	if (json)
		ui_json_array_begin(json, arguments->keys ? "keys" : "cores");
	if (arguments->keys)
		pesa_core_each_key(print_key, json);
	else
		error = list_core(arguments->core, json);
	if (json)
		ui_json_array_end(json);
	return error;
}

int pesa_command_list(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct pesa_error *error;
	struct ui_json json;
	bool damaged = false;
	int status;

	status = profile_parse(&argp, "list", argc, argv, &arguments);
	if (status)
		return status;
	if (arguments.json)
		ui_json_begin(&json, stdout, "list");
	error = list(&arguments, arguments.json ? &json : NULL, &damaged);
	if (arguments.json)
		ui_json_end(&json);
	return error ? profile_fail("list", error) : damaged;
}
