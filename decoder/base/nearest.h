/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nearest of several names to one that was mistyped: "do you mean ...?".
 *
 * The distance of two names is the number of letters to change, delete or insert, ignoring case
 * (Levenshtein).  A name is only suggested if it is nearer than a quarter of the letters and two.
 */
#ifndef DECODER_BASE_NEAREST_H
#define DECODER_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_NAME \
	64u /* bytes with the end; for longer names, and among them, none is searched */

struct nearest {
	const char *typed;
	size_t distance; /* of the nearest so far, or the least that is too far */
};

void nearest_begin(struct nearest *nearest, const char *typed);
/* Whether a name is nearer than all before; `length` bytes of it are compared. */
bool nearest_try(struct nearest *nearest, const char *name, size_t length);

#endif
