// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa merge: merges many recordings into one file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/number.h"
#include "pesa/merge.h"
#include "pesa/perfdata.h"
#include "tools/commands.h"
#include "tools/files/fleet_open.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/json.h"

#define NOTES 5 /* of a kind */

struct merge_options {
	const char *output;
	bool list;
	struct profile_summary_options summary;
	int compression;
	char **input;
	size_t inputs;
};

enum { KEY_LIST = 256 };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "The merged file; it may be one of the inputs", 0},
	{"list", KEY_LIST, NULL, 0, "List the recordings in the inputs, and write nothing", 0},
	{"compression", 'z', "LEVEL", 0, "zstd level, 0 for none (default: 3)", 0},
	{0},
};

static int parse_level(const char *text, struct argp_state *state)
{
	uint64_t level = 0;

	if (!number_read(text, 10, 0, PESA_PERFDATA_COMPRESSION_MAX, &level))
		profile_usage_error(state, "'%s' is no compression level; allowed: 0 to %d", text,
				    PESA_PERFDATA_COMPRESSION_MAX);
	return (int)level;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct merge_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->summary;
		break;
	case 'o':
		result->output = argument;
		break;
	case KEY_LIST:
		result->list = true;
		break;
	case 'z':
		result->compression = parse_level(argument, state);
		break;
	case ARGP_KEY_ARGS:
		result->input = state->argv + state->next;
		result->inputs = (size_t)(state->argc - state->next);
		break;
	case ARGP_KEY_END:
		for (size_t i = 0; i < result->inputs; i++)
			if (fleet_is_url(result->input[i]))
				profile_usage_error(state,
						    "%s adds up what it has: read it with -i, as "
						    "a merged file",
						    result->input[i]);
		if (!result->inputs)
			profile_usage_error(state, "name the files to be merged");
		if (!result->list && !result->output)
			profile_usage_error(state, "name the merged file with -o, or give --list");
		if (result->list && result->output)
			profile_usage_error(state, "--list writes nothing: give it without -o");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_summary_children,
	.args_doc = "FILE...",
	.doc = "Merge recordings into one perf.data file that every subcommand, and perf, reads.  "
	       "In which order and in which steps files are merged does not matter: the result is "
	       "the same, byte for byte.  A recording that is given more than once counts "
	       "once.\vExamples:\n"
	       "  pesa merge rank.*.data -o job.data && pesa report -i job.data\n"
	       "  pesa merge day.data /var/lib/pesa/*.data -o day.data\n"
	       "  pesa merge --list day.data\n"
	       "\n"
	       "The manual page pesa-merge(1) tells what is kept apart and how.",
};

/* ---- The summary --------------------------------------------------------------------------- */

struct totals {
	size_t recordings, again;
	uint64_t samples, lost, left_out, damaged_records, damaged_bytes;
};

static void add_up(const struct pesa_merge *merge, struct totals *totals)
{
	*totals = (struct totals){0};
	for (size_t i = 0; i < pesa_merge_count(merge); i++) {
		struct pesa_merge_recording recording;

		pesa_merge_recording(merge, i, &recording);
		if (recording.same_as) {
			totals->again++;
			continue;
		}
		totals->recordings++;
		totals->samples += recording.samples;
		totals->lost += recording.lost;
		totals->left_out += recording.left_out;
		totals->damaged_records += recording.damaged_records;
		totals->damaged_bytes += recording.damaged_bytes;
	}
}

static void print_summary(const struct pesa_merge *merge, const struct merge_options *wanted)
{
	struct totals totals;

	add_up(merge, &totals);
	fprintf(stderr, "%zu recording%s, %" PRIu64 " samples, %" PRIu64 " lost", totals.recordings,
		totals.recordings == 1 ? "" : "s", totals.samples, totals.lost);
	if (totals.left_out)
		fprintf(stderr, ", %" PRIu64 " records left out", totals.left_out);
	safe_output_message(": %s", wanted->output);
}

/* Return whether one may be an earlier state, or a part, of the other. */
static bool begin_alike(const struct pesa_merge_recording *left,
			const struct pesa_merge_recording *right)
{
	return left->path && left->process && left->process == right->process &&
	       left->begin == right->begin && left->hostname && right->hostname && left->cmdline &&
	       right->cmdline && !strcmp(left->hostname, right->hostname) &&
	       !strcmp(left->cmdline, right->cmdline);
}

/* Print notes on the merge; of many similar ones only the first. */
static void print_notes(const struct pesa_merge *merge)
{
	struct pesa_merge_recording before = {0}, recording;
	size_t again = 0, alike = 0;
	const char *event;

	for (size_t i = 0; i < pesa_merge_count(merge); i++, before = recording) {
		pesa_merge_recording(merge, i, &recording);
		if (recording.same_as && ++again <= NOTES) {
			if (!strcmp(recording.same_as, recording.path))
				profile_complain(
					"merge",
					"note: %s was given more than once, and counts once",
					recording.path);
			else
				profile_complain(
					"merge",
					"note: %s and %s have a recording in common, which counts once",
					recording.same_as, recording.path);
		} else if (!recording.same_as && begin_alike(&before, &recording) &&
			   ++alike <= NOTES) {
			profile_complain(
				"merge",
				"note: %s and %s begin at the same time on the same host: if one "
				"is a part of the other, leave it out; both count",
				before.path, recording.path);
		}
	}
	if (again > NOTES)
		profile_complain("merge", "note: %zu more recordings were given again",
				 again - NOTES);
	if (alike > NOTES)
		profile_complain("merge", "note: %zu more recordings begin like another",
				 alike - NOTES);
	for (size_t i = 0; (event = pesa_merge_divided_event(merge, i)); i++)
		profile_complain(
			"merge",
			"note: %s was recorded in different ways (period, fields): kept as events "
			"of that name, each sample with its own period",
			event);
}

static void print_list(const struct pesa_merge *merge)
{
	printf("%-16s %12s %10s  %-16s %s\n", "recording", "samples", "lost", "host", "command");
	for (size_t i = 0; i < pesa_merge_count(merge); i++) {
		struct pesa_merge_recording recording;

		pesa_merge_recording(merge, i, &recording);
		if (recording.same_as)
			continue;
		printf("%.16s %12" PRIu64 " %10" PRIu64 "  %-16s %s", recording.digest,
		       recording.samples, recording.lost,
		       recording.hostname ? recording.hostname : "-",
		       recording.cmdline ? recording.cmdline : "-");
		if (recording.damaged_records || recording.damaged_bytes)
			printf(" (damaged: %" PRIu64 " records, %" PRIu64 " bytes not read)",
			       recording.damaged_records, recording.damaged_bytes);
		putchar('\n');
	}
}

static json_object *json_recording(const struct pesa_merge_recording *recording)
{
	json_object *object = json_object_new_object();
	const struct {
		const char *name;
		uint64_t number;
	} counts[] = {
		{"begin", recording->begin},
		{"end", recording->end},
		{"moved", recording->moved},
		{"renumbered", recording->processes_renumbered},
		{"samples", recording->samples},
		{"lost", recording->lost},
		{"left_out", recording->left_out},
		{"damaged_records", recording->damaged_records},
		{"damaged_bytes", recording->damaged_bytes},
	};

	json_object_object_add(object, "digest", ui_json_string(recording->digest));
	json_object_object_add(object, "input", ui_json_string(recording->path));
	json_object_object_add(object, "hostname", ui_json_string(recording->hostname));
	json_object_object_add(object, "cmdline", ui_json_string(recording->cmdline));
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		json_object_object_add(object, counts[i].name, ui_json_count(counts[i].number));
	json_object_object_add(object, "same_as", ui_json_string(recording->same_as));
	return object;
}

static struct pesa_error *print_json(const struct pesa_merge *merge,
				     const struct merge_options *wanted)
{
	struct pesa_error *error;
	struct totals totals;
	struct ui_json json;
	FILE *out;

	error = ui_json_open(wanted->summary.json, &out);
	if (error)
		return error;
	add_up(merge, &totals);
	ui_json_begin(&json, out, "merge");
	ui_json_member(&json, "output", ui_json_string(wanted->output));
	ui_json_member(&json, "samples", ui_json_count(totals.samples));
	ui_json_member(&json, "lost", ui_json_count(totals.lost));
	ui_json_member(&json, "left_out", ui_json_count(totals.left_out));
	ui_json_member(&json, "damaged_records", ui_json_count(totals.damaged_records));
	ui_json_member(&json, "damaged_bytes", ui_json_count(totals.damaged_bytes));
	ui_json_array_begin(&json, "recordings");
	for (size_t i = 0; i < pesa_merge_count(merge); i++) {
		struct pesa_merge_recording recording;

		pesa_merge_recording(merge, i, &recording);
		ui_json_element(&json, json_recording(&recording));
	}
	ui_json_array_end(&json);
	ui_json_end(&json);
	return ui_json_close(out);
}

/* ---- Merging ------------------------------------------------------------------------------- */

/* Read all inputs; returns how many were read completely. */
static size_t add_inputs(struct pesa_merge *merge, const struct merge_options *wanted,
			 size_t *sound)
{
	size_t added = 0;

	*sound = 0;
	for (size_t i = 0; i < wanted->inputs; i++) {
		const char *damage;
		struct pesa_error *error = pesa_merge_add(merge, wanted->input[i], &damage);

		if (error) {
			profile_fail("merge", error);
			continue;
		}
		added++;
		*sound += !damage;
		if (damage)
			profile_complain("merge", "%s: damaged, the rest is used: %s",
					 wanted->input[i], damage);
	}
	return added;
}

static int run(struct pesa_merge *merge, const struct merge_options *wanted)
{
	struct pesa_error *error;
	size_t sound;

	if (!add_inputs(merge, wanted, &sound)) {
		profile_complain("merge", "none of the files could be read%s",
				 wanted->list ? "" : ": nothing was written");
		return 1;
	}
	error = pesa_merge_arrange(merge);
	if (error)
		return profile_fail("merge", error);
	print_notes(merge);
	if (!wanted->list) {
		error = pesa_merge_write(merge, wanted->output, wanted->compression);
		if (error)
			return profile_fail("merge", error);
	}
	if (wanted->summary.wants_json) {
		error = print_json(merge, wanted);
		if (error)
			return profile_fail("merge", error);
	}
	if (wanted->list && !wanted->summary.wants_json)
		print_list(merge);
	else if (!wanted->list && !wanted->summary.quiet)
		print_summary(merge, wanted);
	if (fflush(stdout)) {
		profile_complain("merge", "standard output: %s", strerror(errno));
		return 1;
	}
	return sound != wanted->inputs;
}

int pesa_command_merge(int argc, char **argv)
{
	struct merge_options wanted = {.compression = PESA_PERFDATA_COMPRESSION};
	struct pesa_error *error;
	struct pesa_merge *merge;
	int status;

	status = profile_parse(&argp, "merge", argc, argv, &wanted);
	if (status)
		return status;
	error = pesa_merge_create(&merge);
	if (error)
		return profile_fail("merge", error);
	status = run(merge, &wanted);
	pesa_merge_free(merge);
	return status;
}
