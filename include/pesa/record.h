/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The records that stand for samples: the raw sample (raw_sample.h), the exact record and the counted
 * record.  The version byte, the first of each, tells them apart.
 *
 * The exact record carries the exact profile that a virtual core or a pipeline trace knows (the golden
 * reference): one record for one static instruction, with every cycle that was ever attributed to it.
 */
#ifndef PESA_RECORD_H
#define PESA_RECORD_H

#include <linux/types.h>

#include "pesa/raw_sample.h"

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
