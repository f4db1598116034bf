// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON texts of exports: see export_json.h. */
#include "decoder/export_json.h"
#include "decoder/utf8.h"

void export_json_text(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		unsigned char first = (unsigned char)*text;
		size_t length = utf8_length((const unsigned char *)text);

		if (!length)
			fputs("\\ufffd", out);
		else if (first < 0x20)
			fprintf(out, "\\u%04x", first);
		else if (first == '"' || first == '\\')
			fprintf(out, "\\%c", first);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
	fputc('"', out);
}
