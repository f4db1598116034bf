// SPDX-License-Identifier: GPL-2.0-or-later
/* A counted recording as blocks for the tables of the database.  See fleet.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/digest.h"
#include "decoder/fleet/fleet.h"
#include "decoder/fleet/native.h"
#include "pesa/csr.h"

/* What a column has in a row. */
enum source {
	ATTEMPT,
	SERVICE,
	BEGIN,
	END,
	DIGEST,
	HOST,
	OS_RELEASE,
	CMDLINE,
	ARCH,
	CPU,
	CPU_ID,
	CPUS,
	CAPABILITIES,
	CORE,
	RECORDED_SAMPLES,
	RECORDED_LOST,
	DAMAGED_RECORDS,
	DAMAGED_BYTES,
	LEFT_OUT,
	COUNT_NAMES,
	COUNT_VALUES,
	BINARY,
	BINARY_KIND,
	BUILD_ID,
	PATH,
	BASE,
	CHAIN,
	CHAIN_BINARIES,
	CHAIN_OFFSETS,
	EVENT,
	EVENT_NAME,
	EVENT_TYPE,
	EVENT_CONFIG,
	EVENT_PERIOD,
	EVENT_FREQUENCY,
	EVENT_PRECISE,
	ROW_TIME,
	ROW_EVENT,
	ROW_KIND,
	ROW_XLEN,
	ROW_FLAGS,
	ROW_DETAILS,
	ROW_STATE,
	ROW_CAUSES,
	ROW_PC_BINARY,
	ROW_PC,
	ROW_TO1_BINARY,
	ROW_TO1,
	ROW_TO2_BINARY,
	ROW_TO2,
	ROW_BRANCHES,
	ROW_CHAIN,
	ROW_PROCESS,
	ROW_THREAD,
	ROW_SAMPLES,
	ROW_PERIODS,
	ROW_SQUARES,
	ROW_LOST,
};

struct column {
	const char *name, *type;
	enum source source;
};

#define TEXT   "String"
#define U8     "UInt8"
#define U16    "UInt16"
#define U32    "UInt32"
#define U64    "UInt64"
#define DOUBLE "Float64"
#define TIME   "DateTime"

/* The attempt is first, so that its place is found. */
static const struct column binaries[] = {
	{"binary", U64, BINARY}, {"kind", U8, BINARY_KIND}, {"build_id", TEXT, BUILD_ID},
	{"path", TEXT, PATH},	 {"base", U64, BASE},	    {0},
};
static const struct column chains[] = {
	{"chain", U64, CHAIN},
	{"binaries", "Array(UInt64)", CHAIN_BINARIES},
	{"offsets", "Array(UInt64)", CHAIN_OFFSETS},
	{0},
};
static const struct column events[] = {
	{"event", U64, EVENT},		{"name", TEXT, EVENT_NAME},
	{"type", U32, EVENT_TYPE},	{"config", U64, EVENT_CONFIG},
	{"period", U64, EVENT_PERIOD},	{"is_frequency", U8, EVENT_FREQUENCY},
	{"precise", U8, EVENT_PRECISE}, {0},
};
static const struct column hosts[] = {
	{"host", TEXT, HOST},
	{"core", U64, CORE},
	{"seen", TIME, END},
	{"arch", TEXT, ARCH},
	{"cpu", TEXT, CPU},
	{"cpu_id", TEXT, CPU_ID},
	{"cpus", U32, CPUS},
	{"os_release", TEXT, OS_RELEASE},
	{"capabilities", TEXT, CAPABILITIES},
	{0},
};
static const struct column samples[] = {
	{"attempt", U64, ATTEMPT},
	{"service", TEXT, SERVICE},
	{"time", TIME, ROW_TIME},
	{"host", TEXT, HOST},
	{"core", U64, CORE},
	{"event", U64, ROW_EVENT},
	{"kind", U8, ROW_KIND},
	{"xlen", U8, ROW_XLEN},
	{"flags", U16, ROW_FLAGS},
	{"details", U64, ROW_DETAILS},
	{"state", U8, ROW_STATE},
	{"causes", U16, ROW_CAUSES},
	{"pc_binary", U64, ROW_PC_BINARY},
	{"pc", U64, ROW_PC},
	{"to1_binary", U64, ROW_TO1_BINARY},
	{"to1", U64, ROW_TO1},
	{"to2_binary", U64, ROW_TO2_BINARY},
	{"to2", U64, ROW_TO2},
	{"branches", U64, ROW_BRANCHES},
	{"chain", U64, ROW_CHAIN},
	{"process", TEXT, ROW_PROCESS},
	{"thread", TEXT, ROW_THREAD},
	{"samples", U64, ROW_SAMPLES},
	{"periods", U64, ROW_PERIODS},
	{"squares", DOUBLE, ROW_SQUARES},
	{"lost", U64, ROW_LOST},
	{0},
};
static const struct column recorded[] = {
	{"attempt", U64, ATTEMPT},
	{"service", TEXT, SERVICE},
	{"digest", TEXT, DIGEST},
	{"begin", TIME, BEGIN},
	{"end", TIME, END},
	{"host", TEXT, HOST},
	{"core", U64, CORE},
	{"arch", TEXT, ARCH},
	{"cpu", TEXT, CPU},
	{"cpu_id", TEXT, CPU_ID},
	{"capabilities", TEXT, CAPABILITIES},
	{"cmdline", TEXT, CMDLINE},
	{"samples", U64, RECORDED_SAMPLES},
	{"lost", U64, RECORDED_LOST},
	{"left_out", U64, LEFT_OUT},
	{"damaged_records", U64, DAMAGED_RECORDS},
	{"damaged_bytes", U64, DAMAGED_BYTES},
	{"counts.name", "Array(String)", COUNT_NAMES},
	{"counts.value", "Array(UInt64)", COUNT_VALUES},
	{0},
};

static const struct {
	const char *name;
	const struct column *column;
	const char *columns; /* for INSERT */
} tables[FLEET_TABLES] = {
	[FLEET_BINARIES] = {"binaries", binaries, "binary, kind, build_id, path, base"},
	[FLEET_CHAINS] = {"chains", chains, "chain, binaries, offsets"},
	[FLEET_EVENTS] = {"events", events,
			  "event, name, type, config, period, is_frequency, precise"},
	[FLEET_HOSTS] = {"hosts", hosts,
			 "host, core, seen, arch, cpu, cpu_id, cpus, os_release, capabilities"},
	[FLEET_SAMPLES] =
		{"samples", samples,
		 "attempt, service, time, host, core, event, kind, xlen, flags, details, state, "
		 "causes, pc_binary, pc, to1_binary, to1, to2_binary, to2, branches, chain, "
		 "process, thread, samples, periods, squares, lost"},
	[FLEET_RECORDINGS] =
		{"recordings", recorded,
		 "attempt, service, digest, begin, end, host, core, arch, cpu, cpu_id, "
		 "capabilities, cmdline, samples, lost, left_out, damaged_records, damaged_bytes, "
		 "counts.name, counts.value"},
};

const char *fleet_table_name(enum fleet_table table)
{
	return tables[table].name;
}

const char *fleet_table_columns(enum fleet_table table)
{
	return tables[table].columns;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A row of a table: which record of which recording. */
struct origin {
	const struct fleet_recording *recording;
	uint32_t index;
};

struct maker {
	const struct fleet_recording *recording; /* of the row that is made */
	const char *service;
	struct perfdata_buffer *out;
	struct origin *row;
	uint32_t rows, room;
};

static void put_string(const struct maker *maker, const char *text)
{
	native_text(maker->out, text, strlen(text));
}

static void put_text(const struct maker *maker, uint32_t number)
{
	put_string(maker, fleet_text(maker->recording, number));
}

static void put_build_id(const struct maker *maker, const struct fleet_binary *binary)
{
	char text[2 * PESA_BUILD_ID_MAX + 1] = "";

	for (unsigned int i = 0; i < binary->build_id_size; i++)
		snprintf(text + 2 * i, 3, "%02x", binary->build_id[i]);
	put_string(maker, text);
}

/* A value of the recording as a whole; false: the column is of another kind. */
static bool put_recorded(const struct maker *maker, enum source source)
{
	const struct fleet_recording *recording = maker->recording;

	switch (source) {
	case ATTEMPT:
		native_u64(maker->out, recording->attempt);
		break;
	case SERVICE:
		put_string(maker, maker->service);
		break;
	case BEGIN:
		native_u32(maker->out, recording->begin);
		break;
	case END:
		native_u32(maker->out, recording->end);
		break;
	case DIGEST:
		put_string(maker, recording->digest);
		break;
	case HOST:
		put_text(maker, recording->host);
		break;
	case OS_RELEASE:
		put_text(maker, recording->os_release);
		break;
	case CMDLINE:
		put_text(maker, recording->cmdline);
		break;
	case ARCH:
		put_text(maker, recording->arch);
		break;
	case CPU:
		put_text(maker, recording->cpu);
		break;
	case CPU_ID:
		put_text(maker, recording->cpu_id);
		break;
	case CPUS:
		native_u32(maker->out, recording->cpus);
		break;
	case CAPABILITIES:
		put_text(maker, recording->capabilities);
		break;
	case CORE:
		native_u64(maker->out, recording->core);
		break;
	case RECORDED_SAMPLES:
		native_u64(maker->out, recording->samples);
		break;
	case RECORDED_LOST:
		native_u64(maker->out, recording->lost);
		break;
	case DAMAGED_RECORDS:
		native_u64(maker->out, recording->damaged_records);
		break;
	case DAMAGED_BYTES:
		native_u64(maker->out, recording->damaged_bytes);
		break;
	case LEFT_OUT:
		native_u64(maker->out, recording->left_out);
		break;
	default:
		return false;
	}
	return true;
}

static void put_of_row(const struct maker *maker, enum source source, const struct fleet_row *row)
{
	const struct fleet_key *key = &row->key;
	const bool known = key->flags & PESA_RECORD_HAS_DETAILS;

	switch (source) {
	case ROW_TIME:
		native_u32(maker->out, key->time);
		break;
	case ROW_EVENT:
		native_u64(maker->out, key->event);
		break;
	case ROW_KIND:
		native_u8(maker->out, key->kind);
		break;
	case ROW_XLEN:
		native_u8(maker->out, key->xlen);
		break;
	case ROW_FLAGS:
		native_u16(maker->out, key->flags);
		break;
	case ROW_DETAILS:
		native_u64(maker->out, key->details);
		break;
	case ROW_STATE:
		native_u8(maker->out, known ? (key->details >> PESA_DETAILS_RSTATE_SHIFT &
					       PESA_DETAILS_RSTATE_MASK)
					    : PESA_STATE_COUNT);
		break;
	case ROW_CAUSES:
		native_u16(maker->out, known ? (key->details >> PESA_DETAILS_CAUSE_SHIFT &
						PESA_DETAILS_CAUSE_MASK)
					     : 0);
		break;
	case ROW_PC_BINARY:
		native_u64(maker->out, key->pc.binary);
		break;
	case ROW_PC:
		native_u64(maker->out, key->pc.offset);
		break;
	case ROW_TO1_BINARY:
		native_u64(maker->out, key->target[0].binary);
		break;
	case ROW_TO1:
		native_u64(maker->out, key->target[0].offset);
		break;
	case ROW_TO2_BINARY:
		native_u64(maker->out, key->target[1].binary);
		break;
	case ROW_TO2:
		native_u64(maker->out, key->target[1].offset);
		break;
	case ROW_BRANCHES:
		native_u64(maker->out, key->branches);
		break;
	case ROW_CHAIN:
		native_u64(maker->out, key->chain);
		break;
	case ROW_PROCESS:
		put_text(maker, key->process);
		break;
	case ROW_THREAD:
		put_text(maker, key->thread);
		break;
	case ROW_SAMPLES:
		native_u64(maker->out, row->samples);
		break;
	case ROW_PERIODS:
		native_u64(maker->out, row->periods);
		break;
	case ROW_SQUARES:
		native_double(maker->out, row->periods_squared);
		break;
	default:
		native_u64(maker->out, row->lost);
		break;
	}
}

static void put_of_event(const struct maker *maker, enum source source,
			 const struct fleet_event *event)
{
	switch (source) {
	case EVENT:
		native_u64(maker->out, event->number);
		break;
	case EVENT_NAME:
		put_text(maker, event->name);
		break;
	case EVENT_TYPE:
		native_u32(maker->out, event->type);
		break;
	case EVENT_CONFIG:
		native_u64(maker->out, event->config);
		break;
	case EVENT_PERIOD:
		native_u64(maker->out, event->period);
		break;
	case EVENT_FREQUENCY:
		native_u8(maker->out, event->is_frequency);
		break;
	default:
		native_u8(maker->out, event->precise);
		break;
	}
}

static void put_of_binary(const struct maker *maker, enum source source,
			  const struct fleet_binary *binary)
{
	switch (source) {
	case BINARY:
		native_u64(maker->out, binary->number);
		break;
	case BINARY_KIND:
		native_u8(maker->out, binary->kind);
		break;
	case BUILD_ID:
		put_build_id(maker, binary);
		break;
	case PATH:
		put_text(maker, binary->path);
		break;
	default:
		native_u64(maker->out, binary->base);
		break;
	}
}

/* ---- Columns --------------------------------------------------------------------------------- */

static const struct fleet_place *chain_places(const struct fleet_recording *recording,
					      uint32_t index, size_t *count)
{
	const struct fleet_chain *chain = distinct_records_at(&recording->chains, index);
	size_t size;
	const struct fleet_place *place =
		distinct_bytes_at(&recording->places, chain->place, &size);

	*count = size / sizeof(*place);
	return place;
}

static void put_chains(const struct maker *maker, enum source source)
{
	uint64_t end = 0;
	size_t count;

	for (uint32_t i = 0; i < maker->rows; i++) {
		const struct origin *row = &maker->row[i];
		const struct fleet_chain *chain =
			distinct_records_at(&row->recording->chains, row->index);

		if (source == CHAIN) {
			native_u64(maker->out, chain->number);
			continue;
		}
		chain_places(row->recording, row->index, &count);
		end += count;
		native_u64(maker->out, end);
	}
	for (uint32_t i = 0; source != CHAIN && i < maker->rows; i++) {
		const struct fleet_place *place =
			chain_places(maker->row[i].recording, maker->row[i].index, &count);

		for (size_t j = 0; j < count; j++) {
			struct fleet_place copy;

			memcpy(&copy, (const uint8_t *)place + j * sizeof(copy), sizeof(copy));
			native_u64(maker->out,
				   source == CHAIN_BINARIES ? copy.binary : copy.offset);
		}
	}
}

/* A column with one value a recording, whose names or values are a list, has the ends of the lists first. */
static void put_counts(const struct maker *maker, enum source source)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < maker->rows; i++) {
		end += maker->row[i].recording->counts;
		native_u64(maker->out, end);
	}
	for (uint32_t i = 0; i < maker->rows; i++) {
		const struct fleet_recording *recording = maker->row[i].recording;

		for (size_t j = 0; j < recording->counts; j++)
			if (source == COUNT_VALUES)
				native_u64(maker->out, recording->count[j].value);
			else
				put_text(&(struct maker){.recording = recording, .out = maker->out},
					 recording->count[j].name);
	}
}

static void put_column(struct maker *maker, enum fleet_table table, enum source source)
{
	if (table == FLEET_CHAINS) {
		put_chains(maker, source);
		return;
	}
	if (source == COUNT_NAMES || source == COUNT_VALUES) {
		put_counts(maker, source);
		return;
	}
	for (uint32_t i = 0; i < maker->rows; i++) {
		const struct fleet_recording *recording = maker->row[i].recording;
		const uint32_t index = maker->row[i].index;

		maker->recording = recording;
		if (put_recorded(maker, source))
			continue;
		if (table == FLEET_SAMPLES)
			put_of_row(maker, source, distinct_records_at(&recording->rows, index));
		else if (table == FLEET_EVENTS)
			put_of_event(maker, source, distinct_records_at(&recording->events, index));
		else
			put_of_binary(maker, source,
				      distinct_records_at(&recording->binaries, index));
	}
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The records that a table has rows of; NULL: one row a recording. */
static const struct distinct_records *records_of(const struct fleet_recording *recording,
						 enum fleet_table table)
{
	switch (table) {
	case FLEET_BINARIES:
		return &recording->binaries;
	case FLEET_CHAINS:
		return &recording->chains;
	case FLEET_EVENTS:
		return &recording->events;
	case FLEET_SAMPLES:
		return &recording->rows;
	default:
		return NULL;
	}
}

static struct pesa_error *add_row(struct maker *maker, const struct fleet_recording *recording,
				  uint32_t index)
{
	if (maker->rows == maker->room) {
		uint32_t room = maker->room ? 2 * maker->room : 1024;
		struct origin *grown = reallocarray(maker->row, room, sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		maker->row = grown;
		maker->room = room;
	}
	maker->row[maker->rows++] = (struct origin){recording, index};
	return NULL;
}

/* The rows of a recording, without those of numbers that were sent. */
static struct pesa_error *add_rows(struct maker *maker, const struct fleet_recording *recording,
				   enum fleet_table table, struct fleet_sent *sent)
{
	const struct distinct_records *records = records_of(recording, table);
	struct distinct_records *known =
		sent && table < FLEET_NUMBERED ? &sent->numbers[table] : NULL;
	const uint32_t count = records ? records->index.count : 1;
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < count && !error; i++) {
		if (known) {
			const uint32_t before = known->index.count;
			const uint32_t number =
				distinct_records_get(known, distinct_records_at(records, i));

			if (number == DISTINCT_NONE)
				return pesa_error_no_memory();
			if (number < before)
				continue;
		}
		error = add_row(maker, recording, i);
	}
	return error;
}

static struct pesa_error *make_block(struct maker *maker, enum fleet_table table,
				     struct fleet_block *block)
{
	const struct column *column = tables[table].column;
	unsigned int columns = 0;

	block->rows = maker->rows;
	if (!block->rows)
		return NULL;
	while (column[columns].name)
		columns++;
	maker->out = &block->bytes;
	native_begin(maker->out, columns, block->rows);
	for (unsigned int i = 0; i < columns; i++) {
		native_column(maker->out, column[i].name, column[i].type);
		if (column[i].source == ATTEMPT)
			block->attempt = block->bytes.size;
		put_column(maker, table, column[i].source);
	}
	return block->bytes.failed ? pesa_error_no_memory() : NULL;
}

struct pesa_error *fleet_blocks_make(const struct fleet_recording *recordings, size_t count,
				     const char *service, struct fleet_sent *sent,
				     struct fleet_blocks *blocks)
{
	struct maker maker = {.service = service};
	struct pesa_error *error = NULL;

	*blocks = (struct fleet_blocks){0};
	for (unsigned int table = 0; table < FLEET_TABLES && !error; table++) {
		maker.rows = 0;
		for (size_t i = 0; i < count && !error; i++)
			error = add_rows(&maker, &recordings[i], (enum fleet_table)table, sent);
		if (!error)
			error = make_block(&maker, (enum fleet_table)table, &blocks->table[table]);
	}
	free(maker.row);
	return error;
}

void fleet_sent_begin(struct fleet_sent *sent)
{
	for (unsigned int i = 0; i < FLEET_NUMBERED; i++)
		distinct_records_begin(&sent->numbers[i], sizeof(uint64_t), sizeof(uint64_t));
}

void fleet_sent_free(struct fleet_sent *sent)
{
	for (unsigned int i = 0; i < FLEET_NUMBERED; i++)
		distinct_records_free(&sent->numbers[i]);
}

void fleet_blocks_free(struct fleet_blocks *blocks)
{
	for (unsigned int i = 0; i < FLEET_TABLES; i++)
		perfdata_buffer_free(&blocks->table[i].bytes);
}

void fleet_block_set_attempt(const struct fleet_block *block, uint8_t *bytes, uint64_t attempt)
{
	struct perfdata_buffer number = {0};

	native_u64(&number, attempt);
	for (uint32_t i = 0; block->attempt && !number.failed && i < block->rows; i++)
		memcpy(bytes + block->attempt + i * sizeof(attempt), number.bytes, sizeof(attempt));
	perfdata_buffer_free(&number);
}
