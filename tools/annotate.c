/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa annotate: source and instructions of a function, each with its cycles, cost and cycle stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_groups.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/source_text.h"
#include "tools/ui/pager.h"
#include "tools/ui/text.h"

#define BAR_COLUMNS	14
#define TEXT_COLUMNS	34 /* of an instruction's text */
#define BUCKETS_COLUMNS 48 /* of the largest buckets where the width is unlimited */
#define NAME_COLUMNS	40 /* longer names are shown without template arguments and parameters */
#define INLINES_MAX	64
#define HOTTEST_MAX	5    /* functions shown when none is named */
#define HOTTEST_SHARE	0.1  /* of all cycles, of those after the first */
#define CONTEXT_ROWS	3    /* cold instructions beside one that is not, shown in any case */
#define FOLD_ROWS	6    /* in a row, fewer are not worth folding */
#define LIMIT_DEFAULT	0.05 /* percent of the function's cycles: below it an instruction is cold */
#define NAMED_MAX	64

struct annotate_options {
	struct profile_input_options input;
	const char *symbol, *dso;
	bool full, no_source;
	double limit; /* percent of the function's cycles */
};

enum { KEY_DSO = PROFILE_KEY_FIRST_FREE, KEY_FULL, KEY_NO_SOURCE };

static const struct argp_option options[] = {
	{"percent-limit", 'p', "PERCENT", 0,
	 "Fold runs of instructions with less than PERCENT of the function's cycles each (default: 0.05)",
	 0},
	{"dso", KEY_DSO, "NAME", 0, "Only in this binary: its path or the last part of it", 0},
	{"full", KEY_FULL, NULL, 0, "Show long runs of instructions without cycles, too", 0},
	{"no-source", KEY_NO_SOURCE, NULL, 0, "Instructions only", 0},
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
	case KEY_DSO:
		result->dso = argument;
		break;
	case KEY_FULL:
		result->full = true;
		break;
	case KEY_NO_SOURCE:
		result->no_source = true;
		break;
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
	       "\n"
	       "The manual page pesa-annotate(1) explains every column.",
};

/* ---- What to show -------------------------------------------------------------------------- */

struct target {
	uint32_t dso;
	const struct pesa_symbol *symbol; /* NULL: code without symbols */
	uint64_t weight;
};

struct targets {
	struct target target[NAMED_MAX];
	size_t count;
};

struct annotating {
	const struct annotate_options *wanted;
	struct profile_input input;
	struct profile_groups functions; /* by dso and symbol */
	struct listing_isas *isas;
	struct source_texts *sources;
	struct targets targets;
};

static bool wanted_dso(const struct annotating *annotating, uint32_t index)
{
	const char *wanted = annotating->wanted->dso, *path;

	if (!wanted)
		return true;
	path = pesa_profile_dso(annotating->input.profile, index)->path;
	return !strcmp(path, wanted) || !strcmp(profile_base_name(path), wanted);
}

static uint64_t weight_of(const struct annotating *annotating, uint32_t dso,
			  const struct pesa_symbol *symbol)
{
	for (size_t i = 0; i < annotating->functions.count; i++) {
		const struct profile_group *group = &annotating->functions.group[i];

		if (group->dso == dso && group->symbol == symbol)
			return group->weight;
	}
	return 0;
}

static void add_target(struct annotating *annotating, uint32_t dso,
		       const struct pesa_symbol *symbol)
{
	struct targets *targets = &annotating->targets;

	for (size_t i = 0; i < targets->count; i++)
		if (targets->target[i].dso == dso && targets->target[i].symbol == symbol)
			return;
	if (targets->count < NAMED_MAX)
		targets->target[targets->count++] = (struct target){
			.dso = dso, .symbol = symbol, .weight = weight_of(annotating, dso, symbol)};
}

static void add_hottest(struct annotating *annotating)
{
	size_t shown = 0;

	for (size_t i = 0; i < annotating->functions.count && shown < HOTTEST_MAX; i++) {
		const struct profile_group *group = &annotating->functions.group[i];

		if (!wanted_dso(annotating, group->dso))
			continue;
		if (shown && profile_share(&annotating->input, group->weight) < HOTTEST_SHARE)
			break;
		add_target(annotating, group->dso, group->symbol);
		shown++;
	}
}

static void add_named(struct annotating *annotating, const char *name)
{
	const struct pesa_profile *profile = annotating->input.profile;
	const struct pesa_symbol *found[NAMED_MAX];

	for (uint32_t dso = 0; dso < pesa_profile_dso_count(profile); dso++) {
		size_t count;

		if (!wanted_dso(annotating, dso))
			continue;
		count = pesa_symbols_by_name(annotating->input.symbols, dso, name, found,
					     NAMED_MAX);
		for (size_t i = 0; i < count; i++)
			add_target(annotating, dso, found[i]);
	}
}

/* Add an address, in every binary that has samples or a symbol there. */
static void add_address(struct annotating *annotating, uint64_t address)
{
	const struct pesa_profile *profile = annotating->input.profile;

	for (uint32_t dso = 0; dso < pesa_profile_dso_count(profile); dso++) {
		const struct pesa_symbol *symbol;

		if (!wanted_dso(annotating, dso))
			continue;
		symbol = pesa_symbols_find(annotating->input.symbols, dso, address);
		if (symbol || pesa_profile_find(profile, dso, address))
			add_target(annotating, dso, symbol);
	}
}

static int hotter_first(const void *left, const void *right)
{
	const struct target *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->dso < b->dso ? -1 : a->dso > b->dso;
}

/* Choose the functions to show.  False: none, after a message. */
static bool choose(struct annotating *annotating)
{
	const char *name = annotating->wanted->symbol, *path = annotating->wanted->input.path;
	struct targets *targets = &annotating->targets;
	uint64_t address;
	size_t weighty;
	char *end;

	if (!name) {
		add_hottest(annotating);
		if (!targets->count)
			profile_complain("annotate", "%s: no samples%s%s", path,
					 annotating->wanted->dso ? " in " : "",
					 annotating->wanted->dso ? annotating->wanted->dso : "");
		return targets->count;
	}
	add_named(annotating, name);
	if (!targets->count && !strcmp(name, "[unknown]"))
		for (size_t i = 0; i < annotating->functions.count; i++)
			if (!annotating->functions.group[i].symbol &&
			    wanted_dso(annotating, annotating->functions.group[i].dso))
				add_target(annotating, annotating->functions.group[i].dso, NULL);
	errno = 0;
	address = strtoull(name, &end, 16);
	if (!targets->count && !strncmp(name, "0x", 2) && !*end && !errno)
		add_address(annotating, address);
	if (!targets->count) {
		profile_complain("annotate",
				 "%s: no function '%s' in its binaries; 'pesa report' lists those "
				 "that were sampled",
				 path, name);
		return false;
	}
	qsort(targets->target, targets->count, sizeof(*targets->target), hotter_first);
	/* If several functions have the name, choose those with samples. */
	for (weighty = 0; weighty < targets->count && targets->target[weighty].weight; weighty++)
		;
	if (weighty)
		targets->count = weighty;
	return true;
}

static struct pesa_error *list(struct annotating *annotating, const struct target *target,
			       struct listing *listing)
{
	return listing_function(listing, &annotating->input, annotating->isas, target->dso,
				target->symbol);
}

/* ---- Text ---------------------------------------------------------------------------------- */

struct place {
	const char *function; /* NULL: not inlined */
	struct pesa_source source;
};

/* The source line of an instruction, and the function that was inlined there. */
static struct place place_of(struct annotating *annotating, uint32_t dso, uint64_t address)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	size_t count =
		pesa_symbols_inlines(annotating->input.symbols, dso, address, frame, INLINES_MAX);

	if (!count)
		return (struct place){0};
	return (struct place){.function = count > 1 ? frame[0].function : NULL,
			      .source = frame[0].source};
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void print_source(struct annotating *annotating, const struct ui_terminal *terminal,
			 uint32_t dso, uint64_t address, struct place *last)
{
	struct place place = place_of(annotating, dso, address);
	struct ui_text line = {0};
	const char *text;

	if (!place.source.file || !place.source.line ||
	    (same_text(place.source.file, last->source.file) &&
	     place.source.line == last->source.line && same_text(place.function, last->function)))
		return;
	*last = place;
	text = source_text_line(annotating->sources, place.source.file, place.source.line);
	ui_text_add(&line, "%s", ui_style(terminal, UI_SOURCE));
	ui_text_add_safe(&line, "%s:%u", profile_base_name(place.source.file), place.source.line);
	ui_text_pad(&line, 20);
	if (text)
		ui_text_add_source(&line, text);
	if (place.function) {
		ui_text_add(&line, "%s   %s inlined ", ui_style(terminal, UI_DIM),
			    terminal->utf8 ? "←" : "<-");
		ui_text_add_name(&line, place.function, NAME_COLUMNS, terminal->utf8);
	}
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

/* "beq a0, a1, 0x1234" with the mnemonic in a column; the function or offset that it goes to. */
static void add_instruction_text(struct annotating *annotating, struct ui_text *line, uint32_t dso,
				 const struct listing_row *row, bool utf8)
{
	size_t mnemonic = strcspn(row->text, " "), column = ui_columns(ui_text_get(line));
	const struct pesa_symbol *symbol = NULL, *own;
	const struct pesa_instruction *instruction = row->instruction;
	struct pesa_estimate taken;

	ui_text_add(line, "%.*s", (int)mnemonic, row->text);
	if (row->text[mnemonic]) {
		ui_text_pad(line, column + 8);
		ui_text_add(line, "%s", row->text + mnemonic + 1);
	}
	if (row->has_target) {
		own = pesa_symbols_find(annotating->input.symbols, dso, row->address);
		symbol = pesa_symbols_find(annotating->input.symbols, dso, row->target);
		if (symbol && symbol != own) {
			ui_text_add(line, " <");
			ui_text_add_name(line, symbol->name, NAME_COLUMNS, utf8);
			ui_text_add(line, ">");
		}
	}
	if (instruction && instruction->edges) {
		taken = pesa_estimate_taken(annotating->input.profile, instruction,
					    PROFILE_CONFIDENCE);
		if (taken.enough && row->conditional)
			ui_text_add(line, " (taken %.0f%%)", taken.value * 100);
	}
}

static struct pesa_error *print_row(struct annotating *annotating,
				    const struct ui_terminal *terminal,
				    const struct listing *listing, uint32_t dso,
				    const struct listing_row *row)
{
	const struct profile_input *input = &annotating->input;
	const struct pesa_instruction *instruction = row->instruction;
	char share[UI_NUMBER_SIZE] = "", cycles[UI_NUMBER_SIZE] = "",
	     executions[UI_NUMBER_SIZE] = "";
	char cost[64];
	struct ui_text line = {0};
	struct cycle_stack stack = {0};
	size_t column, room;
	bool hot = false;

	if (instruction) {
		struct pesa_error *error = cycle_stack_add(&stack, instruction);

		if (error) {
			cycle_stack_free(&stack);
			return error;
		}
		cycle_stack_sort(&stack);
		ui_share(share, profile_share(input, instruction->weight));
		profile_amount(input, cycles, cycles_of(instruction->weight));
		if (input->plain)
			; /* nothing is known of executions */
		else if (pesa_estimate_executions(input->profile, instruction, PROFILE_CONFIDENCE)
				 .enough)
			ui_count(executions, (double)instruction->executions);
		else
			snprintf(executions, sizeof(executions), "too few");
		hot = instruction->weight > listing->weight / 10;
	}
	listing_cost(input, terminal, instruction, cost, sizeof(cost));
	ui_text_add(&line, "%s%8s%s %7s ", hot ? ui_style(terminal, UI_HOT) : "", share,
		    hot ? ui_style(terminal, UI_PLAIN) : "", cycles);
	if (!input->plain) {
		ui_text_add(&line, "%7s %*s%s  ", executions,
			    ui_columns(cost) < 12 ? (int)(12 - ui_columns(cost)) : 0, "", cost);
		cycle_stack_bar(&line, terminal, &stack, CYCLE_STATE_ALL, listing->hottest,
				BAR_COLUMNS);
	}
	ui_text_add(&line, " %8" PRIx64 "  ", row->address);
	column = ui_columns(ui_text_get(&line)) + TEXT_COLUMNS;
	add_instruction_text(annotating, &line, dso, row, terminal->utf8);
	if (stack.count && !input->plain) {
		ui_text_pad(&line, column);
		column = ui_columns(ui_text_get(&line));
		room = !terminal->width		  ? BUCKETS_COLUMNS
		       : terminal->width > column ? terminal->width - column
						  : 0;
		if (room > 12)
			cycle_stack_buckets(&line, terminal, &stack,
					    pesa_profile_capabilities(input->profile),
					    CYCLE_STATE_ALL, stack.weight, (unsigned int)room);
	}
	ui_print_line(terminal, ui_text_get(&line));
	cycle_stack_free(&stack);
	ui_text_free(&line);
	return NULL;
}

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
	ui_text_add_safe(&line, "%s", target->symbol ? target->symbol->name : "[unknown]");
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_text_add_safe(&line, "  in %s", dso->path);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "  %s of all %s: %s %s",
		    ui_share(share, profile_share(input, listing->weight)),
		    input->time	   ? "time"
		    : input->plain ? "that was counted"
				   : "cycles",
		    profile_amount(input, cycles, cycles_of(listing->weight)),
		    input->time	   ? ""
		    : input->plain ? "events"
				   : "cycles");
	if (entry && pesa_estimate_executions(input->profile, entry, PROFILE_CONFIDENCE).enough)
		ui_text_add(&line, ", %s executions",
			    ui_count(executions, (double)entry->executions));
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
	ui_text_add(&line, "%s%8s %7s ", ui_style(terminal, UI_BOLD), "Share",
		    profile_amount_title(input));
	if (!input->plain)
		ui_text_add(&line, "%7s %12s  %-*s", "Execs",
			    pesa_profile_totals(input->profile)->exact ? "Cycles/exec"
			    : terminal->utf8			       ? "Cyc/exec ±95%"
								       : "Cyc/exec 95%",
			    BAR_COLUMNS - (terminal->utf8 ? 1 : 0), "Stack");
	ui_text_add(&line, " %8s  %-*s%s%s", "Address", TEXT_COLUMNS, "Instruction",
		    input->plain ? "" : "Largest buckets", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
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
		ui_count(cycles, cycles_of(weight));
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

static struct pesa_error *print_target(struct annotating *annotating,
				       const struct ui_terminal *terminal,
				       const struct target *target, const struct listing *listing)
{
	const struct listing_row *row = listing->row;
	struct pesa_error *error = NULL;
	struct place last = {0};
	size_t fold = listing->count; /* start of the next folded run */
	size_t folded = 0, checked = 0;

	print_target_head(annotating, terminal, target, listing);
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
			last = (struct place){0};
			continue;
		}
		if (!annotating->wanted->no_source)
			print_source(annotating, terminal, target->dso, row[i].address, &last);
		error = print_row(annotating, terminal, listing, target->dso, &row[i]);
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

static struct pesa_error *print_text(struct annotating *annotating, struct ui_terminal *terminal)
{
	profile_print_header(&annotating->input, terminal);
	fputc('\n', terminal->out);
	for (size_t i = 0; i < annotating->targets.count; i++) {
		const struct target *target = &annotating->targets.target[i];
		struct listing listing = {0};
		struct pesa_error *error = list(annotating, target, &listing);

		if (!error)
			error = print_target(annotating, terminal, target, &listing);
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
			       ui_json_string(target->symbol ? target->symbol->name : "[unknown]"));
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
static void add_source(struct annotating *annotating, const struct target *target,
		       const struct listing_row *row, json_object *result)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	json_object *chain;
	size_t count;

	count = pesa_symbols_inlines(annotating->input.symbols, target->dso, row->address, frame,
				     INLINES_MAX);
	json_object_object_add(result, "file", count ? ui_json_string(frame[0].source.file) : NULL);
	json_object_object_add(result, "line",
			       count && frame[0].source.line ? ui_json_count(frame[0].source.line)
							     : NULL);
	if (count < 2)
		return;
	chain = json_object_new_array();
	for (size_t i = 0; i < count; i++) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "function", ui_json_string(frame[i].function));
		json_object_object_add(one, "file", ui_json_string(frame[i].source.file));
		json_object_object_add(one, "line", ui_json_count(frame[i].source.line));
		json_object_array_add(chain, one);
	}
	json_object_object_add(result, "inlined", chain);
}

static struct pesa_error *print_json_row(struct annotating *annotating, const struct target *target,
					 const struct listing_row *row, struct ui_json *json)
{
	json_object *object;
	struct pesa_error *error = listing_json(&annotating->input, target->dso, row, &object);

	if (error)
		return error;
	json_object_object_add(object, "symbol",
			       ui_json_string(target->symbol ? target->symbol->name : "[unknown]"));
	if (!annotating->wanted->no_source)
		add_source(annotating, target, row, object);
	ui_json_element(json, object);
	return NULL;
}

static struct pesa_error *print_json(struct annotating *annotating)
{
	struct pesa_error *error = NULL;
	struct ui_json json;

	ui_json_begin(&json, stdout, "annotate");
	profile_json_header(&annotating->input, &json);
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
	profile_json_problems(&annotating->input, &json);
	ui_json_end(&json);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static int annotate(struct annotating *annotating)
{
	struct ui_terminal terminal = ui_terminal_open(annotating->wanted->input.colour);
	struct pesa_error *error;

	if (!profile_has_cycles(&annotating->input))
		return 1;
	annotating->isas = listing_isas_create(&annotating->input);
	annotating->sources = source_texts_create(annotating->wanted->input.symbol_root);
	if (!annotating->isas || !annotating->sources)
		return profile_fail("annotate", pesa_error_no_memory());
	error = profile_groups_make(&annotating->input, GROUP_BY_DSO | GROUP_BY_SYMBOL,
				    &annotating->functions);
	if (error)
		return profile_fail("annotate", error);
	if (!choose(annotating))
		return 1;
	if (annotating->wanted->input.json) {
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

	if (status)
		return status;
	if (!profile_input_open(&annotating.input, &wanted.input, "annotate"))
		return 1;
	status = annotate(&annotating);
	profile_groups_free(&annotating.functions);
	listing_isas_free(annotating.isas);
	source_texts_free(annotating.sources);
	profile_input_close(&annotating.input);
	return status;
}
