/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/binary/functions.h"
#include "decoder/binary/symbol_file.h"
#include "decoder/binary/symbol_kernel.h"
#include "decoder/binary/symbol_map.h"
#include "decoder/binary/symbol_table.h"
#include "pesa/symbols.h"

struct slot {
	bool opened, stripped, no_debug;
	struct pesa_symbol_file *file;	 /* NULL: none */
	struct pesa_symbol_table *table; /* NULL: none */
	char *problem;
};

struct pesa_symbols {
	const struct pesa_dso *(*dso)(void *context, uint32_t index);
	void *context;
	char *root;
	struct slot *slot;
	uint32_t slots;
	size_t refused; /* malformed maps */
	char *first_refused;
};

struct pesa_error *pesa_symbols_create_for(const struct pesa_dso *(*dso)(void *, uint32_t),
					   void *context, const char *root,
					   struct pesa_symbols **result)
{
	struct pesa_symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols || (root && !(symbols->root = strdup(root)))) {
		free(symbols);
		return pesa_error_no_memory();
	}
	symbols->dso = dso;
	symbols->context = context;
	*result = symbols;
	return NULL;
}

void pesa_symbols_free(struct pesa_symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->slots; i++) {
		pesa_symbol_table_free(symbols->slot[i].table);
		pesa_symbol_file_free(symbols->slot[i].file);
		free(symbols->slot[i].problem);
	}
	free(symbols->slot);
	free(symbols->first_refused);
	free(symbols->root);
	free(symbols);
}

/* ---- Opening files, by the kind and status of a dso ------------------------------------------ */

static void note(struct slot *slot, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct slot *slot, const char *format, ...)
{
	va_list arguments;
	char *text;

	if (slot->problem)
		return;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0)
		slot->problem = text;
	va_end(arguments);
}

static struct pesa_error *open_path(const struct pesa_symbols *symbols, const char *path,
				    struct pesa_symbol_file **file)
{
	struct pesa_error *error;
	char *below;

	if (symbols->root) {
		if (asprintf(&below, "%s/%s", symbols->root, path) < 0)
			return pesa_error_no_memory();
		if (!access(below, R_OK)) {
			error = pesa_symbol_file_open(below, symbols->root, file);
			free(below);
			return error;
		}
		free(below);
	}
	return pesa_symbol_file_open(path, symbols->root, file);
}

/* An error of open_file() and open_map() says that the table lacks symbols for want of memory.  Other
 * failures are the dso's problem. */

static struct pesa_error *open_file(struct pesa_symbols *symbols, const struct pesa_dso *dso,
				    struct slot *slot)
{
	struct pesa_error *error;

	if (dso->problem)
		note(slot, "%s", dso->problem);
	if (dso->status == PESA_DSO_MISSING || dso->status == PESA_DSO_CHANGED)
		error = pesa_symbol_file_open_by_id(dso->build_id, dso->build_id_size,
						    symbols->root, &slot->file);
	else if (dso->file)
		error = pesa_symbol_file_open(dso->file, symbols->root, &slot->file);
	else
		error = open_path(symbols, dso->path, &slot->file);
	if (error)
		note(slot, "%s: no symbols: %s", dso->path, error->message);
	pesa_error_free(error);
	return slot->file ? pesa_symbol_file_load(slot->file, slot->table) : NULL;
}

static struct pesa_error *open_map(struct pesa_symbols *symbols, const struct pesa_dso *dso,
				   struct slot *slot)
{
	struct pesa_error *error;
	char *path;
	bool below;

	if (!dso->pid)
		return NULL;
	if (asprintf(&path, "%s/tmp/perf-%u.map", symbols->root ? symbols->root : "", dso->pid) < 0)
		return pesa_error_no_memory();
	below = symbols->root && access(path, R_OK);
	error = pesa_symbol_map_load(below ? path + strlen(symbols->root) : path, slot->table);
	/* If a dump has the names, a missing map is not an error. */
	if (error && !(dso->functions && error->code == PESA_ERROR_SYSTEM))
		note(slot, "code made at run time has no names: %s", error->message);
	if (error && error->code == PESA_ERROR_UNSUPPORTED && !symbols->refused++)
		symbols->first_refused = strdup(error->message);
	pesa_error_free(error);
	free(path);
	return NULL;
}

static void open_kernel(struct pesa_symbols *symbols, const struct pesa_dso *dso, struct slot *slot)
{
	struct pesa_error *error = pesa_kernel_symbols_load(symbols->root, dso->build_id,
							    dso->build_id_size, slot->table);

	if (error)
		note(slot, "%s: no symbols: %s", dso->path, error->message);
	pesa_error_free(error);
}

static struct slot *slot_of(struct pesa_symbols *symbols, uint32_t index)
{
	const struct pesa_dso *dso = symbols->dso(symbols->context, index);
	struct pesa_error *error = NULL;
	struct slot *slot;

	if (!dso)
		return NULL;
	if (index >= symbols->slots) {
		uint32_t wanted = index < 16 ? 16 : index < UINT32_MAX / 2 ? index * 2 : index + 1;
		struct slot *grown = realloc(symbols->slot, wanted * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + symbols->slots, 0, (wanted - symbols->slots) * sizeof(*grown));
		symbols->slot = grown;
		symbols->slots = wanted;
	}
	slot = &symbols->slot[index];
	if (slot->opened)
		return slot;
	slot->opened = true;
	slot->table = pesa_symbol_table_create();
	if (!slot->table) {
		note(slot, "%s: no symbols: out of memory", dso->path);
		return slot;
	}
	switch (dso->kind) {
	case PESA_DSO_FILE:
		error = open_file(symbols, dso, slot);
		break;
	case PESA_DSO_KERNEL:
		open_kernel(symbols, dso, slot);
		break;
	case PESA_DSO_JIT:
		error = open_map(symbols, dso, slot);
		break;
	case PESA_DSO_VDSO: /* the vDSO exists in memory only; perf may have kept a copy */
		if (dso->file)
			error = open_file(symbols, dso, slot);
		break;
	case PESA_DSO_UNKNOWN:
		break;
	}
	/* Lookups need this even if not all symbols were added. */
	if (error)
		pesa_error_free(pesa_symbol_table_finish(slot->table));
	else
		error = pesa_symbol_table_finish(slot->table);
	if (error)
		note(slot, "%s: symbols are incomplete: %s", dso->path, error->message);
	pesa_error_free(error);
	slot->stripped = slot->file && pesa_symbol_file_is_stripped(slot->file);
	return slot;
}

/* Failing to read debug information is the dso's problem. */
static void note_debug_error(struct pesa_symbols *symbols, uint32_t index, struct slot *slot,
			     struct pesa_error *error)
{
	if (error)
		note(slot, "%s: debug information is incomplete: %s",
		     symbols->dso(symbols->context, index)->path, error->message);
	pesa_error_free(error);
}

/* Whether the file of the slot has debug information. */
static bool open_debug(struct pesa_symbols *symbols, uint32_t index, struct slot *slot)
{
	bool found = false;

	note_debug_error(symbols, index, slot, pesa_symbol_file_open_debug(slot->file, &found));
	return found;
}

static struct pesa_symbol_file *file_with_debug(struct pesa_symbols *symbols, uint32_t index)
{
	struct slot *slot = slot_of(symbols, index);

	if (!slot || !slot->file || slot->no_debug)
		return NULL;
	if (!open_debug(symbols, index, slot)) {
		slot->no_debug = true;
		note(slot,
		     "%s: no debug information: no source lines; compile with -g or install its debug package",
		     symbols->dso(symbols->context, index)->path);
		return NULL;
	}
	return slot->file;
}

/* The function of a jitdump at an address.  Dumps are preferred to maps, which have no times. */
static const struct pesa_function *function_at(const struct pesa_symbols *symbols, uint32_t index,
					       uint64_t address)
{
	const struct pesa_dso *dso = symbols->dso(symbols->context, index);

	return dso && dso->functions && address < UINT64_MAX
		       ? pesa_functions_first(dso->functions, address, address + 1)
		       : NULL;
}

static struct pesa_source source_in(const struct pesa_function *function, uint64_t address)
{
	const struct pesa_jitdump_line *line =
		pesa_jitdump_line_at(function->dumped, address - function->symbol.start);

	return line ? (struct pesa_source){.file = line->file, .line = line->line}
		    : (struct pesa_source){0};
}

/* ---- Lookup ---------------------------------------------------------------------------------- */

const struct pesa_symbol *pesa_symbols_find(struct pesa_symbols *symbols, uint32_t dso,
					    uint64_t address)
{
	const struct pesa_function *function = function_at(symbols, dso, address);
	const struct pesa_symbol *symbol;
	struct slot *slot;

	if (function)
		return function->symbol.name ? &function->symbol : NULL;
	slot = slot_of(symbols, dso);
	symbol = slot && slot->table ? pesa_symbol_table_find(slot->table, address) : NULL;
	if (!symbol && slot && slot->stripped)
		note(slot,
		     "%s: stripped: code without names; its debug package or an unstripped copy "
		     "below --symfs would name it",
		     symbols->dso(symbols->context, dso)->path);
	return symbol;
}

size_t pesa_symbols_by_name(struct pesa_symbols *symbols, uint32_t dso, const char *name,
			    const struct pesa_symbol **found, size_t max)
{
	const struct pesa_dso *described = symbols->dso(symbols->context, dso);
	struct slot *slot = slot_of(symbols, dso);
	size_t count = described && described->functions
			       ? pesa_functions_by_name(described->functions, name, found, max)
			       : 0;

	if (count || !slot || !slot->table)
		return count;
	return pesa_symbol_table_by_name(slot->table, name, found, max);
}

struct pesa_source pesa_symbols_source(struct pesa_symbols *symbols, uint32_t dso, uint64_t address)
{
	const struct pesa_function *function = function_at(symbols, dso, address);
	struct pesa_symbol_file *file;

	if (function)
		return source_in(function, address);
	file = file_with_debug(symbols, dso);
	return file ? pesa_symbol_file_source(file, address) : (struct pesa_source){0};
}

size_t pesa_symbols_inlines(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
			    struct pesa_inline_frame *frames, size_t max)
{
	struct pesa_symbol_file *file = file_with_debug(symbols, dso);
	const struct pesa_symbol *symbol;
	size_t count = 0;

	if (!max)
		return 0;
	if (file)
		note_debug_error(symbols, dso, &symbols->slot[dso],
				 pesa_symbol_file_inlines(file, address, frames, max, &count));
	symbol = count < max ? pesa_symbols_find(symbols, dso, address) : NULL;
	if (!count && symbol) {
		/* Code without debug information: one frame, named by the symbol. */
		frames[count++] = (struct pesa_inline_frame){
			.function = symbol->name,
			.source = pesa_symbols_source(symbols, dso, address),
		};
	} else if (count && symbol) {
		/* Use the symbol's name everywhere: DWARF has no names for clones and lambdas. */
		frames[count - 1].function = symbol->name;
	}
	return count;
}

struct pesa_symbol_paths pesa_symbols_paths(struct pesa_symbols *symbols, uint32_t dso)
{
	struct slot *slot = slot_of(symbols, dso);

	if (!slot || !slot->file)
		return (struct pesa_symbol_paths){0};
	open_debug(symbols, dso, slot);
	return pesa_symbol_file_paths(slot->file);
}

const char *pesa_symbols_problem(struct pesa_symbols *symbols, uint32_t dso)
{
	struct slot *slot = slot_of(symbols, dso);

	return slot ? slot->problem : NULL;
}

size_t pesa_symbols_refused(const struct pesa_symbols *symbols, const char **first)
{
	*first = symbols->first_refused ? symbols->first_refused : "out of memory";
	return symbols->refused;
}
