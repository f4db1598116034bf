/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/ui/safe_output.h"
#include "tools/ui/terminal.h"

bool ui_when_parse(const char *text, enum ui_when *when)
{
	static const char *const words[] = {
		[UI_AUTO] = "auto", [UI_ALWAYS] = "always", [UI_NEVER] = "never"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i])) {
			*when = (enum ui_when)i;
			return true;
		}
	return false;
}

static unsigned int width_of(bool is_terminal)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	char *end;

	if (columns) {
		unsigned long width = strtoul(columns, &end, 10);

		if (end != columns && !*end && width >= 20 && width < 100000)
			return (unsigned int)width;
	}
	if (is_terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	return is_terminal ? 80 : 0;
}

struct ui_terminal ui_terminal_open(enum ui_when colour)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool is_terminal = isatty(STDOUT_FILENO);
	bool wanted = is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb");

	wanted = colour == UI_ALWAYS || (colour == UI_AUTO && wanted);
	safe_output_colours(wanted);
	setlocale(LC_CTYPE, "");
	return (struct ui_terminal){
		.out = stdout,
		.is_terminal = is_terminal,
		.colour = wanted,
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.width = width_of(is_terminal),
	};
}

const char *ui_style(const struct ui_terminal *terminal, enum ui_style style)
{
	static const char *const sequences[UI_STYLES] = {
		[UI_PLAIN] = "\033[0m",	    [UI_BOLD] = "\033[1m",     [UI_DIM] = "\033[2m",
		[UI_RETIRING] = "\033[32m", [UI_STALLED] = "\033[31m", [UI_FLUSHED] = "\033[35m",
		[UI_DRAINED] = "\033[34m",  [UI_HOT] = "\033[1;31m",   [UI_SOURCE] = "\033[36m",
	};

	return terminal->colour ? sequences[style] : "";
}

/* Length in bytes of the escape sequence at `text`, 0 if there is none. */
static size_t escape_length(const char *text)
{
	size_t length;

	if (text[0] != '\033' || text[1] != '[')
		return 0;
	length = 2 + strspn(text + 2, "0123456789;");
	return text[length] ? length + 1 : length;
}

void ui_remove_escapes(char *text)
{
	char *to = text;

	while (*text) {
		size_t escape = escape_length(text);

		text += escape;
		if (!escape)
			*to++ = *text++;
	}
	*to = '\0';
}

size_t ui_columns(const char *text)
{
	size_t columns = 0;

	while (*text) {
		size_t escape = escape_length(text);

		if (escape) {
			text += escape;
			continue;
		}
		columns += ui_begins_character(*text);
		text++;
	}
	return columns;
}

void ui_print_line(const struct ui_terminal *terminal, const char *line)
{
	size_t columns = 0, length = strlen(line);

	while (length && line[length - 1] == ' ')
		length--;
	if (!terminal->width || ui_columns(line) <= terminal->width) {
		fprintf(terminal->out, "%.*s\n", (int)length, line);
		return;
	}
	while (*line) {
		size_t escape = escape_length(line);

		if (escape) {
			fwrite(line, 1, escape, terminal->out);
			line += escape;
			continue;
		}
		if (ui_begins_character(*line) && ++columns >= terminal->width)
			break;
		fputc(*line++, terminal->out);
	}
	fprintf(terminal->out, "%s%s\n", ui_style(terminal, UI_PLAIN), terminal->utf8 ? "…" : ">");
}

size_t ui_fitting(const char *text, size_t columns)
{
	size_t length = 0, blank = 0, used = 0;

	for (; text[length] && text[length] != '\n'; length++) {
		if (!ui_begins_character(text[length]))
			continue;
		if (text[length] == ' ')
			blank = length;
		if (columns && ++used > columns)
			return blank ? blank : length;
	}
	return length;
}

void ui_print_wrapped(const struct ui_terminal *terminal, const char *text, unsigned int indent,
		      unsigned int default_width)
{
	unsigned int width = terminal->width ? terminal->width : default_width;

	while (*text) {
		size_t length = ui_fitting(text, width > indent ? width - indent : width);

		fprintf(terminal->out, "%*s%.*s\n", length ? (int)indent : 0, "", (int)length,
			text);
		text += length + (text[length] == ' ' || text[length] == '\n');
	}
}
