/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose turn it is among pipes, where an instruction has a choice.
 *
 * A choice is a set of pipes; it goes round from the last to the first.  A pipe that is taken has
 * had its turn in all choices that it is part of.  On an in-order core a pipe that was taken out of
 * turn is left out of the next round, as in llvm-mca: there the next instruction waits for just
 * that pipe.
 *
 * Choices that share pipes make one rotation: a state machine with few states, whose moves are
 * worked out when they are made for the first time.  When there are more states than there is room
 * for, all are forgotten but the present one: moves are the same, whether remembered or not.
 */
#ifndef TOOLS_VCORE_CORE_ROTATION_H
#define TOOLS_VCORE_CORE_ROTATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/cost.h"

#define ROTATION_STATES 512u
#define ROTATION_SPAN	8u /* from the first to the last pipe at most */
/* A move: the pipe that is taken, a bit that it is known, and the first move of the next state. */
#define ROTATION_PIPE  0x1fu
#define ROTATION_MADE  0x80u
#define ROTATION_SHIFT 8

struct choice {
	uint32_t pipes, next, removed; /* all; whose turn it is; left out of the next round */
};

struct rotation {
	uint32_t now; /* first move of the present state */
	uint32_t pipes, choices;
	uint32_t stride; /* moves of a state: a row for each choice and one for who has none; 0: too
			  * many to be remembered */
	uint32_t states;
	uint32_t *move;
	struct choice *state; /* `choices` for each state */
};

/* Where a choice, or a pipe that is taken without one, is found. */
struct rotation_place {
	struct rotation *rotation;
	uint32_t *row; /* its first move in the first state */
	uint8_t shift;
	uint8_t taker; /* number of the choice in the rotation; all of them: none */
};

struct rotations {
	struct rotation rotation[COST_CHOICES_MAX];
	struct rotation_place place[COST_ALL_CHOICES_MAX];
	uint32_t count;
	/* of the pipes of which nobody has a choice: one state */
	struct rotation alone;
	uint32_t alone_move[COST_PIPES_MAX][2];
};

/* One of the pipes that are `free`, by turns. */
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

/* A pipe was taken by others. */
static inline void choice_turn(struct choice *choice, uint32_t pipe)
{
	bool over = pipe > choice->next;
	uint32_t removed = choice->removed | (over ? pipe : 0);
	uint32_t next = choice->next & ~(over ? 0 : pipe);

	choice->next = next ? next : choice->pipes ^ removed;
	choice->removed = next ? removed : 0;
}

/* The number of a state; it is added where it is new. */
static inline uint32_t rotation_find(struct rotation *rotation, const struct choice *state)
{
	size_t size = rotation->choices * sizeof(*state);
	uint32_t number;

	for (number = 0; number < rotation->states; number++)
		if (!memcmp(rotation->state + number * rotation->choices, state, size))
			return number;
	if (number == ROTATION_STATES) {
		memset(rotation->move, 0,
		       (size_t)number * rotation->stride * sizeof(*rotation->move));
		number = 0;
	}
	memcpy(rotation->state + number * rotation->choices, state, size);
	rotation->states = number + 1;
	return number;
}

/* What the state becomes, and which of the pipes that are `free` is taken. */
static inline uint32_t rotation_step(const struct rotation *rotation, struct choice *state,
				     uint32_t taker, uint32_t free)
{
	uint32_t pipe = taker < rotation->choices ? choice_take(&state[taker], free) : free;

	for (uint32_t i = 0; i < rotation->choices; i++)
		if (i != taker && (state[i].pipes & pipe))
			choice_turn(&state[i], pipe);
	return (uint32_t)__builtin_ctz(pipe);
}

static __attribute__((noinline, cold)) uint32_t rotation_make(const struct rotation_place *place,
							      uint32_t free)
{
	struct rotation *rotation = place->rotation;
	struct choice state[COST_CHOICES_MAX];
	uint32_t from, states = rotation->states, move;

	if (!rotation->stride)
		return rotation_step(rotation, rotation->state, place->taker, free);
	from = rotation->now / rotation->stride;
	memcpy(state, rotation->state + from * rotation->choices,
	       rotation->choices * sizeof(*state));
	move = rotation_step(rotation, state, place->taker, free) | ROTATION_MADE;
	move |= rotation_find(rotation, state) * rotation->stride << ROTATION_SHIFT;
	/* Unless the state that it begins in was forgotten. */
	if (rotation->states >= states)
		place->row[rotation->now + ((uint64_t)free >> place->shift)] = move;
	return move;
}

/* One of the pipes that are `free`. */
static inline uint32_t rotation_take(const struct rotation_place *place, uint32_t free)
{
	struct rotation *rotation = place->rotation;
	uint32_t move = place->row[rotation->now + ((uint64_t)free >> place->shift)];

	if (__builtin_expect(!move, 0))
		move = rotation_make(place, free);
	rotation->now = move >> ROTATION_SHIFT;
	return 1u << (move & ROTATION_PIPE);
}

static inline void rotations_free(struct rotations *rotations)
{
	for (uint32_t i = 0; i < rotations->count; i++) {
		free(rotations->rotation[i].move);
		free(rotations->rotation[i].state);
	}
}

/* The choices of a rotation, in its first state. */
static inline bool rotation_create(struct rotations *rotations, struct rotation *rotation,
				   const struct cost_model *model)
{
	uint32_t first = (uint32_t)__builtin_ctz(rotation->pipes);
	uint32_t span = 32 - (uint32_t)__builtin_clz(rotation->pipes) - first;
	bool remembered = span <= ROTATION_SPAN;
	struct rotation_place place = {rotation, NULL, remembered ? (uint8_t)first : 63, 0};
	struct choice state[COST_CHOICES_MAX];
	uint32_t row = remembered ? 1u << span : 0;

	for (uint32_t i = 0; i < cost_model_choices(model); i++)
		if (cost_model_choice(model, i) & rotation->pipes)
			state[rotation->choices++] = (struct choice){
				.pipes = cost_model_choice(model, i),
				.next = cost_model_choice(model, i),
			};
	rotation->stride = (rotation->choices + 1) * row;
	rotation->move =
		calloc((size_t)ROTATION_STATES * rotation->stride + 1, sizeof(*rotation->move));
	rotation->state =
		calloc((size_t)ROTATION_STATES * rotation->choices, sizeof(*rotation->state));
	if (!rotation->move || !rotation->state)
		return false;
	place.row = rotation->move;
	for (uint32_t i = 0; i < cost_model_choices(model); i++) {
		if (!(cost_model_choice(model, i) & rotation->pipes))
			continue;
		rotations->place[i] = place;
		place.row += row;
		place.taker++;
	}
	for (uint32_t rest = rotation->pipes; rest; rest &= rest - 1)
		rotations->place[COST_CHOICE_OF_PIPE(__builtin_ctz(rest))] = place;
	rotation_find(rotation, state);
	return true;
}

static inline bool rotations_create(struct rotations *rotations, const struct cost_model *model)
{
	uint32_t choices = cost_model_choices(model), seen = 0;

	for (uint32_t pipe = 0; pipe < COST_PIPES_MAX; pipe++) {
		rotations->alone_move[pipe][1] = pipe | ROTATION_MADE;
		rotations->place[COST_CHOICE_OF_PIPE(pipe)] = (struct rotation_place){
			.rotation = &rotations->alone,
			.row = rotations->alone_move[pipe],
			.shift = (uint8_t)pipe,
		};
	}
	for (uint32_t i = 0; i < choices; i++) {
		struct rotation *rotation = &rotations->rotation[rotations->count];
		uint32_t pipes = cost_model_choice(model, i), before = 0;

		if (pipes & seen)
			continue;
		/* All that hang together with it. */
		while (pipes != before) {
			before = pipes;
			for (uint32_t j = 0; j < choices; j++)
				if (cost_model_choice(model, j) & pipes)
					pipes |= cost_model_choice(model, j);
		}
		seen |= pipes;
		rotation->pipes = pipes;
		rotations->count++;
		if (!rotation_create(rotations, rotation, model))
			return false;
	}
	return true;
}

#endif
