/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress: a bar on standard error for what takes longer than a second, only on a terminal.
 */
#ifndef TOOLS_UI_PROGRESS_H
#define TOOLS_UI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ui_progress {
	const char *what; /* "loading" */
	bool wanted, shown;
	uint64_t started, drawn; /* ns, monotonic */
};

void ui_progress_start(struct ui_progress *progress, const char *what);
/* `context` is the struct ui_progress; share 0..1.  Cheap when called often. */
void ui_progress_update(void *context, double share);
/* Take the bar away. */
void ui_progress_finish(struct ui_progress *progress);

#endif
