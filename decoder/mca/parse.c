/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a processor model (Documentation/processor-model.md) to struct pesa_mca_model. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/mca/model.h"
#include "decoder/mca/registers.h"

#define MODEL_SIZE_MAX (64u << 20)
#define CLASS_UNSET    0xfffe
#define CLASSES_MAX    0x7000

/* Names to numbers: open addressing, a power of two of slots. */
struct name_table {
	const char **names;
	uint32_t *numbers;
	unsigned int size, used;
};

struct parser {
	struct pesa_mca_model *model;
	const char *file;
	unsigned int line;
	char *rest;  /* of the line */
	int current; /* class that instruction lines belong to; -1: no class line yet */
	struct name_table classes, resources, writes, processors;
	bool version, issue_width, micro_op_buffer, load_latency, mispredict_penalty;
	unsigned int opcode; /* of the last instruction; names mostly rise */
};

static struct pesa_error *fail(const struct parser *parser, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static struct pesa_error *fail(const struct parser *parser, const char *format, ...)
{
	struct pesa_error *error;
	char *message;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	if (!message)
		return pesa_error_no_memory();
	error = pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: %s", parser->file, parser->line,
				  message);
	free(message);
	return error;
}

/* Make room for one more element; false when out of memory. */
static bool grow(void *array, unsigned int count, size_t size)
{
	void **pointer = array;
	void *larger;

	if (count & (count - 1)) /* room is a power of two */
		return true;
	larger = realloc(*pointer, (count ? 2 * (size_t)count : 1) * size);
	if (!larger)
		return false;
	*pointer = larger;
	return true;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash;
}

/* The slot of a name: the one it is in, or the free one where it belongs. */
static unsigned int name_slot(const struct name_table *table, const char *name)
{
	unsigned int slot = hash_name(name) & (table->size - 1);

	while (table->names[slot] && strcmp(table->names[slot], name))
		slot = (slot + 1) & (table->size - 1);
	return slot;
}

static int name_find(const struct name_table *table, const char *name)
{
	unsigned int slot;

	if (!table->size)
		return -1;
	slot = name_slot(table, name);
	return table->names[slot] ? (int)table->numbers[slot] : -1;
}

static bool name_add(struct name_table *table, const char *name, uint32_t number)
{
	unsigned int slot;

	if (2 * (table->used + 1) > table->size) {
		struct name_table larger = {.size = table->size ? 2 * table->size : 64};

		larger.names = calloc(larger.size, sizeof(*larger.names));
		larger.numbers = calloc(larger.size, sizeof(*larger.numbers));
		if (!larger.names || !larger.numbers) {
			free(larger.names);
			free(larger.numbers);
			return false;
		}
		for (unsigned int i = 0; i < table->size; i++)
			if (table->names[i])
				name_add(&larger, table->names[i], table->numbers[i]);
		free(table->names);
		free(table->numbers);
		*table = larger;
	}
	slot = name_slot(table, name);
	table->names[slot] = name;
	table->numbers[slot] = number;
	table->used++;
	return true;
}

static void name_free(struct name_table *table)
{
	free(table->names);
	free(table->numbers);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line, or NULL. */
static char *next_word(struct parser *parser)
{
	char *word = parser->rest;

	while (is_blank(*word))
		word++;
	if (!*word)
		return NULL;
	for (parser->rest = word; *parser->rest && !is_blank(*parser->rest);)
		parser->rest++;
	if (*parser->rest)
		*parser->rest++ = '\0';
	return word;
}

/* If `word` is "key=value", the value. */
static char *value_of(char *word, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(word, key, length) && word[length] == '=' ? word + length + 1 : NULL;
}

static struct pesa_error *parse_number(const struct parser *parser, const char *what,
				       const char *text, long minimum, long maximum, long *value)
{
	char *end;
	long number;

	errno = 0;
	number = text ? strtol(text, &end, 10) : 0;
	if (!text || end == text || *end)
		return fail(parser, "expected a number for %s, found '%s'", what,
			    text ? text : "the end of the line");
	if (errno || number < minimum || number > maximum)
		return fail(parser, "%s is %s; it must be between %ld and %ld", what, text, minimum,
			    maximum);
	*value = number;
	return NULL;
}

static struct pesa_error *end_of_line(struct parser *parser)
{
	char *word = next_word(parser);

	return word ? fail(parser, "expected the end of the line, found '%s'", word) : NULL;
}

static struct pesa_error *parse_setting(struct parser *parser, const char *key)
{
	struct pesa_mca_model *model = parser->model;
	const struct {
		const char *key;
		unsigned int *value;
		long minimum, maximum;
		bool *seen;
	} settings[] = {
		{"issue-width", &model->issue_width, 1, 64, &parser->issue_width},
		{"micro-op-buffer", &model->micro_op_buffer, 0, 65535, &parser->micro_op_buffer},
		{"load-latency", &model->load_latency, 0, 65535, &parser->load_latency},
		{"mispredict-penalty", &model->mispredict_penalty, 0, 65535,
		 &parser->mispredict_penalty},
		{"reorder-buffer", &model->reorder_buffer, 1, 65535, NULL},
		{"retire-width", &model->retire_width, 1, 65535, NULL},
		{"load-queue", &model->load_queue, 1, 65535, NULL},
		{"store-queue", &model->store_queue, 1, 65535, NULL},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct pesa_error *error;
		long value;

		if (strcmp(settings[i].key, key))
			continue;
		if (settings[i].seen ? *settings[i].seen : *settings[i].value != 0)
			return fail(parser, "%s is given twice", key);
		error = parse_number(parser, key, next_word(parser), settings[i].minimum,
				     settings[i].maximum, &value);
		if (error)
			return error;
		*settings[i].value = value;
		if (settings[i].seen)
			*settings[i].seen = true;
		return end_of_line(parser);
	}
	return fail(parser,
		    "expected processor, issue-width, micro-op-buffer, resource, group, "
		    "class, variant, unsupported or another keyword, found '%s'",
		    key);
}

static struct pesa_error *parse_processor(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_mca_processor *processor;
	char *name = next_word(parser), *isa = next_word(parser), *word;
	const char **tuning = NULL;
	unsigned int count = 0;

	if (!name || !isa)
		return fail(parser, "expected 'processor NAME ISA [FEATURE...]'");
	if (name_find(&parser->processors, name) >= 0)
		return fail(parser, "the processor %s is defined twice", name);
	if (!grow(&model->processors, model->processor_count, sizeof(*model->processors)) ||
	    !name_add(&parser->processors, name, model->processor_count))
		return pesa_error_no_memory();
	while ((word = next_word(parser))) {
		if (!grow(&tuning, count, sizeof(*tuning))) {
			free(tuning);
			return pesa_error_no_memory();
		}
		tuning[count++] = word;
	}
	processor = &model->processors[model->processor_count++];
	*processor = (struct pesa_mca_processor){
		.name = name,
		.isa = strcmp(isa, "-") ? isa : NULL,
		.tuning = tuning,
		.tunings = count,
	};
	return NULL;
}

/* A resource or group line up to its name; buffers and the rest are for the caller. */
static struct pesa_error *add_resource(struct parser *parser, struct pesa_mca_resource **resource)
{
	struct pesa_mca_model *model = parser->model;
	char *name = next_word(parser);

	if (!name)
		return fail(parser, "expected the name of a resource");
	if (name_find(&parser->resources, name) >= 0)
		return fail(parser, "the resource %s is defined twice", name);
	if (model->class_count)
		return fail(parser, "resources must be defined before the first class");
	if (model->resource_count >= MCA_RESOURCES_MAX)
		return fail(parser, "more than %d resources and groups", MCA_RESOURCES_MAX);
	if (!grow(&model->resources, model->resource_count, sizeof(*model->resources)) ||
	    !grow(&model->super, model->resource_count, sizeof(*model->super)) ||
	    !name_add(&parser->resources, name, model->resource_count))
		return pesa_error_no_memory();
	model->super[model->resource_count] = -1;
	*resource = &model->resources[model->resource_count++];
	**resource = (struct pesa_mca_resource){.name = name, .buffer = -1};
	return NULL;
}

static struct pesa_error *parse_resource(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_mca_resource *resource;
	struct pesa_error *error = add_resource(parser, &resource);
	char *word, *value;
	long number;

	if (error)
		return error;
	resource->units = 1;
	while ((word = next_word(parser))) {
		if ((value = value_of(word, "units"))) {
			error = parse_number(parser, "units", value, 1, MCA_UNITS_MAX - 1, &number);
			if (error)
				return error;
			resource->units = number;
		} else if ((value = value_of(word, "buffer"))) {
			error = parse_number(parser, "buffer", value, -1, 65535, &number);
			if (error)
				return error;
			resource->buffer = number;
		} else if ((value = value_of(word, "super"))) {
			/* May be defined later: kept as a name until the end. */
			resource->member = NULL;
			model->super[model->resource_count - 1] = (int)(value - model->text);
		} else {
			return fail(parser, "expected units=, buffer= or super=, found '%s'", word);
		}
	}
	return NULL;
}

/* Members are kept as offsets into the text until the end, since they may be defined later. */
static struct pesa_error *parse_group(struct parser *parser)
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
	while ((word = next_word(parser))) {
		if ((value = value_of(word, "buffer"))) {
			error = parse_number(parser, "buffer", value, -1, 65535, &number);
			if (error)
				return error;
			resource->buffer = number;
			continue;
		}
		members = (unsigned int *)resource->member;
		if (!grow(&members, resource->members, sizeof(*members)))
			return pesa_error_no_memory();
		resource->member = members;
		members[resource->members++] = word - model->text;
	}
	if (!resource->members)
		return fail(parser, "the group %s has no members", resource->name);
	return NULL;
}

/* Names of super resources and members to indices; masks. */
static struct pesa_error *resolve_resources(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	unsigned int bit = 0;

	for (unsigned int i = 0; i < model->resource_count; i++) {
		struct pesa_mca_resource *resource = &model->resources[i];

		if (model->super[i] >= 0) {
			const char *name = model->text + model->super[i];
			int super = name_find(&parser->resources, name);

			if (super < 0 || model->resources[super].group)
				return fail(parser, "%s is part of %s, which is no resource",
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
				return fail(parser, "%s is part of itself",
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
			int index = name_find(&parser->resources, name);

			if (index < 0 || model->resources[index].group)
				return fail(parser,
					    "the group %s contains %s, which is no resource",
					    resource->name, name);
			if (model->masks[i] & model->masks[index])
				return fail(parser, "the group %s contains %s twice",
					    resource->name, name);
			member[j] = index;
			model->masks[i] |= model->masks[index];
			resource->units += model->resources[index].units;
		}
	}
	return NULL;
}

static struct pesa_error *write_number(struct parser *parser, const char *name, uint16_t *number)
{
	struct pesa_mca_model *model = parser->model;
	int found = name_find(&parser->writes, name);

	if (found < 0) {
		if (!model->write_name_count)
			model->write_name_count = 1; /* 0 stands for none */
		if (model->write_name_count >= UINT16_MAX)
			return fail(parser, "more than %d names of writes", UINT16_MAX);
		found = model->write_name_count++;
		if (!name_add(&parser->writes, name, found))
			return pesa_error_no_memory();
	}
	*number = found;
	return NULL;
}

/* latency=CYCLES[:NAME],... */
static struct pesa_error *parse_latency(struct parser *parser, struct mca_class *class, char *value)
{
	struct pesa_mca_model *model = parser->model;

	for (char *item; (item = strsep(&value, ","));) {
		char *name = strchr(item, ':');
		struct pesa_error *error;
		struct mca_write write = {0};
		long number;

		if (name)
			*name++ = '\0';
		error = parse_number(parser, "latency", item, 0, 32767, &number);
		if (!error && name)
			error = write_number(parser, name, &write.name);
		if (error)
			return error;
		write.latency = number;
		if (class->writes == UINT8_MAX)
			return fail(parser, "a class has more than %d latencies", UINT8_MAX);
		if (!grow(&model->writes, model->write_count, sizeof(*model->writes)))
			return pesa_error_no_memory();
		model->writes[model->write_count++] = write;
		class->writes++;
	}
	return NULL;
}

/* Add cycles of a resource to a class; one that it uses already is used for longer. */
static struct pesa_error *add_use(struct parser *parser, struct mca_class *class,
				  struct pesa_mca_use use)
{
	struct pesa_mca_model *model = parser->model;

	for (unsigned int i = 0; i < class->uses; i++) {
		struct pesa_mca_use *other = &model->uses[class->use + i];

		if (other->resource == use.resource) {
			other->release += use.release;
			return NULL;
		}
	}
	if (!grow(&model->uses, model->use_count, sizeof(*model->uses)))
		return pesa_error_no_memory();
	model->uses[model->use_count++] = use;
	class->uses++;
	return NULL;
}

/*
 * A use of a resource is also one of the resources it is part of and of the groups that contain it;
 * a use of a group is one of the groups that contain all its members.
 */
static struct pesa_error *expand_use(struct parser *parser, struct mca_class *class,
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
static struct pesa_error *parse_uses(struct parser *parser, struct mca_class *class, char *value)
{
	for (char *item; (item = strsep(&value, ","));) {
		char *cycles = strchr(item, ':'), *release;
		struct pesa_mca_use use = {.release = 1};
		struct pesa_error *error = NULL;
		long number;
		int index;

		if (cycles)
			*cycles++ = '\0';
		index = name_find(&parser->resources, item);
		if (index < 0)
			return fail(parser, "expected the name of a resource, found '%s'", item);
		use.resource = index;
		if (cycles) {
			release = strchr(cycles, '-');
			if (release) {
				*release++ = '\0';
				error = parse_number(parser, "acquire cycle", cycles, 0, 32767,
						     &number);
				if (error)
					return error;
				use.acquire = number;
			} else {
				release = cycles;
			}
			error = parse_number(parser, "release cycle", release, 0, 32767, &number);
			if (error)
				return error;
			use.release = number;
			if (use.release < use.acquire)
				return fail(parser, "%s is released before it is acquired", item);
		}
		error = expand_use(parser, class, use);
		if (error)
			return error;
	}
	return NULL;
}

/* advance=OPERAND:CYCLES[:WRITE,...] */
static struct pesa_error *parse_advance(struct parser *parser, struct mca_class *class, char *value)
{
	struct pesa_mca_model *model = parser->model;
	char *operand = strsep(&value, ":"), *cycles = strsep(&value, ":");
	struct mca_advance advance = {0};
	struct pesa_error *error;
	long number;

	error = parse_number(parser, "operand", operand, 0, 31, &number);
	if (error)
		return error;
	advance.operand = number;
	error = parse_number(parser, "read advance", cycles, -4096, 4096, &number);
	if (error)
		return error;
	advance.cycles = number;
	if (class->advances && model->advances[model->advance_count - 1].operand > advance.operand)
		return fail(parser, "read advances must be in the order of the operands");
	do {
		char *name = strsep(&value, ",");

		if (name) {
			error = write_number(parser, name, &advance.write);
			if (error)
				return error;
		}
		if (!grow(&model->advances, model->advance_count, sizeof(*model->advances)))
			return pesa_error_no_memory();
		model->advances[model->advance_count++] = advance;
		if (class->advances++ == UINT16_MAX)
			return fail(parser, "a class has too many read advances");
	} while (value);
	return NULL;
}

static struct pesa_error *parse_class(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	char *name = next_word(parser), *word, *value;
	struct pesa_error *error = NULL;
	struct mca_class class = {
		.write = model->write_count,
		.use = model->use_count,
		.advance = model->advance_count,
	};
	bool latency = false;
	long number;

	if (!name)
		return fail(parser, "expected the name of the class");
	if (name_find(&parser->classes, name) >= 0)
		return fail(parser, "the class %s is defined twice", name);
	if (model->class_count >= CLASSES_MAX)
		return fail(parser, "more than %d classes", CLASSES_MAX);
	if (!model->class_count) {
		error = resolve_resources(parser);
		if (error)
			return error;
	}
	while (!error && (word = next_word(parser))) {
		if ((value = value_of(word, "uops"))) {
			error = parse_number(parser, "uops", value, 0, 8190, &number);
			class.micro_ops = error ? 0 : number;
		} else if ((value = value_of(word, "latency"))) {
			if (latency)
				return fail(parser, "latency= is given twice");
			latency = true;
			error = parse_latency(parser, &class, value);
		} else if ((value = value_of(word, "uses"))) {
			error = parse_uses(parser, &class, value);
		} else if ((value = value_of(word, "advance"))) {
			error = parse_advance(parser, &class, value);
		} else if (!strcmp(word, "begin-group")) {
			class.flags |= MCA_CLASS_BEGIN_GROUP;
		} else if (!strcmp(word, "end-group")) {
			class.flags |= MCA_CLASS_END_GROUP;
		} else if (!strcmp(word, "retire-out-of-order")) {
			class.flags |= MCA_CLASS_RETIRE_OUT_OF_ORDER;
		} else {
			error = fail(parser,
				     "expected uops=, latency=, uses=, advance=, begin-group, "
				     "end-group or retire-out-of-order, found '%s'",
				     word);
		}
	}
	if (error)
		return error;
	if (class.uses)
		qsort(&model->uses[class.use], class.uses, sizeof(*model->uses), compare_uses);
	if (!class.micro_ops && class.uses)
		return fail(parser, "the class %s has no micro-op, but uses resources", name);
	if (!grow(&model->classes, model->class_count, sizeof(*model->classes)) ||
	    !grow(&model->class_names, model->class_count, sizeof(*model->class_names)) ||
	    !name_add(&parser->classes, name, model->class_count))
		return pesa_error_no_memory();
	parser->current = model->class_count;
	model->class_names[model->class_count] = name;
	model->classes[model->class_count++] = class;
	return NULL;
}

/* feature:NAME or register:OPERAND:NAME */
static struct pesa_error *parse_condition(struct parser *parser, char *word)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_condition condition = {0};
	char *kind = strsep(&word, ":");

	if (!strcmp(kind, "feature") && word && *word) {
		condition.feature = word;
	} else if (!strcmp(kind, "register") && word) {
		struct pesa_error *error;
		long number;

		error = parse_number(parser, "operand", strsep(&word, ":"), 0, 31, &number);
		if (error)
			return error;
		condition.operand = number;
		if (word && *word == 'x')
			*word = 'X';
		condition.reg = word ? mca_register_find(word, strlen(word)) : 0;
		if (!condition.reg)
			return fail(parser, "expected a register such as x0, found '%s'",
				    word ? word : "");
	} else {
		return fail(parser, "expected feature:NAME or register:OPERAND:NAME, found '%s'",
			    kind);
	}
	if (!grow(&model->conditions, model->condition_count, sizeof(*model->conditions)))
		return pesa_error_no_memory();
	model->conditions[model->condition_count++] = condition;
	return NULL;
}

/* variant if CONDITION... CLASS [if ...] [else CLASS] */
static struct pesa_error *parse_variant(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_variant variant = {.alternative = model->alternative_count};
	char *word = next_word(parser);

	if (model->variant_count >= CLASSES_MAX)
		return fail(parser, "more than %d variants", CLASSES_MAX);
	while (word) {
		struct mca_alternative alternative = {.condition = model->condition_count};
		bool otherwise = !strcmp(word, "else");
		int class;

		if (!otherwise && strcmp(word, "if"))
			return fail(parser, "expected if or else, found '%s'", word);
		word = next_word(parser);
		while (!otherwise && word && strchr(word, ':')) {
			struct pesa_error *error = parse_condition(parser, word);

			if (error)
				return error;
			alternative.conditions++;
			word = next_word(parser);
		}
		if (!word)
			return fail(parser, "expected the name of a class");
		class = name_find(&parser->classes, word);
		if (class < 0 && strcmp(word, "unsupported"))
			return fail(parser, "expected a class defined above, found '%s'", word);
		alternative.class = class < 0 ? MCA_CLASS_UNSUPPORTED : class;
		if (!grow(&model->alternatives, model->alternative_count,
			  sizeof(*model->alternatives)))
			return pesa_error_no_memory();
		model->alternatives[model->alternative_count++] = alternative;
		variant.alternatives++;
		word = next_word(parser);
		if (otherwise && word)
			return fail(parser, "else must come last, found '%s' after it", word);
	}
	if (!variant.alternatives)
		return fail(parser, "expected 'variant if CONDITION... CLASS ... else CLASS'");
	if (!grow(&model->variants, model->variant_count, sizeof(*model->variants)))
		return pesa_error_no_memory();
	parser->current = MCA_CLASS_VARIANT | model->variant_count;
	model->variants[model->variant_count++] = variant;
	return NULL;
}

static struct pesa_error *set_class(struct parser *parser, uint16_t *class, const char *name)
{
	if (*class != CLASS_UNSET)
		return fail(parser, "%s has a class already", name);
	*class = parser->current;
	return NULL;
}

/* What is before a separator, which is overwritten; *rest goes on behind it, or is NULL at the end.
 */
static char *cut(char **rest, char separator)
{
	char *part = *rest, *end = part;

	while (*end && *end != separator)
		end++;
	*rest = *end ? end + 1 : NULL;
	*end = '\0';
	return part;
}

/* The place of "M1", "M2", "M4", "M8", "MF8", "MF4" or "MF2" in this order, or MCA_LMULS. */
static unsigned int lmul_of(const char *name)
{
	static const char wholes[] = "1248", fractions[] = "842";
	const char *digit = NULL;

	if (name[0] != 'M' || !name[1])
		return MCA_LMULS;
	if (name[1] != 'F')
		digit = name[2] ? NULL : strchr(wholes, name[1]);
	else if (name[2] && !name[3])
		digit = strchr(fractions, name[2]);
	if (!digit)
		return MCA_LMULS;
	return name[1] == 'F' ? 4 + (digit - fractions) : digit - wholes;
}

/* The place of "", "E8", "E16", "E32" or "E64", or MCA_SEWS. */
static unsigned int sew_of(const char *name)
{
	static const char *const sews[MCA_SEWS] = {"", "E8", "E16", "E32", "E64"};
	unsigned int sew = *name != '\0';

	while (sew && sew < MCA_SEWS && strcmp(sews[sew], name))
		sew++;
	return sew;
}

/* OPCODE, or OPCODE@LMUL[/eSEW...][,LMUL...] */
static struct pesa_error *parse_instruction(struct parser *parser, char *word)
{
	struct pesa_mca_model *model = parser->model;
	char *suffix = word, *group;
	uint16_t **vector;
	int opcode;

	if (parser->current < 0)
		return fail(parser, "instructions before the first class");
	cut(&suffix, '@');
	opcode = mca_opcode_find_near(word, parser->opcode);
	if (opcode < 0)
		return fail(parser, "'%s' is no instruction (names are those of LLVM's records)",
			    word);
	parser->opcode = opcode;
	if (!suffix)
		return set_class(parser, &model->opcode_class[opcode], word);
	vector = &model->vector_class[opcode];
	if (!*vector) {
		*vector = malloc(MCA_LMULS * MCA_SEWS * sizeof(**vector));
		if (!*vector)
			return pesa_error_no_memory();
		for (unsigned int i = 0; i < MCA_LMULS * MCA_SEWS; i++)
			(*vector)[i] = CLASS_UNSET;
	}
	while (suffix) {
		const char *name;
		unsigned int lmul;

		group = cut(&suffix, ',');
		name = cut(&group, '/');
		lmul = lmul_of(name);
		if (lmul == MCA_LMULS)
			return fail(parser, "expected M1, M2, M4, M8, MF2, MF4 or MF8, found '%s'",
				    name);
		do {
			const char *width = group ? cut(&group, '/') : "";
			unsigned int sew = sew_of(width);
			struct pesa_error *error;

			if (sew == MCA_SEWS)
				return fail(parser, "expected E8, E16, E32 or E64, found '%s'",
					    width);
			error = set_class(parser, &(*vector)[lmul * MCA_SEWS + sew], word);
			if (error)
				return error;
		} while (group);
	}
	return NULL;
}

static struct pesa_error *parse_line(struct parser *parser, char *line)
{
	struct pesa_mca_model *model = parser->model;
	char *word;

	parser->rest = line;
	if (*line == '\t' || *line == ' ') {
		while ((word = next_word(parser))) {
			struct pesa_error *error = parse_instruction(parser, word);

			if (error)
				return error;
		}
		return NULL;
	}
	word = next_word(parser);
	if (!word)
		return NULL;
	if (!parser->version) {
		char *version = next_word(parser);

		if (strcmp(word, "pesa-processor-model") || !version || strcmp(version, "1"))
			return fail(parser, "expected 'pesa-processor-model 1', found '%s%s%s'",
				    word, version ? " " : "", version ? version : "");
		parser->version = true;
		return end_of_line(parser);
	}
	if (!strcmp(word, "name")) {
		if (model->name)
			return fail(parser, "the name is given twice");
		model->name = next_word(parser);
		return model->name ? end_of_line(parser) : fail(parser, "expected a name");
	}
	if (!strcmp(word, "processor"))
		return parse_processor(parser);
	if (!strcmp(word, "resource"))
		return parse_resource(parser);
	if (!strcmp(word, "group"))
		return parse_group(parser);
	if (!strcmp(word, "class"))
		return parse_class(parser);
	if (!strcmp(word, "variant"))
		return parse_variant(parser);
	if (!strcmp(word, "unsupported")) {
		parser->current = MCA_CLASS_UNSUPPORTED;
		return end_of_line(parser);
	}
	return parse_setting(parser, word);
}

/* What must be there, and what was left open. */
static struct pesa_error *finish(struct parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	const char *missing = !parser->version		 ? "pesa-processor-model"
			      : !model->name		 ? "name"
			      : !model->processor_count	 ? "processor"
			      : !parser->issue_width	 ? "issue-width"
			      : !parser->micro_op_buffer ? "micro-op-buffer"
			      : !model->class_count	 ? "class"
							 : NULL;

	if (missing)
		return fail(parser, "the file ends without a line '%s'", missing);
	if (model->micro_op_buffer <= 1 && (model->reorder_buffer || model->retire_width))
		return fail(parser,
			    "reorder-buffer and retire-width contradict micro-op-buffer %u, "
			    "which means in-order",
			    model->micro_op_buffer);
	/* A model may do without any of these; their addresses are taken all the same. */
	if ((!model->advances && !grow(&model->advances, 0, sizeof(*model->advances))) ||
	    (!model->writes && !grow(&model->writes, 0, sizeof(*model->writes))) ||
	    (!model->uses && !grow(&model->uses, 0, sizeof(*model->uses))))
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < mca_opcode_count; i++) {
		uint16_t *vector = model->vector_class[i];

		if (model->opcode_class[i] == CLASS_UNSET)
			model->opcode_class[i] = MCA_CLASS_UNSUPPORTED;
		for (unsigned int j = 0; vector && j < MCA_LMULS * MCA_SEWS; j++)
			if (vector[j] == CLASS_UNSET)
				vector[j] = j % MCA_SEWS ? vector[j - j % MCA_SEWS]
							 : model->opcode_class[i];
	}
	return NULL;
}

struct pesa_error *pesa_mca_model_parse(const char *name, const char *text, size_t size,
					struct pesa_mca_model **model)
{
	struct parser parser = {.file = name, .current = -1};
	struct pesa_error *error = NULL;
	char *line, *end;

	if (size > MODEL_SIZE_MAX)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s: a processor model of %zu bytes is too large", name,
					 size);
	parser.model = calloc(1, sizeof(*parser.model));
	if (!parser.model)
		return pesa_error_no_memory();
	parser.model->text = malloc(size + 1);
	parser.model->opcode_class = malloc(mca_opcode_count * sizeof(uint16_t));
	parser.model->vector_class = calloc(mca_opcode_count, sizeof(uint16_t *));
	if (!parser.model->text || !parser.model->opcode_class || !parser.model->vector_class) {
		pesa_mca_model_free(parser.model);
		return pesa_error_no_memory();
	}
	memcpy(parser.model->text, text, size);
	parser.model->text[size] = '\0';
	for (unsigned int i = 0; i < mca_opcode_count; i++)
		parser.model->opcode_class[i] = CLASS_UNSET;
	for (line = parser.model->text, end = line + size; line < end && !error;) {
		char *next = memchr(line, '\n', end - line);

		parser.line++;
		if (!next)
			next = end;
		*next = '\0';
		if (strlen(line) != (size_t)(next - line))
			error = fail(&parser, "there is a NUL character in this line");
		else if (*line != '#')
			error = parse_line(&parser, line);
		line = next + 1;
	}
	if (!error)
		error = finish(&parser);
	name_free(&parser.classes);
	name_free(&parser.resources);
	name_free(&parser.writes);
	name_free(&parser.processors);
	if (error) {
		/* Members are still text offsets then, which freeing does not look at. */
		pesa_mca_model_free(parser.model);
		return error;
	}
	*model = parser.model;
	return NULL;
}

struct pesa_error *pesa_mca_model_load(const char *path, struct pesa_mca_model **model)
{
	struct pesa_error *error;
	struct stat status;
	size_t size = 0;
	char *text;
	int file = open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0)
		return pesa_error_system(errno, "%s: cannot open the processor model", path);
	if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_size > MODEL_SIZE_MAX) {
		close(file);
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: not a processor model", path);
	}
	text = malloc(status.st_size + 1);
	while (text && size < (size_t)status.st_size) {
		ssize_t part = read(file, text + size, status.st_size - size);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0) {
			error = pesa_error_system(errno, "%s: cannot read", path);
			free(text);
			close(file);
			return error;
		}
		if (!part)
			break;
		size += part;
	}
	close(file);
	if (!text)
		return pesa_error_no_memory();
	error = pesa_mca_model_parse(path, text, size, model);
	free(text);
	return error;
}
