// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and labels of an assembly source.  See assembly.h. */
#include <stdlib.h>

#include "tools/mca/assembly.h"

bool mca_program_grow(struct mca_program *program, void **list, size_t count, size_t size)
{
	void *larger;

	if (count & (count - 1))
		return true;
	larger = realloc(*list, (count ? 2 * count : 1) * size);
	if (larger)
		*list = larger;
	else
		program->out_of_memory = true;
	return larger != NULL;
}

bool mca_names_add(struct mca_program *program, struct mca_names *names, struct mca_name name)
{
	if (!mca_program_grow(program, (void **)&names->name, names->count, sizeof(name)))
		return false;
	names->name[names->count++] = name;
	return true;
}

bool mca_label_add(struct mca_program *program, struct mca_name name)
{
	if (!mca_program_grow(program, (void **)&program->labels, program->label_count,
			      sizeof(*program->labels)))
		return false;
	program->labels[program->label_count++] =
		(struct mca_label){name, program->statement_count};
	return true;
}
