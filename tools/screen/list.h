/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of rows on a screen: which row is selected, and which rows are visible; and a text that is
 * typed in the status line.  The rows themselves are the user's; keys are those of ncurses.
 */
#ifndef TOOLS_SCREEN_LIST_H
#define TOOLS_SCREEN_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct screen_list {
	size_t first;	 /* index of the row at the top of the screen */
	size_t selected; /* index of the selected row */
};

/* Take a key that moves the selection among `count` rows, of which `room` are visible; other keys do
 * nothing. */
void screen_list_move(struct screen_list *list, int key, size_t count, size_t room);
/* Scroll so that the selected row is visible. */
void screen_list_scroll(struct screen_list *list, size_t count, size_t room);

#define SCREEN_TEXT_MAX 64

enum screen_typing { SCREEN_TYPING, SCREEN_TYPED, SCREEN_NOT_TYPED };

/* Take a key while a text is typed: it goes on, Enter ends it, or Escape drops it. */
enum screen_typing screen_type_key(char text[SCREEN_TEXT_MAX], int key);

#endif
