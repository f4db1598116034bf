/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks standard output at exit: see standard_output.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

static atomic_bool lacks_part;

void standard_output_lacks_part(void)
{
	lacks_part = true;
}

static void look(int status, void *name)
{
	safe_output_finish();
	if (lacks_part) {
		fflush(stdout);
		fprintf(stderr, "%s: out of memory: a part of the output is missing\n",
			(const char *)name);
		if (!status)
			_exit(1);
	}
	if (status || (!ferror(stdout) && !fflush(stdout)))
		return;
	fprintf(stderr, "%s: the output could not be written in full\n", (const char *)name);
	_exit(1);
}

void standard_output_watch(const char *name)
{
	on_exit(look, (void *)name);
}
