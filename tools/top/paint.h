/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Painting: lines with the escape sequences of tools/ui/terminal.h, on a screen of ncurses.
 */
#ifndef TOOLS_TOP_PAINT_H
#define TOOLS_TOP_PAINT_H

#include <stdbool.h>

/* Begin, with keys as they are pressed; false: the terminal is not known or cannot move its cursor.
 * The end gives it back as it was. */
bool top_paint_open(void);
void top_paint_close(void);
/* Make the colours known.  false: the terminal has none. */
bool top_paint_colours(void);
/* Paint a line into a row, cut at the screen's width; the rest of the row is cleared.  `marked`: in
 * reverse. */
void top_paint_line(int row, const char *line, bool marked);

#endif
