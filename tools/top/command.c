// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa top: runs the program pesa-top.  It is a program of its own because it is linked with
 * ncurses and libcurl, which would delay the start of all other subcommands.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"

int pesa_command_top(int argc __attribute__((unused)), char **argv)
{
	char path[PATH_MAX];

	if (pesa_path_libexec("pesa-top", path))
		execv(path, argv);
	else
		errno = ENOENT;
	profile_complain("top", "%s: %s; is pesa installed in full?", path, strerror(errno));
	return 1;
}
