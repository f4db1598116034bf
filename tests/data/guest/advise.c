// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that `pesa advise` has something to say about, chosen by KIND; with FIXED what it says has
 * been done.  PREFETCH, LISTED (a chased pointer), INLINE, LAYOUT, PREDICT, UNROLL, SPILL.
 */
#include <stdio.h>

#define PREFETCH 1
#define LISTED	 2
#define INLINE	 3
#define LAYOUT	 4
#define PREDICT	 5
#define UNROLL	 6
#define SPILL	 7

#ifdef FIXED
#define IS_FIXED 1
#else
#define IS_FIXED 0
#endif

#ifndef COUNT
#define COUNT 3000 /* iterations of the loop of UNROLL each time it is entered */
#endif

#define ALONE __attribute__((noinline)) static

#if KIND == PREFETCH
/* A store to the line brings it as a prefetch would: the core does not wait for it. */
struct item {
	long value, pad[31];
};
static struct item items[20000 + 8] __attribute__((aligned(64)));

ALONE unsigned long work(struct item *item, int count)
{
	unsigned long sum = 1;

	for (int i = 0; i < count; i++) {
		if (IS_FIXED)
			*(volatile char *)&item[i + 2].pad[0] = 0;
		sum ^= item[i].value; /* here */
		for (int k = 0; k < 100; k++)
			sum = sum * 7 + 3;
	}
	return sum;
}

static unsigned long run(void)
{
	__asm__ volatile("" ::"r"(items) : "memory"); /* who knows what is in it */
	return work(items, 20000);
}

#elif KIND == LISTED
/* Every element on a line of its own, in an order that no prefetcher follows; or all side by side. */
struct element {
	struct element *next;
	long value, pad[IS_FIXED ? 2 : 30];
};
static struct element elements[8192];

ALONE unsigned long work(const struct element *element, int count)
{
	unsigned long sum = 0;

	while (count--) {
		sum += element->value; /* here */
		element = element->next;
	}
	return sum;
}

static unsigned long run(void)
{
	unsigned int step = IS_FIXED ? 1 : 3571;

	for (unsigned int i = 0; i < 8192; i++) {
		elements[i].next = &elements[(i + step) % 8192];
		elements[i].value = i;
	}
	return work(elements, 40000);
}

#elif KIND == INLINE
static int table[256];
#if IS_FIXED
#define HOW static inline __attribute__((always_inline))
#else
#define HOW ALONE
#endif

HOW int look_up(int x)
{
	return table[x & 255] + (x >> 8);
}

HOW int mix(int x, int y)
{
	return look_up(x ^ y) ^ look_up(y);
}

static unsigned long run(void)
{
	int sum = 1;

	for (int i = 0; i < 256; i++)
		table[i] = i * 7;
	for (int i = 0; i < 60000; i++)
		sum = mix(sum, i); /* here */
	return (unsigned int)sum;
}

#elif KIND == LAYOUT
static unsigned char data[4096];
#define STEP(n)                                         \
	if (__builtin_expect(value > (n), IS_FIXED)) {  \
		sum##n += value;                        \
		__asm__ volatile("" : "+r"(sum##n));    \
	} else {                                        \
		sum##n ^= i;                            \
		sum##n *= 3;                            \
		__asm__ volatile("nop" : "+r"(sum##n)); \
	}

ALONE unsigned long work(int count)
{
	unsigned int sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0;

	for (int i = 0; i < count; i++) {
		unsigned int value = data[i & 4095];

		STEP(0)
		STEP(1)
		STEP(2)
		STEP(3)
		STEP(4)
	}
	return sum0 + sum1 + sum2 + sum3 + sum4;
}

static unsigned long run(void)
{
	for (int i = 0; i < 4096; i++)
		data[i] = i % 512 == 5 ? 1 : 9;
	return work(60000);
}

#elif KIND == PREDICT
static unsigned int data[4096];

ALONE unsigned int work(int count)
{
	unsigned int sum = 0;

	for (int i = 0; i < count; i++) {
		unsigned int value = data[i & 4095] ^ (i * 2654435761u >> 7);

		if (IS_FIXED) {
			unsigned int mask = -(value >> 31);

			sum += value & 15 & mask;
			sum ^= value >> 4 & ~mask;
		} else if (value >> 31) { /* here */
			sum += value & 15;
		} else {
			sum ^= value >> 4;
		}
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

static unsigned long run(void)
{
	unsigned int random = 12345;

	for (int i = 0; i < 4096; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		data[i] = random;
	}
	return work(60000);
}

#elif KIND == UNROLL
static unsigned char data[2][COUNT];

ALONE int work(const unsigned char *x, const unsigned char *y, int count)
{
	int sum = 0;

	__asm__ volatile("" ::: "memory");
#if IS_FIXED
	_Pragma("GCC unroll 4")
#endif
		for (int i = 0; i < count; i++) sum += x[i] & y[i]; /* here */
	return sum;
}

static unsigned long run(void)
{
	unsigned long sum = 0;
	int count = COUNT;

	__asm__("" : "+r"(count)); /* who knows how many */
	for (int i = 0; i < COUNT; i++) {
		data[0][i] = (unsigned char)i;
		data[1][i] = (unsigned char)(i * 3);
	}
	for (int i = 0; i < 180000 / COUNT; i++)
		sum += (unsigned int)work(data[0], data[1], count);
	return sum;
}

#elif KIND == SPILL
/* The compiler is told that registers do not keep their values: all but two, or some. */
#if IS_FIXED
#define LOST "a5", "a6"
#else
#define LOST                                                                                  \
	"ra", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "a0", \
		"a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5", "t6"
#endif

ALONE unsigned long work(int count)
{
	unsigned long x = 1, y = 3;

	for (int i = 0; i < count; i++) {
		x = x * 5 + y;
		y += x >> 3;
		__asm__ volatile("" ::: LOST);
	}
	return x + y;
}

static unsigned long run(void)
{
	return work(60000);
}
#endif

int main(void)
{
	printf("%lu\n", run());
	return 0;
}
