/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tools/files/paths.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/pager.h"

/*
 * Return whether the program of a shell command exists.  If the pager were missing, the output
 * would be lost.
 */
static bool program_exists(const char *command)
{
	size_t length = strcspn(command, " \t");
	char path[PATH_MAX], *name;
	bool found;

	if (memchr(command, '/', length) || strpbrk(command, "=$'\"();&|"))
		return true; /* if it is missing, the shell reports that */
	name = strndup(command, length);
	found = name && pesa_path_program(name, path);
	free(name);
	return found;
}

void ui_pager_start(struct ui_terminal *terminal, bool wanted)
{
	const char *command = getenv("PESA_PAGER");
	FILE *pipe;

	if (!wanted || !terminal->is_terminal)
		return;
	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	if (!*command || !strcmp(command, "cat") || !program_exists(command))
		return;
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	pipe = popen(command, "w");
	if (!pipe)
		return;
	/* Ignore SIGPIPE: the user may quit the pager early. */
	signal(SIGPIPE, SIG_IGN);
	pipe = safe_output_to(pipe, pclose);
	if (pipe)
		terminal->out = pipe;
}

struct pesa_error *ui_pager_finish(struct ui_terminal *terminal)
{
	if (terminal->out != stdout) {
		fclose(terminal->out);
		terminal->out = stdout;
		return NULL;
	}
	if (!fflush(stdout) && !ferror(stdout))
		return NULL;
	return pesa_error_create(PESA_ERROR_OTHER, "the output could not be written in full");
}
