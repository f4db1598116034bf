/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen: pesa top on a terminal, until the user quits.
 */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include "tools/top/model.h"
#include "tools/top/source.h"
#include "tools/top/view.h"
#include "tools/ui/terminal.h"

/*
 * Run until the user quits, a signal arrives at the signalfd `signals`, or `refreshes` intervals
 * were shown (0: no limit).  Returns the error that ended it, or NULL.
 */
struct pesa_error *top_screen_run(struct top_model *model, struct top_view *view,
				  struct top_filter *filter, struct top_source *source,
				  struct ui_terminal *terminal, int signals,
				  unsigned int refreshes);

#endif
