/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a run: in-flight instructions, resources, register file, memory groups.
 *
 * An instruction is fetched; dispatched (its operands are looked up in the register file); waiting
 * (a producer, an instruction that writes one of its operands, has not issued); pending (all
 * producers have issued, so the cycle in which its operands arrive is known); ready; issued; and
 * retired.  It has executed when its latency after issue is over.  An in-order processor
 * (in_order.c) does all of this in one stage; an out-of-order one (out_of_order.c) has a reorder
 * buffer, a scheduler (scheduler.c) with buffers in front of its resources (resources.c), and
 * retires in program order.
 */
#ifndef PESA_MCA_ENGINE_H
#define PESA_MCA_ENGINE_H

#include <limits.h>

#include "decoder/mca/model/block.h"
#include "decoder/mca/engine/choice.h"
#include "decoder/mca/engine/commit.h"
#include "decoder/mca/engine/steady.h"

#define MCA_CYCLES_UNKNOWN INT_MIN

struct mca_inflight;

/* ---- Dependencies (dependencies.c) ----------------------------------------------------------- */

/* All times are cycles since the start of the run. */
struct mca_read {
	const struct mca_lowered_read *description;
	struct mca_inflight *flight; /* instruction with this operand */
	uint64_t arrival;	     /* latest arrival from producers that have issued */
	struct pesa_mca_critical critical;
};

/* A read that waits for a write to issue. */
struct mca_user {
	struct mca_read *read;
	int advance;
	struct mca_user *next;
};

struct mca_result {
	const struct mca_lowered_write *description;
	struct mca_inflight *flight; /* instruction with this result */
	uint64_t complete;	     /* valid once it has issued */
	uint64_t executed;	     /* cycle in which its instruction has executed */
	struct mca_user *users;
	bool issued;
};

/* The last write of a register: an in-flight result, or the cycle and name of a committed write. */
struct mca_last_write {
	struct mca_result *result;
	uint64_t cycle; /* cycle of write-back */
	unsigned int instruction;
	uint16_t name, reg;
	/* Cycles from `cycle` until it can be read; not 0: a store's data, when it has retired. */
	uint16_t after;
	bool valid;
};

/* Stage of an in-flight instruction. */
enum mca_stage {
	MCA_FETCHED,
	MCA_WAITING, /* a producer, or its memory group's predecessor, has not issued */
	MCA_PENDING, /* all producers have issued; operands or memory are not ready */
	MCA_READY,   /* may issue when its units are available */
	MCA_ISSUED,  /* executing or executed */
	MCA_RETIRED,
};

struct mca_inflight {
	const struct mca_lowered *lowered;
	const struct mca_description *description;
	unsigned int instruction; /* number since the start of the run */
	enum mca_stage stage;
	bool woken;		    /* already in the list for a change of stage */
	unsigned int index;	    /* in the list of its stage */
	unsigned int producers;	    /* producers of all operands that have not issued */
	unsigned int users;	    /* reads that wait, or waited, for its results */
	unsigned int reorder_index; /* in the reorder buffer */
	unsigned int memory_group;
	int actual_latency; /* cycles, of a load: measured or forwarded; negative: the model's */
	uint64_t arrival;   /* arrival of the last operand, as far as known */
	uint64_t executed;  /* valid once issued: cycle in which it has executed */
	uint64_t committed; /* in order, likewise: cycle in which it retires (commit.h) */
	struct mca_inflight *next; /* in the free list, the timing wheel or a ready list */
	struct mca_inflight *next_in_group;
	struct mca_read *reads;
	struct mca_result *results;
	uint64_t critical_resources;
	struct pesa_mca_critical critical_register, critical_memory;
};

/* Physical registers for results that have not retired. */
struct mca_result_registers {
	unsigned int size; /* 0: unlimited */
	unsigned int used;
};

struct mca_register_file {
	struct mca_last_write last[MCA_REGISTER_COUNT];
	struct mca_result_registers all, integers, floats;
};

/* ---- Resources (resources.c) ----------------------------------------------------------------- */

struct mca_resource_state {
	uint64_t mask, ready_mask; /* bit masks: the resource; its units or members not busy */
	int buffer;		   /* entries; 0: in-order, -1: unlimited */
	unsigned int slots;	   /* free buffer entries */
	bool group, reserved;
	struct mca_choice choice; /* round robin over units */
};

struct mca_busy {
	uint64_t resource, unit; /* bit masks */
	uint64_t until;		 /* cycle in which it becomes free */
};

struct mca_resources {
	struct mca_resource_state state[MCA_RESOURCES_MAX + 1];
	uint64_t groups_of[MCA_RESOURCES_MAX + 1];
	uint64_t unit_mask, reserved_groups, available_buffers, reserved_buffers;
	struct mca_busy *busy;
	unsigned int busy_count;
	uint64_t earliest_release; /* no unit becomes free before this cycle */
};

/* A unit allocated to an instruction. */
struct mca_pipe {
	uint64_t resource, unit; /* bit masks */
	unsigned int cycles;
};
#define MCA_PIPES_MAX 64

/* Cycles that are counted by instruction of the block and unit (use.h). */
struct mca_use {
	uint64_t *cycles, *then; /* now; at the beginning of a period.  NULL: not counted */
	size_t counts;
	unsigned int units;
	uint16_t first[MCA_RESOURCES_MAX + 1]; /* by bit of a resource: its first unit */
};
/* Listeners for other events need every one of them, or count repeated ones. */
#define MCA_COUNTED (1u << PESA_MCA_USED)

enum mca_buffers {
	MCA_BUFFERS_AVAILABLE,
	MCA_BUFFERS_FULL,
	MCA_BUFFERS_RESERVED,
};

/* ---- Memory groups (memory.c) ---------------------------------------------------------------- */

/*
 * Memory instructions without dependencies among each other.  A group may issue when all its
 * predecessors have executed, or have issued if only the order matters.  Executing: issued, but not
 * executed.  Those executing and those executed are disjoint parts of the total.
 */
struct mca_memory_group {
	unsigned int predecessors, executing_predecessors, executed_predecessors; /* groups */
	unsigned int instructions, executing, executed;
	unsigned int *successors; /* numbers of groups; top bit: order only, waits for issue */
	unsigned int successor_count, successor_size;
	struct pesa_mca_critical critical;
	struct mca_inflight *critical_instruction;
	struct mca_inflight *first; /* its instructions; valid until one of them issues */
	bool live;
};

struct mca_memory {
	struct mca_memory_group *groups; /* by number modulo size, a power of two */
	unsigned int size, oldest, next;
	unsigned int load, store, barrier; /* youngest group of each kind, 0: none */
	unsigned int load_queue, store_queue, loads, stores;
	/* Retired stores that are in the queue still: the cycles from which their entries are free,
	 * oldest first, in a ring of store_queue; NULL: none are. */
	uint64_t *leaving, drain_cycle;
	unsigned int first_leaving, leaving_count, drained; /* drained: in drain_cycle */
	bool no_alias;
};

/* ---- External stimuli (stimuli.c) ------------------------------------------------------------ */

struct mca_stimuli {
	const struct pesa_mca_stimuli *options; /* NULL: none */
	uint64_t branches, loads;		/* counts so far */
	uint64_t cycle, resume;			/* no delivery before this cycle */
	unsigned int delivered, taken;		/* counts in this cycle */
	unsigned int next_fetch;		/* index in the block */
	unsigned int buffered;			/* instructions fetched, not dispatched */
	bool stopped; /* the last buffered instruction is a mispredicted branch */
	bool waiting; /* for a mispredicted branch to execute */
	unsigned int branch;
};

/* ---- Snapshots of the machine (snapshot.c) ------------------------------------------------------ */

/* Parts of a snapshot; each engine has some of them. */
enum mca_snapshot_part {
	MCA_SNAPSHOT_POSITION,	 /* position in the block */
	MCA_SNAPSHOT_CARRY_OVER, /* rest of an instruction wider than the dispatch width */
	MCA_SNAPSHOT_FLIGHTS,	 /* in-flight instructions and their stages */
	MCA_SNAPSHOT_USERS,	 /* for each in-flight instruction: reads of its results */
	MCA_SNAPSHOT_TIMES,	 /* arrival of operands, end of execution */
	MCA_SNAPSHOT_COMMITTED,	 /* write-back cycles of retired results */
	MCA_SNAPSHOT_UNITS,	 /* busy units, and until when */
	MCA_SNAPSHOT_NEXT_UNITS, /* round-robin state of units */
	MCA_SNAPSHOT_MEMORY,	 /* memory groups */
	MCA_SNAPSHOT_STALL,
	MCA_SNAPSHOT_PARTS,
};

struct mca_snapshot {
	uint64_t *words;
	unsigned int count, size;
};

struct mca_snapshots {
	uint64_t ignored_parts;	       /* bit mask of snapshot parts not compared; for tests */
	unsigned int oldest;	       /* age in cycles up to which a write-back can delay a read */
	struct mca_snapshot now, then; /* current, previous */
	uint64_t then_number, then_cycle; /* of the previous: instruction number, cycle */
};

/* ---- Repeated events (period.c) ---------------------------------------------------------------- */

struct mca_repetition {
	struct mca_period period; /* of this run, found by another one; cycles 0: none, or done */
	uint64_t fetched;	  /* instructions fetched when the period began */
	bool marked;		  /* PESA_MCA_PERIOD_BEGIN was sent: */
	uint64_t then, then_number, then_retired; /* cycle, and counts at that time */
};

/* ---- The run --------------------------------------------------------------------------------- */

struct mca_inflight_list {
	struct mca_inflight **list;
	unsigned int count, size;
};

/* List of ready instructions with equal descriptions, and the one with the highest priority. */
struct mca_queue {
	const struct mca_description *description;
	struct mca_inflight *first, *best;
	unsigned int active_index; /* among the non-empty queues */
	uint64_t busy;		   /* 1 + the last cycle in which units were unavailable */
};

#define MCA_WHEEL 64

struct mca_reorder_entry {
	struct mca_inflight *flight;
	unsigned int slots;
	bool executed;
};

enum mca_stall_reason {
	MCA_STALL_NONE,
	MCA_STALL_OPERANDS,
	MCA_STALL_RESOURCES,
	MCA_STALL_MEMORY,
	MCA_STALL_WRITE_BACK,
};

struct mca_run {
	struct mca_arena arena; /* memory of the whole run, including this struct */
	const struct pesa_mca_block *block;
	const struct pesa_mca_model *model;
	const struct pesa_mca_run_options *options;
	const struct pesa_mca_listener *listeners;
	unsigned int listener_count;
	/* By kind: the listeners that take it, in their order. */
	const struct pesa_mca_listener **takers[PESA_MCA_EVENT_KINDS];
	unsigned int taker_count[PESA_MCA_EVENT_KINDS];
	uint32_t wanted; /* bit mask: kinds of events that a listener takes */
	/* The frequent ones, sent again and again: what they do not have is zero. */
	struct pesa_mca_event event;
	struct pesa_error *error; /* noted by mca_fail(); NULL: none */

	uint64_t now;	   /* current cycle */
	uint64_t fetched;  /* instructions fetched and retired, at the last progress */
	uint64_t progress; /* cycle of the last progress: a fetch or a retirement */
	bool done;
	uint64_t next_number, last_number; /* instruction numbers */
	uint64_t retired;
	unsigned int next_in_block;	      /* next_number modulo the block's size */
	unsigned int most_reads, most_writes; /* maximum per instruction of the block */
	struct mca_inflight *current;	      /* fetched, not dispatched */
	struct mca_inflight *free_flights;
	struct mca_user *free_users;

	struct mca_register_file registers;
	struct mca_resources resources;
	struct mca_memory memory;
	struct mca_stimuli stimuli;
	struct mca_steady steady;
	struct mca_snapshots snapshots;
	struct mca_use use;
	struct mca_repetition repetition;

	/* out of order */
	unsigned int dispatch_width, dispatch_available;
	unsigned int carry_over;	   /* micro-ops of `carried_over` left for later cycles */
	struct mca_inflight *carried_over; /* wider than the dispatch (in order: issue) width */
	struct mca_reorder_entry *reorder;
	unsigned int reorder_size, reorder_entries, reorder_available, reorder_next,
		reorder_current;
	struct mca_inflight_list waiting, pending, ready; /* maintained only for `pressure` */
	struct mca_inflight_list issued;
	struct mca_inflight_list executed_now, pending_now, ready_now;
	struct mca_inflight_list known, arrived; /* to be checked: may become pending, ready */
	struct mca_inflight *wheel[MCA_WHEEL];	 /* issued and pending instructions, by cycle */
	struct mca_queue *queues, **active;	 /* ready instructions, by description */
	unsigned int active_count;
	unsigned int dispatched_to_pending; /* became pending at dispatch, in this cycle */
	uint64_t
		busy_units; /* bit mask: units that a ready instruction found busy, in this cycle */
	bool token_stall;   /* dispatch stalls: no buffer or queue entry is free */
	unsigned int dispatched_micro_ops, issued_micro_ops;
	unsigned int *affected; /* lists in PESA_MCA_PRESSURE events, of `affected_size` each */
	unsigned int *affected_memory;
	uint64_t *waited; /* bit masks: the busy units that each of `affected` waits for */
	unsigned int affected_size;

	/* in order; `issued` and `carried_over` are used by both */
	unsigned int issued_in_cycle, bandwidth, last_write_back;
	struct mca_inflight *stalled;
	unsigned int stall_cycles;
	enum mca_stall_reason stall_reason;
	struct mca_commit commit;
};

/* Note an error of this cycle, or free it if there is one already.  The stages continue; results
 * after an error are ignored.  mca_run_cycles() returns the error at the end of the cycle: most
 * stages are too deep, and run too often, to return it themselves. */
void mca_fail(struct mca_run *run, struct pesa_error *error);

static inline bool mca_is_memory(const struct mca_inflight *flight)
{
	return flight->description->load || flight->description->store || flight->lowered->barrier;
}

void mca_register_read(struct mca_run *run, struct mca_read *read);
/* Enter a result into the register file; returns the number of physical registers allocated. */
unsigned int mca_register_write(struct mca_run *run, struct mca_inflight *flight,
				struct mca_result *result);
void mca_register_executed(struct mca_run *run, struct mca_inflight *flight);
/* Remove the results of a retired instruction; returns the number of registers freed. */
unsigned int mca_register_retired(struct mca_run *run, struct mca_inflight *flight);
bool mca_registers_available(const struct mca_run *run, const struct mca_inflight *flight);
/* Cycles until all operands can be read; 0: now. */
unsigned int mca_operand_hazard(const struct mca_run *run, const struct mca_inflight *flight);

void mca_inflight_execute(struct mca_run *run, struct mca_inflight *flight);
/* Commit the results of a retiring instruction. */
void mca_inflight_retire(struct mca_run *run, struct mca_inflight *flight);
void mca_inflight_find_critical(struct mca_inflight *flight);
/* Cycles until a result is complete; negative: cycles since; MCA_CYCLES_UNKNOWN: not issued. */
static inline int mca_cycles_left(const struct mca_run *run, const struct mca_result *result)
{
	if (!result->issued)
		return MCA_CYCLES_UNKNOWN;
	return (int)(result->complete -
		     (run->now < result->executed ? run->now : result->executed));
}
static inline bool mca_has_executed(const struct mca_run *run, const struct mca_inflight *flight)
{
	return flight->stage == MCA_ISSUED && flight->executed <= run->now;
}
static inline bool mca_has_operands(const struct mca_run *run, const struct mca_inflight *flight)
{
	return !flight->producers && flight->arrival <= run->now;
}

/* Maximum number of busy units at a time, reserved groups included. */
unsigned int mca_resources_units(const struct pesa_mca_model *model);
/* `busy` has room for mca_resources_units() elements. */
void mca_resources_init(struct mca_resources *resources, const struct pesa_mca_model *model,
			struct mca_busy *busy);
uint64_t mca_resources_busy(const struct mca_resources *resources,
			    const struct mca_description *description);
/* Allocate units to an instruction; returns their number. */
unsigned int mca_resources_issue(struct mca_resources *resources, uint64_t now,
				 const struct mca_description *description, struct mca_pipe *pipes);
void mca_resources_cycle(struct mca_resources *resources, uint64_t now);
/* Write the resources' part of a snapshot, without the parts in `ignored_parts`.  Returns the
 * number of words.  Sorts the list of busy units. */
unsigned int mca_resources_words(const struct pesa_mca_block *block,
				 const struct mca_resources *resources);
unsigned int mca_resources_snapshot(struct mca_resources *resources,
				    const struct pesa_mca_block *block, uint64_t ignored_parts,
				    uint64_t now, uint64_t *words);
/* Mix a value into a fingerprint; likewise the round-robin state of units. */
uint64_t mca_mix(uint64_t hash, uint64_t value);
uint64_t mca_resources_mix(const struct mca_resources *resources,
			   const struct pesa_mca_block *block, uint64_t hash);
enum mca_buffers mca_buffers_check(const struct mca_resources *resources, uint64_t buffers);
void mca_buffers_reserve(struct mca_resources *resources, uint64_t buffers);
void mca_buffers_release(struct mca_resources *resources, uint64_t buffers);

struct pesa_error *mca_memory_init(struct mca_run *run);
/* Update counters that only events report. */
void mca_memory_cycle(struct mca_memory *memory);
void mca_memory_dispatch(struct mca_run *run, struct mca_inflight *flight);
bool mca_memory_is_ready(const struct mca_memory *memory, const struct mca_inflight *flight);
bool mca_memory_is_pending(const struct mca_memory *memory, const struct mca_inflight *flight);
bool mca_memory_is_waiting(const struct mca_memory *memory, const struct mca_inflight *flight);
bool mca_memory_has_users(const struct mca_memory *memory, const struct mca_inflight *flight);
void mca_memory_issued(struct mca_run *run, struct mca_inflight *flight);
void mca_memory_executed(struct mca_run *run, struct mca_inflight *flight);
void mca_memory_retired(struct mca_run *run, const struct mca_inflight *flight);
/* Free the entries of retired stores that are in the cache by this cycle. */
void mca_memory_free_stores(struct mca_run *run);
struct pesa_mca_critical mca_memory_critical(const struct mca_memory *memory,
					     const struct mca_inflight *flight);

void mca_snapshot_init(struct mca_run *run);
/* Called after a cycle in which steady.next was reached. */
void mca_snapshot_cycle(struct mca_run *run);
/* Write the state that determines later cycles into snapshots.now, without `ignored_parts`. */
void mca_snapshot_write(struct mca_run *run);

/* Whether all listeners count repeated events. */
bool mca_period_is_wanted(const struct pesa_mca_run_options *options,
			  const struct pesa_mca_listener *listeners, unsigned int count);
/* Called after each cycle of a run of which a period is known. */
void mca_period_cycle(struct mca_run *run);

/* Latency of a result. */
static inline int mca_result_latency(const struct mca_inflight *flight,
				     const struct mca_result *result)
{
	return flight->actual_latency < 0 ? result->description->latency : flight->actual_latency;
}
static inline int mca_inflight_latency(const struct mca_inflight *flight)
{
	return flight->actual_latency < 0 ? flight->description->latency : flight->actual_latency;
}

/* Scheduler. */
enum mca_schedule {
	MCA_SCHEDULE_OK,
	MCA_SCHEDULE_LOAD_QUEUE,
	MCA_SCHEDULE_STORE_QUEUE,
	MCA_SCHEDULE_BUFFERS,
	MCA_SCHEDULE_GROUP,
};
enum mca_schedule mca_scheduler_check(struct mca_run *run, const struct mca_inflight *flight);
void mca_scheduler_cycle(struct mca_run *run);
/* Add an instruction to the scheduler; returns whether it is ready. */
bool mca_scheduler_dispatch(struct mca_run *run, struct mca_inflight *flight);
/* Whether it must issue in the cycle of its dispatch, with all operands available. */
static inline bool mca_description_must_issue(const struct mca_description *description)
{
	return (!description->latency && !description->usages) ||
	       description->must_issue_immediately;
}
struct mca_inflight *mca_scheduler_select(struct mca_run *run);
unsigned int mca_scheduler_issue(struct mca_run *run, struct mca_inflight *flight,
				 struct mca_pipe *pipes);

/* An operand waits for a result of a ready instruction, which gets a higher priority. */
void mca_scheduler_has_user(struct mca_run *run, struct mca_inflight *flight);
/* An event for which `flight` waited has happened: check its stage in the next update. */
void mca_scheduler_wake(struct mca_run *run, struct mca_inflight *flight);

/* Execute one cycle; false when the run is complete. */
bool mca_in_order_cycle(struct mca_run *run);
bool mca_out_of_order_cycle(struct mca_run *run);
struct pesa_error *mca_out_of_order_init(struct mca_run *run);

/* A run in steps, for tests: until the end, or at least until cycle `until`. */
struct pesa_error *mca_run_start(const struct pesa_mca_block *block,
				 const struct pesa_mca_run_options *options,
				 const struct pesa_mca_listener *listeners, unsigned int count,
				 struct mca_run **run);
struct pesa_error *mca_run_cycles(struct mca_run *run, uint64_t until);
void mca_run_free(struct mca_run *run);

#endif
