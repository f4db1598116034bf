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
	bool stripped, no_debug;
	struct pesa_symbol_file *file;	 /* NULL: none */
	struct pesa_symbol_table *table; /* NULL: the dso was not opened yet */
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

static void close_slot(struct slot *slot)
{
	pesa_symbol_table_free(slot->table);
	pesa_symbol_file_free(slot->file);
	free(slot->problem);
	*slot = (struct slot){0};
}

void pesa_symbols_free(struct pesa_symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->slots; i++)
		close_slot(&symbols->slot[i]);
	free(symbols->slot);
	free(symbols->first_refused);
	free(symbols->root);
	free(symbols);
}

/* ---- Opening files, by the kind and status of a dso ------------------------------------------ */

static struct pesa_error *note(struct slot *slot, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static struct pesa_error *note(struct slot *slot, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	if (slot->problem)
		return NULL;
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return pesa_error_no_memory();
	slot->problem = text;
	return NULL;
}

/* Note an error as the dso's problem, in which `what` failed; lack of memory is passed on. */
static struct pesa_error *note_error(struct slot *slot, const struct pesa_dso *dso,
				     const char *what, struct pesa_error *error)
{
	struct pesa_error *failed;

	if (!error || error->code == PESA_ERROR_NO_MEMORY)
		return error;
	failed = note(slot, "%s: %s: %s", dso->path, what, error->message);
	pesa_error_free(error);
	return failed;
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

static struct pesa_error *open_file(struct pesa_symbols *symbols, const struct pesa_dso *dso,
				    struct slot *slot)
{
	struct pesa_error *error = dso->problem ? note(slot, "%s", dso->problem) : NULL;

	if (error)
		return error;
	if (dso->status == PESA_DSO_MISSING || dso->status == PESA_DSO_CHANGED)
		error = pesa_symbol_file_open_by_id(dso->build_id, dso->build_id_size,
						    symbols->root, &slot->file);
	else if (dso->file)
		error = pesa_symbol_file_open(dso->file, symbols->root, &slot->file);
	else
		error = open_path(symbols, dso->path, &slot->file);
	error = note_error(slot, dso, "no symbols", error);
	return error || !slot->file ? error : pesa_symbol_file_load(slot->file, slot->table);
}

/* Count a map that was refused, and keep the first reason. */
static struct pesa_error *count_refused(struct pesa_symbols *symbols, const char *reason)
{
	if (!symbols->first_refused) {
		symbols->first_refused = strdup(reason);
		if (!symbols->first_refused)
			return pesa_error_no_memory();
	}
	symbols->refused++;
	return NULL;
}

static struct pesa_error *open_map(struct pesa_symbols *symbols, const struct pesa_dso *dso,
				   struct slot *slot)
{
	struct pesa_error *error, *failed = NULL;
	char *path;
	bool below;

	if (!dso->pid)
		return NULL;
	if (asprintf(&path, "%s/tmp/perf-%u.map", symbols->root ? symbols->root : "", dso->pid) < 0)
		return pesa_error_no_memory();
	below = symbols->root && access(path, R_OK);
	error = pesa_symbol_map_load(below ? path + strlen(symbols->root) : path, slot->table);
	free(path);
	if (!error || error->code == PESA_ERROR_NO_MEMORY)
		return error;
	/* If a dump has the names, a missing map is not an error. */
	if (!(dso->functions && error->code == PESA_ERROR_SYSTEM))
		failed = note(slot,
			      error->code == PESA_ERROR_SYSTEM
				      ? "code made at run time has no names: %s: let its compiler "
					"write it, as node --perf-basic-prof does"
				      : "code made at run time has no names: %s",
			      error->message);
	if (!failed && error->code == PESA_ERROR_UNSUPPORTED)
		failed = count_refused(symbols, error->message);
	pesa_error_free(error);
	return failed;
}

static struct pesa_error *open_dso(struct pesa_symbols *symbols, const struct pesa_dso *dso,
				   struct slot *slot)
{
	switch (dso->kind) {
	case PESA_DSO_FILE:
		return open_file(symbols, dso, slot);
	case PESA_DSO_KERNEL:
		return note_error(slot, dso, "no symbols",
				  pesa_kernel_symbols_load(symbols->root, dso->build_id,
							   dso->build_id_size, slot->table));
	case PESA_DSO_JIT:
		return open_map(symbols, dso, slot);
	case PESA_DSO_VDSO: /* the vDSO exists in memory only; perf may have kept a copy */
		return dso->file ? open_file(symbols, dso, slot) : NULL;
	case PESA_DSO_UNKNOWN:
		break;
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* *result: the slot of a dso, with its symbols loaded; NULL if there is no such dso. */
static struct pesa_error *get_slot(struct pesa_symbols *symbols, uint32_t index,
				   struct slot **result)
{
	const struct pesa_dso *dso = symbols->dso(symbols->context, index);
	struct pesa_error *error;
	struct slot *slot;

	*result = NULL;
	if (!dso)
		return NULL;
	if (index >= symbols->slots) {
		uint32_t wanted = index < 16 ? 16 : index < UINT32_MAX / 2 ? index * 2 : index + 1;
		struct slot *grown = realloc(symbols->slot, wanted * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		memset(grown + symbols->slots, 0, (wanted - symbols->slots) * sizeof(*grown));
		symbols->slot = grown;
		symbols->slots = wanted;
	}
	slot = &symbols->slot[index];
	if (!slot->table) {
		slot->table = pesa_symbol_table_create(base_name(dso->path));
		error = slot->table ? open_dso(symbols, dso, slot) : pesa_error_no_memory();
		if (!error)
			error = pesa_symbol_table_finish(slot->table);
		if (error) {
			close_slot(slot);
			return error;
		}
		slot->stripped = slot->file && pesa_symbol_file_is_stripped(slot->file);
	}
	*result = slot;
	return NULL;
}

/* *file: the file of a dso that has debug information; NULL: none. */
static struct pesa_error *file_with_debug(struct pesa_symbols *symbols, uint32_t index,
					  struct pesa_symbol_file **file)
{
	struct pesa_error *error;
	struct slot *slot;
	bool found;

	*file = NULL;
	error = get_slot(symbols, index, &slot);
	if (error || !slot || !slot->file || slot->no_debug)
		return error;
	error = pesa_symbol_file_open_debug(slot->file, &found);
	if (error)
		return error;
	if (!found) {
		error = note(slot,
			     "%s: no debug information: no source lines; compile with -g or "
			     "install its debug package",
			     symbols->dso(symbols->context, index)->path);
		slot->no_debug = !error;
		return error;
	}
	*file = slot->file;
	return NULL;
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

struct pesa_error *pesa_symbols_find(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
				     const struct pesa_symbol **result)
{
	const struct pesa_function *function = function_at(symbols, dso, address);
	const struct pesa_symbol *symbol = NULL;
	struct pesa_error *error = NULL;
	struct slot *slot;

	if (function) {
		*result = function->symbol.name ? &function->symbol : NULL;
		return NULL;
	}
	error = get_slot(symbols, dso, &slot);
	if (!error && slot)
		error = pesa_symbol_table_find(slot->table, address, &symbol);
	if (!error && slot && slot->stripped && (!symbol || !symbol->linkage_name))
		error = note(slot,
			     "%s: stripped: functions are named by their addresses; its debug "
			     "package or an unstripped copy below --symfs would name them",
			     symbols->dso(symbols->context, dso)->path);
	if (!error)
		*result = symbol;
	return error;
}

struct pesa_error *pesa_symbols_by_name(struct pesa_symbols *symbols, uint32_t dso,
					const char *name, const struct pesa_symbol **found,
					size_t max, size_t *result)
{
	const struct pesa_dso *described = symbols->dso(symbols->context, dso);
	size_t count = described && described->functions
			       ? pesa_functions_by_name(described->functions, name, found, max)
			       : 0;
	struct pesa_error *error;
	struct slot *slot;

	error = get_slot(symbols, dso, &slot);
	if (!error && !count && slot)
		error = pesa_symbol_table_by_name(slot->table, name, found, max, &count);
	if (!error)
		*result = count;
	return error;
}

struct pesa_error *pesa_symbols_source(struct pesa_symbols *symbols, uint32_t dso, uint64_t address,
				       struct pesa_source *source)
{
	const struct pesa_function *function = function_at(symbols, dso, address);
	struct pesa_symbol_file *file;
	struct pesa_error *error;

	if (function) {
		*source = source_in(function, address);
		return NULL;
	}
	error = file_with_debug(symbols, dso, &file);
	if (error)
		return error;
	if (file)
		return pesa_symbol_file_source(file, address, source);
	*source = (struct pesa_source){0};
	return NULL;
}

struct pesa_error *pesa_symbols_inlines(struct pesa_symbols *symbols, uint32_t dso,
					uint64_t address, struct pesa_inline_frame *frames,
					size_t max, size_t *result)
{
	const struct pesa_symbol *symbol = NULL;
	struct pesa_symbol_file *file;
	struct pesa_error *error;
	size_t count = 0;

	error = file_with_debug(symbols, dso, &file);
	if (!error && max && file)
		error = pesa_symbol_file_inlines(file, address, frames, max, &count);
	if (!error && count < max)
		error = pesa_symbols_find(symbols, dso, address, &symbol);
	if (error)
		return error;
	if (!count && symbol) {
		/* Code without debug information: one frame, named by the symbol. */
		frames[0] = (struct pesa_inline_frame){.function = symbol->name};
		error = pesa_symbols_source(symbols, dso, address, &frames[0].source);
		if (error)
			return error;
		count = 1;
	} else if (count && symbol) {
		/* Use the symbol's name everywhere: DWARF has no names for clones and lambdas. */
		frames[count - 1].function = symbol->name;
	}
	*result = count;
	return NULL;
}

struct pesa_error *pesa_symbols_source_frames(struct pesa_symbols *symbols, uint32_t dso,
					      uint64_t address, struct pesa_source_frame *frames,
					      size_t max, size_t *count)
{
	struct pesa_symbol_file *file;
	struct pesa_error *error = file_with_debug(symbols, dso, &file);

	if (error)
		return error;
	if (file)
		return pesa_symbol_file_source_frames(file, address, frames, max, count);
	*count = 0;
	return NULL;
}

struct pesa_error *pesa_symbols_paths(struct pesa_symbols *symbols, uint32_t dso,
				      struct pesa_symbol_paths *paths)
{
	struct pesa_error *error;
	struct slot *slot;
	bool found;

	error = get_slot(symbols, dso, &slot);
	if (error)
		return error;
	if (!slot || !slot->file) {
		*paths = (struct pesa_symbol_paths){0};
		return NULL;
	}
	error = pesa_symbol_file_open_debug(slot->file, &found);
	return error ? error : pesa_symbol_file_paths(slot->file, paths);
}

struct pesa_error *pesa_symbols_problem(struct pesa_symbols *symbols, uint32_t dso,
					const char **problem)
{
	struct slot *slot;
	struct pesa_error *error = get_slot(symbols, dso, &slot);

	if (!error)
		*problem = slot ? slot->problem : NULL;
	return error;
}

size_t pesa_symbols_refused(const struct pesa_symbols *symbols, const char **first)
{
	*first = symbols->first_refused;
	return symbols->refused;
}
