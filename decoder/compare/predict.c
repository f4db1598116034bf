/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths executed on a model, see predict.h. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/threads.h"
#include "decoder/compare/predict.h"
#include "decoder/mca/model/block.h"
#include "decoder/mca/model/numbers.h"
#include "pesa/csr.h"
#include "pesa/record.h"

#define COSTS_KNOWN 512	 /* powers of two */
#define BOUND	    4096 /* instructions of all paths and models */

/* The digest of what an instruction costs on the model. */
struct costs {
	uint64_t of; /* 1 + opcode, LMUL and SEW; 0: none */
	struct pesa_digest digest;
};

/* What the prediction of a step follows from, beside the costs of its instruction. */
struct known_step {
	uint64_t step;
	uint64_t late;
};

/* What is to be remembered of a path. */
struct executed {
	struct pesa_digest digest;
	bool is_new; /* it was executed */
};

/* What one thread has bound, of all models with the same digest of what their instructions share. */
struct compare_binder {
	struct mca_binder *binder; /* NULL: nothing */
	struct pesa_digest of_model;
	struct pesa_mca_block_options options;
};

/* What one thread executes: paths from a list that all share. */
struct worker {
	const struct compare_predictor *predictor;
	const struct pesa_mca_model *model;
	const uint8_t *selected;
	struct compare_predicted *predicted;
	int32_t *classes;
	atomic_size_t *next; /* the next path that nobody executes */
	struct compare_binder *kept;
	bool is_bound; /* a path has been */
	/* Of the current path, by step: */
	struct pesa_mca_instruction *instruction;
	struct pesa_digest *cost;
	struct known_step *known;
	unsigned int room;
	struct executed *executed; /* by path */
	struct pesa_digest model_digest;
	struct costs costs[COSTS_KNOWN];
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

static unsigned int late_of(const struct compare_predictor *predictor,
			    const struct compare_step *step)
{
	const struct compare_step *first = step - step->missed_by;

	return (unsigned int)lround(predictor->code->node[first->node].late);
}

/* Cycles that a step takes longer: of a load that misses, and of what is disturbed. */
static unsigned int delay_of(const struct compare_predictor *predictor,
			     const struct compare_path *path, unsigned int step)
{
	const struct compare_step *at = predictor->paths->step + path->first + step;
	bool disturbed = predictor->disturbed && path->warm &&
			 step == (unsigned int)(predictor->disturbed_at * path->warm);

	return (at->flags & COMPARE_PATH_MISSED ? late_of(predictor, at) : 0) +
	       (disturbed ? predictor->disturbed : 0);
}

struct pesa_mca_instruction compare_path_instruction(const struct compare_predictor *predictor,
						     const struct compare_path *path,
						     unsigned int step)
{
	const struct compare_step *at = predictor->paths->step + path->first + step;

	return (struct pesa_mca_instruction){
		.insn = predictor->code->node[at->node].insn,
		.lmul = at->lmul,
		.sew = at->sew,
		.latency = -1,
		.taken = at->flags & COMPARE_PATH_TAKEN,
		.mispredicted = at->flags & COMPARE_PATH_MISPREDICTED,
		.forwarded_by = at->forwarded,
		.forwarded_partly = at->flags & COMPARE_PATH_PARTLY,
		.after_store = at->flags & COMPARE_PATH_AFTER,
		.late = delay_of(predictor, path, step),
		.barrier = at->flags & COMPARE_PATH_BARRIER,
		.begins_block = step && begins_block(predictor, at),
	};
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
	struct compare_binder *kept = worker->kept;

	if (worker->is_bound)
		return NULL;
	if (kept->binder && (!pesa_digest_equal(&kept->of_model, &worker->model_digest) ||
			     mca_binder_is_full(kept->binder))) {
		mca_binder_free(kept->binder);
		kept->binder = NULL;
	}
	worker->is_bound = true;
	kept->options = block_options_of(worker->predictor);
	kept->of_model = worker->model_digest;
	if (!kept->binder)
		return mca_binder_create(worker->model, &kept->options, BOUND, &kept->binder);
	mca_binder_set_model(kept->binder, worker->model);
	return NULL;
}

static struct pesa_error *bind(struct worker *worker, const struct compare_path *path,
			       struct pesa_mca_block **block)
{
	struct pesa_error *error = prepare_binder(worker);

	for (unsigned int i = 0; i < path->count; i++)
		worker->instruction[i] = compare_path_instruction(worker->predictor, path, i);
	return error ? error
		     : mca_binder_bind(worker->kept->binder, worker->instruction, worker->cost,
				       path->count, block);
}

static void read_stack(const struct pesa_mca_cycle_stack *stack, unsigned int index,
		       struct compare_predicted *predicted)
{
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, buckets);

	*predicted = (struct compare_predicted){0};
	for (unsigned int i = 0; i < count; i++) {
		float cycles = (float)((double)buckets[i].weight / PESA_CYCLE);

		if (buckets[i].state == PESA_STATE_RETIRING)
			predicted->retiring += cycles;
		else if (buckets[i].state == PESA_STATE_STALLED)
			*(buckets[i].cause ? &predicted->event : &predicted->stalled) += cycles;
	}
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
static bool has_entered_before(const struct worker *worker, const struct compare_path *path)
{
	const struct compare_step *first = worker->predictor->paths->step + path->first;

	return !path->warm && !(first->flags & COMPARE_PATH_FLUSHED) &&
	       pesa_mca_model_is_out_of_order(worker->model);
}

/* Execute a path.  The predictions are zero and the classes -1 before. */
static struct pesa_error *execute_path(struct worker *worker, const struct compare_path *path,
				       struct compare_predicted *predicted, int32_t *classes)
{
	const struct compare_predictor *predictor = worker->predictor;
	bool in_order = !pesa_mca_model_is_out_of_order(worker->model);
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

		read_stack(stack, i, &predicted[source]);
		if (in_order && compare_is_flushed_before(predictor, path, source))
			predicted[source].stalled += (float)predictor->redirect_stall;
		if (!source && has_entered_before(worker, path))
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

static const struct pesa_digest *costs_of(struct worker *worker, const struct compare_step *step)
{
	const struct pesa_insn *insn = &worker->predictor->code->node[step->node].insn;
	uint64_t of = 1 + ((uint64_t)insn->opcode << 16 | (uint64_t)step->lmul << 8 | step->sew);
	struct costs *costs = &worker->costs[(of ^ of >> 16) % COSTS_KNOWN];

	if (costs->of == of)
		return &costs->digest;
	*costs = (struct costs){.of = of};
	mca_numbers_of_instruction(worker->model, insn, step->lmul, step->sew, &costs->digest);
	if (worker->classes)
		mca_numbers_of_class(worker->model, insn, step->lmul, step->sew, &costs->digest);
	return &costs->digest;
}

/* The digest of all that the prediction of a path follows from, and that is not the same in the whole
 * comparison. */
static struct pesa_digest digest_of(struct worker *worker, const struct compare_path *path)
{
	const struct compare_step *steps = worker->predictor->paths->step + path->first;
	struct pesa_digest digest = worker->model_digest;

	for (unsigned int i = 0; i < path->count; i++) {
		const struct compare_step *step = &steps[i];

		worker->cost[i] = *costs_of(worker, step);
		worker->known[i] = (struct known_step){
			.step = (uint64_t)step->node << 32 | (uint64_t)step->flags << 24 |
				(uint64_t)step->lmul << 16 | (uint64_t)step->sew << 8 |
				step->forwarded,
			.late = delay_of(worker->predictor, path, i),
		};
	}
	pesa_digest_bytes(&digest, worker->cost, path->count * sizeof(*worker->cost));
	pesa_digest_bytes(&digest, worker->known, path->count * sizeof(*worker->known));
	pesa_digest_word(&digest, !path->warm);
	return digest;
}

static void begin_digests(struct worker *worker)
{
	double stall = worker->predictor->redirect_stall;

	pesa_digest_bytes(&worker->model_digest, &stall, sizeof(stall));
	pesa_digest_word(&worker->model_digest, worker->predictor->ordered_cycles);
	pesa_digest_word(&worker->model_digest, worker->classes != NULL);
	mca_numbers_of_model(worker->model, &worker->model_digest);
}

/* Under which the classes of a path are remembered; the digest of the path is that of its predictions. */
static struct pesa_digest digest_of_classes(const struct pesa_digest *path)
{
	return (struct pesa_digest){{path->lane[1], path->lane[0]}};
}

static void free_steps(struct worker *worker)
{
	free(worker->instruction);
	free(worker->cost);
	free(worker->known);
}

/* Make room for a path of so many steps, in place of the one before. */
static struct pesa_error *reserve(struct worker *worker, unsigned int count)
{
	if (count <= worker->room)
		return NULL;
	free_steps(worker);
	worker->instruction = malloc(count * sizeof(*worker->instruction));
	worker->cost = malloc(count * sizeof(*worker->cost));
	worker->known = malloc(count * sizeof(*worker->known));
	worker->room = worker->instruction && worker->cost && worker->known ? count : 0;
	return worker->room ? NULL : pesa_error_no_memory();
}

/* What is remembered is the predictions of the steps, and their classes if these are wanted. */
static struct pesa_error *predict_path(struct worker *worker, size_t index)
{
	const struct compare_path *path = &worker->predictor->paths->path[index];
	struct compare_predicted *predicted = worker->predicted + path->first;
	int32_t *classes = worker->classes ? worker->classes + path->first : NULL;
	struct executed *executed = &worker->executed[index];
	struct pesa_error *error = reserve(worker, path->count);
	struct memo *memo = worker->predictor->memo;
	struct pesa_digest of_classes;

	if (error)
		return error;
	executed->digest = digest_of(worker, path);
	of_classes = digest_of_classes(&executed->digest);
	if (memo_find(memo, &executed->digest, predicted, path->count * sizeof(*predicted)) &&
	    (!classes || memo_find(memo, &of_classes, classes, path->count * sizeof(*classes))))
		return NULL;
	executed->is_new = true;
	memset(predicted, 0, path->count * sizeof(*predicted));
	for (unsigned int i = 0; i < path->count && classes; i++)
		classes[i] = -1;
	return execute_path(worker, path, predicted, classes);
}

/* In the order of the paths, so that what is remembered does not depend on the threads. */
static void remember(struct compare_predictor *predictor, const struct executed *executed,
		     const struct compare_predicted *predicted, const int32_t *classes)
{
	for (size_t i = 0; i < predictor->paths->count; i++) {
		const struct compare_path *path = &predictor->paths->path[i];
		const struct pesa_digest *digest = &executed[i].digest;
		const struct pesa_digest of_classes = digest_of_classes(digest);

		if (!executed[i].is_new)
			continue;
		memo_add(predictor->memo, digest, predicted + path->first,
			 path->count * sizeof(*predicted));
		if (classes)
			memo_add(predictor->memo, &of_classes, classes + path->first,
				 path->count * sizeof(*classes));
	}
}

static void *work(void *data)
{
	struct worker *worker = data;
	const struct compare_paths *paths = worker->predictor->paths;

	begin_digests(worker);
	while (!worker->error) {
		size_t at = atomic_fetch_add(worker->next, 1);

		if (at >= paths->count)
			break;
		if (!worker->selected || worker->selected[at])
			worker->error = predict_path(worker, at);
	}
	free_steps(worker);
	return NULL;
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
	struct worker workers[THREADS_MAX];
	struct threads threads;
	struct pesa_error *error = NULL;
	struct executed *executed = calloc(predictor->paths->count + 1, sizeof(*executed));
	atomic_size_t next = 0;

	if (!predictor->binder)
		predictor->binder = calloc(predictor->threads, sizeof(*predictor->binder));
	if (!executed || !predictor->binder) {
		free(executed);
		return pesa_error_no_memory();
	}
	for (unsigned int i = 0; i < predictor->threads; i++)
		workers[i] = (struct worker){.predictor = predictor,
					     .model = model,
					     .kept = &predictor->binder[i],
					     .selected = selected,
					     .predicted = predicted,
					     .classes = classes,
					     .executed = executed,
					     .next = &next};
	threads_start(&threads, predictor->threads - 1, work, workers + 1, sizeof(*workers));
	work(&workers[0]);
	threads_join(&threads);
	for (unsigned int i = 0; i < predictor->threads; i++) {
		predictor->instructions += workers[i].instructions;
		if (!error)
			error = workers[i].error;
		else
			pesa_error_free(workers[i].error);
	}
	if (!error)
		remember(predictor, executed, predicted, classes);
	free(executed);
	return error;
}
