// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that take turns, each with slices of its own mean length: shares ROUNDS SLICE...
 *
 * When its standard input says something, or ends, thread i works about SLICE iterations, gives up
 * the processor, and does so ROUNDS times, in all ROUNDS * SLICE iterations.  These are cut into
 * slices at random places: if all slices of a thread were as long, the threads would take turns
 * with a period, which could be that of the samples.  An iteration is a chain of multiplications,
 * each needed by the next, so that every one takes the same cycles whoever runs it: the shares of
 * the cycles in chain() are those of the slices.  Prints for each thread its number and how often
 * it was switched.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { THREADS_MAX = 16 };

struct worker {
	pthread_t thread;
	unsigned long rounds, slice;
	unsigned long *cuts; /* iterations that are done at the end of each slice */
	long switches;
	int task;
	pthread_barrier_t *begin;
};

#define REPEAT4(text)  text text text text
#define REPEAT16(text) REPEAT4(REPEAT4(text))

static __attribute__((noinline)) void chain(unsigned long iterations)
{
	__asm__ volatile("li t0, 3\n"
			 "1:\n" REPEAT16("mul t0, t0, t0\n") "addi %0, %0, -1\n"
							     "bnez %0, 1b"
			 : "+r"(iterations)
			 :
			 : "t0");
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct rusage usage;
	unsigned long done = 0;

	worker->task = gettid();
	pthread_barrier_wait(worker->begin);
	for (unsigned long i = 0; i < worker->rounds; i++) {
		unsigned long iterations = worker->cuts[i] - done;

		done = worker->cuts[i];
		if (iterations)
			chain(iterations);
		sched_yield();
	}
	getrusage(RUSAGE_THREAD, &usage);
	worker->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	return NULL;
}

static int compare(const void *left, const void *right)
{
	unsigned long a = *(const unsigned long *)left, b = *(const unsigned long *)right;

	return (a > b) - (a < b);
}

static unsigned long *cut(unsigned long rounds, unsigned long slice)
{
	unsigned long *cuts = calloc(rounds, sizeof(*cuts));

	if (!cuts)
		return NULL;
	for (unsigned long i = 0; i + 1 < rounds; i++)
		cuts[i] = (unsigned long)random() % (rounds * slice);
	cuts[rounds - 1] = rounds * slice;
	qsort(cuts, rounds, sizeof(*cuts), compare);
	return cuts;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS_MAX];
	int count = argc - 2;
	pthread_barrier_t begin;

	if (count < 1 || count > THREADS_MAX)
		return 2;
	pthread_barrier_init(&begin, NULL, (unsigned int)count + 1);
	for (int i = 0; i < count; i++) {
		workers[i] = (struct worker){.rounds = strtoul(argv[1], NULL, 0),
					     .slice = strtoul(argv[i + 2], NULL, 0),
					     .begin = &begin};
		if (!workers[i].rounds || !workers[i].slice)
			return 2;
		workers[i].cuts = cut(workers[i].rounds, workers[i].slice);
		if (!workers[i].cuts)
			return 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	}
	getchar();
	pthread_barrier_wait(&begin);
	for (int i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < count; i++)
		printf("%d %ld\n", workers[i].task, workers[i].switches);
	for (int i = 0; i < count; i++)
		free(workers[i].cuts);
	return 0;
}
