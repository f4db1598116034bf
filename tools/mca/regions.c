/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions analysed by all processors, see regions.h. */
#include <stdlib.h>

#include "decoder/base/threads.h"
#include "tools/mca/regions.h"

#define AHEAD_THREAD 8 /* results that each thread may be ahead of what is printed */
#define RESULTS_MAX  (THREADS_MAX * AHEAD_THREAD)

struct result {
	const struct mca_source_region *region;
	struct pesa_mca_block *block;
	struct pesa_error *error;
	char *text; /* what the views print */
	size_t size;
	struct json_object *json;
	bool done;
};

/* Each thread takes the next region; the main one prints the results in the order of the regions. */
struct pool {
	const struct mca_analysis *analysis;
	struct result results[RESULTS_MAX]; /* of the regions from `printed` on, by number % room */
	unsigned int room;
	pthread_mutex_t lock; /* of what follows, and of results[].done */
	pthread_cond_t changed;
	unsigned int next, printed; /* regions */
	bool stopped;		    /* by an error: nothing more is begun */
};

static struct pesa_error *analyse(const struct mca_analysis *analysis, struct result *result)
{
	struct pesa_error *error;
	FILE *stream;

	if (!result->region->count)
		return NULL;
	error = mca_region_bind(analysis, result->region, &result->block);
	if (error || !pesa_mca_block_count(result->block))
		return error;
	stream = open_memstream(&result->text, &result->size);
	if (!stream)
		return pesa_error_no_memory();
	error = mca_region_show(analysis, result->region, result->block, stream, &result->json);
	if (fclose(stream) && !error)
		error = pesa_error_no_memory();
	return error;
}

static bool can_begin(const struct pool *pool)
{
	return !pool->stopped && pool->next < pool->analysis->source->region_count &&
	       pool->next < pool->printed + pool->room;
}

/* With the lock, which is open while the region is analysed. */
static void analyse_next(struct pool *pool)
{
	const struct mca_source *source = pool->analysis->source;
	struct result *result = &pool->results[pool->next % pool->room];

	*result = (struct result){.region = &source->regions[pool->next++]};
	pthread_mutex_unlock(&pool->lock);
	result->error = analyse(pool->analysis, result);
	pthread_mutex_lock(&pool->lock);
	result->done = true;
	pthread_cond_broadcast(&pool->changed);
}

static void *work(void *argument)
{
	struct pool *pool = argument;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stopped && pool->next < pool->analysis->source->region_count)
		if (can_begin(pool))
			analyse_next(pool);
		else
			pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static struct pesa_error *print(const struct mca_analysis *analysis, struct result *result,
				struct json_object *list, unsigned int *shown)
{
	if (result->block && mca_region_announce(analysis, result->region, result->block, *shown,
						 analysis->output)) {
		++*shown;
		if (result->text)
			fwrite(result->text, 1, result->size, analysis->output);
		if (result->json)
			json_object_array_add(list, json_object_get(result->json));
	}
	return result->error;
}

static void free_result(struct result *result)
{
	pesa_mca_block_free(result->block);
	free(result->text);
	json_object_put(result->json);
}

/* With the lock, which is open while results are printed. */
static struct pesa_error *print_all(struct pool *pool, struct json_object *list,
				    unsigned int *shown)
{
	struct pesa_error *error = NULL;

	while (!error && pool->printed < pool->analysis->source->region_count) {
		struct result *result = &pool->results[pool->printed % pool->room];

		if (pool->printed < pool->next && result->done) {
			pthread_mutex_unlock(&pool->lock);
			error = print(pool->analysis, result, list, shown);
			free_result(result);
			pthread_mutex_lock(&pool->lock);
			pool->printed++;
			pthread_cond_broadcast(&pool->changed);
		} else if (can_begin(pool)) {
			analyse_next(pool);
		} else {
			pthread_cond_wait(&pool->changed, &pool->lock);
		}
	}
	return error;
}

static struct pesa_error *analyse_several(const struct mca_analysis *analysis,
					  struct json_object *list, unsigned int *shown)
{
	unsigned int regions = analysis->source->region_count, thread_count = threads_usual();
	struct pool *pool = malloc(sizeof(*pool));
	struct pesa_error *error;
	struct threads threads;

	if (!pool)
		return pesa_error_no_memory();
	if (thread_count > regions)
		thread_count = regions ? regions : 1;
	*pool = (struct pool){.analysis = analysis, .room = AHEAD_THREAD * thread_count};
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	threads_start(&threads, thread_count - 1, work, pool, 0);
	pthread_mutex_lock(&pool->lock);
	error = print_all(pool, list, shown);
	pool->stopped = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	threads_join(&threads);
	for (; pool->printed < pool->next; pool->printed++) {
		struct result *result = &pool->results[pool->printed % pool->room];

		pesa_error_free(result->error);
		free_result(result);
	}
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return error;
}

/* Straight to the output, however large it is. */
static struct pesa_error *analyse_one(const struct mca_analysis *analysis,
				      const struct mca_source_region *region,
				      struct json_object *list, unsigned int *shown)
{
	struct json_object *json = NULL;
	struct pesa_mca_block *block;
	struct pesa_error *error = mca_region_bind(analysis, region, &block);

	if (error)
		return error;
	if (mca_region_announce(analysis, region, block, *shown, analysis->output)) {
		++*shown;
		error = mca_region_show(analysis, region, block, analysis->output, &json);
		if (json)
			json_object_array_add(list, json);
	}
	pesa_mca_block_free(block);
	return error;
}

struct pesa_error *mca_regions_analyse(const struct mca_analysis *analysis,
				       struct json_object *list, unsigned int *shown)
{
	const struct mca_source *source = analysis->source;

	*shown = 0;
	if (source->region_count == 1 && source->regions[0].count)
		return analyse_one(analysis, &source->regions[0], list, shown);
	return analyse_several(analysis, list, shown);
}
