/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GCC divides differ() at the loop, inlines its beginning, and then the rest into what remains. */
volatile int sum;
static int differ(const unsigned char *a, const unsigned char *b, int n)
{
	if (a[0] != b[0])
		return a[0] > b[0];
	if (a[1] != b[1])
		return a[1] > b[1];
	if (a[2] != b[2])
		return a[2] > b[2];
	do {
		if (a[3] != b[3])
			return a[3] > b[3];
		if (a[4] != b[4])
			return a[4] > b[4];
		sum += n;
		a += 2;
		b += 2;
	} while (--n > 0);
	return 0;
}
__attribute__((noipa)) int use(const unsigned char *a, const unsigned char *b, int n)
{
	int found = 0;
	for (int i = 0; i < n; i++) {
		found += differ(a + i % 7, b + i % 5, 6);
		if (found & 1)
			found += differ(a + i % 3, b, 5);
		else
			found -= differ(a, b + i % 2, 4);
	}
	return found;
}
int main(void)
{
	static unsigned char a[64], b[64];
	for (int i = 0; i < 64; i++) {
		a[i] = i / 9;
		b[i] = i / 8;
	}
	return use(a, b, 9000) & 1;
}
