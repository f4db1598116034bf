/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retirement: what every cycle is, and which of them are sampled. */
#ifndef TOOLS_VCORE_CORE_RETIRE_H
#define TOOLS_VCORE_CORE_RETIRE_H

#include "decoder/core/retirement.h"
#include "decoder/core/samplers.h"
#include "tools/vcore/core/insn.h"

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

/* Where samples go: to the recorder (sample_send.c) or into the registers of the board (board.c). */
struct sample_sink {
	/* Cycles from one sample to the next. */
	uint64_t (*interval)(struct hart *hart);
	void (*deliver)(struct hart *hart, enum vcore_sampler sampler, struct pesa_record *record);
	/* Whether a control transfer is recorded; NULL: all are. */
	bool (*records_transfer)(const struct hart *hart, const struct transfer *transfer);
	/* An instruction retired while the period counter counts another event than cycles; NULL: it
	 * counts cycles always. */
	void (*count)(struct hart *hart, const struct passage *passage);
	bool on_time; /* samples are delivered in their cycle: no other thread may run the pipeline */
};

/* Samples become messages to the recorder. */
extern const struct sample_sink sample_send;

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

#endif
