// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

#include "decoder/perfdata/ahead.h"

/*
 * JOBS: frames submitted at most.  Waking a sleeping thread can take as long as decompressing a
 * frame, so the worker sleeps until several frames wait.  A caller that would have to wait
 * decompresses a frame itself: the worker takes the oldest waiting frame, the caller the newest.
 */
#define JOBS  8
#define BATCH 2

enum job_state {
	JOB_WAITING,
	JOB_UNDER_WAY,
	JOB_DONE,
};

struct job {
	enum job_state state; /* protected by the lock */
	uint64_t offset;
	struct perfdata_block *source, *result; /* with a reference to each */
	const uint8_t *bytes;
	size_t size;
	size_t result_size; /* 0: decompression failed */
};

struct perfdata_ahead {
	struct perfdata_pool *pool;
	pthread_t thread;
	ZSTD_DCtx *worker, *caller; /* decompression contexts of the two threads */
	struct job jobs[JOBS];	    /* a ring */
	unsigned int first, count;  /* submitted and not taken; used by the caller only */
	/* shared, protected by the lock */
	pthread_mutex_t lock;
	pthread_cond_t work;  /* signals the worker: jobs wait, or `stop` is set */
	pthread_cond_t ready; /* signals the caller: a job is done */
	unsigned int next;    /* the worker's next job, modulo the ring */
	unsigned int waiting; /* jobs not started */
	bool stop;
};

/* Do a waiting job.  The lock is held before and after, and released during the decompression. */
static void do_job(struct perfdata_ahead *ahead, struct job *job, ZSTD_DCtx *decompressor)
{
	size_t size;

	job->state = JOB_UNDER_WAY;
	ahead->waiting--;
	pthread_mutex_unlock(&ahead->lock);
	size = ZSTD_decompressDCtx(decompressor, job->result->bytes, sizeof(job->result->bytes),
				   job->bytes, job->size);
	job->result_size = ZSTD_isError(size) ? 0 : size;
	pthread_mutex_lock(&ahead->lock);
	job->state = JOB_DONE;
}

static void *work(void *context)
{
	struct perfdata_ahead *ahead = context;

	pthread_mutex_lock(&ahead->lock);
	for (;;) {
		while (!ahead->waiting && !ahead->stop)
			pthread_cond_wait(&ahead->work, &ahead->lock);
		if (ahead->stop)
			break;
		while (ahead->jobs[ahead->next % JOBS].state != JOB_WAITING)
			ahead->next++;
		do_job(ahead, &ahead->jobs[ahead->next++ % JOBS], ahead->worker);
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
	ahead->worker = ZSTD_createDCtx();
	ahead->caller = ZSTD_createDCtx();
	for (unsigned int i = 0; i < JOBS; i++)
		ahead->jobs[i].state = JOB_DONE;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->work, NULL);
	pthread_cond_init(&ahead->ready, NULL);
	if (!ahead->worker || !ahead->caller || pthread_create(&ahead->thread, NULL, work, ahead)) {
		ZSTD_freeDCtx(ahead->worker);
		ZSTD_freeDCtx(ahead->caller);
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
	ZSTD_freeDCtx(ahead->worker);
	ZSTD_freeDCtx(ahead->caller);
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
	pthread_mutex_lock(&ahead->lock);
	ahead->jobs[(ahead->first + ahead->count++) % JOBS] = (struct job){
		.state = JOB_WAITING,
		.offset = offset,
		.source = block,
		.result = result,
		.bytes = bytes,
		.size = size,
	};
	if (++ahead->waiting >= BATCH)
		pthread_cond_signal(&ahead->work);
	pthread_mutex_unlock(&ahead->lock);
}

/* Until the oldest job is done: do jobs not started yet, otherwise wait. */
static void finish_first(struct perfdata_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	while (ahead->jobs[ahead->first % JOBS].state != JOB_DONE) {
		struct job *job = NULL;

		for (unsigned int i = ahead->count; i-- && !job;)
			if (ahead->jobs[(ahead->first + i) % JOBS].state == JOB_WAITING)
				job = &ahead->jobs[(ahead->first + i) % JOBS];
		if (job)
			do_job(ahead, job, ahead->caller);
		else
			pthread_cond_wait(&ahead->ready, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
}

struct perfdata_block *perfdata_ahead_take(struct perfdata_ahead *ahead, uint64_t offset,
					   size_t *size)
{
	/* frames that the reader skipped because of damage are dropped */
	while (ahead->count) {
		struct job job;

		finish_first(ahead);
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
