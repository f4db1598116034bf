/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dependencies: the register file, and operands and results of in-flight instructions. */
#include "decoder/mca/engine/engine.h"

#define USERS_AT_ONCE 64

/* ---- Operands and results -------------------------------------------------------------------- */

/* A producer has issued: the operand arrives in `cycles` cycles. */
static void read_start(struct mca_run *run, struct mca_read *read, unsigned int instruction,
		       unsigned int reg, unsigned int cycles)
{
	struct mca_inflight *flight = read->flight;
	uint64_t arrival = run->now + cycles;

	if (cycles && arrival > read->arrival) {
		read->critical = (struct pesa_mca_critical){instruction, reg, cycles};
		read->arrival = arrival;
		if (arrival > flight->arrival)
			flight->arrival = arrival;
	}
	if (!--flight->producers && flight->stage == MCA_WAITING)
		mca_scheduler_wake(run, flight);
}

static unsigned int cycles_after(int cycles_left, int advance)
{
	return cycles_left > advance ? cycles_left - advance : 0;
}

static void add_user(struct mca_run *run, struct mca_result *result, unsigned int instruction,
		     struct mca_read *read, int advance)
{
	struct mca_inflight *producer = result->flight;
	struct mca_user *user;

	if (result->issued) {
		read_start(run, read, instruction, result->description->reg,
			   cycles_after(mca_cycles_left(run, result), advance));
		return;
	}
	user = run->free_users;
	if (user) {
		run->free_users = user->next;
	} else {
		user = mca_arena_take_raw(&run->arena, USERS_AT_ONCE * sizeof(*user));
		if (!user) {
			mca_fail(run, pesa_error_no_memory());
			return;
		}
		for (unsigned int i = 1; i < USERS_AT_ONCE; i++) {
			user[i].next = run->free_users;
			run->free_users = &user[i];
		}
	}
	*user = (struct mca_user){.read = read, .advance = advance, .next = result->users};
	result->users = user;
	producer->users++;
	if (producer->stage == MCA_READY)
		mca_scheduler_has_user(run, producer);
}

static void result_issued(struct mca_run *run, struct mca_result *result,
			  const struct mca_inflight *flight)
{
	int latency = mca_result_latency(flight, result);

	result->issued = true;
	result->complete = run->now + latency;
	result->executed = flight->executed;
	while (result->users) {
		struct mca_user *user = result->users;

		read_start(run, user->read, flight->instruction, result->description->reg,
			   cycles_after(latency, user->advance));
		result->users = user->next;
		user->next = run->free_users;
		run->free_users = user;
	}
}

void mca_inflight_execute(struct mca_run *run, struct mca_inflight *flight)
{
	flight->stage = MCA_ISSUED;
	flight->executed = run->now + mca_inflight_latency(flight);
	for (unsigned int i = 0; i < flight->lowered->writes; i++)
		if (!flight->lowered->write[i].at_retirement)
			result_issued(run, &flight->results[i], flight);
	mca_steady_issued(&run->steady, run->next_number - flight->instruction, run->now);
}

/*
 * A load that waited only for this retirement (store forwarding) has started in the meantime.  Its
 * latency is now counted from the retirement, whatever the latency of loads.
 */
static void shorten_loads(const struct mca_run *run, const struct mca_result *result)
{
	int latency = result->description->latency;

	for (const struct mca_user *user = result->users; user; user = user->next) {
		struct mca_inflight *load = user->read->flight;

		if (load->producers == 1 && load->arrival <= run->now && load->actual_latency < 0 &&
		    load->description->latency > latency)
			load->actual_latency = latency;
	}
}

void mca_inflight_retire(struct mca_run *run, struct mca_inflight *flight)
{
	for (unsigned int i = 0; i < flight->lowered->writes; i++)
		if (flight->lowered->write[i].at_retirement) {
			shorten_loads(run, &flight->results[i]);
			result_issued(run, &flight->results[i], flight);
		}
}

void mca_inflight_find_critical(struct mca_inflight *flight)
{
	if (flight->critical_register.cycles)
		return;
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		if (flight->reads[i].critical.cycles)
			flight->critical_register = flight->reads[i].critical;
}

/* ---- The register file ----------------------------------------------------------------------- */

/* The sources of a read: in-flight results, and committed ones that still delay it. */
struct found {
	struct {
		struct mca_result *result;
		unsigned int instruction;
	} flying[1 + MCA_SUBREGISTERS_MAX];
	const struct mca_last_write *committed[1 + MCA_SUBREGISTERS_MAX];
	unsigned int flying_count, committed_count;
};

/* Cycles by which a committed result still delays a read. */
static unsigned int delay_left(const struct mca_run *run, const struct mca_read *read,
			       const struct mca_last_write *last)
{
	int delay = last->after - mca_advance(read->description, last->name);
	uint64_t passed = run->now - last->cycle;

	return delay > 0 && passed < (unsigned int)delay
		       ? (unsigned int)delay - (unsigned int)passed
		       : 0;
}

static void collect(const struct mca_run *run, const struct mca_read *read, unsigned int reg,
		    struct found *found)
{
	const struct mca_last_write *last = &run->registers.last[reg];

	if (last->result) {
		for (unsigned int i = 0; i < found->flying_count; i++)
			if (found->flying[i].result == last->result)
				return;
		found->flying[found->flying_count].instruction = last->instruction;
		found->flying[found->flying_count++].result = last->result;
	} else if ((read->description->late || last->after) && last->valid &&
		   delay_left(run, read, last)) {
		found->committed[found->committed_count++] = last;
	}
}

static void collect_all(const struct mca_run *run, const struct mca_read *read, struct found *found)
{
	const struct mca_register_parts *parts = read->description->parts;

	found->flying_count = found->committed_count = 0;
	collect(run, read, read->description->reg, found);
	for (unsigned int i = 0; i < parts->count; i++)
		collect(run, read, parts->part[i], found);
}

void mca_register_read(struct mca_run *run, struct mca_read *read)
{
	struct found found;

	collect_all(run, read, &found);
	read->flight->producers += found.flying_count + found.committed_count;
	for (unsigned int i = 0; i < found.flying_count; i++) {
		struct mca_result *result = found.flying[i].result;

		add_user(run, result, found.flying[i].instruction, read,
			 mca_advance(read->description, result->description->name));
	}
	for (unsigned int i = 0; i < found.committed_count; i++) {
		const struct mca_last_write *last = found.committed[i];

		read_start(run, read, last->instruction, last->reg, delay_left(run, read, last));
	}
}

unsigned int mca_operand_hazard(const struct mca_run *run, const struct mca_inflight *flight)
{
	for (unsigned int i = 0; i < flight->lowered->reads; i++) {
		const struct mca_read *read = &flight->reads[i];
		int hazard = 0;
		bool unknown = false;
		struct found found;

		collect_all(run, read, &found);
		for (unsigned int j = 0; j < found.flying_count; j++) {
			const struct mca_result *result = found.flying[j].result;
			int cycles = mca_cycles_left(run, result);

			if (cycles == MCA_CYCLES_UNKNOWN) {
				unknown = true;
				continue;
			}
			cycles -= mca_advance(read->description, result->description->name);
			if (cycles > hazard)
				hazard = cycles;
		}
		for (unsigned int j = 0; j < found.committed_count; j++) {
			int cycles = (int)delay_left(run, read, found.committed[j]);

			if (cycles > hazard)
				hazard = cycles;
		}
		if (hazard > 0)
			return hazard;
		if (unknown)
			return 1;
	}
	return 0;
}

unsigned int mca_register_write(struct mca_run *run, struct mca_inflight *flight,
				struct mca_result *result)
{
	const struct mca_lowered_write *write = result->description;
	struct mca_last_write *last = run->registers.last;
	const struct mca_last_write *other = &last[write->reg];
	struct mca_last_write entry = {
		.result = result,
		.instruction = flight->instruction,
		.valid = true,
	};

	run->registers.all.used++;
	run->registers.integers.used += mca_register_is_integer(write->reg);
	run->registers.floats.used += mca_register_is_float(write->reg);
	/* If one instruction writes a register twice, the slower result is used. */
	if (other->result && other->instruction == flight->instruction &&
	    other->result->description->latency > write->latency)
		return 1;
	last[write->reg] = entry;
	for (unsigned int i = 0; i < write->parts->count; i++)
		last[write->parts->part[i]] = entry;
	return 1;
}

void mca_register_executed(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_last_write *last = run->registers.last;

	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];
		const struct mca_lowered_write *write = result->description;

		if (last[write->reg].result == result)
			last[write->reg].cycle = run->now;
		for (unsigned int j = 0; j < write->parts->count; j++)
			if (last[write->parts->part[j]].result == result)
				last[write->parts->part[j]].cycle = run->now;
	}
}

static void commit(const struct mca_run *run, struct mca_last_write *last,
		   const struct mca_result *result)
{
	if (last->result != result)
		return;
	if (result->description->at_retirement) {
		uint64_t committed = result->flight->committed;

		last->cycle = run->now;
		last->after = (uint16_t)result->description->latency;
		if (committed > run->now)
			last->after += (uint16_t)(committed - run->now);
	}
	last->reg = result->description->reg;
	last->name = result->description->name;
	last->result = NULL;
}

unsigned int mca_register_retired(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_last_write *last = run->registers.last;

	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];
		const struct mca_lowered_write *write = result->description;

		commit(run, &last[write->reg], result);
		for (unsigned int j = 0; j < write->parts->count; j++)
			commit(run, &last[write->parts->part[j]], result);
	}
	run->registers.all.used -= flight->lowered->writes;
	run->registers.integers.used -= flight->lowered->integers;
	run->registers.floats.used -= flight->lowered->floats;
	return flight->lowered->writes;
}

static bool is_available(const struct mca_result_registers *registers, unsigned int needed)
{
	if (!registers->size || !needed)
		return true;
	if (needed > registers->size)
		needed = registers->size;
	return registers->used + needed <= registers->size;
}

bool mca_registers_available(const struct mca_run *run, const struct mca_inflight *flight)
{
	return is_available(&run->registers.all, flight->lowered->writes) &&
	       is_available(&run->registers.integers, flight->lowered->integers) &&
	       is_available(&run->registers.floats, flight->lowered->floats);
}
