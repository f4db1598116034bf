/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program pesa and its shared object pesa-commands.so.
 *
 * The libraries that subcommands are linked with (for ELF files, debugging information, compression) take longer to
 * load than `pesa mca` takes to analyse a block.  So the program has what that needs, and is linked with neither of
 * them; all subcommands are in a shared object beside pesa's other files, which it loads for everything else, and in
 * which `pesa mca` finds its own functions for programs and object files.  Both have a copy of the code that they share:
 * neither uses names of the other but those below.
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
