/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "decoder/binary/debug_info.h"
#include "decoder/base/intervals.h"
#include "decoder/binary/symbol_debug_file.h"

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
static bool may_follow(Dwarf_Die *skeleton, const char *from)
{
	Dwarf_Attribute attribute;
	const char *name, *directory;

	name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_dwo_name, &attribute));
	if (!name)
		name = dwarf_formstring(dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute));
	directory = dwarf_formstring(dwarf_attr(skeleton, DW_AT_comp_dir, &attribute));
	return !name || pesa_debug_file_may_open(from, directory, name);
}

/* A unit whose split unit may not be opened has no functions: libdw would open it to read their
 * names. */
static struct unit make_unit(Dwarf_CU *cu, uint8_t type, Dwarf_Die *die, const char *from)
{
	struct unit unit = {.die = *die, .split = *die};
	Dwarf_Die split = {0};

	if (type != DW_UT_skeleton)
		return unit;
	unit.functions_loaded = !may_follow(die, from);
	if (!unit.functions_loaded &&
	    dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
		unit.split = split;
	return unit;
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
		info->unit[info->count] = make_unit(cu, type, &die, from);
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

void pesa_debug_info_free(struct pesa_debug_info *info)
{
	struct name *name, *next;
	struct path *path, *next_path;

	if (!info)
		return;
	for (size_t i = 0; i < info->count; i++) {
		for (size_t k = 0; k < info->unit[i].count; k++)
			free(info->unit[i].function[k].inlined);
		free(info->unit[i].function);
		pesa_intervals_free(&info->unit[i].ranges);
	}
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

/* What was collected before an error is valid, and the unit is not read again. */
static struct pesa_error *load_functions(struct unit *unit)
{
	struct pesa_error *error;

	unit->functions_loaded = true;
	error = collect_functions(unit, &unit->split, 0);
	pesa_intervals_sort(&unit->ranges);
	for (size_t i = 0; i < unit->count && !error; i++)
		error = collect_inlined(&unit->function[i], &unit->function[i].die, 0, 0);
	return error;
}

/* ---- Lookup ---------------------------------------------------------------------------------- */

static struct unit *find_unit(struct pesa_debug_info *info, uint64_t address)
{
	const struct pesa_interval *interval = pesa_intervals_find(&info->ranges, address);

	return interval ? &info->unit[interval->value] : NULL;
}

/* Compilers write paths relative to their working directory. */
static const char *full_path(struct pesa_debug_info *info, struct unit *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *directory;
	struct path *path;

	if (!file || file[0] == '/')
		return file;
	HASH_FIND_PTR(info->paths, &file, path);
	if (path)
		return path->text ? path->text : file;
	directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
	path = calloc(1, sizeof(*path));
	if (!path)
		return file;
	path->key = file;
	if (!directory || asprintf(&path->text, "%s/%s", directory, file) < 0)
		path->text = NULL;
	HASH_ADD_PTR(info->paths, key, path);
	return path->text ? path->text : file;
}

static struct pesa_source line_of(struct pesa_debug_info *info, struct unit *unit, uint64_t address)
{
	struct pesa_source source = {0};
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number = 0, column = 0;

	if (!line)
		return source;
	source.file = full_path(info, unit, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		source.line = (unsigned int)number;
	if (dwarf_linecol(line, &column) == 0 && column > 0)
		source.column = (unsigned int)column;
	return source;
}

struct pesa_source pesa_debug_info_source(struct pesa_debug_info *info, uint64_t address)
{
	struct unit *unit = find_unit(info, address - info->bias);

	return unit ? line_of(info, unit, address - info->bias) : (struct pesa_source){0};
}

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static const char *function_name(struct pesa_debug_info *info, Dwarf_Die *die)
{
	struct name *name;
	const char *linkage;

	HASH_FIND_PTR(info->names, &die->addr, name);
	if (!name) {
		name = calloc(1, sizeof(*name));
		if (!name)
			return NULL;
		name->key = die->addr;
		linkage = linkage_name(die);
		name->text = pesa_demangle(linkage);
		name->plain = linkage ? linkage : dwarf_diename(die);
		HASH_ADD_PTR(info->names, key, name);
	}
	return name->text ? name->text : name->plain;
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
static struct pesa_source call_site(struct pesa_debug_info *info, struct unit *unit, Dwarf_Die *die)
{
	struct pesa_source source = {.line = number_attribute(die, DW_AT_call_line),
				     .column = number_attribute(die, DW_AT_call_column)};
	unsigned int file = number_attribute(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && file < count)
		source.file = full_path(info, unit, dwarf_filesrc(files, file, NULL, NULL));
	return source;
}

struct pesa_error *pesa_debug_info_inlines(struct pesa_debug_info *info, uint64_t address,
					   struct pesa_inline_frame *frames, size_t max,
					   size_t *result)
{
	struct inlined *chain[DEPTH_MAX + 1] = {NULL};
	const struct pesa_interval *interval;
	struct function *function;
	struct pesa_source source;
	unsigned int deepest = 0;
	struct unit *unit;
	size_t count = 0;

	*result = 0;
	address -= info->bias;
	unit = find_unit(info, address);
	if (!unit)
		return NULL;
	if (!unit->functions_loaded) {
		struct pesa_error *error = load_functions(unit);

		if (error)
			return error;
	}
	interval = pesa_intervals_find(&unit->ranges, address);
	if (!interval)
		return NULL;
	function = &unit->function[interval->value];
	for (size_t i = 0; i < function->count; i++) {
		struct inlined *inlined = &function->inlined[i];

		if (address < inlined->start || address >= inlined->end ||
		    inlined->depth > DEPTH_MAX)
			continue;
		chain[inlined->depth] = inlined;
		if (inlined->depth > deepest)
			deepest = inlined->depth;
	}
	source = line_of(info, unit, address);
	for (unsigned int depth = deepest; depth > 0 && count < max; depth--) {
		if (!chain[depth])
			continue;
		frames[count].function = function_name(info, &chain[depth]->die);
		frames[count++].source = source;
		source = call_site(info, unit, &chain[depth]->die);
	}
	if (count < max) {
		frames[count].function = function_name(info, &function->die);
		frames[count++].source = source;
	}
	*result = count;
	return NULL;
}
