/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "tools/compare/comparison.h"
#include "tools/plain/calibrations.h"
#include "tools/plain/plain.h"
#include "tools/ui/progress.h"
#include "tools/ui/text.h"

/* What LLVM takes where no processor is named: in order, one instruction a cycle. */
#define GENERIC_64  "rocket-rv64"
#define GENERIC_32  "rocket-rv32"
#define SHARE_LEAST 0.05 /* of the samples: ways with less are not named */

bool plain_is_skidding(const struct profile_input *input)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);

	/* What an exact sample names must not move, so all of them have to skid. */
	return input->plain && !input->other && !totals->is_tagged && totals->samples &&
	       totals->skidding_samples == totals->samples;
}

static bool is_built_in(const char *cpu)
{
	const char *name;

	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++)
		if (!strcmp(name, cpu))
			return true;
	return false;
}

static bool has_32_bits(const struct pesa_profile *profile)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++) {
		const char *isa = pesa_profile_isa(profile, i);

		if (isa)
			return !strncmp(isa, "rv32", 4);
	}
	return false;
}

/* Whether any of the code is RISC-V: of other code there is no model. */
static bool has_code(const struct pesa_profile *profile)
{
	for (unsigned int i = 0; i < pesa_profile_dso_count(profile); i++)
		if (pesa_profile_isa(profile, i))
			return true;
	return false;
}

/* The calibration that the user names, or that of this machine. */
static struct pesa_error *find_calibration(struct plain_estimate *plain,
					   const struct pesa_profile *profile,
					   const struct plain_options *wanted)
{
	if (wanted->calibrating)
		return NULL;
	if (!wanted->calibration)
		return calibration_find(profile, &plain->calibration, plain->calibration_path,
					&plain->calibrated);
	plain->calibrated = true;
	snprintf(plain->calibration_path, sizeof(plain->calibration_path), "%s",
		 wanted->calibration);
	return pesa_calibration_open(wanted->calibration, false, &plain->calibration);
}

static struct pesa_error *estimate(struct plain_estimate *plain, struct profile_input *input,
				   const struct plain_options *wanted)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	struct pesa_deskid_options options = {0};
	const struct pesa_mca_processor *processor;
	const char *cpu = wanted->cpu;
	struct pesa_error *error;
	bool known;

	/* Only a built-in model: never open a file that a recording names. */
	if (!cpu && *capabilities->model && is_built_in(capabilities->model))
		cpu = capabilities->model;
	plain->generic = !cpu;
	if (!cpu)
		cpu = has_32_bits(input->profile) ? GENERIC_32 : GENERIC_64;
	error = pesa_mca_model_open(cpu, &plain->model, &processor);
	if (error)
		return error;
	plain->processor = processor->name;
	error = compare_describe_core(capabilities, &options.core, &known);
	if (!error)
		error = find_calibration(plain, input->profile, wanted);
	if (error)
		return error;
	options.processor = processor->name;
	options.generic = plain->generic;
	options.learn_ways = wanted->calibrating;
	if (plain->calibrated) {
		options.ways = plain->calibration.way;
		options.way_count = plain->calibration.ways;
	}
	return pesa_deskid_create(input->profile, input->symbols, plain->model, &options,
				  &plain->deskid);
}

struct pesa_error *plain_estimate_open(struct plain_estimate *plain, struct profile_input *input,
				       const struct plain_options *wanted)
{
	struct pesa_error *error;

	*plain = (struct plain_estimate){0};
	if (!plain_is_skidding(input) || !has_code(input->profile))
		return NULL;
	error = estimate(plain, input, wanted);
	return error ? error : pesa_deskid_apply(plain->deskid, PESA_DESKID_ALL, input->profile);
}

void plain_estimate_close(struct plain_estimate *plain)
{
	pesa_deskid_free(plain->deskid);
	pesa_mca_model_free(plain->model);
	*plain = (struct plain_estimate){0};
}

/* ---- What was learned ------------------------------------------------------------------------ */

/* Where interrupts are taken. */
struct words {
	const char *key, *text;
	double share; /* of the samples */
};

enum { RETIREMENT, LATER, FRONT_END, WORDS };

/* Which distances they have is not said: in a loop, one of its length more is the same. */
static void add_up(const struct pesa_deskid *deskid, struct words words[WORDS])
{
	static const uint8_t of[] = {
		[PESA_DESKID_BEHIND] = RETIREMENT,
		[PESA_DESKID_QUEUE] = RETIREMENT,
		[PESA_DESKID_OLDEST] = LATER,
		[PESA_DESKID_FRONT] = FRONT_END,
	};
	const struct pesa_deskid_way *way;
	unsigned int count;

	words[RETIREMENT] = (struct words){"behind", "some instructions behind the oldest one", 0};
	words[LATER] = (struct words){"oldest", "at the oldest one, cycles later", 0};
	words[FRONT_END] = (struct words){"front", "where the front end is", 0};
	way = pesa_deskid_ways(deskid, &count);
	for (unsigned int i = 0; i < count; i++)
		words[of[way[i].stage]].share += way[i].share;
}

void plain_ways_text(const struct pesa_deskid *deskid, struct ui_text *line)
{
	struct words words[WORDS];
	bool any = false;

	add_up(deskid, words);
	for (unsigned int i = 0; i < WORDS; i++)
		if (words[i].share >= SHARE_LEAST) {
			ui_text_add(line, "%s%.0f%% %s", any ? "; " : "", 100 * words[i].share,
				    words[i].text);
			any = true;
		}
}

void plain_estimate_print(const struct plain_estimate *plain, const struct ui_terminal *terminal)
{
	struct ui_text line = {0};

	if (!plain->deskid)
		return;
	ui_text_add_safe(&line,
			 "  cycles of instructions are estimates, by control flow and the %s %s",
			 plain->generic ? "generic model" : "model", plain->processor);
	if (plain->generic)
		ui_text_add(&line, " (--mcpu=NAME names the processor)");
	ui_text_add(&line, "; --raw: as sampled");
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	if (plain->calibrated)
		ui_text_add_safe(&line, "  interrupts, by the calibration %s, are taken: ",
				 plain->calibration_path);
	else
		ui_text_add(&line, "  interrupts, as learned, are taken: ");
	plain_ways_text(plain->deskid, &line);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

json_object *plain_ways_json(const struct pesa_deskid *deskid)
{
	json_object *ways = json_object_new_array();
	struct words words[WORDS];

	add_up(deskid, words);
	for (unsigned int i = 0; i < WORDS; i++) {
		json_object *way = json_object_new_object();

		json_object_object_add(way, "taken", ui_json_string(words[i].key));
		json_object_object_add(way, "share", ui_json_number(words[i].share));
		json_object_array_add(ways, way);
	}
	return ways;
}

void plain_estimate_json(const struct plain_estimate *plain, struct ui_json *json)
{
	json_object *object;

	if (!plain->deskid) {
		ui_json_member(json, "estimate", NULL);
		return;
	}
	object = json_object_new_object();
	json_object_object_add(object, "model", ui_json_string(plain->processor));
	json_object_object_add(object, "generic", json_object_new_boolean(plain->generic));
	json_object_object_add(object, "calibration",
			       plain->calibrated ? ui_json_string(plain->calibration_path) : NULL);
	json_object_object_add(object, "interrupts", plain_ways_json(plain->deskid));
	ui_json_member(json, "estimate", object);
}
