// SPDX-License-Identifier: GPL-2.0-or-later
/* What is shown of names that anybody may have chosen. */
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include <setjmp.h>
#include <cmocka.h>

#include "decoder/base/terminal_text.h"

#define RUNS   20000
#define LENGTH 24

static void each_kind_has_its_form(void **state)
{
	static const struct {
		const char *text, *safe;
	} cases[] = {
		{"", ""},
		{"plain [name]+0x10", "plain [name]+0x10"},
		{"back\\slash \\x1b", "back\\slash \\x1b"},
		{"gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f \xe4\xb8\xad \xf0\x9f\x98\x80"},
		{"\xc2\xa0", "\xc2\xa0"},		  /* the first behind C1 */
		{"\xd8\xa7\xd7\x90", "\xd8\xa7\xd7\x90"}, /* letters written to the left */
		/* control characters */
		{"\033[31m", "\\x1b[31m"},
		{"\a\b\t\n\r\x7f", "\\x07\\x08\\x09\\x0a\\x0d\\x7f"},
		{"\xc2\x9b", "\\u009b"}, /* CSI in one character */
		{"\xc2\x80\xc2\x9f", "\\u0080\\u009f"},
		/* bytes of no character */
		{"\x9b", "\\x9b"},
		{"a\xff"
		 "b",
		 "a\\xffb"},
		{"\xc3", "\\xc3"},
		{"\xe2\x80", "\\xe2\\x80"},
		{"\xc0\x9b", "\\xc0\\x9b"},		      /* ESC, longer than need be */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},	      /* a surrogate */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* behind the last one */
		/* what turns the order of text around it, and what ends a line */
		{"\xe2\x80\xae"
		 "gnp.exe",
		 "\\u202egnp.exe"},
		{"\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069"},
		{"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c"},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
		/* what cannot be seen */
		{"\xe2\x80\x8b\xef\xbb\xbf\xc2\xad", "\\u200b\\ufeff\\u00ad"},
		{"\xf3\xa0\x81\x81", "\\U000e0041"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *safe = terminal_text(cases[i].text), *printed = NULL;
		size_t size;
		FILE *out = open_memstream(&printed, &size);

		terminal_text_print(out, cases[i].text);
		fclose(out);
		assert_string_equal(safe, cases[i].safe);
		assert_string_equal(printed, cases[i].safe);
		assert_int_equal(terminal_text_is_safe(cases[i].text),
				 !strcmp(cases[i].text, cases[i].safe));
		free(safe);
		free(printed);
	}
}

/* The C library decodes, and knows what is a control: nothing here is asked what it thinks. */
static void check_by_the_c_library(const char *text)
{
	mbstate_t decoding = {0};
	size_t left = strlen(text);

	while (left) {
		wchar_t sign;
		size_t bytes = mbrtowc(&sign, text, left, &decoding);

		assert_true(bytes > 0 && bytes <= left);
		assert_false(iswcntrl((wint_t)sign));
		assert_false(sign >= 0x202a && sign <= 0x202e);
		assert_false(sign >= 0x2066 && sign <= 0x2069);
		text += bytes;
		left -= bytes;
	}
}

static void whatever_comes_is_safe_and_stays(void **state)
{
	static const char *const parts[] = {
		"\033[2J",	    "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80",
		"\xf3\xa0\x81\x81", "\xc3\xbc", "\\",		"a"};
	uint64_t random = 1;

	(void)state;
	for (unsigned int run = 0; run < RUNS; run++) {
		char text[LENGTH * 5 + 1] = "", small[16], *safe, *again;
		size_t used = 0;

		for (unsigned int i = 0; i < LENGTH; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			if (random >> 63)
				used += (size_t)sprintf(text + used, "%s", parts[random >> 32 & 7]);
			else
				text[used++] = (char)((random >> 40 & 0xff) ? random >> 40 : 1);
		}
		text[used] = '\0';
		safe = terminal_text(text);
		again = terminal_text(safe);
		assert_true(terminal_text_is_safe(safe));
		check_by_the_c_library(safe);
		assert_string_equal(again, safe);
		snprintf(small, sizeof(small), "%s", text);
		terminal_text_in_place(small, sizeof(small));
		check_by_the_c_library(small);
		assert_int_equal(strncmp(small, safe, strlen(small) > 8 ? 8 : strlen(small)), 0);
		free(safe);
		free(again);
	}
}

int main(void)
{
	static const char *const locales[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(each_kind_has_its_form),
		cmocka_unit_test(whatever_comes_is_safe_and_stays),
	};

	for (size_t i = 0; i < sizeof(locales) / sizeof(*locales); i++)
		if (setlocale(LC_CTYPE, locales[i]))
			break;
	return cmocka_run_group_tests(cases, NULL, NULL);
}
