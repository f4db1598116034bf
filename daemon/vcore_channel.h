/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The channel between the virtual core and `pesa record`: shared memory.
 *
 * The recorder makes one sparse memory file.  It begins with the control area, which says what to
 * do; after it comes one region for each process that is profiled (a guest that forks or executes
 * another program takes one more).  The virtual core opens the file by its name under /proc, so
 * that no file descriptor is open while the guest runs: the guest sees the descriptors that it
 * would see without a profiler and can close them all.
 *
 * A region has totals of each hart, a ring of messages, and the golden reference.  Because all of
 * it is shared, whatever way the guest ends (killed included) nothing that was counted is lost: the
 * recorder reads the rest when the process is gone.
 *
 * Both sides are built from the same sources and run on the same machine: layouts are the
 * compiler's, and the magic number is a check of version only.
 */
#ifndef DAEMON_VCORE_CHANNEL_H
#define DAEMON_VCORE_CHANNEL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "daemon/core.h"
#include "daemon/vcore_events.h"
#include "daemon/vcore_samplers.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"

#define VCORE_MAGIC	   0x70766334u /* changes with the layout */
#define VCORE_CONTROL_SIZE (1ull << 20)
#define VCORE_REGION_SIZE  (1ull << 30)
#define VCORE_REGION_MAX   4096u /* processes of one recording */

struct vcore_control {
	uint32_t magic;
	_Atomic uint32_t recorder_pid; /* 0: it listens no more */
	_Atomic uint32_t regions;      /* taken so far */
	_Atomic uint32_t refused;      /* processes that found no region free */
	_Atomic uint64_t newest;       /* ns: time of the newest side-band event of any process */
	struct pesa_core core;
	char changes[4096]; /* of the processor model, a line each */
	uint64_t period;    /* cycles */
	uint64_t jitter;    /* cycles: intervals are uniform in period +- jitter */
	uint64_t seed;
	uint32_t golden;   /* keep the golden reference */
	uint32_t samplers; /* 1 << enum vcore_sampler */
	/* how to start the emulator again when the guest executes another program */
	char emulator[PATH_MAX], plugin[PATH_MAX], channel[64], sysroot[PATH_MAX], cpu[256];
};

/* ---- A region ------------------------------------------------------------------------------ */

#define VCORE_HARTS	    1024u /* threads at a time */
#define VCORE_RING_OFFSET   (1ull << 20)
#define VCORE_RING_SIZE	    (4ull << 20)
#define VCORE_GOLDEN_OFFSET (8ull << 20)   /* entries of the golden reference */
#define VCORE_NODES_OFFSET  (512ull << 20) /* nodes of their lists */

struct vcore_totals {
	uint64_t cycles, instructions, samples, lost;
	uint64_t unfinished; /* samples whose instruction never came, or did not retire */
};

struct vcore_hart_slot {
	_Atomic uint32_t state; /* enum vcore_hart_state */
	uint32_t tid;
	uint32_t index; /* of the guest CPU in the emulator */
	uint32_t reserved;
	uint64_t time; /* ns, of the last cycle accounted */
	struct vcore_totals totals;
	struct vcore_counters counters; /* up to the last time that the trace was empty */
};

enum vcore_hart_state { VCORE_HART_FREE, VCORE_HART_RUNS };

enum vcore_region_state {
	VCORE_REGION_FREE,
	VCORE_REGION_RUNS,
	VCORE_REGION_ENDED, /* the process said that it ends */
};

struct vcore_region {
	_Atomic uint32_t state; /* enum vcore_region_state */
	uint32_t pid, parent_pid;
	uint32_t golden_stride;	     /* bytes of an entry */
	_Atomic uint64_t head, tail; /* bytes ever written to and taken from the ring */
	_Atomic uint64_t lost;	     /* messages that found no reader */
	_Atomic uint32_t golden_entries, nodes;
