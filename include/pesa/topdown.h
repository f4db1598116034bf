/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Top-down: what became of the slots of a core, in a hierarchy of reasons.
 *
 * A core that retires W instructions per cycle has W slots per cycle.  A slot in which an
 * instruction retired is retiring; every other slot is lost to one reason.  The hierarchy, and the
 * names of its first two levels, are those of the RISC-V Performance Events specification
 * (TOPDOWN.*), which counts slots of dispatch; here they are slots of the retire stage, because
 * that is the stage that a sample describes (Documentation/topdown.md explains the difference).
 * The third level is the causes of a record; reasons without causes repeat the second level.
 *
 * The rule, for one cycle as the hardware records it (specification notes; design.md):
 *
 *   none retired   all W slots go to the reason of the state.  Stalled: memory if the instruction
 *                  missed, else core.  Flushed: mispredicts or clears.  Drained: front-end latency,
 *                  or memory if a full store queue kept the next instruction out.
 *   n retired      n slots are retiring; the W - n lost ones go to the reason of the instruction
 *                  that CAUSEOFFSET names.  If it is the one after the last that retired, it kept
 *                  more from retiring: memory if it missed data, front-end latency if it missed
 *                  text and nothing else, else core.  If it is the last that retired and was
 *                  mispredicted, or serialises, the pipeline was emptied after it.  If none is
 *                  named, no instruction was ready to retire: front-end bandwidth.
 *
 * It is a function of the record alone, so hardware can count by it as well as sample by it.  The
 * virtual core's counters RETIRE.*.SLOTS do (decoder/core/events.h); sampled shares are tested
 * against them.  The functions are inline because that model runs one of them for each cycle.
 *
 * Threads: every function here may be called by any thread at any time.
 */
#ifndef PESA_TOPDOWN_H
#define PESA_TOPDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/csr.h"

PESA_DECLARATIONS_BEGIN

/** Every node of the hierarchy: NODE(identifier, parent, level, name, key of JSON and of options).
 */
#define PESA_TOPDOWN_NODES(NODE)                                                                 \
	NODE(SLOTS, SLOTS, 0, "Slots", "slots")                                                  \
	NODE(RETIRING, SLOTS, 1, "Retiring", "retiring")                                         \
	NODE(BAD, SLOTS, 1, "Bad speculation", "bad_speculation")                                \
	NODE(MISPREDICTS, BAD, 2, "Branch mispredicts", "bad_speculation.mispredicts")           \
	NODE(CLEARS, BAD, 2, "Machine clears", "bad_speculation.clears")                         \
	NODE(CLEARS_SERIALISING, CLEARS, 3, "Serialising", "bad_speculation.clears.serialising") \
	NODE(CLEARS_OTHER, CLEARS, 3, "Ordering, exceptions", "bad_speculation.clears.other")    \
	NODE(FRONTEND, SLOTS, 1, "Frontend bound", "frontend_bound")                             \
	NODE(LATENCY, FRONTEND, 2, "Frontend latency", "frontend_bound.latency")                 \
	NODE(LATENCY_ICACHE, LATENCY, 3, "I-cache misses", "frontend_bound.latency.icache")      \
	NODE(LATENCY_ITLB, LATENCY, 3, "ITLB misses", "frontend_bound.latency.itlb")             \
	NODE(LATENCY_OTHER, LATENCY, 3, "Other latency", "frontend_bound.latency.other")         \
	NODE(BANDWIDTH, FRONTEND, 2, "Frontend bandwidth", "frontend_bound.bandwidth")           \
	NODE(BACKEND, SLOTS, 1, "Backend bound", "backend_bound")                                \
	NODE(MEMORY, BACKEND, 2, "Memory bound", "backend_bound.memory")                         \
	NODE(MEMORY_DTLB, MEMORY, 3, "DTLB misses", "backend_bound.memory.dtlb")                 \
	NODE(MEMORY_L1, MEMORY, 3, "D-cache misses", "backend_bound.memory.dcache")              \
	NODE(MEMORY_L2, MEMORY, 3, "L2 misses", "backend_bound.memory.l2")                       \
	NODE(MEMORY_LLC, MEMORY, 3, "Last-level misses", "backend_bound.memory.llc")             \
	NODE(MEMORY_STORES, MEMORY, 3, "Store queue full", "backend_bound.memory.stores")        \
	NODE(CORE, BACKEND, 2, "Core bound", "backend_bound.core")                               \
	NODE(CORE_FORWARD, CORE, 3, "Store forwarding", "backend_bound.core.store_forward")      \
	NODE(CORE_SERIALISING, CORE, 3, "Serialising", "backend_bound.core.serialising")         \
	NODE(CORE_EXECUTION, CORE, 3, "Execution", "backend_bound.core.execution")

/** A node of the hierarchy: PESA_TOPDOWN_ and the identifier in PESA_TOPDOWN_NODES. */
enum pesa_topdown_node {
#define PESA_TOPDOWN_NODE(id, parent, level, name, key) \
	PESA_TOPDOWN_##id, /**< for the enumeration alone */
	PESA_TOPDOWN_NODES(PESA_TOPDOWN_NODE)
#undef PESA_TOPDOWN_NODE
		PESA_TOPDOWN_NODES_COUNT /**< how many there are */
};

/** The deepest level: the root is level 0. */
#define PESA_TOPDOWN_LEVELS 3

/** A node of PESA_TOPDOWN_NODES. */
struct pesa_topdown_node_facts {
	const char *name;	       /**< for people */
	const char *key;	       /**< for programs: in JSON and options */
	enum pesa_topdown_node parent; /**< SLOTS: itself */
	uint8_t level;		       /**< 0..PESA_TOPDOWN_LEVELS */
};
/** By node.  A node comes after its parent, and before its parent's next sibling. */
extern const struct pesa_topdown_node_facts pesa_topdown_nodes[PESA_TOPDOWN_NODES_COUNT];

/** The meanings of a core's own CAUSE bits, as masks; 0: not tracked. */
struct pesa_topdown_bits {
	uint16_t l2_miss;	/**< the second-level cache was missed */
	uint16_t llc_miss;	/**< the last level was */
	uint16_t page_walk;	/**< a page table was read */
	uint16_t alloc_blocked; /**< no room for what the front end delivers */
	uint16_t store_forward; /**< a load waited for the data of a store */
	uint16_t serialise;	/**< younger instructions wait for it */
};

struct pesa_capabilities;

/** By the names of the bits ("llc-miss", ...: Documentation/core-description.md).
 * @any_thread @nothing_owned */
struct pesa_topdown_bits pesa_topdown_bits(const struct pesa_capabilities *capabilities);

/** Data that was not there.
 * @any_thread @nothing_owned */
static inline uint16_t pesa_topdown_memory_causes(const struct pesa_topdown_bits *bits)
{
	return PESA_CAUSE_DCACHE_MISS | PESA_CAUSE_DTLB_MISS | bits->l2_miss | bits->llc_miss |
	       bits->page_walk;
}

/** The reason of an instruction that is not done.
 * @any_thread @nothing_owned */
static inline enum pesa_topdown_node pesa_topdown_stalled(const struct pesa_topdown_bits *bits,
							  uint16_t cause)
{
	if (cause & bits->llc_miss)
		return PESA_TOPDOWN_MEMORY_LLC;
	if (cause & bits->l2_miss)
		return PESA_TOPDOWN_MEMORY_L2;
	if (cause & PESA_CAUSE_DCACHE_MISS)
		return PESA_TOPDOWN_MEMORY_L1;
	if (cause & pesa_topdown_memory_causes(bits))
		return PESA_TOPDOWN_MEMORY_DTLB;
	if (cause & bits->serialise)
		return PESA_TOPDOWN_CORE_SERIALISING;
	return cause & bits->store_forward ? PESA_TOPDOWN_CORE_FORWARD
					   : PESA_TOPDOWN_CORE_EXECUTION;
}

/** The reason of an instruction that has not arrived.
 * @any_thread @nothing_owned */
static inline enum pesa_topdown_node pesa_topdown_drained(const struct pesa_topdown_bits *bits,
							  uint16_t cause)
{
	if (cause & bits->alloc_blocked)
		return PESA_TOPDOWN_MEMORY_STORES;
	if (cause & PESA_CAUSE_ICACHE_MISS)
		return PESA_TOPDOWN_LATENCY_ICACHE;
	return cause & PESA_CAUSE_ITLB_MISS ? PESA_TOPDOWN_LATENCY_ITLB
					    : PESA_TOPDOWN_LATENCY_OTHER;
}

/** The reason of an empty pipeline after an instruction.
 * @any_thread @nothing_owned */
static inline enum pesa_topdown_node pesa_topdown_flushed(const struct pesa_topdown_bits *bits,
							  uint16_t cause)
{
	if (cause & PESA_CAUSE_BRANCH_MISPREDICT)
		return PESA_TOPDOWN_MISPREDICTS;
	return cause & bits->serialise ? PESA_TOPDOWN_CLEARS_SERIALISING
				       : PESA_TOPDOWN_CLEARS_OTHER;
}

/** The reason of the lost slots of a cycle in which `instret` instructions retired.
 * @any_thread @nothing_owned */
static inline enum pesa_topdown_node pesa_topdown_partial(const struct pesa_topdown_bits *bits,
							  unsigned int instret,
							  unsigned int cause_offset, uint16_t cause)
{
	const uint16_t text = PESA_CAUSE_ICACHE_MISS | PESA_CAUSE_ITLB_MISS | bits->alloc_blocked;

	if (!cause_offset)
		return PESA_TOPDOWN_BANDWIDTH;
	if (cause & pesa_topdown_memory_causes(bits))
		return pesa_topdown_stalled(bits, cause);
	if (cause_offset == instret + 1)
		return cause & text ? pesa_topdown_drained(bits, cause)
				    : pesa_topdown_stalled(bits, cause);
	if (cause_offset == instret && cause & (PESA_CAUSE_BRANCH_MISPREDICT | bits->serialise))
		return pesa_topdown_flushed(bits, cause);
	return cause & text ? pesa_topdown_drained(bits, cause) : PESA_TOPDOWN_BANDWIDTH;
}

/** The reason of a cycle's lost slots.  `cause` is 0 where cause_offset is.
 * @any_thread @nothing_owned */
static inline enum pesa_topdown_node pesa_topdown_lost(const struct pesa_topdown_bits *bits,
						       unsigned int state, unsigned int instret,
						       unsigned int cause_offset, uint16_t cause)
{
	switch (state) {
	case PESA_STATE_RETIRING:
		return pesa_topdown_partial(bits, instret, cause_offset, cause);
	case PESA_STATE_STALLED:
		return pesa_topdown_stalled(bits, cause);
	case PESA_STATE_FLUSHED:
		return pesa_topdown_flushed(bits, cause);
	default:
		return pesa_topdown_drained(bits, cause);
	}
}

PESA_DECLARATIONS_END

#endif
