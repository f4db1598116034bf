// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads whose order the virtual core decides: turns MODE [THREADS [ROUNDS]]. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 16
#define RING	    8

static int threads = 4, rounds = 200;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t ring[RING], head, tail, order = 1;
static atomic_int turn, spins;
static int channel[2];

/* Counters of a line each, or all in one. */
static struct {
	_Alignas(64) volatile uint64_t mine;
} apart[THREADS_MAX];
static _Alignas(64) volatile uint64_t together[THREADS_MAX];

static uint64_t compute(uint64_t seed, int steps)
{
	for (int i = 0; i < steps; i++)
		seed = seed * 6364136223846793005u + (seed >> 17 & 1 ? 1442695040888963407u : 1);
	return seed;
}

/* What depends on who came when. */
static void note(uint64_t who)
{
	order = order * 31 + who;
}

static void mode_queue(int self)
{
	for (int i = 0; i < rounds; i++) {
		compute((uint64_t)i, 10 + self * 7 % 30);
		pthread_mutex_lock(&mutex);
		if (self % 2) {
			while (head == tail)
				pthread_cond_wait(&filled, &mutex);
			note(ring[tail++ % RING]);
			pthread_cond_signal(&emptied);
		} else {
			while (head - tail == RING)
				pthread_cond_wait(&emptied, &mutex);
			ring[head++ % RING] = (uint64_t)self;
			pthread_cond_signal(&filled);
		}
		pthread_mutex_unlock(&mutex);
	}
}

static void mode_mutex(int self)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&mutex);
		note((uint64_t)self);
		compute(order, 40);
		pthread_mutex_unlock(&mutex);
		compute(order, 20);
	}
}

static void mode_barrier(int self)
{
	for (int i = 0; i < rounds; i++) {
		compute((uint64_t)i, 20 * (1 + (self + i) % threads));
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			note((uint64_t)self);
	}
}

static void mode_spin(int self)
{
	for (int i = 0; i < rounds; i++) {
		while (atomic_load(&turn) % threads != self)
			atomic_fetch_add_explicit(&spins, 1, memory_order_relaxed);
		note((uint64_t)self);
		atomic_fetch_add(&turn, 1);
	}
}

static void mode_apart(int self)
{
	for (int i = 0; i < rounds; i++)
		apart[self].mine++;
}

static void mode_together(int self)
{
	for (int i = 0; i < rounds; i++)
		together[self]++;
}

/* Sleeps that the model knows nothing of: a pipe, the clock. */
static void mode_pipe(int self)
{
	char byte = 'x';

	for (int i = 0; i < rounds; i++) {
		if (self % 2 ? read(channel[0], &byte, 1) != 1 : write(channel[1], &byte, 1) != 1)
			abort();
		if (i % 64 == 0)
			usleep(100);
	}
}

static const struct {
	const char *name;
	void (*run)(int self);
} modes[] = {
	{"queue", mode_queue}, {"mutex", mode_mutex}, {"barrier", mode_barrier},
	{"spin", mode_spin},   {"apart", mode_apart}, {"together", mode_together},
	{"pipe", mode_pipe},
};
static void (*run)(int self);

static void *begin(void *self)
{
	run((int)(intptr_t)self);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];

	if (argc > 2)
		threads = atoi(argv[2]);
	if (argc > 3)
		rounds = atoi(argv[3]);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			run = modes[i].run;
	if (!run || threads < 1 || threads > THREADS_MAX || pipe(channel))
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, begin, (void *)(intptr_t)i))
			return 2;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%llu %d\n", (unsigned long long)order, atomic_load(&spins));
	return 0;
}
