/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast path: the engine for out-of-order processors and runs without listeners, or with no other
 * than a cycle stack.
 *
 * It computes the same cycles as engine/out_of_order.c several times as fast, because it keeps no
 * data that only events need:
 *
 * - A block is executed repeatedly in the same order, so an operand reads the same result in every
 *   iteration: `distance` instructions before, or none in the first iteration.  A plan (plan.c)
 *   lists these edges once; there is no register file and no list of users per instruction.
 * - In-flight instructions are in a ring by number.  Their other resources (entries of the reorder
 *   buffer, physical registers, queue entries) are sums that the plan provides.
 * - Instructions that need the same units form a kind, whose ready instructions are a list in issue
 *   order.  A test of the mask of free units shows whether a kind can issue.  Units are only
 *   counted if the choice among them has no effect (units.h).
 * - Cycles in which nothing can happen are skipped.
 *
 * A run of one iteration has no predecessor, and every instruction has one number.  So only such a run
 * has what compare(1) needs: a front end (front_end.c), loads that read from stores, stores that leave
 * the queue after retirement, and times of each instruction, of which a cycle stack follows.
 *
 * All memory of a run is in one arena.
 */
#ifndef DECODER_MCA_FAST_FAST_H
#define DECODER_MCA_FAST_FAST_H

#include "decoder/mca/engine/engine.h"
#include "decoder/mca/stack/times.h"
#include "decoder/mca/fast/units.h"

#define MCA_FAST_KINDS_MAX 64
#define MCA_FAST_NONE	   UINT32_MAX

/* ---- The plan -------------------------------------------------------------------------------- */

/* An operand that reads a result of an earlier instruction.  There are two of each edge, by reader and by
 * writer, so it is small. */
struct mca_fast_edge {
	uint32_t distance; /* instructions from the writer to the reader */
	int32_t delay;	   /* cycles from the writer's issue to the operand's arrival */
	/* Cycles by which the operand may be earlier than the result; below 0: by which it is read later than
	 * that, also of a writer that has retired. */
	int16_t advance;
	uint16_t read;	    /* index of the operand */
	uint16_t write;	    /* index of the result */
	bool at_retirement; /* `delay` is counted from the writer's retirement */
};

/* Cycles from the end of execution, of so much latency, to the operand's arrival. */
static inline int32_t mca_fast_rest(const struct mca_fast_edge *edge, uint32_t latency)
{
	return edge->delay - (int32_t)latency;
}

/* Physical registers for results that have not retired: all, those of x and those of f registers. */
enum { MCA_FAST_REGISTERS = 3 };

struct mca_fast_registers {
	int32_t size, free;
	int32_t most; /* maximum per instruction */
};

struct mca_fast_instruction {
	const struct mca_description *description;
	uint64_t buffers;
	uint32_t latency;
	uint32_t first_source, first_user; /* first edge in which it is the reader, the writer */
	uint16_t sources, users;
	uint16_t micro_ops, slots, writes[MCA_FAST_REGISTERS];
	uint8_t kind;
	bool load, store, barrier, taken, begin_group, end_group, must_issue;
	bool leaves_later; /* a user has an edge at retirement */
};

/* Whether barriers wait for it. */
static inline bool mca_fast_is_memory(const struct mca_fast_instruction *plan)
{
	return plan->load || plan->store || plan->barrier;
}

/* Instructions that need the same units. */
struct mca_fast_kind {
	const struct mca_description *description;
	struct mca_unit_use *use; /* if the block is plain: one for each usage of the description */
	uint32_t uses;
	uint32_t first, last; /* ready list, by index in the ring */
};

/* ---- Instructions in flight ------------------------------------------------------------------ */

struct mca_fast_inflight {
	uint64_t time; /* cycle: last operand's arrival; once issued: executed */
	int32_t rank; /* number, minus one for each operand that waited for it, unless order is free */
	uint32_t number;
	uint32_t position;	 /* in the block */
	uint32_t next, previous; /* links in a kind's list or a slot of the timing wheel */
	uint32_t group, next_in_group;
	uint32_t waits_issue;	/* in free order: what has to issue first (barriers.c) */
	uint32_t waits_end;	/* likewise, to execute */
	uint32_t older_barrier; /* of a barrier: number plus one, 0: none */
	uint32_t producers;	/* number of operands whose writers have not issued */
	int32_t latency; /* of all its results, in place of the plan's; negative: the plan's */
	uint8_t stage;	 /* enum mca_stage */
	bool woken;	 /* in `known` or `arrived` */
	bool used;	 /* an operand waited for it */
};

/* As struct mca_memory_group; its predecessors are at most one group of loads and one of stores. */
struct mca_fast_group {
	uint32_t unissued, unexecuted;	 /* number of instructions */
	uint32_t predecessor[2];	 /* groups; 0: none, or completed */
	uint32_t waits_issue, waits_end; /* predecessors not issued; still blocking */
	uint32_t successors, last_successor;
	uint32_t first; /* its first instruction, by index in the ring */
	bool live;
};

/* ---- Snapshots of the machine (snapshot.c) ------------------------------------------------------ */

struct mca_fast_record {
	uint64_t place, group;
};

struct mca_fast_snapshot {
	uint32_t head, tail;
	uint64_t now;
	uint64_t *words; /* state of the machine */
	unsigned int word_count;
	struct mca_fast_record *records; /* in-flight instructions, oldest first */
	unsigned int count;
	bool valid; /* all values fit into the records */
};

/* Minimum of an available quantity since a snapshot, and its present value. */
struct mca_fast_level {
	int32_t least, then;
};

struct mca_fast_snapshots {
	uint64_t ignored_parts; /* bit mask of snapshot parts not compared; for tests */
	struct mca_fast_snapshot now, then;
	int32_t most_users; /* maximum number of users of an instruction since `then` */
	struct mca_fast_level reorder, registers[MCA_FAST_REGISTERS], loads, stores,
		buffers[MCA_RESOURCES_MAX + 1];
};

/* ---- The front end (front_end.c), as engine/stimuli.c ---------------------------------------- */

struct mca_fast_front_end {
	const struct pesa_mca_stimuli *options; /* NULL: it delivers what is dispatched */
	uint64_t resume;			/* no delivery before this cycle */
	uint32_t delivered, taken;		/* counts in this cycle */
	uint32_t next, buffered;		/* fetched next; fetched, not dispatched */
	uint32_t branch;			/* the last mispredicted one */
	bool stopped;				/* the last buffered instruction is mispredicted */
	bool waiting;				/* for `branch` to execute */
};

/* ---- The run --------------------------------------------------------------------------------- */

/* Retired stores that are in the queue still: see struct mca_memory. */
struct mca_fast_leaving {
	uint64_t *free; /* NULL: a store leaves when it retires */
	uint64_t drain_cycle;
	uint32_t first, count, drained;
	uint32_t ports, latency;
};

struct mca_fast {
	const struct pesa_mca_block *block;
	const struct pesa_mca_model *model;
	struct mca_fast_instruction *plan;
	struct mca_fast_edge *sources, *users;
	size_t edges; /* of each of these, at most */
	size_t uses;  /* likewise of all kinds */
	struct mca_fast_kind *kinds;
	unsigned int kind_count;
	int latest;	    /* largest -advance of an edge, 0: none is negative */
	int32_t most_slots; /* maximum per instruction */

	uint64_t now;
	uint32_t head, tail, last; /* numbers: oldest in flight, next to dispatch, end of the run */
	uint32_t position;	   /* position in the block of the next instruction to dispatch */
	struct mca_fast_inflight *ring;
	uint32_t mask; /* ring size minus one, also for groups */
	uint32_t dispatch_width, carry_over;
	uint32_t retired_branches; /* taken branches that retire in a cycle; 0: any number */
	int32_t slots_free;
	struct mca_fast_registers registers[MCA_FAST_REGISTERS];
	uint8_t limited[MCA_FAST_REGISTERS], limits; /* indices of those of limited size */

	struct mca_use
		use; /* which unit an instruction gets matters then, so units are not plain */
	struct mca_resources resources; /* in a plain block only the buffers */
	struct mca_units units;		/* in a plain block */
	uint64_t active;		/* bit mask of kinds with ready instructions */
	uint32_t *known, *arrived;	/* may leave WAITING, PENDING; ring indices */
	uint32_t known_count, arrived_count;
	uint32_t wheel[MCA_WHEEL]; /* by cycle modulo its size */
	uint64_t in_wheel;	   /* bit mask of non-empty slots */

	struct mca_fast_group *groups;
	uint32_t oldest_group, next_group, load_group, store_group; /* 0: none */
	uint32_t loads, stores, load_queue, store_queue;	    /* queue sizes: 0: unlimited */
	bool aliasing; /* loads wait for older stores */
	bool free; /* no groups: memory instructions wait for nothing but operands and barriers */
	uint32_t barrier; /* youngest one dispatched: number plus one, 0: none (barriers.c) */
	uint32_t ordered; /* youngest memory instruction that waits for barriers, likewise */
	struct mca_fast_leaving leaving;

	bool once; /* one iteration: */
	struct mca_fast_front_end front_end;
	struct mca_times times; /* by number */

	struct mca_steady steady;
	struct mca_fast_snapshots snapshots;
	uint64_t progress; /* cycle of the last dispatch or retirement */
	struct mca_arena arena;
};

static inline struct mca_fast_inflight *mca_fast_inflight(const struct mca_fast *fast,
							  uint32_t number)
{
	return &fast->ring[number & fast->mask];
}

static inline struct mca_fast_group *mca_fast_group(const struct mca_fast *fast, uint32_t number)
{
	return &fast->groups[number & fast->mask];
}

/* Whether the fast path supports a run without listeners: out of order, not too many kinds. */
bool mca_fast_serves(const struct pesa_mca_block *block,
		     const struct pesa_mca_run_options *options);
/* pesa_mca_run() on the fast path. */
struct pesa_error *mca_fast_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options,
				const struct pesa_mca_listener *listeners, unsigned int count,
				uint64_t *cycles);
/* The period in which the events of a run repeat themselves. */
struct pesa_error *mca_fast_period(const struct pesa_mca_block *block,
				   const struct pesa_mca_run_options *options,
				   struct mca_period *period);
/* Likewise, of one iteration, with its cycle stack. */
struct pesa_error *mca_fast_stack(const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options,
				  struct pesa_mca_cycle_stack *stack, uint64_t *cycles);
/* Whether one iteration is served that is out of order; or in order, by mca_fast_stack_in_order(). */
bool mca_fast_serves_one_iteration(const struct pesa_mca_block *block,
				   const struct pesa_mca_run_options *options);
bool mca_fast_serves_in_order(const struct pesa_mca_block *block,
			      const struct pesa_mca_run_options *options);
/* As mca_fast_stack(). */
struct pesa_error *mca_fast_stack_in_order(const struct pesa_mca_block *block,
					   const struct pesa_mca_run_options *options,
					   struct pesa_mca_cycle_stack *stack);
/* mca_fast_run() in steps: until the end, or at least until cycle `until`.  `counts`: count the
 * cycles of each unit. */
struct pesa_error *mca_fast_start(struct mca_fast *fast, const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options, bool counts);
struct pesa_error *mca_fast_cycles(struct mca_fast *fast, uint64_t until);
void mca_fast_free(struct mca_fast *fast);

/* Maximum size of a plan in bytes, a multiple of 8. */
size_t mca_fast_plan_size(struct mca_fast *fast);
/* Make the plan in `memory` of that size. */
void mca_fast_plan(struct mca_fast *fast, void *memory);

void mca_fast_snapshot_init(struct mca_fast *fast, bool wanted, void *memory);
size_t mca_fast_snapshot_size(const struct mca_fast *fast);
/* Write the state that determines later cycles into snapshots.now, without the parts in
 * `ignored_parts`. */
void mca_fast_snapshot_write(struct mca_fast *fast);
/* Called after a cycle in which steady.next was reached. */
void mca_fast_snapshot_cycle(struct mca_fast *fast);

/*
 * Called with two snapshots, one period apart, that are equal except for more in-flight
 * instructions.  Skips periods as long as there is room for these.  Returns whether any were
 * skipped (growth.c).
 */
bool mca_fast_grow(struct mca_fast *fast);
/* Rebuild the lists of instructions and the timing wheel from the in-flight instructions
 * (lists.c). */
void mca_fast_list_again(struct mca_fast *fast);

/* Memory groups (memory.c). */
void mca_fast_memory_dispatch(struct mca_fast *fast, struct mca_fast_inflight *flight);
void mca_fast_memory_issued(struct mca_fast *fast, struct mca_fast_inflight *flight);
void mca_fast_memory_executed(struct mca_fast *fast, struct mca_fast_inflight *flight);
/* In free order (barriers.c): the same of memory instructions of a block with barriers. */
void mca_fast_order_dispatch(struct mca_fast *fast, struct mca_fast_inflight *flight);
bool mca_fast_order_has_users(const struct mca_fast *fast, const struct mca_fast_inflight *flight);
void mca_fast_order_issued(struct mca_fast *fast, const struct mca_fast_inflight *flight);
void mca_fast_order_executed(struct mca_fast *fast, const struct mca_fast_inflight *flight);
/* A store retires: its entry of the queue is free, now or when it is in the cache. */
void mca_fast_store_retired(struct mca_fast *fast);
/* Free the entries of stores that are in the cache by this cycle. */
void mca_fast_free_stores(struct mca_fast *fast);

/* Begin a cycle; returns whether instructions were fetched. */
bool mca_fast_fetch(struct mca_fast *fast);
/* Whether the next instruction is there. */
bool mca_fast_delivers(struct mca_fast *fast);
/* The next instruction is dispatched. */
void mca_fast_delivered(struct mca_fast *fast);
/* The cycle from which on the front end may go on, UINT64_MAX: not known. */
uint64_t mca_fast_resumes(const struct mca_fast *fast);

/* An event for which an instruction waited has happened: check its stage in the next update. */
static inline void mca_fast_wake(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	uint32_t place = flight->number & fast->mask;

	if (flight->woken || (flight->stage != MCA_WAITING && flight->stage != MCA_PENDING))
		return;
	flight->woken = true;
	if (flight->stage == MCA_WAITING)
		fast->known[fast->known_count++] = place;
	else
		fast->arrived[fast->arrived_count++] = place;
}

#endif
