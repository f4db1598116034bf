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

#include "tools/ui/terminal.h"

/* Start one, if it is wanted and can be: terminal->out then goes to it. */
void ui_pager_start(struct ui_terminal *terminal, bool wanted);
/* Wait until the user has left it.  Returns false if writing the output failed (a pager that was
 * left early is no failure). */
bool ui_pager_finish(struct ui_terminal *terminal);

#endif
