/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing the text of a processor model (Documentation/processor-model.md) into struct
 * pesa_mca_model. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/distinct.h"
#include "decoder/mca/model/parse.h"
#include "decoder/mca/model/registers.h"

#define MODEL_SIZE_MAX (64u << 20)
#define CLASS_UNSET    0xfffe

static struct pesa_error *parse_setting(struct mca_parser *parser, const char *key)
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
			return mca_parse_fail(parser, "%s is given twice", key);
		error = mca_parse_number(parser, key, mca_parse_word(parser), settings[i].minimum,
					 settings[i].maximum, &value);
		if (error)
			return error;
		*settings[i].value = value;
		if (settings[i].seen)
			*settings[i].seen = true;
		return mca_parse_end(parser);
	}
	return mca_parse_fail(
		parser,
		"expected processor, issue-width, micro-op-buffer, resource, group, "
		"class, write, read, variant, unsupported, set or another keyword, found '%s'",
		key);
}

static struct pesa_error *check_isa(const struct mca_parser *parser, const char *string)
{
	struct pesa_error *error = pesa_isa_check(string), *placed;

	if (!error)
		return NULL;
	placed = mca_parse_fail(parser, "%s", error->message);
	pesa_error_free(error);
	return placed;
}

static struct pesa_error *parse_processor(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_mca_processor *processor;
	char *name = mca_parse_word(parser), *isa = mca_parse_word(parser), *word;
	struct pesa_error *error = NULL;
	const char **tuning = NULL;
	unsigned int count = 0;

	if (!name || !isa)
		return mca_parse_fail(parser, "expected 'processor NAME ISA [FEATURE...]'");
	if (mca_table_find(&parser->processors, name) >= 0)
		return mca_parse_fail(parser, "the processor %s is defined twice", name);
	if (strcmp(isa, "-"))
		error = check_isa(parser, isa);
	if (error)
		return error;
	error = mca_grow(&model->processors, model->processor_count, sizeof(*model->processors));
	if (error)
		return error;
	error = mca_table_add(&parser->processors, name, model->processor_count);
	if (error)
		return error;
	while ((word = mca_parse_word(parser))) {
		error = mca_grow(&tuning, count, sizeof(*tuning));
		if (error) {
			free(tuning);
			return error;
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

static struct pesa_error *parse_set(struct mca_parser *parser)
{
	char *change = mca_parse_word(parser);
	struct pesa_error *error;

	if (!change)
		return mca_parse_fail(parser, "expected 'set NAME.WHAT=NUMBER'");
	error = mca_grow(&parser->sets, parser->set_count, sizeof(*parser->sets));
	if (error)
		return error;
	parser->sets[parser->set_count++] =
		(struct mca_set){.change = change, .line = parser->line};
	parser->current = -1;
	return mca_parse_end(parser);
}

/* Apply the changes of the lines `set` to the complete model, in their order. */
static struct pesa_error *apply_sets(struct mca_parser *parser)
{
	struct pesa_error *error = NULL, *placed;

	for (unsigned int i = 0; i < parser->set_count && !error; i++) {
		parser->line = parser->sets[i].line;
		error = pesa_mca_model_change(parser->model, parser->sets[i].change, NULL);
	}
	if (!error || error->code == PESA_ERROR_NO_MEMORY)
		return error;
	placed = mca_parse_fail(parser, "%s", error->message);
	pesa_error_free(error);
	return placed;
}

static struct pesa_error *set_class(struct mca_parser *parser, uint16_t *class, const char *name)
{
	if (*class != CLASS_UNSET)
		return mca_parse_fail(parser, "%s has a class already", name);
	*class = parser->current;
	return NULL;
}

/* Returns the text before a separator, which is overwritten; *rest is the text after it, or NULL at
 * the end. */
static char *cut(char **rest, char separator)
{
	char *part = *rest, *end = part;

	while (*end && *end != separator)
		end++;
	*rest = *end ? end + 1 : NULL;
	*end = '\0';
	return part;
}

/* Index of "M1", "M2", "M4", "M8", "MF8", "MF4" or "MF2" in this order, or MCA_LMULS. */
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

/* Index of "", "E8", "E16", "E32" or "E64", or MCA_SEWS. */
static unsigned int sew_of(const char *name)
{
	static const char *const sews[MCA_SEWS] = {"", "E8", "E16", "E32", "E64"};
	unsigned int sew = *name != '\0';

	while (sew && sew < MCA_SEWS && strcmp(sews[sew], name))
		sew++;
	return sew;
}

/* OPCODE, or OPCODE@LMUL[/eSEW...][,LMUL...] */
static struct pesa_error *parse_instruction(struct mca_parser *parser, char *word)
{
	struct pesa_mca_model *model = parser->model;
	char *suffix = word, *group;
	uint16_t *vector;
	int opcode;

	if (parser->current < 0)
		return mca_parse_fail(parser, "instructions before the first class");
	cut(&suffix, '@');
	opcode = mca_opcode_find_near(word, parser->opcode);
	if (opcode < 0)
		return mca_parse_fail(
			parser, "'%s' is no instruction (names are those of LLVM's records)", word);
	parser->opcode = opcode;
	if (!suffix)
		return set_class(parser, &model->opcode_class[opcode], word);
	if (!model->vector_row[opcode]) {
		struct pesa_error *error = mca_grow(&model->vector_class, model->vector_rows,
						    sizeof(*model->vector_class));

		if (error)
			return error;
		model->vector_row[opcode] = (uint16_t)++model->vector_rows;
		vector = mca_model_vector(model, opcode);
		for (unsigned int i = 0; i < MCA_LMULS * MCA_SEWS; i++)
			vector[i] = CLASS_UNSET;
	}
	vector = mca_model_vector(model, opcode);
	while (suffix) {
		const char *name;
		unsigned int lmul;

		group = cut(&suffix, ',');
		name = cut(&group, '/');
		lmul = lmul_of(name);
		if (lmul == MCA_LMULS)
			return mca_parse_fail(
				parser, "expected M1, M2, M4, M8, MF2, MF4 or MF8, found '%s'",
				name);
		do {
			const char *width = group ? cut(&group, '/') : "";
			unsigned int sew = sew_of(width);
			struct pesa_error *error;

			if (sew == MCA_SEWS)
				return mca_parse_fail(
					parser, "expected E8, E16, E32 or E64, found '%s'", width);
			error = set_class(parser, &vector[lmul * MCA_SEWS + sew], word);
			if (error)
				return error;
		} while (group);
	}
	return NULL;
}

static struct pesa_error *parse_line(struct mca_parser *parser, char *line)
{
	struct pesa_mca_model *model = parser->model;
	char *word;

	parser->rest = line;
	if ((*line == '\t' || *line == ' ') && !parser->ended) {
		parser->opened = false;
		while ((word = mca_parse_word(parser))) {
			struct pesa_error *error = parse_instruction(parser, word);

			if (error)
				return error;
		}
		return NULL;
	}
	word = mca_parse_word(parser);
	if (!word)
		return NULL;
	if (parser->ended)
		return mca_parse_fail(parser, "found '%s' behind the line 'end'", word);
	if (!parser->version) {
		char *version = mca_parse_word(parser);

		if (strcmp(word, "pesa-processor-model") || !version || strcmp(version, "1"))
			return mca_parse_fail(parser,
					      "expected 'pesa-processor-model 1', found '%s%s%s'",
					      word, version ? " " : "", version ? version : "");
		parser->version = true;
		return mca_parse_end(parser);
	}
	if (!strcmp(word, "name")) {
		if (model->name)
			return mca_parse_fail(parser, "the name is given twice");
		model->name = mca_parse_word(parser);
		return model->name ? mca_parse_end(parser)
				   : mca_parse_fail(parser, "expected a name");
	}
	if (!strcmp(word, "processor"))
		return parse_processor(parser);
	if (!strcmp(word, "resource"))
		return mca_parse_resource(parser);
	if (!strcmp(word, "group"))
		return mca_parse_group(parser);
	if (!strcmp(word, "class"))
		return mca_parse_class(parser);
	if (!strcmp(word, "write"))
		return mca_parse_write(parser);
	if (!strcmp(word, "read"))
		return mca_parse_read(parser);
	if (!strcmp(word, "variant"))
		return mca_parse_variant(parser);
	if (!strcmp(word, "unsupported")) {
		parser->current = MCA_CLASS_UNSUPPORTED;
		return mca_parse_end(parser);
	}
	if (!strcmp(word, "set"))
		return parse_set(parser);
	if (!strcmp(word, "end")) {
		parser->ended = true;
		return mca_parse_end(parser);
	}
	return parse_setting(parser, word);
}

/* Opcodes with equal classes share a row. */
static struct pesa_error *share_rows(struct pesa_mca_model *model)
{
	const size_t size = sizeof(*model->vector_class);
	struct distinct_records rows;

	distinct_records_begin(&rows, size, size);
	for (unsigned int i = 0; i < mca_opcode_count; i++) {
		const uint16_t *vector = mca_model_vector(model, i);
		uint32_t row = vector ? distinct_records_get(&rows, vector) : 0;

		if (row == DISTINCT_NONE) {
			distinct_records_free(&rows);
			return pesa_error_no_memory();
		}
		model->vector_row[i] = vector ? (uint16_t)(row + 1) : 0;
	}
	free(model->vector_class);
	model->vector_class = (mca_vector_classes *)rows.record;
	model->vector_rows = rows.index.count;
	hash_index_free(&rows.index);
	return NULL;
}

/* Check required properties, and set defaults. */
static struct pesa_error *finish(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct pesa_error *error = NULL;
	const char *missing = !parser->version		 ? "pesa-processor-model"
			      : !model->name		 ? "name"
			      : !model->processor_count	 ? "processor"
			      : !parser->issue_width	 ? "issue-width"
			      : !parser->micro_op_buffer ? "micro-op-buffer"
			      : !model->class_count	 ? "class"
			      : !parser->ended		 ? "end"
							 : NULL;

	if (missing)
		return mca_parse_fail(parser, "the file ends without a line '%s'", missing);
	if (model->micro_op_buffer <= 1 && (model->reorder_buffer || model->retire_width))
		return mca_parse_fail(
			parser,
			"reorder-buffer and retire-width contradict micro-op-buffer %u, which means in-order",
			model->micro_op_buffer);
	/* A model may have none of these; allocate them anyway, because their addresses are
	 * used. */
	if (!model->advances)
		error = mca_grow(&model->advances, 0, sizeof(*model->advances));
	if (!error && !model->writes)
		error = mca_grow(&model->writes, 0, sizeof(*model->writes));
	if (!error && !model->uses)
		error = mca_grow(&model->uses, 0, sizeof(*model->uses));
	if (error)
		return error;
	for (unsigned int i = 0; i < mca_opcode_count; i++) {
		uint16_t *vector = mca_model_vector(model, i);

		if (model->opcode_class[i] == CLASS_UNSET)
			model->opcode_class[i] = MCA_CLASS_UNSUPPORTED;
		for (unsigned int j = 0; vector && j < MCA_LMULS * MCA_SEWS; j++)
			if (vector[j] == CLASS_UNSET)
				vector[j] = j % MCA_SEWS ? vector[j - j % MCA_SEWS]
							 : model->opcode_class[i];
	}
	return share_rows(model);
}

struct pesa_error *pesa_mca_model_parse(const char *name, const char *text, size_t size,
					struct pesa_mca_model **model)
{
	struct mca_parser parser = {.file = name, .current = -1};
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
	parser.model->vector_row = calloc(mca_opcode_count, sizeof(uint16_t));
	if (!parser.model->text || !parser.model->opcode_class || !parser.model->vector_row) {
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
			error = mca_parse_fail(&parser, "there is a NUL character in this line");
		else if (*line != '#')
			error = parse_line(&parser, line);
		line = next + 1;
	}
	if (!error)
		error = finish(&parser);
	if (!error)
		error = apply_sets(&parser);
	free(parser.sets);
	mca_table_free(&parser.classes);
	mca_table_free(&parser.entries);
	mca_table_free(&parser.resources);
	mca_table_free(&parser.writes);
	mca_table_free(&parser.processors);
	if (error) {
		/* Members are still text offsets, which pesa_mca_model_free() does not read. */
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
