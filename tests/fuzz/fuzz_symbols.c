/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as what names of functions are read from.  The first byte says which: a map of code
 * made at run time, /proc/kallsyms, ELF notes, a mangled name.  (ELF files themselves are read by
 * elfutils; the unit tests of symbols cut them off.)
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/symbol_kernel.h"
#include "decoder/binary/symbol_map.h"
#include "decoder/binary/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* Every address that the text begins a line with, and every name, can be looked up. */
static void look_up(struct pesa_symbol_table *table, const char *text)
{
	const struct pesa_symbol *symbol, *found[4];
	size_t count;

	if (pesa_symbol_table_finish(table))
		return; /* out of memory */
	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (pesa_symbol_table_find(table, strtoull(text, NULL, 16), &symbol) || !symbol)
			continue;
		sink += strlen(symbol->name) + symbol->size;
		if (!pesa_symbol_table_by_name(table, symbol->name, found, 4, &count) && !count)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesa_symbol_table *table = pesa_symbol_table_create("program");
	const uint8_t *id;
	size_t ignored;
	bool hidden;
	char *text;

	text = size ? strndup((const char *)data + 1, size - 1) : NULL;
	if (!table || !text) {
		pesa_symbol_table_free(table);
		free(text);
		return 0;
	}
	switch (data[0] % 4) {
	case 0:
		if (!pesa_symbol_map_parse(text, strlen(text), table, &ignored))
			look_up(table, text);
		break;
	case 1:
		if (!pesa_kernel_symbols_parse(text, strlen(text), table, &hidden))
			look_up(table, text);
		break;
	case 2:
		for (size_t left = pesa_kernel_notes_build_id(data + 1, size - 1, &id); left;
		     left--)
			sink += id[left - 1];
		break;
	case 3: {
		char *readable = NULL;

		pesa_error_free(pesa_demangle(text, &readable));
		sink += readable ? strlen(readable) : 0;
		free(readable);
		break;
	}
	}
	pesa_symbol_table_free(table);
	free(text);
	return 0;
}
