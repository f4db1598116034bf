// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/number.h"
#include "pesa/capabilities.h"

/* Short names of the causes defined by the specification, as in "D$miss+DTLBmiss". */
static const char *const standard_causes[] = {
	"I$miss", "ITLBmiss", "mispredict", "D$miss", "DTLBmiss",
};

#define STANDARD_CAUSES (sizeof(standard_causes) / sizeof(standard_causes[0]))

void pesa_capabilities_default(struct pesa_capabilities *capabilities)
{
	*capabilities = (struct pesa_capabilities){
		.xlen = 64,
		.counter_bits = PESA_CC_BITS,
		.minimum_period = PESA_CC_MINIMUM_PERIOD,
		.ct_targets = 2,
	};
	for (unsigned int bit = 0; bit < STANDARD_CAUSES; bit++) {
		capabilities->cause_mask |= 1u << bit;
		strcpy(capabilities->cause_names[bit], standard_causes[bit]);
	}
}

/* Numeric capabilities: where they are stored, and their limits. */
static const struct number {
	const char *name;
	size_t offset, size;
	uint64_t low, high;
} numbers[] = {
#define NUMBER(field, low, high)                                                  \
	{                                                                         \
#field, offsetof(struct pesa_capabilities, field),                \
			sizeof(((struct pesa_capabilities *)0)->field), low, high \
	}
	NUMBER(xlen, 32, 64),
	NUMBER(retire_width, 0, 15),
	NUMBER(counter_bits, 1, PESA_CC_BITS),
	NUMBER(minimum_period, 1, PESA_CC_SAMPLEINITVALUE_MASK),
	NUMBER(ct_targets, 0, 2),
	NUMBER(ctr_depth, 0, 256),
	NUMBER(call_stacks, 0, 1),
	NUMBER(frequency, 0, UINT64_MAX),
#undef NUMBER
};

static const struct text {
	const char *name;
	size_t offset;
} texts[] = {
	{"core", offsetof(struct pesa_capabilities, core)},
	{"model", offsetof(struct pesa_capabilities, model)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t number_get(const struct pesa_capabilities *capabilities,
			   const struct number *number)
{
	const char *place = (const char *)capabilities + number->offset;
	uint32_t narrow;
	uint64_t wide;

	if (number->size == sizeof(wide)) {
		memcpy(&wide, place, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, place, sizeof(narrow));
	return narrow;
}

static void number_set(struct pesa_capabilities *capabilities, const struct number *number,
		       uint64_t value)
{
	char *place = (char *)capabilities + number->offset;
	uint32_t narrow = value;

	if (number->size == sizeof(value))
		memcpy(place, &value, sizeof(value));
	else
		memcpy(place, &narrow, sizeof(narrow));
}

static struct pesa_error *set_number(struct pesa_capabilities *capabilities,
				     const struct number *number, const char *value)
{
	uint64_t parsed;

	if (!number_read(value, 0, number->low, number->high, &parsed) ||
	    (number->offset == offsetof(struct pesa_capabilities, xlen) && parsed != 32 &&
	     parsed != 64))
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "capability %s: '%.64s' is not a number from %" PRIu64
					 " to %" PRIu64 "%s",
					 number->name, value, number->low, number->high,
					 !strcmp(number->name, "xlen") ? " (32 or 64)" : "");
	number_set(capabilities, number, parsed);
	return NULL;
}

/* "BIT:NAME,BIT:NAME": the complete list of tracked causes. */
static struct pesa_error *set_causes(struct pesa_capabilities *capabilities, const char *value)
{
	char names[PESA_CAUSE_COUNT][PESA_CAPABILITY_NAME_MAX] = {{0}};
	const char *at = value;
	uint16_t mask = 0;

	while (*at) {
		uint64_t bit;
		size_t length;

		if (!number_take(&at, 10, &bit) || *at++ != ':' || bit >= PESA_CAUSE_COUNT)
			goto bad;
		length = strcspn(at, ",");
		if (!length || length >= PESA_CAPABILITY_NAME_MAX || mask & 1u << bit)
			goto bad;
		memcpy(names[bit], at, length);
		mask |= 1u << bit;
		at += length;
		if (*at == ',' && !*++at)
			goto bad;
	}
	memcpy(capabilities->cause_names, names, sizeof(names));
	capabilities->cause_mask = mask;
	return NULL;
bad:
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "capability cause_names: '%.80s' is not a list of BIT:NAME with "
				 "different bits from 0 to %d",
				 at, PESA_CAUSE_COUNT - 1);
}

struct pesa_error *pesa_capabilities_set(struct pesa_capabilities *capabilities, const char *name,
					 const char *value)
{
	for (size_t i = 0; i < COUNT(numbers); i++)
		if (!strcmp(name, numbers[i].name))
			return set_number(capabilities, &numbers[i], value);
	for (size_t i = 0; i < COUNT(texts); i++) {
		if (strcmp(name, texts[i].name))
			continue;
		if (strlen(value) >= PESA_CAPABILITY_NAME_MAX)
			return pesa_error_create(
				PESA_ERROR_FORMAT,
				"capability %s: '%.40s...' is longer than %d bytes", name, value,
				PESA_CAPABILITY_NAME_MAX - 1);
		strcpy((char *)capabilities + texts[i].offset, value);
		return NULL;
	}
	if (!strcmp(name, "cause_names"))
		return set_causes(capabilities, value);
	return NULL;
}

void pesa_capabilities_each(const struct pesa_capabilities *capabilities,
			    void (*emit)(void *context, const char *name, const char *value),
			    void *context)
{
	char causes[PESA_CAUSE_COUNT * (PESA_CAPABILITY_NAME_MAX + 4)] = "";
	size_t length = 0;
	char value[24];

	for (size_t i = 0; i < COUNT(numbers); i++) {
		snprintf(value, sizeof(value), "%" PRIu64, number_get(capabilities, &numbers[i]));
		emit(context, numbers[i].name, value);
	}
	for (unsigned int bit = 0; bit < PESA_CAUSE_COUNT; bit++) {
		const char *name = capabilities->cause_names[bit];
		char fallback[16];

		if (!(capabilities->cause_mask & 1u << bit))
			continue;
		if (!*name) {
			snprintf(fallback, sizeof(fallback), "cause%u", bit);
			name = fallback;
		}
		length += snprintf(causes + length, sizeof(causes) - length, "%s%u:%s",
				   length ? "," : "", bit, name);
	}
	emit(context, "cause_names", causes);
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *text = (const char *)capabilities + texts[i].offset;

		if (*text)
			emit(context, texts[i].name, text);
	}
}

unsigned int pesa_capabilities_cause_text(const struct pesa_capabilities *capabilities,
					  uint16_t cause, char *buffer, unsigned int size)
{
	unsigned int length = 0;

	if (size)
		buffer[0] = '\0';
	for (unsigned int bit = 0; bit < 16; bit++) {
		const char *name = NULL;
		char fallback[16];

		if (!(cause & 1u << bit))
			continue;
		if (capabilities && bit < PESA_CAUSE_COUNT && capabilities->cause_names[bit][0])
			name = capabilities->cause_names[bit];
		else if (bit < STANDARD_CAUSES)
			name = standard_causes[bit];
		if (!name) {
			snprintf(fallback, sizeof(fallback), "cause%u", bit);
			name = fallback;
		}
		length += snprintf(length < size ? buffer + length : NULL,
				   length < size ? size - length : 0, "%s%s", length ? "+" : "",
				   name);
	}
	return length;
}
