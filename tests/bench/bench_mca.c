/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks per second of the engine, compared with llvm-mca-22 on the same blocks in the same run.
 *
 *   bench_mca [PROCESSOR...]     BENCH_BLOCKS (1000) blocks of 4 to 24 instructions
 *
 * The time of the library is that of binding each block of decoded instructions to the model and
 * running it for 100 iterations, without listeners; the best of several runs.  There are two times
 * for llvm-mca: that of the whole process, and that of 100 more iterations (its simulation without
 * its assembler).  All times are CPU times.  Both programs must give the same number of cycles for
 * every block.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pesa/mca.h"

#define ITERATIONS	 100
#define INSTRUCTIONS_MAX 24
#define RUNS		 5
#define PEER_RUNS	 2

extern char **environ;

struct block {
	unsigned int count;
	uint32_t word[INSTRUCTIONS_MAX];
	struct pesa_mca_instruction instruction[INSTRUCTIONS_MAX];
};

/* CPU time in seconds, which does not include other programs on the machine. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
	fprintf(stderr, "bench_mca: %s\n", what);
	exit(1);
}

static void check(struct pesa_error *error)
{
	if (error)
		fail(error->message);
}

static unsigned int pick(uint64_t *state, unsigned int count)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 20) % count;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

struct form {
	const char *mnemonic;
	uint32_t word;
	enum { THREE_REGISTERS, IMMEDIATE, LOAD, STORE, FLOATING } operands;
};

static const struct form forms[] = {
	{"add", 0x00000033, THREE_REGISTERS},
	{"addi", 0x00000013, IMMEDIATE},
	{"xor", 0x00004033, THREE_REGISTERS},
	{"mul", 0x02000033, THREE_REGISTERS},
	{"ld", 0x00003003, LOAD},
	{"sd", 0x00003023, STORE},
	{"fadd.d", 0x02007053, FLOATING},
	{"fmul.d", 0x12007053, FLOATING},
};

static uint32_t make_instruction(uint64_t *state, FILE *text)
{
	static const char *const names[] = {"a0", "a1", "a2", "a3", "a4", "a5", "t0", "t1", "s2"};
	static const unsigned char numbers[] = {10, 11, 12, 13, 14, 15, 5, 6, 18};
	static const char *const floats[] = {"fa0", "fa1", "fa2", "fa3", "fa4", "fa5"};
	const struct form *form = &forms[pick(state, sizeof(forms) / sizeof(forms[0]))];
	bool floating = form->operands == FLOATING;
	const char *const *name = floating ? floats : names;
	unsigned int kinds = floating ? 6 : 9, a = pick(state, kinds), b = pick(state, kinds),
		     c = pick(state, kinds), immediate = 8 * pick(state, 20);
	uint32_t word = form->word;

	if (form->operands == LOAD || form->operands == STORE)
		fprintf(text, "%s %s, %u(%s)\n", form->mnemonic, name[a], immediate, name[b]);
	else if (form->operands == IMMEDIATE)
		fprintf(text, "%s %s, %s, %u\n", form->mnemonic, name[a], name[b], immediate);
	else
		fprintf(text, "%s %s, %s, %s\n", form->mnemonic, name[a], name[b], name[c]);
	a = floating ? a + 10 : numbers[a];
	b = floating ? b + 10 : numbers[b];
	c = floating ? c + 10 : numbers[c];
	if (form->operands == STORE)
		return word | (immediate & 31) << 7 | (immediate >> 5) << 25 | b << 15 | a << 20;
	if (form->operands == IMMEDIATE || form->operands == LOAD)
		c = immediate;
	return word | a << 7 | b << 15 | c << 20;
}

static struct block *make_blocks(unsigned int count, FILE *text)
{
	struct block *blocks = calloc(count, sizeof(*blocks));
	uint64_t state = 88172645463325252u;
	struct pesa_isa *isa;

	if (!blocks)
		fail("out of memory");
	check(pesa_isa_create("rv64imafdc", &isa));
	for (unsigned int i = 0; i < count; i++) {
		blocks[i].count = 4 + pick(&state, INSTRUCTIONS_MAX - 3);
		fprintf(text, "# LLVM-MCA-BEGIN b%u\n", i);
		for (unsigned int j = 0; j < blocks[i].count; j++) {
			uint32_t word = make_instruction(&state, text);

			blocks[i].word[j] = word;
			blocks[i].instruction[j].latency = -1;
			if (pesa_insn_decode(isa, &blocks[i].word[j], sizeof(word),
					     &blocks[i].instruction[j].insn) != sizeof(word))
				fail("an instruction does not decode");
		}
		fprintf(text, "# LLVM-MCA-END b%u\n", i);
	}
	pesa_isa_free(isa);
	return blocks;
}

/* ---- The two measurements ------------------------------------------------------------------ */

struct times {
	double bind, run;
};

static struct times time_library(const struct pesa_mca_model *model, const struct block *blocks,
				 unsigned int count, const char *processor, uint64_t *cycles)
{
	const struct pesa_mca_block_options bind_options = {.processor = processor};
	const struct pesa_mca_run_options options = {.iterations = ITERATIONS};
	struct pesa_mca_block **bound = calloc(count, sizeof(struct pesa_mca_block *));
	struct times best = {1e9, 1e9};

	if (!bound)
		fail("out of memory");
	for (unsigned int run = 0; run < RUNS; run++) {
		double start = now(), middle, end, freed;

		for (unsigned int i = 0; i < count; i++)
			check(pesa_mca_block_create(model, blocks[i].instruction, blocks[i].count,
						    &bind_options, &bound[i]));
		middle = now();
		for (unsigned int i = 0; i < count; i++)
			check(pesa_mca_run(bound[i], &options, NULL, 0, &cycles[i]));
		end = now();
		for (unsigned int i = 0; i < count; i++)
			pesa_mca_block_free(bound[i]);
		freed = now();
		if (middle - start + freed - end < best.bind)
			best.bind = middle - start + freed - end;
		if (end - middle < best.run)
			best.run = end - middle;
	}
	free(bound);
	return best;
}

/* Seconds of one run of llvm-mca, and the cycles that it prints for each block. */
static double time_peer(const char *processor, unsigned int iterations, const char *input,
			const char *output, uint64_t *cycles, unsigned int count)
{
	char cpu[64], times[64], line[256];
	char *arguments[] = {"llvm-mca-22",
			     "-mtriple=riscv64",
			     "-instruction-info=false",
			     "-resource-pressure=false",
			     cpu,
			     times,
			     (char *)(uintptr_t)input,
			     NULL};
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	unsigned int found = 0;
	FILE *file;
	pid_t child;
	int status;

	snprintf(cpu, sizeof(cpu), "-mcpu=%s", processor);
	snprintf(times, sizeof(times), "-iterations=%u", iterations);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ))
		return -1;
	posix_spawn_file_actions_destroy(&actions);
	if (wait4(child, &status, 0, &usage) != child || status)
		return -1;
	file = fopen(output, "r");
	if (!file)
		fail("cannot read what llvm-mca-22 printed");
	while (fgets(line, sizeof(line), file)) {
		unsigned long long number;

		if (sscanf(line, "Total Cycles: %llu", &number) == 1 && found < count)
			cycles[found++] = number;
	}
	fclose(file);
	if (found != count)
		fail("llvm-mca-22 printed another number of blocks");
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double best_peer(const char *processor, unsigned int iterations, const char *input,
			const char *output, uint64_t *cycles, unsigned int count)
{
	double best = -1;

	for (unsigned int run = 0; run < PEER_RUNS; run++) {
		double time = time_peer(processor, iterations, input, output, cycles, count);

		if (time >= 0 && (best < 0 || time < best))
			best = time;
	}
	return best;
}

static bool compare(const char *processor, const struct block *blocks, unsigned int count,
		    const char *input, const char *output)
{
	uint64_t *cycles = calloc(2 * count, sizeof(*cycles)), *expected = cycles + count;
	double peer, peer_more;
	struct pesa_mca_model *model;
	struct times library;
	unsigned int different = 0;

	if (!cycles)
		fail("out of memory");
	check(pesa_mca_model_builtin(processor, &model));
	library = time_library(model, blocks, count, processor, cycles);
	printf("%s, %s: %u blocks x %u iterations\n", processor,
	       pesa_mca_model_is_out_of_order(model) ? "out of order" : "in order", count,
	       ITERATIONS);
	pesa_mca_model_free(model);
	printf("  library:  %9.0f blocks/s (%.2f us to bind a block, %.2f us to run it)\n",
	       count / (library.bind + library.run), library.bind / count * 1e6,
	       library.run / count * 1e6);
	/* The longer run comes first, so that `expected` has the cycles of the shorter one. */
	peer_more = best_peer(processor, 2 * ITERATIONS, input, output, expected, count);
	peer = best_peer(processor, ITERATIONS, input, output, expected, count);
	if (peer < 0 || peer_more < 0) {
		printf("  llvm-mca-22 is not there to be compared with\n");
	} else {
		for (unsigned int i = 0; i < count; i++)
			different += cycles[i] != expected[i];
		printf("  llvm-mca: %9.0f blocks/s in all, %.0f blocks/s its simulation alone\n",
		       count / peer, count / (peer_more - peer));
		printf("  ratio: %.1f of all, %.1f of its simulation alone; %u of %u blocks "
		       "differ\n",
		       peer / (library.bind + library.run),
		       (peer_more - peer) / (library.bind + library.run), different, count);
	}
	free(cycles);
	return !different;
}

int main(int argc, char **argv)
{
	static const char *const processors[] = {"sifive-p670", "tt-ascalon-d8", "xiangshan-nanhu",
						 "sifive-u74",	"sifive-x280",	 "spacemit-x60"};
	unsigned int count =
		getenv("BENCH_BLOCKS") ? strtoul(getenv("BENCH_BLOCKS"), NULL, 10) : 1000;
	char input[] = "/tmp/bench_mca.XXXXXX", output[] = "/tmp/bench_mca.XXXXXX";
	struct block *blocks;
	bool same = true;
	FILE *text;
	int file = mkstemp(input), other = mkstemp(output);

	if (file < 0 || other < 0 || !count)
		fail("no temporary file, or BENCH_BLOCKS is not a number");
	close(other);
	text = fdopen(file, "w");
	if (!text)
		fail("no temporary file");
	blocks = make_blocks(count, text);
	fclose(text);
	for (int i = 1; i < argc; i++)
		same &= compare(argv[i], blocks, count, input, output);
	for (size_t i = 0; argc < 2 && i < sizeof(processors) / sizeof(processors[0]); i++)
		same &= compare(processors[i], blocks, count, input, output);
	free(blocks);
	unlink(input);
	unlink(output);
	return same ? 0 : 1;
}
