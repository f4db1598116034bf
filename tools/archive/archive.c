// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa archive: a recording with all that decoding it elsewhere needs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/read_file.h"
#include "tools/archive/contents.h"
#include "tools/files/archive_open.h"
#include "tools/files/fleet_open.h"
#include "tools/commands.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/archive/tar_writer.h"
#include "tools/ui/json.h"
#include "tools/ui/text.h"

struct archive_options {
	const char *input, *output, *root;
	bool input_given, sources;
	struct profile_summary_options summary;
};

enum { KEY_SYMFS = 256, KEY_SOURCES };

static const struct argp_option options[] = {
	{"input", 'i', "FILE", 0,
	 "Archive FILE instead of perf.data; clickhouse://HOST/DATABASE is a database", 0},
	{"output", 'o', "FILE", 0,
	 "The archive: FILE.tar.zst, FILE.tar.gz or FILE.tar (default: the input with .tar.zst behind)",
	 0},
	{"sources", KEY_SOURCES, NULL, 0, "Source files too, as far as they are here", 0},
	{"symfs", KEY_SYMFS, "DIRECTORY", 0, "Look for binaries below DIRECTORY", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct archive_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->summary;
		break;
	case 'i':
		result->input = argument;
		result->input_given = true;
		break;
	case 'o':
		if (!tar_writer_knows(argument))
			profile_usage_error(state,
					    "'%s' ends neither in .tar.zst nor in .tar.gz or .tar",
					    argument);
		result->output = argument;
		break;
	case KEY_SOURCES:
		result->sources = true;
		break;
	case KEY_SYMFS:
		result->root = argument;
		break;
	case ARGP_KEY_ARG:
		profile_usage_error(state, "unexpected argument '%s'; the file is named with -i",
				    argument);
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
	.doc = "Pack a recording with the binaries, debug information and kernel symbols that it "
	       "needs, so that it can be reported on any machine.\vExamples:\n"
	       "  pesa archive -i job.data -o job.tar.zst && pesa report -i job.tar.zst\n"
	       "  pesa archive --sources -o perf.tar.gz && pesa annotate -i perf.tar.gz main\n"
	       "\n"
	       "The manual page pesa-archive(1) tells what is in it.",
};

/* ---- The summary --------------------------------------------------------------------------- */

static void print_missing(const struct archive_contents *contents)
{
	for (size_t i = 0; i < contents->missing_count; i++) {
		const struct archive_missing *missing = &contents->missing[i];
		char share[UI_NUMBER_SIZE];

		profile_complain("archive", "note: without %s (%s of the cycles): %s",
				 missing->path, ui_share(share, missing->share), missing->problem);
	}
}

static struct pesa_error *print_json(const struct archive_contents *contents,
				     const struct archive_options *wanted)
{
	struct pesa_error *error;
	struct ui_json json;
	FILE *out;

	error = ui_json_open(wanted->summary.json, &out);
	if (error)
		return error;
	ui_json_begin(&json, out, "archive");
	ui_json_member(&json, "input", ui_json_string(wanted->input));
	ui_json_member(&json, "output", ui_json_string(wanted->output));
	ui_json_array_begin(&json, "files");
	for (size_t i = 0; i < contents->count; i++) {
		const struct archive_entry *entry = &contents->entry[i];
		json_object *object;

		if (!entry->path && !entry->bytes)
			continue; /* a directory */
		object = json_object_new_object();
		json_object_object_add(object, "name", ui_json_string(entry->name));
		json_object_object_add(object, "from", ui_json_string(entry->from));
		ui_json_element(&json, object);
	}
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "missing");
	for (size_t i = 0; i < contents->missing_count; i++) {
		const struct archive_missing *missing = &contents->missing[i];
		json_object *object = json_object_new_object();

		json_object_object_add(object, "dso", ui_json_string(missing->path));
		json_object_object_add(object, "share", ui_json_number(missing->share));
		json_object_object_add(object, "problem", ui_json_string(missing->problem));
		ui_json_element(&json, object);
	}
	ui_json_array_end(&json);
	ui_json_end(&json);
	return ui_json_close(out);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static struct pesa_error *write_entry(struct tar_writer *writer, const struct archive_entry *entry)
{
	struct pesa_error *error;
	char *name;

	if (asprintf(&name, "%s/%s", ARCHIVE_DIRECTORY, entry->name) < 0)
		return pesa_error_no_memory();
	if (entry->bytes)
		error = tar_writer_bytes(writer, name, entry->bytes, entry->size);
	else if (entry->path)
		error = tar_writer_file(writer, name, entry->path);
	else
		error = tar_writer_directory(writer, name);
	free(name);
	return error;
}

static struct pesa_error *write_archive(const struct archive_contents *contents, const char *path)
{
	struct tar_writer *writer;
	struct pesa_error *error = tar_writer_create(path, &writer);

	if (error)
		return error;
	error = tar_writer_directory(writer, ARCHIVE_DIRECTORY);
	for (size_t i = 0; !error && i < contents->count; i++)
		error = write_entry(writer, &contents->entry[i]);
	if (!error)
		return tar_writer_finish(writer);
	tar_writer_abandon(writer);
	return error;
}

/* Such an archive has no binaries: which ones are needed is told by the samples. */
static void print_unsampled(const struct archive_contents *contents, const char *path)
{
	if (contents->lost)
		profile_complain("archive",
				 "%s: no samples, %" PRIu64 " were lost; the archive has the "
				 "recording alone",
				 path, contents->lost);
	else
		profile_complain(
			"archive",
			"%s: no samples: did the recording end early, or the program run for "
			"less than a period? The archive has the recording alone",
			path);
}

static int run(const struct archive_options *wanted)
{
	const struct profile_input_options input = {
		.path = wanted->input,
		.path_given = wanted->input_given,
		.outputs = {wanted->output},
	};
	struct archive_contents contents = {0};
	const char *file = NULL; /* what a database answered */
	struct pesa_error *error = profile_check_path(&input);
	int status = 0;

	if (!error)
		error = fleet_open(wanted->input, &file);
	if (!error)
		error = archive_collect(&contents, file ? file : wanted->input, wanted->root,
					wanted->sources);
	if (!error)
		error = write_archive(&contents, wanted->output);
	if (error) {
		status = profile_fail("archive", error);
	} else {
		print_missing(&contents);
		if (contents.damage) {
			profile_complain("archive", "%s: damaged, what can be read is used: %s",
					 wanted->input, contents.damage);
			status = 1;
		}
		if (!contents.sampled) {
			print_unsampled(&contents, wanted->input);
			status = 1;
		}
		if (wanted->summary.wants_json)
			error = print_json(&contents, wanted);
		if (error)
			status = profile_fail("archive", error);
		if (!wanted->summary.quiet)
			safe_output_message("%zu files: %s", contents.count - contents.directories,
					    wanted->output);
	}
	archive_contents_free(&contents);
	return status;
}

int pesa_command_archive(int argc, char **argv)
{
	struct archive_options wanted = {.input = PROFILE_DEFAULT_PATH};
	char *made = NULL;
	int status = profile_parse(&argp, "archive", argc, argv, &wanted);

	if (status)
		return status;
	if (!strcmp(wanted.input, "-")) {
		profile_complain("archive", "a recording is read several times: give a file, not "
					    "standard input");
		return 1;
	}
	if (!wanted.output && fleet_is_url(wanted.input)) {
		profile_complain("archive", "name the archive of a database with -o");
		return 2;
	}
	if (!wanted.output) {
		if (asprintf(&made, "%s.tar.zst", wanted.input) < 0)
			return profile_fail("archive", pesa_error_no_memory());
		wanted.output = made;
	}
	status = run(&wanted);
	free(made);
	return status;
}
