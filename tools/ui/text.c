/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "tools/ui/standard_output.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

static bool reserve(struct ui_text *line, size_t more)
{
	size_t room = line->room ? line->room : 128;
	char *grown;

	while (room < line->length + more + 1)
		room *= 2;
	if (room == line->room)
		return true;
	grown = realloc(line->text, room);
	if (!grown) {
		standard_output_lacks_part();
		return false;
	}
	line->text = grown;
	line->room = room;
	return true;
}

/* Add formatted text: at once if it fits into the room that there is. */
static bool add(struct ui_text *line, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
static bool add(struct ui_text *line, const char *format, va_list arguments)
{
	va_list again;
	int length;

	if (!reserve(line, 1))
		return false;
	va_copy(again, arguments);
	length = vsnprintf(line->text + line->length, line->room - line->length, format, arguments);
	if (length > 0 && (size_t)length >= line->room - line->length) {
		line->text[line->length] = '\0';
		if (reserve(line, (size_t)length))
			vsnprintf(line->text + line->length, (size_t)length + 1, format, again);
		else
			length = -1;
	}
	va_end(again);
	if (length > 0)
		line->length += (size_t)length;
	return length >= 0;
}

void ui_text_add(struct ui_text *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(line, format, arguments);
	va_end(arguments);
}

/* Make what was added behind the first `length` bytes safe. */
static void make_safe_from(struct ui_text *line, size_t length)
{
	char *safe;

	if (terminal_text_is_safe(line->text + length))
		return;
	safe = terminal_text(line->text + length);
	line->length = length;
	line->text[length] = '\0';
	if (safe)
		ui_text_add(line, "%s", safe);
	else
		standard_output_lacks_part();
	free(safe);
}

void ui_text_add_safe(struct ui_text *line, const char *format, ...)
{
	size_t before = line->length;
	va_list arguments;

	va_start(arguments, format);
	if (add(line, format, arguments))
		make_safe_from(line, before);
	va_end(arguments);
}

static void put(struct ui_text *line, const char *text, size_t length)
{
	if (!reserve(line, length))
		return;
	memcpy(line->text + line->length, text, length);
	line->length += length;
	line->text[line->length] = '\0';
}

void ui_text_put(struct ui_text *line, const char *text)
{
	put(line, text, strlen(text));
}

void ui_text_put_bytes(struct ui_text *line, const char *text, size_t length)
{
	put(line, text, length);
}

void ui_text_put_safe(struct ui_text *line, const char *text)
{
	size_t before = line->length, length = strlen(text);

	put(line, text, length);
	if (line->length == before + length && length)
		make_safe_from(line, before);
}

void ui_text_put_number(struct ui_text *line, uint64_t number, unsigned int base,
			unsigned int width, char fill)
{
	char digits[64];
	size_t at = sizeof(digits);

	/* Divisions by constants are multiplications. */
	do {
		digits[--at] = "0123456789abcdef"[base == 10 ? number % 10 : number % 16];
		number = base == 10 ? number / 10 : number / 16;
	} while (number);
	while (sizeof(digits) - at < width && at)
		digits[--at] = fill;
	put(line, digits + at, sizeof(digits) - at);
}

void ui_text_add_source(struct ui_text *line, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\t");

		ui_text_add_safe(line, "%.*s", (int)length, text);
		text += length;
		if (*text++ != '\t')
			return;
		ui_text_add(line, "\t");
	}
}

void ui_text_pad(struct ui_text *line, size_t columns)
{
	size_t now = ui_columns(ui_text_get(line));

	ui_text_add(line, "%*s", now < columns ? (int)(columns - now) : 1, "");
}

static void add_cut(struct ui_text *line, const char *text, size_t columns, bool utf8)
{
	size_t bytes = 0, used = 0;

	if (!columns || ui_columns(text) <= columns) {
		ui_text_add(line, "%s", text);
		return;
	}
	while (text[bytes]) {
		if (ui_begins_character(text[bytes]) && ++used >= columns)
			break;
		bytes++;
	}
	ui_text_add(line, "%.*s%s", (int)bytes, text, utf8 ? "…" : ">");
}

void ui_text_add_cut(struct ui_text *line, const char *text, size_t columns, bool utf8)
{
	char *safe = terminal_text(text);

	if (safe)
		add_cut(line, safe, columns, utf8);
	else
		standard_output_lacks_part();
	free(safe);
}

/* Bytes up to the end of the bracket that opens at `text`, nested ones included. */
static size_t bracket_length(const char *text)
{
	size_t length = 0;
	int depth = 0;

	do {
		char sign = text[length];

		if (!sign)
			return length;
		if (sign == '<' || sign == '(')
			depth++;
		else if (sign == ')' || (sign == '>' && text[length - 1] != '-'))
			depth--;
		length++;
	} while (depth > 0);
	return length;
}

static void add_name(struct ui_text *line, const char *name, size_t columns, bool utf8)
{
	static const char anonymous[] = "(anonymous namespace)", operator[] = "operator";
	size_t whole = strlen(name), i = 0;

	if (whole <= columns) {
		ui_text_add(line, "%s", name);
		return;
	}
	while (name[i]) {
		size_t plain = strcspn(name + i, "<(o"), length;

		ui_text_add(line, "%.*s", (int)plain, name + i);
		i += plain;
		if (!name[i])
			break;
		if (!strncmp(name + i, operator, strlen(operator))) {
			/* "operator<<", "operator()": these characters are not brackets */
			length = strlen(operator);
			length += strspn(name + i + length, "<>-=+*/%&|^!~[]");
			if (!strncmp(name + i + length, "()", 2))
				length += 2;
		} else if (!strncmp(name + i, anonymous, strlen(anonymous))) {
			length = strlen(anonymous);
		} else if (name[i] == 'o') {
			length = 1;
		} else {
			length = bracket_length(name + i);
			ui_text_add(line, "%c%s%c", name[i],
				    length == 2 ? ""
				    : utf8	? "…"
						: "..",
				    name[i] == '<' ? '>' : ')');
			i += length;
			continue;
		}
		ui_text_add(line, "%.*s", (int)length, name + i);
		i += length;
	}
}

void ui_text_add_name(struct ui_text *line, const char *name, size_t columns, bool utf8)
{
	char *safe = terminal_text(name);

	if (safe)
		add_name(line, safe, columns, utf8);
	else
		standard_output_lacks_part();
	free(safe);
}

const char *ui_text_get(const struct ui_text *line)
{
	return line->text ? line->text : "";
}

void ui_text_clear(struct ui_text *line)
{
	line->length = 0;
	if (line->text)
		line->text[0] = '\0';
}

void ui_text_free(struct ui_text *line)
{
	free(line->text);
	*line = (struct ui_text){0};
}

const char *ui_count(char buffer[UI_NUMBER_SIZE], double value)
{
	static const char units[] = "kMGTPE";
	int unit = -1;

	if (value < 9999.5) {
		snprintf(buffer, UI_NUMBER_SIZE, "%.0f", value);
		return buffer;
	}
	/* 999.5 would be printed as 1000 */
	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	snprintf(buffer, UI_NUMBER_SIZE, "%.*f%c",
		 value < 9.995	 ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, units[unit]);
	return buffer;
}

const char *ui_time(char buffer[UI_NUMBER_SIZE], double nanoseconds)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned int unit = 0;

	while (nanoseconds >= 999.5 && unit < 3) {
		nanoseconds /= 1000;
		unit++;
	}
	snprintf(buffer, UI_NUMBER_SIZE, "%.*f%s",
		 !unit || nanoseconds >= 99.95 ? 0
		 : nanoseconds >= 9.995	       ? 1
					       : 2,
		 nanoseconds, units[unit]);
	return buffer;
}

const char *ui_share(char buffer[UI_NUMBER_SIZE], double share)
{
	snprintf(buffer, UI_NUMBER_SIZE, "%.2f%%", share * 100);
	return buffer;
}
