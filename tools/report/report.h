/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa report, for the two programs that have it: `pesa` prints it; where it is shown on a terminal
 * pesa runs `pesa-report`, which is linked with ncurses and shows the same groups interactively.
 */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

#include "pesa/error.h"
#include "pesa/export.h"
#include "tools/groups/groups.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/terminal.h"

/* What is shown. */
struct report_view {
	const struct profile_input *input;
	const struct pesa_export *rows; /* weights by task, call chain and address */
	struct listing_isas *isas;
	struct profile_grouping grouping; /* what rows are */
	double limit;			  /* share below which groups are left out */
};

/* Shows it until the user quits; an error of the kind PESA_ERROR_UNSUPPORTED: this terminal cannot. */
typedef struct pesa_error *report_screen(const struct report_view *view,
					 struct ui_terminal *terminal);

/*
 * The subcommand with its arguments.  `screen`: what shows it on a terminal; NULL: the program
 * pesa-report.  Returns the exit status.
 */
int report_command(int argc, char **argv, report_screen *screen);

#endif
