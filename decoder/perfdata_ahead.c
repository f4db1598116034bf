// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

#include "decoder/perfdata_ahead.h"

/*
 * Frames under way. To wake a sleeping thread can take as long as to decompress a frame, so the worker
 * is left asleep until some of them are waiting for it, or the caller for one of them.
 */
#define JOBS  6
#define BATCH 2

struct job {
	uint64_t offset;
	struct perfdata_block *source, *result; /* a reference each */
	const uint8_t *bytes;
	size_t size;
	size_t result_size; /* 0: cannot be decompressed */
};

struct perfdata_ahead {
	struct perfdata_pool *pool;
	pthread_t thread;
	ZSTD_DCtx *decompressor;
	struct job jobs[JOBS];	   /* a ring */
	unsigned int first, count; /* the caller's: submitted and not taken */
	/* shared, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for the worker: there are jobs, or it shall stop */
	pthread_cond_t ready; /* for the caller: a job is done */
	unsigned int submitted, done; /* counted up, modulo the ring */
	bool stop;
};

static void *work(void *context)
{
	struct perfdata_ahead *ahead = context;

	pthread_mutex_lock(&ahead->lock);
	for (;;) {
		struct job *job;
		size_t size;

		while (ahead->done == ahead->submitted && !ahead->stop)
			pthread_cond_wait(&ahead->work, &ahead->lock);
		if (ahead->stop)
			break;
		job = &ahead->jobs[ahead->done % JOBS];
		pthread_mutex_unlock(&ahead->lock);
		size = ZSTD_decompressDCtx(ahead->decompressor, job->result->bytes,
					   sizeof(job->result->bytes), job->bytes, job->size);
		job->result_size = ZSTD_isError(size) ? 0 : size;
		pthread_mutex_lock(&ahead->lock);
		ahead->done++;
		pthread_cond_signal(&ahead->ready);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

struct perfdata_ahead *perfdata_ahead_start(struct perfdata_pool *pool)
{
	struct perfdata_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->pool = pool;
	ahead->decompressor = ZSTD_createDCtx();
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->work, NULL);
	pthread_cond_init(&ahead->ready, NULL);
	if (!ahead->decompressor || pthread_create(&ahead->thread, NULL, work, ahead)) {
		ZSTD_freeDCtx(ahead->decompressor);
		free(ahead);
		return NULL;
	}
	return ahead;
}

void perfdata_ahead_stop(struct perfdata_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_signal(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
	pthread_join(ahead->thread, NULL);
	for (; ahead->count; ahead->count--, ahead->first++) {
		perfdata_block_put(ahead->pool, ahead->jobs[ahead->first % JOBS].source);
		perfdata_block_put(ahead->pool, ahead->jobs[ahead->first % JOBS].result);
	}
	pthread_cond_destroy(&ahead->work);
	pthread_cond_destroy(&ahead->ready);
	pthread_mutex_destroy(&ahead->lock);
	ZSTD_freeDCtx(ahead->decompressor);
	free(ahead);
}

bool perfdata_ahead_ready(const struct perfdata_ahead *ahead)
{
	return ahead->count < JOBS;
}

bool perfdata_ahead_has(const struct perfdata_ahead *ahead, uint64_t offset)
{
	for (unsigned int i = 0; i < ahead->count; i++)
		if (ahead->jobs[(ahead->first + i) % JOBS].offset == offset)
			return true;
	return false;
}

void perfdata_ahead_submit(struct perfdata_ahead *ahead, uint64_t offset,
			   struct perfdata_block *block, const uint8_t *bytes, size_t size)
{
	struct perfdata_block *result = perfdata_block_get(ahead->pool);

	if (!result)
		return;
	block->references++;
	ahead->jobs[(ahead->first + ahead->count++) % JOBS] = (struct job){
		.offset = offset,
		.source = block,
		.result = result,
		.bytes = bytes,
		.size = size,
	};
	pthread_mutex_lock(&ahead->lock);
	ahead->submitted++;
	if (ahead->submitted - ahead->done >= BATCH)
		pthread_cond_signal(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
}

struct perfdata_block *perfdata_ahead_take(struct perfdata_ahead *ahead, uint64_t offset,
					   size_t *size)
{
	/* those before it were passed over, as damage makes it happen: they are let go */
	while (ahead->count) {
		struct job job;

		pthread_mutex_lock(&ahead->lock);
		while (ahead->done == ahead->first) {
			pthread_cond_signal(&ahead->work);
			pthread_cond_wait(&ahead->ready, &ahead->lock);
		}
		pthread_mutex_unlock(&ahead->lock);
		job = ahead->jobs[ahead->first % JOBS];
		if (job.offset > offset)
			return NULL;
		ahead->first++;
		ahead->count--;
		perfdata_block_put(ahead->pool, job.source);
		if (job.offset == offset && job.result_size) {
			*size = job.result_size;
			return job.result;
		}
		perfdata_block_put(ahead->pool, job.result);
		if (job.offset == offset)
			return NULL;
	}
	return NULL;
}
