/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/ui/progress.h"

#define BAR_COLUMNS 40
#define SHOW_AFTER  UINT64_C(1000000000) /* ns before the bar appears */
#define INTERVAL    UINT64_C(100000000)	 /* ns between two updates */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void ui_progress_start(struct ui_progress *progress, const char *what)
{
	*progress = (struct ui_progress){.what = what, .wanted = isatty(STDERR_FILENO)};
	if (progress->wanted)
		progress->started = now();
}

bool ui_progress_is_due(const struct ui_progress *progress)
{
	uint64_t time = progress->wanted ? now() : 0;

	return progress->wanted && time - progress->started >= SHOW_AFTER &&
	       time - progress->drawn >= INTERVAL;
}

double ui_progress_seconds(const struct ui_progress *progress)
{
	return progress->wanted ? (double)(now() - progress->started) * 1e-9 : 0;
}

void ui_progress_update(void *context, double share)
{
	struct ui_progress *progress = context;
	int filled;

	if (!ui_progress_is_due(progress))
		return;
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	filled = (int)(share * BAR_COLUMNS);
	/* Write directly: safe_output.h would remove the cursor movement. */
	dprintf(STDERR_FILENO, "\r%s [%.*s%*s] %3.0f %%", progress->what, filled,
		"########################################", BAR_COLUMNS - filled, "", share * 100);
	progress->drawn = now();
	progress->shown = true;
}

void ui_progress_draw(struct ui_progress *progress, const char *line)
{
	dprintf(STDERR_FILENO, "\r%s\033[K\r", line);
	progress->drawn = now();
	progress->shown = true;
}

void ui_progress_finish(struct ui_progress *progress)
{
	if (progress->shown)
		dprintf(STDERR_FILENO, "\r\033[K");
	progress->shown = false;
	progress->wanted = false;
}
