// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa-report, the program behind `pesa report` on a terminal. */
#include "tools/browse/browse.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/standard_output.h"

int main(int argc, char **argv)
{
	safe_output_start();
	standard_output_watch("pesa report");
	return report_command(argc, argv, browse_run);
}
