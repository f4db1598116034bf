/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hart: a guest thread with a virtual core of its own.  struct hart holds everything from the
 * trace of executed instructions to the accounts.
 */
#ifndef TOOLS_VCORE_CORE_HART_H
#define TOOLS_VCORE_CORE_HART_H

#include "tools/vcore/core/call_chain.h"
#include "tools/vcore/core/counters.h"
#include "tools/vcore/core/pipeline.h"
#include "tools/vcore/core/predictor.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/guest_state.h"
#include "tools/vcore/stack/register_log.h"
#include "tools/vcore/windows/windows.h"

struct hart;
struct process;

/* ---- Batches (batch.c) --------------------------------------------------------------------- */

/* Cache of recently used nodes of the golden reference. */
#define GOLDEN_RECENT_BITS 9u
#define GOLDEN_RECENT	   (1u << GOLDEN_RECENT_BITS)
struct golden_recent {
	const struct vcore_golden *golden;
	struct vcore_node *node;
};

/* Reports are compared in words of this many, see account.c. */
#define REPORTS_AHEAD 16u

/* Instructions between the emulator and the accounts. */
struct batch {
	size_t room; /* in trace words */
	/* A retirement group fits in front of the steps. */
	struct step *step;
	uint64_t *access; /* trace words of the accesses of all steps */
	/* Room for STEP_REPORTS for each trace word, one more before and REPORTS_AHEAD after
	 * them. */
	struct report *report;
	size_t steps, reports;
	/*
	 * The batch only changes what caches, TLBs and predictors hold: by lines of code and
	 * accesses, in order, and by transfers, which are its steps.
	 */
	bool contents;
	uint64_t *touched; /* trace words of accesses, batch_line() of lines of code */
	uint64_t *target;  /* of the transfers */
	size_t touches;
	bool several;		     /* some steps may take several entries of the reorder buffer */
	struct counters_kinds kinds; /* instruction kinds of the steps */
	uint64_t next;		     /* pc executed after the last step */
	struct vcore_counters met;   /* event counts of the pipeline up to the last report */
};

/* The open retirement group; `retire` has only its number of members. */
struct group {
	struct step step[RETIREMENT_GROUP_MAX]; /* the members, kept between batches */
	uint64_t next;				/* pc executed after the last member */
	uint32_t caused, taken;			/* bit i: member i has a cause; member i was
						 * taken */
	uint16_t cause[RETIREMENT_GROUP_MAX];	/* of the members with a cause */
	bool behind; /* the group retires later than its reports say, because an earlier one was
		      * closed early */
};

/* After an error too, batch_free() has to be called. */
struct pesa_error *batch_create(struct batch *batch, size_t words);
void batch_free(struct batch *batch);
static inline void batch_begin_contents(struct batch *batch)
{
	batch->contents = true;
	batch->touches = batch->steps = 0;
}

/* A line of code among trace words: TRACE_ACCESS is not set. */
static inline uint64_t batch_line(uint64_t line)
{
	return line << 1;
}

static inline void batch_add_transfer(struct batch *batch, const struct insn *insn, bool taken,
				      uint64_t target)
{
	batch->step[batch->steps] = (struct step){.insn = insn, .taken = taken};
	batch->target[batch->steps++] = target;
}

/* Run the pipeline: turn steps into reports.  Of contents: change these. */
void batch_run(struct hart *hart, struct batch *batch);

/* ---- Harts --------------------------------------------------------------------------------- */

/* Bytes of `sizes` that are written at once. */
#define GROUP_SIZES 16u

struct hart {
	uint64_t *trace;	/* of the runs that become the steps of `batch` */
	uint64_t *cursor, *end; /* in `trace`: the next word; the end */
	size_t trace_room;	/* in words */
	size_t kept;	     /* words at its begin that were there before the last ones handled */
	struct batch *batch; /* `own`, or a batch of the relay */
	struct batch own;
	struct relay *relay; /* NULL until the hart uses one */
	struct process *process;
	unsigned int index; /* index of the guest CPU */
	uint32_t tid;	    /* 0: the hart has not run yet */
	uint32_t parent_tid;
	uint64_t ordinal; /* index of the thread within the process; seeds the phase of its
			   * samples */
	struct vcore_hart_slot *slot; /* NULL: not profiled */
	uint64_t turn_offset;	      /* cycles to add for the time of the process, see shared.h */
	struct turn_member turn;
	uint64_t time_offset; /* ns to add to the time of the cycles */
	struct predictor *predictor;
	unsigned int vector_type;
	const struct insn *placed; /* instruction of the newest step */
	struct pipeline *pipeline;
	struct vcore_counters meeting; /* event counts of the pipeline and its memory */
	struct vcore_counters met;     /* the same, up to the accounted instructions */
	struct retire retire;
	struct counters counters; /* all other events */
	struct leaving leaving;	  /* the reorder buffer, for the accounts */
	struct group group;
	/*
	 * Size of the retirement group of each accounted step of a batch, from index GROUP_SIZES
	 * on; 0: the golden reference does not count the step.
	 */
	uint8_t *sizes;
	struct golden_recent recent[GOLDEN_RECENT];
	struct pipeline_trace *log; /* NULL: no log is written */
	struct call_chain *calls;   /* NULL: no exact call chains are recorded */
	/* NULL: no chains by frame pointers or copies of the stack are recorded */
	struct register_log *registers;
	struct registers reader;
	const uint64_t *sampled; /* the registers before the sampled instruction; NULL: not known */
	struct windows windows;	 /* of a sampled recording */
	struct sampled *sampling; /* its counts */
	uint64_t quiet;		  /* cycle in which the pipeline was quiet when it stopped */
	bool maps_dump;		  /* the current mmap() maps a file to which a compiler dumps
				     * its code (jitdump) */
	bool waits;		  /* the newest instruction of the trace is in no batch yet */
	bool dies;		  /* the hart has executed its last instruction */
};

/*
 * Time of the last accounted cycle in ns.  It is never before a side-band event of the process, nor
 * before a time that was returned for another hart of the process.
 */
uint64_t hart_time(struct hart *hart);
/* A time for a new side-band event, later than all events before it. */
uint64_t hart_sideband_time(struct hart *hart);
/* The hart of the calling thread; NULL before its first instruction. */
struct hart *hart_current(void);
void hart_set_current(struct hart *hart);

#endif
