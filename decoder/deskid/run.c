/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths executed on the model: who is to blame for each cycle, and what was in flight in it. */
#include <stdlib.h>
#include <string.h>

#include "decoder/deskid/inside.h"
#include "decoder/mca/model/block.h"
#include "decoder/mca/stack/cycle_stack.h"
#include "pesa/csr.h"
#include "pesa/record.h"

#define ROOM_FIRST 65536

struct runner {
	struct pesa_deskid *deskid;
	const struct deskid_path *path;
	const struct pesa_mca_block *block;
	const struct pesa_mca_cycle_stack *stack;
	uint32_t base;	  /* step of the path's first instruction */
	uint32_t waiting; /* the first mispredicted branch in flight, in the path */
	bool events;
	bool no_memory;
};

/* Room for one more element. */
static bool grow(void **array, size_t *room, size_t count, size_t size)
{
	size_t more = *room ? 2 * *room : ROOM_FIRST;
	void *larger;

	if (count < *room)
		return true;
	larger = realloc(*array, more * size);
	if (!larger)
		return false;
	*array = larger;
	*room = more;
	return true;
}

static uint32_t next_mispredicted(const struct deskid_path *path, uint32_t from)
{
	while (from < path->count && !path->instruction[from].mispredicted)
		from++;
	return from;
}

/* The place in the path of an instruction of the run. */
static uint32_t place_of(const struct runner *runner, unsigned int number)
{
	return number < runner->block->count ? runner->block->lowered[number].source
					     : runner->path->count;
}

static struct pesa_error *on_begin(void *data, const struct pesa_mca_event *event)
{
	struct runner *runner = data;
	struct deskid_paths *paths = &runner->deskid->paths;
	uint32_t oldest = place_of(runner, mca_cycle_stack_oldest(runner->stack));

	(void)event;
	while (runner->waiting < oldest)
		runner->waiting = next_mispredicted(runner->path, runner->waiting + 1);
	if (!grow((void **)&paths->cycle, &paths->cycle_room, paths->cycles, sizeof(*paths->cycle)))
		return pesa_error_no_memory();
	paths->cycle[paths->cycles++] = (struct deskid_cycle){
		.oldest = runner->base + oldest,
		.next = runner->base + place_of(runner, mca_cycle_stack_next(runner->stack)),
		.limit = runner->waiting < runner->path->count ? runner->base + runner->waiting + 1
							       : DESKID_NONE,
		.blame = (uint32_t)paths->blames,
	};
	return NULL;
}

/* Whether the front end waits in a cycle for a mispredicted branch. */
static bool waits_for_branch(const struct pesa_deskid *deskid, const struct deskid_cycle *cycle)
{
	if (cycle->limit == DESKID_NONE)
		return false;
	return deskid->out_of_order ? cycle->next == cycle->limit
				    : cycle->oldest + deskid->depth >= cycle->limit;
}

static void on_given(void *data, unsigned int number, unsigned int state, uint16_t cause,
		     uint64_t weight)
{
	struct runner *runner = data;
	struct deskid_paths *paths = &runner->deskid->paths;
	struct deskid_cycle *cycle = &paths->cycle[paths->cycles - 1];
	const struct deskid_path *path = runner->path;
	uint32_t place = place_of(runner, number);
	double part = (double)weight / PESA_CYCLE;
	enum deskid_kind kind = DESKID_CORE;
	uint32_t of = place;

	if (waits_for_branch(runner->deskid, cycle)) {
		of = runner->waiting;
		kind = path->instruction[of].taken ? DESKID_TAKEN : DESKID_EVENT;
	} else if (cause == PESA_CAUSE_DCACHE_MISS && state != PESA_STATE_RETIRING) {
		kind = DESKID_EVENT;
	}
	if (place < path->warm || runner->events != (kind != DESKID_CORE))
		return;
	if (!grow((void **)&paths->blame, &paths->blame_room, paths->blames,
		  sizeof(*paths->blame))) {
		runner->no_memory = true;
		return;
	}
	paths->blame[paths->blames++] = (struct deskid_blame){
		.source = deskid_source(path->node[of], kind),
		.node = path->node[place],
		.weight = (float)part,
		.share = state == PESA_STATE_RETIRING && kind == DESKID_CORE,
	};
	cycle->blames++;
}

/* The last cycles have landings beyond the path.  Add up the others. */
static struct pesa_error *keep(struct runner *runner, size_t first)
{
	struct deskid_paths *paths = &runner->deskid->paths;
	const struct deskid_path *path = runner->path;
	uint32_t limit = runner->base + path->count;
	size_t end = paths->cycles;

	while (end > first && (paths->cycle[end - 1].oldest + PESA_DESKID_BEHIND_MAX >= limit ||
			       paths->cycle[end - 1].next >= limit))
		end--;
	if (end <= first + PESA_DESKID_CYCLES_MAX)
		return NULL;
	end -= PESA_DESKID_CYCLES_MAX;
	if (!grow((void **)&paths->piece, &paths->piece_room, paths->pieces, sizeof(*paths->piece)))
		return pesa_error_no_memory();
	paths->piece[paths->pieces++] = (struct deskid_piece){first, end};
	for (size_t i = paths->cycle[first].blame; i < paths->cycle[end].blame; i++) {
		const struct deskid_blame *blame = &paths->blame[i];

		paths->weight[blame->source] += (double)blame->weight;
		if (blame->share > 0)
			paths->retiring[blame->node] += (double)blame->weight;
	}
	for (uint32_t i = path->warm; i < paths->cycle[end].oldest - runner->base; i++) {
		const struct pesa_mca_instruction *one = &path->instruction[i];

		if (!runner->events)
			paths->occurrences[path->node[i]]++;
		else if (one->mispredicted || one->late)
			paths->events[deskid_source(path->node[i], one->mispredicted && one->taken
									   ? DESKID_TAKEN
									   : DESKID_EVENT)]++;
	}
	return NULL;
}

static struct pesa_error *add_steps(struct deskid_paths *paths, const struct deskid_path *path)
{
	for (unsigned int i = 0; i < path->count; i++) {
		if (!grow((void **)&paths->node, &paths->step_room, paths->steps,
			  sizeof(*paths->node)))
			return pesa_error_no_memory();
		paths->node[paths->steps++] = path->node[i];
	}
	return NULL;
}

/* Execute a block that is bound. */
static struct pesa_error *execute(struct runner *runner)
{
	struct deskid_paths *paths = &runner->deskid->paths;
	struct pesa_mca_cycle_stack *stack;
	struct pesa_mca_listener listeners[2];
	struct pesa_error *error = pesa_mca_cycle_stack_create(runner->block, &stack);
	size_t first = paths->cycles;

	if (error)
		return error;
	mca_cycle_stack_read(stack, &(struct mca_cycle_reader){on_given, runner});
	runner->stack = stack;
	listeners[0] = (struct pesa_mca_listener){on_begin, runner, 1u << PESA_MCA_CYCLE_BEGIN};
	listeners[1] = pesa_mca_cycle_stack_listener(stack);
	error = compare_path_listen(&runner->deskid->predictor, runner->block, listeners, 2);
	if (!error && runner->no_memory)
		error = pesa_error_no_memory();
	if (!error)
		error = keep(runner, first);
	if (!error)
		error = add_steps(paths, runner->path);
	pesa_mca_cycle_stack_free(stack);
	return error;
}

/* What the result says of an instruction. */
static void describe(struct runner *runner)
{
	struct pesa_deskid_instruction *result = runner->deskid->result;

	for (unsigned int i = 0; i < runner->block->count; i++) {
		uint32_t node = runner->path->node[runner->block->lowered[i].source];
		struct pesa_mca_information information;
		unsigned int most = 1;

		if (result[node].latency)
			continue;
		pesa_mca_block_information(runner->block, i, &information);
		result[node].latency = information.latency;
		for (unsigned int k = 0; k < information.uses; k++) {
			const struct pesa_mca_use *use = &information.use[k];
			const struct pesa_mca_resource *resource =
				pesa_mca_model_resource(runner->deskid->model, use->resource);

			if (resource->group || use->release - use->acquire <= most)
				continue;
			most = use->release - use->acquire;
			result[node].unit = resource->name;
		}
	}
}

struct pesa_error *deskid_run(struct pesa_deskid *deskid, const struct deskid_path *path,
			      bool events)
{
	struct runner runner = {.deskid = deskid, .path = path, .events = events};
	struct pesa_mca_block *block;
	struct pesa_error *error = compare_path_bind(&deskid->predictor, deskid->model,
						     path->instruction, path->count, &block);

	if (error)
		return error;
	runner.block = block;
	runner.base = (uint32_t)deskid->paths.steps;
	runner.waiting = next_mispredicted(path, 0);
	if (block->count) {
		describe(&runner);
		error = execute(&runner);
	}
	pesa_mca_block_free(block);
	return error;
}

void deskid_paths_clear(struct pesa_deskid *deskid)
{
	struct deskid_paths *paths = &deskid->paths;
	size_t nodes = deskid->code.graph->instructions;

	paths->steps = paths->cycles = paths->blames = paths->pieces = 0;
	memset(paths->occurrences, 0, nodes * sizeof(*paths->occurrences));
	memset(paths->retiring, 0, nodes * sizeof(*paths->retiring));
	memset(paths->weight, 0, DESKID_KINDS * nodes * sizeof(*paths->weight));
	memset(paths->events, 0, DESKID_KINDS * nodes * sizeof(*paths->events));
}
