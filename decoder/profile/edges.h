/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measured control transfers of an instruction. */
#ifndef DECODER_PROFILE_EDGES_H
#define DECODER_PROFILE_EDGES_H

#include "pesa/profile.h"

/* The sum of their counts; 0 for an instruction without samples (NULL). */
static inline double profile_edges_count(const struct pesa_instruction *measured)
{
	double sum = 0;

	for (unsigned int i = 0; measured && i < measured->edges; i++)
		sum += (double)measured->edge[i].count;
	return sum;
}

#endif
