/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The registers of shpmsdetails: numbers, fields, and the meaning of each value.
 *
 * Source: RISC-V Performance Event Sampling specification (Sspesa v0.4 draft) and its pull request
 * 27 ("Additional metadata for Sspesa", 2025-11-13).  The draft does not allocate CSR numbers:
 * those below lie in the custom supervisor read/write block and are the only place to change when
 * numbers are allocated.  Everything here is a preprocessor constant, for C and for assembly.
 */
#ifndef PESA_CSR_H
#define PESA_CSR_H

/* CSR numbers (custom supervisor read/write, 0x5C0-0x5FF). */
#define PESA_CSR_SHPMSPC	  0x5C0 /**< PC of the sample */
#define PESA_CSR_SHPMSDATA	  0x5C1 /**< which counter took the sample */
#define PESA_CSR_SHPMSDETAILSDATA 0x5C2 /**< the fields below */
#define PESA_CSR_SHPMSDETAILSBT1  0x5C3 /**< target of the first control transfer */
#define PESA_CSR_SHPMSDETAILSBT2  0x5C4 /**< target of the second control transfer */
#define PESA_CSR_SHPMSDETAILSCC	  0x5C5 /**< period counter, 32 bits */
/* AutoRun, where it is offered: physical addresses, multiples of PESA_AUTORUN_RECORD_SIZE. */
#define PESA_CSR_SHPMSARPTR	  0x5C6 /**< of the next record */
#define PESA_CSR_SHPMSARLIMIT	  0x5C7 /**< end of the memory for records */
#define PESA_CSR_SHPMSARTHRESHOLD 0x5C8 /**< interrupt when shpmsarptr is here or further */
#define PESA_CSR_SHPMSARCONTROL	  0x5C9 /**< which privilege modes are recorded */
#define PESA_CSR_SHPMSEVENT	  0x5CA /**< what the period counter counts, if it can be chosen */

/** @name shpmsdata
 * Bits above CNTRID are implementation-defined.  If there is shpmsevent, bits 15:8 have its value
 * when the sample was taken.  If the device-tree node has "discarded-count", bits 63:32 count the
 * overflows that were discarded, because a sample was still pending, since the previous recorded
 * one (0xffffffff: or more).
 * @{ */
#define PESA_DATA_CNTRID_MASK	  0x1f /**< which counter took the sample */
#define PESA_DATA_EVENT_SHIFT	  8    /**< the event that was counted, where that can be chosen */
#define PESA_DATA_EVENT_MASK	  0xff /**< of the shifted value */
#define PESA_DATA_DISCARDED_SHIFT 32   /**< discarded overflows */
/** @} */

/* shpmsdetailsdata: shift and mask (of the shifted value) of every field. */
#define PESA_DETAILS_INSTRET_SHIFT   0	 /**< instructions that retired in the cycle */
#define PESA_DETAILS_INSTRET_MASK    0xf /**< INSTRET, once it is shifted */
#define PESA_DETAILS_RSTATE_SHIFT    4	 /**< PESA_STATE_* */
#define PESA_DETAILS_RSTATE_MASK     0x3 /**< RSTATE, once it is shifted */
#define PESA_DETAILS_CTS_SHIFT	     6	 /**< control transfers in the cycle */
#define PESA_DETAILS_CTS_MASK	     0xf /**< CTS, once it is shifted */
#define PESA_DETAILS_CTOFFSET1_SHIFT 10	 /**< instructions that had retired at the first transfer */
#define PESA_DETAILS_CTOFFSET1_MASK  0xf /**< CTOFFSET1, once it is shifted */
#define PESA_DETAILS_CTOFFSET2_SHIFT 14	 /**< likewise at the second */
#define PESA_DETAILS_CTOFFSET2_MASK  0xf /**< CTOFFSET2, once it is shifted */
#define PESA_DETAILS_CAUSEOFFSET_SHIFT \
	18 /**< which retired instruction CAUSE is of, from 1; 0: none */
#define PESA_DETAILS_CAUSEOFFSET_MASK 0xf   /**< CAUSEOFFSET, once it is shifted */
#define PESA_DETAILS_CAUSE_SHIFT      22    /**< PESA_CAUSE_* */
#define PESA_DETAILS_CAUSE_MASK	      0x3ff /**< CAUSE, once it is shifted */

/* RSTATE: the state of the retire stage in the sampled cycle. */
#define PESA_STATE_RETIRING 0 /**< at least one instruction retired */
#define PESA_STATE_STALLED  1 /**< none: the oldest instruction is not done */
#define PESA_STATE_FLUSHED  2 /**< none: empty after a flush */
#define PESA_STATE_DRAINED  3 /**< none: empty for want of instructions */
#define PESA_STATE_COUNT    4 /**< how many states there are */

/* CAUSE bits.  Bits 5..9 are implementation-defined; their names are a capability of the core. */
#define PESA_CAUSE_ICACHE_MISS		(1 << 0) /**< it missed the instruction cache */
#define PESA_CAUSE_ITLB_MISS		(1 << 1) /**< it missed the instruction TLB */
#define PESA_CAUSE_BRANCH_MISPREDICT	(1 << 2) /**< it was a mispredicted transfer of control */
#define PESA_CAUSE_DCACHE_MISS		(1 << 3) /**< it missed the data cache */
#define PESA_CAUSE_DTLB_MISS		(1 << 4) /**< it missed the data TLB */
#define PESA_CAUSE_IMPLEMENTATION_FIRST 5	 /**< the first bit whose meaning is the core's */
#define PESA_CAUSE_COUNT		10	 /**< bits of the field */

/**
 * shpmsdetailscc: bits 30:0 the value the counter starts at, bit 31 AutoRun.  Writing a value
 * starts the counter at it; writing 0 stops the counter, as reset does.  With N implemented bits
 * the value 2^N - P gives a period of P cycles.  A value that would give less than the minimum is
 * refused: the register keeps what it held.
 */
#define PESA_CC_SAMPLEINITVALUE_MASK 0x7fffffff
#define PESA_CC_AUTORUN		     0x80000000 /**< samples are written to memory */
#define PESA_CC_BITS		     31		/**< most bits that a core may implement */

/**
 * shpmsevent, bits 7:0: what the period counter counts: cycles, or one of the events that the
 * device-tree node lists.  A number that the hart does not know is refused: the register keeps what
 * it held.  Writing a known one stops the counter.  When the counter overflows by another event
 * than cycles, shpmspc is the instruction that the event happened to, and shpmsdetailsdata,
 * shpmsdetailsbt1 and shpmsdetailsbt2 are 0: no cycle was sampled.
 */
#define PESA_SELECT_CYCLES 0
#define PESA_SELECT_MOST   0xff /**< the largest number of an event */

/**
 * AutoRun: with PESA_CC_AUTORUN a sample is not kept in the registers but written to memory, as a
 * record of eight words: pc, details, bt1, bt2, data, the time CSR, and two that are 0.  Samples of
 * a mode that shpmsarcontrol does not name are dropped, and targets in such a mode are 0.  A record
 * that finds no room is discarded and counted, as an overflow that finds a sample pending is.
 */
#define PESA_AUTORUN_RECORD_SIZE 64
#define PESA_AUTORUN_CONTROL_U	 (1 << 0) /**< samples of user mode */
#define PESA_AUTORUN_CONTROL_S	 (1 << 1) /**< samples of supervisor mode */
/** All of it that is defined. */
#define PESA_AUTORUN_CONTROL_MASK (PESA_AUTORUN_CONTROL_U | PESA_AUTORUN_CONTROL_S)

/** The counter triggers in the cycle after it reached all ones; shorter periods are refused. */
#define PESA_CC_MINIMUM_PERIOD 256

/**
 * Control transfer records (Ssctr, ratified): registers, and the entries through Sscsrind: entry i,
 * 0 the newest, is at siselect PESA_CTR_SELECT_FIRST + i: ctrsource in sireg, ctrtarget in sireg2,
 * ctrdata in sireg3.
 */
#define PESA_CSR_SCTRCTL      0x14E /**< what is recorded: PESA_CTR_CONTROL_* */
#define PESA_CSR_SCTRSTATUS   0x14F /**< PESA_CTR_STATUS_FROZEN */
#define PESA_CSR_SCTRDEPTH    0x15F /**< how many entries there are */
#define PESA_CSR_SISELECT     0x150 /**< which entry the three registers below are */
#define PESA_CSR_SIREG	      0x151 /**< ctrsource: PC of the transfer, and PESA_CTR_SOURCE_V */
#define PESA_CSR_SIREG2	      0x152 /**< ctrtarget: where it went, and PESA_CTR_TARGET_MISP */
#define PESA_CSR_SIREG3	      0x153 /**< ctrdata: its type */
#define PESA_CTR_SELECT_FIRST 0x200 /**< siselect of the newest entry */
#define PESA_CTR_DEPTH_LEAST  16    /**< sctrdepth 0; 1 is twice that, and so on */
#define PESA_CTR_DEPTH_MOST   256   /**< entries of the largest sctrdepth */
#define PESA_CTR_SCTRCLR      0x10400073 /**< the instruction sctrclr: forget all entries */

/* sctrctl: modes that are recorded, freezing by a sample, types that are not recorded. */
#define PESA_CTR_CONTROL_U	       (1 << 0)	 /**< transfers in user mode */
#define PESA_CTR_CONTROL_S	       (1 << 1)	 /**< transfers in supervisor mode */
#define PESA_CTR_CONTROL_RASEMU	       (1 << 7)	 /**< optional: calls push, returns pop */
#define PESA_CTR_CONTROL_LCOFIFRZ      (1 << 12) /**< a sample sets FROZEN */
#define PESA_CTR_CONTROL_INHIBIT_SHIFT 32 /**< bit 32 + type: such transfers are not recorded */
#define PESA_CTR_CONTROL_INHIBITS      0xff2e00000000 /**< not-taken branches never are */
/** All of it that is defined. */
#define PESA_CTR_CONTROL_MASK                                                  \
	(PESA_CTR_CONTROL_INHIBITS | PESA_CTR_CONTROL_U | PESA_CTR_CONTROL_S | \
	 PESA_CTR_CONTROL_RASEMU | PESA_CTR_CONTROL_LCOFIFRZ)
#define PESA_CTR_STATUS_WRPTR_MASK 0xff	      /**< the physical entry that is written next */
#define PESA_CTR_STATUS_FROZEN	   0x80000000 /**< nothing is recorded until it is cleared */
#define PESA_CTR_SOURCE_V	   1	      /**< the entry is valid */
#define PESA_CTR_TARGET_MISP	   1	      /**< the transfer was mispredicted */
#define PESA_CTR_DATA_TYPE_MASK	   0xf	      /**< PESA_CTR_EXCEPTION to PESA_CTR_OTHER_DIRECT */

/* ctrdata: the type of a transfer. */
#define PESA_CTR_EXCEPTION	1  /**< to the handler of an exception */
#define PESA_CTR_INTERRUPT	2  /**< to the handler of an interrupt */
#define PESA_CTR_TRAP_RETURN	3  /**< sret and its like */
#define PESA_CTR_NOT_TAKEN	4  /**< a branch that was not taken */
#define PESA_CTR_TAKEN		5  /**< a branch that was taken */
#define PESA_CTR_INDIRECT_CALL	8  /**< jalr that links */
#define PESA_CTR_DIRECT_CALL	9  /**< jal that links */
#define PESA_CTR_INDIRECT_JUMP	10 /**< jalr that does not link */
#define PESA_CTR_DIRECT_JUMP	11 /**< jal that does not link */
#define PESA_CTR_COROUTINE	12 /**< jalr that swaps the link registers */
#define PESA_CTR_RETURN		13 /**< jalr through a link register */
#define PESA_CTR_OTHER_INDIRECT 14 /**< links to another register */
#define PESA_CTR_OTHER_DIRECT	15 /**< likewise */

#endif
