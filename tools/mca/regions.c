/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions analysed by all processors, see regions.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "decoder/base/processors.h"
#include "tools/mca/regions.h"

#define THREADS_MAX  16
#define BATCH_THREAD 8 /* regions of a batch for each thread: enough to share, few to keep */
#define BATCH_MAX    (THREADS_MAX * BATCH_THREAD)

struct result {
	const struct mca_source_region *region;
	struct pesa_mca_block *block;
	struct pesa_error *error;
	char *text; /* what the views print */
	size_t size;
	struct json_object *json;
};

struct batch {
	const struct mca_analysis *analysis;
	struct result results[BATCH_MAX];
	size_t count;
	atomic_size_t next;
};

static struct pesa_error *analyse(const struct mca_analysis *analysis, struct result *result)
{
	struct pesa_error *error = mca_region_bind(analysis, result->region, &result->block);
	FILE *stream;

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

static void *work(void *argument)
{
	struct batch *batch = argument;
	size_t i;

	while ((i = atomic_fetch_add(&batch->next, 1)) < batch->count)
		batch->results[i].error = analyse(batch->analysis, &batch->results[i]);
	return NULL;
}

static void analyse_batch(struct batch *batch, unsigned int thread_count)
{
	pthread_t threads[THREADS_MAX];
	unsigned int started = 0;

	atomic_store(&batch->next, 0);
	/* A thread that does not start leaves its work to the others. */
	while (started + 1 < thread_count && started + 1 < batch->count &&
	       !pthread_create(&threads[started], NULL, work, batch))
		started++;
	work(batch);
	while (started)
		pthread_join(threads[--started], NULL);
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

static void free_results(struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		pesa_mca_block_free(batch->results[i].block);
		free(batch->results[i].text);
		json_object_put(batch->results[i].json);
	}
}

static struct pesa_error *analyse_batches(const struct mca_analysis *analysis,
					  struct json_object *list, unsigned int *shown)
{
	const struct mca_source *source = analysis->source;
	unsigned int allowed = processors_allowed(), i = 0;
	unsigned int thread_count = allowed < THREADS_MAX ? allowed : THREADS_MAX;
	struct batch *batch = malloc(sizeof(*batch));
	struct pesa_error *error = NULL;

	if (!batch)
		return pesa_error_no_memory();
	while (i < source->region_count && !error) {
		batch->analysis = analysis;
		for (batch->count = 0;
		     i < source->region_count && batch->count < BATCH_THREAD * thread_count; i++)
			if (source->regions[i].count)
				batch->results[batch->count++] =
					(struct result){.region = &source->regions[i]};
		analyse_batch(batch, thread_count);
		for (size_t done = 0; done < batch->count; done++)
			if (!error)
				error = print(analysis, &batch->results[done], list, shown);
			else
				pesa_error_free(batch->results[done].error);
		free_results(batch);
	}
	free(batch);
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
	return analyse_batches(analysis, list, shown);
}
