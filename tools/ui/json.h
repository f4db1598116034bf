/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON output: one object whose members and array elements are printed as they are computed, so
 * that a large profile needs no tree in memory.  Values are json-c objects, which are printed and
 * freed here.
 *
 * What has no memory becomes null or is left out, and the program says so when it exits
 * (tools/ui/standard_output.h).  This holds for json-c's own functions too, in every file that
 * includes this header: see its end.
 */
#ifndef TOOLS_UI_JSON_H
#define TOOLS_UI_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/error.h"

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

/* The output stream for JSON: a new file, or standard output for NULL. */
struct pesa_error *ui_json_open(const char *path, FILE **out);
/* Flush it, and close a file.  Returns an error if not everything was written. */
struct pesa_error *ui_json_close(FILE *out);

/* A number with 15 significant digits; null if it is not finite. */
json_object *ui_json_number(double value);
json_object *ui_json_count(uint64_t value);
/* A string; null for NULL.  Invalid UTF-8 is replaced. */
json_object *ui_json_string(const char *text);

/* Note that there was no memory for a value if it is NULL, and return it. */
json_object *ui_json_made(json_object *value);
/*
 * Take the value as json-c's functions do.  Where it cannot be added, or there was no memory for the
 * object (with which json-c would end the program), note that.  The value is not freed then: callers
 * fill objects after they have added them.
 */
void ui_json_object_add(json_object *object, const char *name, json_object *value);
void ui_json_array_add(json_object *array, json_object *value);

/* From here on json-c's names stand for checked calls.  A macro is not expanded again within itself. */
#define json_object_new_object()	ui_json_made(json_object_new_object())
#define json_object_new_array()		ui_json_made(json_object_new_array())
#define json_object_new_array_ext(size) ui_json_made(json_object_new_array_ext(size))
#define json_object_new_boolean(value)	ui_json_made(json_object_new_boolean(value))
#define json_object_new_int(value)	ui_json_made(json_object_new_int(value))
#define json_object_new_int64(value)	ui_json_made(json_object_new_int64(value))
#define json_object_new_uint64(value)	ui_json_made(json_object_new_uint64(value))
#define json_object_new_string(text)	ui_json_made(json_object_new_string(text))
#define json_object_object_add		ui_json_object_add
#define json_object_array_add		ui_json_array_add

#endif
