// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded: now and then a thread of the host falls asleep before or behind a lock, as on a
 * machine that has no time for it.  SLOW_LOCKS: for how many microseconds at most, 0: never.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static void fall_asleep(void)
{
	const char *limit = getenv("SLOW_LOCKS");
	struct timespec time;
	uint32_t chance;

	clock_gettime(CLOCK_MONOTONIC, &time);
	chance = (uint32_t)time.tv_nsec * 2654435761u;
	if (!limit || atoi(limit) <= 0 || chance >> 26)
		return;
	time.tv_sec = 0;
	time.tv_nsec = (chance >> 8) % (uint32_t)atoi(limit) * 1000;
	nanosleep(&time, NULL);
}

static int call(const char *name, pthread_mutex_t *mutex)
{
	int (*function)(pthread_mutex_t * mutex) =
		(int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, name);

	return function(mutex);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	fall_asleep();
	return call("pthread_mutex_lock", mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int result = call("pthread_mutex_unlock", mutex);

	fall_asleep();
	return result;
}
