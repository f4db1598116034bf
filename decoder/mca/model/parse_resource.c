/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing resources and groups: see parse.h. */
#include "decoder/mca/model/parse.h"

/* Parse a resource or group line up to its name; the caller parses the buffer and the rest. */
static struct pesa_error *add_resource(struct mca_parser *parser,
				       struct pesa_mca_resource **resource)
{
	struct pesa_mca_model *model = parser->model;
	char *name = mca_parse_word(parser);
	struct pesa_error *error;

	if (!name)
		return mca_parse_fail(parser, "expected the name of a resource");
	if (mca_table_find(&parser->resources, name) >= 0)
		return mca_parse_fail(parser, "the resource %s is defined twice", name);
	if (model->class_count)
		return mca_parse_fail(parser, "resources must be defined before the first class");
	if (model->resource_count >= MCA_RESOURCES_MAX)
		return mca_parse_fail(parser, "more than %d resources and groups",
				      MCA_RESOURCES_MAX);
	error = mca_grow(&model->resources, model->resource_count, sizeof(*model->resources));
	if (!error)
		error = mca_grow(&model->super, model->resource_count, sizeof(*model->super));
	if (error)
		return error;
	error = mca_table_add(&parser->resources, name, model->resource_count);
	if (error)
		return error;
	model->super[model->resource_count] = -1;
	*resource = &model->resources[model->resource_count++];
	**resource = (struct pesa_mca_resource){.name = name, .buffer = -1};
	return NULL;
}

struct pesa_error *mca_parse_resource(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_mca_resource *resource;
	struct pesa_error *error = add_resource(parser, &resource);
	char *word, *value;
	long number;

	if (error)
		return error;
	resource->units = 1;
	while ((word = mca_parse_word(parser))) {
		if ((value = mca_parse_value(word, "units"))) {
			error = mca_parse_number(parser, "units", value, 1, MCA_UNITS_MAX - 1,
						 &number);
			if (error)
				return error;
			resource->units = number;
		} else if ((value = mca_parse_value(word, "buffer"))) {
			error = mca_parse_number(parser, "buffer", value, -1, 65535, &number);
			if (error)
				return error;
			resource->buffer = number;
		} else if ((value = mca_parse_value(word, "super"))) {
			/* It may be defined later: keep the name until the end. */
			resource->member = NULL;
			model->super[model->resource_count - 1] = (int)(value - model->text);
		} else if ((value = mca_parse_value(word, "from"))) {
			resource->from = value;
		} else {
			return mca_parse_fail(
				parser, "expected units=, buffer=, super= or from=, found '%s'",
				word);
		}
	}
	return NULL;
}

/* Until the end members are offsets into the text, since they may be defined later. */
struct pesa_error *mca_parse_group(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_mca_resource *resource;
	struct pesa_error *error = add_resource(parser, &resource);
	unsigned int *members = NULL;
	char *word, *value;
	long number;

	if (error)
		return error;
	resource->group = true;
	while ((word = mca_parse_word(parser))) {
		if ((value = mca_parse_value(word, "buffer"))) {
			error = mca_parse_number(parser, "buffer", value, -1, 65535, &number);
			if (error)
				return error;
			resource->buffer = number;
			continue;
		}
		if ((value = mca_parse_value(word, "from"))) {
			resource->from = value;
			continue;
		}
		members = (unsigned int *)resource->member;
		error = mca_grow(&members, resource->members, sizeof(*members));
		if (error)
			return error;
		resource->member = members;
		members[resource->members++] = word - model->text;
	}
	if (!resource->members)
		return mca_parse_fail(parser, "the group %s has no members", resource->name);
	return NULL;
}

/* Resolve names of super resources and members to indices, and compute masks. */
struct pesa_error *mca_parse_resolve(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	unsigned int bit = 0;

	for (unsigned int i = 0; i < model->resource_count; i++) {
		struct pesa_mca_resource *resource = &model->resources[i];

		if (model->super[i] >= 0) {
			const char *name = model->text + model->super[i];
			int super = mca_table_find(&parser->resources, name);

			if (super < 0 || model->resources[super].group)
				return mca_parse_fail(parser,
						      "%s is part of %s, which is no resource",
						      resource->name, name);
			model->super[i] = super;
		}
		if (!resource->group) {
			model->of_bit[bit] = i;
			model->masks[i] = UINT64_C(1) << bit++;
		}
	}
	for (unsigned int i = 0; i < model->resource_count; i++) {
		unsigned int depth = 0;

		for (int super = model->super[i]; super >= 0; super = model->super[super])
			if (++depth > model->resource_count)
				return mca_parse_fail(parser, "%s is part of itself",
						      model->resources[i].name);
	}
	for (unsigned int i = 0; i < model->resource_count; i++) {
		struct pesa_mca_resource *resource = &model->resources[i];
		unsigned int *member = (unsigned int *)resource->member;

		if (!resource->group)
			continue;
		model->of_bit[bit] = i;
		model->masks[i] = UINT64_C(1) << bit++;
		for (unsigned int j = 0; j < resource->members; j++) {
			const char *name = model->text + member[j];
			int index = mca_table_find(&parser->resources, name);

			if (index < 0 || model->resources[index].group)
				return mca_parse_fail(
					parser, "the group %s contains %s, which is no resource",
					resource->name, name);
			if (model->masks[i] & model->masks[index])
				return mca_parse_fail(parser, "the group %s contains %s twice",
						      resource->name, name);
			member[j] = index;
			model->masks[i] |= model->masks[index];
			resource->units += model->resources[index].units;
		}
	}
	return NULL;
}
