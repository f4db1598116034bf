/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa mca: predicts the cycles of a block of code on a processor, as llvm-mca does. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/mca/stimuli.h"
#include "tools/mca/program.h"
#include "tools/mca/regions.h"
#include "tools/mca/settings.h"
#include "tools/mca/source.h"
#include "tools/mca/target.h"
#include "tools/mca/text.h"
#include "tools/ui/json.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/terminal.h"

static struct pesa_error *read_input(const struct mca_settings *settings, const char *isa,
				     struct mca_source *source)
{
	const struct mca_source_options source_options = {
		.path = settings->path,
		.isa = isa,
		.instruments = !settings->disable_instruments,
		.skip_rejected = settings->skip_parse_failure,
	};
	const struct mca_program_options program_options = {
		.path = settings->hex ? NULL : settings->path,
		.isa = isa,
		.symbol = settings->symbol,
		.range = settings->range,
		.hex = settings->hex,
		.trace = settings->trace,
		.profile = settings->profile,
		.length = settings->path_length,
		.instruments = !settings->disable_instruments,
	};

	if (settings->symbol || settings->range || settings->hex || settings->trace ||
	    settings->profile)
		return mca_program_read(&program_options, source);
	return mca_source_read(&source_options, source);
}

/* Apply --set to the model; for --what-if open a second one, and apply both to it. */
static struct pesa_error *change_models(struct mca_settings *settings, struct pesa_mca_model *model)
{
	const struct pesa_mca_processor *processor;
	struct pesa_error *error = mca_stimuli_change(&settings->stimuli, model, false);

	if (!error)
		error = mca_stimuli_resolve(&settings->stimuli, model, &settings->run.stimuli);
	if (error || !settings->stimuli.what_ifs)
		return error;
	error = pesa_mca_model_open(settings->cpu, &settings->changed, &processor);
	return error ? error : mca_stimuli_change(&settings->stimuli, settings->changed, true);
}

static const char *input_name(const struct mca_settings *settings)
{
	return strcmp(settings->path, "-") ? settings->path : "<stdin>";
}

/* Warn about regions without an end or without instructions.  llvm-mca does not. */
static void warn_of_region(const struct mca_settings *settings,
			   const struct mca_source_region *region)
{
	const char *name = *region->name ? region->name : "without a name";
	const char *path = input_name(settings);

	if (region->has_begin && !region->has_end)
		safe_output_message(
			"warning: %s: the region %s has no end marker; it reaches to the end of the input",
			path, name);
	if (region->has_begin && !region->count)
		safe_output_message("warning: %s: the region %s has no instructions; left out",
				    path, name);
}

/* Write the numbers among the operands in hexadecimal. */
static struct pesa_error *show_hexadecimal(struct mca_source *source)
{
	for (unsigned int i = 0; i < source->count; i++) {
		char *text = mca_text_hexadecimal(source->text[i]);

		if (!text)
			return pesa_error_no_memory();
		free(source->text[i]);
		source->text[i] = text;
	}
	return NULL;
}

static struct pesa_error *analyse_all(struct mca_settings *settings)
{
	const struct pesa_mca_processor *processor;
	struct pesa_mca_model *model;
	struct mca_source source;
	struct pesa_error *error = mca_target_check_output(settings);
	struct json_object *regions = NULL;
	unsigned int shown = 0;
	FILE *output = stdout;
	char *isa;

	if (!error)
		error = pesa_mca_model_open(settings->cpu, &model, &processor);
	if (error)
		return error;
	/* In-order processors do not have these views; -all-views and -all-stats leave them out. */
	if (!pesa_mca_model_is_out_of_order(model)) {
		if (settings->all_stats_given)
			settings->retire_stats = false;
		if (settings->all_views_given)
			settings->bottleneck = false;
		if (settings->bottleneck)
			safe_output_message(
				"warning: bottleneck analysis is not supported for in-order CPU '%s'.",
				processor->name);
	}
	error = change_models(settings, model);
	if (error) {
		pesa_mca_model_free(settings->changed);
		pesa_mca_model_free(model);
		return error;
	}
	isa = mca_target_isa(settings, processor->isa, model);
	error = isa ? read_input(settings, isa, &source) : pesa_error_no_memory();
	if (!error && settings->output && strcmp(settings->output, "-")) {
		output = safe_output_file(settings->output);
		if (!output) {
			error = pesa_error_system(errno, "%s: cannot write", settings->output);
			mca_source_free(&source);
		}
	}
	settings->colours = ui_terminal_open(UI_AUTO).colour;
	if (!error) {
		if (settings->hexadecimal)
			error = show_hexadecimal(&source);
		if (settings->json)
			regions = json_object_new_array();
		for (unsigned int i = 0; i < source.region_count; i++)
			warn_of_region(settings, &source.regions[i]);
		if (!error)
			error = mca_regions_analyse(&(struct mca_analysis){.settings = settings,
									   .model = model,
									   .processor = processor,
									   .source = &source,
									   .output = output},
						    regions, &shown);
		if (!error && !shown)
			error = pesa_error_create(PESA_ERROR_FORMAT,
						  "%s: no assembly instructions found",
						  input_name(settings));
		if (regions) {
			struct json_object *report =
				mca_report_object(settings, model, processor->name, regions);

			if (!error) {
				ui_json_print(output, report,
					      JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
						      JSON_C_TO_STRING_NOSLASHESCAPE);
				fputc('\n', output);
			}
			json_object_put(report);
		}
		if (output != stdout && fclose(output) && !error)
			error = pesa_error_system(errno, "%s: cannot write", settings->output);
		mca_source_free(&source);
	}
	free(isa);
	pesa_mca_model_free(settings->changed);
	pesa_mca_model_free(model);
	return error;
}

int pesa_command_mca(int argc, char **argv)
{
	struct mca_settings settings;
	struct pesa_error *error;
	int status = mca_settings_parse(&settings, argc, argv);

	if (!status) {
		error = analyse_all(&settings);
		if (error) {
			/* Errors are safe for a terminal.  llvm-mca's have several lines: keep them. */
			fprintf(stderr, "pesa mca: %s\n", error->message);
			pesa_error_free(error);
			status = 1;
		}
	}
	mca_settings_free(&settings);
	return status < 0 ? 0 : status;
}
