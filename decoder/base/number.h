/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole numbers in text, as files and options have them: digits, without a sign and without blanks
 * in front, both of which strtoull() takes.  In base 0 they are hexadecimal behind "0x", else
 * decimal: a 0 in front makes nothing octal, which nobody means who pads a number.
 */
#ifndef DECODER_BASE_NUMBER_H
#define DECODER_BASE_NUMBER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The number at *at, which is put behind it.  false: there is none, or it has more than 64 bits. */
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

/* The whole text is a number from `least` to `most`; what it is is not touched otherwise. */
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
