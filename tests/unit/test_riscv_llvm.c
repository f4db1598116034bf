/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder and disassembler against llvm-mc --disassemble: random words, every opcode of the tables,
 * and every instruction of real programs, in configurations that together have every extension.
 *
 * With arguments: only the last, on these ELF files for RV64GC instead of the distribution's
 * libraries.
 *
 * Environment: PESA_RANDOM_WORDS, random words for each configuration (default 100000; 1000000 for
 * the full run); LLVM_MC, the oracle (default llvm-mc-22).  Without the oracle the tests are
 * skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/riscv/isa.h"
#include "tests/riscv_configurations.h"
#include "tests/riscv_program.h"

/*
 * Opcodes that we decode and LLVM 22 does not, because its disassembler asks no decoder table for
 * them (they are alone in "ZdinxGPRPairRV32").
 */
static const char *const not_in_llvm[] = {"FCVT_D_H_IN32X", "FCVT_H_D_IN32X"};

/* ---- The oracle ---------------------------------------------------------------------------- */

/* What the oracle says about words: texts[i] is NULL where it is no instruction. */
struct answers {
	char **texts;
	size_t count;
	char *output;
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text;
	long size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	text = malloc(size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, size, file), size);
	text[size] = '\0';
	fclose(file);
	return text;
}

/* Between words stands `lui t0, NUMBER`, which is valid everywhere, so that a word without a line is seen in
 * the output.  What llvm-mc says of an invalid one, in a dozen writes, takes longer than all the rest. */
static uint32_t marker(size_t i)
{
	return 0x2b7 | (uint32_t)(64 + i % 65536) << 12;
}

static bool is_marker(const char *line, size_t i)
{
	unsigned int number;

	return line && sscanf(line, "lui %*[a-z0-9], %u", &number) == 1 &&
	       number == marker(i) >> 12;
}

/* The next line with an instruction, without what surrounds it.  NULL: there is none. */
static char *next_line(char *text, char **save)
{
	char *line = strtok_r(text, "\n", save);
	size_t length;

	while (line && (!strncmp(line, "\t.", 2) || !line[strspn(line, " \t")]))
		line = strtok_r(NULL, "\n", save);
	if (!line)
		return NULL;
	line += strspn(line, " \t");
	length = strlen(line);
	while (length && isspace((unsigned char)line[length - 1]))
		line[--length] = '\0';
	return line;
}

static void put_bytes(FILE *file, uint64_t bits, unsigned int length)
{
	for (unsigned int byte = 0; byte < length; byte++)
		fprintf(file, "%c0x%02x", byte ? ',' : '[',
			(unsigned int)(bits >> byte * 8 & 0xff));
	fputs("]\n", file);
}

static void ask(const char *isa, unsigned int flags, const struct words *words,
		struct answers *answers)
{
	char directory[] = "/tmp/pesa-test-XXXXXX", path[2][64], options[4096], command[8192];
	char *line, *save = NULL;
	FILE *input;

	assert_non_null(mkdtemp(directory));
	snprintf(path[0], sizeof(path[0]), "%s/in", directory);
	snprintf(path[1], sizeof(path[1]), "%s/out", directory);
	input = fopen(path[0], "w");
	assert_non_null(input);
	for (size_t i = 0; i < words->count; i++) {
		unsigned int length = pesa_insn_length(words->bits[i]);

		put_bytes(input, marker(i), 4);
		put_bytes(input, words->bits[i], length == 2 || length == 6 ? length : 4);
	}
	fclose(input);
	oracle_options(isa, options, sizeof(options));
	snprintf(command, sizeof(command), "%s --disassemble %s %s %s < %s > %s 2> /dev/null",
		 oracle_program(), options, flags & PESA_PRINT_NO_ALIASES ? "-M no-aliases" : "",
		 flags & PESA_PRINT_NUMERIC ? "-M numeric" : "", path[0], path[1]);
	/* Its status is not 0 when there was an invalid word. */
	assert_int_not_equal(system(command), -1);
	answers->output = read_file(path[1]);
	answers->count = words->count;
	answers->texts = calloc(words->count + 1, sizeof(*answers->texts));
	assert_non_null(answers->texts);
	for (int i = 0; i < 2; i++)
		unlink(path[i]);
	rmdir(directory);

	line = next_line(answers->output, &save);
	for (size_t i = 0; i < words->count; i++) {
		if (!is_marker(line, i))
			fail_msg("%s: word %zu has not one line: %s", command, i,
				 line ? line : "the output ends");
		line = next_line(NULL, &save);
		if (line && (!is_marker(line, i + 1) || words->bits[i] == marker(i + 1))) {
			answers->texts[i] = line;
			line = next_line(NULL, &save);
		}
	}
	if (line)
		fail_msg("%s: more lines than instructions: %s", command, line);
}

static void answers_free(struct answers *answers)
{
	free(answers->texts);
	free(answers->output);
}

/* ---- Comparison ---------------------------------------------------------------------------- */

static bool is_not_in_llvm(unsigned int opcode)
{
	for (size_t i = 0; i < sizeof(not_in_llvm) / sizeof(*not_in_llvm); i++)
		if (!strcmp(pesa_opcode_get(opcode)->name, not_in_llvm[i]))
			return true;
	return false;
}

/* Counts differences and shows the first.  `seen`, if given, collects the opcodes that agreed. */
static size_t compare(const struct configuration *configuration, const struct pesa_isa *isa,
		      unsigned int flags, const struct words *words, bool *seen)
{
	const char *oracle = configuration->oracle ? configuration->oracle : configuration->isa;
	struct answers answers;
	size_t differences = 0;

	ask(oracle, flags, words, &answers);
	for (size_t i = 0; i < words->count; i++) {
		const char *expected = answers.texts[i];
		uint8_t bytes[8];
		struct pesa_insn insn;
		unsigned int length;
		char text[128];

		for (unsigned int byte = 0; byte < sizeof(bytes); byte++)
			bytes[byte] = words->bits[i] >> byte * 8;
		length = pesa_insn_decode(isa, bytes, sizeof(bytes), &insn);
		if (length && !expected && is_not_in_llvm(insn.opcode)) {
			if (seen)
				seen[insn.opcode] = true;
			continue;
		}
		if (!length && !expected)
			continue;
		if (length)
			pesa_insn_print(isa, &insn, 0, flags, text, sizeof(text));
		if (length && expected && !strcmp(text, expected) &&
		    length == pesa_insn_length(words->bits[i]) && !is_not_in_llvm(insn.opcode)) {
			if (seen)
				seen[insn.opcode] = true;
			continue;
		}
		if (differences++ < 10)
			print_error("%.60s flags %u: %0*llx: %s '%s', llvm-mc '%s'\n",
				    configuration->isa, flags, 8,
				    (unsigned long long)words->bits[i],
				    length ? pesa_opcode_get(insn.opcode)->name : "-",
				    length ? text : "invalid", expected ? expected : "invalid");
	}
	answers_free(&answers);
	return differences;
}

static size_t random_count(void)
{
	const char *text = getenv("PESA_RANDOM_WORDS");

	if (text && *text)
		return strtoul(text, NULL, 10);
	return getenv("PESA_SANITIZED") ? 5000 : 100000;
}

/* The bits of an opcode with random fields, perhaps with one bit flipped. */
static uint64_t random_opcode(const struct riscv_opcode *opcode, uint64_t *state, bool flip)
{
	uint64_t bits = random_next(state);

	bits = (bits & ~opcode->mask) | opcode->match;
	if (flip)
		bits ^= UINT64_C(1) << random_next(state) % (opcode->public.length * 8);
	return cut_to_length(bits);
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void random_words_agree_in_every_configuration(void **state)
{
	static const unsigned int flags[] = {0, PESA_PRINT_NO_ALIASES, PESA_PRINT_NUMERIC,
					     PESA_PRINT_NO_ALIASES | PESA_PRINT_NUMERIC};
	uint64_t seed = 0x9e3779b97f4a7c15u;
	size_t differences = 0, count = random_count();

	(void)state;
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct words words = {0};

		/* Most with aliases; a part with each of the other ways to print. */
		for (unsigned int f = 0; f < 4; f++) {
			words.count = 0;
			while (words.count < (f ? count / 8 : count - count / 8 * 3)) {
				unsigned int id = random_next(&seed) % riscv_opcode_count;

				if (isa->conditions[riscv_opcodes[id].condition] &&
				    random_next(&seed) % 2)
					words_add(&words,
						  random_opcode(&riscv_opcodes[id], &seed,
								random_next(&seed) % 4 == 0));
				else
					words_add(&words, cut_to_length(random_next(&seed)));
			}
			differences += compare(&configurations[c], isa, flags[f], &words, NULL);
		}
		free(words.bits);
		pesa_isa_free(isa);
	}
	assert_int_equal(differences, 0);
}

static void all_16_bit_instructions_agree(void **state)
{
	size_t differences = 0, configurations_tried = CONFIGURATIONS;

	(void)state;
	if (getenv("PESA_SANITIZED"))
		configurations_tried = 4;
	for (size_t c = 0; c < configurations_tried; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct words words = {0};

		for (uint64_t bits = 0; bits < 0x10000; bits++)
			if ((bits & 3) != 3)
				words_add(&words, bits);
		differences += compare(&configurations[c], isa, 0, &words, NULL);
		free(words.bits);
		pesa_isa_free(isa);
	}
	assert_int_equal(differences, 0);
}

/* Random fields that make a valid instruction of this opcode, if 64 attempts find them. */
static uint64_t valid_opcode(const struct pesa_isa *isa, unsigned int id, uint64_t *state)
{
	uint64_t bits = 0;

	for (int attempt = 0; attempt < 64; attempt++) {
		struct pesa_insn insn;
		uint8_t bytes[8];

		bits = random_opcode(&riscv_opcodes[id], state, false);
		for (unsigned int byte = 0; byte < sizeof(bytes); byte++)
			bytes[byte] = bits >> byte * 8;
		if (pesa_insn_decode(isa, bytes, sizeof(bytes), &insn) && insn.opcode == id)
			break;
	}
	return bits;
}

static void every_opcode_agrees(void **state)
{
	bool *seen = calloc(pesa_opcode_count(), sizeof(*seen));
	uint64_t seed = 0xd1b54a32d192ed03u;
	size_t differences = 0, missing = 0;

	(void)state;
	assert_non_null(seen);
	for (size_t c = 0; c < CONFIGURATIONS; c++) {
		struct pesa_isa *isa = create(configurations[c].isa);
		struct words words = {0};

		for (unsigned int id = 0; id < riscv_opcode_count; id++)
			for (int variant = 0; variant < 8; variant++)
				if (isa->conditions[riscv_opcodes[id].condition])
					words_add(&words, valid_opcode(isa, id, &seed));
		differences += compare(&configurations[c], isa, 0, &words, seen);
		differences +=
			compare(&configurations[c], isa, PESA_PRINT_NO_ALIASES, &words, seen);
		free(words.bits);
		pesa_isa_free(isa);
	}
	for (unsigned int id = 0; id < riscv_opcode_count; id++)
		if (!seen[id] && missing++ < 20)
			print_error("%s was never decoded\n", pesa_opcode_get(id)->name);
	free(seen);
	assert_int_equal(differences, 0);
	assert_int_equal(missing, 0);
}

/* Conditions, and what extensions imply: all opcodes, most of which are then no instructions. */
static void every_extension_alone_agrees(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1du;
	bool both = getenv("PESA_RANDOM_WORDS"), sanitized = getenv("PESA_SANITIZED");
	size_t differences = 0;

	(void)state;
	for (unsigned int feature = 0; feature < riscv_feature_count; feature += sanitized ? 16 : 1)
		for (unsigned int width = 0; width < 2; width++) {
			struct configuration configuration = {NULL, NULL};
			struct words words = {0};
			struct pesa_isa *isa;
			char string[64];

			/* By default one of the register widths for each. */
			if (!both && (feature / 16 + feature + width) % 2)
				continue;
			snprintf(string, sizeof(string), "rv%ui_%s", width ? 64 : 32,
				 riscv_features[feature].name);
			configuration.isa = string;
			isa = create(string);
			for (unsigned int id = 0; id < riscv_opcode_count; id++)
				words_add(&words, random_opcode(&riscv_opcodes[id], &seed, false));
			differences += compare(&configuration, isa, 0, &words, NULL);
			free(words.bits);
			pesa_isa_free(isa);
		}
	assert_int_equal(differences, 0);
}

/* The differences in the code of a program, in two ways to print it.  False: there is no such file.
 */
static bool compare_program(const char *path, size_t *differences)
{
	struct pesa_isa *isa = create(configurations[0].isa);
	struct words words = {0};
	bool found = program_words(path, isa, &words);

	if (found) {
		assert_true(words.count > 1000);
		*differences += compare(&configurations[0], isa, 0, &words, NULL);
		*differences += compare(&configurations[0], isa, PESA_PRINT_NUMERIC, &words, NULL);
	}
	free(words.bits);
	pesa_isa_free(isa);
	return found;
}

static void every_instruction_of_real_programs_agrees(void **state)
{
	char **named = *state; /* the command line: all of them must be there */
	size_t differences = 0, found = 0;

	for (; named && *named; named++) {
		if (!compare_program(*named, &differences))
			fail_msg("%s cannot be read", *named);
		found++;
	}
	for (size_t i = 0; !named && i < PROGRAMS; i++)
		found += compare_program(programs[i], &differences);
	if (!found)
		print_message("# no C library for RISC-V is installed: nothing compared\n");
	assert_int_equal(differences, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_words_agree_in_every_configuration),
		cmocka_unit_test(all_16_bit_instructions_agree),
		cmocka_unit_test(every_opcode_agrees),
		cmocka_unit_test(every_extension_alone_agrees),
		cmocka_unit_test(every_instruction_of_real_programs_agrees),
	};
	const struct CMUnitTest program_tests[] = {
		cmocka_unit_test_prestate(every_instruction_of_real_programs_agrees, argv + 1),
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
