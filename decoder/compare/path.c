/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths along the measured control flow, see path.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/union_find.h"
#include "decoder/compare/waits.h"
#include "decoder/compare/path.h"
#include "decoder/compare/prepared.h"
#include "decoder/mca/model/vector_type.h"
#include "decoder/profile/edges.h"

#define CALLS_MAX	 64
#define WHOLE_DEVIATIONS 2.0 /* of a mean number of iterations, to the next whole number */
#define RUN		 8   /* times that a direction is repeated, in runs */
#define MISSED_MAX	 8
#define MISSED_STEPS	 48   /* between loads that wait for the same line */
#define LINE		 64   /* bytes */
#define LONG_LOOP	 24.0 /* iterations */
#define RETURNS		 0.1  /* of the executions of a call, what follows it has */
#define NEARLY_ALWAYS	 0.8  /* of the executions of two blocks, one follows the other */

/* Samples for which the mean of all targets counts, in how often one of them is mispredicted. */
#define EDGE_PRIOR 10.0

/* A load that missed. */
struct missed {
	struct compare_value address;
	unsigned int step;
};

/* An edge of an indirect transfer. */
struct chosen_edge {
	uint64_t chosen;    /* how often it has been */
	double mispredicts; /* per transfer; -1: as often as its node */
	double due;	    /* mispredicts */
};

/* A call of the path that has not returned. */
struct call {
	uint32_t from, next; /* the call, and what it returns to */
};

struct walker {
	struct compare_code *code;
	struct compare_paths *paths;
	struct chosen_edge **edge; /* by node, by edge */
	struct chosen_edge *last;  /* the one chosen last; NULL: the last transfer has none */
	struct call call[CALLS_MAX];
	unsigned int depth;
	bool warming;	 /* before the counted part of the path */
	uint32_t walked; /* paths that have been begun */
	uint8_t lmul, sew;
	enum compare_directions directions;
	struct compare_memory memory;
	struct missed missed[MISSED_MAX]; /* ring of the newest loads that missed */
	unsigned int misses;		  /* how many there were on the path */
	unsigned int *newest;		  /* by root of a set: step of its newest store; 0: none */
};

/* ---- Successors ------------------------------------------------------------------------------ */

static void push(struct walker *walker, struct call call)
{
	if (walker->depth == CALLS_MAX) {
		memmove(walker->call, walker->call + 1, (CALLS_MAX - 1) * sizeof(*walker->call));
		walker->depth--;
	}
	walker->call[walker->depth++] = call;
}

/* The fractional part of a multiple of the golden ratio: these are evenly distributed. */
static double fraction(uint64_t number)
{
	return (double)(number * UINT64_C(0x9e3779b97f4a7c15) >> 11) / (double)(UINT64_C(1) << 53);
}

/* A number that is as good as random, and the same in each run. */
static double scatter(uint64_t number)
{
	number *= UINT64_C(0x9e3779b97f4a7c15);
	number = (number ^ number >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return fraction(number ^ number >> 32);
}

/*
 * Whether a loop has the same number of iterations each time it is entered, as far as can be told:
 * sampling leaves room for one whole number.  Of long loops it does not matter.
 */
static bool is_constant(const struct pesa_instruction *measured, double share)
{
	double exits = (double)(measured->transfers_known - measured->transfers_taken);
	double mean = exits > 0 ? (double)measured->transfers_known / exits : LONG_LOOP;
	double error = exits > 0 ? WHOLE_DEVIATIONS * mean * sqrt(share / exits) : 0;

	return mean >= LONG_LOOP || (error < 0.25 && fabs(mean - nearbyint(mean)) <= error);
}

/* A number from 0 to 1 for this visit of a node, for directions that are not chosen evenly. */
static double draw(const struct walker *walker, uint32_t from)
{
	uint64_t visit = walker->code->node[from].visits;

	return scatter((uint64_t)from << 32 ^
		       (walker->directions == COMPARE_IN_RUNS ? visit / RUN : visit));
}

/* Loops with a constant number of iterations are always evened out. */
static bool is_even(const struct walker *walker, uint32_t from,
		    const struct pesa_instruction *measured, double share)
{
	uint32_t target = walker->code->node[from].target;

	return walker->directions == COMPARE_EVENLY || target == COMPARE_NONE ||
	       (target <= from && is_constant(measured, share));
}

/* Whether samples tell how often a branch is taken: it retired in one. */
static bool is_sampled(const struct pesa_instruction *measured)
{
	return measured && measured->transfers_known;
}

static double executions_of(const struct compare_code *code, uint32_t node)
{
	return node == COMPARE_NONE ? 0 : code->node[node].executions;
}

/*
 * How often a branch is taken, 0 to 1.  Of one that no sample caught when it retired, in code that is
 * seldom executed, it is judged by where it goes.
 */
static double share_taken(const struct compare_code *code, uint32_t branch)
{
	const struct compare_node *node = &code->node[branch];
	const struct pesa_instruction *measured = node->measured;
	double target = executions_of(code, node->target), next = executions_of(code, node->next);

	if (is_sampled(measured))
		return (double)measured->transfers_taken / (double)measured->transfers_known;
	if (target + next > 0)
		return target / (target + next);
	return node->target <= branch;
}

/* Choose the direction of a branch: evenly, the one that is further behind its measured share. */
static bool step_branch(struct walker *walker, uint32_t from, uint32_t *to, bool *taken)
{
	struct compare_node *node = &walker->code->node[from];
	const struct pesa_instruction *measured = node->measured;
	double share = share_taken(walker->code, from);

	/* A path ends where it is not known how it goes on; not before its counted part, so that loops
	 * within seldom executed code have paths. */
	if (!is_sampled(measured) && !walker->warming)
		return false;
	node->visits++;
	if (!is_sampled(measured) || is_even(walker, from, measured, share))
		*taken = share * (double)node->visits - (double)node->taken >= 0.5;
	else
		*taken = draw(walker, from) < share;
	node->taken += *taken;
	*to = *taken ? node->target : node->next;
	return *to != COMPARE_NONE;
}

/* The edge that is furthest behind its share. */
static unsigned int furthest_behind(const struct pesa_instruction *measured, double visits,
				    const struct chosen_edge *edge)
{
	unsigned int best = 0;
	double total = profile_edges_count(measured), most = -1;

	for (unsigned int i = 0; i < measured->edges; i++) {
		double behind =
			(double)measured->edge[i].count / total * visits - (double)edge[i].chosen;

		if (behind > most) {
			most = behind;
			best = i;
		}
	}
	return best;
}

/* The edge to which a number from 0 to 1 belongs. */
static unsigned int edge_at(const struct pesa_instruction *measured, double number)
{
	double total = profile_edges_count(measured), sum = 0;

	for (unsigned int i = 0; i < measured->edges; i++) {
		sum += (double)measured->edge[i].count;
		if (number * total < sum)
			return i;
	}
	return measured->edges - 1;
}

/*
 * How often an indirect transfer to one of its targets is mispredicted: predictors take the target that came
 * before, so that a seldom one is, and what waits there after a mispredict would be blamed.  Few samples are
 * drawn to the mean of all targets.  -1: samples do not say.
 */
static double mispredicts_of_edge(const struct compare_node *node, const struct pesa_edge *edge)
{
	const struct pesa_instruction *measured = node->measured;
	double all = profile_edges_count(measured), mispredicted = 0, prior;

	for (unsigned int i = 0; i < measured->edges; i++)
		mispredicted += (double)measured->edge[i].mispredicted;
	if (!(mispredicted > 0) || !measured->retired_samples)
		return -1;
	prior = EDGE_PRIOR * (double)measured->executions / (double)measured->retired_samples;
	return fmin(1, node->mispredicts[1] *
			       ((double)edge->mispredicted / mispredicted * all + prior) /
			       ((double)edge->count + prior));
}

/* No edge has been chosen.  Each begins with another fraction of a mispredict due, see spread_events(). */
static struct chosen_edge *begin_edges(const struct compare_node *node, uint32_t from)
{
	const struct pesa_instruction *measured = node->measured;
	struct chosen_edge *edge = calloc(measured->edges, sizeof(*edge));

	for (unsigned int i = 0; edge && i < measured->edges; i++) {
		edge[i].mispredicts = mispredicts_of_edge(node, &measured->edge[i]);
		edge[i].due = fraction(2 * (uint64_t)from + 1 + i);
	}
	return edge;
}

/* Choose the edge of an indirect transfer. */
static bool step_edges(struct walker *walker, uint32_t from, uint32_t *to, bool *memory)
{
	struct compare_node *node = &walker->code->node[from];
	const struct pesa_instruction *measured = node->measured;
	struct chosen_edge *edge;
	unsigned int best;

	*memory = true;
	if (!measured || !measured->edges)
		return false;
	if (!walker->edge[from])
		walker->edge[from] = begin_edges(node, from);
	edge = walker->edge[from];
	if (!edge) {
		*memory = false;
		return false;
	}
	node->visits++;
	best = walker->directions == COMPARE_EVENLY
		       ? furthest_behind(measured, (double)node->visits, edge)
		       : edge_at(measured, draw(walker, from));
	edge[best].chosen++;
	walker->last = &edge[best];
	*to = compare_code_find(walker->code, measured->edge[best].target_dso,
				measured->edge[best].target);
	return *to != COMPARE_NONE;
}

/*
 * Whether a call returns: what follows it is executed as well.  One that does not (in longjmp(), or where
 * threads of a program are switched) is left by a return to another place.  Of a call with few samples it may
 * seem so by chance: then the path goes on where the function mostly returns to.
 */
static bool does_return(const struct compare_code *code, const struct call *call)
{
	return executions_of(code, call->next) >= RETURNS * executions_of(code, call->from);
}

/* To the newest call of the path; or where samples say, and then no call of the path is waited for. */
static bool step_return(struct walker *walker, uint32_t from, uint32_t *to, bool *memory)
{
	const struct pesa_instruction *measured = walker->code->node[from].measured;
	const struct call *call = walker->depth ? &walker->call[walker->depth - 1] : NULL;

	if (call && (!measured || !measured->edges || does_return(walker->code, call))) {
		*to = call->next;
		walker->depth--;
		return *to != COMPARE_NONE;
	}
	walker->depth = 0;
	return step_edges(walker, from, to, memory);
}

/* Advance from a node to its successor.  False: the path ends; *memory is false if out of
 * memory. */
static bool advance(struct walker *walker, uint32_t from, uint32_t *to, bool *taken, bool *memory)
{
	struct compare_node *node = &walker->code->node[from];
	bool call = node->flow == PESA_FLOW_CALL || node->flow == PESA_FLOW_INDIRECT_CALL;

	*memory = true;
	walker->last = NULL;
	*taken = node->flow != PESA_FLOW_NEXT && node->flow != PESA_FLOW_TRAP;
	switch (node->flow) {
	case PESA_FLOW_NEXT:
	case PESA_FLOW_TRAP:
		*to = node->next;
		return *to != COMPARE_NONE;
	case PESA_FLOW_BRANCH:
		return step_branch(walker, from, to, taken);
	case PESA_FLOW_JUMP:
	case PESA_FLOW_CALL:
		*to = node->target;
		break;
	case PESA_FLOW_RETURN:
		return step_return(walker, from, to, memory);
	default:
		if (!step_edges(walker, from, to, memory))
			return false;
		break;
	}
	if (*to == COMPARE_NONE)
		return false;
	if (call)
		push(walker, (struct call){from, node->next});
	return true;
}

/* Whether the transfer that was chosen last is mispredicted: as often as was measured. */
static bool is_mispredicted(const struct walker *walker, struct compare_node *node, bool taken)
{
	struct chosen_edge *edge =
		walker->last && walker->last->mispredicts >= 0 ? walker->last : NULL;
	double *due = edge ? &edge->due : &node->mispredicts_due[taken];

	*due += edge ? edge->mispredicts : node->mispredicts[taken];
	if (*due < 1)
		return false;
	*due -= 1;
	return true;
}

/* ---- One path -------------------------------------------------------------------------------- */

static struct compare_step *add_step(struct compare_paths *paths)
{
	if (paths->steps == paths->step_room) {
		size_t room = paths->step_room ? 2 * paths->step_room : 16384;
		struct compare_step *larger = realloc(paths->step, room * sizeof(*larger));

		if (!larger)
			return NULL;
		paths->step = larger;
		paths->step_room = room;
	}
	return &paths->step[paths->steps++];
}

/* Merge equal paths; the steps of the new path are the last ones. */
static bool keep(struct compare_paths *paths, struct compare_path *made)
{
	const struct compare_step *steps = paths->step + made->first;

	for (unsigned int i = 0; i < made->count; i++) {
		const uint64_t part = (uint64_t)steps[i].node << 24 |
				      (uint64_t)steps[i].flags << 16 |
				      (uint64_t)steps[i].lmul << 8 | steps[i].sew;

		made->hash = (made->hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
		made->hash ^= made->hash >> 29;
	}
	for (size_t i = 0; i < paths->count; i++) {
		struct compare_path *other = &paths->path[i];

		if (other->hash == made->hash && other->count == made->count &&
		    other->warm == made->warm &&
		    !memcmp(paths->step + other->first, steps, made->count * sizeof(*steps))) {
			other->weight++;
			paths->steps = made->first;
			return true;
		}
	}
	if (paths->count == paths->room) {
		size_t room = paths->room ? 2 * paths->room : 256;
		struct compare_path *larger = realloc(paths->path, room * sizeof(*larger));

		if (!larger)
			return false;
		paths->path = larger;
		paths->room = room;
	}
	paths->path[paths->count++] = *made;
	return true;
}

/* A path that ends early has no tail after its counted part; without a counted part it is dropped. */
static bool end_path(struct compare_paths *paths, struct compare_path *made)
{
	if (made->count <= made->warm) {
		paths->steps = made->first;
		return true;
	}
	return keep(paths, made);
}

static enum compare_wait wait_of(const struct compare_path_options *options,
				 const struct compare_node *node)
{
	return node->kind == COMPARE_NO_KIND ? COMPARE_WAIT_NOTHING
					     : options->kinds->kind[node->kind].wait;
}

/* A load from a line that has just been missed waits for the same line. */
static unsigned int missed_by(const struct walker *walker, const struct compare_value *address,
			      unsigned int step)
{
	unsigned int count = walker->misses < MISSED_MAX ? walker->misses : MISSED_MAX;

	for (unsigned int i = 1; i <= count; i++) {
		const struct missed *one = &walker->missed[(walker->misses - i) % MISSED_MAX];

		if (one->address.symbol == address->symbol && step - one->step <= MISSED_STEPS &&
		    llabs(one->address.number - address->number) < LINE)
			return step - one->step;
	}
	return 0;
}

/* Whether the next load of the node misses, as often as measured. */
static void set_missed(struct walker *walker, struct compare_node *node, struct compare_step *step,
		       const struct compare_forward *forward, unsigned int number)
{
	node->misses_due += node->misses;
	if (node->misses_due >= 1) {
		step->flags |= COMPARE_PATH_MISSED;
		node->misses_due -= 1;
	}
	if (!forward->known || forward->distance)
		return;
	if (step->flags & COMPARE_PATH_MISSED) {
		walker->missed[walker->misses++ % MISSED_MAX] =
			(struct missed){.address = forward->address, .step = number};
		return;
	}
	step->missed_by = (uint8_t)missed_by(walker, &forward->address, number);
	if (step->missed_by)
		step->flags |= COMPARE_PATH_MISSED;
}

/* ---- Sets of loads and stores ---------------------------------------------------------------- */

/* Before a path is made, each node is a set of its own. */
static bool begin_sets(struct compare_code *code)
{
	free(code->set);
	code->set = malloc((code->count + 1) * sizeof(*code->set));
	for (uint32_t i = 0; code->set && i < code->count; i++)
		code->set[i] = i;
	return code->set;
}

/* What the load waits for by its set, where that is newer than what it reads; a store becomes the newest one
 * of its set. */
static struct compare_forward wait_in_set(struct walker *walker, uint32_t at,
					  struct compare_forward coded, unsigned int made)
{
	struct compare_code *code = walker->code;
	const struct compare_paths *paths = walker->paths;
	unsigned int *newest, now = walker->memory.steps;

	if (!code->in_sets) {
		if (coded.distance && coded.distance <= made)
			code->set[union_find_root(code->set, at)] = union_find_root(
				code->set, paths->step[paths->steps - 1 - coded.distance].node);
		return coded;
	}
	newest = &walker->newest[union_find_root(code->set, at)];
	if (pesa_opcode_get(code->node[at].insn.opcode)->properties & PESA_OPCODE_STORE) {
		*newest = now;
	} else if (*newest && (!coded.distance || now - *newest < coded.distance)) {
		coded.distance = now - *newest;
		coded.after = true;
		coded.partly = false;
	}
	return coded;
}

static bool walk_from(struct walker *walker, const struct compare_path_options *options,
		      uint32_t start)
{
	struct compare_paths *paths = walker->paths;
	struct compare_path made = {.first = paths->steps, .warm = options->warm, .weight = 1};
	unsigned int most = options->warm + options->length, walked = 0;
	uint32_t at = start;
	uint8_t begins = 0; /* flag of the next step */

	walker->walked++;
	walker->depth = 0;
	walker->lmul = walker->code->node[start].lmul;
	walker->sew = walker->code->node[start].sew;
	walker->misses = 0;
	compare_memory_begin(&walker->memory);
	if (walker->code->in_sets)
		memset(walker->newest, 0, walker->code->count * sizeof(*walker->newest));
	for (; walked < most; walked++) {
		struct compare_node *node = &walker->code->node[at];
		struct compare_step *step;
		bool taken, memory, on;
		uint32_t to = COMPARE_NONE;
		struct compare_forward forwarded;

		if (!node->decoded)
			break;
		step = add_step(paths);
		if (!step)
			return false;
		forwarded = compare_memory_step(&walker->memory, &node->insn, node->address);
		forwarded = compare_waits_for(node, wait_in_set(walker, at, forwarded, made.count),
					      walker->walked);
		*step = (struct compare_step){
			.node = at,
			.lmul = walker->lmul,
			.sew = walker->sew,
			.flags = begins | (forwarded.partly ? COMPARE_PATH_PARTLY : 0) |
				 (forwarded.after ? COMPARE_PATH_AFTER : 0),
			.forwarded =
				forwarded.distance <= UINT8_MAX ? (uint8_t)forwarded.distance : 0,
		};
		begins = 0;
		made.count++;
		walker->warming = made.count <= made.warm;
		mca_vector_type(&node->insn, &walker->lmul, &walker->sew);
		on = advance(walker, at, &to, &taken, &memory);
		if (!memory)
			return false;
		if (is_mispredicted(walker, node, taken))
			step->flags |= COMPARE_PATH_MISPREDICTED;
		set_missed(walker, node, step, &forwarded, made.count);
		if (on && taken)
			step->flags |= COMPARE_PATH_TAKEN;
		if (wait_of(options, node) == COMPARE_WAIT_MEMORY)
			step->flags |= COMPARE_PATH_BARRIER;
		if (!on && !walker->warming)
			break;
		/* What follows is not known: before the counted part, the path is entered once more.  It
		 * keeps what was stored: mostly it is the same loop. */
		if (!on)
			to = start;
		at = to;
		if (wait_of(options, node) != COMPARE_WAIT_ALL)
			continue;
		/* The last step orders: it is not of the path. */
		made.count--;
		paths->steps--;
		if (!end_path(paths, &made))
			return false;
		made = (struct compare_path){.first = paths->steps, .weight = 1};
		if (compare_kind_flushes(&options->kinds->kind[node->kind]))
			begins = COMPARE_PATH_FLUSHED;
		walker->misses = 0;
	}
	return end_path(paths, &made);
}

/* ---- All paths ------------------------------------------------------------------------------- */

struct before {
	uint32_t node;
	double flow; /* how often control came from that node */
};

static void offer(struct before *before, uint32_t from, uint32_t to, double flow)
{
	if (to != COMPARE_NONE && flow > before[to].flow)
		before[to] = (struct before){from, flow};
}

/* The most frequent predecessor of each node. */
static struct before *find_before(const struct compare_code *code)
{
	struct before *before = calloc(code->count + 1, sizeof(*before));

	for (uint32_t i = 0; before && i < code->count; i++)
		before[i].node = COMPARE_NONE;
	for (uint32_t i = 0; before && i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		const struct pesa_instruction *measured = node->measured;
		double taken = 0;

		if (!node->decoded || !measured)
			continue;
		if (measured->transfers_known)
			taken = (double)measured->transfers_taken /
				(double)measured->transfers_known;
		switch (node->flow) {
		case PESA_FLOW_NEXT:
		case PESA_FLOW_TRAP:
			offer(before, i, node->next, node->executions);
			break;
		case PESA_FLOW_BRANCH:
			offer(before, i, node->next, node->executions * (1 - taken));
			offer(before, i, node->target, node->executions * taken);
			break;
		case PESA_FLOW_JUMP:
		case PESA_FLOW_CALL:
			offer(before, i, node->target, node->executions);
			break;
		default:
			for (unsigned int j = 0; j < measured->edges; j++)
				offer(before, i,
				      compare_code_find(code, measured->edge[j].target_dso,
							measured->edge[j].target),
				      (double)measured->edge[j].count);
			break;
		}
	}
	return before;
}

/* The node from which a path reaches `node` after `steps` warm-up steps. */
static uint32_t start_for(const struct before *before, uint32_t node, unsigned int steps)
{
	for (unsigned int i = 0; i < steps && before[node].node != COMPARE_NONE; i++)
		node = before[node].node;
	return node;
}

/*
 * Branches and loads start with different fractions of a mispredict or miss due, so that among many
 * branches with few mispredicts the right number is mispredicted.
 */
static void spread_events(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];

		for (unsigned int way = 0; way < 2; way++)
			node->mispredicts_due[way] = fraction(2 * (uint64_t)i + way);
		node->misses_due = fraction(i);
		node->waits_due = fraction(i);
		node->waits_path = 0;
		node->wide = false;
	}
}

struct pesa_error *compare_paths_make(struct compare_code *code,
				      const struct compare_path_options *options,
				      struct compare_paths *paths)
{
	struct walker *walker = calloc(1, sizeof(*walker));
	struct before *before = find_before(code);
	double total = 0, passed = 0, next;
	bool done = true;

	if (walker) {
		walker->edge = calloc(code->count + 1, sizeof(*walker->edge));
		walker->newest = calloc(code->count + 1, sizeof(*walker->newest));
	}
	if (!walker || !before || !walker->edge || !walker->newest ||
	    (!code->in_sets && !begin_sets(code))) {
		if (walker) {
			free(walker->edge);
			free(walker->newest);
		}
		free(walker);
		free(before);
		return pesa_error_no_memory();
	}
	walker->code = code;
	walker->paths = paths;
	walker->directions = options->directions;
	spread_events(code);
	for (uint32_t i = 0; i < code->count; i++) {
		code->node[i].visits = code->node[i].taken = 0;
		if (code->node[i].decoded)
			total += code->node[i].time.core;
	}
	/* One path for each equal part of the core time. */
	next = total / options->paths / 2;
	for (uint32_t i = 0; i < code->count && done && total > 0; i++) {
		if (!code->node[i].decoded)
			continue;
		for (passed += code->node[i].time.core; passed >= next && done;
		     next += total / options->paths)
			done = walk_from(walker, options, start_for(before, i, options->warm));
	}
	for (uint32_t i = 0; i < code->count; i++)
		free(walker->edge[i]);
	free(walker->edge);
	free(walker->newest);
	free(walker);
	free(before);
	return done ? NULL : pesa_error_no_memory();
}

struct pesa_digest compare_paths_digest(const struct compare_code *code,
					const struct compare_path_options *options)
{
	struct pesa_digest digest = {{0}};

	pesa_digest_word(&digest, (uint64_t)options->paths << 32 | options->length);
	pesa_digest_word(&digest, (uint64_t)options->warm << 32 | options->directions);
	for (unsigned int i = 0; i < options->kinds->count; i++)
		pesa_digest_word(&digest, options->kinds->kind[i].wait);
	/* Which loads and stores are joined changes only while paths are made without sets. */
	pesa_digest_word(&digest, code->in_sets);
	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		const double chosen[] = {node->waits, node->waits_part, node->misses};

		pesa_digest_bytes(&digest, chosen, sizeof(chosen));
	}
	return digest;
}

void compare_paths_free(struct compare_paths *paths)
{
	free(paths->path);
	free(paths->step);
	compare_prepared_free(paths->prepared);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* A basic block that follows another one, in so many executions. */
struct follows {
	uint32_t from, to;
	double executions;
};

static int by_blocks(const void *left, const void *right)
{
	const struct follows *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* List what follows what, sorted; `left` and `entered` get the executions of each block that another
 * one follows, and that follow another one. */
static size_t list_follows(const struct compare_paths *paths, const struct compare_code *code,
			   struct follows *list, double *left, double *entered)
{
	size_t count = 0;

	for (size_t i = 0; i < paths->count; i++) {
		const struct compare_path *path = &paths->path[i];
		const struct compare_step *step = paths->step + path->first;

		for (unsigned int k = path->warm + 1; k < path->count; k++) {
			uint32_t node = step[k].node, from = code->node[step[k - 1].node].group,
				 to = code->node[node].group;

			if (node && code->node[node - 1].group == to)
				continue; /* in the midst of a block */
			list[count++] = (struct follows){from, to, path->weight};
			left[from] += path->weight;
			entered[to] += path->weight;
		}
	}
	qsort(list, count, sizeof(*list), by_blocks);
	return count;
}

struct pesa_error *compare_paths_join(const struct compare_paths *paths,
				      const struct compare_code *code, uint32_t blocks,
				      uint32_t *trace)
{
	struct follows *list = calloc(paths->steps + 1, sizeof(*list));
	double *left = calloc(blocks + 1, sizeof(*left)),
	       *entered = calloc(blocks + 1, sizeof(*left));
	size_t count = 0;
	bool done = list && left && entered;

	for (uint32_t i = 0; i < blocks; i++)
		trace[i] = i;
	if (done)
		count = list_follows(paths, code, list, left, entered);
	for (size_t i = 0; i < count;) {
		const struct follows *first = &list[i];
		double executions = 0;

		for (; i < count && !by_blocks(first, &list[i]); i++)
			executions += list[i].executions;
		if (executions >= NEARLY_ALWAYS * fmax(left[first->from], entered[first->to]))
			trace[union_find_root(trace, first->from)] =
				union_find_root(trace, first->to);
	}
	for (uint32_t i = 0; i < blocks; i++)
		trace[i] = union_find_root(trace, i);
	free(list);
	free(left);
	free(entered);
	return done ? NULL : pesa_error_no_memory();
}
