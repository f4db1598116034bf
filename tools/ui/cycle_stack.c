/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/record.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/json.h"

#define CAUSE_TEXT_MAX 256

/* Each state has a colour, and a character for output without colour. */
static const struct {
	const char *sign;
	char ascii;
	enum ui_style style;
} states[] = {
	[PESA_STATE_RETIRING] = {"█", 'R', UI_RETIRING},
	[PESA_STATE_STALLED] = {"▓", 'S', UI_STALLED},
	[PESA_STATE_FLUSHED] = {"▒", 'F', UI_FLUSHED},
	[PESA_STATE_DRAINED] = {"░", 'D', UI_DRAINED},
	/* Plain samples have no state and no bars. */
	[PESA_STATE_UNKNOWN] = {"·", '?', UI_PLAIN},
};

double cycles_of(uint64_t weight)
{
	return (double)weight / PESA_CYCLE;
}

const char *cycle_cause_name(const struct pesa_capabilities *capabilities, uint16_t cause,
			     char *buffer, unsigned int size)
{
	if (!cause || !pesa_capabilities_cause_text(capabilities, cause, buffer, size))
		snprintf(buffer, size, cause ? "cause 0x%x" : "none", cause);
	return buffer;
}

struct pesa_error *cycle_stack_add_weight(struct cycle_stack *stack, unsigned int state,
					  uint16_t cause, uint64_t weight)
{
	stack->weight += weight;
	if (state < PESA_STATE_COUNT)
		stack->state_weight[state] += weight;
	else
		state = PESA_STATE_UNKNOWN;
	for (unsigned int i = 0; i < stack->count; i++)
		if (stack->bucket[i].state == state && stack->bucket[i].cause == cause) {
			stack->bucket[i].weight += weight;
			return NULL;
		}
	if (stack->count == stack->room) {
		unsigned int room = stack->room ? stack->room * 2 : 8;
		struct cycle_bucket *grown = realloc(stack->bucket, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		stack->bucket = grown;
		stack->room = room;
	}
	stack->bucket[stack->count++] =
		(struct cycle_bucket){.state = (uint8_t)state, .cause = cause, .weight = weight};
	return NULL;
}

struct pesa_error *cycle_stack_add(struct cycle_stack *stack,
				   const struct pesa_instruction *instruction)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < instruction->buckets && !error; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];

		if (bucket->weight)
			error = cycle_stack_add_weight(stack, bucket->state, bucket->cause,
						       bucket->weight);
	}
	return error;
}

static int larger_first(const void *left, const void *right)
{
	const struct cycle_bucket *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->state != b->state)
		return a->state - b->state;
	return a->cause - b->cause;
}

void cycle_stack_sort(struct cycle_stack *stack)
{
	if (stack->count)
		qsort(stack->bucket, stack->count, sizeof(*stack->bucket), larger_first);
}

void cycle_stack_free(struct cycle_stack *stack)
{
	free(stack->bucket);
	*stack = (struct cycle_stack){0};
}

static void add_signs(struct ui_text *line, const struct ui_terminal *terminal, unsigned int state,
		      unsigned int count)
{
	if (!count)
		return;
	ui_text_add(line, "%s", ui_style(terminal, states[state].style));
	for (unsigned int i = 0; i < count; i++) {
		if (terminal->utf8)
			ui_text_add(line, "%s", states[state].sign);
		else
			ui_text_add(line, "%c", states[state].ascii);
	}
	ui_text_add(line, "%s", ui_style(terminal, UI_PLAIN));
}

void cycle_stack_bar(struct ui_text *line, const struct ui_terminal *terminal,
		     const struct cycle_stack *stack, unsigned int only, uint64_t whole,
		     unsigned int columns)
{
	double scale = whole ? (double)columns / (double)whole : 0, sum = 0;
	unsigned int printed = 0;

	/* Round the running sum, not each state, so that the whole bar has the right length. */
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++) {
		unsigned int end;

		if (only != CYCLE_STATE_ALL && only != state)
			continue;
		sum += (double)stack->state_weight[state] * scale;
		end = (unsigned int)(sum + 0.5);
		if (end > columns)
			end = columns;
		add_signs(line, terminal, state, end > printed ? end - printed : 0);
		printed = end > printed ? end : printed;
	}
	ui_text_add(line, "%*s", (int)(columns - printed), "");
}

void cycle_stack_legend(struct ui_text *line, const struct ui_terminal *terminal)
{
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++) {
		ui_text_add(line, "%s", state ? "  " : "");
		add_signs(line, terminal, state, 1);
		ui_text_add(line, " %s", pesa_state_name(state));
	}
}

void cycle_stack_buckets(struct ui_text *line, const struct ui_terminal *terminal,
			 const struct cycle_stack *stack,
			 const struct pesa_capabilities *capabilities, unsigned int state,
			 uint64_t whole, unsigned int columns)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < stack->count; i++) {
		const struct cycle_bucket *bucket = &stack->bucket[i];
		double share = whole ? (double)bucket->weight / (double)whole : 0;
		const char *name = state == CYCLE_STATE_ALL ? pesa_state_name(bucket->state) : "";
		char cause[CAUSE_TEXT_MAX] = "", text[CAUSE_TEXT_MAX + 64];
		unsigned int length;

		if (state != CYCLE_STATE_ALL && bucket->state != state)
			continue;
		if (used && share < 0.005)
			break;
		if (bucket->cause || !*name)
			cycle_cause_name(capabilities, bucket->cause, cause, sizeof(cause));
		snprintf(text, sizeof(text), "%s%s%s %.*f%%", name, *name && *cause ? " " : "",
			 cause, state == CYCLE_STATE_ALL ? 0 : 1, share * 100);
		length = (unsigned int)ui_columns(text) + (used ? 2 : 0);
		if (used && used + length > columns)
			break;
		ui_text_add(line, "%s%s%s%s", used ? ", " : "",
			    ui_style(terminal, states[bucket->state].style), text,
			    ui_style(terminal, UI_PLAIN));
		used += length;
	}
}

json_object *cycle_stack_json(const struct cycle_stack *stack,
			      const struct pesa_capabilities *capabilities)
{
	json_object *result = json_object_new_object();

	for (unsigned int state = 0; state <= PESA_STATE_UNKNOWN; state++) {
		json_object *causes = NULL;

		for (unsigned int i = 0; i < stack->count; i++) {
			const struct cycle_bucket *bucket = &stack->bucket[i];
			char cause[CAUSE_TEXT_MAX];

			if (bucket->state != state)
				continue;
			if (!causes) {
				causes = json_object_new_object();
				json_object_object_add(result, pesa_state_name(state), causes);
			}
			cycle_cause_name(capabilities, bucket->cause, cause, sizeof(cause));
			json_object_object_add(causes, cause,
					       ui_json_number(cycles_of(bucket->weight)));
		}
	}
	return result;
}
