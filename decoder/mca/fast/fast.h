/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast path: the out-of-order processor for runs without listeners.
 *
 * It gives the cycles that engine/out_of_order.c gives, and is several times as fast, because it
 * keeps nothing that only events need:
 *
 * - A block is executed over and over in the same order, so which result an operand reads is the
 *   same in every iteration: `distance` instructions before, or nothing in the first iteration.  A
 *   plan (plan.c) lists these edges once; there is no register file, and no instruction keeps
 *   a list of who waits for it.
 * - Instructions in flight stand in a ring by their number.  What else there is of them (entries of
 *   the reorder buffer, physical registers, entries of queues) are sums that the plan knows.
 * - Instructions that need the same units form a kind, whose ready ones are a list in the order in
 *   which they go.  One look at a mask of free units tells whether a kind can issue; units are
 *   only counted where it makes no difference which one is taken (units.h).
 * - Cycles in which nothing can happen are passed over.
 *
 * All memory of a run is in one arena.
 */
#ifndef DECODER_MCA_FAST_FAST_H
#define DECODER_MCA_FAST_FAST_H

#include "decoder/mca/engine/engine.h"
#include "decoder/mca/fast/units.h"

#define MCA_FAST_KINDS_MAX 64
#define MCA_FAST_NONE	   UINT32_MAX

/* ---- The plan ------------------------------------------------------------------------------ */

/* An operand that reads a result of an earlier instruction. */
struct mca_fast_edge {
	uint32_t distance; /* from the writer to the reader, instructions */
	int32_t delay;	   /* cycles from the writer's issue to the operand's arrival */
	int32_t rest;	   /* the same, from when the writer has executed */
	int32_t late; /* cycles after a writer that has retired executed, before they can be read */
};

struct mca_fast_instruction {
	const struct mca_description *description;
	uint64_t buffers;
	uint32_t latency;
	uint32_t first_source, first_user; /* edges in which it is the reader, or the writer */
	uint16_t sources, users;
	uint16_t micro_ops, slots, writes;
	uint8_t kind;
	bool load, store, begin_group, end_group, must_issue;
};

/* What needs the same units. */
struct mca_fast_kind {
	const struct mca_description *description;
	struct mca_unit_use *use; /* if the block is plain: as many as the description has */
	uint32_t uses;
	uint32_t first, last; /* ready ones, by place in the ring */
};

/* ---- Instructions in flight ------------------------------------------------------------------ */

struct mca_fast_inflight {
	uint64_t time; /* cycle: when the last operand arrives; once issued: when it has executed */
	int32_t rank;  /* number, less one for each operand that waited for it */
	uint32_t number;
	uint32_t position;	 /* in the block */
	uint32_t next, previous; /* in its kind's list, or in a slot of the timing wheel */
	uint32_t group, next_in_group;
	uint32_t producers; /* operands whose writers have not issued */
	uint8_t stage;	    /* enum mca_stage */
	bool woken;	    /* in `known` or `arrived` */
};

/* As struct mca_memory_group; its predecessors are at most a load's and a store's group. */
struct mca_fast_group {
	uint32_t unissued, unexecuted;	 /* instructions */
	uint32_t predecessor[2];	 /* groups, 0: none or done with */
	uint32_t waits_issue, waits_end; /* predecessors that have not issued, or not let it go */
	uint32_t successors, last_successor;
	uint32_t first; /* of its instructions, by place in the ring */
	bool live;
};

/* ---- Steady state (steady.c) ----------------------------------------------------------- */

struct mca_fast_record {
	uint64_t place, group;
};

struct mca_fast_snapshot {
	uint32_t head, tail;
	uint64_t now;
	uint64_t *words; /* of the machine */
	unsigned int word_count;
	struct mca_fast_record *records; /* of the instructions in flight, oldest first */
	unsigned int count;
	bool valid; /* everything has a place in a record */
};

/* The least that there was of something since a snapshot, and how much there is now. */
struct mca_fast_level {
	int32_t least, then;
};

struct mca_fast_steady {
	bool searching, confirming;
	uint64_t left_out;	       /* parts of the snapshot, by bit; for tests */
	uint32_t next;		       /* number from which to compare again */
	uint32_t next_snapshot, until; /* numbers before which no snapshot is taken, compared */
	uint64_t print, since;	       /* of what has issued since that cycle */
	struct {
		uint64_t print;
		uint32_t number;
	} seen[MCA_SEEN];
	struct mca_fast_snapshot now, then;
	int32_t most_users; /* of an instruction, since `then` */
	struct mca_fast_level reorder, registers, loads, stores, buffers[MCA_RESOURCES_MAX + 1];
	uint64_t cycles; /* that were left out */
};

/* ---- The run --------------------------------------------------------------------------------- */

struct mca_fast {
	const struct pesa_mca_block *block;
	const struct pesa_mca_model *model;
	struct mca_fast_instruction *plan;
	struct mca_fast_edge *sources, *users;
	struct mca_fast_kind *kinds;
	unsigned int kind_count;
	int latest;			 /* the largest `late` of an edge, 0: none */
	int32_t most_slots, most_writes; /* of an instruction */

	uint64_t now;
	uint32_t head, tail, last; /* numbers: oldest in flight, next to dispatch, end of the run */
	uint32_t position;	   /* of the next one to dispatch */
	struct mca_fast_inflight *ring;
	uint32_t mask; /* size of the ring less one; that of groups too */
	uint32_t dispatch_width, carry_over;
	int32_t slots_free, registers_free, register_file_size; /* size: 0: unlimited */

	struct mca_resources resources; /* of a plain block only the buffers */
	struct mca_units units;		/* of a plain block */
	uint64_t active;		/* kinds that have ready instructions */
	uint32_t *known, *arrived;	/* may leave WAITING and PENDING, by place in the ring */
	uint32_t known_count, arrived_count;
	uint32_t wheel[MCA_WHEEL]; /* by cycle modulo its size */
	uint64_t in_wheel;	   /* slots that are not empty */

	struct mca_fast_group *groups;
	uint32_t oldest_group, next_group, load_group, store_group; /* 0: none */
	uint32_t loads, stores, load_queue, store_queue;	    /* queues: 0: unlimited */
	bool aliasing; /* loads wait for older stores */

	struct mca_fast_steady steady;
	uint64_t progress; /* cycle of the last dispatch or retirement */
	struct mca_arena arena;
};

static inline struct mca_fast_inflight *mca_fast_inflight(const struct mca_fast *quick,
							  uint32_t number)
{
	return &quick->ring[number & quick->mask];
}

static inline struct mca_fast_group *mca_fast_group(const struct mca_fast *quick, uint32_t number)
{
	return &quick->groups[number & quick->mask];
}

/* Whether a run can be made this way: out of order, no listeners, not too many kinds. */
bool mca_fast_serves(const struct pesa_mca_block *block, const struct pesa_mca_run_options *options,
		     const struct pesa_mca_listener *listeners, unsigned int count);
/* pesa_mca_run() for such a run. */
struct pesa_error *mca_fast_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options, uint64_t *cycles);
/* The same in steps: until the end or at least until cycle `until`. */
struct pesa_error *mca_fast_start(struct mca_fast *quick, const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options);
struct pesa_error *mca_fast_cycles(struct mca_fast *quick, uint64_t until);
void mca_fast_free(struct mca_fast *quick);

/* Bytes that a plan takes at most, in multiples of 8. */
size_t mca_fast_plan_size(const struct pesa_mca_block *block);
/* Make the plan in `memory`. */
void mca_fast_plan(struct mca_fast *quick, void *memory);

void mca_fast_steady_init(struct mca_fast *quick, bool wanted, void *memory);
size_t mca_fast_steady_size(const struct mca_fast *quick);
/* Write into steady.now what decides about later cycles, except the parts that are left out. */
void mca_fast_write_down(struct mca_fast *quick);
/* After a cycle in which steady.next was reached. */
void mca_fast_steady_cycle(struct mca_fast *quick);

/*
 * After two snapshots of a period that are equal but for more instructions in flight: leave periods
 * out as long as there is room for them; whether any were (growth.c).
 */
bool mca_fast_grow(struct mca_fast *quick);
/* Make the lists of instructions and the timing wheel from the instructions in flight (lists.c). */
void mca_fast_list_again(struct mca_fast *quick);

/* Memory groups (memory.c). */
void mca_fast_memory_dispatch(struct mca_fast *quick, struct mca_fast_inflight *flight);
void mca_fast_memory_issued(struct mca_fast *quick, struct mca_fast_inflight *flight);
void mca_fast_memory_executed(struct mca_fast *quick, struct mca_fast_inflight *flight);

/* What an instruction waited for has happened: look at it when instructions are moved on. */
static inline void mca_fast_wake(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	uint32_t place = flight->number & quick->mask;

	if (flight->woken || (flight->stage != MCA_WAITING && flight->stage != MCA_PENDING))
		return;
	flight->woken = true;
	if (flight->stage == MCA_WAITING)
		quick->known[quick->known_count++] = place;
	else
		quick->arrived[quick->arrived_count++] = place;
}

#endif
