/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ISA strings: extensions, what they imply, and the conditions of opcodes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/riscv/isa.h"

/* A part of a string. */
struct span {
	const char *text;
	size_t length;
};

/* The feature of this name, or -1. */
static int feature_find(struct span name)
{
	unsigned int low = 0, high = riscv_feature_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = strncmp(name.text, riscv_features[middle].name, name.length);

		if (!order && riscv_features[middle].name[name.length])
			order = -1;
		if (!order)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static bool feature_test(const struct pesa_isa *isa, unsigned int feature)
{
	return isa->features[feature / 64] >> feature % 64 & 1;
}

static void feature_set(struct pesa_isa *isa, unsigned int feature);

/* Enable the features in a list of names. */
static void features_set(struct pesa_isa *isa, const char *names)
{
	while (*names) {
		struct span name = {names, strcspn(names, " ")};
		int feature = feature_find(name);

		if (feature >= 0)
			feature_set(isa, feature);
		names += name.length;
		names += strspn(names, " ");
	}
}

/* Enable a feature and those that it implies. */
static void feature_set(struct pesa_isa *isa, unsigned int feature)
{
	if (feature_test(isa, feature))
		return;
	isa->features[feature / 64] |= UINT64_C(1) << feature % 64;
	features_set(isa, riscv_features[feature].implies);
}

static bool feature_on(const struct pesa_isa *isa, struct span name)
{
	int feature;

	if (name.length == 5 && !memcmp(name.text, "64bit", 5))
		return isa->xlen == 64;
	feature = feature_find(name);
	return feature >= 0 && feature_test(isa, feature);
}

/* Whether a condition (see riscv_conditions) holds. */
static bool condition_holds(const struct pesa_isa *isa, const char *text)
{
	while (*text) {
		bool any = false;

		/* One clause: alternatives up to a space. */
		while (*text && *text != ' ') {
			bool negated = *text == '!';
			struct span name = {text + negated, strcspn(text + negated, "| ")};

			any |= feature_on(isa, name) != negated;
			text = name.text + name.length;
			text += *text == '|';
		}
		if (!any)
			return false;
		text += strspn(text, " ");
	}
	return true;
}

/* Enable extensions that are implied by a combination of others. */
static void combine(struct pesa_isa *isa)
{
	static const struct {
		const char *both[2], *implied;
		unsigned int xlen; /* 0: any */
	} rules[] = {
		{{"c", "d"}, "zcd", 0},
		{{"c", "f"}, "zcf", 32},
		{{"zce", "f"}, "zcf", 32},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct span first = {rules[i].both[0], strlen(rules[i].both[0])};
		struct span second = {rules[i].both[1], strlen(rules[i].both[1])};
		struct span implied = {rules[i].implied, strlen(rules[i].implied)};

		if (feature_on(isa, first) && feature_on(isa, second) &&
		    (!rules[i].xlen || rules[i].xlen == isa->xlen))
			feature_set(isa, feature_find(implied));
	}
}

/* Ratified extensions are on by default, except those whose encodings overlap with others, or that
 * change the meaning of others. */
static bool in_default_set(const char *name)
{
	static const char *const conflicting[] = {
		"e", "zfinx", "zdinx", "zhinx", "zhinxmin", "zcmp", "zcmt", "zce", "zclsd",
	};

	for (size_t i = 0; i < sizeof(conflicting) / sizeof(*conflicting); i++)
		if (!strcmp(name, conflicting[i]))
			return false;
	return name[0] != 'x';
}

/* Length of a version "2p1" or "2" at `text`. */
static size_t version_length(const char *text)
{
	size_t length = strspn(text, "0123456789");

	if (length && (text[length] == 'p' || text[length] == '.') && isdigit(text[length + 1])) {
		length++;
		length += strspn(text + length, "0123456789");
	}
	return length;
}

/* Enable the extension `name` (lower case, optionally with a version suffix). */
static struct pesa_error *extension_set(struct pesa_isa *isa, const char *string, struct span name)
{
	int feature = feature_find(name);
	size_t end = name.length;

	if (feature < 0) {
		/* Remove "2p1", then "2". */
		while (end > 1 && isdigit(name.text[end - 1]))
			end--;
		if (end < name.length && end > 1 && name.text[end - 1] == 'p' &&
		    isdigit(name.text[end - 2])) {
			end--;
			while (end > 1 && isdigit(name.text[end - 1]))
				end--;
		}
		feature = feature_find((struct span){name.text, end});
	}
	if (feature < 0)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "instruction set '%s': extension '%.*s' is not known",
					 string, (int)name.length, name.text);
	feature_set(isa, feature);
	return NULL;
}

/* The single-letter extensions after "rv32" or "rv64", each optionally with a version. */
static struct pesa_error *letters_set(struct pesa_isa *isa, const char *string, const char **rest)
{
	static const char general[] = "imafd";
	const char *text = *rest;

	while (*text && *text != '_') {
		struct pesa_error *error = NULL;

		if (strchr("zsx", *text)) /* "rv64gzba": start of the long names */
			break;
		if (*text == 'g') {
			for (const char *letter = general; *letter && !error; letter++)
				error = extension_set(isa, string, (struct span){letter, 1});
			if (!error)
				error = extension_set(isa, string, (struct span){"zicsr", 5});
			if (!error)
				error = extension_set(isa, string, (struct span){"zifencei", 8});
		} else {
			error = extension_set(isa, string, (struct span){text, 1});
		}
		if (error)
			return error;
		text++;
		text += version_length(text);
	}
	*rest = text;
	return NULL;
}

/* The profile at the start of a string, or NULL. */
static const struct riscv_profile *profile_find(const char *lower)
{
	for (unsigned int i = 0; i < riscv_profile_count; i++) {
		size_t length = strlen(riscv_profiles[i].name);

		if (!strncmp(lower, riscv_profiles[i].name, length) &&
		    (!lower[length] || lower[length] == '_'))
			return &riscv_profiles[i];
	}
	return NULL;
}

/* Parse "rv64" and its single letters, or a profile; *rest is the text after it. */
static struct pesa_error *parse_base(struct pesa_isa *isa, const char *string, const char **rest)
{
	const struct riscv_profile *profile = profile_find(*rest);

	if (profile) {
		isa->xlen = profile->xlen;
		features_set(isa, profile->implies);
		*rest += strlen(profile->name);
		return NULL;
	}
	if (!strncmp(*rest, "rv32", 4))
		isa->xlen = 32;
	else if (!strncmp(*rest, "rv64", 4))
		isa->xlen = 64;
	else
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"instruction set '%s': must start with rv32 or rv64, or be a profile such as rva23u64",
			string);
	*rest += 4;
	if (!**rest) {
		for (unsigned int i = 0; i < riscv_feature_count; i++)
			if (in_default_set(riscv_features[i].name))
				feature_set(isa, i);
		return NULL;
	}
	if (!strchr("ieg", **rest))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"instruction set '%s': the base (i, e or g) must follow rv%u", string,
			isa->xlen);
	return letters_set(isa, string, rest);
}

static struct pesa_error *parse(struct pesa_isa *isa, const char *string, const char *lower)
{
	struct pesa_error *error = parse_base(isa, string, &lower);

	while (!error && *lower) {
		struct span name;

		lower += strspn(lower, "_");
		name = (struct span){lower, strcspn(lower, "_")};
		if (name.length)
			error = extension_set(isa, string, name);
		lower += name.length;
	}
	return error;
}

static void fill_members(struct pesa_isa *isa)
{
	for (unsigned int i = 0; i < riscv_register_class_count; i++)
		for (unsigned int bits = 0; bits < 32; bits++) {
			uint8_t number = riscv_register_classes[i].member[bits];

			if (isa->embedded && riscv_register_classes[i].limited && number >= 16)
				number = RISCV_REGISTER_INVALID;
			isa->members[i][bits] = number;
		}
}

/* Set the width and the features that a string names. */
static struct pesa_error *read_string(struct pesa_isa *isa, const char *string)
{
	char *lower = strdup(string);
	struct pesa_error *error;

	if (!lower)
		return pesa_error_no_memory();
	for (char *c = lower; *c; c++)
		*c = tolower((unsigned char)*c);
	error = parse(isa, string, lower);
	free(lower);
	return error;
}

struct pesa_error *pesa_isa_check(const char *string)
{
	struct pesa_isa *isa = calloc(1, sizeof(*isa));
	struct pesa_error *error = isa ? read_string(isa, string) : pesa_error_no_memory();

	free(isa);
	return error;
}

struct pesa_error *pesa_isa_create(const char *string, struct pesa_isa **isa)
{
	struct pesa_isa *result = calloc(1, sizeof(*result));
	struct pesa_error *error;

	if (!result)
		return pesa_error_no_memory();
	error = read_string(result, string);
	if (error)
		goto out;
	combine(result);
	result->embedded = feature_on(result, (struct span){"e", 1});
	result->alternate_format = feature_on(result, (struct span){"xsfvfbfexp16e", 13});
	result->conditions = malloc(riscv_condition_count);
	if (!result->conditions) {
		error = pesa_error_no_memory();
		goto out;
	}
	for (unsigned int i = 0; i < riscv_condition_count; i++)
		result->conditions[i] = condition_holds(result, riscv_conditions[i]);
	for (unsigned int i = 0; i < VALID_COUNT; i++)
		result->valid[i] = UINT64_MAX;
	result->valid[VALID_SHIFT_AMOUNT] >>= 64 - result->xlen;
	result->valid[VALID_ROUNDING_MODE] = 0x9f;
	result->valid[VALID_ROUND_TO_ZERO] = 1 << 1;
	fill_members(result);
	error = riscv_index_build(result);
	if (error)
		goto out;
	*isa = result;
	result = NULL;
out:
	pesa_isa_free(result);
	return error;
}

void pesa_isa_free(struct pesa_isa *isa)
{
	if (!isa)
		return;
	free(isa->conditions);
	free(isa->lists);
	free(isa->shorts);
	free(isa);
}

unsigned int pesa_isa_xlen(const struct pesa_isa *isa)
{
	return isa->xlen;
}
