/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Integers in text, as files and options have them: digits only, without the sign and leading
 * blanks that strtoull() accepts.  In base 0 a number is hexadecimal after "0x", otherwise decimal:
 * a leading 0 is padding and does not make it octal.
 */
#ifndef DECODER_BASE_NUMBER_H
#define DECODER_BASE_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Parse the number at *at and advance *at past it.  False: there is none, or it exceeds 64 bits. */
static inline bool number_take(const char **at, int base, uint64_t *number)
{
	unsigned long long value;
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	if (!base)
		base = (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X') ? 16 : 10;
	errno = 0;
	value = strtoull(*at, &end, base);
	if (errno)
		return false;
	*number = value;
	*at = end;
	return true;
}

/* Parse the whole text as a number from `least` to `most`.  On failure *number is unchanged. */
static inline bool number_read(const char *text, int base, uint64_t least, uint64_t most,
			       uint64_t *number)
{
	uint64_t value;

	if (!number_take(&text, base, &value) || *text || value < least || value > most)
		return false;
	*number = value;
	return true;
}

#endif
