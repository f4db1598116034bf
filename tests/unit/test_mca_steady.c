/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that leaves out what repeats gives the cycles of one that does not, and what snapshots of
 * the machine do not show does not matter.  MCA_STEADY_BLOCKS: blocks per processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/mca/fast/fast.h"
#include "tests/unit/mca_blocks.h"

#define BLOCKS 40 /* per processor */

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	(void)event;
	++*(uint64_t *)data;
	return NULL;
}

/* Cycles of each unit by instruction of the block. */
struct used {
	unsigned int count; /* of the block */
	uint64_t *cycles;   /* by instruction, resource and unit */
};

#define USED_PLACES (MCA_RESOURCES_MAX + 1) * MCA_UNITS_MAX

static struct pesa_error *add_used(void *data, const struct pesa_mca_event *event)
{
	struct used *used = data;
	unsigned int position = event->instruction % used->count;

	for (unsigned int i = 0; i < event->occupations; i++) {
		const struct pesa_mca_occupation *use = &event->occupation[i];

		used->cycles[(position * (MCA_RESOURCES_MAX + 1) + use->resource) * MCA_UNITS_MAX +
			     use->unit] += event->kind == PESA_MCA_USED ? event->used : use->cycles;
	}
	return NULL;
}

static struct used no_use(const struct pesa_mca_block *block)
{
	struct used used = {.count = pesa_mca_block_count(block)};

	used.cycles = calloc((size_t)used.count * USED_PLACES, sizeof(*used.cycles));
	assert_non_null(used.cycles);
	return used;
}

/* What is counted of a run that is extrapolated, against the sum over each issue. */
static void compare_use(const struct pesa_mca_block *block,
			const struct pesa_mca_run_options *options, uint64_t cycles)
{
	struct used issued = no_use(block), used = no_use(block);
	struct pesa_mca_listener each = {add_used, &issued, 1u << PESA_MCA_ISSUED};
	struct pesa_mca_listener whole = {add_used, &used, 1u << PESA_MCA_USED};
	uint64_t counted;

	assert_null(pesa_mca_run(block, options, &each, 1, &counted));
	assert_int_equal(counted, cycles);
	assert_null(pesa_mca_run(block, options, &whole, 1, &counted));
	assert_int_equal(counted, cycles);
	assert_memory_equal(issued.cycles, used.cycles,
			    issued.count * USED_PLACES * sizeof(*used.cycles));
	free(issued.cycles);
	free(used.cycles);
}

/* Listened to, without leaving anything out, and on the fast path, without listeners. */
static void compare(const struct pesa_mca_block *block, struct pesa_mca_run_options options)
{
	uint64_t cycles, all, some, events = 0;
	struct pesa_mca_listener listener = {on_event, &events, 1u << PESA_MCA_CYCLE_END};

	assert_null(pesa_mca_run(block, &options, &listener, 1, &cycles));
	assert_int_equal(events, cycles);
	compare_use(block, &options, cycles);
	assert_null(pesa_mca_run(block, &options, NULL, 0, &some));
	options.every_iteration = true;
	assert_null(pesa_mca_run(block, &options, NULL, 0, &all));
	assert_int_equal(all, cycles);
	assert_int_equal(some, cycles);
}

static struct pesa_mca_run_options make_options(uint32_t *seed, unsigned int iterations)
{
	return (struct pesa_mca_run_options){
		.iterations = 1 + pick(seed, iterations),
		.loads_alias_stores = pick(seed, 2),
		.dispatch_width = pick(seed, 3) ? 0 : 1 + pick(seed, 6),
		.register_file_size = pick(seed, 3) ? 0 : 20 + pick(seed, 40),
		.integer_results = pick(seed, 3) ? 0 : 1 + pick(seed, 20),
		.float_results = pick(seed, 3) ? 0 : 1 + pick(seed, 20),
		.load_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_queue = pick(seed, 3) ? 0 : 2 + pick(seed, 6),
		.store_ports = pick(seed, 3) ? 0 : 1 + pick(seed, 2),
		.retired_branches = pick(seed, 3) ? 0 : 1 + pick(seed, 2),
		.store_latency = pick(seed, 8),
	};
}

/* ---- Whole runs ------------------------------------------------------------------------------ */

static void compare_some(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	(void)data;
	compare(block, make_options(seed, 300));
}

static void all_processors_give_the_same_cycles(void **state)
{
	(void)state;
	for_each_block(random_block, 7, false, number_of_blocks("MCA_STEADY_BLOCKS", BLOCKS),
		       compare_some, NULL);
}

static void changed_models_give_the_same_cycles(void **state)
{
	(void)state;
	for_each_block(random_block, 11, true, number_of_blocks("MCA_STEADY_BLOCKS", BLOCKS),
		       compare_some, NULL);
}

/* Each number of iterations, so that a run ends anywhere in a period or in its first one. */
static void any_number_of_iterations_gives_the_same_cycles(void **state)
{
	static const char *const names[] = {"sifive-p670", "tt-ascalon-d8", "sifive-u74"};
	uint32_t seed = 5;
	struct pesa_isa *isa;

	(void)state;
	assert_null(pesa_isa_create("rv64imafdc", &isa));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct pesa_mca_model *model;

		assert_null(pesa_mca_model_builtin(names[i], &model));
		for (unsigned int j = 0; j < 2; j++) {
			struct pesa_mca_block *block = random_block(model, isa, &seed);

			for (unsigned int iterations = 1; iterations <= 300; iterations++) {
				struct pesa_mca_run_options options = make_options(&seed, 1);

				options.iterations = iterations;
				compare(block, options);
			}
			pesa_mca_block_free(block);
		}
		pesa_mca_model_free(model);
	}
	pesa_isa_free(isa);
}

/* Executed one by one, these would take minutes. */
static void a_long_run_costs_no_more(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	struct pesa_mca_run_options options = {.iterations =
						       INT32_MAX / pesa_mca_block_count(block)};
	uint64_t cycles;

	(void)seed;
	(void)data;
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	assert_true(cycles > INT32_MAX / 16);
}

static void long_runs_are_extrapolated(void **state)
{
	(void)state;
	for_each_block(random_block, 7, false, 1, a_long_run_costs_no_more, NULL);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

/*
 * A snapshot is right if it shows all that decides how a run goes on.  So the machine is stopped
 * somewhere and one thing in it is changed: then either the snapshot changes, or the run ends as it
 * would have.  And no part of a snapshot is idle: for each there is a change that no other part
 * shows, and that makes the run end otherwise.
 */
struct outcome {
	unsigned int changed, needed; /* changes that had an effect; that no other part shows */
};

static bool are_equal(const struct mca_snapshot *a, const struct mca_snapshot *b)
{
	return a->count == b->count && !memcmp(a->words, b->words, a->count * sizeof(*a->words));
}

static struct mca_snapshot copy(const uint64_t *words, unsigned int count,
				const struct mca_fast_record *records, unsigned int record_count)
{
	struct mca_snapshot snapshot = {.count = count + 2 * record_count};

	snapshot.words = malloc((snapshot.count + 1) * sizeof(*words));
	assert_non_null(snapshot.words);
	memcpy(snapshot.words, words, count * sizeof(*words));
	for (unsigned int i = 0; i < record_count; i++) {
		snapshot.words[count + 2 * i] = records[i].place;
		snapshot.words[count + 2 * i + 1] = records[i].group;
	}
	return snapshot;
}

static void note(const char *part, struct outcome *outcome, struct mca_snapshot snapshots[4],
		 bool same_end)
{
	/* With all parts and without one, before and after the change. */
	bool shown = !are_equal(&snapshots[0], &snapshots[2]);
	bool shown_elsewhere = !are_equal(&snapshots[1], &snapshots[3]);

	if (!shown && !same_end)
		fail_msg("a change of %s is not shown, and the run ends otherwise", part);
	outcome->changed += !same_end;
	outcome->needed += !same_end && !shown_elsewhere;
	for (unsigned int i = 0; i < 4; i++)
		free(snapshots[i].words);
}

/* ---- Out of order ---- */

typedef bool (*change_quick)(struct mca_fast *fast, uint32_t *seed);

/* Of those in flight, one in some place; NULL if there is none. */
static struct mca_fast_inflight *find(struct mca_fast *fast, uint32_t *seed, enum mca_stage stage)
{
	uint32_t count = fast->tail - fast->head, first = count ? pick(seed, count) : 0;

	for (uint32_t i = 0; i < count; i++) {
		struct mca_fast_inflight *flight =
			mca_fast_inflight(fast, fast->head + (first + i) % count);

		if (flight->stage == stage)
			return flight;
	}
	return NULL;
}

static bool quick_position(struct mca_fast *fast, uint32_t *seed)
{
	fast->position = pick(seed, fast->block->count);
	return true;
}

static bool quick_carry_over(struct mca_fast *fast, uint32_t *seed)
{
	fast->carry_over += 1 + pick(seed, 5);
	return true;
}

static bool quick_flights(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_fast_inflight *flight = find(fast, seed, MCA_WAITING);

	if (!flight || !flight->producers)
		return false;
	flight->producers = 0;
	mca_fast_wake(fast, flight);
	return true;
}

static bool quick_users(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_fast_inflight *flight = find(fast, seed, MCA_READY);

	if (!flight)
		return false;
	flight->rank -= 1 + pick(seed, 20);
	mca_fast_list_again(fast);
	return true;
}

static bool quick_times(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_fast_inflight *flight =
		find(fast, seed, pick(seed, 2) ? MCA_ISSUED : MCA_PENDING);

	if (!flight || flight->time < fast->now)
		return false;
	flight->time += 1 + pick(seed, 5);
	mca_fast_list_again(fast);
	return true;
}

static bool quick_committed(struct mca_fast *fast, uint32_t *seed)
{
	uint32_t back = 1 + pick(seed, fast->block->count);

	if (!fast->latest || back > fast->head)
		return false;
	mca_fast_inflight(fast, fast->head - back)->time = fast->now - 1;
	return true;
}

static bool change_units(struct mca_resources *resources, uint32_t *seed)
{
	if (!resources->busy_count)
		return false;
	resources->busy[pick(seed, resources->busy_count)].until += 1 + pick(seed, 5);
	return true;
}

static bool change_next_units(struct mca_resources *resources, const struct pesa_mca_block *block,
			      uint32_t *seed)
{
	struct mca_resource_state *state =
		&resources->state[block->unit[pick(seed, block->unit_count)]];

	if (!block->unit_count)
		return false;
	mca_choice_init(&state->choice, state->choice.all);
	return true;
}

static bool quick_units(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_units *units = &fast->units;

	if (!units->plain)
		return change_units(&fast->resources, seed);
	if (!units->busy_count)
		return false;
	units->busy[pick(seed, units->busy_count)].until += 1 + pick(seed, 5);
	return true;
}

static bool quick_next_units(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_units *units = &fast->units;

	if (!units->plain)
		return fast->block->unit_count &&
		       change_next_units(&fast->resources, fast->block, seed);
	for (uint64_t rest = units->groups; rest; rest &= rest - 1) {
		struct mca_choice *choice = &units->choice[__builtin_ctzll(rest)];

		mca_choice_init(choice, choice->all);
	}
	return units->groups;
}

static bool quick_memory(struct mca_fast *fast, uint32_t *seed)
{
	struct mca_fast_inflight *flight = find(fast, seed, MCA_WAITING);
	struct mca_fast_group *group;

	if (!flight || !flight->group)
		return false;
	group = mca_fast_group(fast, flight->group);
	memset(group->predecessor, 0, sizeof(group->predecessor));
	group->waits_issue = group->waits_end = 0;
	mca_fast_wake(fast, flight);
	return true;
}

static const struct {
	const char *name;
	enum mca_snapshot_part part;
	change_quick change;
} quick_parts[] = {
	{"position", MCA_SNAPSHOT_POSITION, quick_position},
	{"micro-ops carried over", MCA_SNAPSHOT_CARRY_OVER, quick_carry_over},
	{"flights", MCA_SNAPSHOT_FLIGHTS, quick_flights},
	{"users", MCA_SNAPSHOT_USERS, quick_users},
	{"times", MCA_SNAPSHOT_TIMES, quick_times},
	{"committed", MCA_SNAPSHOT_COMMITTED, quick_committed},
	{"units", MCA_SNAPSHOT_UNITS, quick_units},
	{"next units", MCA_SNAPSHOT_NEXT_UNITS, quick_next_units},
	{"memory", MCA_SNAPSHOT_MEMORY, quick_memory},
};
#define QUICK_PARTS (sizeof(quick_parts) / sizeof(quick_parts[0]))

static struct mca_snapshot quick_snapshot(struct mca_fast *fast, uint64_t ignored_parts)
{
	const struct mca_fast_snapshot *now = &fast->snapshots.now;

	fast->snapshots.ignored_parts = ignored_parts;
	mca_fast_snapshot_write(fast);
	assert_true(now->valid);
	return copy(now->words, now->word_count, now->records, now->count);
}

static void change_quick_run(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	struct pesa_mca_run_options options = make_options(seed, 40);
	struct outcome *outcomes = data;
	uint64_t cycles;

	options.every_iteration = true;
	/* With store ports only one iteration is served, which no snapshot is made of. */
	if (!mca_fast_serves(block, &options) || options.store_ports)
		return;
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	for (size_t i = 0; i < QUICK_PARTS; i++) {
		uint64_t part = UINT64_C(1) << quick_parts[i].part;
		struct mca_snapshot snapshots[4];
		struct pesa_error *error;
		struct mca_fast fast;

		assert_null(mca_fast_start(&fast, block, &options, false));
		assert_null(mca_fast_cycles(&fast, pick(seed, cycles)));
		snapshots[0] = quick_snapshot(&fast, 0);
		snapshots[1] = quick_snapshot(&fast, part);
		if (quick_parts[i].change(&fast, seed)) {
			snapshots[2] = quick_snapshot(&fast, 0);
			snapshots[3] = quick_snapshot(&fast, part);
			/* An error: it never ends. */
			error = mca_fast_cycles(&fast, UINT64_MAX);
			note(quick_parts[i].name, &outcomes[i], snapshots,
			     !error && fast.now == cycles);
			pesa_error_free(error);
		} else {
			free(snapshots[0].words);
			free(snapshots[1].words);
		}
		mca_fast_free(&fast);
	}
}

static void a_snapshot_shows_what_decides_out_of_order(void **state)
{
	struct outcome outcomes[QUICK_PARTS] = {{0}};
	unsigned int idle = 0;

	(void)state;
	for_each_block(random_block, 3, true, number_of_blocks("MCA_STEADY_BLOCKS", BLOCKS),
		       change_quick_run, outcomes);
	for (size_t i = 0; i < QUICK_PARTS; i++) {
		print_message("%s: %u changes have an effect, %u are shown by no other part\n",
			      quick_parts[i].name, outcomes[i].changed, outcomes[i].needed);
		idle += !outcomes[i].needed;
	}
	assert_int_equal(idle, 0);
}

/* ---- In order ---- */

typedef bool (*change_run)(struct mca_run *run, uint32_t *seed);

static bool run_position(struct mca_run *run, uint32_t *seed)
{
	run->next_in_block = pick(seed, run->block->count);
	return true;
}

static bool run_carry_over(struct mca_run *run, uint32_t *seed)
{
	if (!run->carried_over)
		return false;
	run->carry_over += 1 + pick(seed, 5);
	return true;
}

static bool run_flights(struct mca_run *run, uint32_t *seed)
{
	struct mca_inflight *flight;
	unsigned int later = 1 + pick(seed, 5);

	if (!run->issued.count)
		return false;
	flight = run->issued.list[pick(seed, run->issued.count)];
	flight->executed += later;
	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		flight->results[i].executed += later;
		flight->results[i].complete += later;
	}
	return true;
}

static bool run_committed(struct mca_run *run, uint32_t *seed)
{
	unsigned int touched = run->block->touched_count;
	struct mca_last_write *last;

	if (!touched || !run->now)
		return false;
	last = &run->registers.last[run->block->touched[pick(seed, touched)]];
	if (!last->valid || last->result)
		return false;
	last->cycle = run->now - 1;
	return true;
}

static bool run_units(struct mca_run *run, uint32_t *seed)
{
	return change_units(&run->resources, seed);
}

static bool run_next_units(struct mca_run *run, uint32_t *seed)
{
	return run->block->unit_count && change_next_units(&run->resources, run->block, seed);
}

static bool run_memory(struct mca_run *run, uint32_t *seed)
{
	struct mca_memory *memory = &run->memory;
	unsigned int count = memory->next - memory->oldest;
	struct mca_memory_group *group;

	if (!count)
		return false;
	group = &memory->groups[(memory->oldest + pick(seed, count)) & (memory->size - 1)];
	group->executed_predecessors = group->predecessors;
	group->executing_predecessors = 0;
	return group->live;
}

static bool run_stall(struct mca_run *run, uint32_t *seed)
{
	if (!run->stalled)
		return false;
	run->stall_cycles += 1 + pick(seed, 5);
	return true;
}

static const struct {
	const char *name;
	enum mca_snapshot_part part;
	change_run change;
} run_parts[] = {
	{"position", MCA_SNAPSHOT_POSITION, run_position},
	{"micro-ops carried over", MCA_SNAPSHOT_CARRY_OVER, run_carry_over},
	{"flights", MCA_SNAPSHOT_FLIGHTS, run_flights},
	{"committed", MCA_SNAPSHOT_COMMITTED, run_committed},
	{"units", MCA_SNAPSHOT_UNITS, run_units},
	{"next units", MCA_SNAPSHOT_NEXT_UNITS, run_next_units},
	{"memory", MCA_SNAPSHOT_MEMORY, run_memory},
	{"stall", MCA_SNAPSHOT_STALL, run_stall},
};
#define RUN_PARTS (sizeof(run_parts) / sizeof(run_parts[0]))

static struct mca_snapshot run_snapshot(struct mca_run *run, uint64_t ignored_parts)
{
	run->snapshots.ignored_parts = ignored_parts;
	mca_snapshot_write(run);
	return copy(run->snapshots.now.words, run->snapshots.now.count, NULL, 0);
}

static void change_in_order_run(const struct pesa_mca_block *block, uint32_t *seed, void *data)
{
	struct pesa_mca_run_options options = make_options(seed, 40);
	struct outcome *outcomes = data;
	uint64_t cycles;

	if (pesa_mca_model_is_out_of_order(pesa_mca_block_model(block)))
		return;
	options.every_iteration = true;
	assert_null(pesa_mca_run(block, &options, NULL, 0, &cycles));
	for (size_t i = 0; i < RUN_PARTS; i++) {
		uint64_t part = UINT64_C(1) << run_parts[i].part;
		struct mca_snapshot snapshots[4];
		struct pesa_error *error;
		struct mca_run *run;

		assert_null(mca_run_start(block, &options, NULL, 0, &run));
		assert_null(mca_run_cycles(run, pick(seed, cycles)));
		snapshots[0] = run_snapshot(run, 0);
		snapshots[1] = run_snapshot(run, part);
		if (run_parts[i].change(run, seed)) {
			snapshots[2] = run_snapshot(run, 0);
			snapshots[3] = run_snapshot(run, part);
			error = mca_run_cycles(run, cycles + 100000);
			note(run_parts[i].name, &outcomes[i], snapshots,
			     !error && run->done && run->now == cycles);
			pesa_error_free(error);
		} else {
			free(snapshots[0].words);
			free(snapshots[1].words);
		}
		mca_run_free(run);
	}
}

static void a_snapshot_shows_what_decides_in_order(void **state)
{
	struct outcome outcomes[RUN_PARTS] = {{0}};
	unsigned int idle = 0;

	(void)state;
	for_each_block(random_block, 3, true, number_of_blocks("MCA_STEADY_BLOCKS", BLOCKS),
		       change_in_order_run, outcomes);
	for (size_t i = 0; i < RUN_PARTS; i++) {
		print_message("%s: %u changes have an effect, %u are shown by no other part\n",
			      run_parts[i].name, outcomes[i].changed, outcomes[i].needed);
		idle += !outcomes[i].needed;
	}
	assert_int_equal(idle, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_processors_give_the_same_cycles),
		cmocka_unit_test(changed_models_give_the_same_cycles),
		cmocka_unit_test(any_number_of_iterations_gives_the_same_cycles),
		cmocka_unit_test(long_runs_are_extrapolated),
		cmocka_unit_test(a_snapshot_shows_what_decides_out_of_order),
		cmocka_unit_test(a_snapshot_shows_what_decides_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
