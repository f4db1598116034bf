/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa advise: what a compiler could do otherwise, as remarks beside the source. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/advise/hints.h"
#include "tools/advise/words.h"
#include "tools/commands.h"
#include "tools/ui/json.h"
#include "tools/ui/pager.h"
#include "tools/ui/source_text.h"
#include "tools/ui/standard_output.h"
#include "tools/why/waits.h"

#define COLUMNS	      100 /* of text that is no terminal's */
#define INDENT	      4
#define PERCENT_LEAST 0.5 /* of all cycles */

struct advise_options {
	struct profile_input_options input;
	uint32_t kinds; /* bits 1 << enum pesa_advice_kind; 0: all */
	double least;	/* percent of all cycles */
	const char *cpu, *hints;
};

struct advising {
	const struct advise_options *wanted;
	struct profile_input input;
	struct listing_isas *isas;
	struct source_texts *sources;
	struct pesa_control_flow *flow;
	struct reasons reasons;
	bool has_reasons;
	struct pesa_error *lacking; /* why there is no model; NULL: nothing to say */
	struct pesa_advice *advice;
	size_t hints; /* that were written */
};

/* ---- Options --------------------------------------------------------------------------------- */

enum { KEY_KIND = PROFILE_KEY_FIRST_FREE, KEY_HINTS };

static const struct argp_option options[] = {
	{"kind", KEY_KIND, "KIND,...", 0,
	 "Only remarks of these kinds: prefetch, inline, layout, predict, unroll, spill", 0},
	{"percent-limit", 'l', "PERCENT", 0,
	 "Leave out remarks with less than this at stake, in percent of all cycles (default 0.5)",
	 0},
	{"hints", KEY_HINTS, "FILE", 0,
	 "Write the prefetches with a stride to FILE, as LLVM's -prefetch-hints-file reads them",
	 0},
	{"mcpu", 'm', "NAME", 0,
	 "The processor whose model says what would be saved (default: that of the recording)", 0},
	{0},
};

static void parse_kinds(struct advise_options *wanted, const char *text, struct argp_state *state)
{
	while (*text) {
		size_t length = strcspn(text, ",");
		unsigned int kind = 0;

		while (kind < PESA_ADVICE_KINDS &&
		       (strlen(pesa_advice_kind_name((enum pesa_advice_kind)kind)) != length ||
			strncmp(text, pesa_advice_kind_name((enum pesa_advice_kind)kind), length) !=
				0))
			kind++;
		if (kind == PESA_ADVICE_KINDS)
			profile_bad_value(state, "--kind", text,
					  "prefetch, inline, layout, predict, unroll and spill, "
					  "separated by commas");
		wanted->kinds |= 1u << kind;
		text += length + (text[length] == ',');
	}
	if (!wanted->kinds)
		profile_bad_value(state, "--kind", text, "at least one kind");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct advise_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		return 0;
	case KEY_KIND:
		parse_kinds(result, argument, state);
		return 0;
	case 'l':
		result->least = profile_percent(argument, "--percent-limit", state);
		return 0;
	case KEY_HINTS:
		result->hints = argument;
		return 0;
	case 'm':
		/* -mcpu=NAME is the letter m with "cpu=NAME". */
		result->cpu = strncmp(argument, "cpu=", 4) ? argument : argument + 4;
		return 0;
	case ARGP_KEY_ARG:
		profile_usage_error(state,
				    "unexpected argument '%s'; the recording is named with -i",
				    argument);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_input_children,
	.doc = "Say what a compiler could do otherwise, or you could tell it, as remarks beside the "
	       "source: loads to prefetch, calls to inline, branches to lay out the other way or to "
	       "do without, loops to unroll, values on the stack; each with the cycles at stake.\v"
	       "Example:\n"
	       "  pesa record --core ooo-4 -c 500 -- ./program\n"
	       "  pesa advise\n"
	       "  pesa advise --kind prefetch --hints prefetches.txt -l 2\n"
	       "\n"
	       "The manual page pesa-advise(1) says what each remark is made of.",
};

/* ---- Text ------------------------------------------------------------------------------------ */

static double share_of(const struct advising *advising, double cycles)
{
	return cycles * PESA_CYCLE / (double)pesa_profile_totals(advising->input.profile)->weight;
}

/* "would save about 12.3% of all cycles (10.1% to 14.2%)" */
static void add_stake(const struct advising *advising, const struct pesa_advice_remark *remark,
		      struct ui_text *line)
{
	char value[UI_NUMBER_SIZE], low[UI_NUMBER_SIZE], high[UI_NUMBER_SIZE];

	ui_text_add(line, "%s %s of all cycles (%s to %s)",
		    remark->modelled ? "would save about" : "may save at most",
		    ui_share(value, share_of(advising, remark->saved.value)),
		    ui_share(low, share_of(advising, remark->saved.low)),
		    ui_share(high, share_of(advising, remark->saved.high)));
}

/* "blocksort.c:360:12: "; without debug information "program+0x2650: ". */
static void add_location(const struct advising *advising, const struct pesa_source *source,
			 const struct pesa_advice_remark *remark, struct ui_text *line)
{
	if (!source->file) {
		ui_text_add_safe(line, "%s",
				 profile_binary_name(&advising->input, remark->place.dso));
		ui_text_add(line, "+0x%" PRIx64 ": ", remark->place.address);
		return;
	}
	ui_text_add_safe(line, "%s", source->file);
	ui_text_add(line, ":%u:", source->line);
	if (source->column)
		ui_text_add(line, "%u:", source->column);
	ui_text_add(line, " ");
}

static struct pesa_error *print_source(const struct advising *advising,
				       const struct pesa_source *source,
				       const struct ui_terminal *terminal)
{
	struct pesa_error *error;
	struct ui_text line = {0};
	const char *text;

	if (!source->file)
		return NULL;
	error = source_text_line(advising->sources, source->file, source->line, &text);
	if (error || !text)
		return error;
	ui_text_add(&line, "%*s%s%5u |%s ", INDENT, "", ui_style(terminal, UI_DIM), source->line,
		    ui_style(terminal, UI_SOURCE));
	ui_text_add_source(&line, text);
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
	return NULL;
}

static void print_sentence(const struct ui_terminal *terminal, struct ui_text *line)
{
	ui_print_wrapped(terminal, ui_text_get(line), INDENT, COLUMNS);
	ui_text_clear(line);
}

static struct pesa_error *print_remark(const struct advising *advising,
				       const struct pesa_advice_remark *remark,
				       const struct ui_terminal *terminal)
{
	const struct advise_words words = {.input = &advising->input, .isas = advising->isas};
	const struct pesa_source source =
		profile_source(&advising->input, remark->place.dso, remark->place.address);
	struct pesa_error *error;
	struct ui_text line = {0};

	ui_text_add(&line, "%s", ui_style(terminal, UI_BOLD));
	add_location(advising, &source, remark, &line);
	ui_text_add(&line, "remark: %s%s: ", ui_style(terminal, UI_PLAIN), advise_what(remark));
	add_stake(advising, remark, &line);
	ui_text_add(&line, " [%s]", pesa_advice_kind_name(remark->kind));
	fprintf(terminal->out, "%s\n", ui_text_get(&line));
	ui_text_clear(&line);
	error = print_source(advising, &source, terminal);
	if (remark->kind != PESA_ADVICE_SPILL) {
		advise_add_place(&words, remark->place.dso, remark->place.address, &line);
		ui_text_add(&line, " in ");
		ui_text_add_safe(
			&line, "%s",
			profile_symbol_name(profile_symbol(&advising->input, remark->place.dso,
							   remark->place.address)));
		ui_text_add(&line, ": ");
	}
	advise_evidence(&words, remark, &line);
	print_sentence(terminal, &line);
	ui_text_add(&line, "try: ");
	advise_try_words(&words, remark, &line);
	print_sentence(terminal, &line);
	ui_text_free(&line);
	return error;
}

static struct pesa_error *print_text(const struct advising *advising,
				     const struct ui_terminal *terminal)
{
	size_t count = pesa_advice_count(advising->advice);
	struct pesa_error *error = NULL;

	profile_print_header(&advising->input, terminal);
	fputc('\n', terminal->out);
	for (size_t i = 0; i < count && !error; i++) {
		error = print_remark(advising, pesa_advice_remark(advising->advice, i), terminal);
		fputc('\n', terminal->out);
	}
	if (!count)
		fprintf(terminal->out,
			"no remark: nothing with at least %g%% of all cycles at stake\n\n",
			advising->wanted->least);
	if (advising->lacking)
		fprintf(terminal->out, "note: no processor model, so what would be saved is not "
				       "known, only what was measured there\n");
	if (advising->wanted->hints)
		fprintf(terminal->out, "%zu hint%s written to %s\n", advising->hints,
			advising->hints == 1 ? "" : "s", advising->wanted->hints);
	profile_print_problems(&advising->input, terminal);
	return error;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *
text_json(const struct advise_words *words, const struct pesa_advice_remark *remark,
	  void (*add)(const struct advise_words *words, const struct pesa_advice_remark *remark,
		      struct ui_text *line))
{
	struct ui_text line = {0};
	json_object *result;

	add(words, remark, &line);
	result = ui_json_string(ui_text_get(&line));
	ui_text_free(&line);
	return result;
}

static json_object *loop_json(const struct pesa_advice_remark *remark)
{
	json_object *loop;

	if (!remark->loop.head)
		return NULL;
	loop = json_object_new_object();
	json_object_object_add(loop, "head", ui_json_count(remark->loop.head));
	json_object_object_add(loop, "entries", ui_json_number(remark->loop.entries));
	json_object_object_add(loop, "iterations", ui_json_number(remark->loop.iterations));
	json_object_object_add(loop, "cycles", ui_json_number(remark->loop.cycles));
	json_object_object_add(loop, "instructions", ui_json_count(remark->loop.instructions));
	return loop;
}

static void add_load(const struct pesa_advice_remark *remark, json_object *one)
{
	if (remark->kind != PESA_ADVICE_PREFETCH)
		return;
	json_object_object_add(one, "address_from",
			       ui_json_string(pesa_advice_address_name(remark->address)));
	json_object_object_add(one, "stride",
			       remark->stride ? json_object_new_int64(remark->stride) : NULL);
	json_object_object_add(one, "distance",
			       remark->distance ? ui_json_count(remark->distance) : NULL);
}

static json_object *remark_json(const struct advising *advising,
				const struct pesa_advice_remark *remark)
{
	const struct advise_words words = {.input = &advising->input, .isas = advising->isas};
	const struct pesa_source source =
		profile_source(&advising->input, remark->place.dso, remark->place.address);
	const struct pesa_symbol *symbol =
		profile_symbol(&advising->input, remark->place.dso, remark->place.address);
	struct listing_row row = {.address = remark->place.address};
	json_object *one = json_object_new_object();

	listing_decode(&advising->input, advising->isas, remark->place.dso, &row);
	json_object_object_add(one, "kind", ui_json_string(pesa_advice_kind_name(remark->kind)));
	json_object_object_add(one, "file", ui_json_string(source.file));
	json_object_object_add(one, "line", source.file ? ui_json_count(source.line) : NULL);
	json_object_object_add(one, "column", source.column ? ui_json_count(source.column) : NULL);
	json_object_object_add(one, "symbol", ui_json_string(profile_symbol_name(symbol)));
	json_object_object_add(
		one, "dso",
		ui_json_string(pesa_profile_dso(advising->input.profile, remark->place.dso)->path));
	json_object_object_add(one, "address", ui_json_count(remark->place.address));
	json_object_object_add(one, "offset",
			       symbol ? ui_json_count(remark->place.address - symbol->start)
				      : NULL);
	json_object_object_add(one, "text", ui_json_string(row.text));
	json_object_object_add(one, "what", ui_json_string(advise_what(remark)));
	json_object_object_add(one, "evidence", text_json(&words, remark, advise_evidence));
	json_object_object_add(one, "try", text_json(&words, remark, advise_try_words));
	json_object_object_add(one, "modelled", json_object_new_boolean(remark->modelled));
	json_object_object_add(one, "saved", ui_json_number(remark->saved.value));
	json_object_object_add(one, "saved_interval", profile_json_interval(remark->saved));
	json_object_object_add(one, "saved_share",
			       ui_json_number(share_of(advising, remark->saved.value)));
	json_object_object_add(one, "cycles", ui_json_number(remark->cycles));
	json_object_object_add(one, "executions", ui_json_number(remark->executions));
	json_object_object_add(one, "share",
			       remark->share > 0 ? ui_json_number(remark->share) : NULL);
	json_object_object_add(one, "other", remark->other ? ui_json_count(remark->other) : NULL);
	json_object_object_add(one, "loop", loop_json(remark));
	add_load(remark, one);
	return one;
}

static void print_json(const struct advising *advising)
{
	struct ui_json json;

	ui_json_begin(&json, stdout, "advise");
	profile_json_header(&advising->input, &json);
	ui_json_array_begin(&json, "remarks");
	for (size_t i = 0; i < pesa_advice_count(advising->advice); i++)
		ui_json_element(&json,
				remark_json(advising, pesa_advice_remark(advising->advice, i)));
	ui_json_array_end(&json);
	ui_json_member(&json, "hints",
		       advising->wanted->hints ? ui_json_count(advising->hints) : NULL);
	profile_json_problems(&advising->input, &json);
	ui_json_end(&json);
}

/* ---- The subcommand -------------------------------------------------------------------------- */

static struct pesa_error *write_hints(struct advising *advising)
{
	const char *path = advising->wanted->hints;
	struct pesa_error *error;
	FILE *out;

	if (!path)
		return NULL;
	out = fopen(path, "we");
	if (!out)
		return pesa_error_system(errno, "cannot write %s", path);
	error = advise_write_hints(&advising->input, advising->advice, out, &advising->hints);
	if (ferror(out) | fclose(out) && !error)
		error = pesa_error_system(errno, "%s could not be written in full", path);
	return error;
}

static struct pesa_error *find_reasons(struct advising *advising)
{
	struct pesa_error *error;

	if (!advising->wanted->cpu)
		return reasons_find(&advising->reasons, &advising->input, advising->isas,
				    &advising->has_reasons, &advising->lacking);
	error = reasons_open(&advising->reasons, &advising->input, advising->isas,
			     advising->wanted->cpu);
	advising->has_reasons = !error;
	return error;
}

static struct pesa_error *find_advice(struct advising *advising)
{
	const struct profile_input *input = &advising->input;
	struct pesa_advice_options looked_for;
	struct pesa_error *error;

	pesa_advice_options_default(&looked_for);
	looked_for.least = advising->wanted->least / 100;
	looked_for.confidence = PROFILE_CONFIDENCE;
	if (advising->wanted->kinds)
		looked_for.kinds = advising->wanted->kinds;
	advising->isas = listing_isas_create(input);
	advising->sources = source_texts_create(input->options->symbol_root);
	if (!advising->isas || !advising->sources)
		return pesa_error_no_memory();
	error = pesa_control_flow_create(input->profile, input->symbols, false, &advising->flow);
	if (!error)
		error = find_reasons(advising);
	if (!error)
		error = pesa_advice_create(input->profile, input->symbols, advising->flow,
					   advising->has_reasons ? advising->reasons.why : NULL,
					   &looked_for, &advising->advice);
	return error ? error : write_hints(advising);
}

/* Returns the exit status. */
static int advise(struct advising *advising)
{
	struct ui_terminal terminal = ui_terminal_open(advising->wanted->input.colour);
	struct pesa_error *error;

	if (advising->input.plain) {
		profile_complain(
			"advise",
			"%s: its samples have only a PC: they do not tell what instructions "
			"waited for, nor where branches went",
			advising->input.options->path);
		return 1;
	}
	error = find_advice(advising);
	if (!error && advising->wanted->input.json) {
		print_json(advising);
	} else if (!error) {
		ui_pager_start(&terminal, !advising->wanted->input.no_pager);
		error = print_text(advising, &terminal);
	}
	return profile_finish("advise", &terminal, error) || advising->input.damaged;
}

int pesa_command_advise(int argc, char **argv)
{
	struct advise_options wanted = {.least = PERCENT_LEAST};
	struct advising advising = {.wanted = &wanted};
	int status = profile_parse(&argp, "advise", argc, argv, &wanted);
	struct pesa_error *error;

	if (status)
		return status;
	wanted.input.outputs[0] = wanted.hints;
	error = profile_input_open(&advising.input, &wanted.input, "advise");
	if (error)
		return profile_fail("advise", error);
	status = profile_has_cycles(&advising.input) ? advise(&advising) : 1;
	pesa_advice_free(advising.advice);
	reasons_close(&advising.reasons);
	pesa_error_free(advising.lacking);
	pesa_control_flow_free(advising.flow);
	listing_isas_free(advising.isas);
	source_texts_free(advising.sources);
	profile_input_close(&advising.input);
	return status;
}
