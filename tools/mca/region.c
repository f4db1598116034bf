/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Analyse a region and show it, see region.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "decoder/mca/model/block.h"
#include "decoder/mca/views/views.h"
#include "tools/mca/region.h"
#include "tools/ui/json.h"
#include "tools/ui/safe_output.h"

#define VIEWS_MAX      10
#define TIMELINE_LINES 10

/* The members that the object of every region has, independent of the views. */
static struct json_object *region_object(const struct mca_view_context *context,
					 const struct mca_source_region *region)
{
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < context->count; i++)
		json_object_array_add(list, json_object_new_string(context->text[i]));
	json_object_object_add(object, "Instructions", list);
	json_object_object_add(object, "Name", json_object_new_string(region->name));
	return object;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same object with its members in the order of their names, as LLVM prints them. */
static struct json_object *sorted(struct json_object *object)
{
	struct json_object *result = json_object_new_object();
	const char *names[16];
	size_t count = 0;

	json_object_object_foreach(object, name, value)
	{
		(void)value;
		if (count < sizeof(names) / sizeof(names[0]))
			names[count++] = name;
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++) {
		struct json_object *member;

		if (json_object_object_get_ex(object, names[i], &member))
			json_object_object_add(result, names[i], json_object_get(member));
	}
	json_object_put(object);
	return result;
}

struct json_object *mca_report_object(const struct mca_settings *settings,
				      const struct pesa_mca_model *model, const char *processor,
				      struct json_object *regions)
{
	struct json_object *report = json_object_new_object();
	struct json_object *parameters = json_object_new_object();
	struct json_object *target = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool narrow = settings->triple && !strncmp(settings->triple, "riscv32", 7);
	const struct {
		const char *name;
		unsigned int value;
	} numbers[] = {
		{"-dispatch", settings->run.dispatch_width},
		{"-lqueue", settings->run.load_queue},
		{"-register-file-size", settings->run.register_file_size},
		{"-squeue", settings->run.store_queue},
	};

	json_object_object_add(report, "CodeRegions", regions);
	json_object_object_add(parameters, "-march",
			       json_object_new_string(narrow ? "riscv32" : "riscv64"));
	json_object_object_add(parameters, "-mcpu", json_object_new_string(settings->cpu));
	json_object_object_add(
		parameters, "-mtriple",
		json_object_new_string(settings->triple ? settings->triple : "riscv64"));
	/* LLVM shows these only where they have an effect. */
	for (size_t i = 0;
	     pesa_mca_model_is_out_of_order(model) && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value)
			mca_json_integer(parameters, numbers[i].name, numbers[i].value);
	if (pesa_mca_model_is_out_of_order(model) && !settings->no_alias)
		mca_json_boolean(parameters, "-noalias", false);
	json_object_object_add(report, "SimulationParameters", sorted(parameters));
	json_object_object_add(target, "CPUName", json_object_new_string(processor));
	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);

		for (unsigned int unit = 0; !resource->group && unit < resource->units; unit++) {
			char name[256];

			snprintf(name, sizeof(name), resource->units > 1 ? "%s.%u" : "%s",
				 resource->name, unit);
			json_object_array_add(list, json_object_new_string(name));
		}
	}
	json_object_object_add(target, "Resources", list);
	json_object_object_add(report, "TargetInfo", target);
	return report;
}

static void print_name(FILE *output, unsigned int number, const char *name)
{
	fprintf(output, "\n[%u] Code Region%s", number, *name ? " - " : "");
	terminal_text_print(output, name);
	fputs("\n\n", output);
}

typedef struct pesa_error *(*view_maker)(struct mca_view *view,
					 const struct mca_view_context *context);

/* Make the views, run the block, and print the views or make their JSON. */
static struct pesa_error *show(const struct mca_settings *settings,
			       struct mca_view_context *context,
			       const struct pesa_mca_block *changed,
			       const struct mca_source_region *region, struct mca_text *text,
			       struct json_object **json)
{
	bool tables = settings->tables != MCA_TABLES_NONE;
	const struct {
		bool wanted;
		view_maker make;
	} list[] = {
		{!tables && settings->summary, mca_view_summary},
		{!tables && settings->bottleneck, mca_view_bottleneck},
		{settings->information, mca_view_information},
		{!tables && settings->dispatch_stats, mca_view_dispatch},
		{!tables && settings->scheduler_stats, mca_view_scheduler},
		{!tables && settings->retire_stats, mca_view_retire},
		{!tables && settings->register_stats, mca_view_registers},
		{settings->pressure, tables ? mca_view_tables : mca_view_pressure},
		{!tables && settings->timeline, mca_view_timeline},
		{!tables && settings->cycle_stack, mca_view_cycle_stack},
	};
	struct pesa_mca_run_options run = settings->run;
	struct pesa_mca_listener listeners[VIEWS_MAX];
	struct mca_view views[VIEWS_MAX];
	struct pesa_error *error = NULL;
	struct json_object *object = json ? region_object(context, region) : NULL;
	unsigned int count = 0;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]) && !error; i++) {
		if (!list[i].wanted)
			continue;
		error = list[i].make(&views[count], context);
		listeners[count] = views[count].listener;
		count++;
	}
	if (settings->timeline)
		run.first_iterations = context->timeline_iterations;
	if (!error && !tables)
		error = pesa_mca_run(context->block, &run, listeners, count, &context->cycles);
	for (unsigned int i = 0; i < count; i++) {
		if (!error && !json)
			views[i].print(&views[i], text);
		else if (!error && views[i].name)
			json_object_object_add(object, views[i].name, views[i].json(&views[i]));
		views[i].free(&views[i]);
	}
	if (!error && changed)
		error = mca_what_if(&settings->stimuli, context, changed, &settings->run,
				    text->stream, object);
	if (json)
		*json = sorted(object);
	return error;
}

/* llvm-mca warns of these once per region. */
static void warn_of_calls(const struct pesa_mca_block *block, unsigned int latency)
{
	bool call = false, return_ = false;

	for (unsigned int i = 0; i < pesa_mca_block_count(block); i++) {
		const struct mca_lowered *lowered = &block->lowered[i];

		if (lowered->call && !call)
			fprintf(stderr,
				"warning: found a call in the input assembly sequence.\n"
				"note: call instructions are not correctly modeled. Assume a "
				"latency of %ucy.\n",
				latency ? latency : 100);
		if (lowered->return_ && !return_)
			fprintf(stderr, "warning: found a return instruction in the input assembly "
					"sequence.\nnote: program counter updates are ignored.\n");
		call |= lowered->call;
		return_ |= lowered->return_;
	}
}

static void warn_of_skipped(const struct mca_source *source, const struct mca_source_region *region,
			    const struct pesa_mca_block *block, const char *cpu)
{
	unsigned int next = 0;

	for (unsigned int i = 0; i < region->count; i++) {
		if (next < pesa_mca_block_count(block) && pesa_mca_block_source(block, next) == i)
			next++;
		else
			safe_output_message(
				"warning: instruction %u (%s) is not supported by the model of %s; left out",
				i, source->text[region->first + i], cpu);
	}
}

static struct pesa_error *bind(const struct mca_analysis *analysis,
			       const struct pesa_mca_model *model,
			       const struct mca_source_region *region,
			       struct pesa_mca_block **block)
{
	const struct mca_settings *settings = analysis->settings;
	const struct pesa_mca_block_options options = {
		.processor = analysis->processor->name,
		.features = settings->features,
		.feature_count = settings->feature_count,
		.call_latency = settings->call_latency,
		.follow_calls = (settings->trace || settings->profile) && !settings->call_latency,
		.skip_unsupported = settings->skip_lack_sched,
	};

	return pesa_mca_block_create(model, analysis->source->instructions + region->first,
				     region->count, &options, block);
}

struct pesa_error *mca_region_bind(const struct mca_analysis *analysis,
				   const struct mca_source_region *region,
				   struct pesa_mca_block **block)
{
	return bind(analysis, analysis->model, region, block);
}

bool mca_region_announce(const struct mca_analysis *analysis,
			 const struct mca_source_region *region, const struct pesa_mca_block *block,
			 unsigned int number, FILE *output)
{
	const struct mca_settings *settings = analysis->settings;

	warn_of_skipped(analysis->source, region, block, analysis->processor->name);
	if (!pesa_mca_block_count(block))
		return false;
	if (!settings->trace && !settings->profile)
		warn_of_calls(block, settings->call_latency);
	if (!settings->json && (region->has_begin || region->has_end))
		print_name(output, number, region->name);
	return true;
}

struct pesa_error *mca_region_show(const struct mca_analysis *analysis,
				   const struct mca_source_region *region,
				   const struct pesa_mca_block *block, FILE *output,
				   struct json_object **json)
{
	const struct mca_settings *settings = analysis->settings;
	const struct mca_source *source = analysis->source;
	struct mca_view_context context = {
		.model = analysis->model,
		.block = block,
		.count = pesa_mca_block_count(block),
		.iterations = settings->run.iterations,
		.dispatch_width = settings->run.dispatch_width,
		.encodings = settings->encodings,
		.barriers = settings->barriers,
		.full = settings->tables == MCA_TABLES_FULL,
		.timeline_cycles = settings->timeline_cycles,
	};
	struct mca_text output_text = {
		.stream = output,
		.colours = settings->colours && analysis->output == stdout,
	};
	const char **text = calloc(context.count + 1, sizeof(*text));
	const char **comment = calloc(context.count + 1, sizeof(*comment));
	const struct pesa_insn **insn = calloc(context.count + 1, sizeof(*insn));
	uint64_t *address = source->address ? calloc(context.count + 1, sizeof(*address)) : NULL;
	struct pesa_mca_block *changed = NULL;
	struct pesa_error *error = NULL;

	context.timeline_iterations =
		settings->timeline_iterations ? settings->timeline_iterations : TIMELINE_LINES;
	if (context.timeline_iterations > context.iterations)
		context.timeline_iterations = context.iterations;
	if (text && comment && insn && (address || !source->address)) {
		for (unsigned int i = 0; i < context.count; i++) {
			unsigned int index = region->first + pesa_mca_block_source(block, i);

			text[i] = source->text[index];
			comment[i] = source->comment ? source->comment[index] : NULL;
			insn[i] = &source->instructions[index].insn;
			if (address)
				address[i] = source->address[index];
		}
		context.address = address;
		context.text = text;
		context.comment = comment;
		context.insn = insn;
		if (settings->changed)
			error = bind(analysis, settings->changed, region, &changed);
		if (!error)
			error = show(settings, &context, changed, region, &output_text,
				     settings->json ? json : NULL);
	} else {
		error = pesa_error_no_memory();
	}
	free(text);
	free(comment);
	free(insn);
	free(address);
	pesa_mca_block_free(changed);
	return error;
}
