/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of the running kernel: they are taken for the kernel with this build id alone, and damaged notes are none. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "decoder/binary/symbol_kernel.h"
#include "tests/temporary_folder.h"

#define ADDRESS UINT64_C(0xffffffff80001000)
#define SYMBOLS                                 \
	"ffffffff80000000 T _start\n"           \
	"ffffffff80001000 T _text\n"            \
	"ffffffff80001800 d datum\n"            \
	"ffffffff80002000 t helper\n"           \
	"ffffffff80003000 t helper\t[module]\n" \
	"ffffffff80004000 W weak"

static const uint8_t build_id[20] = {1,	 2,  3,	 4,  5,	 6,  7,	 8,  9,	 10,
				     11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

struct notes {
	uint8_t bytes[256];
	size_t size;
};

static void add_note(struct notes *notes, const char *name, uint32_t type, const void *contents,
		     uint32_t size)
{
	Elf32_Nhdr header = {
		.n_namesz = (uint32_t)strlen(name) + 1, .n_descsz = size, .n_type = type};
	uint8_t *at = notes->bytes + notes->size;

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), name, header.n_namesz);
	memcpy(at + sizeof(header) + (header.n_namesz + 3) / 4 * 4, contents, size);
	notes->size += sizeof(header) + (header.n_namesz + 3) / 4 * 4 + (size + 3) / 4 * 4;
}

/* As of a kernel: names and contents whose sizes are no multiples of 4 come first. */
static struct notes kernel_notes(void)
{
	struct notes notes = {.size = 0};

	add_note(&notes, "Linux", 0x257, "salt!", 5);
	add_note(&notes, "GNU", NT_GNU_ABI_TAG, "\0\0\0\0", 4);
	add_note(&notes, "gnu", NT_GNU_BUILD_ID, "wrong name", 10);
	add_note(&notes, ELF_NOTE_GNU, NT_GNU_BUILD_ID, build_id, sizeof(build_id));
	return notes;
}

static void the_build_id_is_found_behind_other_notes(void **state)
{
	struct notes notes = kernel_notes();
	const uint8_t *id;

	(void)state;
	assert_int_equal(pesa_kernel_notes_build_id(notes.bytes, notes.size, &id),
			 sizeof(build_id));
	assert_memory_equal(id, build_id, sizeof(build_id));
}

static void notes_that_end_early_have_none(void **state)
{
	struct notes notes = kernel_notes();
	const uint8_t *id;

	(void)state;
	for (size_t size = 0; size < notes.size; size++) {
		/* Nothing behind the end, so that a sanitizer sees what is read too much. */
		uint8_t *cut = malloc(size ? size : 1);

		assert_non_null(cut);
		memcpy(cut, notes.bytes, size);
		assert_int_equal(pesa_kernel_notes_build_id(cut, size, &id), 0);
		free(cut);
	}
}

static void sizes_beyond_the_notes_are_none(void **state)
{
	static const uint32_t sizes[] = {UINT32_MAX, UINT32_MAX - 3, UINT32_MAX - 15, 0x80000000,
					 200};
	const uint8_t *id;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t field = 0; field < 2; field++) {
			struct notes notes = kernel_notes();

			memcpy(notes.bytes + field * sizeof(uint32_t), &sizes[i], sizeof(uint32_t));
			assert_int_equal(pesa_kernel_notes_build_id(notes.bytes, notes.size, &id),
					 0);
		}
}

/* ---- Files below a root --------------------------------------------------------------------- */

static void write_file(const char *name, const void *bytes, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void write_kernel(const char *symbols)
{
	static const char *const folders[] = {"/proc", "/sys", "/sys/kernel"};
	struct notes notes = kernel_notes();
	char path[128];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, folders[i]);
		mkdir(path, 0700);
	}
	write_file("/proc/kallsyms", symbols, strlen(symbols));
	write_file("/sys/kernel/notes", notes.bytes, notes.size);
}

static int remove_kernel(void **state)
{
	static const char *const names[] = {"/proc/kallsyms", "/proc", "/sys/kernel/notes",
					    "/sys/kernel", "/sys"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, names[i]);
		remove(path);
	}
	return remove_folder(state);
}

static void the_running_kernel_is_known_by_a_symbol(void **state)
{
	static const struct {
		const char *symbol;
		uint64_t address;
		bool known;
	} cases[] = {
		{"_text", ADDRESS, true},
		{"_start", ADDRESS - 0x1000, true},
		{"weak", ADDRESS + 0x3000, true}, /* the last line, without an end */
		{"_text", ADDRESS + 1, false}, /* another kernel, or the same at another address */
		{"text", ADDRESS, false},      /* the end of a name is no name */
		{"ext_text", ADDRESS, false},
		{"helper", ADDRESS + 0x2000, false}, /* of a module */
		{"", ADDRESS, false},
		{"_text", 0, false},
	};
	uint8_t id[PESA_BUILD_ID_MAX];
	size_t size;

	(void)state;
	write_kernel(SYMBOLS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size = 7;
		assert_null(pesa_kernel_running_build_id(folder, cases[i].symbol, cases[i].address,
							 id, &size));
		assert_int_equal(size, cases[i].known ? sizeof(build_id) : 0);
		if (cases[i].known)
			assert_memory_equal(id, build_id, sizeof(build_id));
	}
}

static struct pesa_error *load(const uint8_t *id, size_t size, struct pesa_symbol_table **table)
{
	*table = pesa_symbol_table_create("program");
	assert_non_null(*table);
	return pesa_kernel_symbols_load(folder, id, size, *table);
}

static void symbols_are_those_of_the_recorded_kernel(void **state)
{
	struct pesa_symbol_table *table;

	(void)state;
	write_kernel(SYMBOLS);
	assert_null(load(build_id, sizeof(build_id), &table));
	assert_null(pesa_symbol_table_finish(table));
	/* Functions: not the datum. */
	assert_int_equal(pesa_symbol_table_count(table), 5);
	pesa_symbol_table_free(table);
}

static void assert_refused(const uint8_t *id, size_t size, const char *says)
{
	struct pesa_symbol_table *table;
	struct pesa_error *error = load(id, size, &table);

	assert_non_null(error);
	assert_int_equal(error->code, PESA_ERROR_NOT_FOUND);
	assert_non_null(strstr(error->message, says));
	assert_null(pesa_symbol_table_finish(table));
	assert_int_equal(pesa_symbol_table_count(table), 0);
	pesa_error_free(error);
	pesa_symbol_table_free(table);
}

static void symbols_of_another_kernel_are_refused(void **state)
{
	uint8_t other[sizeof(build_id)];

	(void)state;
	memcpy(other, build_id, sizeof(other));
	other[19] ^= 1;
	write_kernel(SYMBOLS);
	assert_refused(other, sizeof(other), "is not the one that was recorded");
	assert_refused(build_id, sizeof(build_id) - 1, "is not the one that was recorded");
	assert_refused(build_id, 0, "does not tell the kernel's build id");
	write_kernel("0000000000000000 T _start\n0000000000000000 T _text\n");
	assert_refused(build_id, sizeof(build_id), "kptr_restrict");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_is_found_behind_other_notes),
		cmocka_unit_test(notes_that_end_early_have_none),
		cmocka_unit_test(sizes_beyond_the_notes_are_none),
		cmocka_unit_test(the_running_kernel_is_known_by_a_symbol),
		cmocka_unit_test(symbols_are_those_of_the_recorded_kernel),
		cmocka_unit_test(symbols_of_another_kernel_are_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_kernel);
}
