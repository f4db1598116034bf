/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A filter for everything that pesa prints: all of standard output and standard error is made safe
 * (decoder/base/terminal_text.h), except for line breaks, tabs, and colours.
 *
 * Names are made safe where they are put into a line, because only there it is known that a line
 * break is part of a name.  This filter is the second line of defence.  It passes colours only if
 * ui_terminal_open() enabled them, and only the exact sequences that pesa uses: a name that was
 * not made safe before could at most change a colour.
 *
 * Binary output (an archive, a binary profile, the screen of pesa top) goes to
 * safe_output_binary().
 */
#ifndef TOOLS_UI_SAFE_OUTPUT_H
#define TOOLS_UI_SAFE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Install the filter on stdout and stderr; call it at the start of main(), before any output. */
void safe_output_start(void);
/* Enable colours. */
void safe_output_colours(bool wanted);
/* Standard output without the filter.  Flushes stdout first. */
FILE *safe_output_binary(void);
/*
 * Filter a stream to which nothing has been written; `close` (fclose, pclose) closes it with the
 * new one. NULL: out of memory, and the stream is closed.
 */
FILE *safe_output_to(FILE *target, int (*close)(FILE *));
/* Create a filtered text file.  NULL: see errno. */
FILE *safe_output_file(const char *path);
/*
 * Print one line on standard error; line breaks in it are removed.  The format has no line break.
 */
void safe_output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Write what is still held as the start of a character or sequence.  Call it before the exit. */
void safe_output_finish(void);

#endif
