// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON strings of exports: see json.h. */
#include "decoder/export/json.h"
#include "decoder/base/terminal_text.h"
#include "decoder/base/utf8.h"

void export_json_character(FILE *out, const char *text)
{
	size_t length = utf8_length((const unsigned char *)text);
	uint32_t code = length ? terminal_text_code((const unsigned char *)text, length) : 0xfffd;

	/* Code points above 16 bits are surrogate pairs (RFC 8259, 7). */
	if (code > 0xffff)
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + (code & 0x3ff));
	else
		fprintf(out, "\\u%04x", code);
}

void export_json_text(FILE *out, const char *text)
{
	char escaped[TERMINAL_TEXT_ESCAPE];

	fputc('"', out);
	while (*text) {
		size_t length = terminal_text_next((const unsigned char *)text, escaped);

		if (*escaped)
			export_json_character(out, text);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length;
	}
	fputc('"', out);
}
