/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Retirement: the state of every cycle, by the rules of the specification notes (Decisions 1 to 3).
 *
 * Instructions are passed in program order, with the cycles in which they entered the reorder
 * buffer, could retire and did retire.  Cycles are accounted in order, each exactly once.  Cycles
 * before an instruction's retirement are accounted when it is passed.  A cycle in which
 * instructions retire is accounted when the first instruction of a later cycle is passed, because
 * only then are the number of retired instructions and the cause that blocked the next one known.
 *
 * The virtual core and the import of pipeline traces use these steps for their records and for
 * their exact reference profile:
 *
 * 	if (retirement_leaves_group(r, passage, &cycle)) {
 * 		the open group is over: retirement_name(), account its cycle, retirement_close()
 * 		retirement_idle(): spans of cycles in which nothing retired; account them
 * 		an instruction that faulted ends here
 * 		retirement_open()
 * 	}
 * 	retirement_add()
 *
 * All of it is inline: it runs once for every instruction that a virtual core executes.
 */
#ifndef DECODER_CORE_RETIREMENT_H
#define DECODER_CORE_RETIREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/csr.h"
#include "pesa/record.h"

#define RETIREMENT_GROUP_MAX 15u /* maximum value of INSTRET */

struct retired {
	const void *insn; /* the caller's static instruction */
	uint64_t target;
	uint16_t cause;
	bool taken;
};

struct retirement {
	uint32_t width;	    /* retire width of the core, instructions per cycle */
	uint32_t room;	    /* maximum size of a group, at most RETIREMENT_GROUP_MAX */
	uint64_t accounted; /* cycles before this one are accounted */
	uint64_t cycle;	    /* of the open group */
	unsigned int count; /* of the open group */
	struct retired group[RETIREMENT_GROUP_MAX];
	/* the last instruction flushed the pipeline: blamed until `flush_until` */
	const void *flushed_by;
	uint16_t flush_cause;
	uint64_t flush_until;
};

/* One instruction's passage through the pipeline, as far as retirement uses it.  In cycles. */
struct retirement_passage {
	const void *insn;
	uint64_t target;      /* address of the next instruction executed */
	uint64_t dispatched;  /* entered the reorder buffer */
	uint64_t complete;    /* first cycle in which it could retire */
	uint64_t retired;     /* cycle of retirement or exception */
	uint16_t front_cause; /* CAUSE bits set before dispatch */
	uint16_t cause;	      /* all its CAUSE bits */
	bool taken;
	bool faulted; /* an exception was taken instead of retirement */
};

/* Cycles [start, end) without retirement, all with the same state. */
struct retirement_span {
	uint64_t start, end;
	const void *insn;
	unsigned int state; /* PESA_STATE_* */
	uint16_t cause;
};

#define RETIREMENT_SPANS 3u

/* The instruction flushed the pipeline; without further events the next one enters the reorder
 * buffer in cycle `until`. */
static inline void retirement_flush(struct retirement *retirement, const void *insn, uint16_t cause,
				    uint64_t until)
{
	retirement->flushed_by = insn;
	retirement->flush_cause = cause;
	retirement->flush_until = until;
}

/* Whether the instruction retires after the open group; *cycle is its cycle of retirement. */
static inline bool retirement_leaves_group(struct retirement *retirement,
					   const struct retirement_passage *passage,
					   uint64_t *cycle)
{
	uint64_t floor = retirement->count ? retirement->cycle : retirement->accounted;

	/* A group closed because it was full keeps its cycle. */
	if (retirement->count == retirement->room)
		floor++;
	*cycle = passage->retired < floor ? floor : passage->retired;
	if (!retirement->count || *cycle != retirement->cycle || passage->faulted)
		return true;
	/* It retires with the one that flushed: nothing waits for that flush any more. */
	retirement->flushed_by = NULL;
	return false;
}

/* The reason why the next instruction did not retire with the open group. */
struct retirement_block {
	bool waits; /* it is in the reorder buffer and not complete */
	uint16_t cause;
};

static inline struct retirement_block retirement_blocks(const struct retirement *retirement,
							const struct retirement_passage *passage)
{
	bool waits =
		passage->complete > retirement->cycle && passage->dispatched <= retirement->cycle;
	/* A flush is over when an instruction has entered the reorder buffer. */
	bool blocks = waits || (passage->complete > retirement->cycle && !retirement->flushed_by);

	/* An instruction that has not been dispatched has only the causes from before dispatch. */
	return (struct retirement_block){waits, waits	 ? passage->cause
						: blocks ? passage->front_cause
							 : 0};
}

/* Returns CAUSEOFFSET (0: none) and sets *cause for the open group's cycle.  `first`: index,
 * counted from one, of its first instruction with a cause, and that cause; 0: none. */
static inline unsigned int retirement_name_of(const struct retirement *retirement,
					      struct retirement_block block, unsigned int first,
					      uint16_t first_cause, uint16_t *cause)
{
	*cause = block.cause;
	if (block.cause)
		return retirement->count + 1;
	*cause = first ? first_cause : 0;
	if (first)
		return first;
	return block.waits && retirement->count < retirement->width ? retirement->count + 1 : 0;
}

/* Likewise, with the causes of the group's members. */
static inline unsigned int retirement_name(const struct retirement *retirement,
					   struct retirement_block block, uint16_t *cause)
{
	const struct retired *group = retirement->group;
	unsigned int i = 0;

	while (i < retirement->count && !group[i].cause)
		i++;
	return i < retirement->count
		       ? retirement_name_of(retirement, block, i + 1, group[i].cause, cause)
		       : retirement_name_of(retirement, block, 0, 0, cause);
}

/* Mark the open group's cycle as accounted. */
static inline void retirement_close(struct retirement *retirement)
{
	retirement->accounted = retirement->cycle + 1;
	retirement->count = 0;
}

static inline uint64_t retirement_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Classify the cycles until `cycle`, in which the instruction retires.  Each span may be empty
 * (start >= end); the caller accounts them in order and sets retirement->accounted to their ends.
 */
static inline void retirement_idle(struct retirement *retirement,
				   const struct retirement_passage *passage, uint64_t cycle,
				   struct retirement_span span[RETIREMENT_SPANS])
{
	uint64_t at = retirement->accounted;
	uint64_t arrival = retirement_least(passage->dispatched, cycle);
	uint64_t flushed =
		retirement->flushed_by ? retirement_least(retirement->flush_until, arrival) : at;

	span[0] = (struct retirement_span){at, flushed, retirement->flushed_by, PESA_STATE_FLUSHED,
					   retirement->flush_cause};
	retirement->flushed_by = NULL;
	at = at < flushed ? flushed : at;
	span[1] = (struct retirement_span){at, arrival, passage->insn, PESA_STATE_DRAINED,
					   passage->front_cause};
	at = at < arrival ? arrival : at;
	span[2] = (struct retirement_span){at, cycle, passage->insn, PESA_STATE_STALLED,
					   passage->cause};
}

/* Start a group in `cycle`. */
static inline void retirement_open(struct retirement *retirement, uint64_t cycle)
{
	retirement->cycle = cycle;
}

static inline void retirement_add(struct retirement *retirement,
				  const struct retirement_passage *passage)
{
	struct retired *retired = &retirement->group[retirement->count++];

	retired->insn = passage->insn;
	retired->cause = passage->cause;
	retired->taken = passage->taken;
	retired->target = passage->target;
}

/* ---- Records --------------------------------------------------------------------------------- */

#define RETIREMENT_PACK(field, value) \
	(((uint64_t)(value)&PESA_DETAILS_##field##_MASK) << PESA_DETAILS_##field##_SHIFT)

/* The record of a cycle without retirement: fields that depend on the cycle only. */
static inline void retirement_record_idle(uint64_t pc, unsigned int state, uint16_t cause,
					  struct pesa_record *record)
{
	record->pc = pc;
	record->flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS;
	record->details = RETIREMENT_PACK(RSTATE, state) |
			  RETIREMENT_PACK(CAUSEOFFSET, cause != 0) | RETIREMENT_PACK(CAUSE, cause);
}

/* The record of the open group; `named` and `cause` are the results of retirement_name(). */
static inline void retirement_record_group(const struct retirement *retirement, uint64_t pc,
					   unsigned int named, uint16_t cause,
					   unsigned int ct_targets, struct pesa_record *record)
{
	const struct retired *group = retirement->group;
	unsigned int transfers = 0;

	record->pc = pc;
	record->flags = PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS;
	record->details = RETIREMENT_PACK(INSTRET, retirement->count) |
			  RETIREMENT_PACK(RSTATE, PESA_STATE_RETIRING) |
			  RETIREMENT_PACK(CAUSEOFFSET, named) | RETIREMENT_PACK(CAUSE, cause);
	for (unsigned int i = 0; i < retirement->count; i++) {
		if (!group[i].taken)
			continue;
		/* Offsets do not depend on the targets that the core gives (Decision 6). */
		if (transfers < 2)
			record->details |= transfers ? RETIREMENT_PACK(CTOFFSET2, i + 1)
						     : RETIREMENT_PACK(CTOFFSET1, i + 1);
		if (transfers < ct_targets) {
			record->bt[transfers] = group[i].target;
			record->flags |= transfers ? PESA_RECORD_HAS_BT2 : PESA_RECORD_HAS_BT1;
		}
		transfers++;
	}
	record->details |= RETIREMENT_PACK(CTS, transfers);
}

/* ---- Which cycles are sampled ---------------------------------------------------------------- */

/* SplitMix64 (public domain algorithm of S. Vigna). */
static inline uint64_t retirement_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline uint64_t retirement_random_below(uint64_t *state, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)retirement_random(state) * limit >> 64);
}

/* The random generator of a hart: a separate sequence for each process and hart. */
static inline uint64_t retirement_seed(uint64_t seed, uint64_t process, uint64_t hart)
{
	seed = retirement_random(&seed) ^ process;
	return retirement_random(&seed) ^ hart;
}

/* Cycles to the first sample: with jitter it is anywhere in the first period, so that harts that
 * run for less than a period get their share of the samples. */
static inline uint64_t retirement_first_sample(uint64_t *random, uint64_t period, uint64_t jitter)
{
	return jitter ? retirement_random_below(random, period) : period - 1;
}

/* Cycles from one sample to the next: uniform in period +- jitter. */
static inline uint64_t retirement_interval(uint64_t *random, uint64_t period, uint64_t jitter)
{
	return jitter ? period + retirement_random_below(random, 2 * jitter + 1) - jitter : period;
}

#endif
