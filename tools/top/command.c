// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa top: runs the program pesa-top.  It is a program of its own because it is linked with
 * ncurses and libcurl, which would delay the start of all other subcommands.
 */
#include "tools/commands.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"

int pesa_command_top(int argc __attribute__((unused)), char **argv)
{
	return profile_fail("top", pesa_path_run("pesa-top", argv));
}
