/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The database: its tables, and the statements that make, bring up to date and read them.
 *
 * The schema has a version, which the table `pesa_schema` states together with the name of the cluster
 * that the database is spread over ("": one server).  On a cluster each server has the tables, and a
 * table of the engine Distributed for each of them, whose name ends with "_all"; samples are spread
 * by the binary of their PC, so that a sum is made where its rows are.
 *
 * What comes from users, files and URLs is put into statements by sql_quote() alone, or, where a name is
 * needed, checked by sql_is_name().  All is in the SQL that ClickHouse has had since version 18.
 */
#ifndef DECODER_FLEET_SCHEMA_H
#define DECODER_FLEET_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/buffer.h"
#include "pesa/error.h"

#define FLEET_SCHEMA_VERSION 4

/* ---- sql.c: text of statements --------------------------------------------------------------- */

void sql_add(struct perfdata_buffer *sql, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A text as a string literal, quotes included. */
void sql_quote(struct perfdata_buffer *sql, const char *text);
/* Whether a name needs no quotes: letters, digits, _; at most 64. */
bool sql_is_name(const char *name);

/* ---- schema.c -------------------------------------------------------------------------------- */

/* Whether an error of a server says that a statement was run before: a column is there. */
bool schema_was_done(const char *statement, const char *message);
/* A statement that brings a server's tables from one version to the next, by index; false: there is
 * none.  Each may be repeated.  `database` and `cluster` are names; cluster "": none. */
bool schema_statement(unsigned int from, unsigned int index, const char *database,
		      const char *cluster, struct perfdata_buffer *sql);

/* Ask for the version of a server's tables and their cluster: UInt32, String. */
void schema_query(const char *database, struct perfdata_buffer *sql);
/* The same, as text: "1\tCLUSTER\n". */
void schema_query_text(const char *database, struct perfdata_buffer *sql);
/* A statement that drops the rows of days before one, by index; false: there is none.  The answer to
 * schema_old_days() has the days: UInt32, as 20261121. */
bool schema_old_days(unsigned int index, const char *database, uint32_t before,
		     struct perfdata_buffer *sql);
void schema_drop_day(unsigned int index, const char *database, uint32_t day,
		     struct perfdata_buffer *sql);
/* Note that the tables have a version. */
void schema_note(unsigned int version, const char *database, const char *cluster,
		 struct perfdata_buffer *sql);

/* ---- query.c --------------------------------------------------------------------------------- */

/* What is wanted of a database; texts are NULL where anything is. */
struct fleet_selection {
	const char *database; /* a name */
	bool cluster;	      /* it is spread over several servers */
	const char *service, *host, *cpu;
	uint32_t since, until; /* s since 1970; 0: no limit */
};

/* Each asks for the columns that restore.h names. */
void query_recordings(struct perfdata_buffer *sql, const struct fleet_selection *selection);
void query_counts(struct perfdata_buffer *sql, const struct fleet_selection *selection);
/* Counts by record, and what records are: samples that differ in nothing but time, host and count have the
 * same number. */
void query_samples(struct perfdata_buffer *sql, const struct fleet_selection *selection);

/* Of the numbers wanted. */
#define QUERY_NUMBERS_MAX 8000 /* as many as the limit of a query's length allows */
/* Those of all samples that are wanted: one query, where there are many. */
void query_all_records(struct perfdata_buffer *sql, const struct fleet_selection *selection);
void query_records(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		   const uint64_t *numbers, size_t count);
void query_binaries(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		    const uint64_t *numbers, size_t count);
void query_chains(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		  const uint64_t *numbers, size_t count);
/* The binaries that samples are of, and the places of some of them that have no name: functions.h. */
void query_sampled_binaries(struct perfdata_buffer *sql, const struct fleet_selection *selection);
void query_unnamed_places(struct perfdata_buffer *sql, const struct fleet_selection *selection,
			  const uint64_t *numbers, size_t count);
void query_events(struct perfdata_buffer *sql, const struct fleet_selection *selection,
		  const uint64_t *numbers, size_t count);

#endif
