/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing LLVM's names for classes and for the reads of operands: see parse.h. */
#include <string.h>

#include "decoder/mca/model/parse.h"

int mca_parse_find_class(const struct mca_parser *parser, char *word)
{
	const struct pesa_mca_model *model = parser->model;
	char *write = strchr(word, '/');
	int class;

	if (!write)
		return mca_table_find(&parser->classes, word);
	*write = '\0';
	class = mca_table_find(&parser->classes, word);
	*write = '/';
	if (class < 0)
		return -1;
	for (unsigned int i = class;
	     i < model->class_count && model->identities[i].costs == (unsigned int)class; i++)
		if (model->identities[i].write && !strcmp(model->identities[i].write, write + 1))
			return (int)i;
	return -1;
}

/* Add a class with the costs of an earlier one. */
static struct pesa_error *repeat_class(struct mca_parser *parser, unsigned int costs)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_class class = model->classes[costs];
	struct pesa_error *error;

	if (model->class_count >= MCA_CLASSES_MAX)
		return mca_parse_fail(parser, "more than %d classes", MCA_CLASSES_MAX);
	class.write = model->write_count;
	for (unsigned int i = 0; i < class.writes; i++) {
		error = mca_grow(&model->writes, model->write_count, sizeof(*model->writes));
		if (error)
			return error;
		model->writes[model->write_count++] =
			model->writes[model->classes[costs].write + i];
	}
	class.use = model->use_count;
	for (unsigned int i = 0; i < class.uses; i++) {
		error = mca_grow(&model->uses, model->use_count, sizeof(*model->uses));
		if (error)
			return error;
		model->uses[model->use_count++] = model->uses[model->classes[costs].use + i];
	}
	class.advance = model->advance_count;
	for (unsigned int i = 0; i < class.advances; i++) {
		error = mca_grow(&model->advances, model->advance_count, sizeof(*model->advances));
		if (error)
			return error;
		model->advances[model->advance_count++] =
			model->advances[model->classes[costs].advance + i];
	}
	error = mca_grow(&model->classes, model->class_count, sizeof(*model->classes));
	if (!error)
		error = mca_grow(&model->identities, model->class_count,
				 sizeof(*model->identities));
	if (error)
		return error;
	model->identities[model->class_count] = (struct mca_identity){
		.name = model->identities[costs].name,
		.costs = costs,
		.entry = model->class_count,
		.whole = model->class_count,
	};
	model->classes[model->class_count++] = class;
	return NULL;
}

/* write NAME [from=FILE:LINE,...] [reads=READ,...] */
struct pesa_error *mca_parse_write(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	char *name = mca_parse_word(parser), *word, *value;
	struct mca_identity *identity;
	int entry;

	if (!name || strchr(name, '/'))
		return mca_parse_fail(parser, "expected the name of a SchedWrite");
	if (!model->class_count)
		return mca_parse_fail(parser, "'write' before the first class");
	if (!parser->opened) {
		struct pesa_error *error =
			repeat_class(parser, model->identities[model->class_count - 1].costs);

		if (error)
			return error;
	}
	parser->opened = false;
	parser->current = (int)model->class_count - 1;
	identity = &model->identities[model->class_count - 1];
	identity->write = name;
	entry = mca_table_find(&parser->entries, name);
	if (entry >= 0) {
		identity->entry = entry;
	} else {
		struct pesa_error *error = mca_table_add(&parser->entries, name, identity->entry);

		if (error)
			return error;
	}
	while ((word = mca_parse_word(parser))) {
		if ((value = mca_parse_value(word, "from")))
			identity->from = value;
		else if ((value = mca_parse_value(word, "reads")))
			identity->reads = value;
		else
			return mca_parse_fail(parser, "expected from= or reads=, found '%s'", word);
	}
	return NULL;
}

/* read NAME from=FILE:LINE,... */
struct pesa_error *mca_parse_read(struct mca_parser *parser)
{
	struct pesa_mca_model *model = parser->model;
	struct mca_read_definition read = {.name = mca_parse_word(parser)};
	char *word = read.name ? mca_parse_word(parser) : NULL;
	struct pesa_error *error;

	if (word)
		read.from = mca_parse_value(word, "from");
	if (!read.from)
		return mca_parse_fail(parser, "expected 'read NAME from=FILE:LINE'");
	error = mca_grow(&model->reads, model->read_count, sizeof(*model->reads));
	if (error)
		return error;
	model->reads[model->read_count++] = read;
	return mca_parse_end(parser);
}
