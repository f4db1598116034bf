// SPDX-License-Identifier: GPL-2.0-or-later
/* The path of the program that the emulator runs.  See own_program.h. */
#include "tools/vcore/guest/own_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The emulator's arguments are options, each a word that begins with '-' and its value (run_emulator()
 * in daemon/vcore/record.c, start() in follow.c), then the program and the program's own.
 */
bool own_program_path(char path[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	char *word = NULL;
	size_t size = 0, index = 0;
	bool value = false, found = false;

	path[0] = '\0';
	while (file && !found && getdelim(&word, &size, '\0', file) > 0) {
		const bool option = !value && index && word[0] == '-';

		found = index && !value && !option;
		if (found)
			found = snprintf(path, PATH_MAX, "%s", word) < PATH_MAX;
		value = option;
		index++;
	}
	free(word);
	if (file)
		fclose(file);
	return found;
}
