// SPDX-License-Identifier: GPL-2.0-or-later
#include "decoder/base/nearest.h"

#include <ctype.h>
#include <string.h>

/* `length` bytes of `other`, less than NEAREST_NAME. */
static size_t distance_of(const char *one, const char *other, size_t length)
{
	size_t row[NEAREST_NAME];

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; one[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t changed = diagonal + (tolower((unsigned char)one[i - 1]) !=
						     tolower((unsigned char)other[j - 1]));

			diagonal = row[j];
			if (row[j - 1] + 1 < changed)
				changed = row[j - 1] + 1;
			if (row[j] + 1 < changed)
				changed = row[j] + 1;
			row[j] = changed;
		}
	}
	return row[length];
}

void nearest_begin(struct nearest *nearest, const char *typed)
{
	size_t length = strlen(typed);

	*nearest = (struct nearest){.typed = typed,
				    .distance = length < NEAREST_NAME ? 2 + length / 4 : 0};
}

bool nearest_try(struct nearest *nearest, const char *name, size_t length)
{
	size_t distance;

	if (!nearest->distance || length >= NEAREST_NAME)
		return false;
	distance = distance_of(nearest->typed, name, length);
	if (distance >= nearest->distance)
		return false;
	nearest->distance = distance;
	return true;
}
