/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages of an out-of-order processor: dispatch, execute, retire. */
#include <stdlib.h>

#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/engine/stimuli.h"

struct pesa_error *mca_out_of_order_init(struct mca_run *run)
{
	run->dispatch_width = run->options->dispatch_width ? run->options->dispatch_width
							   : run->model->issue_width;
	run->dispatch_available = run->dispatch_width;
	run->reorder_entries = pesa_mca_model_reorder_buffer(run->model);
	run->reorder_available = run->reorder_entries;
	run->reorder_size = 2 * run->reorder_entries;
	run->reorder = mca_arena_take(&run->arena, run->reorder_size * sizeof(*run->reorder));
	run->queues =
		mca_arena_take(&run->arena, run->block->description_count * sizeof(*run->queues));
	run->active =
		mca_arena_take(&run->arena, run->block->description_count * sizeof(*run->active));
	if (!run->reorder || !run->queues || !run->active)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < run->block->description_count; i++)
		run->queues[i].description = run->block->descriptions[i];
	return NULL;
}

/* ---- Retire ---------------------------------------------------------------------------------- */

/* Reorder buffer entries of an instruction: at least one, at most the size of the buffer. */
static unsigned int reorder_slots(const struct mca_run *run, const struct mca_inflight *flight)
{
	unsigned int slots = flight->description->micro_ops;

	if (slots > run->reorder_entries)
		slots = run->reorder_entries;
	return slots ? slots : 1;
}

static void retire_cycle(struct mca_run *run)
{
	unsigned int retired = 0, branches = 0;

	while (run->reorder_available != run->reorder_entries) {
		struct mca_reorder_entry *entry = &run->reorder[run->reorder_current];
		struct mca_inflight *flight = entry->flight;

		if (run->model->retire_width && retired == run->model->retire_width)
			break;
		if (!entry->executed)
			break;
		if (flight->lowered->taken && run->options->retired_branches &&
		    branches++ == run->options->retired_branches)
			break;
		if (mca_is_memory(flight)) {
			mca_memory_retired(run, flight);
			mca_inflight_retire(run, flight);
		}
		mca_send_retired(run, flight, mca_register_retired(run, flight));
		run->reorder_current += entry->slots;
		if (run->reorder_current >= run->reorder_size)
			run->reorder_current -= run->reorder_size;
		run->reorder_available += entry->slots;
		*entry = (struct mca_reorder_entry){0};
		mca_recycle(run, flight);
		retired++;
	}
}

/* An instruction has executed: it may retire from the next cycle on. */
static void executed(struct mca_run *run, struct mca_inflight *flight)
{
	mca_send_simple(run, PESA_MCA_EXECUTED, flight);
	mca_stimuli_executed(run, flight);
	mca_register_executed(run, flight);
	run->reorder[flight->reorder_index].executed = true;
}

/* ---- Execute --------------------------------------------------------------------------------- */

static void send_buffers(struct mca_run *run, const struct mca_inflight *flight,
			 enum pesa_mca_event_kind kind)
{
	uint64_t buffers = 0;

	if (!mca_wants(run, kind) || !flight->description->buffers)
		return;
	for (uint64_t rest = flight->description->buffers; rest; rest &= rest - 1)
		buffers |= UINT64_C(1) << run->model->of_bit[__builtin_ctzll(rest)];
	mca_send(run, &(struct pesa_mca_event){
			      .kind = kind,
			      .instruction = flight->instruction,
			      .buffers = buffers,
		      });
}

static void send_list(struct mca_run *run, struct mca_inflight_list *list, unsigned int from,
		      enum pesa_mca_event_kind kind)
{
	for (unsigned int i = from; i < list->count; i++)
		mca_send_simple(run, kind, list->list[i]);
	list->count = from;
}

static void issue(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_pipe pipes[MCA_PIPES_MAX];
	unsigned int pending = run->pending_now.count, ready = run->ready_now.count;
	unsigned int count = mca_scheduler_issue(run, flight, pipes);

	run->issued_micro_ops += flight->description->micro_ops;
	send_buffers(run, flight, PESA_MCA_BUFFERS_RELEASED);
	mca_send_issued(run, flight, pipes, count);
	if (flight->executed <= run->now)
		executed(run, flight);
	send_list(run, &run->pending_now, pending, PESA_MCA_PENDING);
	send_list(run, &run->ready_now, ready, PESA_MCA_READY);
}

static void execute_cycle(struct mca_run *run)
{
	struct mca_inflight *flight;

	mca_scheduler_cycle(run);
	run->dispatched_micro_ops = run->issued_micro_ops = 0;
	for (unsigned int i = 0; i < run->executed_now.count; i++)
		executed(run, run->executed_now.list[i]);
	run->executed_now.count = 0;
	send_list(run, &run->pending_now, 0, PESA_MCA_PENDING);
	send_list(run, &run->ready_now, 0, PESA_MCA_READY);
	while ((flight = mca_scheduler_select(run)))
		issue(run, flight);
}

static void execute(struct mca_run *run, struct mca_inflight *flight)
{
	bool ready = mca_scheduler_dispatch(run, flight);

	run->dispatched_micro_ops += flight->description->micro_ops;
	send_buffers(run, flight, PESA_MCA_BUFFERS_RESERVED);
	if (!ready) {
		if (!flight->producers && flight->arrival > run->now)
			mca_send_simple(run, PESA_MCA_PENDING, flight);
		return;
	}
	mca_send_simple(run, PESA_MCA_PENDING, flight);
	mca_send_simple(run, PESA_MCA_READY, flight);
	if (mca_description_must_issue(flight->description))
		issue(run, flight);
}

/* ---- Pressure: causes of stalls in this cycle ------------------------------------------------ */

static void send_pressure(struct mca_run *run, enum pesa_mca_pressure pressure, uint64_t resources,
			  const unsigned int *affected, const uint64_t *waited, unsigned int count)
{
	mca_send(run, &(struct pesa_mca_event){
			      .kind = PESA_MCA_PRESSURE,
			      .pressure = pressure,
			      .resources = resources,
			      .affected = affected,
			      .affected_resources = waited,
			      .affected_count = count,
		      });
}

/* Make room for all ready or pending instructions in the lists of events. */
static struct pesa_error *reserve_affected(struct mca_run *run)
{
	unsigned int most =
		run->ready.count > run->pending.count ? run->ready.count : run->pending.count;

	if (most <= run->affected_size)
		return NULL;
	run->affected_size = 2 * most;
	run->affected =
		mca_arena_take_raw(&run->arena, run->affected_size * sizeof(*run->affected));
	run->affected_memory =
		mca_arena_take_raw(&run->arena, run->affected_size * sizeof(*run->affected_memory));
	run->waited = mca_arena_take_raw(&run->arena, run->affected_size * sizeof(*run->waited));
	if (!run->affected || !run->affected_memory || !run->waited)
		return pesa_error_no_memory();
	return NULL;
}

static void pressure(struct mca_run *run)
{
	unsigned int count = 0, memory_count = 0, older;
	struct pesa_error *error;

	if (!run->token_stall && run->dispatched_micro_ops <= run->issued_micro_ops)
		return;
	error = reserve_affected(run);
	if (error) {
		mca_fail(run, error);
		return;
	}
	if (run->busy_units) {
		for (unsigned int i = 0; i < run->ready.count; i++) {
			run->affected[i] = run->ready.list[i]->instruction;
			run->waited[i] = run->ready.list[i]->critical_resources;
		}
		send_pressure(run, PESA_MCA_PRESSURE_RESOURCES, run->busy_units, run->affected,
			      run->waited, run->ready.count);
	}
	older = run->pending.count > run->dispatched_to_pending
			? run->pending.count - run->dispatched_to_pending
			: 0;
	for (unsigned int i = 0; i < older; i++) {
		const struct mca_inflight *flight = run->pending.list[i];

		if (mca_resources_busy(&run->resources, flight->description))
			continue;
		if (mca_is_memory(flight) && mca_memory_is_pending(&run->memory, flight))
			run->affected_memory[memory_count++] = flight->instruction;
		if (flight->arrival > run->now)
			run->affected[count++] = flight->instruction;
	}
	if (count)
		send_pressure(run, PESA_MCA_PRESSURE_REGISTERS, 0, run->affected, NULL, count);
	if (memory_count)
		send_pressure(run, PESA_MCA_PRESSURE_MEMORY, 0, run->affected_memory, NULL,
			      memory_count);
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

static void dispatch_cycle(struct mca_run *run)
{
	unsigned int dispatched;

	if (!run->carry_over) {
		run->dispatch_available = run->dispatch_width;
		return;
	}
	dispatched = run->carry_over < run->dispatch_width ? run->carry_over : run->dispatch_width;
	run->dispatch_available = run->dispatch_width - dispatched;
	run->carry_over -= dispatched;
	mca_send_dispatched(run, run->carried_over, dispatched, 0);
	if (!run->carry_over)
		run->carried_over = NULL;
}

static bool can_dispatch(struct mca_run *run, const struct mca_inflight *flight)
{
	static const enum pesa_mca_stall stalls[] = {
		[MCA_SCHEDULE_LOAD_QUEUE] = PESA_MCA_STALL_LOAD_QUEUE,
		[MCA_SCHEDULE_STORE_QUEUE] = PESA_MCA_STALL_STORE_QUEUE,
		[MCA_SCHEDULE_BUFFERS] = PESA_MCA_STALL_SCHEDULER,
		[MCA_SCHEDULE_GROUP] = PESA_MCA_STALL_GROUP,
	};
	const struct mca_description *description = flight->description;
	unsigned int required = description->micro_ops < run->dispatch_width
					? description->micro_ops
					: run->dispatch_width;
	enum mca_schedule schedule;
	bool possible = true;

	if (!run->dispatch_available || required > run->dispatch_available)
		return false;
	if ((description->flags & MCA_CLASS_BEGIN_GROUP) &&
	    run->dispatch_available != run->dispatch_width)
		return false;
	/* Every cause is reported, not only the first. */
	if (run->reorder_available < reorder_slots(run, flight)) {
		mca_send_stall(run, flight, PESA_MCA_STALL_RETIRE);
		possible = false;
	}
	if (!mca_registers_available(run, flight)) {
		mca_send_stall(run, flight, PESA_MCA_STALL_REGISTERS);
		possible = false;
	}
	schedule = mca_scheduler_check(run, flight);
	if (schedule != MCA_SCHEDULE_OK) {
		mca_send_stall(run, flight, stalls[schedule]);
		possible = false;
	}
	return possible;
}

static void dispatch(struct mca_run *run, struct mca_inflight *flight)
{
	const struct mca_description *description = flight->description;
	unsigned int micro_ops = description->micro_ops, registers = 0, slots, token;

	if (micro_ops > run->dispatch_width) {
		run->dispatch_available = 0;
		run->carry_over = micro_ops - run->dispatch_width;
		run->carried_over = flight;
	} else {
		run->dispatch_available -= micro_ops;
	}
	if (description->flags & MCA_CLASS_END_GROUP)
		run->dispatch_available = 0;
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		mca_register_read(run, &flight->reads[i]);
	for (unsigned int i = 0; i < flight->lowered->writes; i++)
		registers += mca_register_write(run, flight, &flight->results[i]);
	slots = reorder_slots(run, flight);
	token = run->reorder_next;
	run->reorder[token] = (struct mca_reorder_entry){.flight = flight, .slots = slots};
	run->reorder_next += slots;
	if (run->reorder_next >= run->reorder_size)
		run->reorder_next -= run->reorder_size;
	run->reorder_available -= slots;
	flight->reorder_index = token;
	mca_send_dispatched(run, flight,
			    micro_ops < run->dispatch_width ? micro_ops : run->dispatch_width,
			    registers);
	execute(run, flight);
}

bool mca_out_of_order_cycle(struct mca_run *run)
{
	retire_cycle(run);
	execute_cycle(run);
	dispatch_cycle(run);
	if (!run->current)
		mca_fetch(run);
	while (run->current && mca_delivers(run) && can_dispatch(run, run->current) &&
	       !run->error) {
		struct mca_inflight *flight = run->current;

		run->current = NULL;
		if (run->stimuli.options)
			mca_stimuli_delivered(run, flight);
		dispatch(run, flight);
		mca_fetch(run);
	}
	if (run->options->pressure && mca_wants(run, PESA_MCA_PRESSURE))
		pressure(run);
	return run->current || run->reorder_available != run->reorder_entries;
}
