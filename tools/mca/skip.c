/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaves out statements that an assembler rejects, see skip.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "tools/mca/skip.h"
#include "tools/ui/safe_output.h"

/* An error message of an assembler: its line, its column (0: not known), both from 1, and its text. */
struct place {
	unsigned long line, column;
	const char *text;
	size_t length;
};

/* Parse "INPUT:LINE[:COLUMN]: error: TEXT".  False: the line has another form. */
static bool parse_message(const char *message, size_t length, const char *input,
			  struct place *place)
{
	static const char error[] = "error:";
	const char *end = message + length;
	char *after;

	*place = (struct place){0};
	if (length <= strlen(input) || strncmp(message, input, strlen(input)))
		return false;
	message += strlen(input);
	if (*message != ':' || !isdigit((unsigned char)message[1]))
		return false;
	place->line = strtoul(message + 1, &after, 10);
	if (*after == ':' && isdigit((unsigned char)after[1]))
		place->column = strtoul(after + 1, &after, 10);
	if (*after++ != ':')
		return false;
	after += strspn(after, " ");
	if (after + strlen(error) > end || strncasecmp(after, error, strlen(error)))
		return false;
	after += strlen(error);
	after += strspn(after, " ");
	place->text = after;
	place->length = end > after ? end - after : 0;
	return true;
}

/* Find the statement that contains column *from (from 0), without labels: it ends before *to. */
static void find_statement(const char *text, size_t length, size_t *from, size_t *to)
{
	size_t column = *from < length ? *from : length, colon;

	for (*from = column; *from && text[*from - 1] != ';';)
		--*from;
	for (*to = column; *to < length && text[*to] != ';';)
		++*to;
	do {
		while (*from < *to && isspace((unsigned char)text[*from]))
			++*from;
		colon = *from;
		while (colon < *to &&
		       (isalnum((unsigned char)text[colon]) || strchr("_.$", text[colon])))
			colon++;
		if (colon < *to && text[colon] == ':' && colon + 1 <= column)
			*from = colon + 1;
		else
			colon = *to;
	} while (colon < *to);
}

/* Replace a statement by blanks in a copy of its line, which the reader owns.  *blanked: there was
 * something to replace. */
static struct pesa_error *blank(struct mca_reader *reader, const struct place *place, bool *blanked)
{
	struct mca_line *line = &reader->lines[place->line - 1];
	size_t from = place->column ? place->column - 1 : 0, to = line->length;
	char **larger = realloc(reader->changed, (reader->changed_count + 1) * sizeof(*larger));
	char *copy;

	if (!larger)
		return pesa_error_no_memory();
	reader->changed = larger;
	copy = malloc(line->length + 1);
	if (!copy)
		return pesa_error_no_memory();
	reader->changed[reader->changed_count++] = copy;
	memcpy(copy, line->text, line->length);
	copy[line->length] = '\0';
	line->text = copy;
	if (place->column)
		find_statement(copy, line->length, &from, &to);
	for (*blanked = false; from < to; from++) {
		*blanked |= !isspace((unsigned char)copy[from]);
		copy[from] = ' ';
	}
	return NULL;
}

struct pesa_error *mca_skip_rejected(struct mca_reader *reader, const char *messages,
				     const char *input, unsigned int *skipped)
{
	*skipped = 0;
	while (*messages) {
		size_t length = strcspn(messages, "\n");
		struct place place;

		if (parse_message(messages, length, input, &place) && place.line &&
		    place.line <= reader->line_count) {
			struct pesa_error *error;
			bool blanked;

			error = blank(reader, &place, &blanked);
			if (error)
				return error;
			if (blanked) {
				++*skipped;
				terminal_text_print(stderr, reader->name);
				fprintf(stderr, ":%lu", place.line);
				if (place.column)
					fprintf(stderr, ":%lu", place.column);
				safe_output_message(": warning: %.*s; left out", (int)place.length,
						    place.text);
			}
		}
		messages += length;
		messages += *messages == '\n';
	}
	return NULL;
}
