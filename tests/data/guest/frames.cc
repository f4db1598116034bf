// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chains for unwound_chains.t: leaves, recursion, functions of the C library at the leaf, and in C++
 * exceptions.  It is C and C++.
 */
#include <stdlib.h>
#include <string.h>

#define ALONE __attribute__((noinline, noclone, used)) static

static volatile unsigned sink;

ALONE unsigned leaf(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += (i * sum) ^ n;
	return sum;
}

/* Works itself between its calls. */
ALONE unsigned works(unsigned n)
{
	unsigned sum = leaf(n);

	for (unsigned i = 0; i < n; i++)
		sum += sum / (i + 3);
	return sum + leaf(n / 2);
}

ALONE unsigned recurses(unsigned n)
{
	return n ? works(30) + 3 * recurses(n - 1) : leaf(60);
}

ALONE void copies(void)
{
	static char from[3000], to[3000];

	for (int i = 0; i < 20; i++) {
		memcpy(to, from, sizeof(to));
		sink += to[i];
	}
}

ALONE int compare(const void *a, const void *b)
{
	sink += leaf(5);
	return *(const int *)a - *(const int *)b;
}

ALONE void sorts(void)
{
	int values[200];

	for (int i = 0; i < 200; i++)
		values[i] = i * 7919 % 1000;
	qsort(values, 200, sizeof(values[0]), compare);
	sink += (unsigned)values[7];
}

#ifdef __cplusplus
struct guard {
	__attribute__((noinline)) ~guard()
	{
		sink += works(20);
	}
};

ALONE void throws(int n)
{
	guard one;

	sink += works(10);
	if (!n)
		throw n;
	throws(n - 1);
	sink += 1;
}

ALONE void catches(void)
{
	for (int i = 0; i < 4; i++) {
		try {
			throws(4);
		} catch (int) {
			sink += works(40);
		}
	}
}
#endif

int main(void)
{
	for (int i = 0; i < 2; i++) {
		sink += recurses(20);
		copies();
		sorts();
#ifdef __cplusplus
		catches();
#endif
	}
	return 0;
}
