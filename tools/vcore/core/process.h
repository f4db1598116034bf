/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual core inside the emulator: a process, and what its harts share.
 *
 * A process has one struct process; each guest thread is a hart (core/hart.h) with a core of its
 * own.  An instruction's way:
 *
 *   plugin.c           the emulator's callbacks: translation, execution, memory, system calls
 *   core/insn.c        static instructions: decoded once, when the emulator translates them
 *   core/cost.c        what they cost on the processor model of the core
 *   guest/run.c        runs of them that are executed together, as the emulator is asked to tell
 *   guest/trace.c      the life of a hart, and what its instructions did: steps
 *   core/relay.c       the pipeline on a thread of its own
 *   core/pipeline.c    when each step is fetched, dispatched, issued, complete, retired: reports
 *   core/predictor.c     with its branch prediction,
 *   memory/memory.c      caches and TLBs of a hart,
 *   memory/shared.c      the last level of cache and memory
 *   core/account.c     what every cycle is: state, blamed instruction, cause
 *   core/golden.c        the golden reference: all cycles of every instruction
 *   core/counters.c      event counters
 *   core/pipeline_trace.c  the pipeline as a Kanata log
 *   core/retire.c      samples, and the records of control transfers
 *   core/samplers.c      what weaker hardware would have delivered
 *   core/sample_send.c samples become messages to the recorder
 *   core/channel.c       by the process's region of shared memory
 *
 * guest/ has also the mappings of the guest (space.c), execve (follow.c), the order in which its
 * threads run (turn.c, wait.c, host_thread.c), and death by a signal (death.c).  board/ is the
 * system emulator instead of the user-mode one.
 */
#ifndef TOOLS_VCORE_CORE_PROCESS_H
#define TOOLS_VCORE_CORE_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/vcore/core/guest_state.h"
#include "tools/vcore/core/hart.h"

#define PROCESS_HARTS 65536u

struct process {
	struct vcore_control *control;
	const struct pesa_core *core; /* in the control area */
	struct vcore_region *region;
	unsigned int region_index;
	int pid;
	bool threaded;	      /* counters are shared: count atomically */
	bool named;	      /* the program's name was announced */
	bool deaf;	      /* the recorder is gone */
	uint64_t guest_base;  /* host address = guest address + guest_base */
	pthread_mutex_t lock; /* instructions, mappings, slots, nodes of the golden reference */
	pthread_mutex_t ring_lock;
	struct pesa_isa *isa;
	struct cost_model *model;
	struct insn **table; /* hash of static instructions by pc */
	size_t table_size, insn_count;
	struct insn **all; /* every static instruction ever made */
	size_t all_count, all_room;
	struct space space;
	struct turn turn;
	struct shared *shared; /* caches and memory of all harts */
	struct hart *harts[PROCESS_HARTS];
	uint64_t harts_begun;
	/* Which process it is, whatever number the machine gave it: 0 of the first program, then by
	 * who forked or executed it.  Its samples' phase. */
	uint64_t lineage;
	uint64_t forks;		 /* that it made */
	uint64_t fork_time;	 /* when the fork that is in progress began */
	_Atomic uint64_t newest; /* ns: time of the newest side-band event */
	_Atomic uint64_t told;	 /* ns: the newest time of any hart, see hart_time() */
	const struct sample_sink *sink;
	struct board *board; /* NULL: the emulator is the user-mode one */
};

#endif
