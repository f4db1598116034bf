/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs that were counted: from the slots of a bank to samples in a file.
 *
 * This part knows nothing of BPF: a bank is memory that nobody else writes to.
 */
#ifndef DAEMON_PESAD_AGGREGATE_PAIRS_H
#define DAEMON_PESAD_AGGREGATE_PAIRS_H

#include "daemon/pesad/bpf/aggregate.h"
#include "daemon/pesad/aggregate.h"

/*
 * Hand over what is in the slots of a bank of a CPU and set them free.  Once *error is set, which
 * an error of `take` does, the samples of what is left are added to *dropped instead.
 */
void aggregate_take_bank(struct pesa_aggregate_slot *slots, size_t count, uint32_t cpu,
			 pesa_aggregated_function take, void *context, struct pesa_error **error,
			 uint64_t *dropped);

#endif
