/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols, lines and inlined calls, compared with what nm, objdump, addr2line and c++filt say about
 * RISC-V programs that the tests compile.
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

#include "decoder/binary/symbol_map.h"
#include "decoder/binary/symbol_table.h"
#include "pesa/symbols.h"
#include "tests/symbol_commands.h"

#define ADDRESSES_MAX 200000

static int build(void **state)
{
	char source[4096];

	if (make_folder(state) || !getcwd(source, sizeof(source)))
		return -1;
	return !run("D=%s/tests/data/symbols; "
		    "${T}gcc -g -O2 -Wl,--build-id -o inlined $D/inlined.c && "
		    "${T}g++ -g -O2 -Wl,--build-id -o templates $D/templates.cc && "
		    "${T}objcopy --only-keep-debug inlined inlined.debug && "
		    "${T}strip -o linked inlined && "
		    "${T}objcopy --add-gnu-debuglink=inlined.debug linked && "
		    "${T}strip -o bare inlined",
		    source);
}

/* ---- A set of dsos without a profile ------------------------------------------------------- */

static struct pesa_symbols *open_dso(struct pesa_dso *dso, const char *root)
{
	struct pesa_symbols *symbols;

	assert_null(pesa_symbols_create_for(only_dso, dso, root, &symbols));
	return symbols;
}

/* The lookups, which have the memory that they need. */

static const struct pesa_symbol *find(struct pesa_symbols *symbols, uint32_t dso, uint64_t address)
{
	const struct pesa_symbol *symbol;

	assert_null(pesa_symbols_find(symbols, dso, address, &symbol));
	return symbol;
}

static size_t by_name(struct pesa_symbols *symbols, uint32_t dso, const char *name,
		      const struct pesa_symbol **found, size_t max)
{
	size_t count;

	assert_null(pesa_symbols_by_name(symbols, dso, name, found, max, &count));
	return count;
}

static struct pesa_source source_of(struct pesa_symbols *symbols, uint32_t dso, uint64_t address)
{
	struct pesa_source source;

	assert_null(pesa_symbols_source(symbols, dso, address, &source));
	return source;
}

static size_t inlines(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
		      struct pesa_inline_frame *frames, size_t max)
{
	size_t count;

	assert_null(pesa_symbols_inlines(symbols, dso, address, frames, max, &count));
	return count;
}

static const char *problem_of(struct pesa_symbols *symbols, uint32_t dso)
{
	const char *problem;

	assert_null(pesa_symbols_problem(symbols, dso, &problem));
	return problem;
}

static const struct pesa_symbol *find_in(struct pesa_symbol_table *table, uint64_t address)
{
	const struct pesa_symbol *symbol;

	assert_null(pesa_symbol_table_find(table, address, &symbol));
	return symbol;
}

static char *demangled(const char *name)
{
	char *readable;

	assert_null(pesa_demangle(name, &readable));
	return readable;
}

static char *path_of(const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

/* ---- Oracles ------------------------------------------------------------------------------- */

/* Every instruction's address, by objdump. */
static size_t all_addresses(const char *program, uint64_t *address)
{
	FILE *stream = output_of("${T}objdump -d --no-show-raw-insn -j .text %s", program);
	char line[4096];
	size_t count = 0;

	while (fgets(line, sizeof(line), stream)) {
		char *end;
		uint64_t value = strtoull(line, &end, 16);

		if (line[0] == ' ' && *end == ':' && count < ADDRESSES_MAX)
			address[count++] = value;
	}
	pclose(stream);
	assert_true(count > 50);
	return count;
}

static void write_addresses(const uint64_t *address, size_t count)
{
	char *path = path_of("addresses");
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "0x%llx\n", (unsigned long long)address[i]);
	fclose(stream);
	free(path);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "??";
}

/*
 * Where addr2line and we differ and both are right: of two names of the same function it takes
 * DWARF's, we the one that perf takes; and for a function without a linkage name (local ones of
 * C++) it takes the name of the symbol, whatever was inlined there.
 */
static bool same_function(struct pesa_symbols *symbols, uint64_t address, const char *ours,
			  const char *theirs)
{
	const struct pesa_symbol *symbol = find(symbols, 0, address), *named[2];

	return !strcmp(ours, theirs) || (symbol && !strcmp(symbol->name, theirs)) ||
	       (symbol && !strcmp(symbol->name, ours) &&
		(by_name(symbols, 0, theirs, named, 2) != 1 || named[0] == symbol));
}

/*
 * Our inlined chain of every address is what addr2line says, frame for frame.  addr2line of
 * binutils 2.40 names the unit's own file where a function of a section of its own begins in a
 * header: files are compared where `files` is true.
 */
static void compare_chains(const char *program, bool files)
{
	char *path = path_of(program), line[8192], ours[8192];
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);
	uint64_t *address = calloc(ADDRESSES_MAX, sizeof(*address));
	size_t count, compared = 0, deep = 0, different = 0;
	FILE *stream;

	assert_non_null(address);
	count = all_addresses(program, address);
	write_addresses(address, count);
	stream = output_of("${T}addr2line -a -f -i -C -e %s < addresses", program);
	assert_non_null(fgets(line, sizeof(line), stream));
	for (size_t i = 0; i < count; i++) {
		struct pesa_inline_frame frame[32];
		size_t frames = inlines(symbols, 0, address[i], frame, 32), given = 0;

		assert_int_equal(strtoull(line, NULL, 16), address[i]);
		while (fgets(line, sizeof(line), stream) && strncmp(line, "0x", 2)) {
			char *function = strdup(line), *colon;

			function[strcspn(function, "\n")] = '\0';
			assert_non_null(fgets(line, sizeof(line), stream));
			line[strcspn(line, "\n")] = '\0';
			colon = strrchr(line, ' ');
			if (colon && !strncmp(colon, " (discriminator", 15))
				*colon = '\0';
			if ((colon = strstr(line, " (disc")))
				*colon = '\0';
			if (given < frames && frame[given].source.file) {
				const char *place = base_name(line), *number = strrchr(place, ':');

				snprintf(ours, sizeof(ours), "%s:%u",
					 base_name(frame[given].source.file),
					 frame[given].source.line);
				if (!number || strcmp(strrchr(ours, ':'), number) ||
				    (files && strcmp(ours, place)) ||
				    !same_function(symbols, address[i], frame[given].function,
						   function)) {
					different++;
					print_message(
						"# %#llx frame %zu: %.60s %s, addr2line %.60s %s\n",
						(unsigned long long)address[i], given,
						frame[given].function, ours, function, place);
				}
				compared++;
			} else if (line[0] != '?' && !strstr(line, ":?")) {
				different++;
				print_message("# %#llx frame %zu: none, addr2line %s %s\n",
					      (unsigned long long)address[i], given, function,
					      line);
			}
			given++;
			free(function);
		}
		if (frames > given && frame[0].source.file) {
			different++;
			print_message("# %#llx: %zu frames, addr2line %zu\n",
				      (unsigned long long)address[i], frames, given);
		}
		deep += frames > 2;
	}
	pclose(stream);
	assert_true(compared > 50);
	assert_true(deep > 0);
	assert_int_equal(different, 0);
	pesa_symbols_free(symbols);
	free(address);
	free(path);
}

static void inlined_chains_of_c_are_those_of_addr2line(void **state)
{
	(void)state;
	compare_chains("inlined", true);
}

static void inlined_chains_of_cxx_are_those_of_addr2line(void **state)
{
	(void)state;
	compare_chains("templates", false);
}

/* Every function that nm lists with a size is found by its first and its last byte. */
static void functions_are_those_of_nm(void **state)
{
	char *path = path_of("templates"), line[8192];
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);
	FILE *stream = output_of("${T}nm -S --defined-only templates");
	size_t compared = 0;

	(void)state;
	while (fgets(line, sizeof(line), stream)) {
		unsigned long long start, size;
		const struct pesa_symbol *first, *last, *named[8];
		char type, name[4096];

		if (sscanf(line, "%llx %llx %c %4095s", &start, &size, &type, name) != 4 ||
		    !strchr("tTwWi", type))
			continue;
		first = find(symbols, 0, start);
		last = find(symbols, 0, start + size - 1);
		assert_non_null(first);
		assert_ptr_equal(first, last);
		assert_int_equal(first->start, start);
		assert_int_equal(first->size, size);
		assert_true(by_name(symbols, 0, name, named, 8) >= 1);
		assert_int_equal(named[0]->start, start);
		compared++;
	}
	pclose(stream);
	assert_true(compared > 10);
	pesa_symbols_free(symbols);
	free(path);
}

static void linkage_table_entries_are_those_of_objdump(void **state)
{
	char *path = path_of("inlined"), line[4096];
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);
	FILE *stream = output_of("${T}objdump -d -j .plt inlined");
	size_t compared = 0;

	(void)state;
	while (fgets(line, sizeof(line), stream)) {
		unsigned long long start;
		const struct pesa_symbol *symbol;
		char name[1024];

		if (sscanf(line, "%llx <%1023[^>]>:", &start, name) != 2 || !strstr(name, "@plt"))
			continue;
		symbol = find(symbols, 0, start + 4);
		assert_non_null(symbol);
		assert_string_equal(symbol->name, name);
		assert_int_equal(symbol->start, start);
		compared++;
	}
	pclose(stream);
	assert_true(compared >= 2);
	pesa_symbols_free(symbols);
	free(path);
}

static void aliases_are_chosen_as_perf_does(void **state)
{
	char *path = path_of("inlined");
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);
	const struct pesa_symbol *found[4];

	(void)state;
	/* __hidden_name, plain_name and weak_name stand for the same code. */
	assert_int_equal(by_name(symbols, 0, "weak_name", found, 4), 1);
	assert_string_equal(found[0]->name, "plain_name");
	assert_string_equal(find(symbols, 0, found[0]->start + 2)->name, "plain_name");
	assert_int_equal(by_name(symbols, 0, "plain", found, 4), 0);
	/* _start has no size in the C library's start file of every version: it ends with the next.
	 */
	assert_int_equal(by_name(symbols, 0, "_start", found, 4), 1);
	assert_true(found[0]->size > 2);
	pesa_symbols_free(symbols);
	free(path);
}

static void names_of_cxx_are_found_without_their_parameters(void **state)
{
	char *path = path_of("templates");
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);
	const struct pesa_symbol *found[4];

	(void)state;
	assert_int_equal(by_name(symbols, 0, "shapes::box<double>::perimeter", found, 4), 1);
	assert_true(!strncmp(found[0]->name, "shapes::box<double>::perimeter(double) const", 44));
	assert_int_equal(by_name(symbols, 0, found[0]->name, found, 4), 1);
	assert_int_equal(by_name(symbols, 0, "shapes::box", found, 4), 0);
	pesa_symbols_free(symbols);
	free(path);
}

/* ---- Separate debug files ------------------------------------------------------------------ */

static void expect_outermost(struct pesa_dso *dso, const char *root)
{
	struct pesa_symbols *symbols = open_dso(dso, root);
	const struct pesa_symbol *found[2];
	struct pesa_source source;

	assert_int_equal(by_name(symbols, 0, "outermost", found, 2), 1);
	source = source_of(symbols, 0, found[0]->start);
	assert_string_equal(base_name(source.file), "inlined.c");
	assert_in_range(source.line, 20, 30);
	pesa_symbols_free(symbols);
}

static void debug_link_is_followed(void **state)
{
	char *path = path_of("linked");
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};

	(void)state;
	expect_outermost(&dso, NULL);
	free(path);
}

static uint8_t read_build_id(uint8_t *id)
{
	FILE *stream = output_of("${T}readelf -n inlined | sed -n 's/.*Build ID: //p'");
	unsigned int byte;
	uint8_t size = 0;

	while (size < PESA_BUILD_ID_MAX && fscanf(stream, "%2x", &byte) == 1)
		id[size++] = (uint8_t)byte;
	pclose(stream);
	assert_int_equal(size, 20);
	return size;
}

static void build_id_directory_is_searched_below_the_root(void **state)
{
	char *path = path_of("bare"), *root = path_of("root");
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};

	(void)state;
	dso.build_id_size = read_build_id(dso.build_id);
	assert_true(run(
		"D=root/usr/lib/debug/.build-id/%02x; mkdir -p $D; F=$(${T}readelf -n inlined | "
		"sed -n 's/.*Build ID: ..//p'); cp inlined.debug $D/$F.debug",
		dso.build_id[0]));
	expect_outermost(&dso, root);
	/* Also when the program itself is gone, or another one stands in its place. */
	dso.status = PESA_DSO_MISSING;
	expect_outermost(&dso, root);
	dso.status = PESA_DSO_CHANGED;
	expect_outermost(&dso, root);
	free(path);
	free(root);
}

static void debuginfod_is_asked_only_when_its_variable_is_set(void **state)
{
	struct pesa_dso dso = {.kind = PESA_DSO_FILE};
	char *path, *servers, *cache;
	struct pesa_symbols *symbols;
	const struct pesa_symbol *found[2];

	(void)state;
	if (!run("ldconfig -p | grep -q libdebuginfod.so.1")) {
		print_message("# SKIP needs the package libdebuginfod1\n");
		return;
	}
	path = path_of("bare");
	cache = path_of("cache");
	dso.path = path;
	dso.build_id_size = read_build_id(dso.build_id);
	assert_true(run("F=$(${T}readelf -n inlined | sed -n 's/.*Build ID: //p'); "
			"mkdir -p server/buildid/$F; cp inlined.debug server/buildid/$F/debuginfo; "
			"cp inlined server/buildid/$F/executable"));
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", cache, 1), 0);
	unsetenv("DEBUGINFOD_URLS");
	symbols = open_dso(&dso, NULL);
	assert_int_equal(by_name(symbols, 0, "outermost", found, 2), 0);
	pesa_symbols_free(symbols);
	assert_true(asprintf(&servers, "file://%s/server/", folder) > 0);
	assert_int_equal(setenv("DEBUGINFOD_URLS", servers, 1), 0);
	expect_outermost(&dso, NULL);
	/* Also when the program is gone. */
	dso.status = PESA_DSO_MISSING;
	dso.path = "/nowhere/inlined";
	expect_outermost(&dso, NULL);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	free(servers);
	free(cache);
	free(path);
}

static void binaries_below_the_root_come_first(void **state)
{
	char *root = path_of("root");
	struct pesa_dso dso = {.path = "/opt/inlined", .kind = PESA_DSO_FILE};

	(void)state;
	assert_true(run("mkdir -p root/opt; cp inlined root/opt/inlined"));
	expect_outermost(&dso, root);
	free(root);
}

static void stripped_and_missing_files_say_so(void **state)
{
	char *path = path_of("bare");
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};
	struct pesa_symbols *symbols = open_dso(&dso, NULL);

	(void)state;
	/* What is dynamic still has a name. */
	assert_non_null(problem_of(symbols, 0) ?: "");
	assert_null(source_of(symbols, 0, 0x600).file);
	assert_non_null(strstr(problem_of(symbols, 0), "no debug information"));
	pesa_symbols_free(symbols);
	dso.path = "/nowhere/at/all";
	symbols = open_dso(&dso, NULL);
	assert_null(find(symbols, 0, 0x600));
	assert_non_null(strstr(problem_of(symbols, 0), "/nowhere/at/all"));
	assert_null(find(symbols, 1, 0x600));
	pesa_symbols_free(symbols);
	free(path);
}

static void damaged_files_are_an_error_not_a_crash(void **state)
{
	char *path = path_of("damaged");
	unsigned int whole;
	FILE *stream;
	struct pesa_dso dso = {.path = path, .kind = PESA_DSO_FILE};

	(void)state;
	stream = output_of("stat -c %%s inlined");
	assert_int_equal(fscanf(stream, "%u", &whole), 1);
	pclose(stream);
	for (unsigned int size = 0; size < whole; size += 711) {
		struct pesa_symbols *symbols;
		struct pesa_inline_frame frame[4];

		assert_true(run("head -c %u inlined > damaged", size));
		symbols = open_dso(&dso, NULL);
		(void)find(symbols, 0, 0x600);
		(void)inlines(symbols, 0, 0x600, frame, 4);
		assert_non_null(problem_of(symbols, 0));
		pesa_symbols_free(symbols);
	}
	free(path);
}

/* ---- Demangling, maps, tables -------------------------------------------------------------- */

static void names_are_demangled_as_cxxfilt_does(void **state)
{
	static const char *const mangled[] = {
		"_ZNK6shapes3boxIdE9perimeterEd",
		("_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPiSt6vectorIiSaIiEEEElEvT_"
		 "S6_T0_"),
		"_ZN3foo3barEv.part.0",
	};
	static const char *const rust[][2] = {
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
	};
	char *lifetimes;

	(void)state;
	for (size_t i = 0; i < sizeof(mangled) / sizeof(*mangled); i++) {
		FILE *stream = output_of("${T}c++filt '%s'", mangled[i]);
		char expected[4096], *ours = demangled(mangled[i]);

		assert_non_null(fgets(expected, sizeof(expected), stream));
		pclose(stream);
		expected[strcspn(expected, "\n")] = '\0';
		assert_string_not_equal(expected, mangled[i]);
		assert_non_null(ours);
		assert_string_equal(ours, expected);
		free(ours);
	}
	/* What tells no reader anything (hashes, crate ids) is left out of Rust's names; c++filt
	 * keeps it. */
	for (size_t i = 0; i < sizeof(rust) / sizeof(*rust); i++) {
		char *ours = demangled(rust[i][0]);

		assert_string_equal(ours, rust[i][1]);
		free(ours);
	}
	assert_null(demangled("main"));
	assert_null(demangled("_start"));
	assert_null(demangled("__libc_start_main"));
	assert_null(demangled(""));
	/* Its parts are empty, and have no address. */
	assert_null(demangled("_RC0stdo3_niglf"));
	/* A function with 2 lifetimes; with a quarter of a million; with 200 million million. */
	lifetimes = demangled("_RINvC1a1bFG0_EuE");
	assert_non_null(lifetimes);
	assert_non_null(strstr(lifetimes, "for<'a, 'b"));
	free(lifetimes);
	assert_null(demangled("_RINvC1a1bFGzzz_EuE"));
	assert_null(demangled("_RINvC1a1bFGzzzzzzzz_EuE"));
	/* Lifetimes in a path that is not printed: few, and so many that counting them takes years. */
	lifetimes = demangled("_RNvXINtC1a1bFG0_EuEuC1a3foo");
	assert_non_null(lifetimes);
	assert_string_equal(lifetimes, "<() as a>::foo");
	free(lifetimes);
	assert_null(demangled("_RNvXINtC1a1bFGzzzzzzzz_EuEuC1a3foo"));
	assert_null(demangled("__RNvXINtC1a1bDGzzzzzzzz_EL_EuC1a3foo"));
	assert_null(demangled("_RNvC1a3fooINtC1a1bFGzzzzzzzz_EuE"));
}

static void maps_of_just_in_time_code_name_it_and_later_lines_hold(void **state)
{
	static const char text[] = "1000 20 first function\n"
				   "2000 10 second\n"
				   "no line at all\n"
				   "1000 40 replaced it\n"
				   "3000 8 last, cut off";
	struct pesa_symbol_table *table = pesa_symbol_table_create("program");
	size_t ignored;

	(void)state;
	assert_null(pesa_symbol_map_parse(text, strlen(text), table, &ignored));
	assert_int_equal(ignored, 1);
	assert_null(pesa_symbol_table_finish(table));
	assert_string_equal(find_in(table, 0x1010)->name, "replaced it");
	assert_string_equal(find_in(table, 0x103f)->name, "replaced it");
	assert_null(find_in(table, 0x1040));
	assert_string_equal(find_in(table, 0x2000)->name, "second");
	assert_string_equal(find_in(table, 0x3007)->name, "last, cut off");
	pesa_symbol_table_free(table);
}

static void map_of_a_process_is_read(void **state)
{
	struct pesa_dso dso = {
		.path = "[anon]", .kind = PESA_DSO_JIT, .pid = 4242, .status = PESA_DSO_NO_FILE};
	char *root = path_of("root");
	struct pesa_symbols *symbols;

	(void)state;
	assert_true(run(
		"mkdir -p root/tmp; echo '7f0000001000 80 jitted loop' > root/tmp/perf-4242.map"));
	symbols = open_dso(&dso, root);
	assert_string_equal(find(symbols, 0, 0x7f0000001010)->name, "jitted loop");
	assert_null(find(symbols, 0, 0x7f0000001080));
	pesa_symbols_free(symbols);
	dso.pid = 4243;
	symbols = open_dso(&dso, root);
	assert_null(find(symbols, 0, 0x7f0000001010));
	assert_non_null(strstr(problem_of(symbols, 0), "perf-4243.map"));
	pesa_symbols_free(symbols);
	free(root);
}

static void kernel_functions_are_named_if_it_is_the_kernel_that_was_recorded(void **state)
{
	struct pesa_dso dso = {.path = "[kernel.kallsyms]_text",
			       .kind = PESA_DSO_KERNEL,
			       .status = PESA_DSO_NO_FILE,
			       .build_id_size = 4,
			       .build_id = {0xaa, 0xbb, 0xcc, 0xdd}};
	char *root = path_of("root");
	struct pesa_symbols *symbols;

	(void)state;
	assert_true(
		run("mkdir -p root/proc root/sys/kernel; "
		    "printf '\\006\\0\\0\\0\\004\\0\\0\\0\\001\\0\\0\\0Linux\\0\\0\\0\\001\\0\\0\\0"
		    "\\004\\0\\0\\0\\004\\0\\0\\0\\003\\0\\0\\0GNU\\0\\252\\273\\314\\335' "
		    "> root/sys/kernel/notes; "
		    "printf 'ffffffff80000000 T _start_kernel\\nffffffff80001000 t local_one\\n"
		    "ffffffff80001040 d data\\nffffffff90000000 W in_module\\t[module]\\n' "
		    "> root/proc/kallsyms"));
	symbols = open_dso(&dso, root);
	assert_string_equal(find(symbols, 0, 0xffffffff80000ffe)->name, "_start_kernel");
	assert_string_equal(find(symbols, 0, 0xffffffff80001000)->name, "local_one");
	assert_string_equal(find(symbols, 0, 0xffffffff90000000)->name, "in_module");
	assert_null(find(symbols, 0, 0x1000));
	assert_null(problem_of(symbols, 0));
	pesa_symbols_free(symbols);
	/* Hidden addresses name nothing, */
	assert_true(run("sed -i 's/^f[0-9a-f]*/0000000000000000/' root/proc/kallsyms"));
	symbols = open_dso(&dso, root);
	assert_null(find(symbols, 0, 0xffffffff80000ffe));
	assert_non_null(strstr(problem_of(symbols, 0), "kptr_restrict"));
	pesa_symbols_free(symbols);
	/* nor does another kernel. */
	dso.build_id[0] = 0;
	symbols = open_dso(&dso, root);
	assert_null(find(symbols, 0, 0xffffffff80000ffe));
	assert_non_null(strstr(problem_of(symbols, 0), "not the one that was recorded"));
	pesa_symbols_free(symbols);
	free(root);
}

static void labels_count_only_outside_functions(void **state)
{
	struct pesa_symbol_table *table = pesa_symbol_table_create("program");
	static const struct pesa_symbol_candidate symbols[] = {
		{.name = "function", .start = 0x100, .size = 0x40, .binding = PESA_SYMBOL_GLOBAL},
		{.name = "inside", .start = 0x110, .label = true, .limit = 0x200},
		{.name = "at_its_start", .start = 0x100, .label = true, .limit = 0x200},
		{.name = "outside", .start = 0x150, .label = true, .limit = 0x200},
		{.name = "sizeless", .start = 0x180, .limit = 0x200},
		{.name = "nested", .start = 0x120, .size = 0x8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		assert_null(pesa_symbol_table_add(table, &symbols[i]));
	assert_null(pesa_symbol_table_finish(table));
	assert_int_equal(pesa_symbol_table_count(table), 4);
	assert_string_equal(find_in(table, 0x100)->name, "function");
	assert_string_equal(find_in(table, 0x118)->name, "function");
	assert_string_equal(find_in(table, 0x124)->name, "nested");
	assert_string_equal(find_in(table, 0x128)->name, "function");
	assert_null(find_in(table, 0x140));
	assert_string_equal(find_in(table, 0x160)->name, "outside");
	assert_string_equal(find_in(table, 0x1ff)->name, "sizeless");
	assert_null(find_in(table, 0x200));
	pesa_symbol_table_free(table);
}

static void calls_into_a_symbol_without_a_size_do_not_end_it(void **state)
{
	struct pesa_symbol_table *table = pesa_symbol_table_create("program");
	static const struct pesa_symbol_candidate symbols[] = {
		{.name = "_start", .start = 0x100, .limit = 0x400, .label = true},
		{.start = 0x120, .limit = 0x400}, /* called */
		{.start = 0x140, .size = 0x20},	  /* of the unwinding table */
		{.name = "next", .start = 0x200, .size = 0x40},
		{.start = 0x280, .limit = 0x400},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		assert_null(pesa_symbol_table_add(table, &symbols[i]));
	assert_null(pesa_symbol_table_finish(table));
	assert_string_equal(find_in(table, 0x130)->name, "_start");
	assert_string_equal(find_in(table, 0x150)->name, "program+0x140");
	assert_string_equal(find_in(table, 0x210)->name, "next");
	assert_string_equal(find_in(table, 0x290)->name, "program+0x280");
	pesa_symbol_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_chains_of_c_are_those_of_addr2line),
		cmocka_unit_test(inlined_chains_of_cxx_are_those_of_addr2line),
		cmocka_unit_test(functions_are_those_of_nm),
		cmocka_unit_test(linkage_table_entries_are_those_of_objdump),
		cmocka_unit_test(aliases_are_chosen_as_perf_does),
		cmocka_unit_test(names_of_cxx_are_found_without_their_parameters),
		cmocka_unit_test(debug_link_is_followed),
		cmocka_unit_test(build_id_directory_is_searched_below_the_root),
		cmocka_unit_test(debuginfod_is_asked_only_when_its_variable_is_set),
		cmocka_unit_test(binaries_below_the_root_come_first),
		cmocka_unit_test(stripped_and_missing_files_say_so),
		cmocka_unit_test(damaged_files_are_an_error_not_a_crash),
		cmocka_unit_test(names_are_demangled_as_cxxfilt_does),
		cmocka_unit_test(maps_of_just_in_time_code_name_it_and_later_lines_hold),
		cmocka_unit_test(map_of_a_process_is_read),
		cmocka_unit_test(kernel_functions_are_named_if_it_is_the_kernel_that_was_recorded),
		cmocka_unit_test(labels_count_only_outside_functions),
		cmocka_unit_test(calls_into_a_symbol_without_a_size_do_not_end_it),
	};

	return cmocka_run_group_tests_name("symbols", tests, build, clean);
}
