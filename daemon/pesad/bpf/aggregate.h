/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps shared by the BPF program that counts samples (aggregate.bpf.c) and the daemon
 * (daemon/pesad/aggregate.c).
 *
 * `slots` is an array mapped into both: for every CPU two banks with a power of two of slots, each
 * a hash table with open addressing.  Only the interrupt of a CPU writes to its banks, one sample
 * at a time, so there are no locks.  The daemon switches `bank`, waits until no program is running
 * that read the old value, and then owns the other bank until it switches again.
 *
 * It is not a BPF_MAP_TYPE_HASH: the kernel drops samples, uncounted, that arrive while their CPU
 * is in a system call on such a map; its hash and comparison take several times as many
 * instructions; and its entries would have to be copied.
 */
#ifndef DAEMON_PESAD_BPF_AGGREGATE_H
#define DAEMON_PESAD_BPF_AGGREGATE_H

#include <linux/types.h>

#include "pesa/record.h"

#define PESA_AGGREGATE_PROBES  16u /* slots that are probed for a pair */
#define PESA_AGGREGATE_COMM    16u /* bytes of a name, with the terminating zero */
#define PESA_AGGREGATE_CGROUPS 16u /* maximum number of control groups in a filter */

/*
 * The key of identical samples: process and record.
 *
 * Pids are reused and processes execute new programs, so a process is identified by its pid, its
 * start time, and the number of programs that it and its ancestors have executed.  Its executable
 * pages change whenever code is mapped or unmapped.  The record is without the fields that differ
 * between samples and say nothing about the program: the number of lost samples, and `data`.
 */
struct pesa_aggregate_pair {
	__u32 pid, tid; /* of the file's samples; tid 0: threads are not distinguished */
	__u64 started;	/* ns since boot */
	__u32 execs, pages;
	struct pesa_record record;
};

#define PESA_AGGREGATE_WORDS (sizeof(struct pesa_aggregate_pair) / sizeof(__u64))

struct pesa_aggregate_slot {
	__u64 count;	   /* number of samples; 0: the slot is free */
	__u64 periods;	   /* sum of the periods */
	__u64 first, last; /* times of the first and last sample */
	__u64 data;	   /* of the last */
	__u64 lost;	   /* lost samples according to the records */
	union {
		struct pesa_aggregate_pair pair;
		__u64 word[PESA_AGGREGATE_WORDS];
	};
};

/* Totals of a CPU.  The sum of the first five is the number of samples that perf received. */
struct pesa_aggregate_cpu {
	__u64 counted;
	__u64 filtered;	  /* excluded by the filter */
	__u64 overflowed; /* no free slot: written to the ring */
	__u64 passed;	  /* no record of the PMU pesa: written to the ring */
	__u64 missed;	  /* dropped by the kernel because another program was running */
	__u64 lost;	  /* lost by the hart, according to filtered records */
	__u64 used[2];	  /* used slots of each bank */
	__u64 seen;	  /* the event's count at the last sample, or: */
#define PESA_AGGREGATE_UNSEEN (~(__u64)0)
	__u64 period;  /* the event's period; 0: it varies */
	__u64 watched; /* the program runs for every sample, so missed ones can be detected */
};

/* Constants of the program: the verifier removes disabled features. */
struct pesa_aggregate_settings {
	__u32 slots; /* slots per bank, a power of two */
	__u32 cpus;
	__u32 threads; /* are distinguished */
	__u32 cgroups; /* entries of the filter; 0: any */
	__u32 by_pid, by_uid, by_comm;
};

#endif
