/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cycle counts of control transfer records, as hardware with Ssctr makes them.
 *
 * Hardware counts the cycles since the record before and keeps 16 bits of the count: the twelve bits
 * from its highest set bit down, and the place of that bit.  What is below is cut off; what is larger
 * than 27 bits is the largest count.  perf's branch entries have 16 bits for the cycles themselves.
 */
#ifndef DECODER_CORE_TRANSFER_CYCLES_H
#define DECODER_CORE_TRANSFER_CYCLES_H

#include <stdint.h>

#include "pesa/event.h"
#include "pesa/transfer.h"

/* The bits of ctrdata for a valid count. */
static inline uint32_t transfer_cycles_encode(uint64_t cycles)
{
	uint32_t exponent;

	if (cycles > PESA_CTR_CYCLES_MOST)
		cycles = PESA_CTR_CYCLES_MOST;
	if (cycles >> PESA_CTR_DATA_CCM_BITS == 0)
		return PESA_CTR_DATA_CCV | (uint32_t)cycles << PESA_CTR_DATA_CCM_SHIFT;
	exponent = 63 - (uint32_t)__builtin_clzll(cycles) - (PESA_CTR_DATA_CCM_BITS - 1);
	return PESA_CTR_DATA_CCV | exponent << PESA_CTR_DATA_CCE_SHIFT |
	       ((uint32_t)(cycles >> (exponent - 1)) & PESA_CTR_DATA_CCM_MASK)
		       << PESA_CTR_DATA_CCM_SHIFT;
}

/* The flags of a branch entry for a ctrdata: only its cycles, 0 where they are not valid. */
static inline uint64_t transfer_cycles_flags(uint32_t data)
{
	uint64_t cycles = data & PESA_CTR_DATA_CCV ? pesa_ctr_data_cycles(data) : 0;

	if (cycles > PESA_BRANCH_CYCLES_MOST)
		cycles = PESA_BRANCH_CYCLES_MOST;
	return cycles << PESA_BRANCH_CYCLES_SHIFT;
}

#endif
