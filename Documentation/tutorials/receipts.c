// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Add up what a shop sold: receipts name articles by their numbers, a table has the prices.
 * The program of the tutorial "I want to make a program faster"; STEP says how the article is found.
 */
#include <stdio.h>

#define ARTICLES 4096
#define RECEIPTS 150000
#define SEPARATE __attribute__((noinline)) /* a function of its own in the profile */

struct article {
	int number;
	int price;
	long sold;
	char name[48];
};

static struct article articles[ARTICLES]; /* sorted by number */
static int numbers[ARTICLES];		  /* the same numbers, next to each other */
static int receipts[RECEIPTS];

#if STEP == 0
/* A binary search, as one writes it. */
SEPARATE static struct article *find(int number)
{
	int low = 0, high = ARTICLES;

	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (articles[middle].number <= number)
			low = middle;
		else
			high = middle;
	}
	return &articles[low];
}
#elif STEP == 1
/* The same, on numbers that lie next to each other: 16 in a cache line, not one. */
SEPARATE static struct article *find(int number)
{
	int low = 0, high = ARTICLES;

	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (numbers[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	return &articles[low];
}
#else
/* Without a branch: the sign of a difference is a mask, all ones or all zeros.  Nothing is left to mispredict. */
SEPARATE static struct article *find(int number)
{
	int low = 0;

	for (int half = ARTICLES / 2; half; half /= 2)
		low += half & ~((number - numbers[low + half]) >> 31);
	return &articles[low];
}
#endif

SEPARATE static long sum(void)
{
	long cents = 0;

	for (int i = 0; i < RECEIPTS; i++) {
		struct article *article = find(receipts[i]);

		article->sold++;
		cents += article->price;
	}
	return cents;
}

/* The next of a row of numbers that look random. */
static int draw(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

int main(void)
{
	unsigned int state = 1;

	for (int i = 0; i < ARTICLES; i++) {
		numbers[i] = articles[i].number = 10 * i;
		articles[i].price = 100 + draw(&state) % 900;
	}
	for (int i = 0; i < RECEIPTS; i++)
		receipts[i] = 10 * (draw(&state) % ARTICLES);
	printf("%ld cents\n", sum());
	return 0;
}
