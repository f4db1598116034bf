// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of the database.  See schema.h. */
#include <string.h>

#include "decoder/fleet/schema.h"

struct table {
	const char *name, *columns, *engine;
	const char *shard; /* the expression by which rows are spread over servers */
};

/* Version 1.  Of rows that only say what a number stands for, equal ones are kept once. */
static const struct table tables[] = {
	{"binaries", "binary UInt64, kind UInt8, build_id String, path String, base UInt64",
	 "ReplacingMergeTree() ORDER BY binary", "binary"},
	{"chains", "chain UInt64, binaries Array(UInt64), offsets Array(UInt64)",
	 "ReplacingMergeTree() ORDER BY chain", "chain"},
	{"events",
	 "event UInt64, name String, type UInt32, config UInt64, period UInt64, "
	 "is_frequency UInt8, precise UInt8",
	 "ReplacingMergeTree() ORDER BY event", "event"},
	{"hosts",
	 "host String, core UInt64, seen DateTime, arch String, cpu String, cpu_id String, "
	 "cpus UInt32, os_release String, capabilities String",
	 "ReplacingMergeTree(seen) ORDER BY (host, core)", "cityHash64(host)"},
	{"recordings",
	 "attempt UInt64, service String, digest String, begin DateTime, end DateTime, "
	 "host String, core UInt64, arch String, cpu String, cpu_id String, "
	 "capabilities String, cmdline String, samples UInt64, lost UInt64, left_out UInt64, "
	 "damaged_records UInt64, damaged_bytes UInt64, "
	 "counts Nested(name String, value UInt64)",
	 "MergeTree() PARTITION BY toYYYYMMDD(begin) ORDER BY (service, begin, host)",
	 "cityHash64(digest)"},
	{"samples",
	 "attempt UInt64, service String, time DateTime, host String, core UInt64, "
	 "event UInt64, kind UInt8, xlen UInt8, flags UInt16, details UInt64, state UInt8, "
	 "causes UInt16, pc_binary UInt64, pc UInt64, to1_binary UInt64, to1 UInt64, "
	 "to2_binary UInt64, to2 UInt64, branches UInt64, chain UInt64, process String, "
	 "thread String, samples UInt64, periods UInt64, squares Float64, lost UInt64",
	 "MergeTree() PARTITION BY toYYYYMMDD(time) "
	 "ORDER BY (service, time, host, attempt, pc_binary, pc, details)",
	 "pc_binary"},
};
#define SCHEMA_TABLE "pesa_schema"
#define TABLES	     (sizeof(tables) / sizeof(*tables))

static void make_table(struct perfdata_buffer *sql, const struct table *table, const char *database)
{
	sql_add(sql, "CREATE TABLE IF NOT EXISTS %s.%s (%s) ENGINE = %s", database, table->name,
		table->columns, table->engine);
}

static void make_distributed(struct perfdata_buffer *sql, const struct table *table,
			     const char *database, const char *cluster)
{
	sql_add(sql,
		"CREATE TABLE IF NOT EXISTS %s.%s_all AS %s.%s "
		"ENGINE = Distributed(%s, %s, %s, %s)",
		database, table->name, database, table->name, cluster, database, table->name,
		table->shard);
}

static bool first_version(unsigned int index, const char *database, const char *cluster,
			  struct perfdata_buffer *sql)
{
	const bool spread = *cluster;

	if (index == 0) {
		sql_add(sql, "CREATE DATABASE IF NOT EXISTS %s", database);
		return true;
	}
	if (index == 1) {
		sql_add(sql,
			"CREATE TABLE IF NOT EXISTS %s." SCHEMA_TABLE " (version UInt32, "
			"cluster String, made DateTime) ENGINE = MergeTree() ORDER BY version",
			database);
		return true;
	}
	index -= 2;
	if (index < TABLES) {
		make_table(sql, &tables[index], database);
		return true;
	}
	index -= TABLES;
	if (spread && index < TABLES) {
		make_distributed(sql, &tables[index], database, cluster);
		return true;
	}
	return false;
}

void schema_query(const char *database, struct perfdata_buffer *sql)
{
	sql_add(sql, "SELECT max(version), max(cluster) FROM %s." SCHEMA_TABLE " FORMAT Native",
		database);
}

void schema_query_text(const char *database, struct perfdata_buffer *sql)
{
	sql_add(sql, "SELECT max(version), max(cluster) FROM %s." SCHEMA_TABLE, database);
}

void schema_note(unsigned int version, const char *database, const char *cluster,
		 struct perfdata_buffer *sql)
{
	sql_add(sql, "INSERT INTO %s." SCHEMA_TABLE " (version, cluster, made) SELECT %u, ",
		database, version);
	sql_quote(sql, cluster);
	sql_add(sql, ", now()");
}

bool schema_statement(unsigned int from, unsigned int index, const char *database,
		      const char *cluster, struct perfdata_buffer *sql)
{
	return from == 0 && first_version(index, database, cluster, sql);
}
