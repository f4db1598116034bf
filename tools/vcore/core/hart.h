/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hart: a thread of the guest with a core of its own, from the trace of what it executed to its
 * accounts.
 */
#ifndef TOOLS_VCORE_CORE_HART_H
#define TOOLS_VCORE_CORE_HART_H

#include "tools/vcore/core/counters.h"
#include "tools/vcore/core/pipeline.h"
#include "tools/vcore/core/predictor.h"
#include "tools/vcore/core/retire.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/core/guest_state.h"

struct hart;
struct process;

/* ---- Batches (batch.c) --------------------------------------------------------------------- */

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

bool batch_create(struct batch *batch, size_t words);
void batch_free(struct batch *batch);
/* Steps to reports. */
void batch_run(struct hart *hart, struct batch *batch);

/* ---- Harts --------------------------------------------------------------------------------- */

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
	uint64_t ordinal; /* index of the thread within the process: seeds its samples' phase */
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

/* Time of the hart's last accounted cycle, ns, not before any side-band event or what was told of
 * another hart of its process. */
uint64_t hart_time(struct hart *hart);
/* A time for a new side-band event: later than all that happened before. */
uint64_t hart_sideband_time(struct hart *hart);
/* The hart of the calling thread, NULL before its first instruction. */
struct hart *hart_current(void);
void hart_set_current(struct hart *hart);

#endif
