/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TableGen files of a checkout that somebody else made: statements, scopes and their parts. */
#include <stdint.h>
#include <stdlib.h>

#include "tools/compare/tablegen.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(const struct tablegen *tablegen, struct tablegen_span span)
{
	if (span.start > span.end || span.end > tablegen->size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tablegen tablegen;
	struct tablegen_span value, part[8];
	struct pesa_error *error = tablegen_parse((const char *)data, size, &tablegen);

	if (error) {
		pesa_error_free(error);
		return 0;
	}
	for (size_t i = 0; i < tablegen.scopes; i++) {
		check_span(&tablegen, tablegen.scope[i].head);
		check_span(&tablegen, tablegen.scope[i].name);
		if (tablegen_let_value(&tablegen, tablegen.scope[i].head, "Latency", &value))
			check_span(&tablegen, value);
	}
	for (size_t i = 0; i < tablegen.statements; i++) {
		const struct tablegen_statement *one = &tablegen.statement[i];
		size_t count = tablegen_split(&tablegen, one->span, part, 8);

		check_span(&tablegen, one->span);
		check_span(&tablegen, one->body);
		for (size_t j = 0; j < count && j < 8; j++)
			check_span(&tablegen, part[j]);
		if (tablegen_body_value(&tablegen, one->body, "Latency", &value))
			check_span(&tablegen, value);
	}
	tablegen_free(&tablegen);
	return 0;
}
