/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual core inside the emulator: what its parts share.
 *
 *   plugin.c     the emulator's callbacks: translation, execution, memory, system calls
 *   insn.c       static instructions: decoded once, when the emulator translates them
 *   cost.c       what they cost on the processor model of the core
 *   vector_group.c  the registers of vector operands
 *   trace.c      the instructions that a guest CPU executed: what they did, and their way through
 *                pipeline and retirement
 *   pipeline.c   when each instruction is fetched, dispatched, issued, complete, retired
 *   predictor.c  branch prediction
 *   memory.c     caches and TLBs of a hart
 *   shared.c     the last level of cache and memory
 *   turn.c       which of the threads runs
 *   tools/vcore/guest/wait.c system calls in which it may lose its turn
 *   host_thread.c  what the threads of the emulator do on the host
 *   run.c        instructions that are executed one behind the other
 *   relay.c      the pipeline on a thread of its own
 *   account.c    what every cycle is: state, blamed instruction, cause
 *   retire.c     samples, and the records of control transfers
 *   golden.c     the golden reference: all cycles of every instruction
 *   counters.c   event counters
 *   pipeline_trace.c  the pipeline as a Kanata log
 *   samplers.c   what weaker hardware would have delivered
 *   space.c      the mappings of the guest
 *   channel.c    the process's region of shared memory and the messages to the recorder
 *   follow.c     profiling goes on across execve
 *   board.c      the system emulator instead of the user-mode one
 *   tools/vcore/board/cost.c what the interrupts of samples cost there
 *   tools/vcore/board/event.c events other than cycles that its period counter can count
 *
 * A process has one struct process; each guest thread is a hart with a core of its own.
 */
#ifndef TOOLS_VCORE_VCORE_H
#define TOOLS_VCORE_VCORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/vcore/channel.h"
#include "decoder/binary/code.h"
#include "decoder/core/retirement.h"
#include "pesa/riscv.h"
#include "tools/vcore/core/cost.h"
#include "tools/vcore/core/counters.h"
#include "tools/vcore/core/shape.h"
#include "tools/vcore/guest/turn.h"

/* ---- Static instructions (insn.c) ---------------------------------------------------------- */

#define INSN_BITS_SRET 0x10200073u

/* Vector types that cost differently: LMUL in bits 2:0, 1 + log2(SEW / 8) in 5:3; 0: not known. */
#define INSN_VECTOR_TYPES 64u

/* A line of the host's caches: what executions read of an instruction lies in two of them, of which
 * the pipeline needs the second one most. */
#define INSN_LINE 64u

struct insn {
	uint64_t pc;
	uint64_t target;	     /* of a direct transfer */
	uint64_t counts;	     /* what an execution adds to the counters, see counters.h */
	struct vcore_golden *golden; /* NULL when no golden reference is kept */
	uint8_t length;		     /* bytes */
	uint8_t flags;		     /* INSN_* */
	uint8_t flow;		     /* enum pesa_flow */
	uint8_t class;		     /* enum pesa_core_class */
	uint8_t vector_type;	     /* that it sets */
	uint8_t shape;		     /* of an execution that goes on; SHAPE_ANY: see the other */
	uint8_t turning_shape;	     /* of any other execution */
	uint8_t fetch;		     /* STEP_TWO_LINES or nothing */
	struct cost **vector_cost; /* by vector type, made when first needed; NULL: always `cost` */
	uint64_t bits;
	struct run *runs; /* that begin with it */
	_Alignas(INSN_LINE) struct cost cost;
	struct cost *lists; /* where those of `cost` are, to be freed with free() */
	struct insn *next;  /* in the hash table */
};

struct process;

/* The emulator has to tell of its accesses. */
static inline bool insn_accesses(const struct insn *insn)
{
	return insn->flags & (INSN_LOAD | INSN_STORE | INSN_VECTOR);
}

/* The static instruction at `pc`, whose bytes are at `bytes`; NULL: out of memory. */
struct insn *insn_get(struct process *process, uint64_t pc, const void *bytes);
/* What a vector instruction costs under a vector type. */
const struct cost *insn_vector_cost(struct process *process, const struct insn *insn,
				    unsigned int vector_type);
/* Forget the instructions of a range: what is executed there later is something else. */
void insn_forget(struct process *process, uint64_t start, uint64_t end);
/* After fork: entries of the golden reference for all instructions, in the child's own region. */
void insn_refork(struct process *process);

/* ---- Caches and TLBs (memory.c) ------------------------------------------------------------ */

struct memory;
struct shared;

/* What an access met. */
struct access {
	uint64_t ready; /* cycle in which the data is there */
	bool cache_miss, tlb_miss, l2_miss, llc_miss, walk;
};

/* Lookups are counted in `counters`. */
struct memory *memory_create(const struct pesa_core *core, struct vcore_counters *counters,
			     struct shared *shared);
void memory_free(struct memory *memory);
/* In the child after fork: no other hart shares anything with this one. */
void memory_refork(struct memory *memory);
/* Before the hart goes on: what other harts did to its lines.  A cycle of the hart + `offset` is a
 * time of the process. */
void memory_resume(struct memory *memory, uint64_t offset);
/* Translate a data address in `cycle`; returns the cycles that it adds. */
uint64_t memory_translate(struct memory *memory, uint64_t address, uint64_t cycle,
			  struct access *access);
/* Access one line in `cycle`: data, and instructions with their translation. */
void memory_data(struct memory *memory, uint64_t address, uint64_t cycle, bool store,
		 struct access *access);
void memory_fetch(struct memory *memory, uint64_t address, uint64_t cycle, struct access *access);
/* What of these most are: all is there that they need.  Returns false, or 0 instead of the cycle in
 * which the data is there: it is not so, and nothing has changed.  A read is translated as well. */
bool memory_translate_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_read_hit(struct memory *memory, uint64_t address, uint64_t cycle);
uint64_t memory_write_hit(struct memory *memory, uint64_t address, uint64_t cycle);
bool memory_fetch_hit(struct memory *memory, uint64_t address, uint64_t cycle);

/* ---- Branch prediction (predictor.c) ------------------------------------------------------- */

struct predictor;

enum prediction {
	PREDICTION_RIGHT,
	PREDICTION_LATE, /* right, but the target was known at decode only */
	PREDICTION_WRONG,
};

struct predictor *predictor_create(const struct pesa_core *core);
void predictor_free(struct predictor *predictor);
/* Predict a control-flow instruction, then learn what it did. */
enum prediction predictor_step(struct predictor *predictor, const struct insn *insn, bool taken,
			       uint64_t target);

/* ---- Retirement (account.c, retire.c) ------------------------------------------------------ */

/* A control transfer as the hart records it, Ssctr.  The layout is the emulator's, see board.c. */
struct transfer {
	uint64_t source, target;
	uint32_t type; /* PESA_CTR_* */
	bool mispredicted;
};

#define SAMPLES_WAITING 64u

/* Sampled cycles, in order, whose instruction is not known yet: the first one from `due` on. */
struct sample_wait {
	uint64_t due[SAMPLES_WAITING];
	uint32_t first, next;
};

struct samplers {
	uint64_t dispatch_due, retire_due; /* the nearest, UINT64_MAX: none waits */
	uint64_t due;			   /* the first of both */
	uint32_t mask;			   /* 1 << enum vcore_sampler */
	uint32_t skid;			   /* cycles until an interrupt reaches dispatch */
	struct sample_wait wait[VCORE_SAMPLER_COUNT];
};

struct retire {
	struct retirement stage;
	uint32_t ctr_depth; /* of the core */
	uint64_t start;	    /* the first cycle that belongs to this process */
	/* sampling */
	uint64_t next_sample; /* cycle */
	uint64_t events_left; /* until the counter of the board overflows; 0: it counts cycles */
	uint64_t random;
	uint64_t lost;		   /* since the last record that arrived */
	const struct insn *newest; /* that retired, NULL: none did */
	struct samplers samplers;
	struct transfer *transfers; /* ring of ctr_depth entries */
	uint64_t transfer_count;
};

/* One instruction's way through the pipeline, as retirement needs it. */
struct passage {
	const struct insn *insn;
	uint64_t target;      /* where execution went on */
	uint64_t supplied;    /* cycle in which the front end had it ready for dispatch */
	uint64_t dispatched;  /* cycle in which it entered the reorder buffer */
	uint64_t complete;    /* first cycle in which it could retire */
	uint64_t retired;     /* cycle */
	uint16_t front_cause; /* met before dispatch */
	uint16_t cause;	      /* all that it met */
	bool taken;
	bool faulted; /* did not retire: an exception was taken */
};

struct hart;
struct batch;

/* Reports to the accounts. */
void batch_account(struct hart *hart, const struct batch *batch);
/* Close the open group: nothing more retires in its cycle. */
void account_close(struct hart *hart);
/* Start to sample and to account with the cycle `start`. */
void retire_begin(struct hart *hart, uint64_t start);
/* Cycle `cycle` is sampled: `record` tells it; the other arguments are those of samplers_take(). */
void retire_sample(struct hart *hart, uint64_t cycle, struct pesa_record *record,
		   const struct insn *oldest, const struct insn *youngest);
/* A control transfer retires. */
void retire_transfer(struct hart *hart, const struct insn *insn, uint64_t target, uint16_t cause);
/* Send a record of a sampler. */
void retire_send(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record);

/* ---- Weaker hardware (samplers.c) ---------------------------------------------------------- */

void samplers_begin(struct hart *hart);
/* A sampled cycle: the oldest instruction that retired in it, NULL if none did, and the youngest
 * one that had retired by then, NULL if none had. */
void samplers_take(struct hart *hart, uint64_t cycle, const struct insn *oldest,
		   const struct insn *youngest);
/* The first instruction that retires in `cycle`, not before samplers.retire_due. */
void samplers_retire(struct hart *hart, const struct insn *insn, uint64_t cycle);
/* An instruction was dispatched, not before samplers.dispatch_due. */
void samplers_dispatch(struct hart *hart, const struct passage *passage);
/* The thread ends: what still waits has nothing to name. */
void samplers_end(struct hart *hart);

/* ---- Pipeline trace (pipeline_trace.c) ----------------------------------------------------- */

struct pipeline_trace;

/* NULL: none is wanted of this hart. */
struct pipeline_trace *pipeline_trace_create(const struct hart *hart);
void pipeline_trace_step(struct pipeline_trace *trace, const struct passage *passage);
/* The instruction that retired or faulted last emptied the pipeline; without further events the
 * next one would enter the reorder buffer in cycle `until`. */
void pipeline_trace_flush(struct pipeline_trace *trace, const struct insn *insn, uint16_t cause,
			  uint64_t until);
/* Write the rest, and free it.  NULL is allowed. */
void pipeline_trace_end(struct pipeline_trace *trace);
/* Free it without another word. */
void pipeline_trace_free(struct pipeline_trace *trace);

/* Bytes of an instruction, by its first two; of what is none, 2. */
static inline unsigned int insn_length(uint16_t bits)
{
	unsigned int length = pesa_insn_length(bits);

	return length < 2 || length > 8 ? 2 : length;
}

/* ---- Pipeline (pipeline.c) ----------------------------------------------------------------- */

struct pipeline;

/* Where fetch goes on after an instruction. */
enum steer {
	STEER_NEXT,
	STEER_TAKEN, /* predicted */
	STEER_LATE,  /* predicted, but the target was known at decode only */
	STEER_FLUSH, /* + enum flush_kind */
};

/* What an instruction did, from the trace.  Steps and reports are written by one thread and read by
 * another one, which has to wait for each line of them: they are small. */
struct step {
	const struct insn *insn;
	uint32_t accesses : 24; /* that it made: words behind those of the step before */
	uint32_t vector_type : 8;
	uint16_t cause;	   /* met by what it is, and at its end */
	uint8_t steer : 3; /* enum steer */
	uint8_t taken : 1;
	uint8_t faulted : 1;
	uint8_t fetch : 3; /* STEP_* */
	uint8_t shape;	   /* enum shape */
};
_Static_assert(sizeof(struct step) == 16, "four to a line");

#define STEP_OTHER_BLOCK (1u << 0) /* of fetch, than the step before */
#define STEP_OTHER_LINE	 (1u << 1) /* it begins in another line than the one before ended in */
#define STEP_TWO_LINES	 (1u << 2)

/* What the cost of a step is; vector types that it does not know were prepared. */
static inline const struct cost *step_cost(const struct step *step)
{
	const struct insn *insn = step->insn;

	if (__builtin_expect(step->shape != SHAPE_ANY || !insn->vector_cost ||
				     !insn->vector_cost[step->vector_type],
			     1))
		return &insn->cost;
	return insn->vector_cost[step->vector_type];
}

/* ---- Runs (run.c) -------------------------------------------------------------------------- */

/*
 * Instructions one behind the other of which all are executed once the first one is, unless one of
 * them faults: the emulator tells only that a run begins, and the accesses that it makes.
 */
struct run {
	uint64_t sequel; /* what follows it in memory, when it has gone on to that once: a
			  * trace word, and in the bits that this has left what is fetched
			  * for it then (STEP_*) */
	uint64_t counts; /* of all its instructions, see counters.h */
	uint32_t steps;
	uint32_t accesses;  /* of all its instructions */
	struct run *next;   /* that begins with the same instruction */
	struct step step[]; /* as they are carried out; what is fetched for the first one depends
			     * on what came before */
};

#define RUN_INSNS 16u /* at most */
/* Steps that there is room for: two are copied at a time. */
#define RUN_ROOM(insns)	   (((insns) + 1u) & ~(size_t)1)
#define RUN_SOME	   UINT32_MAX /* accesses: nobody knows how many; of a single instruction */
#define RUN_SEQUEL_FETCH   7u
#define RUN_SEQUEL_UNKNOWN 8u

/* Whether `next` belongs to the run that ends with `insn` so far. */
bool run_goes_on(const struct insn *insn, const struct insn *next);
/* The run of these instructions, RUN_INSNS at most; process->lock is held.  NULL: out of memory. */
struct run *run_get(struct process *process, struct insn *const *insn, size_t insns);

/* What is fetched for an instruction (STEP_*) after another one; NULL: nothing was fetched. */
static inline uint8_t run_fetch_after(const struct pesa_core *core, const struct insn *before,
				      const struct insn *insn)
{
	uint64_t other_block, other_line;

	if (!before)
		return insn->fetch | STEP_OTHER_BLOCK | STEP_OTHER_LINE;
	other_block = (insn->pc ^ before->pc) & ~(uint64_t)(core->fetch_bytes - 1);
	other_line = (insn->pc ^ (before->pc + before->length - 1)) & ~(uint64_t)(core->line - 1);
	return insn->fetch | (other_block ? STEP_OTHER_BLOCK : 0) |
	       (other_line ? STEP_OTHER_LINE : 0);
}

/*
 * What the pipeline tells of its steps, in their order.  Of a step: cycles as in struct passage. Of
 * a flush by the step before: the pipeline is emptied in cycle `complete`; without further events
 * the next one enters the reorder buffer in cycle `retired`, and what is thrown away would have had
 * places in the issue queues in cycle `supplied`.
 *
 * Cycles are their low 32 bits, see report_cycle().
 */
struct report {
	/* Most are told by these two lines alone: as the report before, and nothing. */
	uint32_t dispatched, retired;
	uint16_t front_cause, cause;
	uint8_t kind;	 /* REPORT_* */
	uint8_t turning; /* of a step: it was taken, or it faulted */
	uint16_t unused; /* 0 */
	uint32_t supplied, complete;
};
_Static_assert(sizeof(struct report) == 24, "eight to three lines");

enum report_kind {
	REPORT_STEP,
	REPORT_IN_VAIN, /* likewise, of a step that comes again: thrown away by FLUSH_ORDERING */
	REPORT_FLUSH,	/* + enum flush_kind; of FLUSH_ORDERING, by the step that follows */
};

/* A step is at most this many reports: in vain, a flush, itself, a flush. */
#define STEP_REPORTS 4u

/* A cycle of a report.  `near`: any that is less than 2^31 cycles away, as the newest accounted one
 * is: no latency of a core or a model is beyond 2^16. */
static inline uint64_t report_cycle(uint64_t near, uint32_t low)
{
	return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

struct pipeline *pipeline_create(const struct process *process, struct vcore_counters *counters);
/* The memory of the hart. */
struct memory *pipeline_memory(struct pipeline *pipeline);
void pipeline_free(struct pipeline *pipeline);
/* `access`: of all the steps.  Returns the number of reports, at most STEP_REPORTS for each step.
 */
size_t pipeline_run(struct pipeline *pipeline, const struct step *step, size_t steps,
		    const uint64_t *access, struct report *reports);

/* ---- Harts (trace.c) ----------------------------------------------------------------------- */

/* Trace words: a run of static instructions (a multiple of 8), or an access that it made. */
#define TRACE_ACCESS	    1u
#define TRACE_STORE	    2u
#define TRACE_SHIFT_SHIFT   2 /* log2 of the bytes, 3 bits */
#define TRACE_SHIFT_MASK    7u
#define TRACE_ADDRESS_SHIFT 8

static inline uint64_t trace_run(const struct run *run)
{
	return (uint64_t)(uintptr_t)run;
}

/* An access of 1 << `size_shift` bytes. */
static inline uint64_t trace_access(uint64_t address, unsigned int size_shift, bool store)
{
	return address << TRACE_ADDRESS_SHIFT |
	       (uint64_t)(size_shift & TRACE_SHIFT_MASK) << TRACE_SHIFT_SHIFT |
	       (store ? TRACE_STORE : 0) | TRACE_ACCESS;
}

/* Where a node of the golden reference was found last. */
#define GOLDEN_RECENT_BITS 9u
#define GOLDEN_RECENT	   (1u << GOLDEN_RECENT_BITS)
struct golden_recent {
	const struct vcore_golden *golden;
	struct vcore_node *node;
};

/* Reports are looked at so many at a time, see account.c. */
#define REPORTS_AHEAD 16u

/* Instructions on their way from the emulator to the accounts. */
struct batch {
	size_t room; /* words of a trace */
	/* There is room for a group of retirement in front of them. */
	struct step *step;
	uint64_t *access; /* trace words of all their accesses */
	/* STEP_REPORTS for each word of the trace; there are one more in front of them, and
	 * REPORTS_AHEAD more behind them. */
	struct report *report;
	size_t steps, reports;
	bool several;		     /* some steps may take several places of the reorder buffer */
	struct counters_kinds kinds; /* of the steps */
	uint64_t next;		     /* pc executed after the last step */
	struct vcore_counters met;   /* all that the pipeline met up to the last report */
};

/* The open group.  In `retire` there is only how many its members are. */
struct group {
	struct step step[RETIREMENT_GROUP_MAX]; /* between batches: the members */
	uint64_t next;				/* pc executed after the last one, likewise */
	uint32_t caused, taken;			/* bit i: member i met a cause, or was taken */
	uint16_t cause[RETIREMENT_GROUP_MAX];	/* of those that met one */
	bool behind; /* it retires later than the pipeline says, for one was closed early */
};

/* What is written at once of the sizes of groups. */
#define GROUP_SIZES 16u

struct hart {
	uint64_t *trace;	/* of the runs that will be steps of `batch` */
	uint64_t *cursor, *end; /* in it: the next word; where it is full */
	size_t trace_room;	/* words */
	struct batch *batch;	/* `own`, or one of the relay */
	struct batch own;
	struct relay *relay; /* NULL: the hart needed none */
	struct process *process;
	unsigned int index; /* of the guest CPU */
	uint32_t tid;	    /* 0: has not run yet */
	uint32_t parent_tid;
	uint64_t ordinal;	      /* the how-manieth of the process: its samples' phase */
	struct vcore_hart_slot *slot; /* NULL: not profiled */
	uint64_t turn_offset;	      /* cycles to add for a time of the process, see shared.h */
	struct turn_member turn;
	uint64_t time_offset; /* ns to add to the cycles' time */
	struct predictor *predictor;
	unsigned int vector_type;
	const struct insn *placed; /* of the newest step */
	struct pipeline *pipeline;
	struct vcore_counters meeting; /* what the pipeline and its memory count */
	struct vcore_counters met;     /* likewise, as far as it is accounted */
	struct retire retire;
	struct counters counters; /* all the rest */
	struct leaving leaving;	  /* the reorder buffer as the accounts see it */
	struct group group;
	/* Of the group of each step of a batch that is accounted, from the one at GROUP_SIZES on;
	 * 0: the golden reference has nothing to count. */
	uint8_t *sizes;
	struct golden_recent recent[GOLDEN_RECENT];
	struct pipeline_trace *log; /* NULL: none is written */
	bool maps_dump;		    /* its system call maps what a compiler writes of its code */
	bool dies;		    /* what its last instruction did is all that is to come */
};

bool batch_create(struct batch *batch, size_t words);
void batch_free(struct batch *batch);
/* Steps to reports. */
void batch_run(struct hart *hart, struct batch *batch);

struct hart *hart_create(struct process *process, unsigned int index);
void hart_free(struct hart *hart);
/* Hand the trace to the pipeline.  The last instruction waits for the next one, unless `all`. */
void hart_consume(struct hart *hart, bool all);
/* Bring the accounts up to date inside of the emulator, which may have locks: no turn is given up.
 */
void hart_settle(struct hart *hart);
/* The trace is full: likewise, or to the relay. */
void hart_advance(struct hart *hart);
static inline void hart_append(struct hart *hart, uint64_t word)
{
	*hart->cursor++ = word;
	if (hart->cursor == hart->end)
		hart_advance(hart);
}
/* The thread ends. */
void hart_end(struct hart *hart);
/* Likewise, with the process, in the middle of it: the last instruction, if it did not do what it
 * should, is what it died of.  No turns are taken. */
void hart_die(struct hart *hart);
/* Time of the hart's last accounted cycle, ns, not before any side-band event or what was told of
 * another hart of its process. */
uint64_t hart_time(struct hart *hart);
/* A time for a new side-band event: later than all that happened before. */
uint64_t hart_sideband_time(struct hart *hart);
/* After fork, in the child: the calling thread's hart begins anew, the others are gone. */
void hart_refork(struct hart *hart);
/* The hart of the calling thread, NULL before its first instruction. */
struct hart *hart_current(void);

/* ---- The pipeline on a thread of its own (relay.c) ----------------------------------------- */

/* The hart can hand batches to a relay: it is started when it is needed. */
bool relay_ready(struct hart *hart);
/* Hand `batch` of the hart, which is resolved; returns the next one, which is empty. */
struct batch *relay_hand(struct hart *hart);
/* Wait until all that was handed is accounted. */
void relay_drain(struct hart *hart);
/* In the child after fork, before which all was drained. */
void relay_refork(struct hart *hart);
void relay_free(struct hart *hart);

/* ---- Address space (space.c) --------------------------------------------------------------- */

struct space {
	struct mapping {
		uint64_t start, end;
		bool made; /* at run time: no file holds what is in it */
	} * mapping;	   /* executable ones that were announced, sorted */
	size_t count, room;
	size_t last;
	struct pesa_code *code; /* made at run time, as the recorder knows it; NULL: none */
};

/* Was the mapping that holds `pc` announced? */
bool space_knows(struct process *process, uint64_t pc);
/* Announce the mapping that holds `pc` unless that was done.  process->lock is held. */
void space_need(struct process *process, uint64_t pc);
/* Whether a descriptor is of a file in which a compiler tells of its code: readers need to know where
 * it is, and the mapping that tells them is never executed. */
bool space_is_dump(int fd);
/* A range goes away: if there was code in it, its counts are final, and what comes there later is
 * something else. */
void space_drop(struct process *process, struct hart *hart, uint64_t start, uint64_t end);
/* Whether code that is about to run is to be told: no file holds it, and it is new. */
bool space_lacks(struct process *process, uint64_t pc, const void *bytes, size_t size);
/* Tell it; what was counted for other code in its place is final.  Both with process->lock held. */
void space_tell(struct process *process, struct hart *hart, uint64_t pc, const void *bytes,
		size_t size);
/* Announce the name of the process, `exec`: as that of a program that begins. */
void space_name(struct process *process, const char *name, bool exec);

/* ---- Process and channel (channel.c) ------------------------------------------------------- */

#define PROCESS_HARTS 65536u

struct process {
	struct vcore_control *control;
	const struct pesa_core *core; /* in the control area */
	struct vcore_region *region;
	unsigned int region_index;
	int pid;
	bool threaded;	      /* counters are shared: count atomically */
	bool named;	      /* the program's name was announced */
	bool deaf;	      /* the recorder is gone */
	uint64_t guest_base;  /* host address = guest address + guest_base */
	pthread_mutex_t lock; /* instructions, mappings, slots, nodes of the golden reference */
	pthread_mutex_t ring_lock;
	struct pesa_isa *isa;
	struct cost_model *model;
	struct insn **table; /* hash of static instructions by pc */
	size_t table_size, insn_count;
	struct insn **all; /* every static instruction ever made */
	size_t all_count, all_room;
	struct space space;
	struct turn turn;
	struct shared *shared; /* caches and memory of all harts */
	struct hart *harts[PROCESS_HARTS];
	uint64_t harts_begun;
	/* Which process it is, whatever number the machine gave it: 0 of the first program, then by
	 * who forked or executed it.  Its samples' phase. */
	uint64_t lineage;
	uint64_t forks;		 /* that it made */
	uint64_t fork_time;	 /* when the fork that is in progress began */
	_Atomic uint64_t newest; /* ns: time of the newest side-band event */
	_Atomic uint64_t told;	 /* ns: the newest time of any hart, see hart_time() */
	struct board *board;   /* NULL: the emulator is the user-mode one */
};

/* Open the shared memory and take a region.  Returns what went wrong, NULL: nothing. */
const char *channel_open(struct process *process, const char *path);
/* After fork, in the child: a region of its own in the place of the parent's. */
bool channel_refork(struct process *process);
/* Send a message; `tail` of `tail_size` bytes follows.  Returns false when it was lost. */
bool channel_send(struct process *process, struct vcore_message *message, const void *tail,
		  size_t tail_size);

/* ---- Death of a signal (death.c) ------------------------------------------------------------ */

/* Call `dies` when the emulator is about to end itself by a signal, on the thread that does it. */
void death_watch(void (*dies)(void));

/* ---- Board (board.c) ----------------------------------------------------------------------- */

#define BOARD_HARTS 64u

/* Run under the system emulator, as its plugin `id`.  `core` is the file of a core description,
 * `counts` where to tell what became of samples, `interrupts` where to tell what their interrupts
 * cost (NULL: nowhere).  Returns what went wrong, NULL: nothing. */
const char *board_open(struct process *process, uint64_t id, const char *core, const char *counts,
		       const char *interrupts);
/* Cycles from one sample to the next. */
uint64_t board_interval(const struct hart *hart);
void board_deliver(struct hart *hart, const struct pesa_record *record);
/* The instruction retired while the counter of the hart counts another event than cycles. */
void board_count(struct hart *hart, const struct passage *passage);
/* Whether software wants a control transfer recorded. */
bool board_records_transfer(const struct hart *hart, const struct transfer *transfer);

/* ---- Events of the board's period counter (tools/vcore/board/event.c) ----------------------------------- */

#define BOARD_EVENTS 15u

/* Such an event, as software chooses it.  The layout is the emulator's, see board.c. */
struct board_event {
	const char *name;
	uint32_t number; /* in shpmsevent; not PESA_SELECT_CYCLES */
};

/* Fill in all that there are; returns how many. */
unsigned int board_events(struct board_event events[BOARD_EVENTS]);
/* What counts the same. */
enum vcore_event board_event_counter(unsigned int number);
/* Whether the event with this number happened to an instruction that retired. */
bool board_event_happened(unsigned int number, const struct passage *passage);

/* ---- What interrupts cost on the board (tools/vcore/board/cost.c) --------------------------------------- */

struct board_cost;

/* NULL: out of memory. */
struct board_cost *board_cost_create(void);
/* The hart takes the interrupt of a sample in the place of the instruction at `pc`; it returns from
 * a trap to `pc`; in between it executes the instruction at `pc`. */
void board_cost_begin(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_end(struct board_cost *cost, unsigned int hart, uint64_t pc);
void board_cost_count(struct board_cost *cost, unsigned int hart, uint64_t pc);
/* Write what was counted as JSON.  Returns false when that failed, see errno. */
bool board_cost_write(const struct board_cost *cost, const char *path);

/* ---- Golden reference (golden.c) ----------------------------------------------------------- */

struct vcore_golden *golden_create(struct process *process, const struct insn *insn);
/* Cycles of any kind. */
void golden_bucket(struct hart *hart, const struct insn *insn, unsigned int state,
		   unsigned int group, uint16_t cause, uint64_t cycles);
/* Each of the steps retired with no cause as one of so many, 0: it did not. */
void golden_groups(struct hart *hart, const struct step *step, const uint8_t *size, size_t steps);
/* The nodes that were found last are those of another region now. */
void golden_forget(struct hart *hart);
void golden_transfer(struct hart *hart, const struct insn *insn, uint64_t target);

/* ---- execve (follow.c) --------------------------------------------------------------------- */

/* The guest is about to execute a program: do it ourselves when it is one for RISC-V.  Returns when
 * it is not, or cannot be executed. */
void follow_execve(struct process *process, struct hart *hart, uint64_t path, uint64_t argv,
		   uint64_t envp);
/* The program was executed by another one, which said this of its time and lineage. */
void follow_begin(struct process *process, const char *before);
/* Read memory of the guest; false: it is not there. */
bool follow_read(const struct process *process, uint64_t address, void *buffer, size_t size);
/* Read a terminated string of the guest, at most size - 1 bytes; false: it cannot be read. */
bool follow_read_string(const struct process *process, uint64_t address, char *string, size_t size);

#endif
