/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that the virtual core counts.
 *
 * Names are those of the RISC-V Performance Events specification (draft of 2025).  Events that it
 * does not have, marked "own" below, extend its hierarchy as it allows.  Every hart has one counter
 * for each event.  The meaning of each name is defined only here, for `pesa stat`, `pesa list` and
 * the manual.
 *
 * TOPDOWN events count dispatch slots: `dispatch.width` in each cycle.  A slot is either used by an
 * instruction, or lost to the first of these conditions that holds: the pipeline recovers from a
 * flush, the front end delivers no instruction, the back end has no room.  So these equations
 * always hold:
 *
 *   TOPDOWN.SLOTS = dispatch width x CYCLES.HART
 *                 = RETIRING + BAD_SPECULATION + FRONTEND_BOUND + BACKEND_BOUND
 *   BAD_SPECULATION = MISPREDICT + MEM_ORDERING + OTHER = UNRESOLVED + RECOVERY of both kinds
 *   FRONTEND_BOUND = LATENCY + BANDWIDTH
 *   BACKEND_BOUND = MEMORY + CORE
 *   FLUSH.CYCLES = FLUSH.x.CYCLES over all x
 *
 * The virtual core fetches nothing on a wrong path (Documentation/virtual-core.md).  The slots that
 * a wrong path would have used are computed.  From the dispatch of the flushing instruction until
 * the flush, younger instructions take the free entries of the reorder buffer, at dispatch width.
 * These are the UNRESOLVED events: slots issued and not retired.  Slots for which the back end has
 * no room count as bound by the back end.
 *
 * RETIRE.*.SLOTS are the same hierarchy in slots of the retire stage, by the rule of
 * pesa/topdown.h, in the order of its nodes.  A sampled profile estimates these.
 *
 *   RETIRE.SLOTS = retire width x CYCLES.HART, every node is the sum of those below it
 */
#ifndef DECODER_CORE_EVENTS_H
#define DECODER_CORE_EVENTS_H

#include <stdint.h>

/* EVENT(identifier, name, unit, what it counts) */
/* clang-format off */
#define VCORE_EVENTS(EVENT)                                                                        \
	EVENT(CYCLES, "CYCLES.HART", "cycles", "cycles that the hart ran")                          \
	EVENT(INSTRUCTIONS, "INST.RET", "instructions", "instructions retired")                     \
	EVENT(BRJMP, "INST.BRJMP.RET", "instructions", "branches and jumps retired")                \
	EVENT(TAKEN, "INST.BRJMP.TK.RET", "instructions", "jumps and taken branches retired")       \
	EVENT(MISPRED, "INST.MISPRED.RET", "instructions", "mispredicted branches and jumps retired") \
	EVENT(MISPRED_BRANCH, "INST.MISPRED.BRANCH.RET", "instructions",                            \
	      "mispredicted conditional branches retired")                                          \
	EVENT(MISPRED_INDIRECT, "INST.MISPRED.IND.RET", "instructions",                             \
	      "mispredicted indirect jumps and calls retired")                                      \
	EVENT(MISPRED_RETURN, "INST.MISPRED.RETURN.RET", "instructions",                            \
	      "mispredicted returns retired")                                                       \
	EVENT(MISPRED_CORSWAP, "INST.MISPRED.CORSWAP.RET", "instructions",                          \
	      "mispredicted coroutine swaps retired")                                               \
	EVENT(LOADS, "INST.LOAD.RET", "instructions", "instructions retired that read memory")      \
	EVENT(STORES, "INST.STORE.RET", "instructions", "instructions retired that write memory")   \
	EVENT(VECTORS, "INST.RVV.RET", "instructions", "vector instructions retired")               \
	EVENT(COMPRESSED, "INST.RVC.RET", "instructions", "16-bit instructions retired")            \
	EVENT(MISSED_L1I, "INST.MISS.L1I.RET", "instructions",                                      \
	      "own: instructions retired that were fetched with a miss of the L1 instruction cache") \
	EVENT(MISSED_ITLB, "INST.MISS.ITLB.RET", "instructions",                                    \
	      "own: ... with a miss of the L1 instruction TLB")                                     \
	EVENT(MISSED_L1D, "INST.MISS.L1D.RET", "instructions",                                      \
	      "own: instructions retired whose data was not in the L1 data cache, or on its way")    \
	EVENT(MISSED_DTLB, "INST.MISS.DTLB.RET", "instructions",                                    \
	      "own: instructions retired whose address was not in the L1 data TLB")                  \
	EVENT(FORWARDED, "LOAD.DSRC.STLF.RET", "accesses",                                          \
	      "loads that had their data from an older store")                                      \
	EVENT(SLOTS, "TOPDOWN.SLOTS", "slots", "slots of dispatch")                                 \
	EVENT(RETIRING, "TOPDOWN.RETIRING.SLOTS", "slots",                                          \
	      "slots that took an instruction which retires")                                       \
	EVENT(BAD_SPECULATION, "TOPDOWN.BAD_SPECULATION.SLOTS", "slots",                            \
	      "slots lost to flushes: squashed, or empty until fetch has recovered")           \
	EVENT(BAD_MISPREDICT, "TOPDOWN.BAD_SPECULATION.MISPREDICT.SLOTS", "slots",                  \
	      "... of mispredicted branches and jumps")                                             \
	EVENT(BAD_ORDERING, "TOPDOWN.BAD_SPECULATION.MEM_ORDERING.SLOTS", "slots",                  \
	      "... of memory ordering violations")                                                  \
	EVENT(BAD_OTHER, "TOPDOWN.BAD_SPECULATION.OTHER.SLOTS", "slots",                            \
	      "own: ... of serialising instructions, exceptions, interrupts")                       \
	EVENT(MISPREDICT_UNRESOLVED, "TOPDOWN.BAD_SPECULATION.MISPREDICT.UNRESOLVED.SLOTS", "slots", \
	      "own: slots taken by a wrong path: issued, not retired")                              \
	EVENT(MISPREDICT_RECOVERY, "TOPDOWN.BAD_SPECULATION.MISPREDICT.RECOVERY.SLOTS", "slots",    \
	      "own: slots from there until fetch delivers again")                                   \
	EVENT(CLEAR_UNRESOLVED, "TOPDOWN.BAD_SPECULATION.CLEAR.UNRESOLVED.SLOTS", "slots",          \
	      "own: slots squashed behind an instruction that clears the pipeline")            \
	EVENT(CLEAR_RECOVERY, "TOPDOWN.BAD_SPECULATION.CLEAR.RECOVERY.SLOTS", "slots",              \
	      "own: slots from there until fetch delivers again")                                   \
	EVENT(FRONTEND, "TOPDOWN.FRONTEND_BOUND.SLOTS", "slots",                                    \
	      "slots for which the front end delivered nothing")                                    \
	EVENT(FRONTEND_LATENCY, "TOPDOWN.FRONTEND_BOUND.LATENCY.SLOTS", "slots",                    \
	      "... in cycles in which it delivered no instruction at all")                          \
	EVENT(FRONTEND_BANDWIDTH, "TOPDOWN.FRONTEND_BOUND.BANDWIDTH.SLOTS", "slots",                \
	      "... in cycles in which it delivered some")                                           \
	EVENT(BACKEND, "TOPDOWN.BACKEND_BOUND.SLOTS", "slots",                                      \
	      "slots for which the back end had no room")                                           \
	EVENT(BACKEND_MEMORY, "TOPDOWN.BACKEND_BOUND.MEMORY.SLOTS", "slots",                        \
	      "... while retirement waits for a miss, or the store queue is full")                  \
	EVENT(BACKEND_CORE, "TOPDOWN.BACKEND_BOUND.CORE.SLOTS", "slots", "... otherwise")           \
	EVENT(BACKEND_SERIALISING, "TOPDOWN.BACKEND_BOUND.CORE.SERIALIZING.SLOTS", "slots",         \
	      "... before an instruction that waits for all older ones; part of CORE")              \
	EVENT(FLUSHES, "FLUSH.SPEC", "flushes", "flushes of the back end")                          \
	EVENT(FLUSH_CYCLES, "FLUSH.CYCLES", "cycles",                                               \
	      "cycles of recovery: from a flush until fetch delivers again")                        \
	EVENT(FLUSHES_MISPREDICT, "FLUSH.MISPREDICT.SPEC", "flushes", "own: flushes by mispredicts") \
	EVENT(FLUSHES_ORDERING, "FLUSH.MEM_ORDERING.SPEC", "flushes",                               \
	      "own: flushes by memory ordering violations")                                         \
	EVENT(FLUSHES_SERIALISING, "FLUSH.SERIALIZING.SPEC", "flushes",                             \
	      "own: flushes by serialising instructions, system calls included")                    \
	EVENT(FLUSHES_EXCEPTION, "FLUSH.EXCEPTION.SPEC", "flushes", "own: flushes by exceptions")   \
	EVENT(FLUSHES_INTERRUPT, "FLUSH.INTERRUPT.SPEC", "flushes",                                 \
	      "own: flushes by signals that came from outside")                                     \
	EVENT(CYCLES_MISPREDICT, "FLUSH.MISPREDICT.CYCLES", "cycles", "own: their cycles of recovery") \
	EVENT(CYCLES_ORDERING, "FLUSH.MEM_ORDERING.CYCLES", "cycles", "own: their cycles of recovery") \
	EVENT(CYCLES_SERIALISING, "FLUSH.SERIALIZING.CYCLES", "cycles", "own: their cycles of recovery") \
	EVENT(CYCLES_EXCEPTION, "FLUSH.EXCEPTION.CYCLES", "cycles", "own: their cycles of recovery") \
	EVENT(CYCLES_INTERRUPT, "FLUSH.INTERRUPT.CYCLES", "cycles", "own: their cycles of recovery") \
	EVENT(RESTEERS, "RESTEER.SPEC", "resteers", "taken transfers that cost fetch a bubble")     \
	EVENT(RESTEER_CYCLES, "RESTEER.CYCLES", "cycles", "bubbles of fetch after taken transfers") \
	EVENT(STATE_RETIRING, "RETIRE.RETIRING.CYCLES", "cycles",                                   \
	      "own: cycles in which instructions retired")                                          \
	EVENT(STATE_STALLED, "RETIRE.STALLED.CYCLES", "cycles",                                     \
	      "own: cycles in which none retired: the oldest was not done")                         \
	EVENT(STATE_FLUSHED, "RETIRE.FLUSHED.CYCLES", "cycles",                                     \
	      "own: cycles in which none retired: empty after a flush")                             \
	EVENT(STATE_DRAINED, "RETIRE.DRAINED.CYCLES", "cycles",                                     \
	      "own: cycles in which none retired: empty otherwise")                                 \
	EVENT(RETIRE_SLOTS, "RETIRE.SLOTS", "slots", "own: slots of the retire stage")              \
	EVENT(RETIRE_RETIRING, "RETIRE.RETIRING.SLOTS", "slots",                                    \
	      "own: slots in which an instruction retired")                                         \
	EVENT(RETIRE_BAD, "RETIRE.BAD_SPECULATION.SLOTS", "slots",                                  \
	      "own: slots of retirement lost to flushes")                                           \
	EVENT(RETIRE_MISPREDICTS, "RETIRE.BAD_SPECULATION.MISPREDICT.SLOTS", "slots",               \
	      "own: ... of mispredicted branches and jumps")                                        \
	EVENT(RETIRE_CLEARS, "RETIRE.BAD_SPECULATION.CLEAR.SLOTS", "slots",                         \
	      "own: ... of all else that empties the pipeline")                                     \
	EVENT(RETIRE_CLEARS_SERIALISING, "RETIRE.BAD_SPECULATION.CLEAR.SERIALIZING.SLOTS", "slots", \
	      "own: ... of serialising instructions, where that is tracked")                        \
	EVENT(RETIRE_CLEARS_OTHER, "RETIRE.BAD_SPECULATION.CLEAR.OTHER.SLOTS", "slots",             \
	      "own: ... of the rest")                                                               \
	EVENT(RETIRE_FRONTEND, "RETIRE.FRONTEND_BOUND.SLOTS", "slots",                              \
	      "own: slots of retirement for which nothing had arrived")                             \
	EVENT(RETIRE_LATENCY, "RETIRE.FRONTEND_BOUND.LATENCY.SLOTS", "slots",                       \
	      "own: ... with nothing left to retire, or after a miss of text")                      \
	EVENT(RETIRE_LATENCY_ICACHE, "RETIRE.FRONTEND_BOUND.LATENCY.L1I.SLOTS", "slots",            \
	      "own: ... after a miss of the I-cache")                                               \
	EVENT(RETIRE_LATENCY_ITLB, "RETIRE.FRONTEND_BOUND.LATENCY.ITLB.SLOTS", "slots",             \
	      "own: ... after a miss of the instruction TLB alone")                                 \
	EVENT(RETIRE_LATENCY_OTHER, "RETIRE.FRONTEND_BOUND.LATENCY.OTHER.SLOTS", "slots",           \
	      "own: ... without either")                                                            \
	EVENT(RETIRE_BANDWIDTH, "RETIRE.FRONTEND_BOUND.BANDWIDTH.SLOTS", "slots",                   \
	      "own: ... behind the last of some that retired")                                      \
	EVENT(RETIRE_BACKEND, "RETIRE.BACKEND_BOUND.SLOTS", "slots",                                \
	      "own: slots of retirement in which the oldest instruction was not done")              \
	EVENT(RETIRE_MEMORY, "RETIRE.BACKEND_BOUND.MEMORY.SLOTS", "slots",                          \
	      "own: ... and had missed, or the store queue kept the next one out")                  \
	EVENT(RETIRE_MEMORY_DTLB, "RETIRE.BACKEND_BOUND.MEMORY.DTLB.SLOTS", "slots",                \
	      "own: ... the data TLB alone")                                                        \
	EVENT(RETIRE_MEMORY_L1, "RETIRE.BACKEND_BOUND.MEMORY.L1D.SLOTS", "slots",                   \
	      "own: ... the L1 data cache, none further out that is tracked")                       \
	EVENT(RETIRE_MEMORY_L2, "RETIRE.BACKEND_BOUND.MEMORY.L2.SLOTS", "slots",                    \
	      "own: ... the L2 cache, where that is tracked")                                       \
	EVENT(RETIRE_MEMORY_LLC, "RETIRE.BACKEND_BOUND.MEMORY.LL.SLOTS", "slots",                   \
	      "own: ... the last-level cache, where that is tracked")                               \
	EVENT(RETIRE_MEMORY_STORES, "RETIRE.BACKEND_BOUND.MEMORY.STORES.SLOTS", "slots",            \
	      "own: ... kept out by a full store queue")                                            \
	EVENT(RETIRE_CORE, "RETIRE.BACKEND_BOUND.CORE.SLOTS", "slots", "own: ... and had not")      \
	EVENT(RETIRE_CORE_FORWARD, "RETIRE.BACKEND_BOUND.CORE.STLF.SLOTS", "slots",                 \
	      "own: ... but had its data from an older store, where that is tracked")               \
	EVENT(RETIRE_CORE_SERIALISING, "RETIRE.BACKEND_BOUND.CORE.SERIALIZING.SLOTS", "slots",      \
	      "own: ... but serialises, where that is tracked")                                     \
	EVENT(RETIRE_CORE_EXECUTION, "RETIRE.BACKEND_BOUND.CORE.EXECUTION.SLOTS", "slots",          \
	      "own: ... nor anything else: latency, dependences, busy units")                       \
	EVENT(L1D_READ, "CACHE.L1D.RD.DATA.ACCESS", "accesses", "loads that looked up the L1 data cache") \
	EVENT(L1D_READ_MISS, "CACHE.L1D.RD.DATA.MISS", "accesses", "... and missed")                \
	EVENT(L1D_READ_MERGE, "CACHE.L1D.RD.DATA.MERGE", "accesses",                                \
	      "... and found their line on its way")                                                \
	EVENT(L1D_WRITE, "CACHE.L1D.WR.ACCESS", "accesses", "stores that looked up the L1 data cache") \
	EVENT(L1D_WRITE_MISS, "CACHE.L1D.WR.MISS", "accesses", "... and missed")                    \
	EVENT(L1D_WRITE_MERGE, "CACHE.L1D.WR.MERGE", "accesses",                                    \
	      "... and found their line on its way")                                                \
	EVENT(L1I_READ, "CACHE.L1I.RD.CODE.ACCESS", "accesses",                                     \
	      "fetches that looked up the L1 instruction cache")                                    \
	EVENT(L1I_READ_MISS, "CACHE.L1I.RD.CODE.MISS", "accesses", "... and missed")                \
	EVENT(L1I_READ_MERGE, "CACHE.L1I.RD.CODE.MERGE", "accesses",                                \
	      "... and found their line on its way")                                                \
	EVENT(L2, "CACHE.L2.ACCESS", "accesses",                                                    \
	      "lookups of the L2 cache: misses of both L1 caches, prefetches, page walks")                  \
	EVENT(L2_MISS, "CACHE.L2.MISS", "accesses", "... that missed")                              \
	EVENT(LL, "CACHE.LL.ACCESS", "accesses", "lookups of the last-level cache")                 \
	EVENT(LL_MISS, "CACHE.LL.MISS", "accesses", "... that missed")                              \
	EVENT(L1I_PREFETCH, "CACHE.L1I.OPREF", "accesses", "lines that were prefetched into the L1I cache") \
	EVENT(DTLB, "TLB.L1D.LDST.ACCESS", "accesses", "data addresses that the L1 TLB translated") \
	EVENT(DTLB_MISS, "TLB.L1D.LDST.MISS", "accesses", "... that missed")                        \
	EVENT(ITLB, "TLB.L1I.CODE.ACCESS", "accesses", "fetch addresses that the L1 TLB translated") \
	EVENT(ITLB_MISS, "TLB.L1I.CODE.MISS", "accesses", "... that missed")                        \
	EVENT(LL_TLB_DATA, "TLB.LL.LDST.ACCESS", "accesses", "data addresses in the last-level TLB") \
	EVENT(LL_TLB_DATA_MISS, "TLB.LL.LDST.MISS", "accesses", "... that missed: page walks")      \
	EVENT(LL_TLB_CODE, "TLB.LL.CODE.ACCESS", "accesses", "fetch addresses in the last-level TLB") \
	EVENT(LL_TLB_CODE_MISS, "TLB.LL.CODE.MISS", "accesses", "... that missed: page walks")

enum vcore_event {
#define EVENT(id, name, unit, description) VCORE_EVENT_##id,
	VCORE_EVENTS(EVENT)
#undef EVENT
	VCORE_EVENT_COUNT
};
/* clang-format on */

/* The event of a node of pesa/topdown.h. */
#define VCORE_EVENT_OF_NODE(node) ((enum vcore_event)(VCORE_EVENT_RETIRE_SLOTS + (node)))

struct vcore_counters {
	uint64_t event[VCORE_EVENT_COUNT];
};

#endif
