// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "decoder/perfdata/fetch.h"

#define JOBS 4

struct job {
	struct perfdata_block *block;
	uint64_t position;
	size_t wanted, size; /* size < wanted: end of file, or an error */
	int error;
};

struct perfdata_fetch {
	struct perfdata_pool *pool;
	int descriptor;
	pthread_t thread;
	struct job jobs[JOBS];	   /* a ring */
	unsigned int first, count; /* submitted and not taken; used by the caller only */
	uint64_t position, end;	   /* file offsets: of the next job, of the end of the data */
	uint64_t taken;		   /* file offset up to which the caller has taken pieces */
	bool over;		   /* a piece was short: the bytes after it are not contiguous */
	int error;		   /* errno of that piece */
	/* shared, protected by the lock */
	pthread_mutex_t lock;
	pthread_cond_t work, ready;
	unsigned int submitted, done; /* counters, modulo the ring */
	bool stop;
};

static void read_piece(struct perfdata_fetch *fetch, struct job *job)
{
	uint8_t *bytes = job->block->bytes + PERFDATA_PIECE_ROOM;

	while (job->size < job->wanted) {
		ssize_t got = pread(fetch->descriptor, bytes + job->size, job->wanted - job->size,
				    (off_t)(job->position + job->size));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			job->error = errno;
		if (got <= 0)
			break;
		job->size += got;
	}
}

static void *work(void *context)
{
	struct perfdata_fetch *fetch = context;

	pthread_mutex_lock(&fetch->lock);
	for (;;) {
		while (fetch->done == fetch->submitted && !fetch->stop)
			pthread_cond_wait(&fetch->work, &fetch->lock);
		if (fetch->stop)
			break;
		pthread_mutex_unlock(&fetch->lock);
		read_piece(fetch, &fetch->jobs[fetch->done % JOBS]);
		pthread_mutex_lock(&fetch->lock);
		fetch->done++;
		pthread_cond_signal(&fetch->ready);
	}
	pthread_mutex_unlock(&fetch->lock);
	return NULL;
}

/* Submit jobs while there are free blocks and unread bytes. */
static void submit(struct perfdata_fetch *fetch)
{
	unsigned int before = fetch->count;

	while (fetch->count < JOBS && fetch->position < fetch->end) {
		struct perfdata_block *block = perfdata_block_get(fetch->pool);
		uint64_t rest = fetch->end - fetch->position;
		size_t wanted = rest < PERFDATA_PIECE_BYTES ? rest : PERFDATA_PIECE_BYTES;

		if (!block)
			break;
		fetch->jobs[(fetch->first + fetch->count++) % JOBS] = (struct job){
			.block = block,
			.position = fetch->position,
			.wanted = wanted,
		};
		fetch->position += wanted;
	}
	if (fetch->count == before)
		return;
	pthread_mutex_lock(&fetch->lock);
	fetch->submitted += fetch->count - before;
	pthread_cond_signal(&fetch->work);
	pthread_mutex_unlock(&fetch->lock);
}

struct perfdata_fetch *perfdata_fetch_start(struct perfdata_pool *pool, int descriptor,
					    uint64_t position, uint64_t end)
{
	struct perfdata_fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch)
		return NULL;
	fetch->pool = pool;
	fetch->descriptor = descriptor;
	fetch->position = fetch->taken = position;
	fetch->end = end;
	pthread_mutex_init(&fetch->lock, NULL);
	pthread_cond_init(&fetch->work, NULL);
	pthread_cond_init(&fetch->ready, NULL);
	if (pthread_create(&fetch->thread, NULL, work, fetch)) {
		free(fetch);
		return NULL;
	}
	submit(fetch);
	return fetch;
}

void perfdata_fetch_stop(struct perfdata_fetch *fetch)
{
	if (!fetch)
		return;
	pthread_mutex_lock(&fetch->lock);
	fetch->stop = true;
	pthread_cond_signal(&fetch->work);
	pthread_mutex_unlock(&fetch->lock);
	pthread_join(fetch->thread, NULL);
	for (; fetch->count; fetch->count--, fetch->first++)
		perfdata_block_put(fetch->pool, fetch->jobs[fetch->first % JOBS].block);
	pthread_cond_destroy(&fetch->work);
	pthread_cond_destroy(&fetch->ready);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

struct perfdata_block *perfdata_fetch_take(struct perfdata_fetch *fetch, size_t *size, int *error)
{
	struct job job;

	*error = fetch->error;
	fetch->error = 0;
	if (fetch->over)
		return NULL;
	if (!fetch->count)
		submit(fetch); /* out of memory may have been temporary */
	if (!fetch->count) {
		*error = fetch->position < fetch->end ? ENOMEM : 0;
		return NULL;
	}
	pthread_mutex_lock(&fetch->lock);
	while (fetch->done == fetch->first)
		pthread_cond_wait(&fetch->ready, &fetch->lock);
	pthread_mutex_unlock(&fetch->lock);
	job = fetch->jobs[fetch->first % JOBS];
	fetch->first++;
	fetch->count--;
	fetch->taken = job.position + job.size;
	fetch->over = job.size < job.wanted;
	if (!fetch->over)
		submit(fetch);
	if (job.size) {
		fetch->error = job.error; /* reported after these bytes have been used */
		*size = job.size;
		return job.block;
	}
	*error = job.error;
	perfdata_block_put(fetch->pool, job.block);
	return NULL;
}

uint64_t perfdata_fetch_position(const struct perfdata_fetch *fetch)
{
	return fetch->taken;
}
