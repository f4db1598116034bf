/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The cycle count in ctrdata of a control transfer record (Ssctr; its other fields are in csr.h).
 *
 * It counts the cycles since the record before, of those in which transfers are recorded.  It has a
 * mantissa of 12 bits and an exponent e: the mantissa itself where e is 0, else (2^12 + mantissa)
 * 2^(e - 1).  The kernel driver uses this file, too.
 */
#ifndef PESA_TRANSFER_H
#define PESA_TRANSFER_H

#define PESA_CTR_DATA_CCV	0x8000	  /**< the count is valid */
#define PESA_CTR_DATA_CCM_SHIFT 16	  /**< mantissa */
#define PESA_CTR_DATA_CCM_BITS	12	  /**< its width */
#define PESA_CTR_DATA_CCM_MASK	0xfff	  /**< of the shifted value */
#define PESA_CTR_DATA_CCE_SHIFT 28	  /**< exponent */
#define PESA_CTR_DATA_CCE_MASK	0xf	  /**< of the shifted value */
#define PESA_CTR_CYCLES_MOST	134201344 /**< the largest count that the fields can have */

/** The cycles of a ctrdata whose count is valid.
 * @any_thread @nothing_owned */
static inline unsigned int pesa_ctr_data_cycles(unsigned long long data)
{
	unsigned int mantissa = data >> PESA_CTR_DATA_CCM_SHIFT & PESA_CTR_DATA_CCM_MASK;
	unsigned int exponent = data >> PESA_CTR_DATA_CCE_SHIFT & PESA_CTR_DATA_CCE_MASK;

	return exponent ? ((1u << PESA_CTR_DATA_CCM_BITS) + mantissa) << (exponent - 1) : mantissa;
}

#endif
