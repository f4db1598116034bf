// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the shared object with the subcommands: see commands_object.h. */
#include "tools/start/commands_object.h"

#include <dlfcn.h>
#include <string.h>

#include "tools/files/paths.h"

#define NAME "pesa-commands.so"

static const struct commands_object *exported_by(void *loaded)
{
	return loaded ? dlsym(loaded, "pesa_commands_object") : NULL;
}

struct pesa_error *commands_object_load(const struct commands_object **object)
{
	char path[PATH_MAX];

	if (!pesa_path_libexec(NAME, path))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "%s: not found; is pesa installed in full?", path);
	*object = exported_by(dlopen(path, RTLD_LAZY | RTLD_LOCAL));
	if (!*object)
		return pesa_error_create(PESA_ERROR_FORMAT, "cannot load %s", dlerror());
	if (strcmp((*object)->build, COMMANDS_OBJECT_BUILD))
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s is of pesa %s, and this program of pesa %s: install both of one version",
			path, (*object)->build, COMMANDS_OBJECT_BUILD);
	return NULL;
}
