// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/binary/jitdump.h"
#include "decoder/base/read_file.h"

#define MAGIC	       0x4a695444u
#define MAGIC_SWAPPED  0x4454694au
#define VERSION	       1u
#define ARCH_TIMESTAMP 1u /* flag in the header */

enum record {
	CODE_LOAD,
	CODE_MOVE,
	CODE_DEBUG_INFO,
	CODE_CLOSE,
	CODE_UNWINDING_INFO,
};

/* Sizes of the fixed parts, bytes. */
#define FILE_HEADER    40u
#define RECORD_HEADER  16u
#define LOAD_HEADER    40u
#define MOVE_HEADER    48u
#define DEBUG_HEADER   16u
#define LINE_HEADER    16u
#define SAME_AS_BEFORE "\xff" /* as file name: same as in the previous entry */

/* The function that has an index at present. */
struct by_index {
	uint64_t index;
	uint32_t function;
	UT_hash_handle hh;
};

struct parser {
	struct pesa_jitdump *dump;
	struct by_index *by_index;
	size_t function_room, event_room, lines, line_room;
	/* The lines from `first_line` on belong to the next function. */
	bool has_debug;
	uint64_t debug_address;
	size_t first_line;
};

/* The unparsed bytes of a record. */
struct rest {
	const uint8_t *at;
	size_t size;
};

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static void skip(struct rest *rest, size_t size)
{
	rest->at += size;
	rest->size -= size;
}

/* A terminated string; NULL: not terminated within the record. */
static const char *take_string(struct rest *rest)
{
	const uint8_t *text = rest->at, *end = rest->size ? memchr(text, 0, rest->size) : NULL;

	if (!end)
		return NULL;
	skip(rest, (size_t)(end - text) + 1);
	return (const char *)text;
}

/* Make room for one more element.  False: out of memory. */
static bool room_for_one(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 64;
	void **place = array, *grown;

	if (count < *room)
		return true;
	grown = realloc(*place, wanted * size);
	if (!grown)
		return false;
	*place = grown;
	*room = wanted;
	return true;
}

/* ---- Records: functions return false if out of memory ---------------------------------------- */

static bool damaged(struct parser *parser)
{
	parser->dump->damaged_records++;
	return true;
}

static bool add_event(struct parser *parser, uint64_t time, uint64_t address, uint32_t function)
{
	struct pesa_jitdump *dump = parser->dump;

	if (!room_for_one(&dump->event, dump->events, &parser->event_room, sizeof(*dump->event)))
		return false;
	dump->event[dump->events] = (struct pesa_jitdump_event){
		.time = time,
		.address = address,
		.function = function,
		.order = (uint32_t)dump->events,
	};
	dump->events++;
	return true;
}

static bool set_index(struct parser *parser, uint64_t index, uint32_t function)
{
	struct by_index *entry, *found;

	HASH_FIND(hh, parser->by_index, &index, sizeof(index), entry);
	if (entry) {
		entry->function = function;
		return true;
	}
	entry = malloc(sizeof(*entry));
	if (!entry)
		return false;
	*entry = (struct by_index){.index = index, .function = function};
	HASH_ADD(hh, parser->by_index, index, sizeof(entry->index), entry);
	HASH_FIND(hh, parser->by_index, &index, sizeof(index), found);
	if (found == entry)
		return true;
	free(entry); /* out of memory in uthash */
	return false;
}

static bool is_user_code(uint64_t address, uint64_t size)
{
	return size && address <= INT64_MAX && size <= INT64_MAX - address;
}

/* Only records of the process itself are used. */
static bool is_own(struct parser *parser, const uint8_t *record)
{
	if (read_u32(record) == parser->dump->pid)
		return true;
	parser->dump->foreign_records++;
	return false;
}

/* Drop lines that belong to a skipped function. */
static void drop_lines(struct parser *parser)
{
	parser->lines = parser->first_line;
	parser->has_debug = false;
}

static bool add_function(struct parser *parser, uint64_t time, uint64_t address,
			 struct pesa_jitdump_function *function)
{
	struct pesa_jitdump *dump = parser->dump;
	uint32_t number = (uint32_t)dump->functions;

	if (!parser->has_debug || parser->debug_address != address)
		drop_lines(parser);
	function->lines = parser->lines - parser->first_line;
	parser->first_line = parser->lines;
	parser->has_debug = false;
	if (!room_for_one(&dump->function, dump->functions, &parser->function_room,
			  sizeof(*dump->function)))
		return false;
	dump->function[dump->functions++] = *function;
	return set_index(parser, function->index, number) &&
	       add_event(parser, time, address, number);
}

/* Fields: pid, tid, link address, address, size, index; then name and bytes. */
static bool take_load(struct parser *parser, uint64_t time, struct rest rest)
{
	const uint8_t *header = rest.at;
	struct pesa_jitdump_function function = {0};
	uint64_t address = 0;

	if (rest.size >= LOAD_HEADER) {
		address = read_u64(header + 16);
		function.size = read_u64(header + 24);
		function.index = read_u64(header + 32);
		skip(&rest, LOAD_HEADER);
		function.name = take_string(&rest);
		function.code = rest.at;
	}
	if (!function.name || rest.size < function.size || !is_user_code(address, function.size)) {
		drop_lines(parser);
		return damaged(parser);
	}
	if (is_own(parser, header))
		return add_function(parser, time, address, &function);
	drop_lines(parser);
	return true;
}

/* Fields: pid, tid, link address, old address, new address, size, index. */
static bool take_move(struct parser *parser, uint64_t time, struct rest rest)
{
	struct by_index *entry = NULL;
	uint64_t index, address;

	if (rest.size < MOVE_HEADER)
		return damaged(parser);
	if (!is_own(parser, rest.at))
		return true;
	address = read_u64(rest.at + 24);
	index = read_u64(rest.at + 40);
	HASH_FIND(hh, parser->by_index, &index, sizeof(index), entry);
	if (!entry || !is_user_code(address, parser->dump->function[entry->function].size))
		return damaged(parser);
	return add_event(parser, time, address, entry->function);
}

/* Fields: address of the code, number of lines; for each its address, line, discriminator, file. */
static bool take_debug(struct parser *parser, struct rest rest)
{
	struct pesa_jitdump *dump = parser->dump;
	const char *file = NULL;
	uint64_t count;

	drop_lines(parser); /* earlier lines without a function */
	if (rest.size < DEBUG_HEADER)
		return damaged(parser);
	parser->debug_address = read_u64(rest.at);
	count = read_u64(rest.at + 8);
	skip(&rest, DEBUG_HEADER);
	for (; count; count--) {
		struct pesa_jitdump_line *line;
		const uint8_t *header = rest.at;
		const char *name;

		if (rest.size < LINE_HEADER)
			return damaged(parser);
		skip(&rest, LINE_HEADER);
		name = take_string(&rest);
		if (name && strcmp(name, SAME_AS_BEFORE))
			file = name;
		if (!name || !file)
			return damaged(parser);
		if (!room_for_one(&dump->all_lines, parser->lines, &parser->line_room,
				  sizeof(*dump->all_lines)))
			return false;
		line = &dump->all_lines[parser->lines];
		line->offset = read_u64(header) - parser->debug_address;
		line->line = read_u32(header + 8);
		line->order = (uint32_t)parser->lines++;
		line->file = file;
	}
	parser->has_debug = true;
	return true;
}

static bool take_record(struct parser *parser, uint32_t id, uint64_t time, struct rest rest)
{
	switch (id) {
	case CODE_LOAD:
		return take_load(parser, time, rest);
	case CODE_MOVE:
		return take_move(parser, time, rest);
	case CODE_DEBUG_INFO:
		return take_debug(parser, rest);
	case CODE_CLOSE:
	case CODE_UNWINDING_INFO:
		return true;
	default:
		return damaged(parser);
	}
}

static bool take_records(struct parser *parser, struct rest rest)
{
	while (rest.size) {
		uint32_t size = rest.size < RECORD_HEADER ? 0 : read_u32(rest.at + 4);

		if (size < RECORD_HEADER || size > rest.size) {
			parser->dump->damaged_bytes = rest.size;
			break;
		}
		if (!take_record(parser, read_u32(rest.at), read_u64(rest.at + 8),
				 (struct rest){rest.at + RECORD_HEADER, size - RECORD_HEADER}))
			return false;
		skip(&rest, size);
	}
	return true;
}

/* ---- Parsing a file -------------------------------------------------------------------------- */

static int compare_lines(const void *left, const void *right)
{
	const struct pesa_jitdump_line *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_events(const void *left, const void *right)
{
	const struct pesa_jitdump_event *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(struct pesa_jitdump *dump)
{
	struct pesa_jitdump_line *line = dump->all_lines;

	for (size_t i = 0; i < dump->functions; i++) {
		struct pesa_jitdump_function *function = &dump->function[i];

		if (!function->lines)
			continue;
		qsort(line, function->lines, sizeof(*line), compare_lines);
		function->line = line;
		line += function->lines;
	}
	if (dump->events)
		qsort(dump->event, dump->events, sizeof(*dump->event), compare_events);
}

static struct pesa_error *take_header(struct pesa_jitdump *dump, struct rest *rest)
{
	uint32_t magic = rest->size < FILE_HEADER ? 0 : read_u32(rest->at), size;

	if (magic == MAGIC_SWAPPED)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "is a jitdump of the other byte order, big endian: only "
					 "little endian is read");
	if (magic != MAGIC)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "is no jitdump, or cut off in its header");
	if (read_u32(rest->at + 4) != VERSION)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "is a jitdump of version %u: only version %u is read",
					 read_u32(rest->at + 4), VERSION);
	size = read_u32(rest->at + 8);
	if (size < FILE_HEADER || size > rest->size)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "is a jitdump whose header has %u bytes, of %zu in all",
					 size, rest->size);
	dump->machine = read_u32(rest->at + 12);
	dump->pid = read_u32(rest->at + 20);
	dump->arch_clock = read_u64(rest->at + 32) & ARCH_TIMESTAMP;
	skip(rest, size);
	return NULL;
}

struct pesa_error *pesa_jitdump_parse(char *bytes, size_t size, struct pesa_jitdump **result)
{
	struct pesa_jitdump *dump = calloc(1, sizeof(*dump));
	struct parser parser = {.dump = dump};
	struct rest rest = {(const uint8_t *)bytes, size};
	struct by_index *entry, *next;
	struct pesa_error *error;

	if (!dump) {
		free(bytes);
		return pesa_error_no_memory();
	}
	dump->bytes = bytes;
	dump->size = size;
	error = take_header(dump, &rest);
	if (!error && !take_records(&parser, rest))
		error = pesa_error_no_memory();
	HASH_ITER(hh, parser.by_index, entry, next)
	{
		HASH_DEL(parser.by_index, entry);
		free(entry);
	}
	if (error) {
		pesa_jitdump_free(dump);
		return error;
	}
	sort(dump);
	*result = dump;
	return NULL;
}

struct pesa_error *pesa_jitdump_load(const char *path, struct pesa_jitdump **dump)
{
	struct pesa_error *error;
	char *bytes;
	size_t size;

	error = pesa_read_foreign_file(path, true, &bytes, &size);
	if (error)
		return error;
	return pesa_error_prefix(pesa_jitdump_parse(bytes, size, dump), "%s: ", path);
}

void pesa_jitdump_free(struct pesa_jitdump *dump)
{
	if (!dump)
		return;
	free(dump->function);
	free(dump->event);
	free(dump->all_lines);
	free(dump->bytes);
	free(dump);
}

const struct pesa_jitdump_line *pesa_jitdump_line_at(const struct pesa_jitdump_function *function,
						     uint64_t offset)
{
	size_t low = 0, high = function->lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function->line[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &function->line[low - 1] : NULL;
}
