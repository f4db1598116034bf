/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a dump of code made at run time: it is read, its functions are put in a set that
 * knows no overlaps, and each byte of them is looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/functions.h"
#include "decoder/binary/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void look_up(const struct pesa_jitdump *dump, struct pesa_functions *functions)
{
	const struct pesa_symbol *found[4];

	for (size_t i = 0; i < dump->events; i++) {
		const struct pesa_jitdump_event *event = &dump->event[i];
		const struct pesa_jitdump_function *function = &dump->function[event->function];
		bool fits = pesa_functions_agree(functions, event->address, function);

		if (i && dump->event[i - 1].time > event->time)
			abort();
		if (pesa_functions_add(functions, event->address, function))
			return; /* out of memory */
		for (uint64_t offset = 0; offset < function->size; offset++) {
			const struct pesa_jitdump_line *line =
				pesa_jitdump_line_at(function, offset);
			const struct pesa_function *at = pesa_functions_first(
				functions, event->address + offset, event->address + offset + 1);

			sink += function->code[offset] +
				(line ? line->line + strlen(line->file) : 0);
			if (fits && (!at || at->symbol.start != event->address))
				abort();
		}
		sink += pesa_functions_by_name(functions, function->name, found, 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_functions *functions = pesa_functions_create();
	char *bytes = malloc(size ? size : 1);
	struct pesa_jitdump *dump = NULL;

	if (functions && bytes) {
		memcpy(bytes, data, size);
		pesa_error_free(pesa_jitdump_parse(bytes, size, &dump));
		bytes = NULL;
	}
	if (dump)
		look_up(dump, functions);
	free(bytes);
	pesa_functions_free(functions); /* points into the dump */
	pesa_jitdump_free(dump);
	return 0;
}
