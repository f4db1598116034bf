/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of functions, as shown to users: the tree of functions from the outermost to the
 * innermost, for formats that have no other data about a place.
 *
 * The functions of a place are consecutive frames, including inlined ones.  Above the innermost
 * there may be a frame for the line or the instruction (pesa_export_options.by), and one for the
 * state of the retire stage and the causes.  Stacks with equal frames are merged.
 */
#ifndef DECODER_EXPORT_STACKS_H
#define DECODER_EXPORT_STACKS_H

#include "decoder/export/write.h"

/* Texts are those of struct export_frames.  All fields are the key. */
struct export_shown {
	uint32_t name, file; /* file: 0 if unknown */
	uint32_t line;	     /* first line of the function, or the line shown; 0: unknown */
};

struct export_stack {
	uint32_t caller;	/* stack; DISTINCT_NONE: outermost */
	uint32_t shown, thread; /* the key ends here */
	uint32_t reserved;
	uint64_t weight; /* own weight, without callees */
};

struct export_stacks {
	struct distinct_records shown, stacks;
	struct distinct_records threads; /* struct export_thread */
	uint32_t *order;		 /* stacks with weight, by thread */
	uint32_t ordered;
};

enum export_stacks_root {
	EXPORT_ROOT_PROCESS, /* outermost frame is the name of the process; threads are merged */
	EXPORT_ROOT_ALL,     /* threads are merged */
	EXPORT_ROOT_THREAD,  /* each thread has its own stacks */
};

/* Must be freed after an error, too. */
struct pesa_error *export_stacks_make(struct export_stacks *stacks, struct export_writing *writing,
				      enum export_stacks_root root);
void export_stacks_free(struct export_stacks *stacks);

static inline const struct export_stack *export_stack_at(const struct export_stacks *stacks,
							 uint32_t number)
{
	return distinct_records_at(&stacks->stacks, number);
}

/* The frames of a stack, outermost first, as indices into `shown`, in an array that the caller
 * frees.  NULL: out of memory. */
uint32_t *export_stack_path(const struct export_stacks *stacks, uint32_t number, size_t *length);

#endif
