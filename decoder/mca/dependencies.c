/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who waits for whom: the register file, and operands and results of instructions in flight. */
#include <stdlib.h>

#include "decoder/mca/engine.h"

/* ---- Operands and results ------------------------------------------------------------------ */

/* A producer has issued: the operand arrives in `cycles`. */
static void read_start(struct mca_read *read, unsigned int instruction, unsigned int reg,
		       unsigned int cycles)
{
	read->producers--;
	read->flight->asleep = false;
	if (read->total_cycles < (int)cycles) {
		read->critical = (struct pesa_mca_critical){instruction, reg, cycles};
		read->total_cycles = cycles;
	}
	if (!read->producers) {
		read->cycles_left = read->total_cycles;
		read->ready = !read->cycles_left;
	}
}

static unsigned int cycles_after(int cycles_left, int advance)
{
	return cycles_left > advance ? cycles_left - advance : 0;
}

static void add_user(struct mca_run *run, struct mca_result *result, unsigned int instruction,
		     struct mca_read *read, int advance)
{
	struct mca_user *user;

	if (result->cycles_left != MCA_CYCLES_UNKNOWN) {
		read_start(read, instruction, result->description->reg,
			   cycles_after(result->cycles_left, advance));
		return;
	}
	user = run->free_users;
	if (user) {
		run->free_users = user->next;
	} else {
		struct chunk {
			void *next;
			struct mca_user users[64];
		} *chunk = malloc(sizeof(*chunk));

		if (!chunk) {
			run->out_of_memory = true;
			return;
		}
		chunk->next = run->chunks;
		run->chunks = chunk;
		for (unsigned int i = 1; i < 64; i++) {
			chunk->users[i].next = run->free_users;
			run->free_users = &chunk->users[i];
		}
		user = &chunk->users[0];
	}
	*user = (struct mca_user){.read = read, .advance = advance, .next = result->users};
	result->users = user;
	result->user_count++;
}

static void result_issued(struct mca_run *run, struct mca_result *result, unsigned int instruction,
			  int latency)
{
	result->cycles_left = latency;
	while (result->users) {
		struct mca_user *user = result->users;

		read_start(user->read, instruction, result->description->reg,
			   cycles_after(result->cycles_left, user->advance));
		result->users = user->next;
		user->next = run->free_users;
		run->free_users = user;
	}
}

/* Whether the read will change by the passing of cycles alone. */
static bool read_counts(const struct mca_read *read)
{
	return (read->producers && read->total_cycles) || read->cycles_left > 0;
}

/* One that waits for producers to issue need not be looked at until one of them does. */
static void fall_asleep(struct mca_flight *flight)
{
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		if (read_counts(&flight->reads[i]))
			return;
	flight->asleep = true;
}

static void read_cycle(struct mca_read *read)
{
	if (read->producers && read->total_cycles) {
		read->total_cycles--;
		return;
	}
	if (read->cycles_left == MCA_CYCLES_UNKNOWN)
		return;
	if (read->cycles_left) {
		read->cycles_left--;
		read->ready = !read->cycles_left;
	}
}

bool mca_flight_update_pending(struct mca_flight *flight)
{
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		if (!flight->reads[i].ready)
			return false;
	flight->stage = MCA_READY;
	return true;
}

bool mca_flight_update_dispatched(struct mca_flight *flight)
{
	if (flight->asleep)
		return false;
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		if (!flight->reads[i].ready && flight->reads[i].cycles_left <= 0)
			return false;
	flight->stage = MCA_PENDING;
	return true;
}

void mca_flight_dispatch(struct mca_flight *flight, unsigned int token)
{
	flight->stage = MCA_DISPATCHED;
	flight->token = token;
	if (mca_flight_update_dispatched(flight))
		mca_flight_update_pending(flight);
}

void mca_flight_execute(struct mca_run *run, struct mca_flight *flight)
{
	flight->stage = MCA_EXECUTING;
	flight->cycles_left = mca_flight_latency(flight);
	for (unsigned int i = 0; i < flight->lowered->writes; i++)
		result_issued(run, &flight->results[i], flight->instruction,
			      mca_result_latency(flight, &flight->results[i]));
	if (!flight->cycles_left)
		flight->stage = MCA_EXECUTED;
}

void mca_flight_cycle(struct mca_flight *flight)
{
	if (flight->asleep)
		return;
	switch (flight->stage) {
	case MCA_DISPATCHED:
	case MCA_PENDING:
		for (unsigned int i = 0; i < flight->lowered->reads; i++)
			read_cycle(&flight->reads[i]);
		if (flight->stage == MCA_DISPATCHED && !mca_flight_update_dispatched(flight))
			fall_asleep(flight);
		if (flight->stage == MCA_PENDING)
			mca_flight_update_pending(flight);
		break;
	case MCA_EXECUTING:
		for (unsigned int i = 0; i < flight->lowered->writes; i++)
			flight->results[i].cycles_left--;
		if (!--flight->cycles_left)
			flight->stage = MCA_EXECUTED;
		break;
	default:
		break;
	}
}

void mca_flight_find_critical(struct mca_flight *flight)
{
	if (flight->critical_register.cycles)
		return;
	for (unsigned int i = 0; i < flight->lowered->reads; i++)
		if (flight->reads[i].critical.cycles)
			flight->critical_register = flight->reads[i].critical;
}

/* ---- The register file --------------------------------------------------------------------- */

/* What a read finds: results in flight, and committed ones that come too early for it. */
struct found {
	struct {
		struct mca_result *result;
		unsigned int instruction;
	} flying[1 + MCA_SUBREGISTERS_MAX];
	const struct mca_last_write *committed[1 + MCA_SUBREGISTERS_MAX];
	unsigned int flying_count, committed_count;
};

static bool has_known_write_back(const struct mca_last_write *last)
{
	const struct mca_result *result = last->result;

	return last->valid &&
	       (!result || (result->cycles_left != MCA_CYCLES_UNKNOWN && result->cycles_left <= 0));
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
	} else if (read->description->late && has_known_write_back(last)) {
		int advance = mca_advance(read->description, last->name);

		if (advance < 0 && run->registers.cycle - last->cycle < (unsigned int)-advance)
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
	read->producers = found.flying_count + found.committed_count;
	read->ready = !read->producers;
	for (unsigned int i = 0; i < found.flying_count; i++) {
		struct mca_result *result = found.flying[i].result;

		add_user(run, result, found.flying[i].instruction, read,
			 mca_advance(read->description, result->description->name));
	}
	for (unsigned int i = 0; i < found.committed_count; i++) {
		const struct mca_last_write *last = found.committed[i];
		unsigned int delay = -mca_advance(read->description, last->name);

		read_start(read, last->instruction, last->reg,
			   delay - (run->registers.cycle - last->cycle));
	}
}

unsigned int mca_operand_hazard(const struct mca_run *run, const struct mca_flight *flight)
{
	for (unsigned int i = 0; i < flight->lowered->reads; i++) {
		const struct mca_read *read = &flight->reads[i];
		int hazard = 0;
		bool unknown = false;
		struct found found;

		collect_all(run, read, &found);
		for (unsigned int j = 0; j < found.flying_count; j++) {
			const struct mca_result *result = found.flying[j].result;
			int cycles = result->cycles_left;

			if (cycles == MCA_CYCLES_UNKNOWN) {
				unknown = true;
				continue;
			}
			cycles -= mca_advance(read->description, result->description->name);
			if (cycles > hazard)
				hazard = cycles;
		}
		for (unsigned int j = 0; j < found.committed_count; j++) {
			const struct mca_last_write *last = found.committed[j];
			int cycles = -mca_advance(read->description, last->name) -
				     (int)(run->registers.cycle - last->cycle);

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

unsigned int mca_register_write(struct mca_run *run, struct mca_flight *flight,
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

	run->registers.used++;
	/* Of two results of one instruction for a register, the slower one counts. */
	if (other->result && other->instruction == flight->instruction &&
	    other->result->description->latency > write->latency)
		return 1;
	last[write->reg] = entry;
	for (unsigned int i = 0; i < write->parts->count; i++)
		last[write->parts->part[i]] = entry;
	return 1;
}

void mca_register_executed(struct mca_run *run, struct mca_flight *flight)
{
	struct mca_last_write *last = run->registers.last;

	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];
		const struct mca_lowered_write *write = result->description;

		if (last[write->reg].result == result)
			last[write->reg].cycle = run->registers.cycle;
		for (unsigned int j = 0; j < write->parts->count; j++)
			if (last[write->parts->part[j]].result == result)
				last[write->parts->part[j]].cycle = run->registers.cycle;
	}
}

static void commit(struct mca_last_write *last, const struct mca_result *result)
{
	if (last->result != result)
		return;
	last->reg = result->description->reg;
	last->name = result->description->name;
	last->result = NULL;
}

unsigned int mca_register_retired(struct mca_run *run, struct mca_flight *flight)
{
	struct mca_last_write *last = run->registers.last;

	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];
		const struct mca_lowered_write *write = result->description;

		commit(&last[write->reg], result);
		for (unsigned int j = 0; j < write->parts->count; j++)
			commit(&last[write->parts->part[j]], result);
	}
	run->registers.used -= flight->lowered->writes;
	return flight->lowered->writes;
}

bool mca_registers_available(const struct mca_run *run, const struct mca_flight *flight)
{
	unsigned int needed = flight->lowered->writes;

	if (!run->registers.size || !needed)
		return true;
	if (needed > run->registers.size)
		needed = run->registers.size;
	return run->registers.used + needed <= run->registers.size;
}
