/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GCC's profile for -fauto-profile, version 2, as gcc/auto-profile.cc of GCC 12 reads it: 32-bit
 * words, little-endian; a count is two of them, the lower one first.
 *
 *	magic, version, 0
 *	tag of names, length, number of names, each: bytes with the final 0, the bytes
 *	tag of functions, length, number of functions, each: times it was entered, then
 *	    name, number of lines, number of inlined calls,
 *	    each line: offset << 16, number of calls, executions; each call: kind, name, times
 *	    each inlined call: offset << 16, the function as here
 *	tag of modules, length, 0
 *
 * GCC does not read the lengths.  A name is its number; number 0 is no name to GCC, which then ends with
 * an internal error, so that the first name here is empty.
 */
#include <string.h>

#include "decoder/pgo/write.h"

#define MAGIC	      0x67636461u /* GCOV_DATA_MAGIC: "gcda" */
#define VERSION	      2u	  /* AFDO_PROFILE_VERSION */
#define TAG_NAMES     0xaa000000u
#define TAG_FUNCTIONS 0xac000000u
#define TAG_MODULES   0xae000000u
#define CALL_INDIRECT 7u /* HIST_TYPE_INDIR_CALL_TOPN */

/* Blocks of a line whose executions differ by less than this may do so by chance. */
#define SAME 0.7

static void write_word(uint32_t value, FILE *out)
{
	const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
				 (uint8_t)(value >> 24)};

	fwrite(bytes, 1, sizeof(bytes), out);
}

static void write_count(double executions, FILE *out)
{
	uint64_t count = pgo_count(executions);

	write_word((uint32_t)count, out);
	write_word((uint32_t)(count >> 32), out);
}

static void write_names(const struct pgo_tree *tree, FILE *out)
{
	uint32_t names = tree->texts.index.count;

	write_word(TAG_NAMES, out);
	write_word(0, out);
	write_word(names + 1, out);
	write_word(1, out);
	fputc(0, out);
	for (uint32_t i = 0; i < names; i++) {
		const char *name = distinct_text_at(&tree->texts, i);
		size_t size = strlen(name) + 1;

		write_word((uint32_t)size, out);
		fwrite(name, 1, size, out);
	}
}

static uint32_t name_number(uint32_t text)
{
	return text + 1;
}

static void write_calls(const struct pgo_tree *tree, struct pgo_range calls, FILE *out)
{
	for (uint32_t i = calls.begin; i < calls.end; i++) {
		const struct pgo_call *call = pgo_call_at(tree, tree->call[i]);

		write_word(CALL_INDIRECT, out);
		write_count(name_number(call->name), out);
		write_count(call->executions, out);
	}
}

/* The end of the lines that have the offset of the one at a position. */
static uint32_t same_offset(const struct pgo_tree *tree, struct pgo_range lines, uint32_t at)
{
	const uint32_t offset = pgo_line_at(tree, tree->line[at])->place.offset;

	while (at < lines.end && pgo_line_at(tree, tree->line[at])->place.offset == offset)
		at++;
	return at;
}

/*
 * Executions of a line for GCC, which takes them for all blocks that have a statement of it, and for a
 * block the most that one of its lines has.  So a line has those of its least executed block: where that
 * is too few for another block, lines of that block alone say so, where the most would be too many,
 * nothing could.  (A loop's first statement would make what is before the loop as hot as the loop.)
 */
static double executions_of(const struct pgo_tree *tree, uint32_t begin, uint32_t end)
{
	double least = INFINITY, most = 0;

	for (uint32_t i = begin; i < end; i++) {
		double executions = pgo_line_at(tree, tree->line[i])->executions;

		most = fmax(most, executions);
		if (pgo_count(executions))
			least = fmin(least, executions);
	}
	return least < SAME * most ? least : most;
}

/*
 * All lines of a function that was executed have a count of at least 1, which GCC takes for code
 * that is not hot.  Samples mostly see nothing of a call that is made once, and where GCC inlines
 * it, a count of 0 would make all counts of its body 0.
 */
static double at_least_once(double executions)
{
	return fmax(executions, 1);
}

/* A line, which may have several blocks: begin <= i < end. */
static void write_line(const struct pgo_tree *tree, uint32_t begin, uint32_t end, FILE *out)
{
	uint32_t calls = 0;

	for (uint32_t i = begin; i < end; i++) {
		const struct pgo_line *line = pgo_line_at(tree, tree->line[i]);
		struct pgo_range here = pgo_calls(tree, line->function, &line->place);

		calls += here.end - here.begin;
	}
	write_word(pgo_line_at(tree, tree->line[begin])->place.offset << 16, out);
	write_word(calls, out);
	write_count(at_least_once(executions_of(tree, begin, end)), out);
	for (uint32_t i = begin; i < end; i++) {
		const struct pgo_line *line = pgo_line_at(tree, tree->line[i]);

		write_calls(tree, pgo_calls(tree, line->function, &line->place), out);
	}
}

static void write_function(const struct pgo_tree *tree, uint32_t function,
			   struct pesa_pgo_summary *summary, FILE *out)
{
	struct pgo_range lines = pgo_lines(tree, function);
	struct pgo_range inlined = pgo_children(tree, function);
	uint32_t count = 0, end;

	for (uint32_t i = lines.begin; i < lines.end; i = end) {
		end = same_offset(tree, lines, i);
		count++;
	}
	write_word(name_number(pgo_function_at(tree, function)->name), out);
	write_word(count, out);
	write_word(inlined.end - inlined.begin, out);
	for (uint32_t i = lines.begin; i < lines.end; i = end) {
		end = same_offset(tree, lines, i);
		write_line(tree, i, end, out);
	}
	summary->records += count;
	for (uint32_t i = inlined.begin; i < inlined.end; i++) {
		write_word(pgo_function_at(tree, tree->function[i])->place.offset << 16, out);
		write_function(tree, tree->function[i], summary, out);
	}
}

struct pesa_error *pgo_write_gcc(const struct pgo_tree *tree, struct pesa_pgo_summary *summary,
				 FILE *out)
{
	struct pgo_range roots = pgo_children(tree, PGO_NONE);

	for (uint32_t i = roots.begin; i < roots.end; i++)
		summary->functions +=
			pgo_count(pgo_function_at(tree, tree->function[i])->total) > 0;
	write_word(MAGIC, out);
	write_word(VERSION, out);
	write_word(0, out);
	write_names(tree, out);
	write_word(TAG_FUNCTIONS, out);
	write_word(0, out);
	write_word((uint32_t)summary->functions, out);
	for (uint32_t i = roots.begin; i < roots.end; i++) {
		const struct pgo_function *root = pgo_function_at(tree, tree->function[i]);

		if (!pgo_count(root->total))
			continue;
		write_count(at_least_once(root->entered), out);
		write_function(tree, tree->function[i], summary, out);
	}
	write_word(TAG_MODULES, out);
	write_word(0, out);
	write_word(0, out);
	return NULL;
}
