/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes of a model: latencies and resources of classes, numbers of units. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "decoder/mca/model/registers.h"
#include "decoder/mca/model/table.h"

struct change {
	struct pesa_mca_model *model;
	const char *text;
	char *class, *what; /* parts of a copy of the text */
	const char *read; /* the SchedRead whose operands an advance is changed of; NULL: of all */
	long value;
	bool *chosen; /* by class: whether it is changed */
	unsigned int count;
};

static void choose_class(struct change *change, unsigned int class)
{
	change->count += !change->chosen[class];
	change->chosen[class] = true;
}

/* Split the opcodes of an instruction off their classes, and choose their new ones; *found is whether
 * the instruction exists. */
static struct pesa_error *choose_by_instruction(struct change *change, const char *name,
						bool *found)
{
	struct pesa_mca_model *model = change->model;
	unsigned int before = model->class_count;

	*found = false;
	for (unsigned int id = 0; id < pesa_opcode_count(); id++) {
		const struct pesa_opcode *description = pesa_opcode_get(id);
		struct pesa_error *error;
		int opcode;

		if (strcasecmp(description->name, name) && strcmp(description->mnemonic, name))
			continue;
		opcode = mca_opcode_find(description->name, strlen(description->name));
		if (opcode < 0)
			continue;
		*found = true;
		error = mca_model_split_opcode(model, opcode);
		if (error)
			return error;
	}
	if (model->class_count > before) {
		bool *chosen = realloc(change->chosen, model->class_count * sizeof(*chosen));

		if (!chosen)
			return pesa_error_no_memory();
		change->chosen = chosen;
		memset(chosen + before, 0, (model->class_count - before) * sizeof(*chosen));
		for (unsigned int i = before; i < model->class_count; i++)
			choose_class(change, i);
	}
	return NULL;
}

/* Whether operand number `index` of a class is read by the SchedRead `name`. */
static bool is_read_by(const struct mca_identity *identity, unsigned int index, const char *name)
{
	const char *read = identity->reads;
	size_t length = strlen(name);

	while (read && index--) {
		read = strchr(read, ',');
		read = read ? read + 1 : NULL;
	}
	return read && !strncmp(read, name, length) && (!read[length] || read[length] == ',');
}

/* Choose the classes that have an advance for this SchedRead. */
static void choose_by_read(struct change *change)
{
	const struct pesa_mca_model *model = change->model;

	for (unsigned int i = 0; i < model->class_count; i++)
		for (unsigned int j = 0; j < model->classes[i].advances; j++)
			if (is_read_by(&model->identities[i],
				       model->advances[model->classes[i].advance + j].operand,
				       change->class))
				choose_class(change, i);
	if (change->count)
		change->read = change->class;
}

static struct pesa_error *choose_classes(struct change *change)
{
	const struct pesa_mca_model *model = change->model;
	struct pesa_error *error;
	bool found;

	for (unsigned int i = 0; i < model->class_count; i++) {
		const struct mca_identity *identity = &model->identities[i];

		if (!strcmp(identity->name, change->class) ||
		    (identity->write && !strcmp(identity->write, change->class)))
			choose_class(change, i);
	}
	if (!change->count && !strcmp(change->what, "advance"))
		choose_by_read(change);
	if (change->count)
		return NULL;
	error = choose_by_instruction(change, change->class, &found);
	if (!error && !found)
		error = pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: the model %s has no class or SchedWrite '%s', and there is no such "
			"instruction",
			change->text, model->name, change->class);
	if (!error && !change->count)
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
					  "%s: the model %s does not support the instruction '%s'",
					  change->text, model->name, change->class);
	return error;
}

/* CLASS.WHAT=VALUE; instruction names contain dots, so the last dot separates WHAT. */
static struct pesa_error *parse(struct change *change, char *copy)
{
	char *equals = strrchr(copy, '='), *dot = NULL, *end = NULL;

	if (equals) {
		*equals = '\0';
		dot = strrchr(copy, '.');
		errno = 0;
		change->value = strtol(equals + 1, &end, 10);
	}
	if (!dot || dot == copy || !dot[1] || end == equals + 1 || *end)
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"'%s': expected CLASS.latency=CYCLES, CLASS.uops=NUMBER, "
			"CLASS.RESOURCE=CYCLES, CLASS.advance=CYCLES or RESOURCE.units=NUMBER",
			change->text);
	*dot = '\0';
	change->class = copy;
	change->what = dot + 1;
	return NULL;
}

static struct pesa_error *check_value(const struct change *change, long minimum, long maximum)
{
	if (change->value >= minimum && change->value <= maximum)
		return NULL;
	return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: the value must be between %ld and %ld",
				 change->text, minimum, maximum);
}

static struct pesa_error *change_latency(struct change *change)
{
	struct pesa_mca_model *model = change->model;
	struct pesa_error *error = check_value(change, 0, PESA_MCA_LATENCY_MAX);
	bool any = false;

	for (unsigned int i = 0; i < model->class_count && !error; i++) {
		const struct mca_class *class = &model->classes[i];

		for (unsigned int j = 0; change->chosen[i] && j < class->writes; j++) {
			model->writes[class->write + j].latency = change->value;
			any = true;
		}
	}
	if (!error && !any)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: there is no result, so no latency to change",
					  change->text);
	return error;
}

static struct pesa_error *change_micro_ops(struct change *change)
{
	struct pesa_mca_model *model = change->model;
	struct pesa_error *error = check_value(change, 0, PESA_MCA_MICRO_OPS_MAX);

	for (unsigned int i = 0; i < model->class_count && !error; i++)
		if (change->chosen[i] && !change->value && model->classes[i].uses)
			error = pesa_error_create(PESA_ERROR_ARGUMENT,
						  "%s: the class %s uses resources, so it needs at "
						  "least one micro-op",
						  change->text, model->identities[i].name);
	for (unsigned int i = 0; i < model->class_count && !error; i++)
		if (change->chosen[i])
			model->classes[i].micro_ops = change->value;
	return error;
}

static struct pesa_mca_use *find_use(const struct pesa_mca_model *model, unsigned int class,
				     unsigned int resource)
{
	const struct mca_class *costs = &model->classes[class];

	for (unsigned int i = 0; i < costs->uses; i++)
		if (model->uses[costs->use + i].resource == resource)
			return &model->uses[costs->use + i];
	return NULL;
}

static bool is_part_of(const struct pesa_mca_model *model, unsigned int part, unsigned int whole)
{
	uint64_t members = model->masks[part], mask = model->masks[whole];

	for (int super = model->super[part]; super >= 0; super = model->super[super])
		if (super == (int)whole)
			return true;
	if (model->resources[part].group) /* its own bit is the highest */
		members ^= UINT64_C(1) << (63 - __builtin_clzll(members));
	return model->resources[whole].group && part != whole && (mask & members) == members;
}

/* A use counts also for the groups and super resources of the resource, which change by as much. */
static struct pesa_error *change_resource(struct change *change, unsigned int resource)
{
	struct pesa_mca_model *model = change->model;
	struct pesa_error *error = check_value(change, 0, PESA_MCA_LATENCY_MAX);
	bool any = false;

	for (unsigned int i = 0; i < model->class_count && !error; i++) {
		const struct pesa_mca_use *use =
			change->chosen[i] ? find_use(model, i, resource) : NULL;

		any |= use != NULL;
		if (use && change->value < (long)use->acquire)
			error = pesa_error_create(PESA_ERROR_ARGUMENT,
						  "%s: the class %s acquires it in cycle %u only",
						  change->text, model->identities[i].name,
						  use->acquire);
	}
	if (!error && !any)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: %s does not use the resource %s, so there are no "
					  "cycles to change",
					  change->text, change->class, change->what);
	for (unsigned int i = 0; i < model->class_count && !error; i++) {
		struct pesa_mca_use *use = change->chosen[i] ? find_use(model, i, resource) : NULL;
		long more = use ? change->value - (long)use->release : 0;

		for (unsigned int j = 0; use && j < model->classes[i].uses; j++) {
			struct pesa_mca_use *other = &model->uses[model->classes[i].use + j];

			if (other == use || is_part_of(model, resource, other->resource))
				other->release += more;
		}
	}
	return error;
}

static struct pesa_error *change_advance(struct change *change)
{
	struct pesa_mca_model *model = change->model;
	struct pesa_error *error = check_value(change, -PESA_MCA_LATENCY_MAX, PESA_MCA_LATENCY_MAX);
	bool any = false;

	for (unsigned int i = 0; i < model->class_count && !error; i++) {
		const struct mca_class *class = &model->classes[i];

		for (unsigned int j = 0; change->chosen[i] && j < class->advances; j++) {
			struct mca_advance *advance = &model->advances[class->advance + j];

			if (change->read &&
			    !is_read_by(&model->identities[i], advance->operand, change->read))
				continue;
			advance->cycles = (int16_t)change->value;
			any = true;
		}
	}
	if (!error && !any)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: %s has no read advance to change", change->text,
					  change->class);
	return error;
}

/* ---- Units ----------------------------------------------------------------------------------- */

static int find_resource(const struct pesa_mca_model *model, const char *name)
{
	for (unsigned int i = 0; i < model->resource_count; i++)
		if (!strcmp(model->resources[i].name, name))
			return (int)i;
	return -1;
}

/* Check that no class needs this resource, and that no group loses its last member. */
static struct pesa_error *check_without(const struct change *change, unsigned int resource)
{
	const struct pesa_mca_model *model = change->model;

	for (unsigned int i = 0; i < model->class_count; i++)
		if (find_use(model, i, resource))
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "%s: the class %s needs this very resource, so it "
						 "must have a unit",
						 change->text, model->identities[i].name);
	for (unsigned int i = 0; i < model->resource_count; i++) {
		const struct pesa_mca_resource *group = &model->resources[i];

		if (model->super[i] == (int)resource ||
		    (group->group && group->members == 1 && group->member[0] == resource))
			return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: %s has no other unit",
						 change->text, group->name);
	}
	return NULL;
}

/* Remove the resource from all groups; classes that name it have been excluded by the check. */
static void take_out(struct pesa_mca_model *model, unsigned int resource)
{
	for (unsigned int i = 0; i < model->resource_count; i++) {
		struct pesa_mca_resource *group = &model->resources[i];
		unsigned int *member = (unsigned int *)group->member, kept = 0;

		for (unsigned int j = 0; j < group->members; j++)
			if (member[j] != resource)
				member[kept++] = member[j];
		if (!group->group || kept == group->members)
			continue;
		group->members = kept;
		group->units -= model->resources[resource].units;
		model->masks[i] &= ~model->masks[resource];
	}
}

static struct pesa_error *change_units(struct change *change, unsigned int resource)
{
	struct pesa_mca_model *model = change->model;
	struct pesa_error *error = check_value(change, 0, MCA_UNITS_MAX);
	int more = (int)change->value - (int)model->resources[resource].units;

	if (!error && model->resources[resource].group)
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: %s is a group; change the units of its members",
					  change->text, change->class);
	if (!error && !change->value)
		error = check_without(change, resource);
	if (error)
		return error;
	if (!change->value) {
		take_out(model, resource);
		return NULL;
	}
	model->resources[resource].units = (unsigned int)change->value;
	for (unsigned int i = 0; i < model->resource_count; i++)
		for (unsigned int j = 0;
		     model->resources[i].group && j < model->resources[i].members; j++)
			if (model->resources[i].member[j] == resource)
				model->resources[i].units += more;
	return NULL;
}

static struct pesa_error *apply(struct change *change)
{
	if (!strcmp(change->what, "latency"))
		return change_latency(change);
	if (!strcmp(change->what, "uops"))
		return change_micro_ops(change);
	if (!strcmp(change->what, "advance"))
		return change_advance(change);
	for (unsigned int i = 0; i < change->model->resource_count; i++)
		if (!strcmp(change->model->resources[i].name, change->what))
			return change_resource(change, i);
	return pesa_error_create(
		PESA_ERROR_NOT_FOUND,
		"%s: expected latency, uops, advance or a resource of the model %s, found '%s'",
		change->text, change->model->name, change->what);
}

struct pesa_error *pesa_mca_model_change(struct pesa_mca_model *model, const char *text,
					 unsigned int *classes)
{
	struct change change = {.model = model, .text = text};
	struct pesa_error *error = mca_model_own_constants(model);
	char *copy;
	int resource;

	if (error)
		return error;
	copy = strdup(text);
	change.chosen = calloc(model->class_count + 1, sizeof(*change.chosen));
	if (!copy || !change.chosen)
		error = pesa_error_no_memory();
	if (!error)
		error = parse(&change, copy);
	resource =
		!error && !strcmp(change.what, "units") ? find_resource(model, change.class) : -1;
	if (!error && resource >= 0) {
		error = change_units(&change, (unsigned int)resource);
	} else if (!error) {
		error = choose_classes(&change);
		if (!error)
			error = apply(&change);
	}
	if (!error && classes)
		*classes = change.count;
	free(change.chosen);
	free(copy);
	return error;
}

struct pesa_error *mca_model_change_each(struct pesa_mca_model *model, const char *changes)
{
	struct pesa_error *error = NULL;
	char *copy = strdup(changes), *rest = NULL;

	if (!copy)
		return pesa_error_no_memory();
	for (char *one = strtok_r(copy, " \n", &rest); one && !error;
	     one = strtok_r(NULL, " \n", &rest))
		error = pesa_mca_model_change(model, one, NULL);
	free(copy);
	return error;
}
