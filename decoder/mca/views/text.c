/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text in columns. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "decoder/mca/views/views.h"

static void advance(struct mca_text *text, const char *string)
{
	for (; *string; string++) {
		if (*string == '\n')
			text->column = 0;
		else if (*string == '\t')
			text->column += (8 - (text->column & 7)) & 7; /* as LLVM counts */
		else
			text->column++;
	}
}

void mca_print(struct mca_text *text, const char *format, ...)
{
	char buffer[512], *string = buffer;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(buffer, sizeof(buffer), format, arguments);
	va_end(arguments);
	if (length >= (int)sizeof(buffer)) {
		va_start(arguments, format);
		if (vasprintf(&string, format, arguments) < 0)
			string = buffer;
		va_end(arguments);
	}
	fputs(string, text->stream);
	advance(text, string);
	if (string != buffer)
		free(string);
}

void mca_highlight(struct mca_text *text, enum mca_highlight highlight)
{
	static const char *const sequences[] = {
		[MCA_PLAIN] = "\033[0m",	[MCA_BOLD] = "\033[1m",
		[MCA_RED] = "\033[0;1;31m",	[MCA_YELLOW] = "\033[0;1;33m",
		[MCA_MAGENTA] = "\033[0;1;35m", [MCA_CYAN] = "\033[0;1;36m",
	};

	if (text->colours)
		fputs(sequences[highlight], text->stream);
}

void mca_put_text(struct mca_text *text, const char *string)
{
	fputs(string, text->stream);
	advance(text, string);
}

/* The largest value whose hundredths are all whole numbers. */
#define HUNDREDTHS_MAX 9e13

void mca_put_hundredths(struct mca_text *text, double value)
{
	uint64_t hundredths, whole;
	char digits[32], *at = digits + sizeof(digits);

	if (!(value < HUNDREDTHS_MAX)) {
		mca_print(text, "%.2f", mca_round(value, 2));
		return;
	}
	hundredths = (uint64_t)floor(value * 100 + 0.5);
	whole = hundredths / 100;
	*--at = '\0';
	*--at = (char)('0' + hundredths % 10);
	*--at = (char)('0' + hundredths / 10 % 10);
	*--at = '.';
	do
		*--at = (char)('0' + whole % 10);
	while (whole /= 10);
	mca_put_text(text, at);
}

void mca_put(struct mca_text *text, int character)
{
	putc_unlocked(character, text->stream);
	text->column++;
}

void mca_pad(struct mca_text *text, unsigned int column)
{
	do
		mca_put(text, ' ');
	while (text->column < column);
}

double mca_round(double value, unsigned int digits)
{
	double scale = digits == 1 ? 10 : 100;

	return floor(value * scale + 0.5) / scale;
}

void mca_view_free_state(struct mca_view *view)
{
	free(view->state);
}

void mca_json_number(struct json_object *object, const char *key, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", value);
	json_object_object_add(object, key, json_object_new_double_s(value, text));
}

void mca_json_integer(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void mca_json_boolean(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}
