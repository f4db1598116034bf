// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa-fleet, the program behind `pesa store` and behind `-i clickhouse://...`: a program of its own,
 * since it is linked with libcurl, which would delay the start of all other subcommands.
 */
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder/base/wall_time.h"
#include "decoder/fleet/schema.h"
#include "tools/fleet/database.h"
#include "tools/files/fleet_open.h"
#include "tools/ui/json.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

#define COMMAND	      "store"
#define NS_PER_SECOND INT64_C(1000000000)
#define TEXT_MAX      256

struct store_options {
	const char *to, *service, *cluster, *symbol_root;
	bool create, functions;
	const char *drop_before;
	uint32_t drop_time; /* s since 1970 */
	struct profile_summary_options summary;
	char **input;
	size_t inputs;
};

enum { KEY_TO = 0x2000, KEY_SERVICE, KEY_CREATE, KEY_CLUSTER, KEY_SYMFS, KEY_DROP, KEY_FUNCTIONS };

static const struct argp_option options[] = {
	{"to", KEY_TO, "URL", 0,
	 "The database: clickhouse://HOST[:PORT]/DATABASE, or clickhouses:// with TLS; "
	 "?password-file=FILE has USER:PASSWORD",
	 0},
	{"service", KEY_SERVICE, "NAME", 0, "What the recordings are of (default: default)", 0},
	{"symfs", KEY_SYMFS, "DIRECTORY", 0,
	 "Look for binaries below DIRECTORY, to unwind copies of stacks and name functions", 0},
	{"functions", KEY_FUNCTIONS, NULL, 0,
	 "Put the names of functions whose binaries are here into the database, for dashboards; "
	 "needs no FILE",
	 0},
	{"create", KEY_CREATE, NULL, 0,
	 "Make the tables on that server, or bring them up to date; needs no FILE", 0},
	{"cluster", KEY_CLUSTER, "NAME", 0,
	 "With --create: the servers' name of the cluster that the tables are spread over", 0},
	{"drop-before", KEY_DROP, "TIME", 0,
	 "Drop what that server has of the days before TIME: 2026-11-21, -90d; needs no FILE", 0},
	{0},
};

static void parse_time(const char *argument, uint32_t *seconds, struct argp_state *state)
{
	struct timespec now;
	int64_t time;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!wall_time_read(argument, (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec, &time) ||
	    time < 0 || time / NS_PER_SECOND > UINT32_MAX)
		profile_bad_value(state, "--drop-before", argument,
				  "a date, or a time before now such as -90d");
	*seconds = (uint32_t)(time / NS_PER_SECOND);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct store_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->summary;
		break;
	case KEY_TO:
		result->to = argument;
		break;
	case KEY_SERVICE:
		if (!*argument || strlen(argument) > TEXT_MAX)
			profile_bad_value(state, "--service", argument, "1 to 256 bytes");
		result->service = argument;
		break;
	case KEY_SYMFS:
		result->symbol_root = argument;
		break;
	case KEY_FUNCTIONS:
		result->functions = true;
		break;
	case KEY_CREATE:
		result->create = true;
		break;
	case KEY_CLUSTER:
		if (!sql_is_name(argument))
			profile_bad_value(state, "--cluster", argument, "letters, digits and _");
		result->cluster = argument;
		break;
	case KEY_DROP:
		result->drop_before = argument;
		parse_time(argument, &result->drop_time, state);
		break;
	case ARGP_KEY_ARGS:
		result->input = state->argv + state->next;
		result->inputs = (size_t)(state->argc - state->next);
		break;
	case ARGP_KEY_END:
		if (!result->to)
			profile_usage_error(state, "name the database with --to");
		if (!result->inputs && !result->create && !result->drop_before &&
		    !result->functions)
			profile_usage_error(state, "name the recordings to be stored");
		if (*result->cluster && !result->create)
			profile_usage_error(state, "--cluster is for --create");
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
	.args_doc = "[FILE...]",
	.doc = "Store recordings in a ClickHouse database of many machines, as counts of their "
	       "distinct samples.  A recording that is stored again counts once.\vExamples:\n"
	       "  pesa store --create --to clickhouse://db.example/pesa\n"
	       "  pesa store --service web --to clickhouse://db.example/pesa *.data\n"
	       "  pesa store --functions --to clickhouse://db.example/pesa\n"
	       "  pesa report -i 'clickhouse://db.example/pesa?service=web&since=2h'\n"
	       "\n"
	       "The manual page pesa-store(1) and Documentation/fleet.md tell more.",
};

/* ---- Storing --------------------------------------------------------------------------------- */

/* As many recordings as are sent together. */
#define BATCH_FILES 256
#define BATCH_BYTES (16 << 20)

struct totals {
	size_t stored, damaged;
	uint64_t samples, rows, bytes;
};

struct batch {
	struct database *database;
	const struct store_options *wanted;
	struct totals totals;
	struct fleet_recording recording[BATCH_FILES];
	const char *path[BATCH_FILES];
	size_t count, bytes;
};

static struct pesa_error *put(struct batch *batch, size_t first, size_t count)
{
	struct totals *totals = &batch->totals;
	uint64_t bytes;
	struct pesa_error *error = database_put(batch->database, &batch->recording[first], count,
						batch->wanted->service, &bytes);

	for (size_t i = first; i < first + count && !error; i++) {
		const struct fleet_recording *recording = &batch->recording[i];

		totals->stored++;
		totals->samples += recording->samples;
		totals->rows += recording->rows.index.count;
		if (recording->damaged_records || recording->damaged_bytes) {
			totals->damaged++;
			profile_complain(COMMAND,
					 "%s: damaged, the rest is stored (%" PRIu64
					 " records, %" PRIu64 " bytes not read)",
					 batch->path[i], recording->damaged_records,
					 recording->damaged_bytes);
		}
	}
	totals->bytes += error ? 0 : bytes;
	return error;
}

/* Send what was collected: together, or one by one if that fails, since one of them may be the reason. */
static void send_batch(struct batch *batch)
{
	struct pesa_error *error = batch->count > 1 ? put(batch, 0, batch->count) : NULL;

	if (error || batch->count == 1)
		for (size_t i = 0; i < batch->count; i++) {
			struct pesa_error *its = put(batch, i, 1);

			if (its)
				profile_fail(COMMAND, pesa_error_prefix(its, "%s: not stored: ",
									batch->path[i]));
		}
	pesa_error_free(error);
	for (size_t i = 0; i < batch->count; i++)
		fleet_recording_free(&batch->recording[i]);
	batch->count = batch->bytes = 0;
}

static void add_recording(struct batch *batch, const char *path)
{
	const struct fleet_collect_options collect = {.symbol_root = batch->wanted->symbol_root,
						      .bucket = FLEET_BUCKET};
	struct fleet_recording *recording = &batch->recording[batch->count];
	struct pesa_error *error = fleet_collect(path, &collect, recording);

	if (error) {
		fleet_recording_free(recording);
		profile_fail(COMMAND, error);
		return;
	}
	batch->path[batch->count++] = path;
	batch->bytes += recording->rows.index.count * recording->rows.size + recording->places.used;
	if (batch->count == BATCH_FILES || batch->bytes >= BATCH_BYTES)
		send_batch(batch);
}

static struct pesa_error *store_all(const struct fleet_url *url, const struct store_options *wanted,
				    struct totals *totals, struct database_named *named)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	struct database database;
	struct pesa_error *error;

	if (!batch)
		return pesa_error_no_memory();
	error = database_open(url, &database);
	batch->database = &database;
	batch->wanted = wanted;
	for (size_t i = 0; i < wanted->inputs && !error; i++)
		add_recording(batch, wanted->input[i]);
	if (!error)
		send_batch(batch);
	if (!error && wanted->functions)
		error = database_name_functions(&database, wanted->symbol_root, named);
	database_close(&database);
	*totals = batch->totals;
	free(batch);
	return error;
}

static struct pesa_error *print_json(const struct store_options *wanted,
				     const struct totals *totals,
				     const struct database_named *named)
{
	struct ui_json json;
	FILE *out;
	struct pesa_error *error = ui_json_open(wanted->summary.json, &out);

	if (error)
		return error;
	ui_json_begin(&json, out, COMMAND);
	ui_json_member(&json, "service", ui_json_string(wanted->service));
	ui_json_member(&json, "recordings", ui_json_count(totals->stored));
	ui_json_member(&json, "failed", ui_json_count(wanted->inputs - totals->stored));
	ui_json_member(&json, "samples", ui_json_count(totals->samples));
	ui_json_member(&json, "rows", ui_json_count(totals->rows));
	ui_json_member(&json, "bytes_sent", ui_json_count(totals->bytes));
	if (wanted->functions) {
		ui_json_member(&json, "places_named", ui_json_count(named->places));
		ui_json_member(&json, "places_unnamed", ui_json_count(named->unnamed));
		ui_json_member(&json, "binaries", ui_json_count(named->binaries));
		ui_json_member(&json, "binaries_absent", ui_json_count(named->absent));
	}
	ui_json_end(&json);
	return ui_json_close(out);
}

static void print(const struct store_options *wanted, const struct totals *totals,
		  const struct database_named *named)
{
	if (wanted->inputs)
		printf("%zu of %zu recordings stored: %" PRIu64 " samples in %" PRIu64
		       " rows, %" PRIu64 " bytes sent\n",
		       totals->stored, wanted->inputs, totals->samples, totals->rows,
		       totals->bytes);
	if (wanted->functions)
		printf("%" PRIu64 " places named, %" PRIu64
		       " are in no function; %zu of %zu binaries are not here\n",
		       named->places, named->unnamed, named->absent, named->binaries);
}

static int store(const struct fleet_url *url, const struct store_options *wanted)
{
	struct totals totals = {0};
	struct database_named named = {0};
	struct pesa_error *error = NULL;
	unsigned int before;

	if (wanted->create)
		error = database_create(url, wanted->cluster, &before);
	if (!error && wanted->drop_before) {
		error = database_drop_before(url, wanted->drop_time, &before);
		if (!error && !wanted->summary.quiet)
			printf("%u days dropped\n", before);
	}
	if (error || (!wanted->inputs && !wanted->functions))
		return error ? profile_fail(COMMAND, error) : 0;
	error = store_all(url, wanted, &totals, &named);
	if (!error && wanted->summary.wants_json)
		error = print_json(wanted, &totals, &named);
	if (error)
		return profile_fail(COMMAND, error);
	if (!wanted->summary.quiet && !wanted->summary.wants_json)
		print(wanted, &totals, &named);
	if (fflush(stdout)) {
		profile_complain(COMMAND, "standard output: %s", strerror(errno));
		return 1;
	}
	return totals.stored != wanted->inputs || totals.damaged;
}

/* ---- The program ----------------------------------------------------------------------------- */

static struct pesa_error *read_into(const struct fleet_url *url, const char *path)
{
	struct database database;
	struct pesa_error *error = database_open(url, &database);

	if (!error)
		error = database_get(&database, path);
	database_close(&database);
	return error;
}

static int run(const char *text, const struct store_options *wanted, const char *path)
{
	struct fleet_url url;
	struct timespec now;
	struct pesa_error *error;
	int status = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	error = fleet_url_parse(text, now.tv_sec * NS_PER_SECOND + now.tv_nsec, &url);
	if (!error && path)
		error = read_into(&url, path);
	else if (!error)
		status = store(&url, wanted);
	fleet_url_free(&url);
	if (error && path) { /* pesa puts the command in front */
		safe_output_message("%s", error->message);
		pesa_error_free(error);
		return 1;
	}
	return error ? profile_fail(COMMAND, error) : status;
}

int main(int argc, char **argv)
{
	struct store_options wanted = {.service = "default", .cluster = ""};
	int status;

	safe_output_start();
	standard_output_watch("pesa " COMMAND);
	if (curl_global_init(CURL_GLOBAL_DEFAULT)) {
		profile_complain(COMMAND, "libcurl cannot be used");
		return 1;
	}
	if (argc == 4 && !strcmp(argv[1], FLEET_READ)) {
		status = run(argv[2], NULL, argv[3]);
	} else {
		status = profile_parse(&argp, COMMAND, argc, argv, &wanted);
		if (!status)
			status = run(wanted.to, &wanted, NULL);
	}
	curl_global_cleanup();
	return status;
}
