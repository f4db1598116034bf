/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON output: one object whose members and array elements are printed as they are computed, so
 * that a large profile needs no tree in memory.  Values are json-c objects, which are printed and
 * freed here.
 */
#ifndef TOOLS_UI_JSON_H
#define TOOLS_UI_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Version of every schema in Documentation/json.md.  New members do not change it. */
#define UI_JSON_VERSION 1

struct ui_json {
	FILE *out;
	bool started;	      /* a member has been printed */
	bool element_started; /* an element of the open array has been printed */
	/*
	 * The document is in an HTML page: print no blanks, and escape '<', which could end the
	 * script.  Set it after the object is opened.
	 */
	bool in_page;
};

/* Begin the object, with the members "version" and "command". */
void ui_json_begin(struct ui_json *json, FILE *out, const char *command);
void ui_json_member(struct ui_json *json, const char *name, json_object *value);
void ui_json_array_begin(struct ui_json *json, const char *name);
void ui_json_element(struct ui_json *json, json_object *value);
void ui_json_array_end(struct ui_json *json);
void ui_json_end(struct ui_json *json);

/*
 * Print a value with json-c flags (JSON_C_TO_STRING_*), and keep it.  Characters that are unsafe on
 * a terminal (decoder/base/terminal_text.h) become \u escapes, so that a JSON reader gets the exact
 * name.
 */
void ui_json_print(FILE *out, json_object *value, int flags);

/*
 * The output stream for JSON; standard output for NULL.  If a file cannot be created, a message is
 * printed and the result is NULL.  Closing flushes; false: not everything was written, after a
 * message.
 */
FILE *ui_json_open(const char *command, const char *path);
bool ui_json_close(const char *command, FILE *out);

/* A number with 15 significant digits; null if it is not finite. */
json_object *ui_json_number(double value);
json_object *ui_json_count(uint64_t value);
/* A string; null for NULL.  Invalid UTF-8 is replaced. */
json_object *ui_json_string(const char *text);

#endif
