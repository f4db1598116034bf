/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame tree: what a flame graph shows.
 *
 * A frame is what code was running for: a process, a binary, a function, a function inlined into
 * it, a source line, an instruction.  Its cycles, by state of the retire stage, are those of the
 * frames in it and its own.  Frame 0 holds all the others.
 *
 * Weights are in 1/PESA_CYCLE of a cycle, as in pesa/profile.h.
 */
#ifndef TOOLS_UI_FRAME_TREE_H
#define TOOLS_UI_FRAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/base/distinct.h"
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
	FRAME_UNATTRIBUTED, /* cycles that belong to nothing known */
	FRAME_KINDS
};

/* "process", "function", ... */
const char *frame_kind_name(enum frame_kind kind);

struct frame {
	/* What tells it from others, without padding; see struct frame_key. */
	const struct pesa_symbol *symbol;
	uint64_t number;
	uint32_t parent, kind, dso;
	uint32_t name; /* number in the tree's texts; the key ends here */

	uint32_t child, next; /* the first in it, the next in its parent; 0: none */
	uint64_t weight, state_weight[PESA_PROFILE_STATES]; /* those of the frames in it included */
};

struct frame_tree;

/* `texts` must outlive the tree.  NULL: out of memory. */
struct frame_tree *frame_tree_create(struct distinct_bytes *texts);
void frame_tree_free(struct frame_tree *tree);

/* What tells a frame from the others in its parent, and its name. */
struct frame_key {
	enum frame_kind kind;
	const char *name;
	uint64_t number; /* process id, address, ...: frames of one name are several */
	uint32_t dso;	 /* functions and binaries */
	const struct pesa_symbol *symbol; /* functions; NULL: unknown */
};

/* The frame in another, made when it is new.  UINT32_MAX: out of memory. */
uint32_t frame_tree_get(struct frame_tree *tree, uint32_t parent, const struct frame_key *key);
/* Cycles of a frame's own. */
void frame_tree_add(struct frame_tree *tree, uint32_t frame, unsigned int state, uint64_t weight);
/* When all is added: weights of frames get those of the frames in them, which are sorted, largest
 * first. False: out of memory. */
bool frame_tree_finish(struct frame_tree *tree);

/* Valid until the next one is made. */
const struct frame *frame_tree_frame(const struct frame_tree *tree, uint32_t frame);

#endif
