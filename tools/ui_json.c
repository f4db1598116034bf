/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/utf8.h"
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

json_object *ui_json_string(const char *text)
{
	json_object *result;
	char *clean = text ? utf8_clean(text) : NULL;

	if (!clean)
		return NULL;
	result = json_object_new_string(clean);
	free(clean);
	return result;
}
