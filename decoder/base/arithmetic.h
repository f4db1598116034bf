/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DECODER_BASE_ARITHMETIC_H
#define DECODER_BASE_ARITHMETIC_H

#include <stdint.h>

/* The result for 0 and a number is that number. */
static inline uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
