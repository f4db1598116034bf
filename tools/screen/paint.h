/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paints lines with the escape sequences of tools/ui/terminal.h on an ncurses screen.
 */
#ifndef TOOLS_SCREEN_PAINT_H
#define TOOLS_SCREEN_PAINT_H

#include <stdbool.h>

/*
 * Start painting; keys are read unbuffered and without echo.  false: the terminal is unknown or
 * cannot move its cursor.  Closing restores the terminal.
 */
bool screen_paint_open(void);
void screen_paint_close(void);
/* Set up colours.  false: the terminal has none. */
bool screen_paint_colours(void);
/*
 * Paint a line into a row, cut at the screen's width; the rest of the row is cleared.  `marked`: in
 * reverse video.
 */
void screen_paint_line(int row, const char *line, bool marked);

#endif
