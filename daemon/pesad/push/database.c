// SPDX-License-Identifier: GPL-2.0-or-later
/* A parcel into a ClickHouse database.  See database.h. */
#include "daemon/pesad/push/database.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "decoder/fleet/parcel.h"
#include "decoder/fleet/schema.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define CLUSTER_NAME  64

/* "http://HOST:8123/DATABASE": *name is behind the last slash. */
static const char *database_of(const char *url)
{
	const char *authority = strstr(url, "://"), *slash;

	slash = authority ? strchr(authority + 3, '/') : NULL;
	return slash ? slash + 1 : "";
}

struct pesa_error *push_database_check(const struct pesa_store_target *target)
{
	if (sql_is_name(database_of(target->url)))
		return NULL;
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "'%s': a database is http://HOST:8123/NAME or https://, and NAME "
				 "has letters, digits and _ only",
				 target->url);
}

struct pesa_error *push_parcel_make(const char *path, const char *service, uint64_t from, FILE *out)
{
	const struct fleet_collect_options options = {.bucket = FLEET_BUCKET,
						      .begin = (uint32_t)(from / NS_PER_SECOND)};
	struct fleet_recording recording;
	struct fleet_blocks blocks = {0};
	struct pesa_error *error = fleet_collect(path, &options, &recording);

	if (!error)
		error = fleet_blocks_make(&recording, 1, service, NULL, &blocks);
	if (!error)
		error = parcel_write(&blocks, out);
	fleet_blocks_free(&blocks);
	fleet_recording_free(&recording);
	return error;
}

struct pesa_error *push_parcel_open(const void *bytes, size_t size, struct push_parcel *parcel)
{
	struct pesa_error *error;
	uint64_t attempt;

	*parcel = (struct push_parcel){0};
	error = parcel_read(bytes, size, &parcel->blocks);
	if (error)
		return error;
	if (getrandom(&attempt, sizeof(attempt), 0) != sizeof(attempt) || !attempt)
		return pesa_error_create(PESA_ERROR_OTHER, "the system gives no random numbers");
	for (unsigned int i = 0; i < FLEET_TABLES; i++)
		fleet_block_set_attempt(&parcel->blocks.table[i],
					parcel->blocks.table[i].bytes.bytes, attempt);
	return NULL;
}

void push_parcel_close(struct push_parcel *parcel)
{
	fleet_blocks_free(&parcel->blocks);
}

static struct pesa_error *make_url(const char *base, size_t server,
				   const struct perfdata_buffer *sql, bool insert, char **url)
{
	char *escaped = curl_easy_escape(NULL, (const char *)sql->bytes, (int)sql->size);
	int size = escaped ? asprintf(url, "%.*s/?query=%s%s", (int)server, base, escaped,
				      insert ? "&insert_distributed_sync=1" : "")
			   : -1;

	curl_free(escaped);
	if (size >= 0)
		return NULL;
	*url = NULL;
	return pesa_error_no_memory();
}

struct pesa_error *push_parcel_request(struct push_parcel *parcel,
				       const struct pesa_store_target *target,
				       struct pesa_store_request *request, bool *any)
{
	const char *database = database_of(target->url);
	const size_t server = (size_t)(database - target->url) - 1;
	struct perfdata_buffer sql = {0};
	struct pesa_error *error;

	*request = (struct pesa_store_request){.content_type = "application/octet-stream"};
	while (parcel->step && parcel->step <= FLEET_TABLES &&
	       !parcel->blocks.table[parcel->step - 1].rows)
		parcel->step++;
	*any = parcel->step <= FLEET_TABLES;
	if (!*any)
		return NULL;
	request->body_is_lent = true;
	if (!parcel->step) {
		schema_query_text(database, &sql);
		request->body = parcel->nothing;
	} else {
		const enum fleet_table table = (enum fleet_table)(parcel->step - 1);
		struct fleet_block *block = &parcel->blocks.table[table];

		sql_add(&sql, "INSERT INTO %s.%s%s (%s) FORMAT Native", database,
			fleet_table_name(table), parcel->cluster ? "_all" : "",
			fleet_table_columns(table));
		request->body = (char *)block->bytes.bytes;
		request->body_size = block->bytes.size;
	}
	error = sql.failed ? pesa_error_no_memory()
			   : make_url(target->url, server, &sql, parcel->step != 0, &request->url);
	perfdata_buffer_free(&sql);
	return error;
}

struct pesa_error *push_parcel_answered(struct push_parcel *parcel, const char *answer)
{
	char cluster[CLUSTER_NAME + 1] = "";
	unsigned int version;

	if (parcel->step++)
		return NULL;
	if (sscanf(answer, "%u %64[A-Za-z0-9_]", &version, cluster) < 1)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database does not tell the version of its tables");
	if (version != FLEET_SCHEMA_VERSION)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"the tables of the database have version %u, this pesad %d%s", version,
			FLEET_SCHEMA_VERSION,
			version ? "" : ": make them with 'pesa store --create'");
	parcel->cluster = *cluster;
	return NULL;
}
