/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An in-order processor: one stage, which issues in program order when operands and units are
 * available, and such that results are also written back in program order (unless the model allows
 * otherwise).
 */
#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/engine/stimuli.h"

/* Cycles from issue to the write-back of an instruction's first result. */
static unsigned int first_write_back(const struct mca_inflight *flight)
{
	int first = mca_inflight_latency(flight);

	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		int cycles = mca_result_latency(flight, &flight->results[i]);

		if (cycles < first)
			first = cycles;
	}
	return first;
}

static void stall(struct mca_run *run, struct mca_inflight *flight, unsigned int cycles,
		  enum mca_stall_reason reason)
{
	run->stalled = flight;
	run->stall_cycles = cycles;
	run->stall_reason = reason;
}

static bool can_issue(struct mca_run *run, struct mca_inflight *flight)
{
	unsigned int cycles = mca_operand_hazard(run, flight);

	if (cycles) {
		stall(run, flight, cycles, MCA_STALL_OPERANDS);
		return false;
	}
	if (mca_resources_busy(&run->resources, flight->description)) {
		stall(run, flight, 1, MCA_STALL_RESOURCES);
		return false;
	}
	if (mca_is_memory(flight) && !mca_memory_is_ready(&run->memory, flight)) {
		stall(run, flight, 1, MCA_STALL_MEMORY);
		return false;
	}
	if (run->last_write_back && !(flight->description->flags & MCA_CLASS_RETIRE_OUT_OF_ORDER)) {
		unsigned int next = first_write_back(flight);

		if (next < run->last_write_back) {
			stall(run, flight, run->last_write_back - next, MCA_STALL_WRITE_BACK);
			return false;
		}
	}
	return true;
}

static void executed_and_retired(struct mca_run *run, struct mca_inflight *flight)
{
	mca_register_executed(run, flight);
	mca_memory_executed(run, flight);
	mca_send_simple(run, PESA_MCA_EXECUTED, flight);
	mca_stimuli_executed(run, flight);
	flight->stage = MCA_RETIRED;
	if (mca_is_memory(flight)) {
		unsigned int freed = mca_register_retired(run, flight);

		mca_memory_retired(run, flight);
		mca_send_retired(run, flight, freed);
	} else {
		mca_send_retired(run, flight, mca_register_retired(run, flight));
	}
	mca_recycle(run, flight);
}

static void try_issue(struct mca_run *run, struct mca_inflight *flight)
{
	const struct mca_description *description = flight->description;
	unsigned int micro_ops = description->micro_ops, registers = 0, count;
	struct mca_pipe pipes[MCA_PIPES_MAX];
	bool carries_over;

	if (!can_issue(run, flight)) {
		run->bandwidth = 0;
		return;
	}
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		mca_register_read(run, &flight->reads[i]);
	for (unsigned int i = 0; i < flight->lowered->writes; i++)
		registers += mca_register_write(run, flight, &flight->results[i]);
	mca_send_dispatched(run, flight, micro_ops, registers);
	count = mca_resources_issue(&run->resources, run->now, description, pipes);
	mca_inflight_execute(run, flight);
	if (mca_is_memory(flight))
		mca_memory_issued(run, flight);
	mca_send_simple(run, PESA_MCA_READY, flight);
	mca_send_issued(run, flight, pipes, count);
	carries_over = micro_ops > run->bandwidth;
	flight->committed = mca_commit_next(&run->commit, run->now, flight->executed,
					    carries_over ? micro_ops - run->bandwidth : 0,
					    flight->lowered->taken);
	if (carries_over) {
		run->carry_over = micro_ops - run->bandwidth;
		run->carried_over = flight;
		run->bandwidth = 0;
	} else {
		run->issued_in_cycle += micro_ops;
		run->bandwidth =
			description->flags & MCA_CLASS_END_GROUP ? 0 : run->bandwidth - micro_ops;
	}
	if (flight->executed <= run->now && !carries_over) {
		executed_and_retired(run, flight);
		return;
	}
	mca_list_push(run, &run->issued, flight);
	if (!(description->flags & MCA_CLASS_RETIRE_OUT_OF_ORDER))
		run->last_write_back = flight->executed - run->now;
}

static void update_issued(struct mca_run *run)
{
	struct mca_inflight_list *list = &run->issued;

	for (unsigned int i = 0; i < list->count;) {
		struct mca_inflight *flight = list->list[i];

		if (flight->executed > run->now) {
			i++;
			continue;
		}
		/* An instruction that is still issuing is finished by update_carried_over(). */
		mca_list_remove(list, i);
		if (run->carried_over != flight)
			executed_and_retired(run, flight);
	}
}

static void update_carried_over(struct mca_run *run)
{
	struct mca_inflight *flight = run->carried_over;

	if (!flight)
		return;
	if (run->carry_over > run->bandwidth) {
		run->carry_over -= run->bandwidth;
		run->bandwidth = 0;
		return;
	}
	if (flight->description->flags & MCA_CLASS_END_GROUP)
		run->bandwidth = 0;
	else
		run->bandwidth -= run->carry_over;
	run->carried_over = NULL;
	run->carry_over = 0;
	if (flight->executed <= run->now)
		executed_and_retired(run, flight);
}

static void send_pressure(struct mca_run *run, const struct mca_inflight *flight,
			  enum pesa_mca_pressure pressure)
{
	unsigned int affected = flight->instruction;
	uint64_t waited = 0;

	if (mca_wants(run, PESA_MCA_PRESSURE))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_PRESSURE,
				      .pressure = pressure,
				      .affected = &affected,
				      .affected_resources = &waited,
				      .affected_count = 1,
			      });
}

static void send_stalled(struct mca_run *run)
{
	if (run->stall_reason == MCA_STALL_OPERANDS) {
		mca_send_stall(run, run->stalled, PESA_MCA_STALL_REGISTERS);
		send_pressure(run, run->stalled, PESA_MCA_PRESSURE_REGISTERS);
	} else if (run->stall_reason == MCA_STALL_RESOURCES) {
		mca_send_stall(run, run->stalled, PESA_MCA_STALL_GROUP);
		send_pressure(run, run->stalled, PESA_MCA_PRESSURE_RESOURCES);
	}
}

static void cycle_start(struct mca_run *run)
{
	run->issued_in_cycle = 0;
	run->bandwidth = run->model->issue_width;
	if (mca_wants(run, PESA_MCA_ISSUED))
		mca_memory_cycle(&run->memory);
	mca_resources_cycle(&run->resources, run->now);
	update_issued(run);
	update_carried_over(run);
	if (!run->stalled)
		return;
	if (!run->stall_cycles) {
		struct mca_inflight *flight = run->stalled;

		run->stalled = NULL;
		try_issue(run, flight);
	}
	if (run->stalled && run->stall_cycles) {
		send_stalled(run);
		run->bandwidth = 0;
	}
}

static bool is_available(const struct mca_run *run, const struct mca_inflight *flight)
{
	unsigned int micro_ops = flight->description->micro_ops;

	if (run->stalled || run->carried_over)
		return false;
	if (run->bandwidth < micro_ops && micro_ops <= run->model->issue_width)
		return false;
	/* In llvm-mca an instruction wider than the issue width begins in the rest of a cycle, even
	 * if that is empty; a core begins it in a cycle of its own. */
	if (run->options->free_order && micro_ops > run->model->issue_width && run->issued_in_cycle)
		return false;
	return !(flight->description->flags & MCA_CLASS_BEGIN_GROUP) || !run->issued_in_cycle;
}

bool mca_in_order_cycle(struct mca_run *run)
{
	cycle_start(run);
	if (!run->current)
		mca_fetch(run);
	while (run->current && mca_delivers(run) && is_available(run, run->current) &&
	       !run->error) {
		struct mca_inflight *flight = run->current;

		run->current = NULL;
		if (run->stimuli.options)
			mca_stimuli_delivered(run, flight);
		if (mca_is_memory(flight))
			mca_memory_dispatch(run, flight);
		try_issue(run, flight);
		if (run->stalled)
			send_stalled(run);
		mca_fetch(run);
	}
	if (run->stalled && run->stall_cycles)
		run->stall_cycles--;
	if (run->last_write_back)
		run->last_write_back--;
	return run->current || run->issued.count || run->stalled || run->carried_over;
}
