/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "decoder/base/terminal_text.h"
#include "tools/ui/html.h"

UI_HTML_FILE(ui_html_page_style, "tools/ui/html/page.css");
UI_HTML_FILE(ui_html_table_script, "tools/ui/html/table.js");
UI_HTML_FILE(ui_html_elements_script, "tools/ui/html/elements.js");
UI_HTML_FILE(ui_html_flame_style, "tools/ui/html/flame.css");
UI_HTML_FILE(ui_html_frames_script, "tools/ui/html/frames.js");
UI_HTML_FILE(ui_html_flame_script, "tools/ui/html/flame.js");

struct pesa_error *ui_html_create(struct ui_html *page, const char *path)
{
	uint64_t random[2];

	*page = (struct ui_html){.path = path};
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return pesa_error_system(errno, "%s: no random number for it", path);
	snprintf(page->nonce, sizeof(page->nonce), "%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	page->out = fopen(path, "we");
	return page->out ? NULL : pesa_error_system(errno, "%s: cannot create", path);
}

struct pesa_error *ui_html_finish(struct ui_html *page)
{
	bool failed = ferror(page->out);

	if (fclose(page->out) || failed)
		return pesa_error_system(errno, "%s: cannot write", page->path);
	return NULL;
}

void ui_html_text(FILE *out, const char *text)
{
	char escaped[TERMINAL_TEXT_ESCAPE];

	while (text && *text) {
		size_t length = terminal_text_next((const unsigned char *)text, escaped);

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
		case '\t':
		case '\n':
			fputc(' ', out);
			break;
		default:
			fwrite(*escaped ? escaped : text, 1, *escaped ? strlen(escaped) : length,
			       out);
		}
		text += length;
	}
}

void ui_html_begin(struct ui_html *page, const char *kind, const char *name,
		   const char *const styles[])
{
	fprintf(page->out,
		"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta "
		"http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
		"'unsafe-inline'; script-src 'nonce-%s'; base-uri 'none'; form-action "
		"'none'\"><meta name=viewport "
		"content=\"width=device-width,initial-scale=1\"><title>%s: ",
		page->nonce, kind);
	ui_html_text(page->out, name);
	fprintf(page->out, "</title><style>\n%s", ui_html_page_style);
	for (; *styles; styles++)
		fputs(*styles, page->out);
	fputs("</style></head>\n<body><main>\n", page->out);
}

void ui_html_script(struct ui_html *page, const char *script)
{
	fprintf(page->out, "<script nonce=%s>\n%s</script>\n", page->nonce, script);
}

void ui_html_end(struct ui_html *page)
{
	fputs("</main>\n", page->out);
	ui_html_script(page, ui_html_table_script);
	fputs("</body></html>\n", page->out);
}
