/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame tree: the data of a flame graph.
 *
 * A frame is a process, a binary, a function, an inlined function, a source line, or an
 * instruction.  Its cycles, by state of the retire stage, include those of its children.  Frame 0
 * is the root.
 *
 * Weights are in 1/PESA_CYCLE of a cycle, as in pesa/profile.h.
 */
#ifndef TOOLS_UI_FRAME_TREE_H
#define TOOLS_UI_FRAME_TREE_H

#include <stdint.h>

#include "decoder/base/distinct.h"
#include "pesa/error.h"
#include "pesa/symbols.h"
#include "pesa/walk.h"

enum frame_kind {
	FRAME_ALL,
	FRAME_PROCESS,
	FRAME_BINARY,
	FRAME_FUNCTION,
	FRAME_INLINED,
	FRAME_LINE,
	FRAME_INSTRUCTION,
	FRAME_UNATTRIBUTED, /* cycles that cannot be attributed */
	FRAME_KINDS
};

/* "process", "function", ... */
const char *frame_kind_name(enum frame_kind kind);

struct frame {
	/* The key of a frame, without padding; see struct frame_key. */
	const struct pesa_symbol *symbol;
	uint64_t number;
	uint32_t parent, kind, dso;
	uint32_t name; /* index in the tree's texts; end of the key */

	uint32_t child, next;				    /* first child; next sibling; 0: none */
	uint64_t weight, state_weight[PESA_PROFILE_STATES]; /* including children */
};

struct frame_tree;

/* `texts` must outlive the tree.  NULL: out of memory. */
struct frame_tree *frame_tree_create(struct distinct_bytes *texts);
void frame_tree_free(struct frame_tree *tree);

/* Identifies a frame among its siblings, and has its name. */
struct frame_key {
	enum frame_kind kind;
	const char *name;
	uint64_t number; /* process id, address, ...: distinguishes frames of one name */
	uint32_t dso;	 /* of functions and binaries */
	const struct pesa_symbol *symbol; /* of functions; NULL: unknown */
};

/* Find or add a child frame.  UINT32_MAX: out of memory. */
uint32_t frame_tree_get(struct frame_tree *tree, uint32_t parent, const struct frame_key *key);
/* Add cycles to a frame. */
void frame_tree_add(struct frame_tree *tree, uint32_t frame, unsigned int state, uint64_t weight);
/* After all cycles were added: add up the weights of children and sort them, largest first. */
struct pesa_error *frame_tree_finish(struct frame_tree *tree);

uint32_t frame_tree_count(const struct frame_tree *tree);
/* Valid until the next frame is added.  A parent has a smaller number than its children. */
const struct frame *frame_tree_frame(const struct frame_tree *tree, uint32_t frame);

#endif
