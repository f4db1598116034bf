/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The assembler against llvm-mc: every line that it takes must become the same bytes, in
 * configurations that together have every extension.  Lines are the text of random valid words of
 * every opcode, the same with random changes and under other mnemonics, numbers to load, and the
 * code of real programs.
 *
 * With arguments: only the last, on these ELF files for RV64GC instead of the distribution's
 * libraries.
 *
 * Environment: PESA_ASSEMBLE_LINES, lines for each configuration (default 6000); LLVM_MC, the
 * oracle (default llvm-mc-22), without which the comparisons are skipped; PESA_ASSEMBLE_REFUSED=1
 * lists what the oracle took and the assembler did not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "decoder/riscv/isa.h"
#include "pesa/assemble.h"
#include "tests/riscv_configurations.h"
#include "tests/riscv_program.h"

#define LINE_MAX_LENGTH 160
#define SHOWN		12

struct line {
	char text[LINE_MAX_LENGTH];
	int opcode; /* that the text was printed for, or -1 */
	/* The oracle's answer. */
	bool refused;
	unsigned int size;
	uint8_t bytes[64];
};

struct lines {
	struct line *line;
	size_t count, size;
};

static struct line *add_line(struct lines *lines)
{
	if (lines->count == lines->size) {
		lines->size = lines->size ? lines->size * 2 : 1024;
		lines->line = realloc(lines->line, lines->size * sizeof(*lines->line));
		assert_non_null(lines->line);
	}
	lines->line[lines->count] = (struct line){.opcode = -1};
	return &lines->line[lines->count++];
}

static size_t line_count(void)
{
	const char *text = getenv("PESA_ASSEMBLE_LINES");

	if (text && *text)
		return strtoul(text, NULL, 10);
	return getenv("PESA_SANITIZED") ? 1000 : 6000;
}

/* ---- The oracle ---------------------------------------------------------------------------- */

/* A line of its output: a label "L5:", or text with "encoding: [0x13,...]" behind it. */
static void read_answer(struct lines *lines, size_t *current, const char *text)
{
	const char *encoding = strstr(text, "encoding: [");
	unsigned long number;
	char colon;

	if (sscanf(text, "L%lu%c", &number, &colon) == 2 && colon == ':') {
		assert_in_range(number, 0, lines->count - 1);
		*current = number;
		return;
	}
	if (!encoding)
		return;
	encoding += strlen("encoding: [");
	while (*encoding && *encoding != ']') {
		struct line *line = &lines->line[*current];
		char *end;
		unsigned long byte = strtoul(encoding, &end, 16);

		if (end == encoding) /* a fixup: not a number */
			break;
		if (line->size < sizeof(line->bytes))
			line->bytes[line->size++] = byte;
		encoding = end + (*end == ',');
	}
}

/* LLVM's assembler refuses extensions of RV32 for RV64, where they mean nothing. */
static void leave_out_narrow(char *options)
{
	static const char *const names[] = {",+zcf", ",+zilsd"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && strstr(options, "riscv64"); i++) {
		char *place = strstr(options, names[i]);
		size_t length = strlen(names[i]);

		if (place)
			memmove(place, place + length, strlen(place + length) + 1);
	}
}

static void ask(const char *isa, struct lines *lines)
{
	char directory[] = "/tmp/pesa-test-XXXXXX", path[3][64], options[4096], command[8192];
	static const char *const files[3] = {"in", "out", "err"};
	char text[1024];
	size_t current = 0;
	FILE *file;

	assert_non_null(mkdtemp(directory));
	for (int i = 0; i < 3; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%s", directory, files[i]);
	file = fopen(path[0], "w");
	assert_non_null(file);
	for (size_t i = 0; i < lines->count; i++)
		fprintf(file, "L%zu:\n%s\n", i, lines->line[i].text);
	fclose(file);
	oracle_options(isa, options, sizeof(options));
	leave_out_narrow(options);
	snprintf(command, sizeof(command), "%s --show-encoding %s < %s > %s 2> %s",
		 oracle_program(), options, path[0], path[1], path[2]);
	assert_int_not_equal(system(command), -1);
	file = fopen(path[1], "r");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file))
		read_answer(lines, &current, text);
	fclose(file);
	file = fopen(path[2], "r");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file)) {
		size_t number;

		if (strstr(text, "LLVM ERROR"))
			fail_msg("%s: %s", command, text);
		if (sscanf(text, "<stdin>:%zu:", &number) != 1 || !strstr(text, ": error:"))
			continue;
		assert_in_range((number - 1) / 2, 0, lines->count - 1);
		lines->line[(number - 1) / 2].refused = true;
	}
	fclose(file);
	for (int i = 0; i < 3; i++)
		unlink(path[i]);
	rmdir(directory);
}

/* ---- Comparison ---------------------------------------------------------------------------- */

struct result {
	size_t taken, differences, refused;
};

static unsigned int bytes_of(const struct pesa_assembly *assembly, uint8_t *bytes)
{
	unsigned int size = 0;

	for (unsigned int i = 0; i < assembly->count; i++)
		for (unsigned int n = 0; n < assembly->insn[i].length; n++)
			bytes[size++] = assembly->insn[i].bits >> n * 8;
	return size;
}

/* `seen`, if given, collects the opcodes whose text was taken. */
static void compare(const struct configuration *configuration, const struct pesa_isa *isa,
		    struct lines *lines, struct result *result, bool *seen)
{
	ask(configuration->oracle ? configuration->oracle : configuration->isa, lines);
	for (size_t i = 0; i < lines->count; i++) {
		const struct line *line = &lines->line[i];
		struct pesa_assembly assembly;
		uint8_t bytes[64];
		unsigned int size;

		if (!pesa_assemble(isa, line->text, strlen(line->text), &assembly)) {
			if (line->refused || !line->size)
				continue;
			result->refused++;
			if (getenv("PESA_ASSEMBLE_REFUSED"))
				print_message("%.40s: refused '%s' (%s)\n", configuration->isa,
					      line->text,
					      line->opcode < 0
						      ? "-"
						      : pesa_opcode_get(line->opcode)->name);
			continue;
		}
		result->taken++;
		size = bytes_of(&assembly, bytes);
		/* Where there is a symbol the oracle shows letters for the bits of the fixup. */
		if (!line->refused &&
		    (assembly.symbol ? line->size <= size
				     : line->size == size && !memcmp(bytes, line->bytes, size))) {
			if (seen && line->opcode >= 0)
				seen[line->opcode] = true;
			continue;
		}
		if (result->differences++ < SHOWN)
			print_error("%.60s: '%s': %u bytes %#llx, llvm-mc %s, %u bytes "
				    "%02x%02x%02x%02x\n",
				    configuration->isa, line->text, size,
				    (unsigned long long)assembly.insn[0].bits,
				    line->refused ? "refuses it" : "takes it", line->size,
				    line->bytes[3], line->bytes[2], line->bytes[1], line->bytes[0]);
	}
}

/* The text of a random valid word of an opcode; false if none was found. */
static bool print_opcode(const struct pesa_isa *isa, unsigned int id, uint64_t *state,
			 unsigned int flags, struct line *line)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[id];

	for (int attempt = 0; attempt < 20; attempt++) {
		uint64_t bits = random_next(state);
		struct pesa_insn insn;
		uint8_t bytes[8];

		/* Fields of 0 and of equal registers are rare in random words. */
		if (attempt % 4 == 1)
			bits &= random_next(state) & random_next(state);
		bits = (bits & ~opcode->mask) | opcode->match;
		for (unsigned int byte = 0; byte < sizeof(bytes); byte++)
			bytes[byte] = bits >> byte * 8;
		if (!pesa_insn_decode(isa, bytes, opcode->public.length, &insn) ||
		    insn.opcode != id)
			continue;
		pesa_insn_print(isa, &insn, 0, flags, line->text, sizeof(line->text));
		line->opcode = id;
		return true;
	}
	return false;
}

/* Change a character, or a few. */
static void mutate(char *text, uint64_t *state)
{
	static const char characters[] = "0123456789abcdefgimnoprstuvwxz.,()-+%# \t_$xva{}/";
	unsigned int changes = 1 + random_next(state) % 2;

	while (changes--) {
		size_t length = strlen(text), place = random_next(state) % (length + 1);
		char c = characters[random_next(state) % (sizeof(characters) - 1)];

		switch (random_next(state) % 4) {
		case 0:
			if (place < length)
				text[place] = c;
			break;
		case 1:
			if (place < length)
				memmove(text + place, text + place + 1, length - place);
			break;
		case 2:
			if (length + 2 < LINE_MAX_LENGTH) {
				memmove(text + place + 1, text + place, length - place + 1);
				text[place] = c;
			}
			break;
		default: /* another number */
			place = strcspn(text, "0123456789");
			if (place < length)
				snprintf(text + place, LINE_MAX_LENGTH - place, "%d",
					 (int)(random_next(state) % 5000) - 2500);
			break;
		}
	}
	/* What quotes enclose may be many lines: there are none.  A second statement or comment is
	 * not a line of the assembler. */
	text[strcspn(text, ";#\n")] = '\0';
	if (strstr(text, "//"))
		*strstr(text, "//") = '\0';
	if (strstr(text, "/*"))
		*strstr(text, "/*") = '\0';
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void check(const struct result *result, size_t refused_at_most)
{
	print_message("%zu lines taken, %zu refused that llvm-mc takes, %zu different\n",
		      result->taken, result->refused, result->differences);
	assert_int_equal(result->differences, 0);
	assert_true(result->refused <= refused_at_most);
}

static void every_opcode_becomes_the_same_bytes(void **state)
{
	static const unsigned int flags[] = {0, 0, PESA_PRINT_NO_ALIASES, PESA_PRINT_NUMERIC};
	bool *seen = calloc(riscv_opcode_count, sizeof(*seen));
	uint64_t seed = 0x9e3779b97f4a7c15u;
	struct result result = {0};
	size_t missing = 0;

	(void)state;
	assert_non_null(seen);
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct lines lines = {0};
		size_t round = 0, wanted = line_count();

		do
			for (unsigned int id = 0; id < riscv_opcode_count; id++)
				if (isa->conditions[riscv_opcodes[id].condition] &&
				    !print_opcode(isa, id, &seed, flags[round % 4],
						  add_line(&lines)))
					lines.count--;
		while (++round < 4 || lines.count < wanted);
		compare(&configurations[c], isa, &lines, &result, seen);
		free(lines.line);
		pesa_isa_free(isa);
	}
	for (unsigned int id = 0; id < riscv_opcode_count; id++)
		if (!seen[id] && missing++ < 50)
			print_message("never taken: %s\n", pesa_opcode_get(id)->name);
	print_message("%zu of %u opcodes were never taken\n", missing, riscv_opcode_count);
	free(seen);
	assert_in_range(missing, 0, 5);
	check(&result, result.taken / 100);
}

static void changed_lines_are_refused_or_the_same(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1du;
	struct result result = {0};

	(void)state;
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct lines lines = {0};

		for (size_t n = 0; n < line_count(); n++) {
			unsigned int id = random_next(&seed) % riscv_opcode_count;
			struct line *line = add_line(&lines);

			if (!isa->conditions[riscv_opcodes[id].condition] ||
			    !print_opcode(isa, id, &seed, 0, line)) {
				lines.count--;
				continue;
			}
			mutate(line->text, &seed);
		}
		compare(&configurations[c], isa, &lines, &result, NULL);
		free(lines.line);
		pesa_isa_free(isa);
	}
	check(&result, SIZE_MAX);
}

/* The operands of a printed line under another mnemonic, in a way that aliases have them. */
static void rename_line(char *text, const char *mnemonic, unsigned int way)
{
	char operands[LINE_MAX_LENGTH], *rest = strchr(text, '\t'), *place;

	snprintf(operands, sizeof(operands), "%s", rest ? rest + 1 : "");
	rest = operands;
	place = strchr(operands, '(');
	if (way == 1 && place) { /* no offset */
		char *end = place;

		while (place > operands && !strchr(" ,\t", place[-1]))
			place--;
		memmove(place, end, strlen(end) + 1);
	} else if (way == 2 && strchr(operands, ',')) { /* without the first operand */
		rest = strchr(operands, ',') + 1;
	} else if (way == 3 && strrchr(operands, ',')) { /* without the last one */
		*strrchr(operands, ',') = '\0';
	}
	snprintf(text, LINE_MAX_LENGTH, "%.40s\t%.100s", mnemonic, rest);
}

static void aliases_become_the_same_bytes(void **state)
{
	const unsigned int printed = riscv_alias_count;
	uint64_t seed = 0x853c49e6748fea9bu;
	struct result result = {0};
	unsigned int inputs = 0;

	(void)state;
	for (unsigned int i = 0; i < riscv_mnemonic_count; i++)
		inputs += (riscv_mnemonics[i] & MNEMONIC_KIND_MASK) == MNEMONIC_INPUT;
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct lines lines = {0};

		for (size_t n = 0; n < line_count(); n++) {
			unsigned int place = random_next(&seed) % (printed + inputs);
			const struct riscv_alias *alias =
				place < printed ? &riscv_aliases[place]
						: &riscv_input_aliases[place - printed];
			const struct riscv_mnemonic_alias *other =
				&riscv_mnemonic_aliases[random_next(&seed) %
							riscv_mnemonic_alias_count];
			const char *mnemonic =
				random_next(&seed) % 20 ? alias->mnemonic : other->name;
			struct line *line = add_line(&lines);

			if (!isa->conditions[riscv_opcodes[alias->opcode].condition] ||
			    !print_opcode(isa, alias->opcode, &seed, PESA_PRINT_NO_ALIASES, line)) {
				lines.count--;
				continue;
			}
			rename_line(line->text, mnemonic, random_next(&seed) % 5);
		}
		compare(&configurations[c], isa, &lines, &result, NULL);
		free(lines.line);
		pesa_isa_free(isa);
	}
	check(&result, SIZE_MAX);
}

/* Numbers of all sizes, around the limits of the instructions that make them. */
static void loaded_numbers_become_the_same_bytes(void **state)
{
	uint64_t seed = 0xb5026f5aa96619e9u;
	struct result result = {0};

	(void)state;
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct lines lines = {0};

		for (size_t n = 0; n < line_count() / 4; n++) {
			uint64_t bits = random_next(&seed);
			int64_t number = (int64_t)bits >> (bits & 63);

			if (bits & 64)
				number = (int64_t)((uint64_t)number >> (bits >> 7 & 63)
									       << (bits >> 7 & 63));
			if (bits & 0x10000)
				number = (INT64_C(1) << (bits >> 20 & 31)) +
					 (int64_t)(bits >> 40 & 3) - 2;
			snprintf(add_line(&lines)->text, LINE_MAX_LENGTH, "li\ta%u, %lld",
				 (unsigned int)(bits >> 50 & 3), (long long)number);
		}
		compare(&configurations[c], isa, &lines, &result, NULL);
		free(lines.line);
		pesa_isa_free(isa);
	}
	assert_true(result.taken > line_count());
	check(&result, SIZE_MAX);
}

static void other_mnemonics_are_refused_or_the_same(void **state)
{
	uint64_t seed = 0xda942042e4dd58b5u;
	struct result result = {0};

	(void)state;
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct lines lines = {0};

		for (size_t n = 0; n < line_count(); n++) {
			unsigned int id = random_next(&seed) % riscv_opcode_count;
			unsigned int other = random_next(&seed) % riscv_opcode_count;
			struct line *line = add_line(&lines);

			if (!isa->conditions[riscv_opcodes[id].condition] ||
			    !print_opcode(isa, id, &seed, 0, line)) {
				lines.count--;
				continue;
			}
			rename_line(line->text, riscv_opcodes[other].public.mnemonic, 0);
		}
		compare(&configurations[c], isa, &lines, &result, NULL);
		free(lines.line);
		pesa_isa_free(isa);
	}
	check(&result, SIZE_MAX);
}

static void code_of_programs_becomes_the_same_bytes(void **state)
{
	char **named = *state; /* the command line, or what is installed */
	struct pesa_isa *isa = create(configurations[0].isa);
	struct result result = {0};

	for (size_t i = 0; named ? named[i] != NULL : i < PROGRAMS; i++) {
		struct words words = {0};
		struct lines lines = {0};

		if (!program_words(named ? named[i] : programs[i], isa, &words) && named)
			fail_msg("%s cannot be read", named[i]);
		for (size_t n = 0; n < words.count; n++) {
			struct line *line = add_line(&lines);
			struct pesa_insn insn;
			uint8_t bytes[8];

			for (unsigned int byte = 0; byte < sizeof(bytes); byte++)
				bytes[byte] = words.bits[n] >> byte * 8;
			if (pesa_insn_decode(isa, bytes, sizeof(bytes), &insn)) {
				pesa_insn_print(isa, &insn, 0, 0, line->text, sizeof(line->text));
				line->opcode = insn.opcode;
			} else {
				lines.count--;
			}
		}
		compare(&configurations[0], isa, &lines, &result, NULL);
		free(lines.line);
		free(words.bits);
	}
	pesa_isa_free(isa);
	check(&result, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest program_tests[] = {
		cmocka_unit_test_prestate(code_of_programs_becomes_the_same_bytes, argv + 1),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_becomes_the_same_bytes),
		cmocka_unit_test(aliases_become_the_same_bytes),
		cmocka_unit_test(loaded_numbers_become_the_same_bytes),
		cmocka_unit_test(other_mnemonics_are_refused_or_the_same),
		cmocka_unit_test(changed_lines_are_refused_or_the_same),
		cmocka_unit_test(code_of_programs_becomes_the_same_bytes),
	};

	/* A skipped test of cmocka is a failed one to prove; a plan of no tests is not. */
	if (!oracle_exists()) {
		puts("1..0 # SKIP needs the package llvm-22");
		return 0;
	}
	if (argc > 1)
		return cmocka_run_group_tests(program_tests, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
