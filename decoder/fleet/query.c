// SPDX-License-Identifier: GPL-2.0-or-later
/* What is asked of the database.  See schema.h. */
#include <inttypes.h>

#include "decoder/fleet/schema.h"

static void add_table(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		      const char *table)
{
	sql_add(sql, " FROM %s.%s%s", selection->database, table, selection->cluster ? "_all" : "");
}

static void add_equal(struct perfdata_buffer *sql, const char *column, const char *value)
{
	if (!value)
		return;
	sql_add(sql, " AND %s = ", column);
	sql_quote(sql, value);
}

/* Which recordings: those that overlap the time. */
static void add_recordings(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	add_table(sql, selection, "recordings");
	sql_add(sql, " WHERE 1");
	add_equal(sql, "service", selection->service);
	add_equal(sql, "host", selection->host);
	add_equal(sql, "cpu", selection->cpu);
	if (selection->since)
		sql_add(sql, " AND end >= toDateTime(%" PRIu32 ")", selection->since);
	if (selection->until)
		sql_add(sql, " AND begin < toDateTime(%" PRIu32 ")", selection->until);
}

/* The attempt of each recording that counts. */
static void add_attempts(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql, "SELECT min(attempt)");
	add_recordings(sql, selection);
	sql_add(sql, " GROUP BY service, digest");
}

/* Names of what a query makes differ from those of columns, which they would hide. */
void query_recordings(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql,
		"SELECT its_arch, its_capabilities, toUInt64(count()), "
		"toUInt64(uniqExactIf(its_host, its_host != '')), min(its_host), min(its_cpu), min(its_cpu_id), "
		"min(its_cmdline), sum(its_lost), sum(its_left_out), "
		"sum(its_damaged_records), sum(its_damaged_bytes), sum(its_samples), "
		"toUInt64(uniqExact(service)), min(service), min(its_begin), max(its_end) "
		"FROM (SELECT service, digest, any(host) AS its_host, any(arch) AS its_arch, "
		"any(capabilities) AS its_capabilities, any(cpu) AS its_cpu, "
		"any(cpu_id) AS its_cpu_id, any(cmdline) AS its_cmdline, "
		"any(lost) AS its_lost, any(left_out) AS its_left_out, "
		"any(damaged_records) AS its_damaged_records, "
		"any(damaged_bytes) AS its_damaged_bytes, any(samples) AS its_samples, "
		"any(begin) AS its_begin, any(end) AS its_end");
	add_recordings(sql, selection);
	sql_add(sql, " GROUP BY service, digest) GROUP BY its_arch, its_capabilities "
		     "FORMAT Native");
}

void query_counts(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql, "SELECT name, sum(value) FROM (SELECT service, digest, "
		     "any(counts.name) AS names, any(counts.value) AS numbers");
	add_recordings(sql, selection);
	sql_add(sql, " GROUP BY service, digest) ARRAY JOIN names AS name, numbers AS value "
		     "GROUP BY name ORDER BY name FORMAT Native");
}

/* The rows that count. */
static void add_samples(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	add_table(sql, selection, "samples");
	sql_add(sql, " WHERE attempt GLOBAL IN (");
	add_attempts(sql, selection);
	sql_add(sql, ")");
	add_equal(sql, "service", selection->service);
	add_equal(sql, "host", selection->host);
	if (selection->since)
		sql_add(sql, " AND time >= toDateTime(%" PRIu32 ")", selection->since);
	if (selection->until)
		sql_add(sql, " AND time < toDateTime(%" PRIu32 ")", selection->until);
	sql_add(sql, " GROUP BY record");
}

void query_samples(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql, "SELECT record, sum(samples), sum(periods), sum(squares), sum(lost)");
	add_samples(sql, selection);
	sql_add(sql, " FORMAT Native");
}

static void add_records(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql, "SELECT record, any(event), any(kind), any(xlen), any(flags), any(details), "
		     "any(pc_binary), any(pc), any(to1_binary), any(to1), any(to2_binary), "
		     "any(to2), any(branches), any(chain), any(process), any(thread)");
	add_table(sql, selection, "records");
}

void query_all_records(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	add_records(sql, selection);
	sql_add(sql, " WHERE record GLOBAL IN (SELECT record");
	add_samples(sql, selection);
	sql_add(sql, ") GROUP BY record FORMAT Native");
}

static void add_list(struct perfdata_buffer *sql, const char *column, const uint64_t *numbers,
		     size_t count)
{
	sql_add(sql, " WHERE %s IN (", column);
	for (size_t i = 0; i < count; i++)
		sql_add(sql, "%s%" PRIu64, i ? "," : "", numbers[i]);
	sql_add(sql, ")");
}

static void add_numbers(struct perfdata_buffer *sql, const char *column, const uint64_t *numbers,
			size_t count)
{
	add_list(sql, column, numbers, count);
	sql_add(sql, " GROUP BY %s FORMAT Native", column);
}

void query_records(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		   const uint64_t *numbers, size_t count)
{
	add_records(sql, selection);
	add_numbers(sql, "record", numbers, count);
}

static void add_binaries(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	sql_add(sql, "SELECT binary, min(kind), min(build_id), min(path), min(base)");
	add_table(sql, selection, "binaries");
}

void query_binaries(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		    const uint64_t *numbers, size_t count)
{
	add_binaries(sql, selection);
	add_numbers(sql, "binary", numbers, count);
}

void query_sampled_binaries(struct perfdata_buffer *sql, const struct fleet_selection *selection)
{
	add_binaries(sql, selection);
	sql_add(sql, " WHERE binary GLOBAL IN (SELECT DISTINCT pc_binary");
	add_table(sql, selection, "records");
	sql_add(sql, ") GROUP BY binary ORDER BY binary FORMAT Native");
}

void query_unnamed_places(struct perfdata_buffer *sql, const struct fleet_selection *selection,
			  const uint64_t *numbers, size_t count)
{
	sql_add(sql, "SELECT DISTINCT pc_binary, pc");
	add_table(sql, selection, "records");
	add_list(sql, "pc_binary", numbers, count);
	sql_add(sql, " AND (pc_binary, pc) GLOBAL NOT IN (SELECT binary, pc");
	add_table(sql, selection, "functions");
	add_list(sql, "binary", numbers, count);
	sql_add(sql, ") FORMAT Native");
}

void query_chains(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		  const uint64_t *numbers, size_t count)
{
	sql_add(sql, "SELECT chain, any(binaries), any(offsets)");
	add_table(sql, selection, "chains");
	add_numbers(sql, "chain", numbers, count);
}

void query_events(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		  const uint64_t *numbers, size_t count)
{
	sql_add(sql, "SELECT event, min(name), min(type), min(config), min(period), "
		     "min(is_frequency), min(precise)");
	add_table(sql, selection, "events");
	add_numbers(sql, "event", numbers, count);
}
