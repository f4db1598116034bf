// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of `pesa mca` that read programs and object files, in the program pesa: those of the shared object,
 * which they load.
 */
#include "tools/start/commands_object.h"

/* "Out of memory" is a static variable, and pesa_error_free() knows only that of its own copy of the code. */
static struct pesa_error *own(struct pesa_error *error)
{
	return error && error->code == PESA_ERROR_NO_MEMORY ? pesa_error_no_memory() : error;
}

struct pesa_error *mca_program_read(const struct mca_program_options *options,
				    struct mca_source *source)
{
	const struct commands_object *object;
	struct pesa_error *error = commands_object_load(&object);

	return error ? error : own(object->program_read(options, source));
}

struct pesa_error *mca_object_read(struct mca_reader *reader, const char *path)
{
	const struct commands_object *object;
	struct pesa_error *error = commands_object_load(&object);

	return error ? error : own(object->object_read(reader, path));
}
