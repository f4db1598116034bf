/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A progress bar on standard error, if that is a terminal, for operations of more than a second. */
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
/* Remove the bar. */
void ui_progress_finish(struct ui_progress *progress);

#endif
