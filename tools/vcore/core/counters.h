/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of a hart: what each event counts is said in decoder/core/events.h.
 *
 * Whoever makes an event happen counts it: memory.c its lookups, pipeline.c its resteers, retire.c
 * states and flushes.  Slots of dispatch are accounted here, in program order: the slots between
 * two instructions' dispatch are lost to what kept the second one.  What the retire stage waited
 * for in those cycles is known by then, since everything older has been handled.
 *
 * Counters are private to the hart while the model runs; counters_publish() copies a consistent
 * state to shared memory: every identity between events holds in what is published.
 */
#ifndef TOOLS_VCORE_CORE_COUNTERS_H
#define TOOLS_VCORE_CORE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "decoder/core/events.h"
#include "pesa/topdown.h"

struct insn;
struct hart;

/* Why the back end was emptied; in the order of the events that count them. */
enum flush_kind {
	FLUSH_MISPREDICT,
	FLUSH_ORDERING,
	FLUSH_SERIALISE,
	FLUSH_EXCEPTION,
	FLUSH_INTERRUPT,
};

/* Cycles [start, end) in which retirement waited for a miss. */
struct miss_wait {
	uint64_t start, end;
};

/* Slots of dispatch up to the newest instruction. */
struct topdown {
	uint64_t cycle;	   /* of the newest dispatch; slots before it are accounted */
	uint32_t count;	   /* instructions dispatched in it */
	uint32_t width;	   /* slots a cycle */
	uint64_t occupied; /* the reorder buffer holds something in all cycles before this one */
	struct {
		bool pending;
		enum flush_kind kind;
		uint64_t until; /* cycle */
	} flush;		/* by the newest instruction, in `cycle` */
	struct miss_wait *wait; /* ring of those that dispatch has not passed */
	uint32_t wait_mask, wait_first, wait_next;
};

/* Kinds of instructions that are counted, each in a field of packed counts. */
#define COUNTERS_KINDS	    5u
#define COUNTERS_FIELD_BITS 12u
#define COUNTERS_FIELD_MOST ((1u << COUNTERS_FIELD_BITS) - 1)

/* How many instructions of each kind there are. */
struct counters_kinds {
	uint64_t count[COUNTERS_KINDS];
};

/* Add packed counts. */
static inline void counters_unpack(struct counters_kinds *kinds, uint64_t packed)
{
	for (unsigned int i = 0; i < COUNTERS_KINDS; i++)
		kinds->count[i] += packed >> (i * COUNTERS_FIELD_BITS) & COUNTERS_FIELD_MOST;
}

struct counters {
	struct vcore_counters now;
	struct topdown topdown;
	struct pesa_topdown_bits bits;
	uint32_t retire_width;
};

/* The low halves of the cycles in which those leave that have taken places of the reorder buffer, a
 * ring. */
struct leaving {
	uint32_t *cycle;
	uint32_t mask, entries; /* of the reorder buffer */
	uint32_t next;
};

bool leaving_create(struct leaving *leaving, uint32_t entries);
void leaving_free(struct leaving *leaving);

bool counters_create(struct counters *counters, const struct pesa_core *core);
void counters_free(struct counters *counters);
/* Count from zero, from the cycle `start` on. */
void counters_begin(struct counters *counters, uint64_t start);

/* What one execution of an instruction adds to packed counts: one in the field of each of its
 * kinds. */
uint64_t counters_of_insn(const struct insn *insn);
/* All of them retire, */
void counters_count_insns(struct counters *counters, const struct counters_kinds *counted);
/* but for this one, of which counters_of_insn() says `counts`. */
void counters_uncount_insn(struct counters *counters, uint64_t counts);

/* An instruction enters the reorder buffer in cycle `dispatched`; the front end had it ready in
 * cycle `supplied`.  `insn`: NULL, or it, which may have waited for an empty reorder buffer. */
void counters_dispatch(struct counters *counters, const struct insn *insn, uint64_t supplied,
		       uint64_t dispatched);
/* Likewise; it will not retire. */
void counters_dispatch_squashed(struct counters *counters, enum flush_kind kind,
				const struct insn *insn, uint64_t supplied, uint64_t dispatched);
/*
 * The newest instruction empties the pipeline in cycle `resolved`; the next one can be dispatched
 * in cycle `until`.  Until it is resolved, what follows takes places of the reorder buffer as they
 * come free, from cycle `first` on, in which the issue queues have room.  `near`: as for
 * report_cycle().
 */
void counters_flush(struct counters *counters, enum flush_kind kind, uint64_t resolved,
		    uint64_t until, uint64_t first, uint64_t near, const struct leaving *leaving);
/* A cycle in which `instret` instructions retired, as its record tells it. */
static inline void counters_retired(struct counters *counters, unsigned int instret,
				    unsigned int cause_offset, uint16_t cause)
{
	unsigned int lost = counters->retire_width - instret;
	enum pesa_topdown_node node = PESA_TOPDOWN_BANDWIDTH;

	if (cause_offset && lost)
		node = pesa_topdown_partial(&counters->bits, instret, cause_offset, cause);
	counters->now.event[VCORE_EVENT_OF_NODE(node)] += lost;
}
/* Cycles in which none did. */
static inline void counters_idle(struct counters *counters, unsigned int state, uint16_t cause,
				 uint64_t cycles)
{
	enum pesa_topdown_node node = pesa_topdown_lost(&counters->bits, state, 0, 1, cause);

	counters->now.event[VCORE_EVENT_OF_NODE(node)] += cycles * counters->retire_width;
}
/* Retirement waits for a miss in cycles [start, end). */
void counters_miss_wait(struct counters *counters, uint64_t start, uint64_t end);
/* Copy the counts up to the newest accounted cycle to the hart's slot. */
void counters_publish(struct hart *hart);

#endif
