// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and labels of an assembly source.  See assembly.h. */
#include <stdlib.h>

#include "tools/mca/assembly.h"

struct pesa_error *mca_array_grow(void **list, size_t count, size_t size)
{
	void *larger;

	if (count & (count - 1))
		return NULL;
	larger = realloc(*list, (count ? 2 * count : 1) * size);
	if (!larger)
		return pesa_error_no_memory();
	*list = larger;
	return NULL;
}

struct pesa_error *mca_names_add(struct mca_names *names, struct mca_name name)
{
	struct pesa_error *error =
		mca_array_grow((void **)&names->name, names->count, sizeof(name));

	if (!error)
		names->name[names->count++] = name;
	return error;
}

struct pesa_error *mca_label_add(struct mca_program *program, struct mca_name name)
{
	struct pesa_error *error = mca_array_grow((void **)&program->labels, program->label_count,
						  sizeof(*program->labels));

	if (!error)
		program->labels[program->label_count++] =
			(struct mca_label){name, program->statement_count};
	return error;
}
