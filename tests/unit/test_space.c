// SPDX-License-Identifier: GPL-2.0-or-later
/* Address spaces over time, and the ELF images behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "decoder/binary/code.h"
#include "pesa/image.h"
#include "pesa/space.h"
#include "tests/elf_file.h"
#include "tests/temporary_folder.h"

static void map(struct pesa_spaces *spaces, uint32_t pid, uint64_t start, uint64_t length,
		uint64_t offset, const char *path)
{
	struct pesa_event event = {
		.type = PERF_RECORD_MMAP2,
		.misc = pid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.mmap = {.pid = pid,
			 .tid = pid,
			 .address = start,
			 .length = length,
			 .offset = offset,
			 .path = path},
	};

	assert_null(pesa_spaces_apply(spaces, &event));
}

static void task(struct pesa_spaces *spaces, uint32_t type, uint32_t pid, uint32_t parent,
		 uint32_t tid, uint16_t misc)
{
	struct pesa_event event = {
		.type = type,
		.misc = misc,
		.task = {.pid = pid, .parent_pid = parent, .tid = tid, .parent_tid = parent},
	};

	assert_null(pesa_spaces_apply(spaces, &event));
}

static void exec(struct pesa_spaces *spaces, uint32_t pid)
{
	struct pesa_event event = {
		.type = PERF_RECORD_COMM,
		.comm = {.pid = pid, .tid = pid, .exec = true, .name = "program"},
	};

	assert_null(pesa_spaces_apply(spaces, &event));
}

/* "path+offset" of an address, "" for none */
static const char *at(struct pesa_spaces *spaces, uint32_t pid, uint64_t address)
{
	static char text[4][128];
	static unsigned int turn;
	char *buffer = text[turn++ % 4];
	const struct pesa_mapping *mapping =
		pesa_layout_find(pesa_spaces_layout(spaces, pid), address);

	if (!mapping)
		return "";
	snprintf(buffer, sizeof(text[0]), "%s+%llx", pesa_spaces_dso(spaces, mapping->dso)->path,
		 (unsigned long long)(address - mapping->start + mapping->offset));
	return buffer;
}

static struct pesa_spaces *new_spaces(void)
{
	struct pesa_spaces *spaces;

	assert_null(pesa_spaces_create(&spaces));
	return spaces;
}

static void a_new_mapping_cuts_what_it_overlaps(void **state)
{
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	map(spaces, 1, 0x1000, 0x5000, 0x100000, "/a");
	map(spaces, 1, 0x8000, 0x1000, 0, "/b");
	map(spaces, 1, 0x3000, 0x1000, 0, "/c"); /* in the middle of /a */
	assert_string_equal(at(spaces, 1, 0xfff), "");
	assert_string_equal(at(spaces, 1, 0x2fff), "/a+101fff");
	assert_string_equal(at(spaces, 1, 0x3000), "/c+0");
	assert_string_equal(at(spaces, 1, 0x4000), "/a+103000");
	assert_string_equal(at(spaces, 1, 0x6000), "");
	map(spaces, 1, 0x2000, 0x6800, 0, "/d"); /* over the rest of /a, /c and half of /b */
	assert_string_equal(at(spaces, 1, 0x1fff), "/a+100fff");
	assert_string_equal(at(spaces, 1, 0x2000), "/d+0");
	assert_string_equal(at(spaces, 1, 0x87ff), "/d+67ff");
	assert_string_equal(at(spaces, 1, 0x8800), "/b+800");
	assert_string_equal(at(spaces, 1, 0x9000), "");
	pesa_spaces_free(spaces);
}

static void mappings_agree_with_a_flat_memory(void **state)
{
	/* The oracle: an array with the number of the mapping that was last put on each page. */
	enum { PAGES = 256 };
	struct pesa_spaces *spaces = new_spaces();
	unsigned int last[PAGES] = {0}, start_of[1001] = {0};
	uint32_t random = 12345;

	(void)state;
	for (unsigned int i = 1; i <= 1000; i++) {
		unsigned int start = (random = random * 1664525 + 1013904223) >> 24;
		unsigned int length = 1 + ((random = random * 1664525 + 1013904223) >> 27);
		char path[32];

		snprintf(path, sizeof(path), "/%u", i);
		map(spaces, 7, start * 0x1000, length * 0x1000, 0, path);
		start_of[i] = start;
		for (unsigned int page = start; page < start + length && page < PAGES; page++)
			last[page] = i;
		for (unsigned int page = 0; i % 50 == 0 && page < PAGES; page++) {
			char expected[64] = "";

			if (last[page])
				snprintf(expected, sizeof(expected), "/%u+%x", last[page],
					 (page - start_of[last[page]]) * 0x1000);
			assert_string_equal(at(spaces, 7, page * 0x1000), expected);
		}
	}
	pesa_spaces_free(spaces);
}

static void forks_copy_execs_clear_threads_share(void **state)
{
	struct pesa_spaces *spaces = new_spaces();
	const struct pesa_layout *held;

	(void)state;
	map(spaces, 1, 0x1000, 0x1000, 0, "/a");
	task(spaces, PERF_RECORD_FORK, 1, 1, 2, 0); /* a thread */
	task(spaces, PERF_RECORD_FORK, 5, 1, 5, 0);
	assert_string_equal(at(spaces, 5, 0x1800), "/a+800");
	held = pesa_spaces_layout(spaces, 1);
	assert_ptr_equal(held, pesa_spaces_layout(spaces, 5)); /* nothing was copied */
	pesa_layout_hold(held);
	map(spaces, 5, 0x2000, 0x1000, 0, "/b");
	assert_string_equal(at(spaces, 5, 0x2000), "/b+0");
	assert_string_equal(at(spaces, 1, 0x2000), "");
	exec(spaces, 1);
	assert_string_equal(at(spaces, 1, 0x1800), "");
	assert_string_equal(at(spaces, 5, 0x1800), "/a+800");
	assert_int_equal(held->count, 1); /* as it was when it was held */
	pesa_layout_release(held);
	/* A process that perf found running brings its own maps. */
	task(spaces, PERF_RECORD_FORK, 6, 5, 6, PERF_RECORD_MISC_FORK_EXEC);
	assert_string_equal(at(spaces, 6, 0x1800), "");
	pesa_spaces_free(spaces);
}

static void samples_after_an_exit_still_have_their_maps(void **state)
{
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	map(spaces, 1, 0x1000, 0x1000, 0, "/a");
	task(spaces, PERF_RECORD_EXIT, 1, 1, 1, 0);
	assert_string_equal(at(spaces, 1, 0x1000), "/a+0");
	/* But not for ever: thousands of processes come and go. */
	for (uint32_t pid = 10; pid < 5000; pid++) {
		map(spaces, pid, 0x1000, 0x1000, 0, "/a");
		task(spaces, PERF_RECORD_EXIT, pid, 1, pid, 0);
	}
	assert_string_equal(at(spaces, 1, 0x1000), "");
	assert_string_equal(at(spaces, 4999, 0x1000), "/a+0");
	pesa_spaces_free(spaces);
}

static void paths_tell_the_kind(void **state)
{
	static const struct {
		const char *path;
		uint32_t pid;
		enum pesa_dso_kind kind;
	} cases[] = {
		{"/usr/bin/program", 1, PESA_DSO_FILE},
		{"[vdso]", 1, PESA_DSO_VDSO},
		{"//anon", 1, PESA_DSO_JIT},
		{"", 1, PESA_DSO_JIT},
		{"[heap]", 1, PESA_DSO_JIT},
		{"/memfd:jit (deleted)", 1, PESA_DSO_JIT},
		{"[kernel.kallsyms]_text", UINT32_MAX, PESA_DSO_KERNEL},
		{"/lib/modules/6.1.0/kernel/fs/ext4.ko", UINT32_MAX, PESA_DSO_KERNEL},
	};
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct pesa_dso *dso;

		map(spaces, cases[i].pid, 0x1000 * (i + 1), 0x1000, 0, cases[i].path);
		dso = pesa_spaces_dso(spaces, pesa_spaces_dso_count(spaces) - 1);
		assert_string_equal(dso->path, cases[i].path);
		assert_int_equal(dso->kind, cases[i].kind);
		assert_int_equal(dso->pid, dso->kind == PESA_DSO_JIT ? 1 : 0);
	}
	assert_non_null(pesa_layout_find(pesa_spaces_kernel(spaces), 0x7000));
	/* Two processes' anonymous memory is not the same code; the same file is. */
	map(spaces, 2, 0x1000, 0x1000, 0, "//anon");
	assert_int_equal(pesa_spaces_dso(spaces, pesa_spaces_dso_count(spaces) - 1)->pid, 2);
	map(spaces, 2, 0x9000, 0x1000, 0, "/usr/bin/program");
	assert_int_equal(pesa_spaces_dso_count(spaces), 1 + 8 + 1);
	pesa_spaces_free(spaces);
}

/* ---- Code made at run time ------------------------------------------------------------------- */

static void text(struct pesa_spaces *spaces, uint32_t pid, uint64_t address, const char *bytes)
{
	struct pesa_event event = {
		.type = PERF_RECORD_TEXT_POKE,
		.misc = PERF_RECORD_MISC_USER,
		.text = {.pid = pid,
			 .address = address,
			 .bytes = (const uint8_t *)bytes,
			 .size = (uint32_t)strlen(bytes)},
	};

	assert_null(pesa_spaces_apply(spaces, &event));
}

/* "VERSION TEXT" of up to eight bytes of code at an address, "" for no mapping. */
static const char *code_at(struct pesa_spaces *spaces, uint32_t pid, uint64_t address)
{
	static char shown[4][32];
	static unsigned int turn;
	char *buffer = shown[turn++ % 4], bytes[8];
	const struct pesa_mapping *mapping =
		pesa_layout_find(pesa_spaces_layout(spaces, pid), address);
	const struct pesa_dso *dso;
	size_t size;

	if (!mapping)
		return "";
	dso = pesa_spaces_dso(spaces, mapping->dso);
	size = dso->code ? pesa_code_read(dso->code, address, bytes, sizeof(bytes)) : 0;
	snprintf(buffer, sizeof(shown[0]), "%u %.*s", dso->version, (int)size, bytes);
	return buffer;
}

static void code_is_known_where_it_was_told(void **state)
{
	struct pesa_code *code = pesa_code_create();
	char bytes[16];

	(void)state;
	assert_non_null(code);
	assert_int_equal(pesa_code_read(code, 0x1000, bytes, 4), 0);
	/* Across pieces of any size that is a power of two. */
	assert_null(pesa_code_add(code, 0xfffc, (const uint8_t *)"abcdefgh", 8));
	assert_int_equal(pesa_code_read(code, 0xfffc, bytes, sizeof(bytes)), 8);
	assert_memory_equal(bytes, "abcdefgh", 8);
	assert_int_equal(pesa_code_read(code, 0xfffb, bytes, sizeof(bytes)), 0);
	assert_int_equal(pesa_code_read(code, 0x10003, bytes, sizeof(bytes)), 1);
	assert_true(pesa_code_agrees(code, 0xfff8, (const uint8_t *)"????abcd", 8));
	assert_true(pesa_code_agrees(code, 0x10004, (const uint8_t *)"????", 4));
	assert_false(pesa_code_agrees(code, 0x10000, (const uint8_t *)"efgi", 4));
	pesa_code_forget(code, 0xfffe, 0x10001);
	assert_int_equal(pesa_code_read(code, 0xfffc, bytes, sizeof(bytes)), 2);
	assert_int_equal(pesa_code_read(code, 0x10000, bytes, sizeof(bytes)), 0);
	assert_int_equal(pesa_code_read(code, 0x10001, bytes, sizeof(bytes)), 3);
	assert_true(pesa_code_agrees(code, 0xfffe, (const uint8_t *)"???", 3));
	pesa_code_forget(code, 0, UINT64_MAX);
	assert_int_equal(pesa_code_read(code, 0xfffc, bytes, sizeof(bytes)), 0);
	/* The last bytes that there are. */
	assert_null(pesa_code_add(code, UINT64_MAX - 4, (const uint8_t *)"last", 4));
	assert_int_equal(pesa_code_read(code, UINT64_MAX - 4, bytes, sizeof(bytes)), 4);
	pesa_code_free(code);
	pesa_code_free(NULL);
}

static void code_that_is_overwritten_is_another_version(void **state)
{
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	map(spaces, 1, 0x1000, 0x1000, 0, "//anon");
	assert_string_equal(code_at(spaces, 1, 0x1000), "0 ");
	text(spaces, 1, 0x1000, "abcd");
	text(spaces, 1, 0x1004, "efgh");
	text(spaces, 1, 0x1000, "abcd");
	assert_string_equal(code_at(spaces, 1, 0x1000), "0 abcdefgh");
	assert_int_equal(pesa_spaces_layout(spaces, 1)->count, 1);
	/* Only what is overwritten changes. */
	text(spaces, 1, 0x1004, "EFGH");
	assert_string_equal(code_at(spaces, 1, 0x1000), "0 abcdefgh");
	assert_string_equal(code_at(spaces, 1, 0x1004), "1 EFGH");
	assert_string_equal(code_at(spaces, 1, 0x1008), "0 ");
	assert_int_equal(pesa_spaces_layout(spaces, 1)->count, 3);
	/* Neighbours of one version are one mapping. */
	text(spaces, 1, 0x1008, "ijkl");
	text(spaces, 1, 0x1008, "IJKL");
	assert_int_equal(pesa_spaces_layout(spaces, 1)->count, 3);
	text(spaces, 1, 0x1000, "ABCD");
	assert_string_equal(code_at(spaces, 1, 0x1004), "1 EFGHIJKL");
	assert_int_equal(pesa_spaces_layout(spaces, 1)->count, 2);
	/* What was there before is no new version. */
	text(spaces, 1, 0x1004, "efgh");
	assert_string_equal(code_at(spaces, 1, 0x1004), "0 efghijkl");
	text(spaces, 1, 0x1004, "!!!!");
	assert_string_equal(code_at(spaces, 1, 0x1004), "2 !!!!");
	/* A map in the same place begins with what was there, until code is recorded. */
	map(spaces, 1, 0x1000, 0x1000, 0, "//anon");
	text(spaces, 1, 0x1004, "!!!!");
	assert_string_equal(code_at(spaces, 1, 0x1004), "2 !!!!");
	pesa_spaces_free(spaces);
}

static void text_belongs_to_memory_without_a_file(void **state)
{
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	map(spaces, 1, 0x1000, 0x1000, 0, "/bin/program");
	map(spaces, 1, 0x2000, 0x1000, 0, "/memfd:jit (deleted)");
	text(spaces, 1, 0x1000, "abcd");
	text(spaces, 1, 0x2000, "abcd");
	text(spaces, 1, 0x2ffe, "abcd"); /* which ends behind the mapping */
	text(spaces, 1, 0x3000, "abcd");
	text(spaces, 2, 0x2000, "other"); /* a process that has no maps */
	text(spaces, 1, 0x2000, "");
	assert_string_equal(code_at(spaces, 1, 0x1000), "0 ");
	assert_string_equal(code_at(spaces, 1, 0x2000), "0 abcd");
	assert_string_equal(code_at(spaces, 1, 0x2ffe), "0 ab");
	/* A child has the code, and its own from then on. */
	task(spaces, PERF_RECORD_FORK, 3, 1, 3, 0);
	text(spaces, 3, 0x2000, "wxyz");
	assert_string_equal(code_at(spaces, 1, 0x2000), "0 abcd");
	assert_string_equal(code_at(spaces, 3, 0x2000), "1 wxyz");
	pesa_spaces_free(spaces);
}

static void versions_are_limited(void **state)
{
	struct pesa_spaces *spaces = new_spaces();

	(void)state;
	map(spaces, 1, 0x1000, 0x1000, 0, "//anon");
	for (unsigned int i = 0; i < 1000; i++) {
		char bytes[8];

		snprintf(bytes, sizeof(bytes), "%04u", i);
		text(spaces, 1, 0x1000, bytes);
	}
	/* Without text: none is better than another's. */
	assert_string_equal(code_at(spaces, 1, 0x1000), "256 ");
	assert_int_equal(pesa_spaces_dso_count(spaces), 1 + 257);
	text(spaces, 1, 0x1000, "0007");
	assert_string_equal(code_at(spaces, 1, 0x1000), "7 0007");
	pesa_spaces_free(spaces);
}

/* ---- Images ---------------------------------------------------------------------------------- */

static const uint8_t id[20] = {0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9};

static const char *make_file(const struct elf_file *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/file", folder);
	assert_true(elf_file_write(file, path));
	return path;
}

static void an_image_has_text_build_id_and_isa(void **state)
{
	static const uint8_t text[] = {0x13, 0, 0, 0, 1, 0};

	(void)state;
	for (int is_32 = 0; is_32 < 2; is_32++) {
		for (int with_isa = 0; with_isa < 2; with_isa++) {
			struct elf_file file = {
				.machine = EM_RISCV,
				.is_32 = is_32,
				.text = text,
				.text_size = sizeof(text),
				.text_address = 0x12400,
				.text_offset = 0x400,
				.build_id = id,
				.isa = with_isa ? is_32 ? "rv32imc_zba" : "rv64gcv" : NULL,
			};
			const char *path = make_file(&file);
			struct pesa_image *image;
			uint64_t address;
			uint8_t bytes[8];
			unsigned int size;
			size_t there;

			assert_null(pesa_image_open(path, &image));
			assert_memory_equal(pesa_image_build_id(image, &size), id, 20);
			assert_int_equal(size, 20);
			assert_string_equal(pesa_image_isa(image), with_isa ? file.isa
								   : is_32  ? "rv32"
									    : "rv64");
			assert_true(pesa_image_address(image, 0x404, &address));
			assert_int_equal(address, 0x12404);
			assert_false(pesa_image_address(image, 0x406, &address));
			assert_int_equal(pesa_image_text(image, 0x12404, bytes, 8), 2);
			assert_memory_equal(bytes, text + 4, 2);
			assert_null(pesa_image_text_at(image, 0x123ff, &there));
			assert_int_equal(pesa_image_text(image, 0x12406, bytes, 8), 0);
			pesa_image_close(image);
			unlink(path);
		}
	}
}

static void other_machines_convert_addresses_only(void **state)
{
	static const uint8_t text[] = {0x90, 0x90};
	struct elf_file file = {.machine = EM_X86_64,
				.text = text,
				.text_size = sizeof(text),
				.text_address = 0x401000,
				.text_offset = 0x1000};
	const char *path = make_file(&file);
	struct pesa_image *image;
	uint64_t address;

	(void)state;
	assert_null(pesa_image_open(path, &image));
	assert_null(pesa_image_isa(image));
	assert_string_equal(pesa_image_machine(image), "x86-64");
	assert_true(pesa_image_address(image, 0x1001, &address));
	assert_int_equal(address, 0x401001);
	pesa_image_close(image);
	unlink(path);
}

static void damaged_files_are_errors_and_never_crashes(void **state)
{
	static const uint8_t text[64] = {0x13};
	static uint8_t bytes[8192], damaged[8192];
	struct elf_file file = {.machine = EM_RISCV,
				.text = text,
				.text_size = sizeof(text),
				.text_address = 0x10400,
				.text_offset = 0x400,
				.build_id = id,
				.isa = "rv64gc"};
	size_t size = elf_file_make(&file, bytes);
	char path[128];
	unsigned int opened = 0, refused = 0;
	uint32_t random = 99;

	(void)state;
	snprintf(path, sizeof(path), "%s/damaged", folder);
	for (unsigned int i = 0; i < 600; i++) {
		FILE *stream = fopen(path, "w");
		size_t kept = i < 200 ? size * i / 200 : size;
		struct pesa_image *image;
		struct pesa_error *error;

		assert_non_null(stream);
		memcpy(damaged, bytes, size);
		for (unsigned int flips = i < 200 ? 0 : 3; flips; flips--) {
			random = random * 1664525 + 1013904223;
			damaged[(random >> 8) % size] ^= 1 << (random & 7);
		}
		for (unsigned int flips = i < 400 ? 0 : 4; flips; flips--) { /* headers */
			random = random * 1664525 + 1013904223;
			damaged[(random >> 8) % 176] = (uint8_t)random;
		}
		assert_int_equal(fwrite(damaged, 1, kept, stream), kept);
		fclose(stream);
		error = pesa_image_open(path, &image);
		if (error) {
			assert_non_null(strstr(error->message, path));
			pesa_error_free(error);
			refused++;
		} else {
			uint8_t copy[64];

			pesa_image_text(image, 0x10400, copy, sizeof(copy));
			pesa_image_close(image);
			opened++;
		}
	}
	assert_true(opened > 50 && refused > 50);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_mapping_cuts_what_it_overlaps),
		cmocka_unit_test(mappings_agree_with_a_flat_memory),
		cmocka_unit_test(forks_copy_execs_clear_threads_share),
		cmocka_unit_test(samples_after_an_exit_still_have_their_maps),
		cmocka_unit_test(paths_tell_the_kind),
		cmocka_unit_test(code_is_known_where_it_was_told),
		cmocka_unit_test(code_that_is_overwritten_is_another_version),
		cmocka_unit_test(text_belongs_to_memory_without_a_file),
		cmocka_unit_test(versions_are_limited),
		cmocka_unit_test(an_image_has_text_build_id_and_isa),
		cmocka_unit_test(other_machines_convert_addresses_only),
		cmocka_unit_test(damaged_files_are_errors_and_never_crashes),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
