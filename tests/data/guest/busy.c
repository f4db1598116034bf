/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busy MILLISECONDS THREADS CHILDREN: each thread of each process uses so much CPU time, in `inner`
 * which `outer` calls.  Prints its process number when it begins.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double milliseconds;

static double used(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

__attribute__((noinline)) unsigned long inner(unsigned long value)
{
	for (int i = 0; i < 100000; i++)
		value = value * 6364136223846793005ul + 1442695040888963407ul;
	return value;
}

__attribute__((noinline)) unsigned long outer(unsigned long value)
{
	while (used() < milliseconds)
		value = inner(value) + 1;
	return value;
}

static void *work(void *argument)
{
	return (void *)outer((unsigned long)argument);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, children = argc > 3 ? atoi(argv[3]) : 0;
	pthread_t thread[64];

	milliseconds = argc > 1 ? atof(argv[1]) : 100;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < children; i++)
		if (!fork())
			children = 0;
	for (int i = 1; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	work(NULL);
	for (int i = 1; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	while (wait(NULL) > 0)
		;
	return 7;
}
