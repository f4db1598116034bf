// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa store: runs the program pesa-fleet, which is linked with libcurl. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"

int pesa_command_store(int argc __attribute__((unused)), char **argv)
{
	char path[PATH_MAX];

	if (pesa_path_libexec("pesa-fleet", path))
		execv(path, argv);
	else
		errno = ENOENT;
	profile_complain("store", "%s: %s; is pesa installed in full?", path, strerror(errno));
	return 1;
}
