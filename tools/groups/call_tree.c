// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "decoder/export/data.h"
#include "tools/groups/call_tree.h"

#define NONE	  CALL_TREE_NONE
#define CHAIN_MAX 4096 /* places; longer chains are cut */

struct making {
	const struct profile_input *input;
	const struct pesa_export *rows;
	const struct call_tree_wanted *wanted;
	struct call_tree *tree;
	const struct export_row *row;
	uint32_t path[CHAIN_MAX]; /* the functions from the root on */
	unsigned int length;
};

struct place {
	uint32_t dso;
	const struct pesa_symbol *symbol;
};

static const struct export_node *node_at(const struct making *making, uint32_t number)
{
	return distinct_records_at(&making->rows->nodes, number);
}

static struct place place_of(const struct making *making, const struct export_node *node)
{
	uint32_t dso = node->dso == DISTINCT_NONE
			       ? UINT32_MAX
			       : pesa_profile_dso_of_number(making->input->profile, node->dso);

	return (struct place){
		.dso = dso,
		.symbol = dso == UINT32_MAX ? NULL
					    : profile_symbol(making->input, dso, node->address)};
}

static bool is_root(const struct making *making, struct place place)
{
	return place.dso == making->wanted->dso && place.symbol == making->wanted->symbol;
}

/* ---- Functions of the tree ----------------------------------------------------------------- */

static struct pesa_error *make_room(struct call_tree *tree)
{
	uint32_t room = tree->room ? 2 * tree->room : 64;
	struct call_tree_function *grown;

	if (tree->count < tree->room)
		return NULL;
	grown = reallocarray(tree->function, room, sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	tree->function = grown;
	tree->room = room;
	return NULL;
}

static struct pesa_error *get_function(struct call_tree *tree, uint32_t parent, struct place place,
				       uint32_t *number)
{
	struct pesa_error *error;

	for (uint32_t i = parent == NONE ? NONE : tree->function[parent].child; i != NONE;
	     i = tree->function[i].next)
		if (tree->function[i].symbol == place.symbol &&
		    tree->function[i].dso == place.dso) {
			*number = i;
			return NULL;
		}
	error = make_room(tree);
	if (error)
		return error;
	*number = tree->count++;
	tree->function[*number] = (struct call_tree_function){
		.dso = place.dso,
		.symbol = place.symbol,
		.parent = parent,
		.child = NONE,
		.next = parent == NONE ? NONE : tree->function[parent].child,
		.depth = parent == NONE ? 0 : tree->function[parent].depth + 1};
	if (parent != NONE)
		tree->function[parent].child = *number;
	return NULL;
}

/* ---- Paths --------------------------------------------------------------------------------- */

/* Go on from the path's end to another function; see call_tree.h about one that is there already. */
static struct pesa_error *step(struct making *making, struct place place)
{
	struct call_tree *tree = making->tree;
	struct pesa_error *error;
	uint32_t number;

	for (unsigned int i = 0; i < making->length; i++) {
		const struct call_tree_function *one = &tree->function[making->path[i]];

		if (one->dso != place.dso || one->symbol != place.symbol)
			continue;
		if (tree->kind == CALL_TREE_CALLEES)
			making->length = i + 1;
		return NULL;
	}
	if (making->length == CHAIN_MAX)
		return NULL;
	error = get_function(tree, making->path[making->length - 1], place, &number);
	if (!error)
		making->path[making->length++] = number;
	return error;
}

/* Make the path of a row: from the root's innermost place outwards. */
static struct pesa_error *find_callers(struct making *making, bool *own)
{
	const struct export_node *node = node_at(making, making->row->node);
	struct pesa_error *error = NULL;

	for (*own = true; !is_root(making, place_of(making, node)); *own = false) {
		if (node->caller == DISTINCT_NONE)
			return NULL;
		node = node_at(making, node->caller);
	}
	if (making->wanted->own && !*own)
		return NULL;
	making->path[making->length++] = 0;
	if (node->caller == DISTINCT_NONE)
		making->tree->without_chain += making->row->weight;
	while (node->caller != DISTINCT_NONE && !error) {
		node = node_at(making, node->caller);
		error = step(making, place_of(making, node));
	}
	return error;
}

/* Make the path of a row: from the root's outermost place inwards. */
static struct pesa_error *find_callees(struct making *making)
{
	uint32_t chain[CHAIN_MAX];
	unsigned int count = 0, root = 0;
	struct pesa_error *error = NULL;

	for (uint32_t i = making->row->node; i != DISTINCT_NONE && count < CHAIN_MAX;
	     i = node_at(making, i)->caller) {
		chain[count++] = i;
		if (is_root(making, place_of(making, node_at(making, i))))
			root = count;
	}
	if (!root)
		return NULL;
	making->path[making->length++] = 0;
	for (unsigned int i = root - 1; i-- > 0 && !error;)
		error = step(making, place_of(making, node_at(making, chain[i])));
	return error;
}

static bool is_in_slice(const struct making *making, const struct profile_task *wanted)
{
	const uint64_t slice = making->wanted->groups->slice;

	return wanted->has_time ? making->row->slice / slice == wanted->time / slice
				: !making->row->slice;
}

/* A text of the rows, as groups have it; NULL: not recorded. */
static const char *text_of(const struct making *making, uint32_t text)
{
	return text == DISTINCT_NONE ? NULL : distinct_text_at(&making->rows->texts, text);
}

static bool is_of_task(const struct making *making)
{
	const struct profile_groups *groups = making->wanted->groups;
	const struct profile_task *wanted = groups ? &making->wanted->group->task : NULL;
	const struct export_task *task =
		distinct_records_at(&making->rows->tasks, making->row->task);
	unsigned int keys = groups ? groups->keys : 0;

	return !((keys & GROUP_BY_PID && task->pid != wanted->pid) ||
		 (keys & GROUP_BY_TID && task->tid != wanted->tid) ||
		 (keys & GROUP_BY_CPU && task->cpu != wanted->cpu) ||
		 (keys & GROUP_BY_TIME && !is_in_slice(making, wanted)) ||
		 (keys & GROUP_BY_COMM && text_of(making, task->thread) != wanted->comm) ||
		 (keys & GROUP_BY_CGROUP && text_of(making, task->cgroup) != wanted->cgroup));
}

static struct pesa_error *add_row(struct making *making)
{
	const struct export_row *row = making->row;
	struct pesa_error *error;
	bool own = false;

	making->length = 0;
	if (!row->weight || !is_of_task(making))
		return NULL;
	error = making->tree->kind == CALL_TREE_CALLERS ? find_callers(making, &own)
							: find_callees(making);
	for (unsigned int i = 0; i < making->length && !error; i++) {
		struct call_tree_function *one = &making->tree->function[making->path[i]];

		one->weight += row->weight;
		if (making->tree->kind == CALL_TREE_CALLERS ? own : i + 1 == making->length)
			one->own += row->weight;
		error = cycle_stack_add_weight(&one->stack, row->state, (uint16_t)row->cause,
					       row->weight);
	}
	return error;
}

/* ---- The whole tree ------------------------------------------------------------------------ */

static int heavier_first(const void *left, const void *right, void *context)
{
	const struct call_tree_function *function = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (function[a].weight != function[b].weight)
		return function[a].weight > function[b].weight ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Order what is below each function, and the buckets of its stack.  Functions without weight, to which
 * only paths that were folded led, are left out. */
static struct pesa_error *sort(struct call_tree *tree)
{
	uint32_t *order = calloc(tree->count + 1, sizeof(*order));

	if (!order)
		return pesa_error_no_memory();
	for (uint32_t parent = 0; parent < tree->count; parent++) {
		uint32_t count = 0, next = NONE;

		cycle_stack_sort(&tree->function[parent].stack);
		for (uint32_t i = tree->function[parent].child; i != NONE;
		     i = tree->function[i].next)
			if (tree->function[i].weight)
				order[count++] = i;
		if (count)
			qsort_r(order, count, sizeof(*order), heavier_first, tree->function);
		while (count) {
			count--;
			tree->function[order[count]].next = next;
			next = order[count];
		}
		tree->function[parent].child = next;
	}
	free(order);
	return NULL;
}

struct pesa_error *call_tree_make(const struct profile_input *input, const struct pesa_export *rows,
				  const struct call_tree_wanted *wanted, struct call_tree *tree)
{
	const struct place root = {wanted->dso, wanted->symbol};
	struct making *making = malloc(sizeof(*making));
	struct pesa_error *error;
	uint32_t number;

	*tree = (struct call_tree){.kind = wanted->kind};
	if (!making)
		return pesa_error_no_memory();
	*making = (struct making){.input = input, .rows = rows, .wanted = wanted, .tree = tree};
	error = get_function(tree, NONE, root, &number);
	for (uint32_t i = 0; !error && i < rows->rows.index.count; i++) {
		making->row = distinct_records_at(&rows->rows, i);
		error = add_row(making);
	}
	if (!error)
		error = sort(tree);
	free(making);
	if (error)
		call_tree_free(tree);
	return error;
}

void call_tree_free(struct call_tree *tree)
{
	for (uint32_t i = 0; i < tree->count; i++)
		cycle_stack_free(&tree->function[i].stack);
	free(tree->function);
	*tree = (struct call_tree){0};
}

uint32_t call_tree_next(const struct call_tree *tree, uint32_t number, bool enter)
{
	if (enter && tree->function[number].child != NONE)
		return tree->function[number].child;
	while (number != NONE && tree->function[number].next == NONE)
		number = tree->function[number].parent;
	return number == NONE ? NONE : tree->function[number].next;
}

const char *call_tree_below(enum call_tree_kind kind)
{
	return kind == CALL_TREE_CALLERS ? "callers" : "callees";
}

static json_object *function_json(const struct profile_input *input,
				  const struct call_tree_function *function,
				  enum call_tree_kind kind)
{
	json_object *result = json_object_new_object();
	const char *path = function->dso == UINT32_MAX
				   ? NULL
				   : pesa_profile_dso(input->profile, function->dso)->path;

	json_object_object_add(result, "symbol",
			       ui_json_string(profile_symbol_name(function->symbol)));
	json_object_object_add(result, "dso", ui_json_string(path));
	json_object_object_add(result, "cycles", ui_json_number(cycles_of(function->weight)));
	json_object_object_add(result, "share",
			       ui_json_number(profile_share(input, function->weight)));
	json_object_object_add(result, "own_cycles", ui_json_number(cycles_of(function->own)));
	json_object_object_add(
		result, "stack",
		cycle_stack_json(&function->stack, pesa_profile_capabilities(input->profile)));
	json_object_object_add(result, call_tree_below(kind), json_object_new_array());
	return result;
}

json_object *call_tree_json(const struct profile_input *input, const struct call_tree *tree,
			    uint64_t least)
{
	json_object **made = calloc(tree->count, sizeof(json_object *)), *root;
	const char *below = call_tree_below(tree->kind);
	uint32_t number = 0;

	if (!made)
		return ui_json_made(NULL);
	while (number != NONE) {
		const struct call_tree_function *one = &tree->function[number];
		bool shown = !number || one->weight >= least;

		if (shown) {
			made[number] = function_json(input, one, tree->kind);
			if (number)
				json_object_array_add(
					json_object_object_get(made[one->parent], below),
					made[number]);
		}
		number = call_tree_next(tree, number, shown);
	}
	root = made[0];
	free(made);
	return root;
}
