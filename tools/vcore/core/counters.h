/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event counters of a hart.  decoder/core/events.h defines what each event counts.
 *
 * The code in which an event occurs counts it: memory.c lookups, pipeline.c resteers, retire.c
 * states and flushes.  Dispatch slots are accounted here, in program order: the slots between the
 * dispatch of two instructions are lost to whatever delayed the second one.  The reason for which
 * the retire stage waited in those cycles is known by then, because all older instructions are
 * accounted.
 *
 * The counters are private to the hart while the model runs.  counters_publish() copies a
 * consistent state to shared memory, in which every identity between events holds.
 */
#ifndef TOOLS_VCORE_CORE_COUNTERS_H
#define TOOLS_VCORE_CORE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "decoder/core/events.h"
#include "pesa/error.h"
#include "pesa/topdown.h"

struct insn;
struct hart;

/* Why the pipeline was flushed, in the order of the events that count flushes. */
enum flush_kind {
	FLUSH_MISPREDICT,
	FLUSH_ORDERING,
	FLUSH_SERIALISE,
	FLUSH_EXCEPTION,
	FLUSH_INTERRUPT,
};

/* Retirement waited for a miss in cycles [start, end). */
struct miss_wait {
	uint64_t start, end;
};

/* Dispatch slots up to the newest instruction. */
struct topdown {
	uint64_t cycle;	   /* cycle of the newest dispatch; slots before it are accounted */
	uint32_t count;	   /* instructions dispatched in that cycle */
	uint32_t width;	   /* slots per cycle */
	uint64_t occupied; /* the reorder buffer is not empty in cycles before this one */
	struct {
		bool pending;
		enum flush_kind kind;
		uint64_t until; /* cycle in which the recovery ends */
	} flush;		/* by the newest instruction, in `cycle` */
	struct miss_wait *wait; /* ring of waits that end after the newest dispatch */
	uint32_t wait_mask, wait_first, wait_next;
};

/* Kinds of instructions that are counted, one field of the packed counts each. */
#define COUNTERS_KINDS	    5u
#define COUNTERS_FIELD_BITS 12u
#define COUNTERS_FIELD_MOST ((1u << COUNTERS_FIELD_BITS) - 1)

/* Number of instructions of each kind. */
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

/* Ring of the cycles (low 32 bits) in which the entries of the reorder buffer leave it. */
struct leaving {
	uint32_t *cycle;
	uint32_t mask, entries; /* ring mask; entries of the reorder buffer */
	uint32_t next;
};

struct pesa_error *leaving_create(struct leaving *leaving, uint32_t entries);
void leaving_free(struct leaving *leaving);

struct pesa_error *counters_create(struct counters *counters, const struct pesa_core *core);
void counters_free(struct counters *counters);
/* Reset the counters; the first cycle is `start`. */
void counters_begin(struct counters *counters, uint64_t start);

/* Packed counts of one execution of an instruction: 1 in the field of each of its kinds. */
uint64_t counters_of_insn(const struct insn *insn);
/* Count instructions that retire. */
void counters_count_insns(struct counters *counters, const struct counters_kinds *counted);
/* Take back one instruction, whose counters_of_insn() is `counts`, because it does not retire. */
void counters_uncount_insn(struct counters *counters, uint64_t counts);

/*
 * An instruction enters the reorder buffer in cycle `dispatched`; the front end had it ready in
 * cycle `supplied`.  `insn` may be NULL if it does not serialise.
 */
void counters_dispatch(struct counters *counters, const struct insn *insn, uint64_t supplied,
		       uint64_t dispatched);
/* Like counters_dispatch(), for an instruction that is squashed. */
void counters_dispatch_squashed(struct counters *counters, enum flush_kind kind,
				const struct insn *insn, uint64_t supplied, uint64_t dispatched);
/*
 * The newest instruction flushes the pipeline in cycle `resolved`; the next one can be dispatched
 * in cycle `until`.  Until `resolved`, squashed instructions take entries of the reorder buffer as
 * they become free, from cycle `first` on, when the issue queues have room.  `near`: see
 * report_cycle().
 */
void counters_flush(struct counters *counters, enum flush_kind kind, uint64_t resolved,
		    uint64_t until, uint64_t first, uint64_t near, const struct leaving *leaving);
/* Count a cycle in which `instret` instructions retired, by state and cause. */
static inline void counters_retired(struct counters *counters, unsigned int instret,
				    unsigned int cause_offset, uint16_t cause)
{
	unsigned int lost = counters->retire_width - instret;
	enum pesa_topdown_node node = PESA_TOPDOWN_BANDWIDTH;

	if (cause_offset && lost)
		node = pesa_topdown_partial(&counters->bits, instret, cause_offset, cause);
	counters->now.event[VCORE_EVENT_OF_NODE(node)] += lost;
}
/* Count `cycles` in which no instruction retired. */
static inline void counters_idle(struct counters *counters, unsigned int state, uint16_t cause,
				 uint64_t cycles)
{
	enum pesa_topdown_node node = pesa_topdown_lost(&counters->bits, state, 0, 1, cause);

	counters->now.event[VCORE_EVENT_OF_NODE(node)] += cycles * counters->retire_width;
}
/* Retirement waits for a miss in cycles [start, end). */
void counters_miss_wait(struct counters *counters, uint64_t start, uint64_t end);
/* The counts up to the newest accounted cycle. */
void counters_read(struct hart *hart, struct vcore_counters *counts);
/* Copy them to the hart's slot; of a sampled recording, estimates are there (guest/sampled.c). */
void counters_publish(struct hart *hart);

#endif
