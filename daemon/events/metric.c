// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/metric.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 256u /* numbers, events and operators of a formula */
#define DEPTH_MAX 32u  /* of parentheses and signs */
#define NAME_MOST 96u

enum operation {
	PUSH_NUMBER,
	PUSH_EVENT,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	MINIMUM,
	MAXIMUM,
	RATIO
};

/* The formula in reverse Polish notation. */
struct step {
	enum operation operation;
	double number;
	size_t event;
};

struct pesa_metric {
	struct step steps[STEPS_MAX];
	size_t step_count;
	char *events[PESA_METRIC_EVENTS_MAX];
	size_t event_count;
};

struct parser {
	struct pesa_metric *metric;
	const char *text, *at;
	unsigned int depth;
	const char *problem; /* NULL: none */
	bool no_memory;
};

static bool failed(struct parser *parser, const char *problem)
{
	if (!parser->problem)
		parser->problem = problem;
	return false;
}

static bool add(struct parser *parser, struct step step)
{
	struct pesa_metric *metric = parser->metric;

	if (metric->step_count == STEPS_MAX)
		return failed(parser, "the formula is too long");
	metric->steps[metric->step_count++] = step;
	return true;
}

static bool add_operation(struct parser *parser, enum operation operation)
{
	return add(parser, (struct step){.operation = operation});
}

static bool take(struct parser *parser, char wanted)
{
	parser->at += strspn(parser->at, " \t\n");
	if (*parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

/* ---- Parsing ------------------------------------------------------------------------------- */

static bool parse_sum(struct parser *parser);

/* Read a name; a backslash makes the next character part of it. */
static size_t read_name(struct parser *parser, char name[NAME_MOST])
{
	size_t length = 0;

	while (length < NAME_MOST - 1) {
		char letter = *parser->at;
		bool escaped = letter == '\\' && parser->at[1];

		if (escaped)
			letter = parser->at[1];
		else if (!isalnum((unsigned char)letter) && !(letter && strchr("_.:", letter)))
			break;
		if (!isprint((unsigned char)letter))
			break;
		name[length++] = letter;
		parser->at += escaped ? 2 : 1;
	}
	name[length] = '\0';
	return length;
}

static bool add_event(struct parser *parser, const char *name)
{
	struct pesa_metric *metric = parser->metric;
	size_t i = 0;

	while (i < metric->event_count && strcmp(metric->events[i], name))
		i++;
	if (i == PESA_METRIC_EVENTS_MAX)
		return failed(parser, "the formula has too many events");
	if (i == metric->event_count) {
		metric->events[i] = strdup(name);
		if (!metric->events[i]) {
			parser->no_memory = true;
			return failed(parser, "");
		}
		metric->event_count++;
	}
	return add(parser, (struct step){.operation = PUSH_EVENT, .event = i});
}

static bool parse_call(struct parser *parser, enum operation operation)
{
	if (!parse_sum(parser))
		return false;
	if (!take(parser, ','))
		return failed(parser, "a comma is missing");
	if (!parse_sum(parser))
		return false;
	if (!take(parser, ')'))
		return failed(parser, "a ')' is missing");
	return add_operation(parser, operation);
}

static bool parse_word(struct parser *parser)
{
	static const struct {
		const char *name;
		enum operation operation;
	} functions[] = {{"min", MINIMUM}, {"max", MAXIMUM}, {"d_ratio", RATIO}};
	char name[NAME_MOST];

	if (!read_name(parser, name))
		return failed(parser, "a number, an event or a '(' is missing");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name) && take(parser, '('))
			return parse_call(parser, functions[i].operation);
	return add_event(parser, name);
}

static bool parse_number(struct parser *parser)
{
	char *end;
	double number = strtod(parser->at, &end);

	if (!isfinite(number) || isalpha((unsigned char)*end) || *end == '_')
		return failed(parser, "a number makes no sense");
	parser->at = end;
	return add(parser, (struct step){.operation = PUSH_NUMBER, .number = number});
}

static bool parse_factor(struct parser *parser)
{
	bool done;

	if (++parser->depth > DEPTH_MAX)
		return failed(parser, "the formula is nested too deeply");
	if (take(parser, '('))
		done = parse_sum(parser) &&
		       (take(parser, ')') || failed(parser, "a ')' is missing"));
	else if (take(parser, '-'))
		done = add(parser, (struct step){.operation = PUSH_NUMBER}) &&
		       parse_factor(parser) && add_operation(parser, SUBTRACT);
	else if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
		done = parse_number(parser);
	else
		done = parse_word(parser);
	parser->depth--;
	return done;
}

static bool parse_product(struct parser *parser)
{
	bool done = parse_factor(parser);

	while (done) {
		enum operation operation = take(parser, '*')   ? MULTIPLY
					   : take(parser, '/') ? DIVIDE
							       : PUSH_NUMBER;

		if (operation == PUSH_NUMBER)
			break;
		done = parse_factor(parser) && add_operation(parser, operation);
	}
	return done;
}

static bool parse_sum(struct parser *parser)
{
	bool done = parse_product(parser);

	while (done) {
		enum operation operation = take(parser, '+')   ? ADD
					   : take(parser, '-') ? SUBTRACT
							       : PUSH_NUMBER;

		if (operation == PUSH_NUMBER)
			break;
		done = parse_product(parser) && add_operation(parser, operation);
	}
	return done;
}

struct pesa_error *pesa_metric_parse(const char *text, struct pesa_metric **metric)
{
	struct parser parser = {
		.metric = calloc(1, sizeof(*parser.metric)), .text = text, .at = text};
	struct pesa_error *error;

	if (!parser.metric)
		return pesa_error_no_memory();
	if (parse_sum(&parser)) {
		parser.at += strspn(parser.at, " \t\n");
		if (!*parser.at) {
			*metric = parser.metric;
			return NULL;
		}
		failed(&parser, "an operator is missing");
	}
	pesa_metric_free(parser.metric);
	error = parser.no_memory
			? pesa_error_no_memory()
			: pesa_error_create(PESA_ERROR_FORMAT, "formula, character %zu: %s",
					    (size_t)(parser.at - text) + 1, parser.problem);
	return error;
}

void pesa_metric_free(struct pesa_metric *metric)
{
	for (size_t i = 0; metric && i < metric->event_count; i++)
		free(metric->events[i]);
	free(metric);
}

/* ---- Values -------------------------------------------------------------------------------- */

size_t pesa_metric_event_count(const struct pesa_metric *metric)
{
	return metric->event_count;
}

const char *pesa_metric_event(const struct pesa_metric *metric, size_t index)
{
	return metric->events[index];
}

static double apply(enum operation operation, double left, double right)
{
	switch (operation) {
	case ADD:
		return left + right;
	case SUBTRACT:
		return left - right;
	case MULTIPLY:
		return left * right;
	case DIVIDE:
		return right > 0 || right < 0 ? left / right : NAN;
	case RATIO:
		return isnan(right) ? NAN : right > 0 || right < 0 ? left / right : 0;
	case MINIMUM:
		return isnan(left) || isnan(right) ? NAN : left < right ? left : right;
	case MAXIMUM:
		return isnan(left) || isnan(right) ? NAN : left > right ? left : right;
	default:
		return NAN;
	}
}

double pesa_metric_value(const struct pesa_metric *metric, const double *counts)
{
	/* Every operation takes two values and leaves one, so the parser bounds the depth. */
	double stack[STEPS_MAX];
	size_t depth = 0;

	for (size_t i = 0; i < metric->step_count; i++) {
		const struct step *step = &metric->steps[i];

		if (step->operation == PUSH_NUMBER) {
			stack[depth++] = step->number;
		} else if (step->operation == PUSH_EVENT) {
			stack[depth++] = counts[step->event];
		} else {
			depth--;
			stack[depth - 1] = apply(step->operation, stack[depth - 1], stack[depth]);
		}
	}
	return stack[0];
}
