/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing the text of a processor model: the state of the parser, shared by its parts.
 *
 * parse.c reads lines, and parses those that list instructions.  parse_resource.c, parse_class.c and
 * parse_write.c parse the lines of resources, of classes, and of LLVM's names for classes.
 * parse_words.c splits lines into words.  Errors name the file, the line, and the expected input.
 */
#ifndef PESA_MCA_PARSE_H
#define PESA_MCA_PARSE_H

#include "decoder/base/hash_index.h"
#include "decoder/mca/model/model.h"

#define MCA_CLASSES_MAX 0x7000

/* Names to numbers. */
struct mca_name_table {
	struct mca_numbered_name {
		const char *name;
		uint32_t number;
	} * entry;
	uint32_t room;
	struct hash_index index;
};

/* A line `set`: a change of the model that the other lines define. */
struct mca_set {
	const char *change;
	unsigned int line;
};

struct mca_parser {
	struct pesa_mca_model *model;
	const char *file;
	unsigned int line;
	char *rest;  /* the rest of the line */
	int current; /* class of the following instruction lines; -1: no class line yet */
	bool opened; /* the last line `class` has neither instructions nor a line `write` yet */
	struct mca_name_table classes, entries, resources, writes, processors;
	bool version, ended, issue_width, micro_op_buffer, load_latency, mispredict_penalty;
	struct mca_set *sets;
	unsigned int set_count;
	unsigned int opcode; /* of the last instruction; names are mostly sorted */
};

struct pesa_error *mca_parse_fail(const struct mca_parser *parser, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make room for one more element. */
struct pesa_error *mca_grow(void *array, unsigned int count, size_t size);

/* The number of a name, or -1; the table does not copy names.  A name is added once. */
int mca_table_find(const struct mca_name_table *table, const char *name);
struct pesa_error *mca_table_add(struct mca_name_table *table, const char *name, uint32_t number);
void mca_table_free(struct mca_name_table *table);

/* The next word of the line, or NULL. */
char *mca_parse_word(struct mca_parser *parser);
/* If `word` is "key=value", the value. */
char *mca_parse_value(char *word, const char *key);
struct pesa_error *mca_parse_number(const struct mca_parser *parser, const char *what,
				    const char *text, long minimum, long maximum, long *value);
/* Check that the line has no further words. */
struct pesa_error *mca_parse_end(struct mca_parser *parser);

/* Parse a line, after its keyword. */
struct pesa_error *mca_parse_resource(struct mca_parser *parser);
struct pesa_error *mca_parse_group(struct mca_parser *parser);
struct pesa_error *mca_parse_class(struct mca_parser *parser);
struct pesa_error *mca_parse_write(struct mca_parser *parser);
struct pesa_error *mca_parse_read(struct mca_parser *parser);
struct pesa_error *mca_parse_variant(struct mca_parser *parser);

/* The class that a word names, NAME of a line `class` or NAME/WRITE; -1: none. */
int mca_parse_find_class(const struct mca_parser *parser, char *word);

/* Link resources and groups, once all of them are defined. */
struct pesa_error *mca_parse_resolve(struct mca_parser *parser);

#endif
