/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, numbers and names in a processor model's text: see parse.h. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/parse.h"

struct pesa_error *mca_parse_fail(const struct mca_parser *parser, const char *format, ...)
{
	struct pesa_error *error;
	va_list arguments;

	va_start(arguments, format);
	error = pesa_error_vcreate(PESA_ERROR_FORMAT, format, arguments);
	va_end(arguments);
	return pesa_error_prefix(error, "%s:%u: ", parser->file, parser->line);
}

/* Make room for one more element. */
struct pesa_error *mca_grow(void *array, unsigned int count, size_t size)
{
	void **pointer = array;
	void *larger;

	if (count & (count - 1)) /* room is a power of two */
		return NULL;
	larger = realloc(*pointer, (count ? 2 * (size_t)count : 1) * size);
	if (!larger)
		return pesa_error_no_memory();
	*pointer = larger;
	return NULL;
}

int mca_table_find(const struct mca_name_table *table, const char *name)
{
	uint32_t found;

	for (uint32_t at = hash_bytes(name, strlen(name));
	     (found = hash_index_next(&table->index, &at)) != HASH_INDEX_NONE;)
		if (!strcmp(table->entry[found].name, name))
			return (int)table->entry[found].number;
	return -1;
}

struct pesa_error *mca_table_add(struct mca_name_table *table, const char *name, uint32_t number)
{
	struct pesa_error *error = hash_index_reserve(&table->index);

	if (error)
		return error;
	if (table->room < table->index.room) {
		struct mca_numbered_name *grown =
			realloc(table->entry, table->index.room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		table->entry = grown;
		table->room = table->index.room;
	}
	table->entry[table->index.count] = (struct mca_numbered_name){name, number};
	hash_index_add(&table->index, hash_bytes(name, strlen(name)));
	return NULL;
}

void mca_table_free(struct mca_name_table *table)
{
	free(table->entry);
	hash_index_free(&table->index);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line, or NULL. */
char *mca_parse_word(struct mca_parser *parser)
{
	/* A model has hundreds of thousands of characters. */
	static const bool ends_word[UCHAR_MAX + 1] = {
		['\0'] = true, [' '] = true, ['\t'] = true, ['\r'] = true};
	char *word = parser->rest, *rest;

	while (is_blank(*word))
		word++;
	if (!*word || *word == '#') { /* a comment */
		parser->rest = word;
		return NULL;
	}
	for (rest = word; !ends_word[(unsigned char)*rest];)
		rest++;
	if (*rest)
		*rest++ = '\0';
	parser->rest = rest;
	return word;
}

/* If `word` is "key=value", the value. */
char *mca_parse_value(char *word, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(word, key, length) && word[length] == '=' ? word + length + 1 : NULL;
}

struct pesa_error *mca_parse_number(const struct mca_parser *parser, const char *what,
				    const char *text, long minimum, long maximum, long *value)
{
	char *end;
	long number;

	errno = 0;
	number = text ? strtol(text, &end, 10) : 0;
	if (!text || end == text || *end)
		return mca_parse_fail(parser, "expected a number for %s, found '%s'", what,
				      text ? text : "the end of the line");
	if (errno || number < minimum || number > maximum)
		return mca_parse_fail(parser, "%s is %s; it must be between %ld and %ld", what,
				      text, minimum, maximum);
	*value = number;
	return NULL;
}

struct pesa_error *mca_parse_end(struct mca_parser *parser)
{
	char *word = mca_parse_word(parser);

	return word ? mca_parse_fail(parser, "expected the end of the line, found '%s'", word)
		    : NULL;
}
