/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resource pressure: cycles per unit, for an iteration and for each instruction. */
#include <stdlib.h>

#include "decoder/mca/views/views.h"

struct pressure {
	bool demand;	     /* the cycles are those of one iteration, and no run's */
	unsigned int units;  /* of all resources, without groups */
	unsigned int *first; /* by resource: its first unit */
	long double *cycles; /* by instruction and unit; the last row is the sum */
};

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct mca_view *view = data;
	struct pressure *pressure = view->state;
	unsigned int unit = pressure->first[event->occupation->resource] + event->occupation->unit;

	pressure->cycles[event->instruction * pressure->units + unit] += event->used;
	pressure->cycles[view->context->count * pressure->units + unit] += event->used;
	return NULL;
}

/* Spread the demand of an instruction evenly over the units. */
static void spread(struct pressure *pressure, const struct mca_view_context *context,
		   unsigned int instruction, unsigned int resource, long double cycles)
{
	const struct pesa_mca_resource *description =
		pesa_mca_model_resource(context->model, resource);

	for (unsigned int i = 0; i < description->units; i++) {
		unsigned int unit = pressure->first[resource] + i;

		pressure->cycles[instruction * pressure->units + unit] += cycles;
		pressure->cycles[context->count * pressure->units + unit] += cycles;
	}
}

static void add_demand(struct pressure *pressure, const struct mca_view_context *context,
		       unsigned int instruction, const struct pesa_mca_demand *demand)
{
	const struct pesa_mca_resource *resource =
		pesa_mca_model_resource(context->model, demand->resource);

	if (!resource->group) {
		spread(pressure, context, instruction, demand->resource,
		       (long double)demand->cycles / resource->units);
		return;
	}
	for (unsigned int i = 0; i < resource->members; i++)
		spread(pressure, context, instruction, resource->member[i],
		       (long double)demand->cycles / resource->units);
}

static void print_names(struct mca_text *text, const struct pesa_mca_model *model)
{
	unsigned int column = 0, number = 0;

	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);

		if (resource->group)
			continue;
		for (unsigned int unit = 0; unit < resource->units; unit++) {
			column += 7;
			mca_print(text, resource->units > 1 ? "[%u.%u]" : "[%u]", number, unit);
			mca_pad(text, column);
		}
		number++;
	}
}

static void print_cycles(struct mca_text *text, double cycles, unsigned int column)
{
	if (cycles < 0.005)
		mca_put_text(text, " - ");
	else
		mca_put_hundredths(text, cycles);
	mca_pad(text, column);
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct pressure *pressure = view->state;
	const struct pesa_mca_model *model = context->model;
	const unsigned int executions = pressure->demand ? 1 : context->iterations;
	unsigned int number = 0;

	mca_put_text(text, "\n\nResources:\n");
	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);

		if (resource->group)
			continue;
		for (unsigned int unit = 0; unit < resource->units; unit++) {
			mca_print(text, resource->units > 1 ? "[%u.%u]" : "[%u]", number, unit);
			mca_pad(text, 6);
			mca_print(text, "- %s\n", resource->name);
		}
		number++;
	}
	mca_put_text(text, "\n\nResource pressure per iteration:\n");
	print_names(text, model);
	mca_put_text(text, "\n");
	for (unsigned int unit = 0; unit < pressure->units; unit++)
		print_cycles(text,
			     pressure->cycles[context->count * pressure->units + unit] / executions,
			     (unit + 1) * 7);
	mca_put_text(text, "\n\nResource pressure by instruction:\n");
	print_names(text, model);
	mca_put_text(text, "Instructions:\n");
	for (unsigned int i = 0; i < context->count; i++) {
		for (unsigned int unit = 0; unit < pressure->units; unit++)
			print_cycles(text,
				     pressure->cycles[i * pressure->units + unit] / executions,
				     (unit + 1) * 7);
		mca_print(text, "%s\n", context->text[i]);
	}
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	const struct pressure *pressure = view->state;
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();
	const unsigned int executions = pressure->demand ? 1 : context->iterations;

	for (unsigned int i = 0; i <= context->count; i++)
		for (unsigned int unit = 0; unit < pressure->units; unit++) {
			long double cycles = pressure->cycles[i * pressure->units + unit];
			struct json_object *entry;

			if (cycles == 0)
				continue;
			entry = json_object_new_object();
			mca_json_integer(entry, "InstructionIndex", i);
			mca_json_integer(entry, "ResourceIndex", unit);
			mca_json_number(entry, "ResourceUsage", cycles / executions);
			json_object_array_add(list, entry);
		}
	json_object_object_add(object, "ResourcePressureInfo", list);
	return object;
}

static void free_state(struct mca_view *view)
{
	struct pressure *pressure = view->state;

	if (pressure) {
		free(pressure->first);
		free(pressure->cycles);
	}
	free(pressure);
}

struct pesa_error *mca_view_pressure(struct mca_view *view, const struct mca_view_context *context)
{
	unsigned int resources = pesa_mca_model_resources(context->model);
	struct pressure *pressure = calloc(1, sizeof(*pressure));

	*view = (struct mca_view){
		.context = context,
		.listener = {on_event, view, 1u << PESA_MCA_USED},
		.name = "ResourcePressureView",
		.print = print,
		.json = json,
		.free = free_state,
		.state = pressure,
	};
	if (!pressure)
		return pesa_error_no_memory();
	pressure->first = calloc(resources + 1, sizeof(*pressure->first));
	if (!pressure->first)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < resources; i++) {
		const struct pesa_mca_resource *resource =
			pesa_mca_model_resource(context->model, i);

		pressure->first[i] = pressure->units;
		if (!resource->group)
			pressure->units += resource->units;
	}
	pressure->cycles = calloc((size_t)(context->count + 1) * (pressure->units + 1),
				  sizeof(*pressure->cycles));
	return pressure->cycles ? NULL : pesa_error_no_memory();
}

struct pesa_error *mca_view_tables(struct mca_view *view, const struct mca_view_context *context)
{
	struct pesa_mca_demand demands[64];
	struct pesa_error *error;

	error = mca_view_pressure(view, context);
	if (error)
		return error;
	view->listener.kinds = 0;
	((struct pressure *)view->state)->demand = true;
	for (unsigned int i = 0; i < context->count; i++) {
		unsigned int count = pesa_mca_block_demands(context->block, i, demands, 64);

		for (unsigned int j = 0; j < count; j++)
			add_demand(view->state, context, i, &demands[j]);
	}
	return NULL;
}
