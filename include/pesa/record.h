/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The raw sample: what the hardware knew about one sampled cycle.
 *
 * This is the payload of PERF_SAMPLE_RAW, written by the kernel driver and by the virtual core and
 * read by everything else.  Little-endian, fields naturally aligned, 48 bytes in version 1.  A reader
 * takes `size` bytes and ignores what a later version appended; perf pads the payload so that the
 * sample stays 8-byte aligned, so it is not 8-byte aligned in the file itself: copy, do not cast.
 *
 * RV32 uses the same layout with zero-extended addresses and xlen = 32.
 *
 * A second payload, the exact record, carries the exact profile that a virtual core or a pipeline
 * trace knows (the golden reference): one record for one static instruction, with every cycle that
 * was ever attributed to it.  It is distinguished from a sample by its version byte.
 */
#ifndef PESA_RECORD_H
#define PESA_RECORD_H

#include <linux/types.h>

#define PESA_RECORD_VERSION 1  /**< that is written */
#define PESA_RECORD_SIZE    48 /**< bytes of that version */

/* flags, low half */
#define PESA_RECORD_HAS_DATA	(1u << 0) /**< data is valid */
#define PESA_RECORD_HAS_DETAILS (1u << 1) /**< details is valid */
#define PESA_RECORD_HAS_BT1	(1u << 2) /**< bt[0] is valid */
#define PESA_RECORD_HAS_BT2	(1u << 3) /**< bt[1] is valid */
#define PESA_RECORD_SCRUBBED	(1u << 4) /**< kernel addresses were set to 0 */
/** Not shpmsdetails: the instruction at pc was tagged, and only CAUSE of details is valid: what it met */
#define PESA_RECORD_HAS_CAUSES (1u << 5)
/* flags, high half: samples lost since the last record on this hart, 0xffff meaning "or more" */
#define PESA_RECORD_LOST_SHIFT 16      /**< samples lost since the last record on this hart */
#define PESA_RECORD_LOST_MASK  0xffffu /**< of the shifted flags */

/** The raw sample. */
struct pesa_record {
	__u8 version;  /**< PESA_RECORD_VERSION */
	__u8 xlen;     /**< 32 or 64 */
	__u16 size;    /**< bytes of this record, from version on */
	__u32 flags;   /**< PESA_RECORD_* */
	__u64 pc;      /**< shpmspc */
	__u64 data;    /**< shpmsdata */
	__u64 details; /**< shpmsdetailsdata, see csr.h */
	__u64 bt[2];   /**< shpmsdetailsbt1, shpmsdetailsbt2 */
};

/**
 * The exact record.  Weights are in units of 1/PESA_CYCLE of a cycle, which divides by every number
 * of instructions that INSTRET can name, so that 1/n shares add up to whole cycles without rounding.
 *
 * Layout: the header below, then `buckets` entries of struct pesa_exact_bucket, then `transfers`
 * entries of struct pesa_exact_transfer.
 */
#define PESA_CYCLE	   360360u /**< least common multiple of 1..15 */
#define PESA_EXACT_VERSION 0x81	   /**< distinguishes it from a sample */

/** Cycles of the instruction in one state, with one set of causes, as one of so many. */
struct pesa_exact_bucket {
	__u64 weight; /**< cycles, in units of 1/PESA_CYCLE */
	__u64 count; /**< cycles (whole) that contributed: the number of times this share was given */
	__u16 cause; /**< PESA_CAUSE_* mask */
	__u8 state;  /**< PESA_STATE_* */
	__u8 group; /**< retiring: how many instructions retired together (share 1/group); else 1 */
	__u32 reserved; /**< 0 */
};

/** Where control went from the instruction. */
struct pesa_exact_transfer {
	__u64 target; /**< address that control went to */
	__u64 count;  /**< how often */
};

/** The header of an exact record. */
struct pesa_exact_record {
	__u8 version;	  /**< PESA_EXACT_VERSION */
	__u8 xlen;	  /**< 32 or 64 */
	__u16 size;	  /**< bytes of the record with all entries */
	__u16 buckets;	  /**< entries of struct pesa_exact_bucket */
	__u16 transfers;  /**< entries of struct pesa_exact_transfer */
	__u64 pc;	  /**< the instruction */
	__u64 executions; /**< times it retired */
};

/**
 * The counted record: equal samples that were added up where they were stored.  Only files that pesa
 * itself makes of a store of many machines have it, for its own commands; they say so (the fact
 * `counted` of their recordings).
 *
 * Layout: this header, then the raw sample that they have in common.  Its `pc` is the sample's address
 * also where there was no raw sample (`kind`).
 */
#define PESA_COUNTED_VERSION 0x82 /**< distinguishes it from a sample */

/** What the samples of a counted record had for a payload. */
enum pesa_counted_kind {
	PESA_COUNTED_PLAIN,	 /**< none: a PC */
	PESA_COUNTED_RECORD,	 /**< a raw sample */
	PESA_COUNTED_UNREADABLE, /**< something that is no raw sample */
	PESA_COUNTED_KINDS,	 /**< how many */
};

/** The header of a counted record. */
struct pesa_counted_sample {
	__u8 version;	       /**< PESA_COUNTED_VERSION */
	__u8 kind;	       /**< enum pesa_counted_kind */
	__u16 size;	       /**< bytes with the raw sample */
	__u32 flags;	       /**< 0 */
	__u64 samples;	       /**< how many */
	__u64 periods;	       /**< the sum of their periods */
	__u64 periods_squared; /**< the sum of their squared periods: the bits of a double */
};

#endif
