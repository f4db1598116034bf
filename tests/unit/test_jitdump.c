// SPDX-License-Identifier: GPL-2.0-or-later
/* What compilers write of code that they make at run time: dumps, and profiles that have them. */
#include <elf.h>
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "decoder/binary/functions.h"
#include "decoder/binary/jitdump.h"
#include "pesa/perfdata.h"
#include "pesa/profile.h"
#include "pesa/space.h"
#include "pesa/symbols.h"
#include "tests/temporary_folder.h"

/* ---- Dumps that are built -------------------------------------------------------------------- */

struct built {
	unsigned char bytes[32768];
	size_t size, record; /* where the last record starts */
};

static void add(struct built *built, const void *bytes, size_t size)
{
	assert_true(built->size + size <= sizeof(built->bytes));
	memcpy(built->bytes + built->size, bytes, size);
	built->size += size;
}

static void add_u32(struct built *built, uint32_t value)
{
	value = htole32(value);
	add(built, &value, sizeof(value));
}

static void add_u64(struct built *built, uint64_t value)
{
	value = htole64(value);
	add(built, &value, sizeof(value));
}

static void add_string(struct built *built, const char *text)
{
	add(built, text, strlen(text) + 1);
}

static void header(struct built *built, uint64_t flags)
{
	add_u32(built, 0x4a695444);
	add_u32(built, 1);
	add_u32(built, 40);
	add_u32(built, EM_RISCV);
	add_u32(built, 0);
	add_u32(built, 7);
	add_u64(built, 1);
	add_u64(built, flags);
}

static void record(struct built *built, uint32_t id, uint64_t time)
{
	built->record = built->size;
	add_u32(built, id);
	add_u32(built, 0);
	add_u64(built, time);
}

static void end_record(struct built *built)
{
	uint32_t size = htole32((uint32_t)(built->size - built->record));

	memcpy(built->bytes + built->record + 4, &size, sizeof(size));
}

static void load_for(struct built *built, uint32_t pid, uint64_t time, uint64_t address,
		     uint64_t index, const char *name, const char *code)
{
	record(built, 0, time);
	add_u32(built, pid);
	add_u32(built, pid);
	add_u64(built, address);
	add_u64(built, address);
	add_u64(built, strlen(code));
	add_u64(built, index);
	add_string(built, name);
	add(built, code, strlen(code));
	end_record(built);
}

static void load(struct built *built, uint64_t time, uint64_t address, uint64_t index,
		 const char *name, const char *code)
{
	load_for(built, 7, time, address, index, name, code);
}

static void move(struct built *built, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		 uint64_t index)
{
	record(built, 1, time);
	add_u32(built, 7);
	add_u32(built, 7);
	add_u64(built, to);
	add_u64(built, from);
	add_u64(built, to);
	add_u64(built, size);
	add_u64(built, index);
	end_record(built);
}

/* Lines of FILE: pairs of offset and line; the name stands at the first only. */
static void lines(struct built *built, uint64_t address, const char *file, unsigned int count,
		  const unsigned int (*line)[2])
{
	record(built, 2, 0);
	add_u64(built, address);
	add_u64(built, count);
	for (unsigned int i = 0; i < count; i++) {
		add_u64(built, address + line[i][0]);
		add_u32(built, line[i][1]);
		add_u32(built, 0);
		add_string(built, i ? "\xff" : file);
	}
	end_record(built);
}

static struct pesa_jitdump *parse(const struct built *built, size_t size)
{
	struct pesa_jitdump *dump;
	char *bytes = malloc(size ? size : 1);

	assert_non_null(bytes);
	memcpy(bytes, built->bytes, size);
	assert_null(pesa_jitdump_parse(bytes, size, &dump));
	return dump;
}

static void is_refused(const struct built *built, size_t size, const char *why)
{
	struct pesa_jitdump *dump;
	struct pesa_error *error;
	char *bytes = malloc(size ? size : 1);

	assert_non_null(bytes);
	memcpy(bytes, built->bytes, size);
	error = pesa_jitdump_parse(bytes, size, &dump);
	assert_non_null(error);
	assert_non_null(strstr(error->message, why));
	assert_null(strchr(error->message, '\n'));
	pesa_error_free(error);
}

/* One of everything. */
static void build_all(struct built *built)
{
	static const unsigned int line[][2] = {{4, 11}, {0, 10}, {8, 12}};

	*built = (struct built){0};
	header(built, 0);
	lines(built, 0x1000, "a.js", 3, line);
	load(built, 20, 0x1000, 0, "first", "AAAABBBBCCCC");
	load(built, 10, 0x2000, 1, "second", "DDDD");
	move(built, 30, 0x1000, 0x3000, 12, 0);
	record(built, 4, 31); /* unwinding information, which is passed over */
	add_u64(built, 0);
	end_record(built);
	record(built, 3, 40);
	end_record(built);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void functions_lines_and_moves_are_read(void **state)
{
	struct built built;
	struct pesa_jitdump *dump;

	(void)state;
	build_all(&built);
	dump = parse(&built, built.size);
	assert_int_equal(dump->machine, EM_RISCV);
	assert_int_equal(dump->pid, 7);
	assert_false(dump->arch_clock);
	assert_int_equal(dump->functions, 2);
	assert_string_equal(dump->function[0].name, "first");
	assert_int_equal(dump->function[0].size, 12);
	assert_memory_equal(dump->function[0].code, "AAAABBBBCCCC", 12);
	assert_string_equal(dump->function[1].name, "second");
	/* By time. */
	assert_int_equal(dump->events, 3);
	assert_int_equal(dump->event[0].function, 1);
	assert_int_equal(dump->event[1].function, 0);
	assert_int_equal(dump->event[1].address, 0x1000);
	assert_int_equal(dump->event[2].function, 0);
	assert_int_equal(dump->event[2].address, 0x3000);
	assert_int_equal(dump->damaged_records + dump->damaged_bytes + dump->foreign_records, 0);
	assert_int_equal(pesa_jitdump_line_at(&dump->function[0], 3)->line, 10);
	assert_int_equal(pesa_jitdump_line_at(&dump->function[0], 4)->line, 11);
	assert_int_equal(pesa_jitdump_line_at(&dump->function[0], 11)->line, 12);
	assert_string_equal(pesa_jitdump_line_at(&dump->function[0], 11)->file, "a.js");
	assert_null(pesa_jitdump_line_at(&dump->function[1], 0));
	pesa_jitdump_free(dump);
}

static void what_is_no_dump_is_one_line(void **state)
{
	struct built built;

	(void)state;
	build_all(&built);
	for (size_t size = 0; size < 40; size++)
		is_refused(&built, size, "is no jitdump, or cut off");
	built.bytes[8] = 39;
	is_refused(&built, built.size, "header has 39 bytes");
	built.bytes[11] = 0x7f;
	is_refused(&built, built.size, "whose header has");
	build_all(&built);
	built.bytes[4] = 2;
	is_refused(&built, built.size, "version 2");
	memcpy(built.bytes, "JiTD", 4); /* as a machine of the other order writes it */
	is_refused(&built, built.size, "big endian");
}

static void a_dump_that_is_cut_off_is_used_as_far_as_it_goes(void **state)
{
	struct built built;
	struct pesa_jitdump *whole;

	(void)state;
	build_all(&built);
	whole = parse(&built, built.size);
	for (size_t size = 40; size < built.size; size++) {
		struct pesa_jitdump *dump = parse(&built, size);
		size_t at = 40, events = 0;

		/* Records that are whole, by another way of counting. */
		while (at + 16 <= size) {
			uint32_t id, record_size;

			memcpy(&id, built.bytes + at, 4);
			memcpy(&record_size, built.bytes + at + 4, 4);
			if (at + le32toh(record_size) > size)
				break;
			at += le32toh(record_size);
			events += le32toh(id) < 2;
		}
		assert_int_equal(dump->events, events);
		assert_int_equal(dump->damaged_bytes, size - at);
		assert_int_equal(dump->damaged_records, 0);
		pesa_jitdump_free(dump);
	}
	pesa_jitdump_free(whole);
}

/* Any byte may be anything; what comes out is within what was read. */
static void a_damaged_byte_is_no_crash(void **state)
{
	struct built whole, built;

	(void)state;
	build_all(&whole);
	for (size_t at = 0; at < whole.size; at++) {
		static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};

		for (size_t value = 0; value < sizeof(values); value++) {
			struct pesa_jitdump *dump;
			struct pesa_error *error;
			char *bytes = malloc(whole.size);

			assert_non_null(bytes);
			built = whole;
			built.bytes[at] = values[value];
			memcpy(bytes, built.bytes, whole.size);
			error = pesa_jitdump_parse(bytes, whole.size, &dump);
			if (error) {
				pesa_error_free(error);
				continue;
			}
			for (size_t i = 0; i < dump->functions; i++) {
				const struct pesa_jitdump_function *function = &dump->function[i];

				assert_true((const char *)function->code >= dump->bytes);
				assert_true(function->size <= whole.size);
				assert_true((const char *)function->code + function->size <=
					    dump->bytes + whole.size);
				assert_true(function->name + strlen(function->name) <
					    (const char *)function->code);
			}
			pesa_jitdump_free(dump);
		}
	}
}

static void hostile_records_are_passed_over_and_counted(void **state)
{
	struct built built = {0};
	struct pesa_jitdump *dump;
	uint64_t huge = UINT64_MAX;

	(void)state;
	header(&built, 1);
	load(&built, 1, 0x1000, 0, "size of code", "AAAA");
	memcpy(built.bytes + built.record + 40, &huge, sizeof(huge));
	load(&built, 2, UINT64_MAX - 1, 1, "wraps", "AAAA");
	load(&built, 3, UINT64_C(0xffffffff80000000), 2, "of the kernel", "AAAA");
	load(&built, 4, 0x1000, 3, "no code", "");
	record(&built, 0, 5); /* a name without an end */
	for (unsigned int i = 0; i < 4; i++)
		add_u64(&built, 0x700000007);
	add_u64(&built, 4);
	add(&built, "name", 4);
	end_record(&built);
	record(&built, 0, 6); /* too short */
	add_u32(&built, 7);
	end_record(&built);
	move(&built, 7, 0x1000, 0x2000, 4, 99); /* of code that never was */
	record(&built, 2, 8);			/* more lines than it has bytes */
	add_u64(&built, 0x5000);
	add_u64(&built, UINT64_MAX);
	add_u64(&built, 0x5000);
	end_record(&built);
	record(&built, 2, 9); /* the same file as before the first */
	add_u64(&built, 0x5000);
	add_u64(&built, 1);
	add_u64(&built, 0x5000);
	add_u64(&built, 1);
	add_string(&built, "\xff");
	end_record(&built);
	record(&built, 77, 10); /* of no kind that is known */
	end_record(&built);
	load_for(&built, 8, 11, 0x1000, 5, "of a child", "AAAA");
	load(&built, 12, 0x5000, 6, "good", "AAAA");
	dump = parse(&built, built.size);
	assert_true(dump->arch_clock);
	assert_int_equal(dump->damaged_records, 10);
	assert_int_equal(dump->foreign_records, 1);
	assert_int_equal(dump->damaged_bytes, 0);
	assert_int_equal(dump->functions, 1);
	assert_string_equal(dump->function[0].name, "good");
	assert_int_equal(dump->function[0].lines, 0);
	pesa_jitdump_free(dump);
	/* A size that leads nowhere ends it. */
	memset(built.bytes + 44, 0, 4);
	dump = parse(&built, built.size);
	assert_int_equal(dump->functions, 0);
	assert_int_equal(dump->damaged_bytes, built.size - 40);
	pesa_jitdump_free(dump);
}

static void dumps_are_known_by_their_names(void **state)
{
	(void)state;
	assert_true(pesa_jitdump_is_name("/var/cache/jit/llvm/jit-12.dump"));
	assert_true(pesa_jitdump_is_name("jit-1.dump"));
	assert_false(pesa_jitdump_is_name("/tmp/jit-.dump"));
	assert_false(pesa_jitdump_is_name("/tmp/jit-1.dump (deleted)"));
	assert_false(pesa_jitdump_is_name("/tmp/my-jit-1.dump"));
	assert_false(pesa_jitdump_is_name("/tmp/jit-1.dump/file"));
	assert_false(pesa_jitdump_is_name(""));
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void functions_do_not_overlap(void **state)
{
	struct pesa_functions *functions = pesa_functions_create();
	const struct pesa_jitdump_function one = {
		.name = "_ZN4test3oneEv", .code = (const uint8_t *)"AAAAAAAA", .size = 8};
	const struct pesa_jitdump_function again = {
		.name = "_ZN4test3oneEv", .code = (const uint8_t *)"AAAAAAAA", .size = 8};
	const struct pesa_jitdump_function two = {
		.name = "two", .code = (const uint8_t *)"AAAAAAAA", .size = 8};
	const struct pesa_symbol *found[4];

	(void)state;
	assert_non_null(functions);
	for (uint64_t at = 0x1000; at < 0x1400; at += 16)
		assert_null(pesa_functions_add(functions, at, at % 32 ? &two : &one));
	assert_int_equal(pesa_functions_first(functions, 0x1009, 0x1300)->symbol.start, 0x1010);
	assert_int_equal(pesa_functions_first(functions, 0x1007, 0x1300)->symbol.start, 0x1000);
	assert_int_equal(pesa_functions_first(functions, 0, UINT64_MAX)->symbol.start, 0x1000);
	assert_null(pesa_functions_first(functions, 0x1008, 0x1010));
	assert_null(pesa_functions_first(functions, 0x1010, 0x1010));
	assert_true(pesa_functions_agree(functions, 0x1000, &again));
	assert_false(pesa_functions_agree(functions, 0x1000, &two));
	assert_false(pesa_functions_agree(functions, 0x1004, &one));
	assert_true(pesa_functions_agree(functions, 0x1008, &one));
	assert_int_equal(pesa_functions_by_name(functions, "two", found, 4), 4);
	assert_int_equal(pesa_functions_by_name(functions, "test::one()", found, 4), 4);
	pesa_functions_free(functions);
}

/* ---- Profiles -------------------------------------------------------------------------------- */

#define DUMP "jit-7.dump"
/* At these times the tests take samples. */
#define SAMPLES 8

struct wanted {
	bool clock;	 /* the dump's */
	const char *map; /* at time 250, over the code; NULL: none */
};

static void write_dump(const struct built *built)
{
	FILE *file = fopen(DUMP, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(built->bytes, 1, built->size, file), built->size);
	fclose(file);
}

/* Samples at 100, 200, ... of one address, in a process that maps the dump. */
static void write_recording(const struct wanted *wanted, uint64_t address)
{
	struct pesa_perfdata_writer_attribute attribute = {
		.attr = {.type = PERF_TYPE_HARDWARE,
			 .size = sizeof(struct perf_event_attr),
			 .sample_period = 1,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			 .sample_id_all = 1,
			 .use_clockid = wanted->clock,
			 .clockid = wanted->clock ? CLOCK_MONOTONIC : 0},
		.name = "cycles",
	};
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute, .attribute_count = 1, .arch = "riscv64"};
	struct pesa_perfdata_writer *writer;
	struct pesa_mmap marker = {.pid = 7, .tid = 7, .address = 0x90000, .length = 4096};
	struct pesa_mmap memory = {
		.pid = 7, .tid = 7, .address = 0x1000, .length = 0x4000, .offset = 0x1000};
	char path[4096];

	assert_non_null(getcwd(path, sizeof(path) - sizeof("/" DUMP)));
	strcat(path, "/" DUMP);
	marker.path = path;
	memory.path = wanted->map;
	assert_null(pesa_perfdata_writer_create("perf.data", &options, &writer));
	assert_null(pesa_perfdata_write_mmap(writer, &marker, 50));
	for (unsigned int i = 1; i <= SAMPLES; i++) {
		struct pesa_sample sample = {.ip = address, .pid = 7, .tid = 7, .time = 100 * i};

		if (wanted->map && i == 3)
			assert_null(pesa_perfdata_write_mmap(writer, &memory, 250));
		assert_null(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
	}
	assert_null(pesa_perfdata_writer_finish(writer));
}

/* "SAMPLES:NAME:LINE:TEXT ..." of what is at the address, as a profile tells it. */
static const char *profile_of(uint64_t address, const char *problem)
{
	static char text[512];
	struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	size_t length = 0;
	const struct pesa_spaces *spaces;

	assert_null(pesa_profile_load("perf.data", NULL, &profile));
	assert_null(pesa_symbols_create(profile, NULL, &symbols));
	text[0] = 0;
	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(profile, i);
		const struct pesa_symbol *symbol;
		struct pesa_source source;
		char code[5] = "";

		assert_null(pesa_symbols_find(symbols, instruction->dso, instruction->address,
					      &symbol));
		assert_null(pesa_symbols_source(symbols, instruction->dso, instruction->address,
						&source));
		assert_int_equal(instruction->address, address);
		pesa_profile_text(profile, instruction->dso, address, code, 4);
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u:%s:%u:%s",
					   length ? " " : "", (unsigned int)instruction->samples,
					   symbol ? symbol->name : "", source.line, code);
	}
	spaces = pesa_profile_spaces(profile);
	assert_int_equal(pesa_spaces_dump_count(spaces), 1);
	if (problem)
		assert_non_null(strstr(pesa_spaces_dump(spaces, 0).problem, problem));
	else
		assert_null(pesa_spaces_dump(spaces, 0).problem);
	pesa_symbols_free(symbols);
	pesa_profile_free(profile);
	return text;
}

static void functions_are_named_by_time(void **state)
{
	static const unsigned int line[][2] = {{0, 5}, {4, 6}};
	struct built built = {0};

	(void)state;
	header(&built, 0);
	lines(&built, 0x1000, "a.js", 2, line);
	load(&built, 150, 0x1000, 0, "old", "AAAABBBB");
	load(&built, 450, 0x1000, 1, "new", "CCCCDDDD");
	load(&built, 650, 0x1000, 2, "old again", "AAAABBBB");
	move(&built, 750, 0x1000, 0x1000, 8, 1);
	write_dump(&built);
	/* Nothing was there, old twice or more, new, old again, new. */
	write_recording(&(struct wanted){.clock = true}, 0x1004);
	assert_string_equal(profile_of(0x1004, NULL),
			    "1::0: 3:old:6:BBBB 3:new:0:DDDD 1:old again:0:BBBB");
	/* A change of protection is no end of the code. */
	write_recording(&(struct wanted){.clock = true, .map = "//anon"}, 0x1004);
	assert_string_equal(profile_of(0x1004, NULL),
			    "1::0: 3:old:6:BBBB 3:new:0:DDDD 1:old again:0:BBBB");
	/* A file that is mapped is. */
	write_recording(&(struct wanted){.clock = true, .map = "/none"}, 0x1004);
	assert_string_equal(profile_of(0x1004, NULL),
			    "1::0: 1:old:6:BBBB 2::0: 3:new:0:DDDD 1:old again:0:BBBB");
}

static void moved_functions_keep_name_and_lines(void **state)
{
	static const unsigned int line[][2] = {{0, 5}, {4, 6}};
	struct built built = {0};

	(void)state;
	header(&built, 0);
	lines(&built, 0x1000, "a.js", 2, line);
	load(&built, 10, 0x1000, 0, "moved", "AAAABBBB");
	move(&built, 350, 0x1000, 0x2000, 8, 0);
	write_dump(&built);
	write_recording(&(struct wanted){.clock = true}, 0x2004);
	assert_string_equal(profile_of(0x2004, NULL), "3::0: 5:moved:6:BBBB");
}

static void without_the_clock_the_last_counts(void **state)
{
	struct built built = {0};

	(void)state;
	header(&built, 0);
	load(&built, 150, 0x1000, 0, "old", "AAAABBBB");
	write_dump(&built);
	write_recording(&(struct wanted){0}, 0x1004);
	assert_string_equal(profile_of(0x1004, NULL), "8:old:0:BBBB"); /* nothing is in doubt */
	load(&built, 450, 0x1000, 1, "new", "CCCCDDDD");
	write_dump(&built);
	assert_string_equal(profile_of(0x1004, "its clock is not the recording's"), "8:new:0:DDDD");
	built = (struct built){0};
	header(&built, 1); /* a clock of the machine's own */
	load(&built, 150, 0x1000, 0, "old", "AAAABBBB");
	load(&built, 450, 0x1000, 1, "new", "CCCCDDDD");
	write_dump(&built);
	write_recording(&(struct wanted){.clock = true}, 0x1004);
	assert_string_equal(profile_of(0x1004, "its clock is not the recording's"), "8:new:0:DDDD");
}

static void losses_are_told(void **state)
{
	struct built built = {0};

	(void)state;
	header(&built, 0);
	load(&built, 10, 0x1000, 0, "good", "AAAABBBB");
	load(&built, 20, 0x2000, 0, "lost", "AAAABBBB");
	built.size--;
	write_dump(&built);
	write_recording(&(struct wanted){.clock = true}, 0x1004);
	assert_string_equal(profile_of(0x1004, "0 records and 68 bytes"), "8:good:0:BBBB");
	unlink(DUMP);
	assert_string_equal(profile_of(0x1004, "No such file"), "8::0:");
	assert_int_equal(mkfifo(DUMP, 0600), 0);
	assert_string_equal(profile_of(0x1004, "is no regular file"), "8::0:");
	unlink(DUMP);
}

/* As many functions in one place as can be distinguished, and more. */
static void versions_are_limited(void **state)
{
	static struct built built;
	char name[16];

	(void)state;
	header(&built, 0);
	for (unsigned int i = 0; i < 258; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		load(&built, i < 256 ? 10 : 310 + 100 * (i - 256), 0x1000, i, name, "AAAA");
	}
	load(&built, 510, 0x1000, 258, "f7", "AAAA");
	write_dump(&built);
	write_recording(&(struct wanted){.clock = true}, 0x1000);
	assert_string_equal(profile_of(0x1000, "2 not placed"), "3:f7:0:AAAA 3:f255:0:AAAA 2::0:");
}

static int enter_folder(void **state)
{
	return make_folder(state) || chdir(folder);
}

static int leave_folder(void **state)
{
	unlink("perf.data");
	unlink(DUMP);
	return chdir("/") || remove_folder(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_lines_and_moves_are_read),
		cmocka_unit_test(what_is_no_dump_is_one_line),
		cmocka_unit_test(a_dump_that_is_cut_off_is_used_as_far_as_it_goes),
		cmocka_unit_test(a_damaged_byte_is_no_crash),
		cmocka_unit_test(hostile_records_are_passed_over_and_counted),
		cmocka_unit_test(dumps_are_known_by_their_names),
		cmocka_unit_test(functions_do_not_overlap),
		cmocka_unit_test(functions_are_named_by_time),
		cmocka_unit_test(moved_functions_keep_name_and_lines),
		cmocka_unit_test(without_the_clock_the_last_counts),
		cmocka_unit_test(losses_are_told),
		cmocka_unit_test(versions_are_limited),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
