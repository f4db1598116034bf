/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions inlined into each other to three levels, aliases, a weak and a static function, and calls
 * through the procedure linkage table: what the symbol tests look up. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) unsigned int innermost(unsigned int value)
{
	return value * 2654435761u ^ value >> 7;
}

static inline __attribute__((always_inline)) unsigned int middle(unsigned int value)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 4; i++)
		sum += innermost(value + i);
	return sum;
}

__attribute__((noinline)) unsigned int outermost(unsigned int value)
{
	if (value & 1)
		return middle(value) + 1;
	return middle(value ^ 0x55);
}

__attribute__((noinline)) unsigned int __hidden_name(unsigned int value)
{
	return innermost(value) / 3;
}
extern unsigned int plain_name(unsigned int value) __attribute__((alias("__hidden_name")));
extern unsigned int weak_name(unsigned int value) __attribute__((weak, alias("__hidden_name")));

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	int numbers[16];

	for (int i = 0; i < 16; i++)
		numbers[i] =
			(int)(outermost((unsigned int)(argc + i)) ^ plain_name((unsigned int)i));
	qsort(numbers, 16, sizeof(*numbers), compare);
	printf("%s %d\n", argv[0], numbers[0] ^ numbers[15]);
	return 0;
}
