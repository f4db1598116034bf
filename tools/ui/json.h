/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON output: one object whose members and array elements are printed as they come, so that a
 * profile of any size needs no tree of its own.  Values are json-c objects, printed and freed here.
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
	bool started;	      /* a member was printed */
	bool element_started; /* an element of the open array was printed */
	/* The document stands in a page: no blanks, and no '<', with which the page would go on.
	 * Set when the object is open. */
	bool in_page;
};

/* Open the object with the members "version" and "command". */
void ui_json_begin(struct ui_json *json, FILE *out, const char *command);
void ui_json_member(struct ui_json *json, const char *name, json_object *value);
void ui_json_array_begin(struct ui_json *json, const char *name);
void ui_json_element(struct ui_json *json, json_object *value);
void ui_json_array_end(struct ui_json *json);
void ui_json_end(struct ui_json *json);

/*
 * Print a value with these flags of json-c (JSON_C_TO_STRING_*), and keep it.  Characters that a
 * terminal should not get (decoder/base/terminal_text.h) are \u and digits, so that who reads the JSON
 * has the very name.
 */
void ui_json_print(FILE *out, json_object *value, int flags);

/*
 * The stream for a result as JSON: standard output for NULL.  When a file cannot be made one line
 * has been printed, with the subcommand in front, and the result is NULL.  Closing flushes; false:
 * not all was written, which has been said too.
 */
FILE *ui_json_open(const char *command, const char *path);
bool ui_json_close(const char *command, FILE *out);

/* A number with 15 significant digits, null if it is none. */
json_object *ui_json_number(double value);
json_object *ui_json_count(uint64_t value);
/* A string, null for NULL.  Bytes that are no UTF-8 are replaced. */
json_object *ui_json_string(const char *text);

#endif
