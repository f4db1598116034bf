// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose call chains are known.
 *
 *   stacks chains N        N rounds: work() under left_a > left_b, and under right_a > right_b,
 *                          the latter through a pointer
 *   stacks moves N         the same on one hart and the other in turns
 *   stacks deep N DEPTH    N rounds: down() calls itself DEPTH times, work() at the bottom
 *   stacks tasks N         two threads that take turns, N times: one as `left`, one as `right`
 *   stacks forks N         two processes that take turns likewise
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline, noclone))

static volatile unsigned long sink;

FUNCTION unsigned long work(unsigned long value)
{
	for (int i = 0; i < 40; i++)
		value = value * 6364136223846793005ul + 1442695040888963407ul;
	sink = value;
	return value;
}

FUNCTION unsigned long left_b(unsigned long value)
{
	return work(value) + 1;
}

FUNCTION unsigned long left_a(unsigned long value)
{
	return left_b(value) + 2;
}

FUNCTION unsigned long right_b(unsigned long value)
{
	return work(value) + 3;
}

FUNCTION unsigned long right_a(unsigned long value)
{
	unsigned long (*volatile function)(unsigned long) = right_b;

	return function(value) + 4;
}

FUNCTION unsigned long down(unsigned long value, unsigned long depth)
{
	unsigned long result = depth ? down(value, depth - 1) : work(value);

	sink = result;
	return result + 1;
}

static unsigned long rounds;

FUNCTION void left(void)
{
	for (unsigned long i = 0; i < rounds; i++) {
		sink = left_a(i);
		sched_yield();
	}
}

FUNCTION void right(void)
{
	for (unsigned long i = 0; i < rounds; i++) {
		sink = right_a(i);
		sched_yield();
	}
}

FUNCTION void *start_left(void *unused)
{
	left();
	return unused;
}

FUNCTION void *start_right(void *unused)
{
	right();
	return unused;
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	pthread_t thread[2];

	rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	if (!strcmp(mode, "chains")) {
		for (unsigned long i = 0; i < rounds; i++)
			sink = left_a(i) + right_a(i);
	} else if (!strcmp(mode, "moves")) {
		for (unsigned long i = 0; i < rounds; i++) {
			if (i % 50 == 0)
				stay_on((int)(i / 50 % 2));
			sink = left_a(i) + right_a(i);
		}
	} else if (!strcmp(mode, "deep") && argc > 3) {
		unsigned long depth = strtoul(argv[3], NULL, 0);

		for (unsigned long i = 0; i < rounds; i++)
			sink = down(i, depth);
	} else if (!strcmp(mode, "tasks")) {
		stay_on(0);
		if (pthread_create(&thread[0], NULL, start_left, NULL) ||
		    pthread_create(&thread[1], NULL, start_right, NULL))
			return 1;
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
	} else if (!strcmp(mode, "forks")) {
		pid_t child;

		stay_on(0);
		child = fork();
		if (child)
			left();
		else
			right();
		if (child)
			waitpid(child, NULL, 0);
	} else {
		fprintf(stderr, "stacks: see the source\n");
		return 2;
	}
	return 0;
}
