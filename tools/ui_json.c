/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ui_json.h"

/* Print a value, and free it. */
static void print_value(struct ui_json *json, json_object *value)
{
	const char *text = json_object_to_json_string_ext(
		value, JSON_C_TO_STRING_NOSLASHESCAPE |
			       (json->in_page ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_SPACED));

	while (json->in_page && *text) {
		size_t length = strcspn(text, "<");

		fwrite(text, 1, length, json->out);
		text += length;
		/* It is only in strings. */
		if (*text) {
			fputs("\\u003c", json->out);
			text++;
		}
	}
	fputs(text, json->out);
	json_object_put(value);
}

void ui_json_begin(struct ui_json *json, FILE *out, const char *command)
{
	*json = (struct ui_json){.out = out};
	fputs("{", out);
	ui_json_member(json, "version", ui_json_count(UI_JSON_VERSION));
	ui_json_member(json, "command", ui_json_string(command));
}

static void name_member(struct ui_json *json, const char *name)
{
	fprintf(json->out, "%s\n \"%s\": ", json->started ? "," : "", name);
	json->started = true;
}

void ui_json_member(struct ui_json *json, const char *name, json_object *value)
{
	name_member(json, name);
	print_value(json, value);
}

void ui_json_array_begin(struct ui_json *json, const char *name)
{
	name_member(json, name);
	fputs("[", json->out);
	json->element_started = false;
}

void ui_json_element(struct ui_json *json, json_object *value)
{
	fputs(json->element_started ? "," : "", json->out);
	fputs(json->in_page ? "\n" : "\n  ", json->out);
	print_value(json, value);
	json->element_started = true;
}

void ui_json_array_end(struct ui_json *json)
{
	fputs(json->element_started ? "\n ]" : "]", json->out);
}

void ui_json_end(struct ui_json *json)
{
	fputs("\n}\n", json->out);
}

FILE *ui_json_open(const char *command, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	if (!out)
		fprintf(stderr, "pesa %s: cannot write %s: %s\n", command, path, strerror(errno));
	return out;
}

bool ui_json_close(const char *command, FILE *out)
{
	bool failed = ferror(out);

	if (out == stdout ? fflush(out) : fclose(out))
		failed = true;
	if (failed)
		fprintf(stderr, "pesa %s: the output could not be written in full\n", command);
	return !failed;
}

json_object *ui_json_number(double value)
{
	char text[32];

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.15g", value);
	return json_object_new_double_s(value, text);
}

json_object *ui_json_count(uint64_t value)
{
	return json_object_new_uint64(value);
}

/* Length of the well-formed UTF-8 character at `text`, 0 if it is none (RFC 3629). */
static size_t utf8_length(const unsigned char *text)
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

json_object *ui_json_string(const char *text)
{
	size_t length, out = 0;
	json_object *result;
	char *clean;

	if (!text)
		return NULL;
	length = strlen(text);
	clean = malloc(length * 3 + 1);
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
	result = json_object_new_string_len(clean, (int)out);
	free(clean);
	return result;
}
