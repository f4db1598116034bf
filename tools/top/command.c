// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa top: runs pesa-top, which is linked with what the other subcommands do not need (a library
 * for terminals, one for HTTP) and would pay for when they start.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/ui/paths.h"
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
