/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/advise/words.h"

void advise_add_place(const struct advise_words *words, uint32_t dso, uint64_t address,
		      struct ui_text *line)
{
	struct listing_row row = {.address = address};

	listing_decode(words->input, words->isas, dso, &row);
	ui_text_add_safe(line, "`%s`", row.text);
	ui_text_add(line, " at %" PRIx64, address);
}

static void add_count(struct ui_text *line, double count, const char *what)
{
	char number[UI_NUMBER_SIZE];

	ui_text_add(line, "%s %s", ui_count(number, count), what);
}

static void add_loop(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	char number[UI_NUMBER_SIZE];

	if (!remark->loop.head)
		return;
	ui_text_add(line,
		    "; loop at %" PRIx64 ": %s iterations each time it is entered, %.3g cycles and "
		    "up to %u instructions an iteration",
		    remark->loop.head, ui_count(number, remark->loop.iterations),
		    remark->loop.cycles, remark->loop.instructions);
}

/* The share of executions, where it is known. */
static void add_share(const struct pesa_advice_remark *remark, const char *did,
		      struct ui_text *line)
{
	if (remark->share > 0)
		ui_text_add(line, ", %.3g%% %s", 100 * remark->share, did);
}

static const char *function_at(const struct advise_words *words, uint32_t dso, uint64_t address)
{
	return profile_symbol_name(profile_symbol(words->input, dso, address));
}

/* ---- Loads ----------------------------------------------------------------------------------- */

static const char *what_of_load(const struct pesa_advice_remark *remark)
{
	switch (remark->address) {
	case PESA_ADVICE_STRIDE:
	case PESA_ADVICE_REGULAR:
	case PESA_ADVICE_INDEXED:
		return remark->distance ? "load misses the cache, and can be prefetched"
					: "load misses the cache";
	case PESA_ADVICE_CHASED:
		return "load misses the cache, at an address that no prefetch knows";
	default:
		return "load misses the cache";
	}
}

static void evidence_of_load(const struct advise_words *words,
			     const struct pesa_advice_remark *remark, struct ui_text *line)
{
	static const char *const addresses[PESA_ADVICE_ADDRESSES] = {
		[PESA_ADVICE_STRIDE] = "its address moves",
		[PESA_ADVICE_REGULAR] =
			"its address moves by the same distance each iteration, held in a register",
		[PESA_ADVICE_CHASED] =
			"its address comes from what the iteration before loaded, by ",
		[PESA_ADVICE_INDEXED] = "its address comes from ",
		[PESA_ADVICE_COMPUTED] = "its address is computed from registers",
		[PESA_ADVICE_NO_LOOP] = "it is in no loop of its function that moves its address",
		[PESA_ADVICE_UNKNOWN] = "how it gets its address is not known",
	};

	add_count(line, remark->executions, "executions");
	add_share(remark, "missed the L1D", line);
	ui_text_add(line, ", ");
	add_count(line, remark->cycles, "cycles exposed");
	ui_text_add(line, "; %s", addresses[remark->address]);
	if (remark->address == PESA_ADVICE_STRIDE)
		ui_text_add(line, " by %" PRId64 " byte%s each iteration", remark->stride,
			    llabs(remark->stride) == 1 ? "" : "s");
	if (remark->other)
		advise_add_place(words, remark->place.dso, remark->other, line);
	if (remark->address == PESA_ADVICE_INDEXED && remark->stride)
		ui_text_add(line, ", which moves by %" PRId64 " byte%s each iteration",
			    remark->stride, llabs(remark->stride) == 1 ? "" : "s");
	add_loop(remark, line);
}

static void try_load(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	if (remark->address == PESA_ADVICE_STRIDE && !remark->distance) {
		ui_text_add(line,
			    "the loop ends before a prefetch could help: prefetch in front of "
			    "it, or data in fewer cache lines");
		return;
	}
	switch (remark->address) {
	case PESA_ADVICE_STRIDE:
		ui_text_add(line,
			    "__builtin_prefetch((const char *)p + %" PRId64
			    "), where p is what it loads from: %u iteration%s ahead",
			    remark->stride * remark->distance, remark->distance,
			    remark->distance == 1 ? "" : "s");
		return;
	case PESA_ADVICE_REGULAR:
		ui_text_add(line, "__builtin_prefetch() of what is loaded %u iteration%s later",
			    remark->distance, remark->distance == 1 ? "" : "s");
		return;
	case PESA_ADVICE_INDEXED:
		if (remark->distance) {
			ui_text_add(line,
				    "__builtin_prefetch(&a[b[i + %u]]): load the index %u "
				    "iteration%s ahead, and prefetch by it",
				    remark->distance, remark->distance,
				    remark->distance == 1 ? "" : "s");
			return;
		}
		ui_text_add(line, "load what its address comes from earlier, and prefetch by it");
		return;
	case PESA_ADVICE_CHASED:
		ui_text_add(line, "elements that are used together side by side, fewer links, or a "
				  "pointer further ahead in each element");
		return;
	case PESA_ADVICE_COMPUTED:
		ui_text_add(line, "compute the address some iterations earlier, and "
				  "__builtin_prefetch() it");
		return;
	default:
		ui_text_add(line, "__builtin_prefetch() where the address is known first; data in "
				  "fewer cache lines");
	}
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void evidence_of_call(const struct advise_words *words,
			     const struct pesa_advice_remark *remark, struct ui_text *line)
{
	add_count(line, remark->executions, "calls of ");
	ui_text_add_safe(line, "%s", function_at(words, remark->place.dso, remark->other));
	ui_text_add(line, ", %.3g%% of all; %u instructions are executed in one; ",
		    100 * remark->callers, remark->instructions);
	add_count(line, remark->cycles, "cycles in call, return, and what is saved and restored");
}

static bool same_file(const struct advise_words *words, const struct pesa_advice_remark *remark)
{
	const struct pesa_source from =
		profile_source(words->input, remark->place.dso, remark->place.address);
	const struct pesa_source to =
		profile_source(words->input, remark->place.dso, remark->other);

	return !from.file || !to.file || !strcmp(from.file, to.file);
}

static void try_call(const struct advise_words *words, const struct pesa_advice_remark *remark,
		     struct ui_text *line)
{
	ui_text_add(line, same_file(words, remark)
				  ? "static inline __attribute__((always_inline)) for "
				  : "-flto, or in a header as static inline "
				    "__attribute__((always_inline)): ");
	ui_text_add_safe(line, "%s", function_at(words, remark->place.dso, remark->other));
}

/* ---- Branches -------------------------------------------------------------------------------- */

static void evidence_of_layout(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	add_count(line, remark->executions, "executions");
	ui_text_add(line, ", %.4g%% of which jump to %" PRIx64, 100 * remark->share, remark->other);
}

static void evidence_of_prediction(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	add_count(line, remark->executions, "executions");
	add_share(remark, "mispredicted", line);
	ui_text_add(line, ", ");
	add_count(line, remark->cycles, "cycles flushed");
	add_loop(remark, line);
}

static void try_prediction(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	if (!remark->other)
		ui_text_add(line,
			    "a jump of its own in each handler (computed goto), or a comparison "
			    "with the most frequent target before it");
	else if (remark->loop.head && remark->loop.iterations < 8)
		ui_text_add(line, "the loop ends after few iterations: a fixed number of them, or "
				  "code without a loop for the most frequent number");
	else
		ui_text_add(line,
			    "code without a branch (x = c ? a : b of values, "
			    "__builtin_unpredictable(c)), or data in an order that predicts it");
}

/* ---- Loops and the stack --------------------------------------------------------------------- */

static void evidence_of_unroll(const struct pesa_advice_remark *remark, struct ui_text *line)
{
	add_count(line, remark->executions, "iterations");
	add_loop(remark, line);
	ui_text_add(line, "; ");
	add_count(line, remark->cycles, "cycles of counting and branching would go");
}

static void evidence_of_spill(const struct advise_words *words,
			      const struct pesa_advice_remark *remark, struct ui_text *line)
{
	ui_text_add(line, "%u loads and stores of values that registers could hold, in ",
		    remark->instructions);
	ui_text_add_safe(line, "%s", function_at(words, remark->place.dso, remark->place.address));
	ui_text_add(line, "; most often ");
	advise_add_place(words, remark->place.dso, remark->place.address, line);
	ui_text_add(line, ", ");
	add_count(line, remark->executions, "times, of what ");
	advise_add_place(words, remark->place.dso, remark->other, line);
	ui_text_add(line, " stored");
}

/* ---- By kind --------------------------------------------------------------------------------- */

const char *advise_what(const struct pesa_advice_remark *remark)
{
	static const char *const what[PESA_ADVICE_KINDS] = {
		[PESA_ADVICE_INLINE] = "hot call is not inlined",
		[PESA_ADVICE_LAYOUT] = "hot branch jumps where it could fall through",
		[PESA_ADVICE_PREDICT] = "branch is mispredicted",
		[PESA_ADVICE_UNROLL] = "counting and branching of a hot loop show",
		[PESA_ADVICE_SPILL] = "values go through the stack",
	};

	return remark->kind == PESA_ADVICE_PREFETCH ? what_of_load(remark) : what[remark->kind];
}

void advise_evidence(const struct advise_words *words, const struct pesa_advice_remark *remark,
		     struct ui_text *line)
{
	switch (remark->kind) {
	case PESA_ADVICE_PREFETCH:
		evidence_of_load(words, remark, line);
		return;
	case PESA_ADVICE_INLINE:
		evidence_of_call(words, remark, line);
		return;
	case PESA_ADVICE_LAYOUT:
		evidence_of_layout(remark, line);
		return;
	case PESA_ADVICE_PREDICT:
		evidence_of_prediction(remark, line);
		return;
	case PESA_ADVICE_UNROLL:
		evidence_of_unroll(remark, line);
		return;
	default:
		evidence_of_spill(words, remark, line);
	}
}

void advise_try_words(const struct advise_words *words, const struct pesa_advice_remark *remark,
		      struct ui_text *line)
{
	switch (remark->kind) {
	case PESA_ADVICE_PREFETCH:
		try_load(remark, line);
		return;
	case PESA_ADVICE_INLINE:
		try_call(words, remark, line);
		return;
	case PESA_ADVICE_LAYOUT:
		ui_text_add(line, "__builtin_expect(condition, 0 or 1), [[likely]] or "
				  "[[unlikely]]; or a profile: pesa export --format llvm-sample");
		return;
	case PESA_ADVICE_PREDICT:
		try_prediction(remark, line);
		return;
	case PESA_ADVICE_UNROLL:
		ui_text_add(line, "#pragma GCC unroll %u, or #pragma clang loop unroll_count(%u)",
			    remark->factor, remark->factor);
		return;
	default:
		ui_text_add(line, "fewer values that live at once: a loop split in two, less "
				  "inlined or unrolled; variables that are not volatile; -O2 where "
				  "it was compiled without");
	}
}
