/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/json.h"
#include "decoder/base/terminal_text.h"
#include "decoder/base/utf8.h"
#include "tools/ui/json.h"
#include "tools/ui/safe_output.h"

/*
 * json-c escapes ASCII control characters.  Other characters that are unsafe on a terminal, and
 * those in `also`, occur in strings only.
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

void ui_json_print(FILE *out, json_object *value, int flags)
{
	print_json(out, json_object_to_json_string_ext(value, flags), "");
}

/* Print a value and free it. */
static void print_value(struct ui_json *json, json_object *value)
{
	const char *text = json_object_to_json_string_ext(
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

FILE *ui_json_open(const char *command, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;

	if (!out)
		safe_output_message("pesa %s: cannot write %s: %s", command, path, strerror(errno));
	return out;
}

bool ui_json_close(const char *command, FILE *out)
{
	bool failed = ferror(out);

	if (out == stdout ? fflush(out) : fclose(out))
		failed = true;
	if (failed)
		safe_output_message("pesa %s: the output could not be written in full", command);
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
