/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What instructions waited for: the model, text and JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ui/json.h"
#include "tools/ui/listing.h"
#include "tools/why/waits.h"

#define NAME_COLUMNS 40
#define SHARE_LEAST  0.001 /* of all cycles: smaller regions are left out */

struct pesa_error *reasons_open(struct reasons *reasons, const struct profile_input *input,
				struct listing_isas *isas, const char *cpu)
{
	struct pesa_error *error;

	*reasons = (struct reasons){.wanted = {.cpu = cpu}};
	reasons->wanted.input.path = input->options->path;
	reasons->comparison =
		(struct comparison){.wanted = &reasons->wanted, .input = *input, .isas = isas};
	error = compare_make(&reasons->comparison, SHARE_LEAST, true);
	return error ? error : pesa_why_create(reasons->comparison.compare, &reasons->why);
}

struct pesa_error *reasons_find(struct reasons *reasons, const struct profile_input *input,
				struct listing_isas *isas, bool *found, struct pesa_error **lacking)
{
	struct pesa_error *error;

	*found = false;
	*lacking = NULL;
	if (input->plain || !*pesa_profile_capabilities(input->profile)->model)
		return NULL;
	error = reasons_open(reasons, input, isas, NULL);
	*found = !error;
	if (!error || (error->code != PESA_ERROR_ARGUMENT && error->code != PESA_ERROR_NOT_FOUND))
		return error;
	*lacking = error;
	return NULL;
}

void reasons_close(struct reasons *reasons)
{
	pesa_why_free(reasons->why);
	compare_release(&reasons->comparison);
	*reasons = (struct reasons){0};
}

/* ---- Text ------------------------------------------------------------------------------------ */

static bool same_place(const struct pesa_compare_place *a, const struct pesa_compare_place *b)
{
	return a->dso == b->dso && a->address == b->address;
}

/* "`lbu a6, 0(a0)` at 2650"; with the function where it is another one than that of `from`. */
static void add_place(const struct reasons *reasons, const struct pesa_compare_place *place,
		      const struct pesa_compare_place *from, bool utf8, struct ui_text *line)
{
	const struct profile_input *input = &reasons->comparison.input;
	const struct pesa_symbol *symbol = profile_symbol(input, place->dso, place->address);
	char text[LISTING_TEXT_MAX];

	compare_text_at(&reasons->comparison, place, text, sizeof(text));
	ui_text_add_safe(line, "`%s`", text);
	ui_text_add(line, " at %" PRIx64, place->address);
	if (!symbol || (from && symbol == profile_symbol(input, from->dso, from->address)))
		return;
	ui_text_add(line, " in ");
	ui_text_add_name(line, symbol->name, NAME_COLUMNS, utf8);
}

/* "missed L1D in 31% of executions, L2 in 4%, LLC in 2%". */
static void add_misses(const struct reasons *reasons, const struct pesa_compare_place *place,
		       struct ui_text *line)
{
	const struct pesa_why_misses misses = pesa_why_misses(reasons->why, place);
	const struct {
		const char *name;
		double share;
	} levels[] = {
		{"the L1D", misses.l1d},
		{"the L2", misses.l2},
		{"the LLC", misses.llc},
		{"the DTLB", misses.dtlb},
	};
	bool any = false;

	ui_text_add(line, "missed");
	for (unsigned int i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		if (!(levels[i].share > 0))
			continue;
		ui_text_add(line, "%s %s in %.3g%%", any ? "," : "", levels[i].name,
			    100 * levels[i].share);
		if (!any)
			ui_text_add(line, " of executions");
		any = true;
	}
	if (!any)
		ui_text_add(line, "; samples do not tell how often");
}

/* What became of the chain behind the producer. */
static void add_root(const struct reasons *reasons, const struct pesa_why_cause *cause, bool utf8,
		     struct ui_text *line)
{
	const bool same = same_place(&cause->producer, &cause->root);

	if (cause->recurrence) {
		ui_text_add(line, ", in a recurrence of %u instruction%s, %.3g cycles a round",
			    cause->length, cause->length == 1 ? "" : "s", cause->round);
		if (!same) {
			ui_text_add(line, ", longest ");
			add_place(reasons, &cause->root, &cause->producer, utf8, line);
		}
		return;
	}
	if (!same) {
		ui_text_add(line, ", from ");
		add_place(reasons, &cause->root, &cause->producer, utf8, line);
		ui_text_add(line, ", %u instructions back", cause->steps);
	}
	if (cause->kind == PESA_WHY_MISS) {
		ui_text_add(line, ", which ");
		add_misses(reasons, &cause->root, line);
	} else if (cause->kind == PESA_WHY_UNIT) {
		ui_text_add_safe(line, ", which found %s busy",
				 cause->resource ? cause->resource : "its unit");
	}
}

static void add_own(const struct reasons *reasons, const struct pesa_why_wait *wait,
		    const struct pesa_why_cause *cause, bool utf8, struct ui_text *line)
{
	switch (cause->kind) {
	case PESA_WHY_MISS:
		ui_text_add(line, "it ");
		add_misses(reasons, &cause->root, line);
		break;
	case PESA_WHY_UNIT:
		ui_text_add_safe(line, "%s is busy",
				 cause->resource ? cause->resource : "its unit");
		if (!same_place(&cause->producer, &wait->place)) {
			ui_text_add(line, " with ");
			add_place(reasons, &cause->producer, &wait->place, utf8, line);
		}
		break;
	case PESA_WHY_FENCE:
		ui_text_add(line, "older loads and stores are not done");
		break;
	case PESA_WHY_UNKNOWN:
		ui_text_add(line, "the model predicts no wait here");
		break;
	default:
		ui_text_add(line, "its own latency: nothing older hides it");
	}
}

void reasons_text(const struct reasons *reasons, const struct pesa_why_wait *wait,
		  const struct pesa_why_cause *cause, bool utf8, struct ui_text *line)
{
	const char *reg = cause->reg;

	ui_text_add(line, "%.0f%% %s: ", 100 * cause->share, pesa_why_kind_name(cause->kind));
	if (!cause->steps) {
		add_own(reasons, wait, cause, utf8, line);
		return;
	}
	if (cause->kind == PESA_WHY_STORE)
		ui_text_add(line, "the data of ");
	else if (cause->kind == PESA_WHY_FENCE && !reg)
		ui_text_add(line, "behind ");
	else
		ui_text_add(line, "%s of ", reg ? reg : "a result");
	add_place(reasons, &cause->producer, &wait->place, utf8, line);
	add_root(reasons, cause, utf8, line);
}

/* Print a line, broken where the terminal is narrower; further lines are indented more. */
static void print_broken(const struct ui_terminal *terminal, const char *text, unsigned int indent)
{
	size_t room = terminal->width > indent + 24 ? terminal->width - indent : 0;
	unsigned int more;
	struct ui_text line = {0};

	while (*text) {
		size_t end = ui_fitting(text, room);

		ui_text_clear(&line);
		ui_text_add(&line, "%*s%s%.*s%s", (int)indent, "", ui_style(terminal, UI_DIM),
			    (int)end, text, ui_style(terminal, UI_PLAIN));
		ui_print_line(terminal, ui_text_get(&line));
		text += end + (text[end] == ' ');
		more = indent < 16 ? 6 : 0;
		indent += more;
		room -= room > more ? more : 0;
	}
	ui_text_free(&line);
}

void reasons_print(const struct reasons *reasons, const struct ui_terminal *terminal,
		   const struct pesa_why_wait *wait, double least, unsigned int indent)
{
	struct ui_text line = {0};

	for (unsigned int i = 0; i < wait->causes; i++) {
		if (wait->cause[i].share < least)
			continue;
		ui_text_clear(&line);
		ui_text_add(&line, "%s ", terminal->utf8 ? "↳" : "->");
		if (!i)
			ui_text_add(&line, "waits %.3g cycles: ", wait->each);
		reasons_text(reasons, wait, &wait->cause[i], terminal->utf8, &line);
		print_broken(terminal, ui_text_get(&line), indent);
	}
	ui_text_free(&line);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *place_json(const struct reasons *reasons,
			       const struct pesa_compare_place *place)
{
	const struct profile_input *input = &reasons->comparison.input;
	const struct pesa_symbol *symbol = profile_symbol(input, place->dso, place->address);
	json_object *result = json_object_new_object();
	char text[LISTING_TEXT_MAX];

	compare_text_at(&reasons->comparison, place, text, sizeof(text));
	json_object_object_add(result, "dso",
			       ui_json_string(pesa_profile_dso(input->profile, place->dso)->path));
	json_object_object_add(result, "address", ui_json_count(place->address));
	json_object_object_add(result, "symbol", ui_json_string(symbol ? symbol->name : NULL));
	json_object_object_add(result, "text", ui_json_string(text));
	return result;
}

static json_object *share_json(double share)
{
	return share < 0 ? NULL : ui_json_number(share);
}

static json_object *misses_json(const struct reasons *reasons,
				const struct pesa_compare_place *place)
{
	const struct pesa_why_misses misses = pesa_why_misses(reasons->why, place);
	json_object *result = json_object_new_object();

	json_object_object_add(result, "l1d", share_json(misses.l1d));
	json_object_object_add(result, "l2", share_json(misses.l2));
	json_object_object_add(result, "llc", share_json(misses.llc));
	json_object_object_add(result, "dtlb", share_json(misses.dtlb));
	return result;
}

static json_object *cause_json(const struct reasons *reasons, const struct pesa_why_cause *cause)
{
	json_object *result = json_object_new_object();

	json_object_object_add(result, "kind", ui_json_string(pesa_why_kind_name(cause->kind)));
	json_object_object_add(result, "share", ui_json_number(cause->share));
	json_object_object_add(result, "cycles", ui_json_number(cause->cycles));
	json_object_object_add(result, "producer", place_json(reasons, &cause->producer));
	json_object_object_add(result, "register", ui_json_string(cause->reg));
	json_object_object_add(result, "resource", ui_json_string(cause->resource));
	json_object_object_add(result, "root", place_json(reasons, &cause->root));
	json_object_object_add(result, "steps", ui_json_count(cause->steps));
	json_object_object_add(result, "recurrence", json_object_new_boolean(cause->recurrence));
	json_object_object_add(result, "length",
			       cause->recurrence ? ui_json_count(cause->length) : NULL);
	json_object_object_add(result, "round",
			       cause->recurrence ? ui_json_number(cause->round) : NULL);
	json_object_object_add(result, "misses",
			       cause->kind == PESA_WHY_MISS ? misses_json(reasons, &cause->root)
							    : NULL);
	return result;
}

json_object *reasons_json(const struct reasons *reasons, uint32_t dso, uint64_t address)
{
	const struct pesa_why_wait *wait = pesa_why_find(reasons->why, dso, address);
	json_object *result, *causes;

	if (!wait)
		return NULL;
	result = json_object_new_object();
	causes = json_object_new_array();
	json_object_object_add(result, "cycles", ui_json_number(wait->cycles));
	json_object_object_add(result, "cycles_per_execution", ui_json_number(wait->each));
	json_object_object_add(result, "predicted", ui_json_number(wait->predicted));
	for (unsigned int i = 0; i < wait->causes; i++)
		json_object_array_add(causes, cause_json(reasons, &wait->cause[i]));
	json_object_object_add(result, "causes", causes);
	return result;
}

/* ---- What would be won ----------------------------------------------------------------------- */

static const char *sentence_of(enum pesa_why_change change)
{
	static const char *const sentences[PESA_WHY_CHANGES] = {
		[PESA_WHY_HIT] = "it never missed",
		[PESA_WHY_PREDICT] = "it were always predicted",
		[PESA_WHY_LATENCY_1] = "its latency were 1",
		[PESA_WHY_FREE_UNIT] = "its unit were always free",
	};

	return sentences[change];
}

/* The row of a gain: figures, change and place in one line, or without `beside` the figures alone. */
static void add_gain(const struct reasons *reasons, const struct pesa_why_gain *gain, bool beside,
		     bool utf8, struct ui_text *line)
{
	const double all = pesa_compare_totals(reasons->comparison.compare)->cycles;
	char share[UI_NUMBER_SIZE], low[UI_NUMBER_SIZE], high[UI_NUMBER_SIZE];
	char cycles[UI_NUMBER_SIZE], waits[UI_NUMBER_SIZE], interval[96];

	snprintf(interval, sizeof(interval), "%s to %s", ui_share(low, gain->saved.low / all),
		 ui_share(high, gain->saved.high / all));
	ui_text_clear(line);
	ui_text_add(line, "%8s %8s  %-18s %8s  ", ui_share(share, gain->saved.value / all),
		    ui_count(cycles, gain->saved.value), interval, ui_count(waits, gain->waits));
	if (!beside)
		return;
	ui_text_add(line, "%-26s ", sentence_of(gain->change));
	add_place(reasons, &gain->place, NULL, utf8, line);
}

void reasons_print_gains(const struct reasons *reasons, const struct ui_terminal *terminal)
{
	const unsigned int count = pesa_why_gain_count(reasons->why);
	struct ui_text line = {0};
	bool beside = true;

	for (unsigned int i = 0; i < count && terminal->width; i++) {
		add_gain(reasons, pesa_why_gain(reasons->why, i), true, terminal->utf8, &line);
		beside &= ui_columns(ui_text_get(&line)) <= terminal->width;
	}
	ui_text_clear(&line);
	ui_text_add(&line, "%s%8s %8s  %-18s %8s  ", ui_style(terminal, UI_BOLD), "Saves", "Cycles",
		    "95% interval", "Waits");
	if (beside)
		ui_text_add(&line, "%-26s Instruction", "If");
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	for (unsigned int i = 0; i < count; i++) {
		const struct pesa_why_gain *gain = pesa_why_gain(reasons->why, i);

		add_gain(reasons, gain, beside, terminal->utf8, &line);
		ui_print_line(terminal, ui_text_get(&line));
		if (beside)
			continue;
		ui_text_clear(&line);
		ui_text_add(&line, "if %s: ", sentence_of(gain->change));
		add_place(reasons, &gain->place, NULL, terminal->utf8, &line);
		print_broken(terminal, ui_text_get(&line), 10);
	}
	ui_text_free(&line);
}

void reasons_gain_text(const struct reasons *reasons, const struct pesa_why_gain *gain, bool utf8,
		       struct ui_text *line)
{
	const double all = pesa_compare_totals(reasons->comparison.compare)->cycles;
	char share[UI_NUMBER_SIZE], low[UI_NUMBER_SIZE], high[UI_NUMBER_SIZE];

	ui_text_add(line, "if %s, ", sentence_of(gain->change));
	add_place(reasons, &gain->place, NULL, utf8, line);
	ui_text_add(line, ": %s of all cycles saved (%s to %s)",
		    ui_share(share, gain->saved.value / all), ui_share(low, gain->saved.low / all),
		    ui_share(high, gain->saved.high / all));
}

json_object *reasons_gains_json(const struct reasons *reasons)
{
	json_object *result = json_object_new_array();

	for (unsigned int i = 0; i < pesa_why_gain_count(reasons->why); i++) {
		const struct pesa_why_gain *gain = pesa_why_gain(reasons->why, i);
		json_object *one = json_object_new_object();

		json_object_object_add(one, "change",
				       ui_json_string(pesa_why_change_name(gain->change)));
		json_object_object_add(one, "place", place_json(reasons, &gain->place));
		json_object_object_add(one, "waits", ui_json_number(gain->waits));
		json_object_object_add(one, "saved", ui_json_number(gain->saved.value));
		json_object_object_add(one, "low", ui_json_number(gain->saved.low));
		json_object_object_add(one, "high", ui_json_number(gain->saved.high));
		json_object_object_add(one, "exposed", ui_json_number(gain->exposed));
		json_object_array_add(result, one);
	}
	return result;
}
