/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A net below all that pesa prints: whatever reaches standard output or standard error is made safe
 * (decoder/base/terminal_text.h) but for line breaks, tabs, and the colours below.
 *
 * Names are made safe where they are put into a line, which only that place can do well: it knows
 * that a line break in a name is none.  The net is for the place that forgets it.  It lets colours
 * pass only where ui_terminal_open() found that they are wanted, and only the sequences that pesa
 * makes, letter by letter: a name that got as far as here could at worst change a colour.
 *
 * What is no text (an archive, a profile in a binary format, the screen of pesa top) goes to
 * safe_output_binary().
 */
#ifndef TOOLS_UI_SAFE_OUTPUT_H
#define TOOLS_UI_SAFE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Put the net below stdout and stderr; at the beginning of main(), before anything is printed. */
void safe_output_start(void);
/* Whether colours may pass. */
void safe_output_colours(bool wanted);
/* Standard output without the net.  What was printed to stdout before is written out first. */
FILE *safe_output_binary(void);
/* A stream with the net to one that nothing was written to yet, and which `close` (fclose, pclose)
 * closes with it.  NULL: out of memory, and it is closed. */
FILE *safe_output_to(FILE *below, int (*close)(FILE *));
/* Make a text file that people read, with the net.  NULL: errno says why not. */
FILE *safe_output_file(const char *path);
/* One line on standard error: all of it is made safe, so that no name in it makes another one.  The
 * format has no line break. */
void safe_output_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Write out bytes that were held back as the beginning of a character: none will follow. */
void safe_output_finish(void);

#endif
