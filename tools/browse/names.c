// SPDX-License-Identifier: GPL-2.0-or-later
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <string.h>

#include "tools/browse/browse.h"

bool browse_contains(const char *text, const char *part)
{
	return !*part || strcasestr(text, part);
}

bool browse_is_enter(int key)
{
	return key == '\n' || key == '\r' || key == KEY_ENTER;
}
