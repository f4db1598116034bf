// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa explain: one screen in words and numbers about a function.
 *
 * It is made of sections (the table `sections`), each with claims, and a command that shows more.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/explain/reasons.h"
#include "tools/groups/call_tree.h"
#include "tools/groups/groups.h"
#include "tools/names/match.h"
#include "tools/ui/json.h"
#include "tools/ui/listing.h"
#include "tools/ui/pager.h"
#include "tools/ui/standard_output.h"
#include "tools/ui/text.h"
#include "tools/why/waits.h"

#define SHOWN_SHARE  0.05 /* of the function's cycles: smaller reasons are left out */
#define HOT_SHARE    0.05 /* of the function's cycles: smaller instructions are left out */
#define HOT_MAX	     3
#define CALLERS_MAX  3
#define WAITS_MAX    3 /* stalled instructions, and gains, that are named */
#define ADVICE_MAX   2
#define COLUMNS	     100 /* of text that is no terminal's */
#define INDENT	     8
#define NAME_COLUMNS 60

struct explain_options {
	struct profile_input_options input;
	const char *symbol;
};

struct explaining {
	const struct explain_options *wanted;
	const struct pesa_export *rows;
	struct profile_input input;
	struct profile_groups functions; /* by dso and symbol */
	struct listing_isas *isas;
	const struct profile_group *function;	       /* that is explained */
	struct listing listing;			       /* its code */
	struct call_tree callers;		       /* by its own cycles */
	uint64_t reason[EXPLAIN_REASONS];	       /* weight of each */
	const struct listing_row *at[EXPLAIN_REASONS]; /* the row with most of it */
	uint64_t most[EXPLAIN_REASONS];		       /* weight of it there */
	struct reasons waits;			       /* what instructions waited for */
	bool has_waits;
	struct pesa_error *waits_lacking; /* why not; NULL: nothing to say */
};

/* ---- Options ------------------------------------------------------------------------------- */

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct explain_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		return 0;
	case ARGP_KEY_ARG:
		if (result->symbol)
			profile_usage_error(state, "one SYMBOL at a time: '%s' and '%s' are two",
					    result->symbol, argument);
		result->symbol = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.children = profile_input_children,
	.args_doc = "[SYMBOL]",
	.doc = "Explain a function in words and numbers: where its time goes, why, who calls it, and "
	       "what to try; each with the command that shows more.  Without SYMBOL it is the "
	       "hottest.\vExample:\n"
	       "  pesa explain\n"
	       "  pesa explain mainSort -i perf.data\n"
	       "\n"
	       "The manual page pesa-explain(1) says what each claim is made of.",
};

/* ---- The function -------------------------------------------------------------------------- */

static const char *linkage_of(const struct profile_group *group)
{
	return group->symbol ? group->symbol->linkage_name : NULL;
}

/* Choose the hottest function that the name means; functions are sorted, the hottest first. */
static struct pesa_error *choose_named(struct explaining *explaining, struct name_search *search)
{
	const struct profile_groups *functions = &explaining->functions;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < functions->count && !error; i++)
		error = name_search_consider(search,
					     profile_symbol_name(functions->group[i].symbol),
					     linkage_of(&functions->group[i]));
	for (size_t i = 0; i < functions->count && !error && !explaining->function; i++) {
		bool means;

		error = name_search_means(search, profile_symbol_name(functions->group[i].symbol),
					  linkage_of(&functions->group[i]), &means);
		if (means)
			explaining->function = &functions->group[i];
	}
	if (error || explaining->function)
		return error;
	return pesa_error_create(
		PESA_ERROR_NOT_FOUND,
		"%s: no function '%s' was sampled; %s%s%s'pesa report' lists those that were",
		explaining->wanted->input.path, explaining->wanted->symbol,
		search->suggestion ? "do you mean '" : "",
		search->suggestion ? search->suggestion : "", search->suggestion ? "'? " : "");
}

static struct pesa_error *choose(struct explaining *explaining)
{
	struct name_search search;
	struct pesa_error *error;

	if (!explaining->wanted->symbol) {
		explaining->function = explaining->functions.group;
		return NULL;
	}
	error = name_search_begin(&search, explaining->wanted->symbol);
	if (error)
		return error;
	error = choose_named(explaining, &search);
	name_search_end(&search);
	return error;
}

/* Add up the reasons of the function's cycles, and where most of each is. */
static void find_reasons(struct explaining *explaining)
{
	const struct pesa_topdown_bits bits =
		pesa_topdown_bits(pesa_profile_capabilities(explaining->input.profile));

	for (size_t i = 0; i < explaining->listing.count; i++) {
		const struct listing_row *row = &explaining->listing.row[i];
		uint64_t here[EXPLAIN_REASONS] = {0};

		for (unsigned int j = 0; row->instruction && j < row->instruction->buckets; j++) {
			const struct pesa_bucket *bucket = &row->instruction->bucket[j];
			size_t reason = explain_reason_of(&bits, bucket->state, bucket->cause);

			if (reason < EXPLAIN_REASONS)
				here[reason] += bucket->weight;
		}
		for (size_t reason = 0; reason < EXPLAIN_REASONS; reason++) {
			explaining->reason[reason] += here[reason];
			if (here[reason] <= explaining->most[reason])
				continue;
			explaining->most[reason] = here[reason];
			explaining->at[reason] = row;
		}
	}
}

static struct pesa_error *prepare(struct explaining *explaining)
{
	struct profile_input *input = &explaining->input;
	struct pesa_error *error =
		profile_groups_make(input, GROUP_BY_DSO | GROUP_BY_SYMBOL, &explaining->functions);

	if (!error)
		error = choose(explaining);
	if (!error)
		explaining->isas = listing_isas_create(input);
	if (!error && !explaining->isas)
		error = pesa_error_no_memory();
	if (!error)
		error = listing_function(&explaining->listing, input, explaining->isas,
					 explaining->function->dso, explaining->function->symbol);
	if (!error)
		error = call_tree_make(
			input, explaining->rows,
			&(struct call_tree_wanted){.kind = CALL_TREE_CALLERS,
						   .dso = explaining->function->dso,
						   .symbol = explaining->function->symbol,
						   .own = true},
			&explaining->callers);
	if (!error)
		find_reasons(explaining);
	if (!error)
		error = reasons_find(&explaining->waits, input, explaining->isas,
				     &explaining->has_waits, &explaining->waits_lacking);
	if (!error && explaining->has_waits)
		error = pesa_why_estimate_gains(explaining->waits.why, (1u << PESA_WHY_CHANGES) - 1,
						REASONS_GAINS);
	return error;
}

/* ---- Sections ------------------------------------------------------------------------------ */

/* Claims of a section, as lines of text or as elements of an array of JSON. */
struct claims {
	const struct explaining *explaining;
	const struct ui_terminal *terminal;
	json_object *array; /* NULL: text */
};

static void claim(struct claims *claims, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void claim(struct claims *claims, const char *format, ...)
{
	struct ui_text safe = {0};
	char *text;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		standard_output_lacks_part();
		return;
	}
	if (claims->array) {
		json_object_array_add(claims->array, ui_json_string(text));
	} else {
		ui_text_add_safe(&safe, "%s", text);
		ui_print_wrapped(claims->terminal, ui_text_get(&safe), INDENT, COLUMNS);
	}
	ui_text_free(&safe);
	free(text);
}

/* Percent of the function's cycles. */
static double part(const struct explaining *explaining, uint64_t weight)
{
	return explaining->function->weight
		       ? 100 * (double)weight / (double)explaining->function->weight
		       : 0;
}

/* "2650: lbu a6, 0(a6) (blocksort.c:360)" */
static void describe(const struct explaining *explaining, const struct listing_row *row, char *text,
		     size_t size)
{
	struct pesa_source source =
		profile_source(&explaining->input, explaining->function->dso, row->address);

	const char *separator = *row->text ? ": " : "";

	if (source.file)
		snprintf(text, size, "%" PRIx64 "%s%s (%s:%u)", row->address, separator, row->text,
			 profile_base_name(source.file), source.line);
	else
		snprintf(text, size, "%" PRIx64 "%s%s", row->address, separator, row->text);
}

static int hotter_first(const void *left, const void *right)
{
	const struct listing_row *a = *(const struct listing_row *const *)left,
				 *b = *(const struct listing_row *const *)right;
	uint64_t of_a = a->instruction ? a->instruction->weight : 0;
	uint64_t of_b = b->instruction ? b->instruction->weight : 0;

	return of_a > of_b ? -1 : of_a < of_b;
}

/* What samples of an event weigh. */
static const char *weights_of(const struct profile_input *input)
{
	return input->time ? "time" : input->other ? "events" : "cycles";
}

static struct pesa_error *say_where(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	const struct profile_input *input = &explaining->input;
	const struct listing *listing = &explaining->listing;
	const struct listing_row **rows = calloc(listing->count + 1, sizeof(*rows));
	char number[UI_NUMBER_SIZE], place[320], cost[64];

	if (!rows)
		return pesa_error_no_memory();
	claim(claims, "%.2f%% of all: %s %s",
	      100 * profile_share(input, explaining->function->weight),
	      profile_amount(input, number, cycles_of(explaining->function->weight)),
	      profile_amount_unit(input));
	for (size_t i = 0; i < listing->count; i++)
		rows[i] = &listing->row[i];
	qsort(rows, listing->count, sizeof(*rows), hotter_first);
	for (size_t i = 0; i < listing->count && i < HOT_MAX; i++) {
		const struct pesa_instruction *instruction = rows[i]->instruction;

		if (!instruction || part(explaining, instruction->weight) < 100 * HOT_SHARE)
			break;
		describe(explaining, rows[i], place, sizeof(place));
		listing_cost(input, claims->terminal, instruction, cost, sizeof(cost));
		if (!input->plain && *cost && strcmp(cost, "too few"))
			claim(claims, "%.1f%% of its cycles at %s, %s cycles each time",
			      part(explaining, instruction->weight), place, cost);
		else
			claim(claims, "%.1f%% of its %s at %s",
			      part(explaining, instruction->weight), weights_of(input), place);
	}
	free(rows);
	return NULL;
}

/* The reasons, largest first, as indices; returns how many are large enough to be shown. */
static size_t order_reasons(const struct explaining *explaining, size_t order[EXPLAIN_REASONS])
{
	size_t count = 0;

	for (size_t reason = 0; reason < EXPLAIN_REASONS; reason++) {
		size_t at = count;

		if (part(explaining, explaining->reason[reason]) < 100 * SHOWN_SHARE)
			continue;
		for (; at && explaining->reason[order[at - 1]] < explaining->reason[reason]; at--)
			order[at] = order[at - 1];
		order[at] = reason;
		count++;
	}
	return count;
}

static bool is_in_function(const struct explaining *explaining,
			   const struct pesa_compare_place *place)
{
	return place->dso == explaining->function->dso &&
	       profile_symbol(&explaining->input, place->dso, place->address) ==
		       explaining->function->symbol;
}

/* What the instructions that stalled most waited for: the producer with most of the wait. */
static void say_waits(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	const struct pesa_why *why = explaining->waits.why;
	struct ui_text line = {0};
	unsigned int said = 0;

	if (explaining->waits_lacking)
		claim(claims, "what they waited for is not known: %s",
		      explaining->waits_lacking->message);
	for (size_t i = 0; explaining->has_waits && i < pesa_why_count(why) && said < WAITS_MAX;
	     i++) {
		const struct pesa_why_wait *wait = pesa_why_wait(why, i);
		struct listing_row row = {.address = wait->place.address};
		char place[320];

		if (!wait->causes || !is_in_function(explaining, &wait->place))
			continue;
		/* That a cause is not known is worth a line only of what stalled most. */
		if (said && wait->cause[0].kind == PESA_WHY_UNKNOWN)
			continue;
		listing_decode(&explaining->input, explaining->isas, wait->place.dso, &row);
		describe(explaining, &row, place, sizeof(place));
		ui_text_clear(&line);
		reasons_text(&explaining->waits, wait, &wait->cause[0], claims->terminal->utf8,
			     &line);
		claim(claims, "%s waits %.3g cycles: %s", place, wait->each, ui_text_get(&line));
		said++;
	}
	ui_text_free(&line);
}

static struct pesa_error *say_why(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	size_t order[EXPLAIN_REASONS], count = order_reasons(explaining, order);
	char place[320];

	if (explaining->input.plain)
		claim(claims, "not known: the samples say only where, and have no cycle stacks");
	for (size_t i = 0; i < count; i++) {
		describe(explaining, explaining->at[order[i]], place, sizeof(place));
		claim(claims, "%.1f%% of its cycles %s, %.0f%% of these at %s",
		      part(explaining, explaining->reason[order[i]]),
		      explain_reason(order[i])->words,
		      100 * (double)explaining->most[order[i]] /
			      (double)explaining->reason[order[i]],
		      place);
	}
	say_waits(claims);
	return NULL;
}

static struct pesa_error *say_who(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	const struct call_tree_function *function = explaining->callers.function;
	uint32_t number = function[0].child, count = 0;

	if (number == CALL_TREE_NONE)
		claim(claims, "not known: the recording has no call chains of it (pesa record -g)");
	for (; number != CALL_TREE_NONE; number = function[number].next, count++)
		if (count < CALLERS_MAX)
			claim(claims, "%.1f%% of its %s when called by %s",
			      part(explaining, function[number].weight),
			      weights_of(&explaining->input),
			      profile_symbol_name(function[number].symbol));
	if (count > CALLERS_MAX)
		claim(claims, "and %" PRIu32 " more callers", count - CALLERS_MAX);
	return NULL;
}

/* What would be won at places of the function, of those that were tried in the program. */
static void say_gains(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	const struct pesa_why *why = explaining->waits.why;
	unsigned int count = explaining->has_waits ? pesa_why_gain_count(why) : 0, said = 0;
	unsigned int here = 0;
	struct ui_text line = {0};

	for (unsigned int i = 0; i < count && said < WAITS_MAX; i++) {
		const struct pesa_why_gain *gain = pesa_why_gain(why, i);

		if (!is_in_function(explaining, &gain->place))
			continue;
		here++;
		if (!(gain->saved.value > 0))
			continue;
		ui_text_clear(&line);
		reasons_gain_text(&explaining->waits, gain, claims->terminal->utf8, &line);
		claim(claims, "%s", ui_text_get(&line));
		said++;
	}
	ui_text_free(&line);
	if (explaining->has_waits && !here)
		claim(claims,
		      "no change was tried on the model: none of the program's %u longest "
		      "waits is in this function",
		      REASONS_GAINS);
	else if (explaining->has_waits && !said)
		claim(claims, "on the model no change that was tried here saves a cycle");
}

static struct pesa_error *say_what_to_try(struct claims *claims)
{
	const struct explaining *explaining = claims->explaining;
	size_t order[EXPLAIN_REASONS], count = order_reasons(explaining, order);

	for (size_t i = 0; i < count && i < ADVICE_MAX; i++)
		claim(claims,
		      "%s; if none of these cycles were left, the program would take at most %.1f%% "
		      "fewer",
		      explain_reason(order[i])->advice,
		      100 * profile_share(&explaining->input, explaining->reason[order[i]]));
	say_gains(claims);
	return NULL;
}

static const struct section {
	const char *name, *title;
	struct pesa_error *(*say)(struct claims *claims);
	const char *more; /* subcommand and options; a # stands for the function */
	/* The same where it is not known what instructions waited for; NULL: no other command. */
	const char *without_waits;
	bool by_name; /* # is always the name, however long */
} sections[] = {
	{"where", "Where", say_where, "annotate #", NULL, false},
	{"why", "Why", say_why, "annotate --why #", "topdown --by symbol", false},
	{"who", "Who", say_who, "report --callee #", NULL, true},
	{"try", "Try", say_what_to_try, "annotate --what-if", "annotate --full #", false},
};

#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* A word of a command, quoted if a shell would take it apart. */
static void add_word(struct ui_text *command, const char *word)
{
	if (!word[strspn(
		    word,
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-@,")]) {
		ui_text_add_safe(command, " %s", word);
		return;
	}
	ui_text_add(command, " '");
	for (; *word; word++)
		if (*word == '\'')
			ui_text_add(command, "'\\''");
		else
			ui_text_add(command, "%c", *word);
	ui_text_add(command, "'");
}

/* The command that shows more, ready to be pasted. */
static void add_command(const struct explaining *explaining, const struct section *section,
			struct ui_text *command)
{
	const struct pesa_symbol *symbol = explaining->function->symbol;
	const char *more = explaining->has_waits || !section->without_waits
				   ? section->more
				   : section->without_waits;
	size_t length = strcspn(more, " ");

	ui_text_add(command, "pesa %.*s", (int)length, more);
	if (explaining->wanted->input.path_given) {
		ui_text_add(command, " -i");
		add_word(command, explaining->wanted->input.path);
	}
	more += length;
	length = strcspn(more, "#");
	while (length && more[length - 1] == ' ')
		length--;
	ui_text_add(command, "%.*s", (int)length, more);
	if (!strchr(more, '#'))
		return;
	if (section->by_name || !symbol || strlen(symbol->name) <= NAME_COLUMNS) {
		add_word(command, profile_symbol_name(symbol));
		return;
	}
	ui_text_add(command, " 0x%" PRIx64 " -d", symbol->start);
	add_word(command, profile_base_name(pesa_profile_dso(explaining->input.profile,
							     explaining->function->dso)
						    ->path));
}

static struct pesa_error *print_section(const struct explaining *explaining,
					const struct section *section,
					const struct ui_terminal *terminal)
{
	struct claims claims = {.explaining = explaining, .terminal = terminal};
	struct ui_text command = {0}, line = {0};

	add_command(explaining, section, &command);
	ui_text_add(&line, "\n%s%-*s%s", ui_style(terminal, UI_BOLD), INDENT, section->title,
		    ui_style(terminal, UI_PLAIN));
	ui_text_add(&line, "%s%s%s", ui_style(terminal, UI_DIM), ui_text_get(&command),
		    ui_style(terminal, UI_PLAIN));
	fprintf(terminal->out, "%s\n", ui_text_get(&line));
	ui_text_free(&command);
	ui_text_free(&line);
	return section->say(&claims);
}

static struct pesa_error *print_text(const struct explaining *explaining,
				     const struct ui_terminal *terminal)
{
	const struct profile_group *function = explaining->function;
	struct pesa_error *error = NULL;
	struct ui_text line = {0};

	ui_text_add(&line, "%s", ui_style(terminal, UI_BOLD));
	ui_text_add_name(&line, profile_symbol_name(function->symbol), NAME_COLUMNS,
			 terminal->utf8);
	ui_text_add(&line, "%s in ", ui_style(terminal, UI_PLAIN));
	ui_text_add_safe(&line, "%s",
			 profile_base_name(
				 pesa_profile_dso(explaining->input.profile, function->dso)->path));
	ui_print_line(terminal, ui_text_get(&line));
	for (size_t i = 0; i < SECTIONS && !error; i++)
		error = print_section(explaining, &sections[i], terminal);
	ui_text_free(&line);
	fputc('\n', terminal->out);
	profile_print_problems(&explaining->input, terminal);
	return error;
}

static struct pesa_error *section_json(const struct explaining *explaining,
				       const struct section *section, struct ui_json *json)
{
	struct ui_terminal plain = {.utf8 = true};
	json_object *one = json_object_new_object(), *array = json_object_new_array();
	struct claims claims = {.explaining = explaining, .array = array, .terminal = &plain};
	struct ui_text command = {0};
	struct pesa_error *error;

	add_command(explaining, section, &command);
	error = section->say(&claims);
	json_object_object_add(one, "name", ui_json_string(section->name));
	json_object_object_add(one, "claims", array);
	json_object_object_add(one, "more", ui_json_string(ui_text_get(&command)));
	ui_json_element(json, one);
	ui_text_free(&command);
	return error;
}

static struct pesa_error *print_json(const struct explaining *explaining)
{
	const struct profile_group *function = explaining->function;
	struct pesa_error *error = NULL;
	struct ui_json json;

	ui_json_begin(&json, stdout, "explain");
	profile_json_header(&explaining->input, &json);
	ui_json_member(&json, "function",
		       profile_group_json(&explaining->input, &explaining->functions, function));
	ui_json_array_begin(&json, "sections");
	for (size_t i = 0; i < SECTIONS && !error; i++)
		error = section_json(explaining, &sections[i], &json);
	ui_json_array_end(&json);
	profile_json_problems(&explaining->input, &json);
	ui_json_end(&json);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

/* Returns the exit status. */
static int explain(struct explaining *explaining)
{
	struct ui_terminal terminal = ui_terminal_open(explaining->wanted->input.colour);
	struct pesa_error *error = prepare(explaining);

	if (!error && explaining->wanted->input.json) {
		error = print_json(explaining);
	} else if (!error) {
		ui_pager_start(&terminal, !explaining->wanted->input.no_pager);
		error = print_text(explaining, &terminal);
	}
	return profile_finish("explain", &terminal, error) || explaining->input.damaged;
}

int pesa_command_explain(int argc, char **argv)
{
	struct explain_options wanted = {0};
	struct explaining explaining = {.wanted = &wanted};
	int status = profile_parse(&argp, "explain", argc, argv, &wanted);
	struct pesa_export *rows;
	struct pesa_error *error;

	if (status)
		return status;
	rows = pesa_export_create();
	if (!rows)
		return profile_fail("explain", pesa_error_no_memory());
	explaining.rows = rows;
	wanted.input.listener = pesa_export_listener(rows);
	error = profile_input_open(&explaining.input, &wanted.input, "explain");
	if (error) {
		status = profile_fail("explain", error);
	} else {
		status = profile_has_cycles(&explaining.input) ? explain(&explaining) : 1;
		reasons_close(&explaining.waits);
		pesa_error_free(explaining.waits_lacking);
		call_tree_free(&explaining.callers);
		listing_free(&explaining.listing);
		listing_isas_free(explaining.isas);
		profile_groups_free(&explaining.functions);
		profile_input_close(&explaining.input);
	}
	pesa_export_free(rows);
	return status;
}
