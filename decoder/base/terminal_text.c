// SPDX-License-Identifier: GPL-2.0-or-later
/* Text that is safe to print: see terminal_text.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "decoder/base/utf8.h"

/* Unicode 14, sorted: general categories Cc, Cf, Zl, Zp, and Default_Ignorable_Code_Point. */
static const struct {
	uint32_t first, last;
} invisible[] = {
	{0x0000, 0x001f},   {0x007f, 0x009f},	{0x00ad, 0x00ad},   {0x034f, 0x034f},
	{0x0600, 0x0605},   {0x061c, 0x061c},	{0x06dd, 0x06dd},   {0x070f, 0x070f},
	{0x0890, 0x0891},   {0x08e2, 0x08e2},	{0x115f, 0x1160},   {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x200b, 0x200f},	{0x2028, 0x202e},   {0x2060, 0x206f},
	{0x3164, 0x3164},   {0xfe00, 0xfe0f},	{0xfeff, 0xfeff},   {0xffa0, 0xffa0},
	{0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

uint32_t terminal_text_code(const unsigned char *text, size_t length)
{
	static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = text[0] & first_bits[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

bool terminal_text_is_visible(uint32_t code)
{
	for (size_t i = 0; i < sizeof(invisible) / sizeof(*invisible); i++)
		if (code <= invisible[i].last)
			return code < invisible[i].first;
	return true;
}

size_t terminal_text_next(const unsigned char *text, char escaped[TERMINAL_TEXT_ESCAPE])
{
	size_t length = utf8_length(text);
	uint32_t code = length ? terminal_text_code(text, length) : text[0];

	if (length && terminal_text_is_visible(code)) {
		*escaped = '\0';
		return length;
	}
	snprintf(escaped, TERMINAL_TEXT_ESCAPE,
		 length < 2	  ? "\\x%02x"
		 : code <= 0xffff ? "\\u%04x"
				  : "\\U%08x",
		 code);
	return length ? length : 1;
}

/* Visible ASCII, which most texts are made of. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

bool terminal_text_is_safe(const char *text)
{
	char escaped[TERMINAL_TEXT_ESCAPE];

	while (*text) {
		if (is_plain((unsigned char)*text)) {
			text++;
			continue;
		}
		text += terminal_text_next((const unsigned char *)text, escaped);
		if (*escaped)
			return false;
	}
	return true;
}

/* Write a safe form of `text` to `safe`, which has room for `size` bytes including the
 * terminator. */
static void make_safe(const char *text, char *safe, size_t size)
{
	char escaped[TERMINAL_TEXT_ESCAPE];
	size_t used = 0;

	while (*text) {
		size_t bytes = terminal_text_next((const unsigned char *)text, escaped);
		const char *shown = *escaped ? escaped : text;
		size_t length = *escaped ? strlen(escaped) : bytes;

		if (used + length >= size)
			break;
		memcpy(safe + used, shown, length);
		used += length;
		text += bytes;
	}
	safe[used] = '\0';
}

/* The longest escape of a byte is \x1b; longer escapes replace longer characters. */
char *terminal_text(const char *text)
{
	size_t size = strlen(text) * 4 + 1;
	char *safe;

	if (terminal_text_is_safe(text))
		return strdup(text);
	safe = malloc(size);
	if (safe)
		make_safe(text, safe, size);
	return safe;
}

void terminal_text_in_place(char *text, size_t size)
{
	char *safe;

	if (terminal_text_is_safe(text))
		return;
	safe = terminal_text(text);
	make_safe(safe ? safe : "(out of memory)", text, size);
	free(safe);
}

void terminal_text_print(FILE *out, const char *text)
{
	char escaped[TERMINAL_TEXT_ESCAPE];

	while (*text) {
		size_t bytes = 0;

		while (is_plain((unsigned char)text[bytes]))
			bytes++;
		*escaped = '\0';
		if (!bytes)
			bytes = terminal_text_next((const unsigned char *)text, escaped);
		if (*escaped)
			fputs(escaped, out);
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
}
