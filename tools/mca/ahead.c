/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines assembled ahead, see ahead.h. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "decoder/base/threads.h"
#include "tools/mca/ahead.h"

#define LINES	    2048 /* of a batch */
#define LINES_LEAST 256	 /* for which threads are worth starting */
#define PIECE	    32	 /* lines that a thread takes at a time */

struct statement {
	const char *text; /* NULL: not assembled */
	size_t length;
	bool understood;
	struct pesa_assembly assembly;
};

struct mca_ahead {
	const struct mca_reader *reader;
	const struct pesa_isa *isa; /* of the batch */
	unsigned int thread_count;
	unsigned int first, count; /* lines of the batch */
	atomic_uint next;	   /* line of the batch that nobody assembles */
	struct statement statements[LINES];
};

void mca_trim(const char **text, size_t *length)
{
	while (*length && isspace((unsigned char)**text)) {
		++*text;
		--*length;
	}
	while (*length && isspace((unsigned char)(*text)[*length - 1]))
		--*length;
}

struct mca_ahead *mca_ahead_create(const struct mca_reader *reader)
{
	unsigned int thread_count = threads_usual();
	struct mca_ahead *ahead;

	if (thread_count < 2 || reader->line_count < LINES_LEAST)
		return NULL;
	ahead = malloc(sizeof(*ahead));
	if (!ahead)
		return NULL;
	ahead->reader = reader;
	ahead->thread_count = thread_count;
	ahead->first = ahead->count = 0;
	return ahead;
}

void mca_ahead_free(struct mca_ahead *ahead)
{
	free(ahead);
}

static void assemble(const struct mca_ahead *ahead, struct statement *statement,
		     const struct mca_line *line)
{
	statement->text = line->text;
	statement->length = line->length;
	mca_trim(&statement->text, &statement->length);
	if (!statement->length || *statement->text == '.')
		statement->text = NULL;
	else
		statement->understood = pesa_assemble(ahead->isa, statement->text,
						      statement->length, &statement->assembly);
}

static void *work(void *argument)
{
	struct mca_ahead *ahead = argument;
	const struct mca_line *lines = &ahead->reader->lines[ahead->first];
	unsigned int from;

	while ((from = atomic_fetch_add(&ahead->next, PIECE)) < ahead->count)
		for (unsigned int i = from; i < from + PIECE && i < ahead->count; i++)
			assemble(ahead, &ahead->statements[i], &lines[i]);
	return NULL;
}

static void begin_batch(struct mca_ahead *ahead, const struct pesa_isa *isa, unsigned int line)
{
	unsigned int left = ahead->reader->line_count - line;
	struct threads threads;

	ahead->isa = isa;
	ahead->first = line;
	ahead->count = left < LINES ? left : LINES;
	atomic_store(&ahead->next, 0);
	threads_start(&threads, ahead->count >= LINES_LEAST ? ahead->thread_count - 1 : 0, work,
		      ahead, 0);
	work(ahead);
	threads_join(&threads);
}

bool mca_ahead_assemble(struct mca_ahead *ahead, const struct pesa_isa *isa, unsigned int line,
			const char *text, size_t length, struct pesa_assembly *assembly)
{
	const struct statement *statement;

	if (!ahead)
		return pesa_assemble(isa, text, length, assembly);
	if (line >= ahead->first + ahead->count)
		begin_batch(ahead, isa, line);
	statement = &ahead->statements[line - ahead->first];
	if (line < ahead->first || statement->text != text || statement->length != length)
		return pesa_assemble(isa, text, length, assembly);
	if (statement->understood)
		*assembly = statement->assembly;
	return statement->understood;
}
