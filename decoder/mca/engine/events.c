/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a run for its listeners: see events.h. */
#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/use.h"

void mca_send(struct mca_run *run, const struct pesa_mca_event *event)
{
	const struct pesa_mca_listener **taker = run->takers[event->kind];
	const struct pesa_mca_listener **end = taker + run->taker_count[event->kind];

	for (; taker < end; taker++) {
		struct pesa_error *error = (*taker)->event((*taker)->data, event);

		if (error)
			mca_fail(run, error);
	}
}

/* `flight` is NULL for an event of no instruction. */
static void send_with_registers(struct mca_run *run, enum pesa_mca_event_kind kind,
				const struct mca_inflight *flight, unsigned int micro_ops,
				unsigned int registers)
{
	struct pesa_mca_event *event = &run->event;

	event->kind = kind;
	event->instruction = flight ? flight->instruction : 0;
	event->micro_ops = micro_ops;
	event->registers = registers;
	mca_send(run, event);
}

void mca_send_kind(struct mca_run *run, enum pesa_mca_event_kind kind,
		   const struct mca_inflight *flight)
{
	send_with_registers(run, kind, flight, 0, 0);
}

void mca_send_dispatched(struct mca_run *run, const struct mca_inflight *flight,
			 unsigned int micro_ops, unsigned int registers)
{
	if (mca_wants(run, PESA_MCA_DISPATCHED))
		send_with_registers(run, PESA_MCA_DISPATCHED, flight, micro_ops, registers);
}

void mca_send_issued(struct mca_run *run, const struct mca_inflight *flight,
		     const struct mca_pipe *pipes, unsigned int count)
{
	struct pesa_mca_occupation occupation[MCA_PIPES_MAX];

	if (run->use.cycles)
		mca_use_add(&run->use, (unsigned int)(flight->lowered - run->block->lowered), pipes,
			    count);
	if (!mca_wants(run, PESA_MCA_ISSUED))
		return;
	for (unsigned int i = 0; i < count; i++)
		occupation[i] = (struct pesa_mca_occupation){
			.resource = run->model->of_bit[__builtin_ctzll(pipes[i].resource)],
			.unit = __builtin_ctzll(pipes[i].unit),
			.cycles = pipes[i].cycles,
		};
	mca_send(run, &(struct pesa_mca_event){
			      .kind = PESA_MCA_ISSUED,
			      .instruction = flight->instruction,
			      .micro_ops = flight->description->micro_ops,
			      .occupation = occupation,
			      .occupations = count,
			      .resources = flight->critical_resources,
			      .critical_register = flight->critical_register,
			      .critical_memory = flight->critical_memory,
		      });
}

void mca_send_retired(struct mca_run *run, const struct mca_inflight *flight,
		      unsigned int registers)
{
	if (mca_wants(run, PESA_MCA_RETIRED))
		send_with_registers(run, PESA_MCA_RETIRED, flight, flight->description->micro_ops,
				    registers);
}

void mca_send_stall(struct mca_run *run, const struct mca_inflight *flight,
		    enum pesa_mca_stall stall)
{
	if (mca_wants(run, PESA_MCA_STALLED))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_STALLED,
				      .instruction = flight->instruction,
				      .stall = stall,
			      });
}
