/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/json.h"
#include "decoder/base/terminal_text.h"
#include "decoder/base/utf8.h"
#include "tools/ui/json.h"
#include "tools/ui/standard_output.h"

/*
 * Print JSON text of json-c, and escape the characters in `also` and those that are unsafe on a
 * terminal.  They can be in strings only.  json-c has escaped the ASCII control characters.
 */
static void print_json(FILE *out, const char *text, const char *also)
{
	char escaped[TERMINAL_TEXT_ESCAPE];

	while (*text) {
		size_t length = terminal_text_next((const unsigned char *)text, escaped);

		if (*text != '\n' && (*escaped || strchr(also, *text)))
			export_json_character(out, text);
		else
			fwrite(text, 1, length, out);
		text += length;
	}
}

/* The text of a value, which json-c keeps. */
static const char *text_of(json_object *value, int flags)
{
	const char *text = json_object_to_json_string_ext(value, flags);

	if (!text)
		standard_output_lacks_part();
	return text ? text : "null";
}

void ui_json_print(FILE *out, json_object *value, int flags)
{
	print_json(out, text_of(value, flags), "");
}

/* Print a value and free it. */
static void print_value(struct ui_json *json, json_object *value)
{
	const char *text = text_of(
		value, JSON_C_TO_STRING_NOSLASHESCAPE |
			       (json->in_page ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_SPACED));

	print_json(json->out, text, json->in_page ? "<" : "");
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

struct pesa_error *ui_json_open(const char *path, FILE **out)
{
	FILE *opened = path ? fopen(path, "we") : stdout;

	if (!opened)
		return pesa_error_system(errno, "cannot write %s", path);
	*out = opened;
	return NULL;
}

struct pesa_error *ui_json_close(FILE *out)
{
	bool failed = ferror(out);

	if (out == stdout ? fflush(out) : fclose(out))
		failed = true;
	return failed ? pesa_error_create(PESA_ERROR_OTHER,
					  "the output could not be written in full")
		      : NULL;
}

json_object *ui_json_made(json_object *value)
{
	if (!value)
		standard_output_lacks_part();
	return value;
}

#undef json_object_object_add
#undef json_object_array_add

void ui_json_object_add(json_object *object, const char *name, json_object *value)
{
	if (!object || json_object_object_add(object, name, value))
		standard_output_lacks_part();
}

void ui_json_array_add(json_object *array, json_object *value)
{
	if (!array || json_object_array_add(array, value))
		standard_output_lacks_part();
}

json_object *ui_json_number(double value)
{
	char text[32];

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.15g", value);
	return ui_json_made(json_object_new_double_s(value, text));
}

json_object *ui_json_count(uint64_t value)
{
	return json_object_new_uint64(value);
}

json_object *ui_json_string(const char *text)
{
	json_object *result;
	char *clean;

	if (!text)
		return NULL;
	clean = utf8_clean(text);
	if (clean)
		result = json_object_new_string(clean);
	else
		result = ui_json_made(NULL);
	free(clean);
	return result;
}
