/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pager: long output is shown page by page, only where standard output is a terminal.
 *
 * $PESA_PAGER, else $PAGER, else "less" with the options -FRX (quit if it fits on one screen,
 * colours, leave the text on the screen) unless $LESS says others.  An empty value or "cat" means
 * none.
 */
#ifndef TOOLS_UI_PAGER_H
#define TOOLS_UI_PAGER_H

#include <stdbool.h>

#include "pesa/error.h"
#include "tools/ui/terminal.h"

/* Start a pager if wanted and possible: terminal->out is then connected to it. */
void ui_pager_start(struct ui_terminal *terminal, bool wanted);
/*
 * Wait until the user quits the pager.  Returns an error if the output could not be written; quitting
 * early is none.
 */
struct pesa_error *ui_pager_finish(struct ui_terminal *terminal);

#endif
