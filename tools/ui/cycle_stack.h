/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycle stack: the cycles of an instruction, a function or a program, split into buckets by the
 * state of the retire stage and the set of causes.
 *
 * It is shown as a bar of the four states, as a list of its largest buckets, or as JSON nested by
 * state and cause.  Weights are in 1/PESA_CYCLE of a cycle, as in pesa/profile.h.
 */
#ifndef TOOLS_UI_CYCLE_STACK_H
#define TOOLS_UI_CYCLE_STACK_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/profile.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

struct cycle_bucket {
	uint8_t state;
	uint16_t cause;
	uint64_t weight;
};

struct cycle_stack {
	uint64_t weight; /* of all buckets */
	uint64_t state_weight[PESA_STATE_COUNT];
	struct cycle_bucket *bucket;
	unsigned int count, room;
};

/* The text of a cause mask; "none" for 0, no tracked event. */
const char *cycle_cause_name(const struct pesa_capabilities *capabilities, uint16_t cause,
			     char *buffer, unsigned int size);

/* Add a weight to the bucket of a state and a cause; or all buckets of an instruction. */
struct pesa_error *cycle_stack_add_weight(struct cycle_stack *stack, unsigned int state,
					  uint16_t cause, uint64_t weight);
struct pesa_error *cycle_stack_add(struct cycle_stack *stack,
				   const struct pesa_instruction *instruction);
/* Sort the buckets, largest first. */
void cycle_stack_sort(struct cycle_stack *stack);
void cycle_stack_free(struct cycle_stack *stack);

/*
 * A bar of the four states, or of `state` only (see below); a weight of `whole` fills all
 * `columns`.
 */
void cycle_stack_bar(struct ui_text *line, const struct ui_terminal *terminal,
		     const struct cycle_stack *stack, unsigned int state, uint64_t whole,
		     unsigned int columns);
/* The legend of the bar's characters. */
void cycle_stack_legend(struct ui_text *line, const struct ui_terminal *terminal);
/*
 * The largest buckets that fit into `columns` (at least one), with their share of `whole`.
 * `state`: only buckets of this state, without its name; CYCLE_STATE_ALL: of all states.
 */
#define CYCLE_STATE_ALL PESA_STATE_COUNT
void cycle_stack_buckets(struct ui_text *line, const struct ui_terminal *terminal,
			 const struct cycle_stack *stack,
			 const struct pesa_capabilities *capabilities, unsigned int state,
			 uint64_t whole, unsigned int columns);
/* {"retiring": {"none": cycles, ...}, ...}; only states and causes that occurred. */
json_object *cycle_stack_json(const struct cycle_stack *stack,
			      const struct pesa_capabilities *capabilities);

/* Convert a weight to cycles. */
double cycles_of(uint64_t weight);

#endif
