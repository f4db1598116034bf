// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/screen/list.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <string.h>

#define ESCAPE 27

void screen_list_move(struct screen_list *list, int key, size_t count, size_t room)
{
	size_t *selected = &list->selected;

	switch (key) {
	case KEY_UP:
		*selected -= *selected > 0;
		break;
	case KEY_DOWN:
		*selected += 1;
		break;
	case KEY_PPAGE:
		*selected -= *selected > room ? room : *selected;
		break;
	case KEY_NPAGE:
		*selected += room;
		break;
	case KEY_HOME:
		*selected = 0;
		break;
	case KEY_END:
		*selected = count;
		break;
	}
	if (count && *selected >= count)
		*selected = count - 1;
}

void screen_list_scroll(struct screen_list *list, size_t count, size_t room)
{
	if (!count) {
		list->first = list->selected = 0;
		return;
	}
	if (list->selected >= count)
		list->selected = count - 1;
	if (list->selected < list->first)
		list->first = list->selected;
	if (list->selected >= list->first + room)
		list->first = list->selected - room + 1;
}

enum screen_typing screen_type_key(char text[SCREEN_TEXT_MAX], int key)
{
	size_t length = strlen(text);

	if (key == '\n' || key == '\r' || key == KEY_ENTER)
		return SCREEN_TYPED;
	if (key == ESCAPE)
		return SCREEN_NOT_TYPED;
	if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length) {
		text[length - 1] = '\0';
	} else if (key >= ' ' && key < 256 && key != 127 && length + 1 < SCREEN_TEXT_MAX) {
		text[length] = (char)key;
		text[length + 1] = '\0';
	}
	return SCREEN_TYPING;
}
