/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembly text of instructions, see text.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/text.h"

/* The length of the decimal number at the start of a text, if it is a whole operand; otherwise 0. */
static size_t number_length(const char *text)
{
	size_t sign = *text == '-', digits = strspn(text + sign, "0123456789");

	return digits && (!text[sign + digits] || strchr(",(", text[sign + digits])) ? sign + digits
										     : 0;
}

char *mca_text_hexadecimal(const char *text)
{
	char *result = NULL;
	size_t size;
	FILE *stream = open_memstream(&result, &size);
	const char *before = "";

	if (!stream)
		return NULL;
	while (*text) {
		size_t length = strchr("\t ", *before) && *before ? number_length(text) : 0;

		if (length) {
			long long value = strtoll(text, NULL, 10);

			fprintf(stream, "%s0x%llx", value < 0 ? "-" : "",
				value < 0 ? 0 - (unsigned long long)value
					  : (unsigned long long)value);
		} else {
			fputc(*text, stream);
			length = 1;
		}
		text += length;
		before = text - 1;
	}
	if (fclose(stream)) {
		free(result);
		return NULL;
	}
	return result;
}
