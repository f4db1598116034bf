/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths executed on a model, see predict.h. */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/threads.h"
#include "decoder/compare/predict.h"
#include "decoder/compare/prepared.h"
#include "decoder/mca/model/block.h"
#include "decoder/mca/model/numbers.h"
#include "decoder/mca/stack/cycle_stack.h"

#define BOUND	      4096 /* instructions of all paths and models; a power of two */
#define STEPS_AT_ONCE 1000 /* to execute, for each thread: fewer are done before it has begun */

/* The digest of what an instruction costs on the model. */
struct costs {
	bool known;
	struct pesa_digest digest;
};

/* A path that has to be executed, and under which its prediction is remembered. */
struct pending {
	size_t path;
	struct pesa_digest digest;
};

/* What one thread has bound, of all models with the same digest of what their instructions share. */
struct compare_binder {
	struct mca_binder *binder; /* NULL: nothing */
	struct pesa_digest of_model;
	struct pesa_mca_block_options options;
};

/* Paths that are predicted with one model. */
struct prediction {
	struct compare_predictor *predictor;
	const struct pesa_mca_model *model;
	struct compare_predicted *predicted;
	int32_t *classes; /* NULL: not wanted */
	struct pesa_digest model_digest;
	struct costs *costs; /* by index of the prepared ones */
	uint64_t *word;	     /* for the digest of a path */
	struct pending *pending;
	size_t pending_count, steps; /* how many there are, and their steps */
	atomic_size_t next;	     /* the next one that nobody executes */
};

/* What one thread executes: some of the pending paths. */
struct worker {
	struct prediction *prediction;
	struct compare_binder *kept;
	bool is_bound; /* a path has been */
	/* Of the current path, by step: */
	struct pesa_mca_instruction *instruction;
	struct pesa_digest *cost;
	unsigned int room;
	uint64_t instructions;
	struct pesa_error *error;
};

struct pesa_error *compare_make_model(const struct pesa_mca_model *base,
				      struct compare_predictor *predictor,
				      struct pesa_mca_model **model)
{
	struct pesa_compare_core *core = &predictor->core;
	bool out_of_order = pesa_mca_model_is_out_of_order(base);
	struct pesa_error *error = pesa_mca_model_vary(base, model);

	if (error)
		return error;
	if (core->retire_width && out_of_order)
		(*model)->retire_width = core->retire_width;
	if (core->reorder_buffer && out_of_order)
		(*model)->reorder_buffer = core->reorder_buffer;
	if (!out_of_order)
		core->integer_results = core->float_results = 0;
	if (!core->mispredict_penalty)
		core->mispredict_penalty = pesa_mca_model_mispredict_penalty(*model);
	return NULL;
}

/* Whether the step is in another fetch block than the previous step. */
static bool begins_block(const struct compare_predictor *predictor, const struct compare_step *step)
{
	const struct compare_node *node = predictor->code->node;
	unsigned int bytes = predictor->core.fetch_bytes;
	uint64_t here = node[step[0].node].address, before = node[step[-1].node].address;

	/* A power of two needs no division, which this would have twice for each step. */
	return bytes & (bytes - 1) ? here / bytes != before / bytes
				   : bytes && (here ^ before) >= bytes;
}

/* Cycles that a load takes longer which misses. */
static unsigned int late_of(const struct compare_predictor *predictor,
			    const struct compare_step *step)
{
	const struct compare_step *first = step - step->missed_by;

	return step->flags & COMPARE_PATH_MISSED
		       ? (unsigned int)lround(predictor->code->node[first->node].late)
		       : 0;
}

/* The step that is disturbed, UINT_MAX: none. */
static unsigned int disturbed_step(const struct compare_predictor *predictor,
				   const struct compare_path *path)
{
	return predictor->disturbed && path->warm
		       ? (unsigned int)(predictor->disturbed_at * path->warm)
		       : UINT_MAX;
}

/* Without what is disturbed. */
static void make_instruction(const struct compare_predictor *predictor,
			     const struct compare_step *at, bool is_first,
			     struct pesa_mca_instruction *instruction)
{
	instruction->insn = predictor->code->node[at->node].insn;
	instruction->pseudo = NULL;
	instruction->lmul = at->lmul;
	instruction->sew = at->sew;
	instruction->latency = -1;
	instruction->no_units = false;
	instruction->taken = at->flags & COMPARE_PATH_TAKEN;
	instruction->mispredicted = at->flags & COMPARE_PATH_MISPREDICTED;
	instruction->begins_block = !is_first && begins_block(predictor, at);
	instruction->forwarded_by = at->forwarded;
	instruction->forwarded_partly = at->flags & COMPARE_PATH_PARTLY;
	instruction->after_store = at->flags & COMPARE_PATH_AFTER;
	instruction->late = late_of(predictor, at);
	instruction->barrier = at->flags & COMPARE_PATH_BARRIER;
}

struct pesa_mca_instruction compare_path_instruction(const struct compare_predictor *predictor,
						     const struct compare_path *path,
						     unsigned int step)
{
	struct pesa_mca_instruction instruction = {0};

	make_instruction(predictor, predictor->paths->step + path->first + step, !step,
			 &instruction);
	if (step == disturbed_step(predictor, path))
		instruction.late += predictor->disturbed;
	return instruction;
}

static struct pesa_mca_block_options block_options_of(const struct compare_predictor *predictor)
{
	return (struct pesa_mca_block_options){
		.processor = predictor->processor,
		.follow_calls = true,
		.skip_unsupported = true,
		.own_operands = true,
		.forward_latency = predictor->core.forward_latency,
		.drain_latency = predictor->core.drain_latency,
		.load_latency = predictor->core.load_latency,
		.ordered_cycles = predictor->ordered_cycles,
	};
}

struct pesa_error *compare_path_bind(const struct compare_predictor *predictor,
				     const struct pesa_mca_model *model,
				     const struct pesa_mca_instruction *instructions,
				     unsigned int count, struct pesa_mca_block **block)
{
	const struct pesa_mca_block_options options = block_options_of(predictor);

	return pesa_mca_block_create(model, instructions, count, &options, block);
}

/* The binder of this thread, for this model: the one of the model before, if that is possible. */
static struct pesa_error *prepare_binder(struct worker *worker)
{
	const struct prediction *prediction = worker->prediction;
	struct compare_binder *kept = worker->kept;

	if (worker->is_bound)
		return NULL;
	if (kept->binder && (!pesa_digest_equal(&kept->of_model, &prediction->model_digest) ||
			     mca_binder_is_full(kept->binder))) {
		mca_binder_free(kept->binder);
		kept->binder = NULL;
	}
	worker->is_bound = true;
	kept->options = block_options_of(prediction->predictor);
	kept->of_model = prediction->model_digest;
	if (!kept->binder)
		return mca_binder_create(prediction->model, &kept->options, BOUND, &kept->binder);
	mca_binder_set_model(kept->binder, prediction->model);
	return NULL;
}

static struct pesa_error *bind(struct worker *worker, const struct compare_path *path,
			       struct pesa_mca_block **block)
{
	const struct prediction *prediction = worker->prediction;
	const struct compare_predictor *predictor = prediction->predictor;
	const uint32_t *cost_of = predictor->paths->prepared->cost_of + path->first;
	const struct compare_step *steps = predictor->paths->step + path->first;
	unsigned int disturbed = disturbed_step(predictor, path);
	struct pesa_error *error = prepare_binder(worker);

	for (unsigned int i = 0; i < path->count; i++) {
		make_instruction(predictor, &steps[i], !i, &worker->instruction[i]);
		worker->cost[i] = prediction->costs[cost_of[i]].digest;
	}
	if (disturbed != UINT_MAX)
		worker->instruction[disturbed].late += predictor->disturbed;
	return error ? error
		     : mca_binder_bind(worker->kept->binder, worker->instruction, worker->cost,
				       path->count, block);
}

static struct pesa_mca_stimuli stimuli_of(const struct pesa_compare_core *core)
{
	return (struct pesa_mca_stimuli){
		.mispredict_penalty = core->mispredict_penalty,
		.fetch_width = core->fetch_width,
		.taken_branches = core->taken_branches,
		.fetch_buffer = core->fetch_buffer,
	};
}

static struct pesa_mca_run_options run_options_of(const struct pesa_compare_core *core,
						  const struct pesa_mca_stimuli *given)
{
	return (struct pesa_mca_run_options){
		.iterations = 1,
		.every_iteration = true,
		.free_order = true,
		.dispatch_width = core->dispatch_width,
		.load_queue = core->load_queue,
		.store_queue = core->store_queue,
		.commit_width = core->retire_width,
		.retired_branches = core->retired_branches,
		.integer_results = core->integer_results,
		.float_results = core->float_results,
		.store_ports = core->store_ports,
		.store_latency = core->store_latency,
		.stimuli = given,
	};
}

struct pesa_error *compare_path_stack(const struct compare_predictor *predictor,
				      const struct pesa_mca_block *block,
				      struct pesa_mca_cycle_stack *stack)
{
	const struct pesa_mca_stimuli given = stimuli_of(&predictor->core);
	const struct pesa_mca_run_options options = run_options_of(&predictor->core, &given);

	return pesa_mca_cycle_stack_run(block, &options, stack);
}

struct pesa_error *compare_path_listen(const struct compare_predictor *predictor,
				       const struct pesa_mca_block *block,
				       const struct pesa_mca_listener *listeners,
				       unsigned int count)
{
	const struct pesa_mca_stimuli given = stimuli_of(&predictor->core);
	struct pesa_mca_run_options options = run_options_of(&predictor->core, &given);
	uint64_t cycles;

	options.pressure = true;
	return pesa_mca_run(block, &options, listeners, count, &cycles);
}

bool compare_is_flushed_before(const struct compare_predictor *predictor,
			       const struct compare_path *path, unsigned int step)
{
	const struct compare_step *steps = predictor->paths->step + path->first;

	return steps[step].flags & COMPARE_PATH_FLUSHED ||
	       (step && steps[step - 1].flags & COMPARE_PATH_MISPREDICTED);
}

/*
 * What is first behind an instruction at which an out-of-order core drains without a flush has waited
 * in the reorder buffer; on the empty machine of the path it enters it first.
 */
static bool has_entered_before(const struct prediction *prediction, const struct compare_path *path)
{
	const struct compare_step *first = prediction->predictor->paths->step + path->first;

	return !path->warm && !(first->flags & COMPARE_PATH_FLUSHED) &&
	       pesa_mca_model_is_out_of_order(prediction->model);
}

/* Execute a path.  The predictions are zero and the classes -1 before. */
static struct pesa_error *execute_path(struct worker *worker, const struct compare_path *path,
				       struct compare_predicted *predicted, int32_t *classes)
{
	const struct prediction *prediction = worker->prediction;
	const struct compare_predictor *predictor = prediction->predictor;
	bool in_order = !pesa_mca_model_is_out_of_order(prediction->model);
	struct pesa_mca_cycle_stack *stack = NULL;
	struct pesa_mca_block *block;
	struct pesa_error *error = bind(worker, path, &block);

	if (error)
		return error;
	if (!block->count) {
		pesa_mca_block_free(block);
		return NULL;
	}
	error = pesa_mca_cycle_stack_create(block, &stack);
	if (!error)
		error = compare_path_stack(predictor, block, stack);
	worker->instructions += block->count;
	for (unsigned int i = 0; i < block->count && !error; i++) {
		unsigned int source = block->lowered[i].source, class;
		struct mca_core_time time;

		time = mca_cycle_stack_core_time(stack, i);
		predicted[source] =
			(struct compare_predicted){time.retiring, time.stalled, time.event};
		if (in_order && compare_is_flushed_before(predictor, path, source))
			predicted[source].stalled += (float)predictor->redirect_stall;
		if (!source && has_entered_before(prediction, path))
			predicted[source].stalled = fmaxf(predicted[source].stalled - 1, 0);
		class = block->lowered[i].description->class;
		if (classes)
			classes[source] = class == MCA_CLASS_UNSUPPORTED ? -1 : (int32_t) class;
	}
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	return error;
}

/* ---- Remembered predictions ------------------------------------------------------------------ */

static const struct pesa_digest *costs_of(struct prediction *prediction, uint32_t index)
{
	const struct compare_predictor *predictor = prediction->predictor;
	const struct compare_cost *of = &predictor->paths->prepared->cost[index];
	const struct pesa_insn *insn = &predictor->code->node[of->node].insn;
	struct costs *costs = &prediction->costs[index];

	if (costs->known)
		return &costs->digest;
	costs->known = true;
	mca_numbers_of_instruction(prediction->model, insn, of->lmul, of->sew, &costs->digest);
	if (prediction->classes)
		mca_numbers_of_class(prediction->model, insn, of->lmul, of->sew, &costs->digest);
	return &costs->digest;
}

static struct pesa_digest digest_of_model(const struct prediction *prediction)
{
	double stall = prediction->predictor->redirect_stall;
	struct pesa_digest digest = {{0}};

	pesa_digest_bytes(&digest, &stall, sizeof(stall));
	pesa_digest_word(&digest, prediction->predictor->ordered_cycles);
	pesa_digest_word(&digest, prediction->classes != NULL);
	mca_numbers_of_model(prediction->model, &digest);
	return digest;
}

/* The digest of all that the prediction of a path follows from, and that is not the same in the whole
 * comparison. */
static struct pesa_digest digest_of(struct prediction *prediction, size_t index)
{
	const struct compare_predictor *predictor = prediction->predictor;
	const struct compare_prepared *prepared = predictor->paths->prepared;
	const struct compare_path *path = &predictor->paths->path[index];
	const struct compare_prepared_path *one = &prepared->path[index];
	const struct compare_step *steps = predictor->paths->step + path->first;
	unsigned int disturbed = disturbed_step(predictor, path);
	struct pesa_digest digest = prediction->model_digest;
	uint64_t *word = prediction->word;

	*word++ = one->steps.lane[0];
	*word++ = one->steps.lane[1];
	*word++ = disturbed == UINT_MAX ? 0 : (uint64_t)predictor->disturbed << 32 | disturbed;
	for (unsigned int i = 0; i < one->costs; i++) {
		const struct pesa_digest *costs =
			costs_of(prediction, prepared->cost_in[one->first_cost + i]);

		*word++ = costs->lane[0];
		*word++ = costs->lane[1];
	}
	for (unsigned int i = 0; i < one->missed; i++)
		*word++ = late_of(predictor, steps + prepared->missed_in[one->first_missed + i]);
	pesa_digest_bytes(&digest, prediction->word,
			  (size_t)(word - prediction->word) * sizeof(*word));
	return digest;
}

/* Under which the classes of a path are remembered; the digest of the path is that of its predictions. */
static struct pesa_digest digest_of_classes(const struct pesa_digest *path)
{
	return (struct pesa_digest){{path->lane[1], path->lane[0]}};
}

/* Take what is remembered of the selected paths, and list the others, cleared. */
static void recall(struct prediction *prediction, const uint8_t *selected)
{
	const struct compare_paths *paths = prediction->predictor->paths;
	const struct memo *memo = prediction->predictor->memo;

	for (size_t i = 0; i < paths->count; i++) {
		const struct compare_path *path = &paths->path[i];
		struct compare_predicted *predicted = prediction->predicted + path->first;
		int32_t *classes = prediction->classes ? prediction->classes + path->first : NULL;
		struct pesa_digest digest, of_classes;

		if (selected && !selected[i])
			continue;
		digest = digest_of(prediction, i);
		of_classes = digest_of_classes(&digest);
		if (memo_find(memo, &digest, predicted, path->count, sizeof(*predicted)) &&
		    (!classes ||
		     memo_find(memo, &of_classes, classes, path->count, sizeof(*classes))))
			continue;
		memset(predicted, 0, path->count * sizeof(*predicted));
		for (unsigned int k = 0; k < path->count && classes; k++)
			classes[k] = -1;
		prediction->pending[prediction->pending_count++] = (struct pending){i, digest};
		prediction->steps += path->count;
	}
}

/* In the order of the paths, so that what is remembered does not depend on the threads. */
static void remember(const struct prediction *prediction)
{
	struct memo *memo = prediction->predictor->memo;

	for (size_t i = 0; i < prediction->pending_count; i++) {
		const struct pending *one = &prediction->pending[i];
		const struct compare_path *path = &prediction->predictor->paths->path[one->path];
		const struct pesa_digest of_classes = digest_of_classes(&one->digest);

		memo_add(memo, &one->digest, prediction->predicted + path->first, path->count,
			 sizeof(*prediction->predicted));
		if (prediction->classes)
			memo_add(memo, &of_classes, prediction->classes + path->first, path->count,
				 sizeof(*prediction->classes));
	}
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void free_steps(struct worker *worker)
{
	free(worker->instruction);
	free(worker->cost);
}

/* Make room for a path of so many steps, in place of the one before. */
static struct pesa_error *reserve(struct worker *worker, unsigned int count)
{
	if (count <= worker->room)
		return NULL;
	free_steps(worker);
	worker->instruction = malloc(count * sizeof(*worker->instruction));
	worker->cost = malloc(count * sizeof(*worker->cost));
	worker->room = worker->instruction && worker->cost ? count : 0;
	return worker->room ? NULL : pesa_error_no_memory();
}

static void *work(void *data)
{
	struct worker *worker = data;
	struct prediction *prediction = worker->prediction;
	const struct compare_paths *paths = prediction->predictor->paths;

	while (!worker->error) {
		size_t at = atomic_fetch_add(&prediction->next, 1);
		const struct compare_path *path;

		if (at >= prediction->pending_count)
			break;
		path = &paths->path[prediction->pending[at].path];
		worker->error = reserve(worker, path->count);
		if (!worker->error)
			worker->error = execute_path(
				worker, path, prediction->predicted + path->first,
				prediction->classes ? prediction->classes + path->first : NULL);
	}
	free_steps(worker);
	return NULL;
}

/* Execute what is pending. */
static struct pesa_error *execute(struct prediction *prediction)
{
	struct compare_predictor *predictor = prediction->predictor;
	size_t wanted = 1 + prediction->steps / STEPS_AT_ONCE;
	unsigned int count =
		wanted < predictor->threads ? (unsigned int)wanted : predictor->threads;
	struct worker workers[THREADS_MAX];
	struct pesa_error *error = NULL;
	struct threads threads;

	for (unsigned int i = 0; i < count; i++)
		workers[i] =
			(struct worker){.prediction = prediction, .kept = &predictor->binder[i]};
	threads_start(&threads, count - 1, work, workers + 1, sizeof(*workers));
	work(&workers[0]);
	threads_join(&threads);
	for (unsigned int i = 0; i < count; i++) {
		predictor->instructions += workers[i].instructions;
		if (!error)
			error = workers[i].error;
		else
			pesa_error_free(workers[i].error);
	}
	return error;
}

void compare_predictor_free(struct compare_predictor *predictor)
{
	for (unsigned int i = 0; i < predictor->threads && predictor->binder; i++)
		mca_binder_free(predictor->binder[i].binder);
	free(predictor->binder);
	predictor->binder = NULL;
}

unsigned int compare_threads(unsigned int wanted)
{
	if (!wanted)
		return threads_usual();
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

struct pesa_error *compare_predict_paths(struct compare_predictor *predictor,
					 const struct pesa_mca_model *model,
					 const uint8_t *selected,
					 struct compare_predicted *predicted, int32_t *classes)
{
	const struct compare_paths *paths = predictor->paths;
	struct prediction prediction = {
		.predictor = predictor,
		.model = model,
		.predicted = predicted,
		.classes = classes,
		.costs = calloc(paths->prepared->costs + 1, sizeof(*prediction.costs)),
		/* Two of a cost, one of a missed step, and three of the path. */
		.word = malloc((2 * (size_t)paths->prepared->most + 3) * sizeof(*prediction.word)),
		.pending = malloc((paths->count + 1) * sizeof(*prediction.pending)),
	};
	struct pesa_error *error = NULL;

	if (!predictor->binder)
		predictor->binder = calloc(predictor->threads, sizeof(*predictor->binder));
	if (!predictor->binder || !prediction.costs || !prediction.word || !prediction.pending)
		error = pesa_error_no_memory();
	if (!error) {
		prediction.model_digest = digest_of_model(&prediction);
		recall(&prediction, selected);
		if (prediction.pending_count)
			error = execute(&prediction);
	}
	if (!error)
		remember(&prediction);
	free(prediction.costs);
	free(prediction.word);
	free(prediction.pending);
	return error;
}
