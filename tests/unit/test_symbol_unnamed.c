/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of stripped binaries.  The oracle is the symbol table of the binary before `strip`, as
 * nm prints it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after the above */
#include <cmocka.h>

#include "decoder/binary/frame_table.h"
#include "pesa/symbols.h"
#include "tests/symbol_commands.h"

static int build(void **state)
{
	char source[4096];

	if (make_folder(state) || !getcwd(source, sizeof(source)))
		return -1;
	return pclose(output_of(
		"D=%s/tests/data/symbols; "
		"${T}g++ -O2 -o templates $D/templates.cc && "
		"${T}strip -o templates.bare templates && "
		"${T}gcc -g0 -O2 -fno-inline -fno-ipa-cp -fno-unwind-tables "
		"-fno-asynchronous-unwind-tables -o calls $D/inlined.c && "
		"${T}strip -o calls.bare calls && "
		"nm -D --format=posix --defined-only templates | cut -d' ' -f1 | sort > dynamic && "
		"${T}nm --format=posix --defined-only templates | "
		"awk '$2 ~ /^[tTwW]$/ { print $1 }' | sort > all && comm -13 dynamic all > kept && "
		"${T}objcopy -S --remove-section .gnu.debuglink --keep-symbols=kept templates mini && "
		"xz -k mini && ${T}objcopy -S --add-section .gnu_debugdata=mini.xz templates "
		"templates.mini",
		source));
}

/* What a test looks up. */
struct opened {
	struct pesa_dso dso;
	struct pesa_symbols *symbols;
	char *path;
};

static void open_binary(struct opened *opened, const char *name)
{
	assert_true(asprintf(&opened->path, "%s/%s", folder, name) > 0);
	opened->dso = (struct pesa_dso){.path = opened->path, .kind = PESA_DSO_FILE};
	assert_null(pesa_symbols_create_for(only_dso, &opened->dso, NULL, &opened->symbols));
}

static void close_binary(struct opened *opened)
{
	pesa_symbols_free(opened->symbols);
	free(opened->path);
}

static const struct pesa_symbol *find(struct opened *opened, uint64_t address)
{
	const struct pesa_symbol *symbol;

	assert_null(pesa_symbols_find(opened->symbols, 0, address, &symbol));
	return symbol;
}

/* The functions that nm lists with a size, one after the other.  False: no more. */
static bool next_function(FILE *nm, uint64_t *address, uint64_t *size, char name[1024])
{
	char line[2048], type;
	unsigned long long start, length;

	while (fgets(line, sizeof(line), nm))
		if (sscanf(line, "%llx %llx %c %1023[^\n]", &start, &length, &type, name) == 4 &&
		    strchr("tTwW", type) && length) {
			*address = start;
			*size = length;
			return true;
		}
	pclose(nm);
	return false;
}

static void stripped_functions_are_those_of_nm_named_by_address(void **state)
{
	FILE *nm = output_of("${T}nm -S --defined-only templates");
	uint64_t address, size;
	struct opened bare;
	size_t compared = 0;
	const char *problem;
	char name[1024];

	(void)state;
	open_binary(&bare, "templates.bare");
	while (next_function(nm, &address, &size, name)) {
		const struct pesa_symbol *first = find(&bare, address), *named[2];
		char expected[64];
		size_t count;

		assert_non_null(first);
		assert_int_equal(first->start, address);
		if (first->linkage_name)
			continue; /* dynamic */
		snprintf(expected, sizeof(expected), "templates.bare+0x%llx",
			 (unsigned long long)address);
		assert_string_equal(first->name, expected);
		assert_int_equal(first->size, size);
		assert_ptr_equal(find(&bare, address + size - 1), first);
		/* The name can be given back. */
		assert_null(pesa_symbols_by_name(bare.symbols, 0, expected, named, 2, &count));
		assert_int_equal(count, 1);
		assert_ptr_equal(named[0], first);
		compared++;
	}
	assert_true(compared > 5);
	assert_null(pesa_symbols_problem(bare.symbols, 0, &problem));
	assert_non_null(strstr(problem, "stripped: functions are named by their addresses"));
	close_binary(&bare);
}

static void without_unwinding_table_functions_begin_where_calls_go(void **state)
{
	FILE *called = output_of(
		"${T}objdump -d --no-show-raw-insn calls | "
		"sed -n 's/.*\\tjal\\t\\(ra,\\)\\?\\([0-9a-f]*\\) <[^+>@]*>$/\\2/p' | sort -u");
	struct opened bare, whole;
	char line[64];
	size_t compared = 0;

	(void)state;
	open_binary(&bare, "calls.bare");
	open_binary(&whole, "calls");
	while (fgets(line, sizeof(line), called)) {
		uint64_t address = strtoull(line, NULL, 16);
		const struct pesa_symbol *found = find(&bare, address),
					 *symbol = find(&whole, address);

		assert_non_null(symbol->linkage_name);
		assert_non_null(found);
		assert_int_equal(found->start, symbol->start);
		/* What is called nowhere is a part of the function before it. */
		assert_true(found->size >= symbol->size);
		compared++;
	}
	assert_true(compared > 2);
	pclose(called);
	close_binary(&bare);
	close_binary(&whole);
}

static void names_are_taken_from_what_a_distribution_left_in_the_binary(void **state)
{
	FILE *nm = output_of("${T}nm -S --defined-only templates");
	uint64_t address, size;
	size_t compared = 0;
	struct opened mini, whole;
	char name[1024];

	(void)state;
	open_binary(&mini, "templates.mini");
	open_binary(&whole, "templates");
	while (next_function(nm, &address, &size, name)) {
		assert_non_null(find(&mini, address));
		assert_string_equal(find(&mini, address)->name, find(&whole, address)->name);
		assert_int_equal(find(&mini, address)->size, find(&whole, address)->size);
		compared++;
	}
	assert_true(compared > 10);
	close_binary(&mini);
	close_binary(&whole);
}

/* ---- Tables made by hand ------------------------------------------------------------------- */

struct entries {
	uint64_t start[8], size[8];
	size_t count;
};

static struct pesa_error *take_entry(void *context, uint64_t start, uint64_t size)
{
	struct entries *entries = context;

	assert_true(entries->count < 8);
	entries->start[entries->count] = start;
	entries->size[entries->count++] = size;
	return NULL;
}

/* A table of one CIE with an augmentation "zR" of an encoding, and one FDE. */
static struct entries read_table(uint8_t encoding, const void *fde, uint8_t size, bool big,
				 bool wide)
{
	uint8_t bytes[256] = {0x10, 0, 0, 0,	0, 0, 0,	0, 1, 'z',
			      'R',  0, 1, 0x7c, 1, 1, encoding, 0, 0, 0};
	struct pesa_frame_table table = {bytes, 20, 0x1000, big, wide};
	struct entries entries = {0};

	bytes[big ? 3 : 0] = 0x10;
	bytes[big ? 0 : 3] = 0;
	bytes[20 + (big ? 3 : 0)] = (uint8_t)(4 + size);
	bytes[24 + (big ? 3 : 0)] = 24; /* back to the CIE */
	memcpy(bytes + 28, fde, size);
	table.size = 28 + (size_t)size + 4;
	assert_null(pesa_frame_table_read(&table, take_entry, &entries));
	return entries;
}

static void expect_entry(struct entries entries, uint64_t start, uint64_t size)
{
	assert_int_equal(entries.count, 1);
	assert_int_equal(entries.start[0], start);
	assert_int_equal(entries.size[0], size);
}

static void every_encoding_of_addresses_is_read(void **state)
{
	(void)state;
	/* relative to the place of the pointer, 0x101c */
	expect_entry(read_table(0x1b, "\xe4\xff\xff\xff\x20\0\0\0", 8, false, true), 0x1000, 0x20);
	expect_entry(read_table(0x1b, "\xff\xff\xff\xe4\0\0\0\x20", 8, true, true), 0x1000, 0x20);
	expect_entry(read_table(0x1a, "\x04\0\x10\0", 4, false, true), 0x1020, 0x10);
	expect_entry(read_table(0x02, "\x04\0\x10\0", 4, false, true), 4, 0x10);
	expect_entry(read_table(0x00, "\x04\0\0\x80\x10\0\0\0", 8, false, false), 0x80000004, 0x10);
	expect_entry(read_table(0x00, "\x04\0\0\x80\x01\0\0\0\x10\0\0\0\0\0\0\0", 16, false, true),
		     0x180000004, 0x10);
	expect_entry(read_table(0x01, "\x80\x02\x81\x01", 4, false, true), 0x100, 0x81);
	expect_entry(read_table(0x19, "\x7f\x03\0\0", 4, false, true), 0x101b, 3);
}

static void what_cannot_be_read_is_left_out(void **state)
{
	(void)state;
	/* relative to data, indirect, without a format, too short, empty, beyond all addresses */
	assert_int_equal(read_table(0x3b, "\0\0\0\0\x20\0\0\0", 8, false, true).count, 0);
	assert_int_equal(read_table(0x9b, "\0\0\0\0\x20\0\0\0", 8, false, true).count, 0);
	assert_int_equal(read_table(0x17, "\0\0\0\0\x20\0\0\0", 8, false, true).count, 0);
	assert_int_equal(read_table(0x1b, "\0\0\0\0\x20", 5, false, true).count, 0);
	assert_int_equal(read_table(0x1b, "\0\0\0\0\0\0\0\0", 8, false, true).count, 0);
	assert_int_equal(read_table(0x0b, "\xff\xff\xff\xff\x20\0\0\0", 8, false, true).count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stripped_functions_are_those_of_nm_named_by_address),
		cmocka_unit_test(without_unwinding_table_functions_begin_where_calls_go),
		cmocka_unit_test(names_are_taken_from_what_a_distribution_left_in_the_binary),
		cmocka_unit_test(every_encoding_of_addresses_is_read),
		cmocka_unit_test(what_cannot_be_read_is_left_out),
	};

	return cmocka_run_group_tests_name("unnamed functions", tests, build, clean);
}
