/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing classes and variants, which describe the costs of instructions: see parse.h. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/parse.h"
#include "decoder/mca/model/registers.h"

static struct pesa_error *write_number(struct mca_parser *parser, const char *name,
				       uint16_t *number)
{
	struct pesa_mca_model *model = parser->model;
	int found = mca_table_find(&parser->writes, name);
	struct pesa_error *error = NULL;

	if (found < 0) {
		if (!model->write_name_count)
			model->write_name_count = 1; /* 0 means none */
		if (model->write_name_count >= UINT16_MAX)
			return mca_parse_fail(parser, "more than %d names of writes", UINT16_MAX);
		found = model->write_name_count++;
		error = mca_table_add(&parser->writes, name, found);
	}
	*number = found;
	return error;
}

/* latency=CYCLES[:NAME],... */
static struct pesa_error *parse_latency(struct mca_parser *parser, struct mca_class *class,
					char *value)
{
	struct pesa_mca_model *model = parser->model;

	for (char *item; (item = strsep(&value, ","));) {
		char *name = strchr(item, ':');
		struct pesa_error *error;
		struct mca_write write = {0};
		long number;

		if (name)
			*name++ = '\0';
		error = mca_parse_number(parser, "latency", item, 0, 32767, &number);
		if (!error && name)
			error = write_number(parser, name, &write.name);
		if (error)
			return error;
		write.latency = number;
		if (class->writes == UINT8_MAX)
			return mca_parse_fail(parser, "a class has more than %d latencies",
					      UINT8_MAX);
		error = mca_grow(&model->writes, model->write_count, sizeof(*model->writes));
		if (error)
			return error;
		model->writes[model->write_count++] = write;
		class->writes++;
	}
	return NULL;
}

/* Add cycles of a resource to a class; the cycles of a resource used already are increased. */
static struct pesa_error *add_use(struct mca_parser *parser, struct mca_class *class,
				  struct pesa_mca_use use)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_error *error;

	for (unsigned int i = 0; i < class->uses; i++) {
		struct pesa_mca_use *other = &model->uses[class->use + i];

		if (other->resource == use.resource) {
			other->release += use.release;
			return NULL;
		}
	}
	error = mca_grow(&model->uses, model->use_count, sizeof(*model->uses));
	if (error)
		return error;
	model->uses[model->use_count++] = use;
	class->uses++;
	return NULL;
}

/*
 * A use of a resource counts also for its super resources and for the groups that contain it; a use
 * of a group counts for the groups that contain all its members.
 */
static struct pesa_error *expand_use(struct mca_parser *parser, struct mca_class *class,
				     struct pesa_mca_use use)
{
	struct pesa_mca_model *model = parser->model;
	const struct pesa_mca_resource *resource = &model->resources[use.resource];
	uint64_t members = model->masks[use.resource];
	struct pesa_error *error = add_use(parser, class, use);

	if (resource->group)
		members ^= UINT64_C(1) << (63 - __builtin_clzll(members));
	for (int super = model->super[use.resource]; super >= 0 && !error;
	     super = model->super[super]) {
		struct pesa_mca_use more = use;

		more.resource = super;
		error = add_use(parser, class, more);
	}
	for (unsigned int i = 0; i < model->resource_count && !error; i++)
		if (i != use.resource && model->resources[i].group &&
		    (model->masks[i] & members) == members) {
			struct pesa_mca_use more = use;

			more.resource = i;
			error = add_use(parser, class, more);
		}
	return error;
}

static int compare_uses(const void *a, const void *b)
{
	const struct pesa_mca_use *left = a, *right = b;

	return (int)left->resource - (int)right->resource;
}

/* uses=RESOURCE[:[ACQUIRE-]RELEASE],... */
static struct pesa_error *parse_uses(struct mca_parser *parser, struct mca_class *class,
				     char *value)
{
	for (char *item; (item = strsep(&value, ","));) {
		char *cycles = strchr(item, ':'), *release;
		struct pesa_mca_use use = {.release = 1};
		struct pesa_error *error = NULL;
		long number;
		int index;

		if (cycles)
			*cycles++ = '\0';
		index = mca_table_find(&parser->resources, item);
		if (index < 0)
			return mca_parse_fail(parser, "expected the name of a resource, found '%s'",
					      item);
		use.resource = index;
		if (cycles) {
			release = strchr(cycles, '-');
			if (release) {
				*release++ = '\0';
				error = mca_parse_number(parser, "acquire cycle", cycles, 0, 32767,
							 &number);
				if (error)
					return error;
				use.acquire = number;
			} else {
				release = cycles;
			}
			error = mca_parse_number(parser, "release cycle", release, 0, 32767,
						 &number);
			if (error)
				return error;
			use.release = number;
			if (use.release < use.acquire)
				return mca_parse_fail(parser,
						      "%s is released before it is acquired", item);
		}
		error = expand_use(parser, class, use);
		if (error)
			return error;
	}
	return NULL;
}

/* advance=OPERAND:CYCLES[:WRITE,...] */
static struct pesa_error *parse_advance(struct mca_parser *parser, struct mca_class *class,
					char *value)
{
	struct pesa_mca_model *model = parser->model;
	char *operand = strsep(&value, ":"), *cycles = strsep(&value, ":");
	struct mca_advance advance = {0};
	struct pesa_error *error;
	long number;

	error = mca_parse_number(parser, "operand", operand, 0, 31, &number);
	if (error)
		return error;
	advance.operand = number;
	error = mca_parse_number(parser, "read advance", cycles, -4096, 4096, &number);
	if (error)
		return error;
	advance.cycles = number;
	if (class->advances && model->advances[model->advance_count - 1].operand > advance.operand)
		return mca_parse_fail(parser, "read advances must be in the order of the operands");
	do {
		char *name = strsep(&value, ",");

		if (name) {
			error = write_number(parser, name, &advance.write);
			if (error)
				return error;
		}
		error = mca_grow(&model->advances, model->advance_count, sizeof(*model->advances));
		if (error)
			return error;
		model->advances[model->advance_count++] = advance;
		if (class->advances++ == UINT16_MAX)
			return mca_parse_fail(parser, "a class has too many read advances");
	} while (value);
	return NULL;
}

struct pesa_error *mca_parse_class(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	char *name = mca_parse_word(parser), *word, *value;
	struct pesa_error *error = NULL;
	struct mca_class class = {
		.write = model->write_count,
		.use = model->use_count,
		.advance = model->advance_count,
	};
	bool latency = false;
	long number;

	if (!name)
		return mca_parse_fail(parser, "expected the name of the class");
	if (mca_table_find(&parser->classes, name) >= 0)
		return mca_parse_fail(parser, "the class %s is defined twice", name);
	if (model->class_count >= MCA_CLASSES_MAX)
		return mca_parse_fail(parser, "more than %d classes", MCA_CLASSES_MAX);
	if (!model->class_count) {
		error = mca_parse_resolve(parser);
		if (error)
			return error;
	}
	while (!error && (word = mca_parse_word(parser))) {
		if ((value = mca_parse_value(word, "uops"))) {
			error = mca_parse_number(parser, "uops", value, 0, PESA_MCA_MICRO_OPS_MAX,
						 &number);
			class.micro_ops = error ? 0 : number;
		} else if ((value = mca_parse_value(word, "latency"))) {
			if (latency)
				return mca_parse_fail(parser, "latency= is given twice");
			latency = true;
			error = parse_latency(parser, &class, value);
		} else if ((value = mca_parse_value(word, "uses"))) {
			error = parse_uses(parser, &class, value);
		} else if ((value = mca_parse_value(word, "advance"))) {
			error = parse_advance(parser, &class, value);
		} else if (!strcmp(word, "begin-group")) {
			class.flags |= MCA_CLASS_BEGIN_GROUP;
		} else if (!strcmp(word, "end-group")) {
			class.flags |= MCA_CLASS_END_GROUP;
		} else if (!strcmp(word, "retire-out-of-order")) {
			class.flags |= MCA_CLASS_RETIRE_OUT_OF_ORDER;
		} else {
			error = mca_parse_fail(
				parser,
				"expected uops=, latency=, uses=, advance=, begin-group, end-group "
				"or retire-out-of-order, found '%s'",
				word);
		}
	}
	if (error)
		return error;
	if (class.uses)
		qsort(&model->uses[class.use], class.uses, sizeof(*model->uses), compare_uses);
	if (!class.micro_ops && class.uses)
		return mca_parse_fail(parser, "the class %s has no micro-op, but uses resources",
				      name);
	error = mca_grow(&model->classes, model->class_count, sizeof(*model->classes));
	if (!error)
		error = mca_grow(&model->identities, model->class_count,
				 sizeof(*model->identities));
	if (error)
		return error;
	error = mca_table_add(&parser->classes, name, model->class_count);
	if (error)
		return error;
	parser->current = model->class_count;
	parser->opened = true;
	model->identities[model->class_count] = (struct mca_identity){.name = name,
								      .costs = model->class_count,
								      .entry = model->class_count,
								      .whole = model->class_count};
	model->classes[model->class_count++] = class;
	return NULL;
}

/* feature:NAME or register:OPERAND:NAME */
static struct pesa_error *parse_condition(struct mca_parser *parser, char *word)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_condition condition = {0};
	char *kind = strsep(&word, ":");
	struct pesa_error *error;

	if (!strcmp(kind, "feature") && word && *word) {
		condition.feature = word;
	} else if (!strcmp(kind, "register") && word) {
		long number;

		error = mca_parse_number(parser, "operand", strsep(&word, ":"), 0, 31, &number);
		if (error)
			return error;
		condition.operand = number;
		if (word && *word == 'x')
			*word = 'X';
		condition.reg = word ? mca_register_find(word, strlen(word)) : 0;
		if (!condition.reg)
			return mca_parse_fail(parser, "expected a register such as x0, found '%s'",
					      word ? word : "");
	} else {
		return mca_parse_fail(
			parser, "expected feature:NAME or register:OPERAND:NAME, found '%s'", kind);
	}
	error = mca_grow(&model->conditions, model->condition_count, sizeof(*model->conditions));
	if (error)
		return error;
	model->conditions[model->condition_count++] = condition;
	return NULL;
}

/* variant if CONDITION... CLASS [if ...] [else CLASS] */
struct pesa_error *mca_parse_variant(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_variant variant = {.alternative = model->alternative_count};
	char *word = mca_parse_word(parser);
	struct pesa_error *error;

	if (model->variant_count >= MCA_CLASSES_MAX)
		return mca_parse_fail(parser, "more than %d variants", MCA_CLASSES_MAX);
	while (word) {
		struct mca_alternative alternative = {.condition = model->condition_count};
		bool otherwise = !strcmp(word, "else");
		int class;

		if (!otherwise && strcmp(word, "if"))
			return mca_parse_fail(parser, "expected if or else, found '%s'", word);
		word = mca_parse_word(parser);
		while (!otherwise && word && strchr(word, ':')) {
			error = parse_condition(parser, word);
			if (error)
				return error;
			alternative.conditions++;
			word = mca_parse_word(parser);
		}
		if (!word)
			return mca_parse_fail(parser, "expected the name of a class");
		class = mca_parse_find_class(parser, word);
		if (class < 0 && strcmp(word, "unsupported"))
			return mca_parse_fail(parser, "expected a class defined above, found '%s'",
					      word);
		alternative.class = class < 0 ? MCA_CLASS_UNSUPPORTED : class;
		error = mca_grow(&model->alternatives, model->alternative_count,
				 sizeof(*model->alternatives));
		if (error)
			return error;
		model->alternatives[model->alternative_count++] = alternative;
		variant.alternatives++;
		word = mca_parse_word(parser);
		if (otherwise && word)
			return mca_parse_fail(parser, "else must come last, found '%s' after it",
					      word);
	}
	if (!variant.alternatives)
		return mca_parse_fail(parser,
				      "expected 'variant if CONDITION... CLASS ... else CLASS'");
	error = mca_grow(&model->variants, model->variant_count, sizeof(*model->variants));
	if (error)
		return error;
	parser->current = MCA_CLASS_VARIANT | model->variant_count;
	model->variants[model->variant_count++] = variant;
	return NULL;
}
