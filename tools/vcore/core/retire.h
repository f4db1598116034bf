/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retirement: assigns every cycle to an instruction, samples cycles, and records control transfers.
 */
#ifndef TOOLS_VCORE_CORE_RETIRE_H
#define TOOLS_VCORE_CORE_RETIRE_H

#include "decoder/core/retirement.h"
#include "decoder/core/samplers.h"
#include "decoder/core/transfer_cycles.h"
#include "tools/vcore/core/insn.h"

/* A control transfer record (Ssctr).  board.c passes this layout to the emulator. */
struct transfer {
	uint64_t source, target;
	uint32_t data; /* ctrdata: PESA_CTR_*, and the cycles since the record before */
	bool mispredicted;
};

/* The cycle counter of the records: cycles in which transfers are recorded, since the newest one. */
struct transfer_clock {
	uint64_t since;	  /* the cycle from which on it counts */
	uint64_t counted; /* before that */
	bool runs;
	bool valid; /* no cycle was missed */
};

#define SAMPLES_WAITING 64u

/* Sampled cycles, in order, that wait for their instruction: the first one in or after `due`. */
struct sample_wait {
	uint64_t due[SAMPLES_WAITING];
	uint32_t first, next;
};

struct samplers {
	uint64_t dispatch_due, retire_due; /* first due cycle; UINT64_MAX: none */
	uint64_t due;			   /* the earlier of the two */
	uint32_t mask;			   /* 1 << enum vcore_sampler */
	uint32_t skid;			   /* cycles from an interrupt to the dispatch of its
					    * first instruction */
	bool skids; /* interrupts are taken some instructions behind the oldest one; those of the
		     * sampler that wait then have, in place of a cycle, how many are still to come */
	uint64_t random;
	struct sample_wait wait[VCORE_SAMPLER_COUNT];
};

struct retire {
	struct retirement stage;
	uint32_t ctr_depth; /* of the core */
	uint64_t start;	    /* the first cycle that belongs to this process */
	/* sampling */
	uint64_t next_sample; /* cycle */
	uint64_t events_left; /* board: events until the period counter overflows; 0: it counts
			       * cycles */
	uint64_t random;
	uint64_t lost;		   /* messages lost since the last one that was sent */
	const struct insn *newest; /* newest retired instruction, or NULL */
	struct samplers samplers;
	/* Control transfer records: a ring of the next power of two above ctr_depth. */
	struct transfer *transfers;
	uint32_t transfer_mask;	 /* its size - 1 */
	uint32_t transfer_next;	 /* place of the next record, modulo the ring's size */
	uint32_t transfer_count; /* valid records from the newest on, at most ctr_depth */
	struct transfer_clock clock;
};

/* The passage of one instruction through the pipeline, as the retire stage needs it. */
struct passage {
	const struct insn *insn;
	uint64_t target;      /* pc of the next instruction */
	uint64_t supplied;    /* cycle in which the front end had it ready for dispatch */
	uint64_t dispatched;  /* cycle in which the instruction entered the reorder buffer */
	uint64_t complete;    /* first cycle in which the instruction could retire */
	uint64_t retired;     /* cycle */
	uint16_t front_cause; /* causes met before dispatch */
	uint16_t cause;	      /* all causes met */
	bool taken;
	bool faulted; /* the instruction raised an exception and did not retire */
};

struct hart;
struct batch;

/*
 * The consumer of samples: messages to the recorder (sample_send.c) or the registers of the board
 * (board.c).
 */
struct sample_sink {
	/* Return the number of cycles to the next sample. */
	uint64_t (*interval)(struct hart *hart);
	void (*deliver)(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record);
	/* Record a control transfer by `insn`, or not, which retires in the cycle of the open group;
	 * NULL: record all. */
	void (*record_transfer)(struct hart *hart, const struct insn *insn,
				const struct transfer *transfer);
	/*
	 * Called for a retired instruction while the period counter counts an event other than
	 * cycles; NULL: it always counts cycles.
	 */
	void (*count)(struct hart *hart, const struct passage *passage);
	bool on_time; /* samples must be delivered in their cycle: no relay may run the pipeline */
};

/* Sends samples to the recorder. */
extern const struct sample_sink sample_send;

/* Account the reports of a batch. */
void batch_account(struct hart *hart, const struct batch *batch);
/* Close the open group: no further instruction retires in its cycle. */
void account_close(struct hart *hart);
/* Start sampling and accounting with cycle `start`. */
void retire_begin(struct hart *hart, uint64_t start);
/*
 * Take a sample of `cycle` with the given record; the other arguments are those of samplers_take().
 */
void retire_sample(struct hart *hart, uint64_t cycle, struct pesa_record *record,
		   const struct insn *oldest, const struct insn *youngest);
/*
 * The cycle counter begins anew at `cycle`, and the count of the next record is not valid; stops;
 * goes on.
 */
static inline void transfer_clock_reset(struct transfer_clock *clock, uint64_t cycle, bool runs)
{
	*clock = (struct transfer_clock){.since = cycle, .runs = runs};
}

static inline void transfer_clock_stop(struct transfer_clock *clock, uint64_t cycle)
{
	if (clock->runs)
		clock->counted += cycle - clock->since;
	clock->runs = false;
}

static inline void transfer_clock_go_on(struct transfer_clock *clock, uint64_t cycle)
{
	if (clock->runs)
		return;
	clock->since = cycle;
	clock->runs = true;
}

/* Record a transfer that retires in `cycle` as the newest, with the cycles since the one before. */
static inline void retire_push_transfer(struct retire *retire, struct transfer transfer,
					uint64_t cycle)
{
	struct transfer_clock *clock = &retire->clock;

	if (clock->valid)
		transfer.data |= transfer_cycles_encode(clock->counted +
							(clock->runs ? cycle - clock->since : 0));
	*clock = (struct transfer_clock){.since = cycle, .runs = clock->runs, .valid = true};
	retire->transfers[retire->transfer_next++ & retire->transfer_mask] = transfer;
	retire->transfer_count += retire->transfer_count < retire->ctr_depth;
}

/* Forget the newest record. */
static inline void retire_pop_transfer(struct retire *retire)
{
	retire->transfer_next--;
	retire->transfer_count -= retire->transfer_count > 0;
}

/* Record `index`, of transfer_count, of which 0 is the newest. */
static inline struct transfer *retire_newest_transfer(const struct retire *retire, uint32_t index)
{
	return &retire->transfers[(retire->transfer_next - 1 - index) & retire->transfer_mask];
}

/* A control transfer retires. */
void retire_transfer(struct hart *hart, const struct insn *insn, uint64_t target, uint16_t cause);

/* ---- Weaker hardware (samplers.c) ---------------------------------------------------------- */

void samplers_begin(struct hart *hart);
/*
 * Cycle `cycle` is sampled.  `oldest` is the oldest instruction that retired in the cycle, or NULL;
 * `newest` is the youngest one that has retired so far, or NULL.
 */
void samplers_take(struct hart *hart, uint64_t cycle, const struct insn *oldest,
		   const struct insn *youngest);
/* `insn` is the first to retire in `cycle`.  Call it from samplers.retire_due on. */
void samplers_retire(struct hart *hart, const struct insn *insn, uint64_t cycle);
/* An instruction was dispatched.  Call it from samplers.dispatch_due on. */
void samplers_dispatch(struct hart *hart, const struct passage *passage);
/* The thread ends: samples that still wait have no instruction. */
void samplers_end(struct hart *hart);

#endif
