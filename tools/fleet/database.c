// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a database: made, filled, read.  See database.h. */
#include "tools/fleet/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "decoder/fleet/functions.h"
#include "decoder/fleet/native.h"
#include "decoder/fleet/restore.h"
#include "decoder/fleet/schema.h"

#define TITLE_MAX 1024

/* ---- The schema ------------------------------------------------------------------------------ */

static struct pesa_error *read_version(const struct perfdata_buffer *answer, unsigned int *version,
				       char cluster[65])
{
	static const enum native_type types[] = {NATIVE_U32, NATIVE_STRING};
	struct native_reader reader = native_begin_reading(answer->bytes, answer->size);
	struct native_slice name;
	struct native_block block;
	bool any;
	struct pesa_error *error = native_read(&reader, types, 2, &block, &any);

	*version = 0;
	*cluster = '\0';
	if (!error && block.rows) {
		*version = (unsigned int)native_number(&block, 0, 0);
		name = native_string(&block, 1, 0);
		if (name.size < 65) {
			memcpy(cluster, name.bytes, name.size);
			cluster[name.size] = '\0';
		}
	}
	native_block_free(&block);
	return error;
}

static struct pesa_error *ask_version(struct server *server, const char *database,
				      unsigned int *version, char cluster[65])
{
	struct perfdata_buffer sql = {0}, answer = {0};
	struct pesa_error *error;

	schema_query(database, &sql);
	error = server_ask(server, &sql, &answer);
	if (!error)
		error = pesa_error_prefix(read_version(&answer, version, cluster),
					  "%s: is it a ClickHouse server? ", server_name(server));
	perfdata_buffer_free(&sql);
	perfdata_buffer_free(&answer);
	return error;
}

/* Of the server's messages: the table or the database does not exist. */
static bool is_missing(const struct pesa_error *error)
{
	return strstr(error->message, "Code: 60") || strstr(error->message, "Code: 81");
}

struct pesa_error *database_open(const struct fleet_url *url, struct database *database)
{
	char cluster[65];
	unsigned int version;
	struct pesa_error *error;

	*database = (struct database){.url = url};
	fleet_sent_begin(&database->sent);
	error = server_open(url, &database->server);
	if (error)
		return error;
	error = ask_version(database->server, url->database, &version, cluster);
	if (error && is_missing(error)) {
		pesa_error_free(error);
		version = 0;
		error = NULL;
	}
	if (error)
		return error;
	database->cluster = *cluster;
	if (!version)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s has no tables of pesa in the database %s: make them "
					 "with 'pesa store --create --to URL'",
					 url->server, url->database);
	if (version < FLEET_SCHEMA_VERSION)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"%s: the tables of %s have version %u, this pesa %d: "
			"bring them up to date with 'pesa store --create --to URL'",
			url->server, url->database, version, FLEET_SCHEMA_VERSION);
	if (version > FLEET_SCHEMA_VERSION)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s: the tables of %s have version %u, of a newer pesa "
					 "than this one (%d): install it here",
					 url->server, url->database, version, FLEET_SCHEMA_VERSION);
	return NULL;
}

void database_close(struct database *database)
{
	server_close(database->server);
	database->server = NULL;
	fleet_sent_free(&database->sent);
}

static struct pesa_error *run(struct server *server, const struct perfdata_buffer *sql)
{
	struct perfdata_buffer answer = {0};
	struct pesa_error *error = server_ask(server, sql, &answer);

	perfdata_buffer_free(&answer);
	return error;
}

static struct pesa_error *upgrade(struct server *server, unsigned int from, const char *database,
				  const char *cluster)
{
	struct perfdata_buffer sql = {0};
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; !error; i++) {
		sql.size = 0;
		if (!schema_statement(from, i, database, cluster, &sql))
			break;
		error = run(server, &sql);
		perfdata_buffer_append(&sql, "", 1);
		if (error && !sql.failed &&
		    schema_was_done((const char *)sql.bytes, error->message)) {
			pesa_error_free(error);
			error = NULL;
		}
	}
	if (!error) {
		sql.size = 0;
		schema_note(from + 1, database, cluster, &sql);
		error = run(server, &sql);
	}
	perfdata_buffer_free(&sql);
	return error;
}

struct pesa_error *database_create(const struct fleet_url *url, const char *cluster,
				   unsigned int *before)
{
	char present[65] = "";
	struct server *server;
	struct pesa_error *error = server_open(url, &server);

	if (error)
		return error;
	*before = 0;
	error = ask_version(server, url->database, before, present);
	if (error && is_missing(error)) {
		pesa_error_free(error);
		error = NULL;
	}
	if (!error && *before && *cluster && strcmp(present, cluster))
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: the tables of %s were made for %s%s, not for "
					  "the cluster %s",
					  url->server, url->database,
					  *present ? "the cluster " : "one server", present,
					  cluster);
	for (unsigned int version = *before; !error && version < FLEET_SCHEMA_VERSION; version++)
		error = upgrade(server, version, url->database, *before ? present : cluster);
	server_close(server);
	return error;
}

/* ---- Retention ------------------------------------------------------------------------------- */

static struct pesa_error *drop_days(struct server *server, unsigned int table, const char *database,
				    const struct perfdata_buffer *answer, unsigned int *days)
{
	static const enum native_type types[] = {NATIVE_U32};
	struct native_reader reader = native_begin_reading(answer->bytes, answer->size);
	struct native_block block;
	struct pesa_error *error = NULL;
	bool any = true;

	while (any && !error) {
		error = native_read(&reader, types, 1, &block, &any);
		for (size_t i = 0; i < block.rows && any && !error; i++) {
			struct perfdata_buffer sql = {0};

			schema_drop_day(table, database, (uint32_t)native_number(&block, 0, i),
					&sql);
			error = run(server, &sql);
			perfdata_buffer_free(&sql);
			*days += !table;
		}
		native_block_free(&block);
	}
	return error;
}

struct pesa_error *database_drop_before(const struct fleet_url *url, uint32_t before,
					unsigned int *days)
{
	struct database database;
	struct pesa_error *error = database_open(url, &database);
	const time_t seconds = before;
	struct tm day;

	*days = 0;
	gmtime_r(&seconds, &day);
	before = (uint32_t)(day.tm_year + 1900) * 10000 + (uint32_t)(day.tm_mon + 1) * 100 +
		 (uint32_t)day.tm_mday;
	for (unsigned int i = 0; !error; i++) {
		struct perfdata_buffer sql = {0}, answer = {0};

		if (!schema_old_days(i, url->database, before, &sql))
			break;
		error = server_ask(database.server, &sql, &answer);
		if (!error)
			error = drop_days(database.server, i, url->database, &answer, days);
		perfdata_buffer_free(&sql);
		perfdata_buffer_free(&answer);
	}
	database_close(&database);
	return error;
}

/* ---- In -------------------------------------------------------------------------------------- */

static struct pesa_error *make_attempt(uint64_t *attempt)
{
	do
		if (getrandom(attempt, sizeof(*attempt), 0) != sizeof(*attempt))
			return pesa_error_create(PESA_ERROR_OTHER,
						 "the system gives no random numbers");
	while (!*attempt);
	return NULL;
}

static struct pesa_error *insert(struct database *database, const char *table, const char *columns,
				 const struct perfdata_buffer *rows)
{
	struct perfdata_buffer sql = {0};
	struct pesa_error *error;

	sql_add(&sql, "INSERT INTO %s.%s%s (%s) FORMAT Native", database->url->database, table,
		database->cluster ? "_all" : "", columns);
	error = server_insert(database->server, &sql, rows->bytes, rows->size);
	perfdata_buffer_free(&sql);
	return error;
}

struct pesa_error *database_put(struct database *database, struct fleet_recording *recordings,
				size_t count, const char *service, uint64_t *bytes)
{
	struct fleet_blocks blocks = {0};
	struct pesa_error *error = NULL;

	*bytes = 0;
	for (size_t i = 0; i < count && !error; i++)
		error = make_attempt(&recordings[i].attempt);
	if (!error)
		error = fleet_blocks_make(recordings, count, service, &database->sent, &blocks);
	for (unsigned int i = 0; i < FLEET_TABLES && !error; i++) {
		if (blocks.table[i].rows)
			error = insert(database, fleet_table_name((enum fleet_table)i),
				       fleet_table_columns((enum fleet_table)i),
				       &blocks.table[i].bytes);
		*bytes += blocks.table[i].bytes.size;
	}
	fleet_blocks_free(&blocks);
	if (error) { /* what arrived is not known */
		fleet_sent_free(&database->sent);
		fleet_sent_begin(&database->sent);
	}
	return error;
}

/* ---- Out ------------------------------------------------------------------------------------- */

static struct fleet_selection selection_of(const struct database *database)
{
	const struct fleet_url *url = database->url;

	return (struct fleet_selection){
		.database = url->database,
		.cluster = database->cluster,
		.service = url->service,
		.host = url->host,
		.cpu = url->cpu,
		.since = url->since_time,
		.until = url->until_time,
	};
}

static struct pesa_error *ask(struct database *database, struct restore *restore,
			      enum restore_answer answer, const struct perfdata_buffer *sql)
{
	struct perfdata_buffer bytes = {0};
	struct pesa_error *error = server_ask(database->server, sql, &bytes);

	if (!error)
		error = pesa_error_prefix(restore_take(restore, answer, bytes.bytes, bytes.size),
					  "%s: ", server_name(database->server));
	perfdata_buffer_free(&bytes);
	return error;
}

static struct pesa_error *ask_for_samples(struct database *database, struct restore *restore,
					  const struct fleet_selection *selection)
{
	static void (*const queries[])(struct perfdata_buffer * sql,
				       const struct fleet_selection *selection) = {
		[RESTORE_RECORDINGS] = query_recordings,
		[RESTORE_COUNTS] = query_counts,
		[RESTORE_SAMPLES] = query_samples,
	};
	struct pesa_error *error = NULL;

	for (unsigned int i = RESTORE_RECORDINGS; i <= RESTORE_SAMPLES && !error; i++) {
		struct perfdata_buffer sql = {0};

		queries[i](&sql, selection);
		error = ask(database, restore, (enum restore_answer)i, &sql);
		perfdata_buffer_free(&sql);
	}
	return error;
}

static struct pesa_error *
ask_for_numbers(struct database *database, struct restore *restore, enum restore_answer answer,
		void (*query)(struct perfdata_buffer *sql, const struct fleet_selection *selection,
			      const uint64_t *numbers, size_t count),
		const struct fleet_selection *selection)
{
	uint64_t *numbers = malloc(QUERY_NUMBERS_MAX * sizeof(*numbers));
	struct pesa_error *error = numbers ? NULL : pesa_error_no_memory();
	long count = 0;

	while (!error &&
	       (count = restore_wanted(restore, answer, numbers, QUERY_NUMBERS_MAX)) > 0) {
		struct perfdata_buffer sql = {0};

		query(&sql, selection, numbers, (size_t)count);
		error = ask(database, restore, answer, &sql);
		perfdata_buffer_free(&sql);
	}
	free(numbers);
	return error ? error : count < 0 ? pesa_error_no_memory() : NULL;
}

/* Few records are asked for by their numbers, many by what chose their samples: that reads the samples
 * again, and is one query. */
static struct pesa_error *ask_for_records(struct database *database, struct restore *restore,
					  const struct fleet_selection *selection)
{
	struct perfdata_buffer sql = {0};
	struct pesa_error *error;

	if (restore_totals(restore).rows <= 2 * QUERY_NUMBERS_MAX)
		return ask_for_numbers(database, restore, RESTORE_RECORDS, query_records,
				       selection);
	query_all_records(&sql, selection);
	error = ask(database, restore, RESTORE_RECORDS, &sql);
	perfdata_buffer_free(&sql);
	return error;
}

static struct pesa_error *get(struct database *database, struct restore *restore, const char *path)
{
	const struct fleet_url *url = database->url;
	const struct fleet_selection selection = selection_of(database);
	struct restore_totals totals;
	char title[TITLE_MAX];
	struct pesa_error *error = ask_for_samples(database, restore, &selection);

	totals = restore_totals(restore);
	if (!error && !totals.rows)
		error = pesa_error_create(PESA_ERROR_NOT_FOUND,
					  "%s: no samples of that service, host and time in %s",
					  url->server, url->database);
	if (!error)
		error = ask_for_records(database, restore, &selection);
	if (!error)
		error = ask_for_numbers(database, restore, RESTORE_CHAINS, query_chains,
					&selection);
	if (!error)
		error = ask_for_numbers(database, restore, RESTORE_BINARIES, query_binaries,
					&selection);
	if (!error)
		error = ask_for_numbers(database, restore, RESTORE_EVENTS, query_events,
					&selection);
	snprintf(title, sizeof(title), "%" PRIu64 " recordings of %" PRIu64 " hosts in %s of %s",
		 totals.recordings, totals.hosts, url->database, url->server);
	return error ? error : restore_write(restore, title, path);
}

struct pesa_error *database_get(struct database *database, const char *path)
{
	struct restore *restore = restore_create();
	struct pesa_error *error = restore ? get(database, restore, path) : pesa_error_no_memory();

	restore_free(restore);
	return error;
}

/* ---- Names ----------------------------------------------------------------------------------- */

#define BINARIES_AT_ONCE 256

/* Name the places of some binaries. */
static struct pesa_error *name_some(struct database *database, struct fleet_functions *functions,
				    const uint64_t *numbers, size_t count,
				    struct database_named *named)
{
	const struct fleet_selection selection = selection_of(database);
	struct perfdata_buffer sql = {0}, answer = {0}, block = {0};
	uint64_t unnamed = 0;
	uint32_t rows = 0;
	struct pesa_error *error;

	query_unnamed_places(&sql, &selection, numbers, count);
	error = server_ask(database->server, &sql, &answer);
	if (!error)
		error = fleet_functions_name(functions, answer.bytes, answer.size, &block, &rows,
					     &unnamed);
	if (!error && rows)
		error = insert(database, "functions", fleet_functions_columns(), &block);
	if (!error) {
		named->places += rows;
		named->unnamed += unnamed;
	}
	perfdata_buffer_free(&sql);
	perfdata_buffer_free(&answer);
	perfdata_buffer_free(&block);
	return error;
}

static struct pesa_error *name_all(struct database *database, struct fleet_functions *functions,
				   struct database_named *named)
{
	const struct fleet_selection selection = selection_of(database);
	struct perfdata_buffer sql = {0}, answer = {0};
	const uint64_t *present;
	size_t count;
	struct pesa_error *error;

	query_sampled_binaries(&sql, &selection);
	error = server_ask(database->server, &sql, &answer);
	if (!error)
		error = fleet_functions_binaries(functions, answer.bytes, answer.size);
	perfdata_buffer_free(&sql);
	perfdata_buffer_free(&answer);
	present = fleet_functions_present(functions, &count, &named->absent);
	named->binaries = count + named->absent;
	for (size_t i = 0; i < count && !error; i += BINARIES_AT_ONCE)
		error = name_some(database, functions, present + i,
				  count - i < BINARIES_AT_ONCE ? count - i : BINARIES_AT_ONCE,
				  named);
	return error;
}

struct pesa_error *database_name_functions(struct database *database, const char *root,
					   struct database_named *named)
{
	struct fleet_functions *functions = NULL;
	struct pesa_error *error = fleet_functions_create(root, &functions);

	*named = (struct database_named){0};
	if (!error)
		error = name_all(database, functions, named);
	fleet_functions_free(functions);
	return error;
}
