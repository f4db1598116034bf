/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a run for its listeners: the views of pesa mca, and tests.  An event without listeners
 * costs one test of a bit.
 */
#ifndef DECODER_MCA_ENGINE_EVENTS_H
#define DECODER_MCA_ENGINE_EVENTS_H

#include "decoder/mca/engine/engine.h"

static inline bool mca_wants(const struct mca_run *run, enum pesa_mca_event_kind kind)
{
	return run->wanted & (1u << kind);
}
void mca_send(struct mca_run *run, const struct pesa_mca_event *event);
void mca_send_kind(struct mca_run *run, enum pesa_mca_event_kind kind,
		   const struct mca_inflight *flight);
static inline void mca_send_simple(struct mca_run *run, enum pesa_mca_event_kind kind,
				   const struct mca_inflight *flight)
{
	if (mca_wants(run, kind))
		mca_send_kind(run, kind, flight);
}
void mca_send_dispatched(struct mca_run *run, const struct mca_inflight *flight,
			 unsigned int micro_ops, unsigned int registers);
void mca_send_issued(struct mca_run *run, const struct mca_inflight *flight,
		     const struct mca_pipe *pipes, unsigned int count);
void mca_send_retired(struct mca_run *run, const struct mca_inflight *flight,
		      unsigned int registers);
void mca_send_stall(struct mca_run *run, const struct mca_inflight *flight,
		    enum pesa_mca_stall stall);

#endif
