/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks standard output at exit: see standard_output.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

static void look(int status, void *name)
{
	safe_output_finish();
	if (status || (!ferror(stdout) && !fflush(stdout)))
		return;
	fprintf(stderr, "%s: the output could not be written in full\n", (const char *)name);
	_exit(1);
}

void standard_output_watch(const char *name)
{
	on_exit(look, (void *)name);
}
