/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed branches against a model (include/pesa/timed_compare.h): data shared by its parts.
 *
 * 	stacks.c    keeps branch stacks while a profile is loaded: sequences of spans
 * 	spans.c     decodes the spans, and finds what mostly leads to each
 * 	loops.c     finds loops of several blocks, and passes through them
 * 	run.c       executes the stacks on the model: measured and predicted cycles of each execution
 * 	judge.c     the difference of each block and loop, with its uncertainty
 * 	timed.c     runs the steps above
 */
#ifndef DECODER_COMPARE_TIMED_INSIDE_H
#define DECODER_COMPARE_TIMED_INSIDE_H

#include "decoder/base/hash_index.h"
#include "decoder/compare/predict.h"
#include "decoder/mca/model/vector_type.h"
#include "pesa/timed_compare.h"

#define TIMED_NONE	  UINT32_MAX
#define TIMED_ITEMS_MOST  512u	  /* newest entries of a stack that are used */
#define TIMED_SPAN_MOST	  16384u  /* instructions of the longest span that is predicted */
#define TIMED_DECODE_MOST 400000u /* instructions of all spans that are decoded */

/* Straight-line code that ran between two entries: a block. */
struct timed_span {
	uint32_t dso; /* number while the profile is loaded; then its index */
	uint64_t start, last;
	/* spans.c */
	uint32_t first;	 /* node */
	uint32_t count;	 /* of its instructions; 0: not all of its text is at hand */
	uint32_t before; /* span that mostly leads to it; TIMED_NONE: none */
	uint32_t head;	 /* the loop that begins where it does; TIMED_NONE: none */
	uint8_t flow;	 /* enum pesa_flow: of its last instruction */
	bool loop;	 /* mostly it is followed by itself */
	bool ordering, unsupported, memory; /* it has such instructions */
};

/* What ran between two entries of a stack, oldest first. */
struct timed_item {
	uint32_t span; /* TIMED_NONE: no straight-line code joins the entries */
	uint16_t cycles;
	bool mispredicted; /* the transfer before it is marked as such */
};

struct timed_stack {
	uint32_t first, count; /* items */
	double weight;	       /* executions of the program for each in the stack */
};

struct timed_stacks {
	struct hash_index index; /* of spans */
	struct timed_span *span;
	struct timed_item *item;
	size_t items, item_room;
	struct timed_stack *stack; /* PESA_TIMED_STACKS_MOST of them */
	uint32_t count;
	uint64_t seen;	 /* stacks with cycle counts so far */
	uint64_t stride; /* every so many of them is kept; 0: none was seen */
};

/* A loop: code between a place and the farthest jump back to it. */
struct timed_loop {
	uint32_t dso;
	uint64_t start, last;
	double program; /* passes in the program */
	bool several;	/* a pass has more than one block */
	bool memory;
};

/* An execution of a span, or a pass through a loop, that has a prediction. */
struct timed_execution {
	uint32_t of;	/* number of the span or the loop */
	uint32_t stack; /* in which it is */
	uint32_t spans; /* that ran: 1, or those of the pass */
	float measured, predicted;
	float around; /* difference of it and of the spans right before and behind it together */
	double weight;
};

/* Executions, and what is said of them. */
struct timed_results {
	struct timed_execution *execution;
	size_t executions, room;
	struct pesa_timed_difference *difference;
	size_t count;
};

struct pesa_timed_compare {
	struct pesa_profile_listener listener;
	struct pesa_timed_blocks *blocks;
	struct timed_stacks stacks;
	struct compare_code code; /* of the spans */
	struct timed_loop *loop;  /* by dso and start */
	uint32_t loops;
	struct timed_results of_blocks, of_loops;
	struct pesa_timed_compare_totals totals;
};

static inline uint32_t timed_spans(const struct pesa_timed_compare *timed)
{
	return timed->stacks.index.count;
}

/* Whether an instruction's costs depend on the vector type that was set before it. */
static inline bool timed_is_vector(const struct pesa_insn *insn)
{
	return pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_VECTOR &&
	       !mca_sets_vector_type(insn);
}

/* Keep the stack of a sample, or not; stacks without counts are not kept. */
struct pesa_error *timed_stacks_add(struct timed_stacks *stacks,
				    const struct pesa_profile_branches *branches);
void timed_stacks_free(struct timed_stacks *stacks);
/* Decode the spans into nodes, and find those that cannot be predicted. */
struct pesa_error *timed_spans_decode(struct pesa_timed_compare *timed,
				      const struct pesa_profile *profile,
				      const struct pesa_mca_model *model, const char *processor);
/* Find what mostly leads to each span. */
struct pesa_error *timed_spans_order(struct pesa_timed_compare *timed);
/* Find the loops. */
struct pesa_error *timed_loops_find(struct pesa_timed_compare *timed);
/* Whether control went back to a loop's head, from one item to the next. */
bool timed_goes_back(const struct pesa_timed_compare *timed, const struct timed_item *from,
		     const struct timed_item *to);
/* The end of a pass that begins with item `first`, to which control went back: the item behind its last
 * one; 0: control has left it or the stack ends. */
uint32_t timed_loops_pass(const struct pesa_timed_compare *timed, const struct timed_item *item,
			  uint32_t count, uint32_t first);
/* Execute the stacks, and fill the executions. */
struct pesa_error *timed_run(struct pesa_timed_compare *timed, const struct pesa_mca_model *model,
			     const struct pesa_compare_options *options);
/* Fill the differences. */
struct pesa_error *timed_judge(struct pesa_timed_compare *timed, double confidence);

#endif
