// SPDX-License-Identifier: GPL-2.0-or-later
/* The program pesa: runs `pesa mca`, and loads what everything else needs. */
#include <string.h>

#include "tools/commands.h"
#include "tools/start/commands_object.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

int main(int argc, char **argv)
{
	const struct commands_object *object;
	struct pesa_error *error;

	if (argc >= 2 && !strcmp(argv[1], "mca")) {
		safe_output_start();
		standard_output_watch("pesa mca");
		return pesa_command_mca(argc - 1, argv + 1);
	}
	error = commands_object_load(&object);
	if (!error)
		return object->run(argc, argv);
	safe_output_message("pesa: %s", error->message);
	pesa_error_free(error);
	return 1;
}
