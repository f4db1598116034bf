/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/record/build_id_reader.h"
#include "daemon/record/build_ids.h"
#include "decoder/binary/program.h"
#include "daemon/record/sideband.h"
#include "tests/elf_file.h"
#include "tests/map_record.h"
#include "tests/temporary_folder.h"

#define PATIENT UINT64_C(60000000000) /* ns: no answer is late on any machine */

static void fill(uint8_t build_id[PESA_BUILD_ID_MAX], unsigned int first)
{
	for (unsigned int i = 0; i < PESA_BUILD_ID_MAX; i++)
		build_id[i] = (uint8_t)(first + i);
}

/* A program with the build id first, first + 1, ...; all are of one size. */
static void write_program(const char *path, unsigned int first)
{
	uint8_t build_id[PESA_BUILD_ID_MAX], bytes[4096 + 16];
	struct elf_file file = {.machine = EM_RISCV,
				.text = "text",
				.text_size = 4,
				.text_address = 0x10000,
				.text_offset = ELF_FILE_TEXT,
				.build_id = build_id};
	FILE *out = fopen(path, "w");
	size_t size;

	fill(build_id, first);
	size = elf_file_make(&file, bytes);
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

/* Another time of change than any before, whatever the clock of the file system shows. */
static void date(const char *path, time_t seconds)
{
	const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static struct map_record map_of(const char *path)
{
	struct map_record map = {.header = {.type = PERF_RECORD_MMAP2,
					    .misc = PERF_RECORD_MISC_USER,
					    .size = sizeof(map)},
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)getpid(),
				 .length = 4096,
				 .protection = PROT_READ | PROT_EXEC};

	snprintf(map.path, sizeof(map.path), "%s", path);
	return map;
}

static void expect_id(struct pesa_build_ids *ids, const char *path, unsigned int first)
{
	uint8_t build_id[PESA_BUILD_ID_MAX], expected[PESA_BUILD_ID_MAX];

	fill(expected, first);
	assert_int_equal(pesa_build_ids_find(ids, path, build_id), PESA_BUILD_ID_MAX);
	assert_memory_equal(build_id, expected, PESA_BUILD_ID_MAX);
}

static void a_map_record_gets_the_build_id_of_its_file(void **state)
{
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(PATIENT, 0);
	const char *path = path_of("program");
	uint8_t expected[PESA_BUILD_ID_MAX];

	(void)state;
	assert_non_null(reader);
	write_program(path, 1);
	fill(expected, 1);
	for (unsigned int i = 0; i < 100; i++) {
		struct map_record map = map_of(path);

		pesa_sideband_complete("", reader, (uint8_t *)&map, sizeof(map));
		assert_int_equal(map.header.misc,
				 PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
		assert_int_equal(map.build_id_size, PESA_BUILD_ID_MAX);
		assert_memory_equal(map.build_id, expected, PESA_BUILD_ID_MAX);
	}
	/* However many processes map it. */
	assert_int_equal(pesa_build_id_reader_opened(reader), 1);
	unlink(path);
	pesa_build_id_reader_free(reader);
}

static void a_mark_for_another_listener_is_taken_off(void **state)
{
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(PATIENT, 0);
	struct map_record map = map_of(path_of("gone"));

	(void)state;
	assert_non_null(reader);
	map.header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	pesa_sideband_complete("", reader, (uint8_t *)&map, sizeof(map));
	assert_int_equal(map.header.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(pesa_build_id_reader_opened(reader), 0);
	pesa_build_id_reader_free(reader);
}

static void a_file_that_changed_is_read_again(void **state)
{
	struct pesa_build_ids *ids = pesa_build_ids_create();
	const char *path = path_of("program");
	char other[64];

	(void)state;
	assert_non_null(ids);
	write_program(path, 1);
	date(path, 1000);
	expect_id(ids, path, 1);
	/* In its place, and of the same size. */
	write_program(path, 2);
	date(path, 2000);
	expect_id(ids, path, 2);
	assert_int_equal(pesa_build_ids_opened(ids), 2);
	/* Another file under its name, of the same size and time. */
	snprintf(other, sizeof(other), "%s/other", folder);
	write_program(other, 3);
	date(other, 2000);
	assert_int_equal(rename(other, path), 0);
	expect_id(ids, path, 3);
	assert_int_equal(pesa_build_ids_opened(ids), 3);
	expect_id(ids, path, 3);
	assert_int_equal(pesa_build_ids_opened(ids), 3);
	unlink(path);
	pesa_build_ids_free(ids);
}

static void that_a_file_has_none_is_remembered_too(void **state)
{
	struct pesa_build_ids *ids = pesa_build_ids_create();
	const char *path = path_of("text");
	FILE *out = fopen(path, "w");
	uint8_t build_id[PESA_BUILD_ID_MAX];

	(void)state;
	assert_non_null(ids);
	assert_non_null(out);
	fputs("no program", out);
	fclose(out);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(pesa_build_ids_find(ids, path, build_id), 0);
	assert_int_equal(pesa_build_ids_opened(ids), 1);
	unlink(path);
	pesa_build_ids_free(ids);
}

/* Opening one would wait for somebody who writes to it. */
static void what_is_no_file_is_not_opened(void **state)
{
	struct pesa_build_ids *ids = pesa_build_ids_create();
	const char *path = path_of("pipe");
	uint8_t build_id[PESA_BUILD_ID_MAX];

	(void)state;
	assert_non_null(ids);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(pesa_build_ids_find(ids, path, build_id), 0);
	assert_int_equal(pesa_build_ids_find(ids, folder, build_id), 0);
	assert_int_equal(pesa_build_ids_opened(ids), 0);
	unlink(path);
	pesa_build_ids_free(ids);
}

static void what_is_asked_for_often_stays_among_many(void **state)
{
	enum { MANY = 4 * PESA_BUILD_IDS_MOST };
	struct pesa_build_ids *ids = pesa_build_ids_create();
	char often[64], other[64];

	(void)state;
	assert_non_null(ids);
	snprintf(often, sizeof(often), "%s/often", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	write_program(often, 1);
	write_program(other, 2);
	expect_id(ids, often, 1);
	/* One file with another time is another one, as the recorder sees it. */
	for (unsigned int i = 0; i < MANY; i++) {
		date(other, (time_t)i);
		expect_id(ids, other, 2);
		expect_id(ids, often, 1);
	}
	assert_int_equal(pesa_build_ids_opened(ids), 1 + MANY);
	unlink(often);
	unlink(other);
	pesa_build_ids_free(ids);
}

/* A header and notes far behind it, in a hole: `notes` program headers that all name the hole. */
static void write_hole(const char *path, unsigned int notes, off_t size)
{
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_RISCV,
			     .e_phoff = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = (Elf64_Half)notes};
	Elf64_Phdr segment = {.p_type = PT_NOTE,
			      .p_offset = sizeof(header) + notes * sizeof(segment),
			      .p_align = 4};
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	segment.p_filesz = (Elf64_Xword)size - segment.p_offset;
	assert_int_equal(fwrite(&header, sizeof(header), 1, out), 1);
	for (unsigned int i = 0; i < notes; i++)
		assert_int_equal(fwrite(&segment, sizeof(segment), 1, out), 1);
	assert_int_equal(fflush(out), 0);
	assert_int_equal(ftruncate(fileno(out), size), 0);
	assert_int_equal(fclose(out), 0);
}

/* A terabyte of empty notes: 2^36 of them, and 65535 times as many.  What is read is a part. */
static void notes_without_an_end_are_not_read_to_theirs(void **state)
{
	const char *path = path_of("hole");
	struct pesa_build_ids *ids = pesa_build_ids_create();
	uint8_t build_id[PESA_BUILD_ID_MAX];

	(void)state;
	assert_non_null(ids);
	alarm(60);
	write_hole(path, 1, (off_t)1 << 40);
	assert_int_equal(pesa_build_ids_find(ids, path, build_id), 0);
	write_hole(path, 65535, (off_t)1 << 40);
	assert_int_equal(pesa_build_ids_find(ids, path, build_id), 0);
	alarm(0);
	unlink(path);
	pesa_build_ids_free(ids);
}

/* The build id is the last of notes: inside what is read, and behind it. */
static void a_build_id_is_found_behind_other_notes(void **state)
{
	static const struct {
		size_t before; /* notes of 16 bytes in front of it */
		size_t found;
	} cases[] = {{0, PESA_BUILD_ID_MAX},
		     {1000, PESA_BUILD_ID_MAX},
		     {(65536 - 36) / 16, PESA_BUILD_ID_MAX},
		     {65536 / 16, 0}};
	const char *path = path_of("notes");
	uint8_t build_id[PESA_BUILD_ID_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const Elf64_Nhdr other = {.n_namesz = 4, .n_type = NT_GNU_ABI_TAG};
		const Elf64_Nhdr last = {
			.n_namesz = 4, .n_descsz = PESA_BUILD_ID_MAX, .n_type = NT_GNU_BUILD_ID};
		FILE *out;

		write_hole(path, 1, 120 + 65536 + 36);
		out = fopen(path, "r+");
		assert_non_null(out);
		assert_int_equal(fseek(out, 120, SEEK_SET), 0);
		for (size_t j = 0; j < cases[i].before; j++) {
			assert_int_equal(fwrite(&other, sizeof(other), 1, out), 1);
			assert_int_equal(fwrite("GNU", 4, 1, out), 1);
		}
		assert_int_equal(fwrite(&last, sizeof(last), 1, out), 1);
		assert_int_equal(fwrite("GNU", 4, 1, out), 1);
		assert_int_equal(fwrite("0123456789abcdefghij", 20, 1, out), 1);
		assert_int_equal(fclose(out), 0);
		assert_int_equal(pesa_program_build_id(path, build_id, sizeof(build_id)),
				 cases[i].found);
		if (cases[i].found)
			assert_memory_equal(build_id, "0123456789abcdefghij", 20);
	}
	unlink(path);
}

/* Data too has maps, of which nobody needs a build id; nor is its file touched for one. */
static void a_map_of_data_gets_none(void **state)
{
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(PATIENT, 0);
	const char *path = path_of("program");
	struct map_record map = map_of(path), before;

	(void)state;
	assert_non_null(reader);
	write_program(path, 1);
	map.protection = PROT_READ | PROT_WRITE;
	before = map;
	pesa_sideband_complete("", reader, (uint8_t *)&map, sizeof(map));
	assert_memory_equal(&map, &before, sizeof(map));
	assert_int_equal(pesa_build_id_reader_opened(reader), 0);
	unlink(path);
	pesa_build_id_reader_free(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_record_gets_the_build_id_of_its_file),
		cmocka_unit_test(a_mark_for_another_listener_is_taken_off),
		cmocka_unit_test(a_file_that_changed_is_read_again),
		cmocka_unit_test(that_a_file_has_none_is_remembered_too),
		cmocka_unit_test(what_is_no_file_is_not_opened),
		cmocka_unit_test(what_is_asked_for_often_stays_among_many),
		cmocka_unit_test(notes_without_an_end_are_not_read_to_theirs),
		cmocka_unit_test(a_build_id_is_found_behind_other_notes),
		cmocka_unit_test(a_map_of_data_gets_none),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
