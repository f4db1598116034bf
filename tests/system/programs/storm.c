// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Very many short processes: storm PROCESSES ITERATIONS [PROGRAM...]
 *
 * Each process works a little and, when there is a PROGRAM, every second one becomes that.  At most
 * eight are there at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_A_TIME = 8 };

static __attribute__((noinline)) unsigned long storm_work(unsigned long iterations)
{
	unsigned long value = ~0ul;

	while (iterations--)
		value = value / 3 + ~0ul / 2;
	return value;
}

int main(int argc, char **argv)
{
	unsigned long processes, iterations;
	int running = 0, bad = 0, status;

	if (argc < 3)
		return 2;
	processes = strtoul(argv[1], NULL, 0);
	iterations = strtoul(argv[2], NULL, 0);
	for (unsigned long i = 0; i < processes; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (!child) {
			volatile unsigned long result = storm_work(iterations);

			(void)result;
			if (argc > 3 && i % 2)
				execv(argv[3], argv + 3);
			_exit(argc > 3 && i % 2);
		}
		if (++running == AT_A_TIME) {
			wait(&status);
			bad |= status;
			running--;
		}
	}
	while (running--) {
		wait(&status);
		bad |= status;
	}
	return bad ? 1 : 0;
}
