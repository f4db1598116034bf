/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counted pairs: from the slots of a bank to samples in a file.
 *
 * This part is independent of BPF: a bank is memory that nothing else writes to.
 */
#ifndef DAEMON_PESAD_AGGREGATE_PAIRS_H
#define DAEMON_PESAD_AGGREGATE_PAIRS_H

#include "daemon/pesad/bpf/aggregate.h"
#include "daemon/pesad/aggregate.h"

/*
 * Pass the pairs in a bank of a CPU to `take` and free the slots.  Once *error is set (also by
 * `take`), the remaining samples are added to *dropped instead.
 */
void aggregate_take_bank(struct pesa_aggregate_slot *slots, size_t count, uint32_t cpu,
			 pesa_aggregated_function take, void *context, struct pesa_error **error,
			 uint64_t *dropped);

#endif
