/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program that counts samples in the kernel (aggregate.bpf.c) and the daemon that reads
 * the counts (daemon/pesad/aggregate.c) share: the layout of the maps.
 *
 * `slots` is an array that both see as memory: for every CPU two banks of a power of two of slots,
 * each a hash table with open addressing.  Only the interrupt of a CPU writes to its banks, one
 * sample after another, so nothing is locked.  The daemon turns `bank`, waits until no program runs
 * any more that read the old value, and has the other bank for itself until it turns again.
 *
 * A table of our own rather than BPF_MAP_TYPE_HASH, because the kernel drops samples that arrive
 * while their CPU is in a system call on such a map, and nobody hears of them; because its hash and
 * its comparison cost several times as many instructions; and because nothing has to be copied.
 */
#ifndef DAEMON_PESAD_BPF_AGGREGATE_H
#define DAEMON_PESAD_BPF_AGGREGATE_H

#include <linux/types.h>

#include "pesa/record.h"

#define PESA_AGGREGATE_PROBES  16u /* slots that a pair is looked for in */
#define PESA_AGGREGATE_COMM    16u /* bytes of a name, with the terminating zero */
#define PESA_AGGREGATE_CGROUPS 16u /* that a filter can name */

/*
 * What makes samples identical: the process and the record.
 *
 * Process numbers are used again and a process changes its program, so a process is its number, the
 * time that it was started, and how many programs it and its ancestors have executed.  The pages
 * that it can execute change whenever code is mapped or unmapped.  The record is without what
 * differs from sample to sample and says nothing about the program: the number of lost ones, and
 * `data`.
 */
struct pesa_aggregate_pair {
	__u32 pid, tid; /* of the file's samples; tid 0: threads are not told apart */
	__u64 started;	/* ns since boot */
	__u32 execs, pages;
	struct pesa_record record;
};

#define PESA_AGGREGATE_WORDS (sizeof(struct pesa_aggregate_pair) / sizeof(__u64))

struct pesa_aggregate_slot {
	__u64 count;	   /* samples, 0: the slot is free */
	__u64 periods;	   /* the sum of theirs */
	__u64 first, last; /* times of the first and of the last */
	__u64 data;	   /* of the last */
	__u64 lost;	   /* that their records told of */
	union {
		struct pesa_aggregate_pair pair;
		__u64 word[PESA_AGGREGATE_WORDS];
	};
};

/* Of a CPU: what became of the samples.  The sum of the first five is what was handed to perf. */
struct pesa_aggregate_cpu {
	__u64 counted;
	__u64 filtered;	  /* not of what is wanted */
	__u64 overflowed; /* no slot was free: in the ring */
	__u64 passed;	  /* no record that we know: in the ring */
	__u64 missed;	  /* that the kernel dropped: another program was running */
	__u64 lost;	  /* by the hart, as filtered records told */
	__u64 used[2];	  /* slots of each bank */
	__u64 seen;	  /* the event's count with the last sample, or: */
#define PESA_AGGREGATE_UNSEEN (~(__u64)0)
	__u64 period;  /* the event's, 0: it varies */
	__u64 watched; /* every sample goes through the program, so that missed ones show */
};

/* Constants of the program: what is switched off costs nothing. */
struct pesa_aggregate_settings {
	__u32 slots; /* of a bank, a power of two */
	__u32 cpus;
	__u32 threads; /* are told apart */
	__u32 cgroups; /* entries of the filter; 0: any */
	__u32 by_pid, by_uid, by_comm;
};

#endif
