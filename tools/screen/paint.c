// SPDX-License-Identifier: GPL-2.0-or-later
/* Paints lines with escape sequences on an ncurses screen.  See paint.h. */
#include "tools/screen/paint.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "tools/ui/safe_output.h"
#include "tools/ui/terminal.h"

#define ESCAPE_MS    50 /* between the bytes of a key */
#define FIRST_COLOUR 30 /* parameters of a sequence: 30 is black, 37 is white */

bool screen_paint_open(void)
{
	const char *move;
	bool moves;
	int status;

	if (setupterm(NULL, STDOUT_FILENO, &status) == ERR)
		return false;
	move = tigetstr("cup");
	moves = move && move != (char *)-1;
	del_curterm(cur_term);
	if (!moves || !newterm(NULL, safe_output_binary(), stdin))
		return false;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return true;
}

void screen_paint_close(void)
{
	endwin();
	delscreen(set_term(NULL));
}

bool screen_paint_colours(void)
{
	if (!has_colors() || start_color() == ERR)
		return false;
	use_default_colors();
	for (short colour = COLOR_BLACK; colour <= COLOR_WHITE; colour++)
		init_pair((short)(colour + 1), colour, -1);
	return true;
}

/* The attributes after a sequence such as "ESC [ 1 ; 31 m"; `now`: before it. */
static attr_t attributes_of(const char *parameters, attr_t now)
{
	for (;;) {
		char *end;
		long value = strtol(parameters, &end, 10);

		if (value == 0)
			now = A_NORMAL;
		else if (value == 1)
			now |= A_BOLD;
		else if (value == 2)
			now |= A_DIM;
		else if (value >= FIRST_COLOUR && value < FIRST_COLOUR + 8)
			now = (now & ~A_COLOR) | (attr_t)COLOR_PAIR(value - FIRST_COLOUR + 1);
		if (*end != ';')
			return now;
		parameters = end + 1;
	}
}

/* Bytes of the UTF-8 character at the start of a text. */
static size_t character_bytes(const char *text)
{
	size_t bytes = 1;

	while (!ui_begins_character(text[bytes]))
		bytes++;
	return bytes;
}

void screen_paint_line(int row, const char *line, bool marked)
{
	attr_t attributes = A_NORMAL, mark = marked ? A_REVERSE : 0;
	int column = 0;

	move(row, 0);
	attrset(mark);
	while (*line && column < COLS) {
		size_t bytes;

		if (line[0] == '\033' && line[1] == '[') {
			attributes = attributes_of(line + 2, attributes);
			attrset(attributes | mark);
			line += 2 + strspn(line + 2, "0123456789;");
			line += *line != '\0';
			continue;
		}
		bytes = character_bytes(line);
		addnstr(line, (int)bytes);
		line += bytes;
		column++;
	}
	attrset(A_NORMAL);
	/* After a line that fills the row, the cursor is in the next row, which must not be cleared. */
	if (column < COLS)
		clrtoeol();
}
