/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Round-robin choice among pipes, where an instruction can use one of several.
 *
 * A choice is a set of pipes; it is cycled through from the last pipe to the first.  A pipe that is
 * taken counts as used in all choices that contain it.  On an in-order core a pipe that was taken
 * out of order is skipped in the next round, as in llvm-mca: the next instruction waits for that
 * pipe.
 *
 * Choices that share pipes form one round robin: a state machine with few states, whose transitions
 * are computed when first needed.  If there are too many states, all but the current one are
 * dropped: that does not change the transitions.
 */
#ifndef TOOLS_VCORE_CORE_ROUND_ROBIN_H
#define TOOLS_VCORE_CORE_ROUND_ROBIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/cost.h"

#define ROUND_ROBIN_STATES 512u
#define ROUND_ROBIN_SPAN   8u /* most pipes between the first and the last of a choice */
/*
 * A transition: the pipe taken, a bit that marks it as computed, and the index of the first
 * transition of the next state.
 */
#define ROUND_ROBIN_PIPE  0x1fu
#define ROUND_ROBIN_MADE  0x80u
#define ROUND_ROBIN_SHIFT 8

struct choice {
	uint32_t pipes, next, removed; /* all pipes; those next in this round; those skipped in
				        * the next round */
};

struct round_robin {
	uint32_t now; /* first transition of the current state */
	uint32_t pipes, choices;
	uint32_t stride; /* transitions per state: a row for each choice and one for pipes taken
			  * without a choice; 0: too many to cache */
	uint32_t states;
	uint32_t *move;
	struct choice *state; /* `choices` per state */
};

/* Where to find a choice, or a single pipe. */
struct round_robin_place {
	struct round_robin *turns;
	uint32_t *row; /* its first transition in the first state */
	uint8_t shift;
	uint8_t taker; /* index of the choice in the round robin, or the number of choices for a
		        * single pipe */
};

struct round_robins {
	struct round_robin turns[COST_CHOICES_MAX];
	struct round_robin_place place[COST_ALL_CHOICES_MAX];
	uint32_t count;
	/* for pipes that are in no choice: one state */
	struct round_robin alone;
	uint32_t alone_move[COST_PIPES_MAX][2];
};

/* Choose one of the `free` pipes, round robin. */
static inline uint32_t choice_take(struct choice *choice, uint32_t free)
{
	uint32_t round = choice->pipes ^ choice->removed;
	uint32_t now = free & choice->next, later = free & round, removed, chosen, turns;

	turns = now ? choice->next : later ? round : choice->pipes;
	removed = now ? choice->removed : 0;
	now = now ? now : later;
	now = now ? now : free;
	chosen = 1u << (31 - __builtin_clz(now));
	turns &= chosen - 1;
	choice->next = turns ? turns : choice->pipes ^ removed;
	choice->removed = turns ? removed : 0;
	return chosen;
}

/* A pipe was taken through another choice. */
static inline void choice_turn(struct choice *choice, uint32_t pipe)
{
	bool over = pipe > choice->next;
	uint32_t removed = choice->removed | (over ? pipe : 0);
	uint32_t next = choice->next & ~(over ? 0 : pipe);

	choice->next = next ? next : choice->pipes ^ removed;
	choice->removed = next ? removed : 0;
}

/* Return the number of a state; a new state is added. */
static inline uint32_t round_robin_find(struct round_robin *turns, const struct choice *state)
{
	size_t size = turns->choices * sizeof(*state);
	uint32_t number;

	for (number = 0; number < turns->states; number++)
		if (!memcmp(turns->state + number * turns->choices, state, size))
			return number;
	if (number == ROUND_ROBIN_STATES) {
		memset(turns->move, 0, (size_t)number * turns->stride * sizeof(*turns->move));
		number = 0;
	}
	memcpy(turns->state + number * turns->choices, state, size);
	turns->states = number + 1;
	return number;
}

/* Apply a transition to `state`; returns the pipe taken of those that are `free`. */
static inline uint32_t round_robin_step(const struct round_robin *turns, struct choice *state,
					uint32_t taker, uint32_t free)
{
	uint32_t pipe = taker < turns->choices ? choice_take(&state[taker], free) : free;

	for (uint32_t i = 0; i < turns->choices; i++)
		if (i != taker && (state[i].pipes & pipe))
			choice_turn(&state[i], pipe);
	return (uint32_t)__builtin_ctz(pipe);
}

static __attribute__((noinline, cold)) uint32_t
round_robin_make(const struct round_robin_place *place, uint32_t free)
{
	struct round_robin *turns = place->turns;
	struct choice state[COST_CHOICES_MAX];
	uint32_t from, states = turns->states, move;

	if (!turns->stride)
		return round_robin_step(turns, turns->state, place->taker, free);
	from = turns->now / turns->stride;
	memcpy(state, turns->state + from * turns->choices, turns->choices * sizeof(*state));
	move = round_robin_step(turns, state, place->taker, free) | ROUND_ROBIN_MADE;
	move |= round_robin_find(turns, state) * turns->stride << ROUND_ROBIN_SHIFT;
	/* Unless the state at its start was dropped. */
	if (turns->states >= states)
		place->row[turns->now + ((uint64_t)free >> place->shift)] = move;
	return move;
}

/* Take one of the `free` pipes. */
static inline uint32_t round_robin_take(const struct round_robin_place *place, uint32_t free)
{
	struct round_robin *turns = place->turns;
	uint32_t move = place->row[turns->now + ((uint64_t)free >> place->shift)];

	if (__builtin_expect(!move, 0))
		move = round_robin_make(place, free);
	turns->now = move >> ROUND_ROBIN_SHIFT;
	return 1u << (move & ROUND_ROBIN_PIPE);
}

static inline void round_robins_free(struct round_robins *round_robins)
{
	for (uint32_t i = 0; i < round_robins->count; i++) {
		free(round_robins->turns[i].move);
		free(round_robins->turns[i].state);
	}
}

/* Create a round robin in its initial state, with all choices of its pipes. */
static inline struct pesa_error *round_robin_create(struct round_robins *round_robins,
						    struct round_robin *turns,
						    const struct cost_model *model)
{
	uint32_t first = (uint32_t)__builtin_ctz(turns->pipes);
	uint32_t span = 32 - (uint32_t)__builtin_clz(turns->pipes) - first;
	bool remembered = span <= ROUND_ROBIN_SPAN;
	struct round_robin_place place = {turns, NULL, remembered ? (uint8_t)first : 63, 0};
	struct choice state[COST_CHOICES_MAX];
	uint32_t row = remembered ? 1u << span : 0;

	for (uint32_t i = 0; i < cost_model_choices(model); i++)
		if (cost_model_choice(model, i) & turns->pipes)
			state[turns->choices++] = (struct choice){
				.pipes = cost_model_choice(model, i),
				.next = cost_model_choice(model, i),
			};
	turns->stride = (turns->choices + 1) * row;
	turns->move = calloc((size_t)ROUND_ROBIN_STATES * turns->stride + 1, sizeof(*turns->move));
	turns->state = calloc((size_t)ROUND_ROBIN_STATES * turns->choices, sizeof(*turns->state));
	if (!turns->move || !turns->state)
		return pesa_error_no_memory();
	place.row = turns->move;
	for (uint32_t i = 0; i < cost_model_choices(model); i++) {
		if (!(cost_model_choice(model, i) & turns->pipes))
			continue;
		round_robins->place[i] = place;
		place.row += row;
		place.taker++;
	}
	for (uint32_t rest = turns->pipes; rest; rest &= rest - 1)
		round_robins->place[COST_CHOICE_OF_PIPE(__builtin_ctz(rest))] = place;
	round_robin_find(turns, state);
	return NULL;
}

/* After an error too, round_robins_free() has to be called. */
static inline struct pesa_error *round_robins_create(struct round_robins *round_robins,
						     const struct cost_model *model)
{
	uint32_t choices = cost_model_choices(model), seen = 0;
	struct pesa_error *error;

	for (uint32_t pipe = 0; pipe < COST_PIPES_MAX; pipe++) {
		round_robins->alone_move[pipe][1] = pipe | ROUND_ROBIN_MADE;
		round_robins->place[COST_CHOICE_OF_PIPE(pipe)] = (struct round_robin_place){
			.turns = &round_robins->alone,
			.row = round_robins->alone_move[pipe],
			.shift = (uint8_t)pipe,
		};
	}
	for (uint32_t i = 0; i < choices; i++) {
		struct round_robin *turns = &round_robins->turns[round_robins->count];
		uint32_t pipes = cost_model_choice(model, i), before = 0;

		if (pipes & seen)
			continue;
		/* Add all choices that share a pipe. */
		while (pipes != before) {
			before = pipes;
			for (uint32_t j = 0; j < choices; j++)
				if (cost_model_choice(model, j) & pipes)
					pipes |= cost_model_choice(model, j);
		}
		seen |= pipes;
		turns->pipes = pipes;
		round_robins->count++;
		error = round_robin_create(round_robins, turns, model);
		if (error)
			return error;
	}
	return NULL;
}

#endif
