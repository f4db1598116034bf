// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers of the database, kept until they are written.  See restore.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/fleet/native.h"
#include "decoder/fleet/restored.h"

struct restore *restore_create(void)
{
	struct restore *restore = calloc(1, sizeof(*restore));

	if (!restore)
		return NULL;
	distinct_records_begin(&restore->records, sizeof(struct restored_record), sizeof(uint64_t));
	distinct_records_begin(&restore->binaries, sizeof(struct restored_binary),
			       sizeof(uint64_t));
	distinct_records_begin(&restore->chains, sizeof(struct restored_chain), sizeof(uint64_t));
	distinct_records_begin(&restore->events, sizeof(struct restored_event), sizeof(uint64_t));
	return restore;
}

void restore_free(struct restore *restore)
{
	if (!restore)
		return;
	free(restore->row);
	free(restore->record);
	free(restore->sorted);
	distinct_records_free(&restore->records);
	free(restore->count);
	distinct_bytes_free(&restore->texts);
	distinct_bytes_free(&restore->places);
	distinct_records_free(&restore->binaries);
	distinct_records_free(&restore->chains);
	distinct_records_free(&restore->events);
	free(restore);
}

/* A text of an answer: what follows a zero is not of it. */
static struct pesa_error *keep_text(struct distinct_bytes *texts, struct native_slice slice,
				    uint32_t *number)
{
	char text[RESTORED_TEXT_MAX + 1];
	size_t size = slice.size < RESTORED_TEXT_MAX ? slice.size : RESTORED_TEXT_MAX;

	memcpy(text, slice.bytes, size);
	text[size] = '\0';
	*number = distinct_text_get(texts, text);
	return *number == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

/* The record of a number, which is made if it is new. */
static struct pesa_error *refer(struct distinct_records *set, uint64_t number)
{
	if (number && distinct_records_get(set, &number) == DISTINCT_NONE)
		return pesa_error_no_memory();
	return NULL;
}

/* That of a number that was asked for; NULL: it was not, and nothing refers to it. */
static void *asked_for(struct distinct_records *set, uint64_t number)
{
	const uint32_t before = set->index.count;
	uint32_t index = distinct_records_get(set, &number);

	if (index == DISTINCT_NONE)
		return NULL;
	if (index >= before) {
		((struct restored_number *)distinct_records_at(set, index))->known = true;
		return NULL;
	}
	return distinct_records_at(set, index);
}

/* ---- Recordings ------------------------------------------------------------------------------ */

static const enum native_type recording_types[] = {
	NATIVE_STRING, NATIVE_STRING, NATIVE_U64,    NATIVE_U64, NATIVE_STRING, NATIVE_STRING,
	NATIVE_STRING, NATIVE_STRING, NATIVE_U64,    NATIVE_U64, NATIVE_U64,	NATIVE_U64,
	NATIVE_U64,    NATIVE_U64,    NATIVE_STRING, NATIVE_U32, NATIVE_U32,
};

/* Take what one of the two does not know from the other.  Returns whether they say the same. */
static bool join_text(const struct distinct_bytes *texts, uint32_t *into, uint32_t other)
{
	if (!*distinct_text_at(texts, *into))
		*into = other;
	return *into == other || !*distinct_text_at(texts, other);
}

/* Recordings whose end is lost know neither core nor host: they are added to the others, as by pesa
 * merge. */
static struct pesa_error *join(const struct distinct_bytes *texts, struct restored_recordings *all,
			       const struct restored_recordings *other)
{
	const struct restored_recordings before = *all;
	const bool same_arch = join_text(texts, &all->arch, other->arch);

	if (!join_text(texts, &all->capabilities, other->capabilities) || !same_arch)
		return pesa_error_create(
			PESA_ERROR_UNSUPPORTED,
			"recordings of different cores, whose cycles do not add up: %s (%s, host "
			"%s) and %s (%s, host %s); choose one with service=, cpu= or host=",
			distinct_text_at(texts, before.cpu), distinct_text_at(texts, before.arch),
			distinct_text_at(texts, before.host), distinct_text_at(texts, other->cpu),
			distinct_text_at(texts, other->arch), distinct_text_at(texts, other->host));
	join_text(texts, &all->host, other->host);
	join_text(texts, &all->cpu, other->cpu);
	join_text(texts, &all->cpu_id, other->cpu_id);
	join_text(texts, &all->cmdline, other->cmdline);
	all->services = join_text(texts, &all->service, other->service)
				? all->services > other->services ? all->services : other->services
				: all->services + other->services;
	all->count += other->count;
	all->hosts += other->hosts;
	all->lost += other->lost;
	all->left_out += other->left_out;
	all->damaged_records += other->damaged_records;
	all->damaged_bytes += other->damaged_bytes;
	all->samples += other->samples;
	all->begin = all->begin < other->begin ? all->begin : other->begin;
	all->end = all->end > other->end ? all->end : other->end;
	return NULL;
}

static struct pesa_error *take_recording(struct restore *restore, const struct native_block *block,
					 size_t row)
{
	struct restored_recordings *all = &restore->recordings, other = {0};
	struct restored_recordings *into = all->count ? &other : all;
	struct pesa_error *error =
		keep_text(&restore->texts, native_string(block, 0, row), &into->arch);

	if (!error)
		error = keep_text(&restore->texts, native_string(block, 1, row),
				  &into->capabilities);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 4, row), &into->host);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 5, row), &into->cpu);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 6, row), &into->cpu_id);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 7, row), &into->cmdline);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 14, row), &into->service);
	if (error)
		return error;
	into->count = native_number(block, 2, row);
	into->hosts = native_number(block, 3, row);
	into->lost = native_number(block, 8, row);
	into->left_out = native_number(block, 9, row);
	into->damaged_records = native_number(block, 10, row);
	into->damaged_bytes = native_number(block, 11, row);
	into->samples = native_number(block, 12, row);
	into->services = native_number(block, 13, row);
	into->begin = (uint32_t)native_number(block, 15, row);
	into->end = (uint32_t)native_number(block, 16, row);
	return into == &other ? join(&restore->texts, all, &other) : NULL;
}

static const enum native_type count_types[] = {NATIVE_STRING, NATIVE_U64};

static struct pesa_error *take_count(struct restore *restore, const struct native_block *block,
				     size_t row)
{
	struct fleet_count *grown;

	if (restore->counts == RESTORED_COUNTS_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the recordings have more than %d names of counts",
					 RESTORED_COUNTS_MAX);
	grown = reallocarray(restore->count, restore->counts + 1, sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	restore->count = grown;
	restore->count[restore->counts].value = native_number(block, 1, row);
	return keep_text(&restore->texts, native_string(block, 0, row),
			 &restore->count[restore->counts++].name);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static const enum native_type sample_types[] = {NATIVE_U64, NATIVE_U64, NATIVE_U64, NATIVE_DOUBLE,
						NATIVE_U64};

static struct pesa_error *make_room(struct restore *restore)
{
	size_t room = restore->room ? 2 * restore->room : 1024;
	struct fleet_row *rows;
	uint64_t *records;

	if (restore->rows < restore->room)
		return NULL;
	rows = reallocarray(restore->row, room, sizeof(*rows));
	if (!rows)
		return pesa_error_no_memory();
	restore->row = rows;
	records = reallocarray(restore->record, room, sizeof(*records));
	if (!records)
		return pesa_error_no_memory();
	restore->record = records;
	restore->room = room;
	return NULL;
}

static struct pesa_error *take_row(struct restore *restore, const struct native_block *block,
				   size_t at)
{
	struct pesa_error *error = make_room(restore);
	struct fleet_row *row;

	if (error)
		return error;
	row = &restore->row[restore->rows];
	*row = (struct fleet_row){
		.samples = native_number(block, 1, at),
		.periods = native_number(block, 2, at),
		.periods_squared = native_number_double(block, 3, at),
		.lost = native_number(block, 4, at),
	};
	if (!row->samples || !(row->periods_squared >= 0))
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database has a row that no recording has (%" PRIu64
					 " samples)",
					 row->samples);
	restore->record[restore->rows] = native_number(block, 0, at);
	if (distinct_records_get(&restore->records, &restore->record[restore->rows]) ==
	    DISTINCT_NONE)
		return pesa_error_no_memory();
	restore->samples += row->samples;
	restore->rows++;
	return NULL;
}

/* ---- What numbers stand for ------------------------------------------------------------------ */

static const enum native_type record_types[] = {
	NATIVE_U64, NATIVE_U64, NATIVE_U8,     NATIVE_U8,     NATIVE_U16, NATIVE_U64,
	NATIVE_U64, NATIVE_U64, NATIVE_U64,    NATIVE_U64,    NATIVE_U64, NATIVE_U64,
	NATIVE_U64, NATIVE_U64, NATIVE_STRING, NATIVE_STRING,
};

static struct fleet_place place_at(const struct native_block *block, unsigned int column,
				   size_t row)
{
	return (struct fleet_place){native_number(block, column, row),
				    native_number(block, column + 1, row)};
}

static struct pesa_error *take_record(struct restore *restore, const struct native_block *block,
				      size_t at)
{
	struct restored_record *record = asked_for(&restore->records, native_number(block, 0, at));
	struct fleet_key *key;
	struct pesa_error *error;

	if (!record)
		return NULL;
	key = &record->key;
	*key = (struct fleet_key){.event = native_number(block, 1, at),
				  .kind = (uint8_t)native_number(block, 2, at),
				  .xlen = (uint8_t)native_number(block, 3, at),
				  .flags = (uint16_t)native_number(block, 4, at),
				  .details = native_number(block, 5, at),
				  .pc = place_at(block, 6, at),
				  .target = {place_at(block, 8, at), place_at(block, 10, at)},
				  .branches = native_number(block, 12, at),
				  .chain = native_number(block, 13, at)};
	if ((key->kind & ~FLEET_EXACT_PC) >= PESA_COUNTED_KINDS ||
	    (key->xlen != 32 && key->xlen != 64))
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database has a record that no recording has (kind "
					 "%u, xlen %u)",
					 key->kind, key->xlen);
	error = keep_text(&restore->texts, native_string(block, 14, at), &key->process);
	if (!error)
		error = keep_text(&restore->texts, native_string(block, 15, at), &key->thread);
	if (!error)
		error = refer(&restore->events, key->event);
	if (!error)
		error = refer(&restore->binaries, key->pc.binary);
	for (unsigned int i = 0; i < 2 && !error; i++)
		error = refer(&restore->binaries, key->target[i].binary);
	if (!error)
		error = refer(&restore->chains, key->branches);
	if (!error)
		error = refer(&restore->chains, key->chain);
	record->known = !error;
	return error;
}

const enum native_type restored_binary_types[RESTORED_BINARY_COLUMNS] = {
	NATIVE_U64, NATIVE_U8, NATIVE_STRING, NATIVE_STRING, NATIVE_U64};

static int digit(uint8_t character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

static struct pesa_error *take_build_id(struct restored_binary *binary, struct native_slice text)
{
	if (text.size % 2 || text.size > 2 * PESA_BUILD_ID_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database has a build id of %zu digits", text.size);
	for (size_t i = 0; i < text.size; i += 2) {
		int high = digit(text.bytes[i]), low = digit(text.bytes[i + 1]);

		if (high < 0 || low < 0)
			return pesa_error_create(PESA_ERROR_FORMAT,
						 "the database has a build id that is no "
						 "hexadecimal number");
		binary->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	binary->build_id_size = (uint8_t)(text.size / 2);
	return NULL;
}

struct pesa_error *restored_binary_read(const struct native_block *block, size_t row,
					struct distinct_bytes *texts,
					struct restored_binary *binary)
{
	struct pesa_error *error;

	binary->kind = (uint8_t)native_number(block, 1, row);
	binary->base = native_number(block, 4, row);
	error = take_build_id(binary, native_string(block, 2, row));
	return error ? error : keep_text(texts, native_string(block, 3, row), &binary->path);
}

static struct pesa_error *take_binary(struct restore *restore, const struct native_block *block,
				      size_t row)
{
	struct restored_binary *binary =
		asked_for(&restore->binaries, native_number(block, 0, row));
	struct pesa_error *error;

	if (!binary)
		return NULL;
	error = restored_binary_read(block, row, &restore->texts, binary);
	binary->known = !error;
	return error;
}

static const enum native_type chain_types[] = {NATIVE_U64, NATIVE_U64_LIST, NATIVE_U64_LIST};

static struct pesa_error *take_chain(struct restore *restore, const struct native_block *block,
				     size_t row)
{
	struct restored_chain *chain = asked_for(&restore->chains, native_number(block, 0, row));
	struct fleet_place place[RESTORED_CHAIN_MAX];
	size_t binary, offset, count = native_list(block, 1, row, &binary);
	struct pesa_error *error = NULL;

	if (!chain)
		return NULL;
	if (native_list(block, 2, row, &offset) != count || count > RESTORED_CHAIN_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "the database has a call chain of %zu binaries that "
					 "is none, or too long",
					 count);
	for (size_t i = 0; i < count && !error; i++) {
		place[i].binary = native_list_number(block, 1, binary + i);
		place[i].offset = native_list_number(block, 2, offset + i);
		error = refer(&restore->binaries, place[i].binary);
	}
	if (error)
		return error;
	chain->place = distinct_bytes_get(&restore->places, place, count * sizeof(*place));
	chain->known = true;
	return chain->place == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

static const enum native_type event_types[] = {NATIVE_U64, NATIVE_STRING, NATIVE_U32, NATIVE_U64,
					       NATIVE_U64, NATIVE_U8,	  NATIVE_U8};

static struct pesa_error *take_event(struct restore *restore, const struct native_block *block,
				     size_t row)
{
	struct restored_event *event = asked_for(&restore->events, native_number(block, 0, row));

	if (!event)
		return NULL;
	event->event.type = (uint32_t)native_number(block, 2, row);
	event->event.config = native_number(block, 3, row);
	event->event.period = native_number(block, 4, row);
	event->event.is_frequency = native_number(block, 5, row);
	event->event.precise = (uint8_t)native_number(block, 6, row);
	event->known = true;
	return keep_text(&restore->texts, native_string(block, 1, row), &event->event.name);
}

/* ---- Answers --------------------------------------------------------------------------------- */

#define TYPES(types) types, sizeof(types) / sizeof(*(types))

struct pesa_error *restore_take(struct restore *restore, enum restore_answer answer,
				const void *bytes, size_t size)
{
	static const struct {
		const enum native_type *types;
		unsigned int columns;
		struct pesa_error *(*take)(struct restore *restore,
					   const struct native_block *block, size_t row);
	} answers[] = {
		[RESTORE_RECORDINGS] = {TYPES(recording_types), take_recording},
		[RESTORE_COUNTS] = {TYPES(count_types), take_count},
		[RESTORE_SAMPLES] = {TYPES(sample_types), take_row},
		[RESTORE_RECORDS] = {TYPES(record_types), take_record},
		[RESTORE_BINARIES] = {TYPES(restored_binary_types), take_binary},
		[RESTORE_CHAINS] = {TYPES(chain_types), take_chain},
		[RESTORE_EVENTS] = {TYPES(event_types), take_event},
	};
	struct native_reader reader = native_begin_reading(bytes, size);
	struct native_block block;
	struct pesa_error *error = NULL;
	bool any = true;

	while (any && !error) {
		error = native_read(&reader, answers[answer].types, answers[answer].columns, &block,
				    &any);
		for (size_t i = 0; i < block.rows && any && !error; i++)
			error = answers[answer].take(restore, &block, i);
		native_block_free(&block);
	}
	return error;
}

static int ascending(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Ascending, so that each query reads a part of the table, which is in that order, and not all of it. */
static long wanted_records(struct restore *restore, uint64_t *numbers, size_t room)
{
	const size_t count = restore->records.index.count;
	size_t given = count - restore->asked_records;

	if (!restore->sorted) {
		restore->sorted = calloc(count ? count : 1, sizeof(*restore->sorted));
		if (!restore->sorted)
			return -1;
		for (size_t i = 0; i < count; i++)
			memcpy(&restore->sorted[i],
			       distinct_records_at(&restore->records, (uint32_t)i),
			       sizeof(*restore->sorted));
		qsort(restore->sorted, count, sizeof(*restore->sorted), ascending);
	}
	given = given < room ? given : room;
	memcpy(numbers, restore->sorted + restore->asked_records, given * sizeof(*numbers));
	restore->asked_records += given;
	return (long)given;
}

long restore_wanted(struct restore *restore, enum restore_answer answer, uint64_t *numbers,
		    size_t room)
{
	struct distinct_records *set = answer == RESTORE_BINARIES ? &restore->binaries
				       : answer == RESTORE_CHAINS ? &restore->chains
								  : &restore->events;
	uint32_t *asked = answer == RESTORE_BINARIES ? &restore->asked_binaries
			  : answer == RESTORE_CHAINS ? &restore->asked_chains
						     : &restore->asked_events;
	size_t count = 0;

	if (answer == RESTORE_RECORDS)
		return wanted_records(restore, numbers, room);
	while (*asked < set->index.count && count < room)
		memcpy(&numbers[count++], distinct_records_at(set, (*asked)++), sizeof(*numbers));
	return (long)count;
}

struct restore_totals restore_totals(const struct restore *restore)
{
	return (struct restore_totals){.recordings = restore->recordings.count,
				       .hosts = restore->recordings.hosts,
				       .samples = restore->samples,
				       .rows = restore->rows};
}
