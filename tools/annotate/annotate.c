/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa annotate: source and instructions of a function, each with its cycles, cost and cycle stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/annotate/targets.h"
#include "tools/commands.h"
#include "tools/plain/plain.h"
#include "tools/table/blocks.h"
#include "tools/table/code.h"
#include "tools/ui/listing.h"
#include "tools/groups/groups.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/source_text.h"
#include "tools/ui/pager.h"
#include "tools/ui/predicted.h"
#include "tools/ui/text.h"
#include "tools/why/waits.h"

#define INLINES_MAX   64
#define CONTEXT_ROWS  3	    /* cold instructions beside one that is not, shown in any case */
#define FOLD_ROWS     6	    /* in a row, fewer are not worth folding */
#define LIMIT_DEFAULT 0.05  /* percent of the function's cycles: below it an instruction is cold */
#define WHY_LEAST     0.005 /* share of the function's cycles: shorter waits are not shown */
#define CAUSE_LEAST   0.05  /* share of a wait: likewise */
#define WHY_INDENT    10    /* columns */
#define BLOCKS_MAX    3	    /* timed blocks that begin at one instruction and are shown */
#define BLOCK_LEAST   0.001 /* share of all cycles: smaller ones are not shown */

struct annotate_options {
	struct profile_input_options input;
	const char *symbol, *dso;
	bool full, no_source, why, what_if, raw;
	struct plain_options plain; /* its model also says why */
	double limit;		    /* percent of the function's cycles */
};

enum {
	KEY_FULL = PROFILE_KEY_FIRST_FREE,
	KEY_NO_SOURCE,
	KEY_WHY,
	KEY_WHAT_IF,
	KEY_FLOW,
	KEY_RAW,
	KEY_CALIBRATION,
};

static const struct argp_option options[] = {
	{"percent-limit", 'p', "PERCENT", 0,
	 "Fold runs of instructions with less than PERCENT of the function's cycles each (default: 0.05)",
	 0},
	{"symbol", 's', "SYMBOL", 0, "The same as SYMBOL without -s", 0},
	{"dso", 'd', "NAMES", 0,
	 "Only in these binaries, with commas between: their paths or the last part of these", 0},
	{"dsos", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"full", KEY_FULL, NULL, 0, "Show long runs of instructions without cycles, too", 0},
	{"no-source", KEY_NO_SOURCE, NULL, 0, "Instructions only", 0},
	{"flow", KEY_FLOW, NULL, 0,
	 "Take executions from the control flow of the program: all blocks and branches estimated "
	 "together, with narrower intervals",
	 0},
	{"raw", KEY_RAW, NULL, 0,
	 "Of samples whose PC skids: cycles by that PC, as sampled, instead of estimates", 0},
	{"calibration", KEY_CALIBRATION, "FILE", 0, PLAIN_CALIBRATION_HELP, 0},
	{"why", KEY_WHY, NULL, 0, "Show below each stalled instruction what it waited for", 0},
	{"what-if", KEY_WHAT_IF, NULL, 0,
	 "Show instead what the program would save if loads hit, branches were predicted, latencies "
	 "were 1 or units free, at the hottest places",
	 0},
	{"mcpu", 'm', "NAME", 0,
	 "The processor model, as for pesa compare (default: the one that the recording names): for "
	 "--why and --what-if, and for estimates from samples whose PC skids",
	 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct annotate_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		result->limit = LIMIT_DEFAULT;
		state->child_inputs[0] = &result->input;
		break;
	case 'p':
		result->limit = profile_percent(argument, "--percent-limit", state);
		break;
	case 'd':
		result->dso = argument;
		break;
	case KEY_FULL:
		result->full = true;
		break;
	case KEY_NO_SOURCE:
		result->no_source = true;
		break;
	case KEY_FLOW:
		result->input.flow = true;
		break;
	case KEY_RAW:
		result->raw = true;
		break;
	case KEY_CALIBRATION:
		result->plain.calibration = argument;
		break;
	case KEY_WHY:
		result->why = true;
		break;
	case KEY_WHAT_IF:
		result->what_if = true;
		break;
	case 'm':
		/* -mcpu=NAME is the letter m with "cpu=NAME". */
		result->plain.cpu = strncmp(argument, "cpu=", 4) ? argument : argument + 4;
		break;
	case ARGP_KEY_END:
		if (result->what_if && result->symbol)
			profile_usage_error(state,
					    "--what-if is about the whole program, and takes "
					    "no SYMBOL");
		if (result->plain.cpu && result->raw && !result->why && !result->what_if)
			profile_usage_error(state, "--raw takes no model: -mcpu needs --why or "
						   "--what-if then");
		if (result->plain.calibration && (result->raw || result->why || result->what_if))
			profile_usage_error(state, "--calibration is for estimates, which --raw, "
						   "--why and --what-if do not show");
		break;
	case 's':
	case ARGP_KEY_ARG:
		if (result->symbol)
			profile_usage_error(state, "one SYMBOL at a time: '%s' and '%s' are two",
					    result->symbol, argument);
		result->symbol = argument;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_input_children,
	.args_doc = "[SYMBOL]",
	.doc = "Show the source and the instructions of a function, and for each instruction its "
	       "cycles, executions, exposed cycles per execution and cycle stack.  SYMBOL is a "
	       "function's name or an address (0x...); without it the hottest functions are "
	       "shown.\vExample:\n"
	       "  pesa annotate -i perf.data mainSort\n"
	       "  pesa annotate --dso libc.so.6 memcpy\n"
	       "  pesa annotate --why mainSort\n"
	       "  pesa annotate --what-if\n"
	       "\n"
	       "The manual page pesa-annotate(1) explains every column.",
};

/* ---- What to show -------------------------------------------------------------------------- */

struct annotating {
	const struct annotate_options *wanted;
	struct profile_input input;
	struct profile_groups functions; /* by dso and symbol */
	struct listing_isas *isas;
	struct source_texts *sources;
	struct targets targets;
	struct reasons reasons; /* opened for --why and --what-if */
	struct plain_estimate plain;
	struct pesa_timed_blocks *timed;
};

static struct pesa_error *list(struct annotating *annotating, const struct target *target,
			       struct listing *listing)
{
	return listing_function(listing, &annotating->input, annotating->isas, target->dso,
				target->symbol);
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_target_head(struct annotating *annotating, const struct ui_terminal *terminal,
			      const struct target *target, const struct listing *listing)
{
	const struct profile_input *input = &annotating->input;
	const struct pesa_dso *dso = pesa_profile_dso(input->profile, target->dso);
	const struct pesa_instruction *entry =
		target->symbol
			? pesa_profile_find(input->profile, target->dso, target->symbol->start)
			: NULL;
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE], executions[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	ui_text_add(&line, "%s", ui_style(terminal, UI_BOLD));
	ui_text_add_safe(&line, "%s", profile_symbol_name(target->symbol));
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_text_add_safe(&line, "  in %s", dso->path);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "  %s of all %s: %s %s",
		    ui_share(share, profile_share(input, listing->weight)), profile_whole(input),
		    profile_amount(input, cycles, cycles_of(listing->weight)),
		    input->time	   ? ""
		    : input->other ? "events"
				   : "cycles");
	if (entry && pesa_estimate_executions(input->profile, entry, PROFILE_CONFIDENCE).enough)
		ui_text_add(&line, ", %s executions",
			    ui_count(executions, (double)profile_executions(input, entry)));
	ui_text_add(&line, "     ");
	if (!input->plain)
		cycle_stack_legend(&line, terminal);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	if (!listing->disassembled)
		fprintf(terminal->out, "  addresses only: %s\n",
			dso->status == PESA_DSO_FOREIGN ? "this is no RISC-V code"
			: dso->kind == PESA_DSO_JIT
				? "the text of code made at run time was not recorded"
				: "the text of this code is not at hand");
	ui_text_free(&line);
}

/* The number of consecutive cold rows from `first` on. */
static size_t cold_run(const struct annotating *annotating, const struct listing *listing,
		       size_t first)
{
	double limit = (double)listing->weight * annotating->wanted->limit / 100;
	size_t count = 0;

	for (; first + count < listing->count; count++) {
		const struct pesa_instruction *one = listing->row[first + count].instruction;

		if (one && (double)one->weight >= limit && one->weight)
			break;
	}
	return count;
}

/* One line for `count` rows. */
static void print_folded(struct annotating *annotating, const struct ui_terminal *terminal,
			 const struct listing_row *row, size_t count)
{
	char share[UI_NUMBER_SIZE] = "", cycles[UI_NUMBER_SIZE] = "";
	uint64_t weight = 0;

	for (size_t i = 0; i < count; i++)
		weight += row[i].instruction ? row[i].instruction->weight : 0;
	if (weight) {
		ui_share(share, profile_share(&annotating->input, weight));
		profile_amount(&annotating->input, cycles, cycles_of(weight));
	}
	fprintf(terminal->out, "%s%8s %7s  in %zu instructions", ui_style(terminal, UI_DIM), share,
		cycles, count);
	if (weight)
		fprintf(terminal->out, ", each below %g%% of the function",
			annotating->wanted->limit);
	else
		fprintf(terminal->out, " that are in no sample");
	fprintf(terminal->out, " (--full)%s\n", ui_style(terminal, UI_PLAIN));
}

/* What the instruction waited for, if that is enough of the function. */
static void print_why(const struct annotating *annotating, const struct code_table *table,
		      uint64_t address)
{
	const struct pesa_why_wait *wait =
		pesa_why_find(annotating->reasons.why, table->dso, address);

	if (wait && wait->cycles >= WHY_LEAST * cycles_of(table->listing->weight))
		reasons_print(&annotating->reasons, table->terminal, wait, CAUSE_LEAST, WHY_INDENT);
}

static struct block_table blocks_of(const struct annotating *annotating,
				    const struct ui_terminal *terminal)
{
	return (struct block_table){.input = &annotating->input,
				    .terminal = terminal,
				    .isas = annotating->isas,
				    .timed = annotating->timed};
}

/* Whether the first of two timed blocks is shown before the second: it has more cycles. */
static bool comes_before(const struct pesa_timed_blocks *timed, size_t one, size_t other)
{
	double cycles = pesa_timed_blocks_at(timed, one)->cycles;
	double others = pesa_timed_blocks_at(timed, other)->cycles;

	return cycles > others || (cycles == others && one < other);
}

/* The timed blocks that begin at an instruction: those with most cycles. */
static void print_blocks(const struct annotating *annotating, const struct code_table *table,
			 uint64_t address)
{
	const struct block_table blocks = blocks_of(annotating, table->terminal);
	const struct pesa_timed_blocks *timed = annotating->timed;
	double limit = BLOCK_LEAST * pesa_timed_blocks_totals(timed)->cycles;
	size_t first = pesa_timed_blocks_from(timed, table->dso, address);
	size_t end = pesa_timed_blocks_from(timed, table->dso, address + 1), last = end;

	for (unsigned int shown = 0; shown < BLOCKS_MAX; shown++) {
		struct ui_text line = {0};
		size_t best = end;

		for (size_t i = first; i < end; i++)
			if (pesa_timed_blocks_at(timed, i)->cycles >= limit &&
			    (last == end || comes_before(timed, last, i)) &&
			    (best == end || comes_before(timed, i, best)))
				best = i;
		if (best == end)
			return;
		last = best;
		block_table_note(&blocks, best, &line);
		ui_print_line(table->terminal, ui_text_get(&line));
		ui_text_free(&line);
	}
}

/* The source line of an instruction, if it is another one, and the instruction. */
static struct pesa_error *print_row(const struct annotating *annotating,
				    const struct code_table *table, const struct listing_row *row,
				    struct code_place *last)
{
	struct pesa_error *error = NULL;
	struct ui_text line = {0};

	if (!annotating->wanted->no_source)
		error = code_table_source(table, row->address, last, &line);
	if (!error && line.length)
		ui_print_line(table->terminal, ui_text_get(&line));
	ui_text_clear(&line);
	print_blocks(annotating, table, row->address);
	if (!error)
		error = code_table_row(table, row, &line);
	if (!error)
		ui_print_line(table->terminal, ui_text_get(&line));
	ui_text_free(&line);
	if (!error && annotating->wanted->why)
		print_why(annotating, table, row->address);
	return error;
}

static void print_heading(const struct code_table *table)
{
	struct ui_text line = {0};

	code_table_heading(table, &line);
	ui_print_line(table->terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static struct pesa_error *print_target(struct annotating *annotating,
				       const struct ui_terminal *terminal,
				       const struct target *target, const struct listing *listing)
{
	struct code_table table = {.input = &annotating->input,
				   .terminal = terminal,
				   .sources = annotating->sources,
				   .deskid = annotating->plain.deskid};
	const struct listing_row *row = listing->row;
	struct pesa_error *error = NULL;
	struct code_place last = {0};
	size_t fold = listing->count; /* start of the next folded run */
	size_t folded = 0, checked = 0;

	print_target_head(annotating, terminal, target, listing);
	code_table_fit(&table, listing, target->dso);
	print_heading(&table);
	for (size_t i = 0; i < listing->count && !error; i++) {
		if (i >= checked && !annotating->wanted->full) {
			size_t run = cold_run(annotating, listing, i);
			size_t before = i ? CONTEXT_ROWS : 0;
			size_t after = i + run < listing->count ? CONTEXT_ROWS : 0;

			checked = i + run + 1;
			if (run >= before + after + FOLD_ROWS) {
				fold = i + before;
				folded = run - before - after;
			}
		}
		if (i == fold) {
			print_folded(annotating, terminal, &row[i], folded);
			i += folded - 1;
			last = (struct code_place){0};
			continue;
		}
		error = print_row(annotating, &table, &row[i], &last);
	}
	fputc('\n', terminal->out);
	return error;
}

static void note_missing(void *context, const char *path)
{
	const struct ui_terminal *terminal = context;

	fprintf(terminal->out,
		"note: source %s is not here: line numbers only (--symfs names a root)\n", path);
}

/* Say so if no instruction of a function has a source line, which is what debug information is for. */
static struct pesa_error *note_without_lines(struct annotating *annotating,
					     const struct ui_terminal *terminal,
					     const struct target *target,
					     const struct listing *listing)
{
	const struct pesa_dso *dso = pesa_profile_dso(annotating->input.profile, target->dso);
	struct ui_text line = {0};
	struct pesa_source source;

	for (size_t i = 0; i < listing->count; i++) {
		struct pesa_error *error = pesa_symbols_source(
			annotating->input.symbols, target->dso, listing->row[i].address, &source);

		if (error || source.line)
			return error;
	}
	if (!listing->count || !target->symbol)
		return NULL;
	ui_text_add_safe(
		&line, "note: no debug information: %s has no source lines in %s; build it with -g",
		target->symbol->name, dso->path);
	fprintf(terminal->out, "%s\n", ui_text_get(&line));
	ui_text_free(&line);
	return NULL;
}

static struct pesa_error *print_text(struct annotating *annotating, struct ui_terminal *terminal)
{
	const struct block_table blocks = blocks_of(annotating, terminal);
	struct ui_text line = {0};

	profile_print_header(&annotating->input, terminal);
	plain_estimate_print(&annotating->plain, terminal);
	if (block_table_has_samples(&blocks)) {
		block_table_samples(&blocks, &line);
		ui_print_line(terminal, ui_text_get(&line));
	}
	ui_text_free(&line);
	fputc('\n', terminal->out);
	for (size_t i = 0; i < annotating->targets.count; i++) {
		const struct target *target = &annotating->targets.target[i];
		struct listing listing = {0};
		struct pesa_error *error = list(annotating, target, &listing);

		if (!error)
			error = print_target(annotating, terminal, target, &listing);
		if (!error && !annotating->wanted->no_source)
			error = note_without_lines(annotating, terminal, target, &listing);
		listing_free(&listing);
		if (error)
			return error;
	}
	if (!annotating->wanted->no_source)
		source_texts_missing(annotating->sources, note_missing, terminal);
	profile_print_problems(&annotating->input, terminal);
	return NULL;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_object *target_json(struct annotating *annotating, const struct target *target)
{
	const struct profile_input *input = &annotating->input;
	json_object *result = json_object_new_object();

	json_object_object_add(result, "symbol",
			       ui_json_string(profile_symbol_name(target->symbol)));
	json_object_object_add(result, "dso",
			       ui_json_string(pesa_profile_dso(input->profile, target->dso)->path));
	json_object_object_add(result, "address",
			       target->symbol ? ui_json_count(target->symbol->start) : NULL);
	json_object_object_add(result, "size",
			       target->symbol ? ui_json_count(target->symbol->size) : NULL);
	json_object_object_add(result, "cycles", ui_json_number(cycles_of(target->weight)));
	json_object_object_add(result, "share",
			       ui_json_number(profile_share(input, target->weight)));
	return result;
}

/* Add the location of an instruction, with the functions that were inlined there. */
static struct pesa_error *add_source(struct annotating *annotating, const struct target *target,
				     const struct listing_row *row, json_object *result)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	struct pesa_error *error;
	json_object *chain;
	size_t count;

	error = pesa_symbols_inlines(annotating->input.symbols, target->dso, row->address, frame,
				     INLINES_MAX, &count);
	if (error)
		return error;
	json_object_object_add(result, "file", count ? ui_json_string(frame[0].source.file) : NULL);
	json_object_object_add(result, "line",
			       count && frame[0].source.line ? ui_json_count(frame[0].source.line)
							     : NULL);
	if (count < 2)
		return NULL;
	chain = json_object_new_array();
	for (size_t i = 0; i < count; i++) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "function", ui_json_string(frame[i].function));
		json_object_object_add(one, "file", ui_json_string(frame[i].source.file));
		json_object_object_add(one, "line", ui_json_count(frame[i].source.line));
		json_object_array_add(chain, one);
	}
	json_object_object_add(result, "inlined", chain);
	return NULL;
}

/* The estimate of plain samples: what was sampled, and what the model predicts. */
static void add_estimate(const struct annotating *annotating, const struct target *target,
			 const struct listing_row *row, json_object *result)
{
	const struct pesa_deskid_instruction *one =
		pesa_deskid_find(annotating->plain.deskid, target->dso, row->address);

	json_object_object_add(result, "sampled_cycles", ui_json_number(one ? one->measured : 0));
	json_object_object_add(result, "predicted", predicted_json(one));
}

static struct pesa_error *print_json_row(struct annotating *annotating, const struct target *target,
					 const struct listing_row *row, struct ui_json *json)
{
	json_object *object;
	struct pesa_error *error = listing_json(&annotating->input, target->dso, row, &object);

	if (error)
		return error;
	json_object_object_add(object, "symbol",
			       ui_json_string(profile_symbol_name(target->symbol)));
	if (!annotating->wanted->no_source)
		error = add_source(annotating, target, row, object);
	if (annotating->plain.deskid)
		add_estimate(annotating, target, row, object);
	if (annotating->wanted->why)
		json_object_object_add(
			object, "wait",
			reasons_json(&annotating->reasons, target->dso, row->address));
	ui_json_element(json, object);
	return error;
}

/* The timed blocks of the functions shown, and the sums; nothing where there are none. */
static void print_json_blocks(struct annotating *annotating, struct ui_json *json)
{
	const struct block_table blocks = blocks_of(annotating, NULL);
	const struct pesa_timed_blocks *timed = annotating->timed;

	if (!block_table_has_samples(&blocks))
		return;
	ui_json_member(json, "timed_branches", block_totals_json(&blocks));
	ui_json_array_begin(json, "blocks");
	for (size_t i = 0; i < annotating->targets.count; i++) {
		const struct target *target = &annotating->targets.target[i];
		const struct pesa_symbol *symbol = target->symbol;
		size_t end;

		if (!symbol)
			continue;
		end = pesa_timed_blocks_from(timed, target->dso, symbol->start + symbol->size);
		for (size_t k = pesa_timed_blocks_from(timed, target->dso, symbol->start); k < end;
		     k++)
			ui_json_element(json, block_json(&blocks, k));
	}
	ui_json_array_end(json);
}

static struct pesa_error *print_json(struct annotating *annotating)
{
	struct pesa_error *error = NULL;
	struct ui_json json;

	ui_json_begin(&json, stdout, "annotate");
	profile_json_header(&annotating->input, &json);
	plain_estimate_json(&annotating->plain, &json);
	ui_json_array_begin(&json, "functions");
	for (size_t i = 0; i < annotating->targets.count; i++)
		ui_json_element(&json, target_json(annotating, &annotating->targets.target[i]));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "instructions");
	for (size_t i = 0; i < annotating->targets.count && !error; i++) {
		const struct target *target = &annotating->targets.target[i];
		struct listing listing = {0};

		error = list(annotating, target, &listing);
		for (size_t k = 0; k < listing.count && !error; k++)
			error = print_json_row(annotating, target, &listing.row[k], &json);
		listing_free(&listing);
	}
	ui_json_array_end(&json);
	print_json_blocks(annotating, &json);
	profile_json_problems(&annotating->input, &json);
	ui_json_end(&json);
	return error;
}

/* ---- What would be won --------------------------------------------------------------------- */

static void print_gains(struct annotating *annotating, const struct ui_terminal *terminal)
{
	struct ui_json json;

	if (!annotating->wanted->input.json) {
		profile_print_header(&annotating->input, terminal);
		fputc('\n', terminal->out);
		reasons_print_gains(&annotating->reasons, terminal);
		profile_print_problems(&annotating->input, terminal);
		return;
	}
	ui_json_begin(&json, stdout, "annotate");
	profile_json_header(&annotating->input, &json);
	ui_json_member(&json, "what_if", reasons_gains_json(&annotating->reasons));
	profile_json_problems(&annotating->input, &json);
	ui_json_end(&json);
}

/* Open what --why and --what-if need. */
static struct pesa_error *open_reasons(struct annotating *annotating)
{
	struct pesa_error *error;

	if (!annotating->wanted->why && !annotating->wanted->what_if)
		return NULL;
	error = reasons_open(&annotating->reasons, &annotating->input, annotating->isas,
			     annotating->wanted->plain.cpu);
	if (!error && annotating->wanted->what_if)
		error = pesa_why_estimate_gains(annotating->reasons.why,
						(1u << PESA_WHY_CHANGES) - 1, REASONS_GAINS);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static int annotate(struct annotating *annotating)
{
	struct ui_terminal terminal = ui_terminal_open(annotating->wanted->input.colour);
	struct pesa_error *error;

	if (!profile_has_cycles(&annotating->input))
		return 1;
	if (!annotating->wanted->raw && !annotating->wanted->why && !annotating->wanted->what_if) {
		error = plain_estimate_open(&annotating->plain, &annotating->input,
					    &annotating->wanted->plain);
		if (error)
			return profile_fail("annotate", error);
		if ((annotating->wanted->plain.cpu || annotating->wanted->plain.calibration) &&
		    !annotating->plain.deskid) {
			profile_complain(
				"annotate",
				"%s samples whose PC skids, of which this recording "
				"has none",
				annotating->wanted->plain.cpu
					? "-mcpu names the model of --why, of --what-if and of"
					: "--calibration is for");
			return 2; /* a usage error */
		}
	}
	annotating->isas = listing_isas_create(&annotating->input);
	annotating->sources = source_texts_create(annotating->wanted->input.symbol_root);
	if (!annotating->isas || !annotating->sources)
		return profile_fail("annotate", pesa_error_no_memory());
	error = profile_groups_make(&annotating->input, GROUP_BY_DSO | GROUP_BY_SYMBOL,
				    &annotating->functions);
	if (error)
		return profile_fail("annotate", error);
	annotating->targets = (struct targets){.input = &annotating->input,
					       .functions = &annotating->functions,
					       .dso = annotating->wanted->dso};
	error = targets_choose(&annotating->targets, annotating->wanted->symbol);
	if (error)
		return profile_fail("annotate", error);
	error = open_reasons(annotating);
	if (error)
		return profile_fail("annotate", error);
	if (annotating->wanted->what_if) {
		if (!annotating->wanted->input.json)
			ui_pager_start(&terminal, !annotating->wanted->input.no_pager);
		print_gains(annotating, &terminal);
	} else if (annotating->wanted->input.json) {
		error = print_json(annotating);
	} else {
		ui_pager_start(&terminal, !annotating->wanted->input.no_pager);
		error = print_text(annotating, &terminal);
	}
	return profile_finish("annotate", &terminal, error) || annotating->input.damaged;
}

int pesa_command_annotate(int argc, char **argv)
{
	struct annotate_options wanted = {0};
	struct annotating annotating = {.wanted = &wanted};
	int status = profile_parse(&argp, "annotate", argc, argv, &wanted);
	struct pesa_error *error;

	if (status)
		return status;
	annotating.timed = pesa_timed_blocks_create();
	if (!annotating.timed)
		return profile_fail("annotate", pesa_error_no_memory());
	wanted.input.listener = pesa_timed_blocks_listener(annotating.timed);
	error = profile_input_open(&annotating.input, &wanted.input, "annotate");
	if (error) {
		pesa_timed_blocks_free(annotating.timed);
		return profile_fail("annotate", error);
	}
	error = pesa_timed_blocks_finish(annotating.timed, annotating.input.profile);
	status = error ? profile_fail("annotate", error) : annotate(&annotating);
	pesa_timed_blocks_free(annotating.timed);
	reasons_close(&annotating.reasons);
	plain_estimate_close(&annotating.plain);
	profile_groups_free(&annotating.functions);
	listing_isas_free(annotating.isas);
	source_texts_free(annotating.sources);
	profile_input_close(&annotating.input);
	return status;
}
