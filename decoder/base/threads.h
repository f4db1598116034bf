/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that share work with the one that starts them. */
#ifndef DECODER_BASE_THREADS_H
#define DECODER_BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

#include "decoder/base/processors.h"

#define THREADS_MAX 16u

struct threads {
	pthread_t thread[THREADS_MAX];
	unsigned int count; /* that were started */
};

/* How many threads to use, the caller's included: one for each processor that the process may use, at most
 * THREADS_MAX. */
static inline unsigned int threads_usual(void)
{
	unsigned int allowed = processors_allowed();

	return allowed < THREADS_MAX ? allowed : THREADS_MAX;
}

/*
 * Start `count` threads, at most THREADS_MAX, of which number i gets the argument at `arguments` + i * `size`
 * bytes.  Where one cannot be started there are fewer: those that run have to do the work of all.
 */
static inline void threads_start(struct threads *threads, unsigned int count, void *(*work)(void *),
				 void *arguments, size_t size)
{
	threads->count = 0;
	while (threads->count < count && threads->count < THREADS_MAX &&
	       !pthread_create(&threads->thread[threads->count], NULL, work,
			       (char *)arguments + threads->count * size))
		threads->count++;
}

static inline void threads_join(struct threads *threads)
{
	while (threads->count)
		pthread_join(threads->thread[--threads->count], NULL);
}

#endif
