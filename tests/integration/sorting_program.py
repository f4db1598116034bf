# SPDX-License-Identifier: GPL-2.0-or-later
"""A program for the virtual core that sorts random numbers, whose seed is its argument."""

SOURCE = r"""
#include <stdlib.h>
static int order(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }
int main(int count, char **words)
{
    static int number[NUMBERS];
    unsigned seed = atoi(words[1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < NUMBERS; i++)
            number[i] = (seed = seed * 1103515245 + 12345) >> 8;
        qsort(number, NUMBERS, sizeof(*number), order);
    }
    return number[0] == count;
}
"""


def sorting_program(numbers, rounds):
    """Its C source."""
    return SOURCE.replace("NUMBERS", str(numbers)).replace("ROUNDS", str(rounds))
