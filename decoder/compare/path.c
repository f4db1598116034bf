/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths along the measured control flow, see path.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/memory.h"
#include "decoder/compare/path.h"

#define CALLS_MAX 64

struct walker {
	struct compare_code *code;
	struct compare_paths *paths;
	uint64_t **edge_chosen; /* by node: how often each edge has been chosen */
	uint32_t call[CALLS_MAX];
	unsigned int depth;
	uint8_t lmul, sew;
	struct compare_memory memory;
};

/* ---- Successors ------------------------------------------------------------------------------ */

static void push(struct walker *walker, uint32_t node)
{
	if (walker->depth == CALLS_MAX) {
		memmove(walker->call, walker->call + 1, (CALLS_MAX - 1) * sizeof(*walker->call));
		walker->depth--;
	}
	walker->call[walker->depth++] = node;
}

/* Choose the direction of a branch: the one that is further behind its measured share. */
static bool step_branch(struct compare_node *node, uint32_t *to, bool *taken)
{
	const struct pesa_instruction *measured = node->measured;
	double share;

	if (!measured || !measured->transfers_known)
		return false;
	share = (double)measured->transfers_taken / (double)measured->transfers_known;
	node->visits++;
	*taken = share * (double)node->visits - (double)node->taken >= 0.5;
	node->taken += *taken;
	*to = *taken ? node->target : node->next;
	return *to != COMPARE_NONE;
}

/* An indirect transfer: choose the edge that is furthest behind its share. */
static bool step_edges(struct walker *walker, uint32_t from, uint32_t *to, bool *memory)
{
	struct compare_node *node = &walker->code->node[from];
	const struct pesa_instruction *measured = node->measured;
	unsigned int best = 0;
	double total = 0, most = -1;
	uint64_t *chosen;

	*memory = true;
	if (!measured || !measured->edges)
		return false;
	if (!walker->edge_chosen[from])
		walker->edge_chosen[from] = calloc(measured->edges, sizeof(*chosen));
	chosen = walker->edge_chosen[from];
	if (!chosen) {
		*memory = false;
		return false;
	}
	for (unsigned int i = 0; i < measured->edges; i++)
		total += (double)measured->edge[i].count;
	node->visits++;
	for (unsigned int i = 0; i < measured->edges; i++) {
		double behind = (double)measured->edge[i].count / total * (double)node->visits -
				(double)chosen[i];

		if (behind > most) {
			most = behind;
			best = i;
		}
	}
	chosen[best]++;
	*to = compare_code_find(walker->code, measured->edge[best].target_dso,
				measured->edge[best].target);
	return *to != COMPARE_NONE;
}

/* Advance from a node to its successor.  False: the path ends; *memory is false if out of
 * memory. */
static bool advance(struct walker *walker, uint32_t from, uint32_t *to, bool *taken, bool *memory)
{
	struct compare_node *node = &walker->code->node[from];
	bool call = node->flow == PESA_FLOW_CALL || node->flow == PESA_FLOW_INDIRECT_CALL;

	*memory = true;
	*taken = node->flow != PESA_FLOW_NEXT && node->flow != PESA_FLOW_TRAP;
	switch (node->flow) {
	case PESA_FLOW_NEXT:
	case PESA_FLOW_TRAP:
		*to = node->next;
		return *to != COMPARE_NONE;
	case PESA_FLOW_BRANCH:
		return step_branch(node, to, taken);
	case PESA_FLOW_JUMP:
	case PESA_FLOW_CALL:
		*to = node->target;
		break;
	case PESA_FLOW_RETURN:
		if (walker->depth) {
			*to = walker->call[--walker->depth];
			return *to != COMPARE_NONE;
		}
		return step_edges(walker, from, to, memory);
	default:
		if (!step_edges(walker, from, to, memory))
			return false;
		break;
	}
	if (*to == COMPARE_NONE)
		return false;
	if (call)
		push(walker, node->next);
	return true;
}

/* ---- Vector types ---------------------------------------------------------------------------- */

static void set_vector_type(struct walker *walker, const struct pesa_insn *insn)
{
	static const uint8_t lmuls[] = {
		PESA_MCA_LMUL_1,    PESA_MCA_LMUL_2,   PESA_MCA_LMUL_4,	  PESA_MCA_LMUL_8,
		PESA_MCA_LMUL_NONE, PESA_MCA_LMUL_1_8, PESA_MCA_LMUL_1_4, PESA_MCA_LMUL_1_2,
	};
	const char *mnemonic = pesa_opcode_get(insn->opcode)->mnemonic;
	uint64_t type;

	if (mnemonic[0] != 'v' || strncmp(mnemonic, "vset", 4))
		return;
	walker->lmul = PESA_MCA_LMUL_NONE;
	walker->sew = 0;
	if (!insn->operands || insn->operand[insn->operands - 1].kind != PESA_OPERAND_IMMEDIATE)
		return;
	type = (uint64_t)insn->operand[insn->operands - 1].value;
	walker->lmul = lmuls[type & 7];
	walker->sew = (type >> 3 & 7) <= 3 ? (uint8_t)(8u << (type >> 3 & 7)) : 0;
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

static bool drains(const struct compare_path_options *options, const struct compare_node *node)
{
	return node->kind != COMPARE_NO_KIND && options->kinds->kind[node->kind].drains;
}

static bool walk_from(struct walker *walker, const struct compare_path_options *options,
		      uint32_t start)
{
	struct compare_paths *paths = walker->paths;
	struct compare_path made = {.first = paths->steps, .warm = options->warm, .weight = 1};
	unsigned int most = options->warm + options->length, walked = 0;
	uint32_t at = start;

	walker->depth = 0;
	walker->lmul = PESA_MCA_LMUL_NONE;
	walker->sew = 0;
	compare_memory_begin(&walker->memory, options->in_flight);
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
		*step = (struct compare_step){
			.node = at,
			.lmul = walker->lmul,
			.sew = walker->sew,
			.flags = forwarded.partly ? COMPARE_PATH_PARTLY : 0,
			.forwarded =
				forwarded.distance <= UINT8_MAX ? (uint8_t)forwarded.distance : 0,
		};
		made.count++;
		set_vector_type(walker, &node->insn);
		on = advance(walker, at, &to, &taken, &memory);
		if (!memory)
			return false;
		node->mispredicts_due[taken] += node->mispredicts[taken];
		if (node->mispredicts_due[taken] >= 1) {
			step->flags |= COMPARE_PATH_MISPREDICTED;
			node->mispredicts_due[taken] -= 1;
		}
		if (on && taken)
			step->flags |= COMPARE_PATH_TAKEN;
		if (!on)
			break;
		at = to;
		if (!drains(options, node))
			continue;
		/* The last step orders: it is not of the path. */
		made.count--;
		paths->steps--;
		if (!end_path(paths, &made))
			return false;
		made = (struct compare_path){.first = paths->steps, .weight = 1};
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
 * Branches start with different fractions of a mispredict due, so that among many branches with few
 * mispredicts the right number is mispredicted.  The fractions are those of multiples of the golden
 * ratio, which are evenly distributed.
 */
static void spread_mispredicts(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++)
		for (unsigned int way = 0; way < 2; way++) {
			uint64_t part = (2 * (uint64_t)i + way) * UINT64_C(0x9e3779b97f4a7c15);

			code->node[i].mispredicts_due[way] =
				(double)(part >> 11) / (double)(UINT64_C(1) << 53);
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

	if (walker)
		walker->edge_chosen = calloc(code->count + 1, sizeof(*walker->edge_chosen));
	if (!walker || !before || !walker->edge_chosen) {
		free(before);
		free(walker);
		return pesa_error_no_memory();
	}
	walker->code = code;
	walker->paths = paths;
	spread_mispredicts(code);
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
		free(walker->edge_chosen[i]);
	free(walker->edge_chosen);
	free(walker);
	free(before);
	return done ? NULL : pesa_error_no_memory();
}

void compare_paths_free(struct compare_paths *paths)
{
	free(paths->path);
	free(paths->step);
}
