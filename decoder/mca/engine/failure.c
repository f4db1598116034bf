/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The error of a cycle, which every stage may note: see engine.h. */
#include "decoder/mca/engine/engine.h"

void mca_fail(struct mca_run *run, struct pesa_error *error)
{
	if (run->error)
		pesa_error_free(error);
	else
		run->error = error;
}
