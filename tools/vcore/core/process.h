/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual core inside the emulator: overview, and the state of a process that its harts share.
 *
 * A process has one struct process; each guest thread is a hart (core/hart.h) with a core of its
 * own.  Runs, steps and reports are explained in core/step.h.  An instruction passes through:
 *
 *   plugin.c           the emulator's callbacks: translation, execution, memory, system calls
 *   core/insn.c        static instructions: decoded once, when the emulator translates them
 *   core/cost.c        their cost on the processor model of the core
 *   guest/run.c        runs: straight-line code, reported by the emulator with one callback
 *   guest/trace.c      the life of a hart, and its trace
 *   guest/outcome.c    turns runs and accesses into steps
 *   guest/sampled.c    which parts of the program run through the pipeline (windows/windows.c)
 *   guest/contents.c   the others: caches and TLBs only
 *   core/relay.c       runs the pipeline on a thread of its own
 *   core/pipeline.c    the cycles in which each step is fetched, dispatched, ...: reports
 *   core/predictor.c     branch prediction
 *   memory/memory.c      caches and TLBs of a hart
 *   memory/shared.c      the last level of cache and memory
 *   core/account.c     assigns every cycle: state, blamed instruction, cause
 *   core/golden.c      the golden reference: all cycles of every instruction
 *   core/counters.c    event counters
 *   core/pipeline_trace.c  writes the pipeline as a Kanata log
 *   core/retire.c      at retirement: samples, control transfer records (Ssctr)
 *   core/call_chain.c  the call chain of a sampled instruction, by stack/call_stack.c
 *   stack/register_log.c  registers before each instruction, for chains as hardware has them
 *   core/samplers.c    the samples that weaker sampling hardware would deliver
 *   core/sample_send.c turns samples into messages to the recorder
 *   core/channel.c     sends messages through the process's region of shared memory
 *
 * guest/ also contains the mappings of the guest (space.c), execve (follow.c), the deterministic
 * thread scheduler (turn.c, wait.c, host_thread.c), and death by a signal (death.c).  board/ is for
 * the system emulator instead of the user-mode one.
 */
#ifndef TOOLS_VCORE_CORE_PROCESS_H
#define TOOLS_VCORE_CORE_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/vcore/core/guest_state.h"
#include "tools/vcore/core/hart.h"

#define PROCESS_HARTS	 65536u
#define PROCESS_HANDLERS 256u

struct process {
	struct vcore_control *control;
	const struct pesa_core *core; /* in the control area */
	struct vcore_region *region;
	unsigned int region_index;
	int pid;
	bool threaded;	      /* counters are shared by threads: count atomically */
	bool name_announced;  /* to the recorder: the program's name */
	bool no_recorder;     /* there is no recorder: send nothing */
	uint64_t guest_base;  /* host address = guest address + guest_base */
	pthread_mutex_t lock; /* for instructions, mappings, slots, nodes of the golden reference */
	pthread_mutex_t ring_lock; /* for writing messages to the region */
	struct pesa_isa *isa;
	struct cost_model *model;
	struct insn **table; /* hash of static instructions by pc */
	size_t table_size, insn_count;
	struct insn **all; /* all static instructions ever created */
	size_t all_count, all_room;
	struct space space;
	struct turn turn;
	struct shared *shared; /* caches and memory of all harts */
	struct hart *harts[PROCESS_HARTS];
	uint64_t harts_begun;
	/*
	 * Seed of its sampling phase, so that forks sample different cycles, but the same ones in
	 * each run: 0 for the first program, otherwise derived from the process that forked it.
	 */
	uint64_t lineage;
	uint64_t forks;			  /* number of forks by this process */
	uint64_t fork_time;		  /* time at which the current fork began */
	_Atomic uint64_t newest;	  /* ns: time of the newest side-band event */
	_Atomic uint64_t newest_returned; /* ns: the newest time returned by hart_time() */
	/* Signal handlers that were ever set, for call chains; those beyond are not known. */
	uint64_t handler[PROCESS_HANDLERS];
	_Atomic uint32_t handlers;
	const struct sample_sink *sink;
	struct board *board; /* NULL: user-mode emulation */
};

#endif
