/* SPDX-License-Identifier: (GPL-2.0-or-later WITH Linux-syscall-note) OR BSD-2-Clause */
/** @file
 * The cycle count in ctrdata of a control transfer record (Ssctr; its other fields are in csr.h).
 *
 * It counts the cycles since the record before, of those in which transfers are recorded.  It has a
 * mantissa of 12 bits and an exponent e: the mantissa itself where e is 0, else (2^12 + mantissa)
 * 2^(e - 1).  Everything here is a preprocessor constant or expression, which the kernel uses, too.
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

/** The mantissa of a ctrdata. */
#define PESA_CTR_DATA_CCM(data) ((data) >> PESA_CTR_DATA_CCM_SHIFT & PESA_CTR_DATA_CCM_MASK)
/** The exponent of a ctrdata. */
#define PESA_CTR_DATA_CCE(data) ((data) >> PESA_CTR_DATA_CCE_SHIFT & PESA_CTR_DATA_CCE_MASK)
/** The cycles of a ctrdata whose count is valid. */
#define PESA_CTR_DATA_CYCLES(data)                                                          \
	(PESA_CTR_DATA_CCE(data)                                                            \
		 ? ((1u << PESA_CTR_DATA_CCM_BITS) + (unsigned int)PESA_CTR_DATA_CCM(data)) \
			   << (PESA_CTR_DATA_CCE(data) - 1)                                 \
		 : (unsigned int)PESA_CTR_DATA_CCM(data))

#endif
