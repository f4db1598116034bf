/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The raw sample: what the hardware knew about one sampled cycle.
 *
 * This is the payload of PERF_SAMPLE_RAW, written by the kernel driver and by the virtual core and
 * read by everything else.  Little-endian, fields naturally aligned, 48 bytes in version 1.  A
 * reader takes `size` bytes and ignores what a later version appended; perf pads the payload so
 * that the sample stays 8-byte aligned, so it is not 8-byte aligned in the file itself: copy, do
 * not cast.
 *
 * RV32 uses the same layout with zero-extended addresses and xlen = 32.
 */
#ifndef PESA_RAW_SAMPLE_H
#define PESA_RAW_SAMPLE_H

#include <linux/types.h>

#define PESA_RECORD_VERSION 1  /**< that is written */
#define PESA_RECORD_SIZE    48 /**< bytes of that version */

/* flags, low half */
#define PESA_RECORD_HAS_DATA	(1u << 0) /**< data is valid */
#define PESA_RECORD_HAS_DETAILS (1u << 1) /**< details is valid */
#define PESA_RECORD_HAS_BT1	(1u << 2) /**< bt[0] is valid */
#define PESA_RECORD_HAS_BT2	(1u << 3) /**< bt[1] is valid */
#define PESA_RECORD_SCRUBBED	(1u << 4) /**< kernel addresses were set to 0 */
/** Not shpmsdetails: the instruction at pc was tagged, and of details only CAUSE is valid */
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

#endif
