/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress on standard error, if that is a terminal, of operations of more than a second: a bar, or a
 * line of text where the end is not known.
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
/* Whether it is time to draw a line, which is then given to ui_progress_draw(). */
bool ui_progress_is_due(const struct ui_progress *progress);
/* Seconds since the start. */
double ui_progress_seconds(const struct ui_progress *progress);
/* Draw a line; the cursor is left at its beginning, for what another program prints there. */
void ui_progress_draw(struct ui_progress *progress, const char *line);
/* Remove the bar or line. */
void ui_progress_finish(struct ui_progress *progress);

#endif
