// SPDX-License-Identifier: GPL-2.0-or-later
/* Well-formed UTF-8: see utf8.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/utf8.h"

size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char low, high, second_low, second_high, length;
	} forms[] = {
		{0x01, 0x7f, 0, 0, 1},	     {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (text[0] < forms[i].low || text[0] > forms[i].high)
			continue;
		if (forms[i].length > 1 &&
		    (text[1] < forms[i].second_low || text[1] > forms[i].second_high))
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

bool utf8_is_clean(const char *text)
{
	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);

		if (!length)
			return false;
		text += length;
	}
	return true;
}

char *utf8_clean(const char *text)
{
	size_t length = strlen(text), out = 0;
	char *clean = malloc(length * 3 + 1);

	if (!clean)
		return NULL;
	for (size_t i = 0; i < length;) {
		size_t bytes = utf8_length((const unsigned char *)text + i);

		if (bytes) {
			memcpy(clean + out, text + i, bytes);
			out += bytes;
			i += bytes;
		} else {
			memcpy(clean + out, "\xef\xbf\xbd", 3);
			out += 3;
			i++;
		}
	}
	clean[out] = '\0';
	return clean;
}
