// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that no emulator can make take another way: without a C library, an environment or system calls but the last.
 * It sorts, multiplies, divides, and misses caches and branches.
 */
static unsigned int value[1 << 16];

static unsigned int draw(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void sift(unsigned int root, unsigned int count)
{
	for (unsigned int child; (child = 2 * root + 1) < count; root = child) {
		unsigned int kept = value[root];

		if (child + 1 < count && value[child + 1] > value[child])
			child++;
		if (kept >= value[child])
			return;
		value[root] = value[child];
		value[child] = kept;
	}
}

void _start(void)
{
	const unsigned int count = sizeof(value) / sizeof(*value);
	unsigned int state = 1, sum = 0;

	for (unsigned int i = 0; i < count; i++)
		value[i] = draw(&state);
	for (unsigned int i = count / 2; i--;)
		sift(i, count);
	for (unsigned int left = count - 1; left; left--) {
		unsigned int largest = value[0];

		value[0] = value[left];
		value[left] = largest;
		sift(0, left);
	}
	for (unsigned int i = 1; i < count; i++)
		sum += value[i] % (i | 1);
	register long status __asm__("a0") = sum == 0;
	register long call __asm__("a7") = 93;

	__asm__ volatile("ecall" : : "r"(status), "r"(call));
	for (;;)
		;
}
