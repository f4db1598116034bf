/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdbool.h>

#include "tools/ui_html.h"

struct pesa_error *ui_html_create(const char *path, FILE **out)
{
	*out = fopen(path, "we");
	return *out ? NULL : pesa_error_system(errno, "%s: cannot create", path);
}

struct pesa_error *ui_html_finish(FILE *out, const char *path)
{
	bool failed = ferror(out);

	if (fclose(out) || failed)
		return pesa_error_system(errno, "%s: cannot write", path);
	return NULL;
}

void ui_html_text(FILE *out, const char *text)
{
	for (; text && *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
		}
}

void ui_html_begin(FILE *out, const char *kind, const char *name, const char *style)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
		"<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>%s: ",
		kind);
	ui_html_text(out, name);
	fprintf(out, "</title><style>%s</style></head>\n<body><main>\n", style);
}

void ui_html_end(FILE *out, const char *script)
{
	fprintf(out, "</main><script>%s</script></body></html>\n", script);
}
