// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa store: runs the program pesa-fleet, which is linked with libcurl. */
#include "tools/commands.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"

int pesa_command_store(int argc __attribute__((unused)), char **argv)
{
	return profile_fail("store", pesa_path_run("pesa-fleet", argv));
}
