/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stddef.h>
#include <stdlib.h>

#include "tools/ui/frame_tree.h"

struct frame_tree {
	struct distinct_bytes *texts;
	struct distinct_records frames;
};

static struct frame *frame_at(const struct frame_tree *tree, uint32_t number)
{
	return distinct_records_at(&tree->frames, number);
}

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[FRAME_KINDS] = {
		[FRAME_ALL] = "all",
		[FRAME_PROCESS] = "process",
		[FRAME_BINARY] = "binary",
		[FRAME_FUNCTION] = "function",
		[FRAME_INLINED] = "inlined",
		[FRAME_LINE] = "line",
		[FRAME_INSTRUCTION] = "instruction",
		[FRAME_UNATTRIBUTED] = "unattributed",
	};

	return names[kind];
}

struct frame_tree *frame_tree_create(struct distinct_bytes *texts)
{
	struct frame_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->texts = texts;
	distinct_records_begin(&tree->frames, sizeof(struct frame), offsetof(struct frame, child));
	if (frame_tree_get(tree, 0,
			   &(struct frame_key){.kind = FRAME_ALL,
					       .name = frame_kind_name(FRAME_ALL)}) == 0)
		return tree;
	frame_tree_free(tree);
	return NULL;
}

void frame_tree_free(struct frame_tree *tree)
{
	if (!tree)
		return;
	distinct_records_free(&tree->frames);
	free(tree);
}

uint32_t frame_tree_get(struct frame_tree *tree, uint32_t parent, const struct frame_key *key)
{
	struct frame frame = {
		.symbol = key->symbol,
		.number = key->number,
		.parent = parent,
		.kind = key->kind,
		.dso = key->dso,
		.name = distinct_text_get(tree->texts, key->name),
	};

	return frame.name == DISTINCT_NONE ? UINT32_MAX
					   : distinct_records_get(&tree->frames, &frame);
}

void frame_tree_add(struct frame_tree *tree, uint32_t number, unsigned int state, uint64_t weight)
{
	struct frame *frame = frame_at(tree, number);

	frame->weight += weight;
	frame->state_weight[state] += weight;
}

/* Smallest first, because each is inserted in front of its siblings. */
static int smaller_first(const void *left, const void *right)
{
	const struct frame *a = *(const struct frame *const *)left;
	const struct frame *b = *(const struct frame *const *)right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a < b ? 1 : -1;
}

struct pesa_error *frame_tree_finish(struct frame_tree *tree)
{
	uint32_t count = tree->frames.index.count;
	struct frame **order = calloc(count, sizeof(struct frame *));
	struct frame *root = frame_at(tree, 0);

	if (!order)
		return pesa_error_no_memory();
	/* A parent always has a smaller index than its children. */
	for (uint32_t i = count; i-- > 1;) {
		struct frame *frame = frame_at(tree, i), *parent = frame_at(tree, frame->parent);

		parent->weight += frame->weight;
		for (unsigned int state = 0; state < PESA_PROFILE_STATES; state++)
			parent->state_weight[state] += frame->state_weight[state];
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = frame_at(tree, i);
	qsort(order, count, sizeof(struct frame *), smaller_first);
	for (uint32_t i = 0; i < count; i++) {
		struct frame *frame = order[i], *parent = frame_at(tree, frame->parent);

		if (frame == root)
			continue;
		frame->next = parent->child;
		parent->child = (uint32_t)(frame - root);
	}
	free(order);
	return NULL;
}

const struct frame *frame_tree_frame(const struct frame_tree *tree, uint32_t number)
{
	return frame_at(tree, number);
}

uint32_t frame_tree_count(const struct frame_tree *tree)
{
	return tree->frames.index.count;
}
