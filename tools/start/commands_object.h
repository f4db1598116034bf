/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program pesa and its shared object pesa-commands.so.
 *
 * Libraries for ELF files, debugging information and compression take longer to load than `pesa mca` takes to analyse
 * a block.  So the program is linked without them, and has only `pesa mca`.  The shared object has all subcommands, and
 * the program loads it for any other one, and when `pesa mca` has to read a program or an object file.
 *
 * Code that both need is in both, each with its own static variables.  The program calls the object by the table below;
 * the object does not call the program.
 */
#ifndef TOOLS_START_COMMANDS_OBJECT_H
#define TOOLS_START_COMMANDS_OBJECT_H

#include "pesa/error.h"
#include "pesa/version.h"
#include "pesa_build.h"
#include "tools/mca/program.h"
#include "tools/mca/reader.h"

/* Program and object must be of one build: they share structures. */
#define COMMANDS_OBJECT_BUILD PESA_VERSION ", commit " PESA_COMMIT ", " PESA_BUILT_WITH

/* What the object exports, as `pesa_commands_object`. */
struct commands_object {
	const char *build;
	/* What pesa does with its arguments, argv[0] being its own name; returns the exit status. */
	int (*run)(int argc, char **argv);
	/* As the functions of tools/mca with these names. */
	struct pesa_error *(*program_read)(const struct mca_program_options *options,
					   struct mca_source *source);
	struct pesa_error *(*object_read)(struct mca_reader *reader, const char *path);
};

extern const struct commands_object pesa_commands_object __attribute__((visibility("default")));

/* Load the object, which stays loaded.  Errors: it is missing, cannot be loaded, or is of another build. */
struct pesa_error *commands_object_load(const struct commands_object **object);

#endif
