/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/binary/debug_info.h"
#include "decoder/base/intervals.h"
#include "decoder/binary/symbol_debug_file.h"

/* Of an inlined call: tells calls on one line apart.  LLVM writes it; this libdw does not name it. */
#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

/* Deeper nesting is damage; no compiler generates it. */
#define DEPTH_MAX 256

struct inlined {
	uint64_t start, end;
	unsigned int depth; /* 1: directly in the function */
	Dwarf_Die die;
};

struct function {
	Dwarf_Die die;
	struct inlined *inlined;
	size_t count, room;
};

struct unit {
	Dwarf_Die die;	 /* the DIE with the line table */
	Dwarf_Die split; /* the DIE with the functions: the same one, or that of the split unit */
	bool functions_loaded;
	struct pesa_intervals ranges; /* functions */
	struct function *function;
	size_t count, room;
};

/* A demangled name, by the address of the DIE with the mangled one. */
struct name {
	void *key;
	char *text; /* owned; NULL: not mangled */
	const char *plain;
	UT_hash_handle hh;
};

/* A source file's absolute path, by the address of its path in DWARF. */
struct path {
	const char *key;
	char *text; /* owned; NULL: the path in DWARF is absolute */
	UT_hash_handle hh;
};

struct pesa_debug_info {
	uint64_t bias;
	struct pesa_intervals ranges; /* units */
	struct unit *unit;
	size_t count, room;
	struct name *names;
	struct path *paths;
};

/* Make room for one more element.  Returns NULL if out of memory; the array is then unchanged. */
static void *grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return array;
	grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	return grown;
}

static struct pesa_error *add_ranges(struct pesa_intervals *set, Dwarf_Die *die, size_t value)
{
	struct pesa_error *error = NULL;
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while (!error && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0)
		/* Linkers leave discarded functions at address 0 or at the highest address. */
		if (start && start < end)
			error = pesa_intervals_add(set, start, end, value);
	return error;
}

/* Whether libdw may open the file of a skeleton's split unit. */
static struct pesa_error *may_follow(Dwarf_Die *skeleton, const char *from, bool *may)
{
	Dwarf_Attribute attribute;
	const char *name, *directory;

	name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
	if (!name)
		name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
	directory = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
	*may = true;
	return name ? pesa_debug_file_may_open(from, directory, name, may) : NULL;
}

/* A unit whose split unit may not be opened has no functions: libdw would open it to read their
 * names. */
static struct pesa_error *make_unit(Dwarf_CU *cu, uint8_t type, Dwarf_Die *die, const char *from,
				    struct unit *unit)
{
	struct pesa_error *error;
	Dwarf_Die split = {0};
	bool may;

	*unit = (struct unit){.die = *die, .split = *die};
	if (type != DW_UT_skeleton)
		return NULL;
	error = may_follow(die, from, &may);
	if (error)
		return error;
	unit->functions_loaded = !may;
	if (may && dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
		unit->split = split;
	return NULL;
}

/* List the units that have code. */
static struct pesa_error *collect_units(struct pesa_debug_info *info, Dwarf *dwarf,
					const char *from)
{
	Dwarf_CU *cu = NULL;
	uint8_t type = 0;
	Dwarf_Die die;

	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
		int tag = dwarf_tag(&die);
		struct pesa_error *error;
		struct unit *unit;

		if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
			continue;
		unit = grow(info->unit, info->count, &info->room, sizeof(*unit));
		if (!unit)
			return pesa_error_no_memory();
		info->unit = unit;
		error = make_unit(cu, type, &die, from, &info->unit[info->count]);
		if (!error)
			error = add_ranges(&info->ranges, &die, info->count);
		if (error)
			return error;
		info->count++;
	}
	return NULL;
}

struct pesa_error *pesa_debug_info_create(Dwarf *dwarf, uint64_t bias, const char *from,
					  struct pesa_debug_info **result)
{
	struct pesa_debug_info *info = calloc(1, sizeof(*info));
	struct pesa_error *error;

	if (!info)
		return pesa_error_no_memory();
	info->bias = bias;
	error = collect_units(info, dwarf, from);
	if (error || !info->ranges.count) {
		pesa_debug_info_free(info);
		info = NULL;
	}
	if (error)
		return error;
	if (info)
		pesa_intervals_sort(&info->ranges);
	*result = info;
	return NULL;
}

static void free_functions(struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++)
		free(unit->function[i].inlined);
	free(unit->function);
	unit->function = NULL;
	unit->count = unit->room = 0;
	pesa_intervals_free(&unit->ranges);
}

void pesa_debug_info_free(struct pesa_debug_info *info)
{
	struct name *name, *next;
	struct path *path, *next_path;

	if (!info)
		return;
	for (size_t i = 0; i < info->count; i++)
		free_functions(&info->unit[i]);
	HASH_ITER(hh, info->names, name, next)
	{
		HASH_DEL(info->names, name);
		free(name->text);
		free(name);
	}
	HASH_ITER(hh, info->paths, path, next_path)
	{
		HASH_DEL(info->paths, path);
		free(path->text);
		free(path);
	}
	free(info->unit);
	pesa_intervals_free(&info->ranges);
	free(info);
}

/* ---- Functions and what was inlined into them ------------------------------------------------ */

static struct pesa_error *collect_inlined(struct function *function, Dwarf_Die *parent,
					  unsigned int depth, unsigned int nesting)
{
	struct pesa_error *error;
	Dwarf_Die child;

	if (nesting > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&child);
		unsigned int inner = depth;
		Dwarf_Addr base, start, end;
		ptrdiff_t offset = 0;
		struct inlined *grown;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			inner++;
			while ((offset = dwarf_ranges(&child, offset, &base, &start, &end)) > 0) {
				if (start >= end)
					continue;
				grown = grow(function->inlined, function->count, &function->room,
					     sizeof(*grown));
				if (!grown)
					return pesa_error_no_memory();
				function->inlined = grown;
				function->inlined[function->count++] = (struct inlined){
					.start = start, .end = end, .depth = inner, .die = child};
			}
		}
		error = collect_inlined(function, &child, inner, nesting + 1);
		if (error)
			return error;
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

/* Whether a DIE with this tag can contain functions. */
static bool holds_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static struct pesa_error *add_function(struct unit *unit, Dwarf_Die *die)
{
	struct function *grown = grow(unit->function, unit->count, &unit->room, sizeof(*grown));
	struct pesa_error *error;
	size_t before = unit->ranges.count;

	if (!grown)
		return pesa_error_no_memory();
	unit->function = grown;
	error = add_ranges(&unit->ranges, die, unit->count);
	if (unit->ranges.count != before)
		unit->function[unit->count++] = (struct function){.die = *die};
	return error;
}

static struct pesa_error *collect_functions(struct unit *unit, Dwarf_Die *parent,
					    unsigned int nesting)
{
	struct pesa_error *error = NULL;
	Dwarf_Die child;

	if (nesting > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			error = add_function(unit, &child);
		if (!error && holds_functions(tag))
			error = collect_functions(unit, &child, nesting + 1);
	} while (!error && dwarf_siblingof(&child, &child) == 0);
	return error;
}

static struct pesa_error *load_functions(struct unit *unit)
{
	struct pesa_error *error = collect_functions(unit, &unit->split, 0);

	for (size_t i = 0; i < unit->count && !error; i++)
		error = collect_inlined(&unit->function[i], &unit->function[i].die, 0, 0);
	if (error) {
		free_functions(unit);
		return error;
	}
	pesa_intervals_sort(&unit->ranges);
	unit->functions_loaded = true;
	return NULL;
}

/* ---- Lookup ---------------------------------------------------------------------------------- */

static struct unit *find_unit(struct pesa_debug_info *info, uint64_t address)
{
	const struct pesa_interval *interval = pesa_intervals_find(&info->ranges, address);

	return interval ? &info->unit[interval->value] : NULL;
}

/* Replace a path by the absolute one: compilers write paths relative to their working directory. */
static struct pesa_error *make_absolute(struct pesa_debug_info *info, struct unit *unit,
					const char **file)
{
	Dwarf_Attribute attribute;
	const char *directory;
	struct path *path;

	if (!*file || **file == '/')
		return NULL;
	HASH_FIND_PTR(info->paths, file, path);
	if (!path) {
		path = calloc(1, sizeof(*path));
		if (!path)
			return pesa_error_no_memory();
		path->key = *file;
		directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
		if (directory && asprintf(&path->text, "%s/%s", directory, *file) < 0) {
			free(path);
			return pesa_error_no_memory();
		}
		HASH_ADD_PTR(info->paths, key, path);
		if (!path->hh.tbl) {
			free(path->text);
			free(path);
			return pesa_error_no_memory();
		}
	}
	if (path->text)
		*file = path->text;
	return NULL;
}

static struct pesa_error *line_of(struct pesa_debug_info *info, struct unit *unit, uint64_t address,
				  struct pesa_source *source)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number = 0, column = 0;

	*source = (struct pesa_source){0};
	if (!line)
		return NULL;
	source->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		source->line = (unsigned int)number;
	if (dwarf_linecol(line, &column) == 0 && column > 0)
		source->column = (unsigned int)column;
	return make_absolute(info, unit, &source->file);
}

struct pesa_error *pesa_debug_info_source(struct pesa_debug_info *info, uint64_t address,
					  struct pesa_source *source)
{
	struct unit *unit = find_unit(info, address - info->bias);

	if (unit)
		return line_of(info, unit, address - info->bias, source);
	*source = (struct pesa_source){0};
	return NULL;
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static struct pesa_error *function_name(struct pesa_debug_info *info, Dwarf_Die *die,
					const char **result)
{
	struct pesa_error *error;
	struct name *name;
	const char *linkage;

	HASH_FIND_PTR(info->names, &die->addr, name);
	if (!name) {
		name = calloc(1, sizeof(*name));
		if (!name)
			return pesa_error_no_memory();
		name->key = die->addr;
		linkage = linkage_name(die);
		error = pesa_demangle(linkage, &name->text);
		if (error) {
			free(name);
			return error;
		}
		name->plain = linkage ? linkage : dwarf_diename(die);
		HASH_ADD_PTR(info->names, key, name);
		if (!name->hh.tbl) {
			free(name->text);
			free(name);
			return pesa_error_no_memory();
		}
	}
	*result = name->text ? name->text : name->plain;
	return NULL;
}

static unsigned int number_attribute(Dwarf_Die *die, unsigned int which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (unsigned int)value;
}

/* Position of an inlined call in the function that contains it. */
static struct pesa_error *call_site(struct pesa_debug_info *info, struct unit *unit, Dwarf_Die *die,
				    struct pesa_source *source)
{
	unsigned int file = number_attribute(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	*source = (struct pesa_source){.line = number_attribute(die, DW_AT_call_line),
				       .column = number_attribute(die, DW_AT_call_column)};
	if (dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && file < count)
		source->file = dwarf_filesrc(files, file, NULL, NULL);
	return make_absolute(info, unit, &source->file);
}

/* The inlined calls that hold an address, outermost first. */
struct chain {
	struct unit *unit;
	struct function *function;		/* NULL: no function is known there */
	struct inlined *inlined[DEPTH_MAX + 1]; /* by depth; NULL: none */
	unsigned int deepest;			/* 0: not inlined */
};

static struct pesa_error *find_chain(struct pesa_debug_info *info, uint64_t address,
				     struct chain *chain)
{
	const struct pesa_interval *interval;
	struct pesa_error *error;

	*chain = (struct chain){.unit = find_unit(info, address)};
	if (!chain->unit)
		return NULL;
	if (!chain->unit->functions_loaded) {
		error = load_functions(chain->unit);
		if (error)
			return error;
	}
	interval = pesa_intervals_find(&chain->unit->ranges, address);
	if (!interval)
		return NULL;
	chain->function = &chain->unit->function[interval->value];
	for (size_t i = 0; i < chain->function->count; i++) {
		struct inlined *inlined = &chain->function->inlined[i];

		if (address < inlined->start || address >= inlined->end ||
		    inlined->depth > DEPTH_MAX)
			continue;
		chain->inlined[inlined->depth] = inlined;
		if (inlined->depth > chain->deepest)
			chain->deepest = inlined->depth;
	}
	return NULL;
}

struct pesa_error *pesa_debug_info_inlines(struct pesa_debug_info *info, uint64_t address,
					   struct pesa_inline_frame *frames, size_t max,
					   size_t *result)
{
	struct pesa_source source;
	struct pesa_error *error;
	struct chain chain;
	size_t count = 0;

	*result = 0;
	address -= info->bias;
	error = find_chain(info, address, &chain);
	if (error || !chain.function)
		return error;
	error = line_of(info, chain.unit, address, &source);
	for (unsigned int depth = chain.deepest; !error && depth > 0 && count < max; depth--) {
		if (!chain.inlined[depth])
			continue;
		frames[count].source = source;
		error = function_name(info, &chain.inlined[depth]->die, &frames[count++].function);
		if (!error)
			error = call_site(info, chain.unit, &chain.inlined[depth]->die, &source);
	}
	if (!error && count < max) {
		frames[count].source = source;
		error = function_name(info, &chain.function->die, &frames[count++].function);
	}
	if (!error)
		*result = count;
	return error;
}

static struct pesa_source_frame source_frame(Dwarf_Die *die, unsigned int line,
					     unsigned int discriminator)
{
	const char *linkage = linkage_name(die);
	int begins = 0;

	return (struct pesa_source_frame){
		.function = linkage ? linkage : dwarf_diename(die),
		.begins =
			dwarf_decl_line(die, &begins) == 0 && begins > 0 ? (unsigned int)begins : 0,
		.line = line,
		.discriminator = discriminator,
	};
}

struct pesa_error *pesa_debug_info_source_frames(struct pesa_debug_info *info, uint64_t address,
						 struct pesa_source_frame *frames, size_t max,
						 size_t *result)
{
	unsigned int discriminator = 0;
	struct pesa_error *error;
	struct chain chain;
	size_t count = 0;
	Dwarf_Line *row;
	int line = 0;

	*result = 0;
	address -= info->bias;
	error = find_chain(info, address, &chain);
	if (error || !chain.function)
		return error;
	row = dwarf_getsrc_die(&chain.unit->die, address);
	if (!row || dwarf_lineno(row, &line) || line <= 0)
		return NULL;
	if (dwarf_linediscriminator(row, &discriminator))
		discriminator = 0;
	for (unsigned int depth = chain.deepest; depth > 0 && count < max; depth--) {
		Dwarf_Die *die = chain.inlined[depth] ? &chain.inlined[depth]->die : NULL;

		if (!die)
			continue;
		frames[count++] = source_frame(die, (unsigned int)line, discriminator);
		line = (int)number_attribute(die, DW_AT_call_line);
		discriminator = number_attribute(die, DW_AT_GNU_discriminator);
	}
	if (count < max)
		frames[count++] =
			source_frame(&chain.function->die, (unsigned int)line, discriminator);
	*result = count;
	return NULL;
}
