/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "tools/frame_tree.h"

/* All of a frame's key, without padding: hashed as bytes. */
struct place {
	const struct pesa_symbol *symbol;
	uint64_t number;
	uint32_t parent, kind, name, dso;
};

struct entry {
	struct place place;
	uint32_t frame;
	UT_hash_handle hh;
};

struct frame_tree {
	struct text_table *texts;
	struct frame *frame;
	uint32_t count, room;
	struct entry *entries;
};

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

static uint32_t new_frame(struct frame_tree *tree)
{
	if (tree->count == tree->room) {
		uint32_t room = tree->room ? tree->room * 2 : 256;
		struct frame *grown = realloc(tree->frame, room * sizeof(*grown));

		if (!grown)
			return UINT32_MAX;
		tree->frame = grown;
		tree->room = room;
	}
	tree->frame[tree->count] = (struct frame){0};
	return tree->count++;
}

struct frame_tree *frame_tree_create(struct text_table *texts)
{
	struct frame_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->texts = texts;
	if (new_frame(tree) == UINT32_MAX) {
		free(tree);
		return NULL;
	}
	tree->frame[0].name = text_table_number(texts, frame_kind_name(FRAME_ALL));
	if (tree->frame[0].name == TEXT_NONE) {
		frame_tree_free(tree);
		return NULL;
	}
	return tree;
}

static void forget_entries(struct frame_tree *tree)
{
	struct entry *entry, *next;

	HASH_ITER(hh, tree->entries, entry, next)
	{
		HASH_DEL(tree->entries, entry);
		free(entry);
	}
}

void frame_tree_free(struct frame_tree *tree)
{
	if (!tree)
		return;
	forget_entries(tree);
	free(tree->frame);
	free(tree);
}

uint32_t frame_tree_get(struct frame_tree *tree, uint32_t parent, const struct frame_key *key)
{
	struct entry *entry;
	struct place place;
	struct frame *frame;

	memset(&place, 0, sizeof(place));
	place.symbol = key->symbol;
	place.number = key->number;
	place.parent = parent;
	place.kind = key->kind;
	place.name = text_table_number(tree->texts, key->name);
	place.dso = key->dso;
	if (place.name == TEXT_NONE)
		return UINT32_MAX;
	HASH_FIND(hh, tree->entries, &place, sizeof(place), entry);
	if (entry)
		return entry->frame;
	entry = malloc(sizeof(*entry));
	if (!entry)
		return UINT32_MAX;
	entry->place = place;
	entry->frame = new_frame(tree);
	if (entry->frame == UINT32_MAX) {
		free(entry);
		return UINT32_MAX;
	}
	HASH_ADD(hh, tree->entries, place, sizeof(place), entry);
	frame = &tree->frame[entry->frame];
	frame->parent = parent;
	frame->name = place.name;
	frame->dso = key->dso;
	frame->symbol = key->symbol;
	frame->kind = (uint8_t)key->kind;
	return entry->frame;
}

void frame_tree_add(struct frame_tree *tree, uint32_t frame, unsigned int state, uint64_t weight)
{
	tree->frame[frame].own += weight;
	tree->frame[frame].weight += weight;
	tree->frame[frame].state_weight[state] += weight;
}

/* Smallest first: each then is put in front of its siblings. */
static int smaller_first(const void *left, const void *right)
{
	const struct frame *a = *(const struct frame *const *)left;
	const struct frame *b = *(const struct frame *const *)right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? -1 : 1;
	return a < b ? 1 : -1;
}

bool frame_tree_finish(struct frame_tree *tree)
{
	struct frame **order = calloc(tree->count, sizeof(struct frame *));

	if (!order)
		return false;
	/* A frame is made after the one that it is in. */
	for (uint32_t i = tree->count; i-- > 1;) {
		struct frame *frame = &tree->frame[i], *parent = &tree->frame[frame->parent];

		parent->weight += frame->weight;
		for (unsigned int state = 0; state < PESA_PROFILE_STATES; state++)
			parent->state_weight[state] += frame->state_weight[state];
	}
	for (uint32_t i = 0; i < tree->count; i++)
		order[i] = &tree->frame[i];
	qsort(order, tree->count, sizeof(struct frame *), smaller_first);
	for (uint32_t i = 0; i < tree->count; i++) {
		struct frame *frame = order[i];

		if (frame == tree->frame)
			continue;
		frame->next = tree->frame[frame->parent].child;
		tree->frame[frame->parent].child = (uint32_t)(frame - tree->frame);
	}
	free(order);
	return true;
}

uint32_t frame_tree_count(const struct frame_tree *tree)
{
	return tree->count;
}

const struct frame *frame_tree_frame(const struct frame_tree *tree, uint32_t frame)
{
	return &tree->frame[frame];
}
