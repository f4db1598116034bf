/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The channel between the virtual core and `pesa record`: shared memory.
 *
 * The recorder creates one sparse memory file.  It begins with the control area, which has the
 * settings; one region for each profiled process follows (a guest that forks or executes another
 * program takes another one).  The virtual core opens the file by its name under /proc, so that no
 * file descriptor is open while the guest runs: the guest sees the same descriptors as without a
 * profiler and can close all of them.
 *
 * A region has the totals of each hart, a ring of messages, and the golden reference.  Because all
 * of it is shared, nothing that was counted is lost, however the guest ends: the recorder reads the
 * rest when the process is gone.
 *
 * Both sides are built from the same sources and run on the same machine, so the compiler defines
 * the layouts; the magic number only checks the version.
 */
#ifndef DAEMON_VCORE_CHANNEL_H
#define DAEMON_VCORE_CHANNEL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "decoder/core/core.h"
#include "decoder/core/ideal.h"
#include "decoder/core/events.h"
#include "decoder/core/samplers.h"
#include "decoder/core/window_sums.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"

#define VCORE_MAGIC	   0x70766339u /* change it with the layout */
#define VCORE_CONTROL_SIZE (1ull << 20)
#define VCORE_REGION_SIZE  (1ull << 30)
#define VCORE_REGION_MAX   4096u /* maximum number of processes of a recording */

/* How a sample gets its call chain. */
enum vcore_call_chains {
	VCORE_CALL_CHAINS_NONE,
	VCORE_CALL_CHAINS_EXACT,	 /* from the calls and returns that the program executed */
	VCORE_CALL_CHAINS_FRAME_POINTER, /* the kernel's walk over the frames */
	VCORE_CALL_CHAINS_DWARF, /* registers and part of the stack, unwound by the reader */
};

/* The registers of a sample with VCORE_CALL_CHAINS_DWARF, by PERF_REG_RISCV_*: pc, x1 to x31. */
#define VCORE_REGISTERS 32
/* Bytes of the stack that a sample can have, so that it fits into a message and a record. */
#define VCORE_STACK_MAX 49152u

struct vcore_control {
	uint32_t magic;
	_Atomic uint32_t recorder_pid; /* 0: the recorder has stopped */
	_Atomic uint32_t regions;      /* regions taken so far */
	_Atomic uint32_t refused;      /* processes that found no free region */
	_Atomic uint32_t forked;       /* several processes may run concurrently from now on */
	struct pesa_core core;
	char changes[4096]; /* changes of the processor model, one per line */
	struct pesa_core_ideal_places ideal;
	uint64_t period; /* cycles */
	uint64_t jitter; /* cycles: intervals are uniform in period +- jitter */
	uint64_t seed;
	uint32_t sampled;		  /* simulate windows around the samples only */
	char trace[PATH_MAX];		  /* file for the pipeline trace; "": none */
	uint64_t trace_first, trace_last; /* instructions of each hart, from 1 on */
	uint32_t golden;		  /* keep the golden reference */
	uint32_t samplers;		  /* 1 << enum vcore_sampler */
	uint32_t skids;			  /* interrupts are taken skid_low to skid_high */
	uint32_t skid_low, skid_high;	  /* instructions behind the oldest one */
	uint32_t call_chains;		  /* enum vcore_call_chains */
	uint32_t stack_dump;		  /* of VCORE_CALL_CHAINS_DWARF: bytes, a multiple of 8 */
	/* for executing the emulator again when the guest executes another program */
	char emulator[PATH_MAX], plugin[PATH_MAX], channel[64], sysroot[PATH_MAX], cpu[256];
};

/* ---- A region ------------------------------------------------------------------------------ */

#define VCORE_HARTS	    1024u /* maximum number of concurrent threads */
#define VCORE_RING_OFFSET   (1ull << 20)
#define VCORE_RING_SIZE	    (4ull << 20)
#define VCORE_GOLDEN_OFFSET (8ull << 20)   /* entries of the golden reference */
#define VCORE_NODES_OFFSET  (512ull << 20) /* nodes of the lists */

struct vcore_totals {
	uint64_t cycles, instructions, samples, lost;
	uint64_t unfinished;	    /* samples whose instruction never came, or did not retire */
	uint64_t cut_chains;	    /* samples whose call chain has more frames than are recorded */
	struct window_sums windows; /* of a sampled recording */
};

struct vcore_hart_slot {
	_Atomic uint32_t state; /* enum vcore_hart_state */
	uint32_t tid;
	uint32_t index; /* index of the guest CPU in the emulator */
	uint32_t reserved;
	uint64_t time; /* ns, last accounted cycle */
	struct vcore_totals totals;
	struct vcore_counters counters; /* as of the last time the trace was empty */
};

enum vcore_hart_state { VCORE_HART_FREE, VCORE_HART_RUNS };

enum vcore_region_state {
	VCORE_REGION_FREE,
	VCORE_REGION_RUNS,
	VCORE_REGION_ENDED, /* the process has ended regularly */
};

struct vcore_region {
	_Atomic uint32_t state; /* enum vcore_region_state */
	uint32_t pid, parent_pid;
	uint32_t golden_stride;	     /* bytes per entry */
	_Atomic uint64_t head, tail; /* total bytes written to and read from the ring */
	_Atomic uint64_t lost;	     /* messages lost because the ring was full */
	_Atomic uint32_t golden_entries, nodes;
	_Atomic uint64_t golden_full;  /* counts lost because the golden reference was full */
	_Atomic uint64_t undecoded;    /* static instructions that the decoder does not know */
	_Atomic uint64_t unmodelled;   /* static instructions that the processor model lacks */
	_Atomic uint64_t forced_turns; /* number of given-up waits for a thread */
	_Atomic uint64_t unwatched;    /* threads that found no slot */
	_Atomic uint64_t cut_traces;   /* pipeline traces that are incomplete */
	struct vcore_hart_slot hart[VCORE_HARTS];
};

_Static_assert(sizeof(struct vcore_region) <= VCORE_RING_OFFSET, "region header");
_Static_assert(sizeof(struct vcore_control) <= VCORE_CONTROL_SIZE, "control area");

/*
 * A static instruction in the golden reference.  `retired[n - 1]` counts cycles in which it retired
 * as one of n instructions without a cause; all other cycles are in the list of nodes.
 */
struct vcore_golden {
	uint64_t pc;
	uint64_t target;	    /* of a direct transfer */
	uint64_t taken;		    /* number of transfers to `target` */
	_Atomic uint32_t buckets;   /* first node + 1; 0: none */
	_Atomic uint32_t transfers; /* same, for transfers to other addresses */
	uint64_t retired[];	    /* retire width entries */
};

struct vcore_node {
	uint32_t next;	 /* node + 1; 0: none */
	uint32_t key;	 /* bucket: state << 24 | group << 16 | cause */
	uint64_t target; /* transfer */
	uint64_t count;
};

#define VCORE_GOLDEN_MAX ((VCORE_NODES_OFFSET - VCORE_GOLDEN_OFFSET) / 64)
#define VCORE_NODES_MAX	 ((VCORE_REGION_SIZE - VCORE_NODES_OFFSET) / sizeof(struct vcore_node))

static inline uint32_t vcore_bucket_key(unsigned int state, unsigned int group, unsigned int cause)
{
	return (uint32_t)(state << 24 | group << 16 | cause);
}

/* ---- Messages ------------------------------------------------------------------------------ */

enum vcore_message_type {
	VCORE_MESSAGE_SAMPLE,
	VCORE_MESSAGE_MMAP,
	VCORE_MESSAGE_UNMAP, /* the golden entries of this range are final */
	VCORE_MESSAGE_COMM,
	VCORE_MESSAGE_FORK,
	VCORE_MESSAGE_EXIT,
	VCORE_MESSAGE_TEXT,	/* code without a file that is about to run */
	VCORE_MESSAGE_HART_END, /* the hart's slot is free again */
};

struct vcore_message {
	uint32_t size; /* bytes including this header, a multiple of 8 */
	uint16_t type; /* enum vcore_message_type */
	uint16_t cpu;
	uint32_t pid, tid;
	uint64_t time; /* ns */
	union {
		struct {
			uint64_t period;
			struct pesa_record record;
			uint32_t sampler;  /* enum vcore_sampler */
			uint32_t branches; /* number of struct pesa_branch_entry that follow */
			uint32_t chain;	   /* number of entries of the call chain after them */
			uint32_t
				registers; /* number of registers after that: VCORE_REGISTERS or 0 */
			uint64_t stack;	   /* bytes of the stack after them, a multiple of 8 */
		} sample;
		struct {
			uint64_t address, length, offset;
			uint32_t protection, flags;
			uint8_t build_id_size, build_id[PESA_BUILD_ID_MAX];
			uint8_t reserved[3]; /* the terminated path follows */
		} mmap;
		struct {
			uint64_t start, end;
			uint32_t entries; /* golden entries that existed then */
		} unmap;
		struct {
			uint64_t address;
			uint64_t bytes; /* number of bytes that follow */
		} text;
		struct {
			uint32_t exec;
			char name[20];
		} comm;
		struct {
			uint32_t parent_pid, parent_tid;
		} task;
		struct {
			uint32_t slot;
			struct vcore_totals totals; /* struct vcore_counters follows */
		} hart;
	};
};

#endif
