/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stalls on misses, as the profile has them. */
#ifndef DECODER_WHY_MEASURED_H
#define DECODER_WHY_MEASURED_H

#include "pesa/profile.h"

/* Stalled cycles of an instruction, on misses of data and otherwise. */
struct why_stalls {
	double missed, other;
};
/* `misses`: CAUSE bits. */
struct why_stalls why_measured_stalls(uint16_t misses, const struct pesa_instruction *measured);
/* The CAUSE bits of misses of data that the core tracks. */
uint16_t why_data_misses(const struct pesa_capabilities *capabilities);

#endif
