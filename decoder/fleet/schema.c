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

/* What reads all servers. */
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

/*
 * Version 2: sums for dashboards, which grow with every insert into samples.  They have the attempt, too,
 * by which what was sent twice is left out (Documentation/fleet.md).
 */
static const struct sum {
	struct table table;
	const char *keys;
} sums[] = {
	{{"cycle_stacks",
	  "attempt UInt64, service String, time DateTime, host String, event UInt64, "
	  "state UInt8, causes UInt16, samples UInt64, periods UInt64",
	  "SummingMergeTree((samples, periods)) PARTITION BY toYYYYMMDD(time) "
	  "ORDER BY (service, time, host, attempt, event, state, causes)",
	  "rand()"},
	 "attempt, service, time, host, event, state, causes"},
	{{"binary_stacks",
	  "attempt UInt64, service String, time DateTime, host String, event UInt64, "
	  "pc_binary UInt64, state UInt8, samples UInt64, periods UInt64",
	  "SummingMergeTree((samples, periods)) PARTITION BY toYYYYMMDD(time) "
	  "ORDER BY (service, time, host, attempt, event, pc_binary, state)",
	  "rand()"},
	 "attempt, service, time, host, event, pc_binary, state"},
};
#define SUMS	  (sizeof(sums) / sizeof(*sums))
#define SUM_STEPS 3 /* statements for each */

/* The view is made first: rows that arrive while the older ones are summed have attempts of theirs. */
static void make_sum(struct perfdata_buffer *sql, unsigned int step, const struct sum *sum,
		     const char *database)
{
	const char *name = sum->table.name;

	if (step == 0)
		make_table(sql, &sum->table, database);
	else if (step == 1)
		sql_add(sql,
			"CREATE MATERIALIZED VIEW IF NOT EXISTS %s.%s_view TO %s.%s AS SELECT %s, "
			"sum(samples) AS samples, sum(periods) AS periods FROM %s.samples "
			"GROUP BY %s",
			database, name, database, name, sum->keys, database, sum->keys);
	else
		sql_add(sql,
			"INSERT INTO %s.%s (%s, samples, periods) SELECT %s, sum(samples), "
			"sum(periods) FROM %s.samples WHERE attempt NOT IN "
			"(SELECT attempt FROM %s.%s) GROUP BY %s",
			database, name, sum->keys, sum->keys, database, database, name, sum->keys);
}

/* "NAME_all" is what reads all, also of one server. */
static void make_all(struct perfdata_buffer *sql, const struct table *table, const char *database,
		     const char *cluster)
{
	if (*cluster)
		make_distributed(sql, table, database, cluster);
	else
		sql_add(sql, "CREATE VIEW IF NOT EXISTS %s.%s_all AS SELECT * FROM %s.%s", database,
			table->name, database, table->name);
}

static bool second_version(unsigned int index, const char *database, const char *cluster,
			   struct perfdata_buffer *sql)
{
	if (index < SUMS * SUM_STEPS) {
		make_sum(sql, index % SUM_STEPS, &sums[index / SUM_STEPS], database);
		return true;
	}
	index -= SUMS * SUM_STEPS;
	if (index < SUMS) {
		make_all(sql, &sums[index].table, database, cluster);
		return true;
	}
	index -= SUMS;
	if (index < TABLES) {
		make_all(sql, &tables[index], database, cluster);
		return true;
	}
	return false;
}

/*
 * Version 3: records by number.  A sum over 15 columns takes three times as long as one over their hash;
 * what a number stands for is asked for afterwards, once for each.  The server makes both of what is
 * inserted into samples.
 */
#define RECORD_KEYS                                                                            \
	"event, kind, xlen, flags, details, pc_binary, pc, to1_binary, to1, to2_binary, to2, " \
	"branches, chain, process, thread"
#define RECORD_COLUMN "record UInt64 DEFAULT cityHash64(" RECORD_KEYS ")"

static const struct table records = {
	"records",
	"record UInt64, event UInt64, kind UInt8, xlen UInt8, flags UInt16, details UInt64, "
	"pc_binary UInt64, pc UInt64, to1_binary UInt64, to1 UInt64, to2_binary UInt64, "
	"to2 UInt64, branches UInt64, chain UInt64, process String, thread String",
	"ReplacingMergeTree() ORDER BY record", "pc_binary"};

static bool third_version(unsigned int index, const char *database, const char *cluster,
			  struct perfdata_buffer *sql)
{
	if (!*cluster && index)
		index++; /* one server has no table that the column is added to as well */
	switch (index) {
	case 0:
		sql_add(sql, "ALTER TABLE %s.samples ADD COLUMN " RECORD_COLUMN, database);
		return true;
	case 1:
		sql_add(sql, "ALTER TABLE %s.samples_all ADD COLUMN " RECORD_COLUMN, database);
		return true;
	case 2:
		make_table(sql, &records, database);
		return true;
	case 3:
		sql_add(sql,
			"CREATE MATERIALIZED VIEW IF NOT EXISTS %s.records_view TO %s.records AS "
			"SELECT record, " RECORD_KEYS " FROM %s.samples "
			"GROUP BY record, " RECORD_KEYS,
			database, database, database);
		return true;
	case 4:
		sql_add(sql,
			"INSERT INTO %s.records (record, " RECORD_KEYS
			") SELECT record, " RECORD_KEYS
			" FROM %s.samples WHERE record NOT IN (SELECT record FROM %s.records) "
			"GROUP BY record, " RECORD_KEYS,
			database, database, database);
		return true;
	case 5:
		make_all(sql, &records, database, cluster);
		return true;
	default:
		return false;
	}
}

/*
 * Version 4: names of functions, for whoever looks at the tables and has not the programs.  A row names a
 * place that samples have, so that a query joins by equality; which place is in which function is found
 * out once, where the program is.  `start` is in the same terms as `pc`.
 */
static const struct table functions = {
	"functions", "binary UInt64, pc UInt64, name String, start UInt64, size UInt64",
	"ReplacingMergeTree() ORDER BY (binary, pc)", "binary"};

static bool fourth_version(unsigned int index, const char *database, const char *cluster,
			   struct perfdata_buffer *sql)
{
	if (index == 0)
		make_table(sql, &functions, database);
	else if (index == 1)
		make_all(sql, &functions, database, cluster);
	return index < 2;
}

/* 44: ILLEGAL_COLUMN, 15: DUPLICATE_COLUMN. */
bool schema_was_done(const char *statement, const char *message)
{
	return !strncmp(statement, "ALTER TABLE", strlen("ALTER TABLE")) &&
	       strstr(statement, " ADD COLUMN ") &&
	       (strstr(message, "Code: 44") || strstr(message, "Code: 15"));
}

/* Tables that are divided by days. */
static const char *const divided[] = {"recordings", "samples", "cycle_stacks", "binary_stacks"};

bool schema_old_days(unsigned int index, const char *database, uint32_t before,
		     struct perfdata_buffer *sql)
{
	if (index >= sizeof(divided) / sizeof(*divided))
		return false;
	sql_add(sql,
		"SELECT DISTINCT toUInt32(partition) FROM system.parts WHERE active AND "
		"database = '%s' AND table = '%s' AND toUInt32OrZero(partition) < %u "
		"FORMAT Native",
		database, divided[index], before);
	return true;
}

void schema_drop_day(unsigned int index, const char *database, uint32_t day,
		     struct perfdata_buffer *sql)
{
	sql_add(sql, "ALTER TABLE %s.%s DROP PARTITION %u", database, divided[index], day);
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
	static bool (*const versions[])(unsigned int index, const char *database,
					const char *cluster, struct perfdata_buffer *sql) = {
		first_version, second_version, third_version, fourth_version};

	return from < FLEET_SCHEMA_VERSION && versions[from](index, database, cluster, sql);
}
