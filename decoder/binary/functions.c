// SPDX-License-Identifier: GPL-2.0-or-later
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/functions.h"

/* A search tree whose comparison treats overlapping functions as equal. */
struct pesa_functions {
	void *tree;
};

static int compare(const void *left, const void *right)
{
	const struct pesa_symbol *a = &((const struct pesa_function *)left)->symbol;
	const struct pesa_symbol *b = &((const struct pesa_function *)right)->symbol;

	if (a->start + a->size <= b->start)
		return -1;
	return b->start + b->size <= a->start;
}

struct pesa_functions *pesa_functions_create(void)
{
	return calloc(1, sizeof(struct pesa_functions));
}

static void function_free(void *pointer)
{
	struct pesa_function *function = pointer;

	free(function->demangled);
	free(function);
}

void pesa_functions_free(struct pesa_functions *functions)
{
	if (!functions)
		return;
	tdestroy(functions->tree, function_free);
	free(functions);
}

static const struct pesa_function *any(const struct pesa_functions *functions, uint64_t start,
				       uint64_t end)
{
	const struct pesa_function key = {.symbol = {.start = start, .size = end - start}};
	struct pesa_function *const *node;

	node = start < end ? tfind(&key, &functions->tree, compare) : NULL;
	return node ? *node : NULL;
}

const struct pesa_function *pesa_functions_first(const struct pesa_functions *functions,
						 uint64_t start, uint64_t end)
{
	const struct pesa_function *first = any(functions, start, end), *before = first;

	while (before && (before = any(functions, start, before->symbol.start)))
		first = before;
	return first;
}

static bool same_lines(const struct pesa_jitdump_function *a, const struct pesa_jitdump_function *b)
{
	if (a->lines != b->lines)
		return false;
	for (size_t i = 0; i < a->lines; i++)
		if (a->line[i].offset != b->line[i].offset || a->line[i].line != b->line[i].line ||
		    strcmp(a->line[i].file, b->line[i].file))
			return false;
	return true;
}

/* A function that is compiled again without changes is not a new version. */
static bool same(const struct pesa_jitdump_function *a, const struct pesa_jitdump_function *b)
{
	return a == b || (a->size == b->size && !strcmp(a->name, b->name) &&
			  !memcmp(a->code, b->code, a->size) && same_lines(a, b));
}

bool pesa_functions_agree(const struct pesa_functions *functions, uint64_t start,
			  const struct pesa_jitdump_function *function)
{
	const struct pesa_function *other = any(functions, start, start + function->size);

	return !other || (other->symbol.start == start && same(other->dumped, function));
}

struct pesa_error *pesa_functions_add(struct pesa_functions *functions, uint64_t start,
				      const struct pesa_jitdump_function *dumped)
{
	struct pesa_function *function, **node;

	if (any(functions, start, start + dumped->size))
		return NULL;
	function = calloc(1, sizeof(*function));
	if (!function)
		return pesa_error_no_memory();
	function->dumped = dumped;
	function->symbol = (struct pesa_symbol){.start = start, .size = dumped->size};
	if (*dumped->name) {
		struct pesa_error *error = pesa_demangle(dumped->name, &function->demangled);

		if (error) {
			function_free(function);
			return error;
		}
		function->symbol.linkage_name = dumped->name;
		function->symbol.name = function->demangled ? function->demangled : dumped->name;
	}
	node = tsearch(function, &functions->tree, compare);
	if (node)
		return NULL;
	function_free(function);
	return pesa_error_no_memory();
}

struct search {
	const char *name;
	const struct pesa_symbol **found;
	size_t count, max;
};

static void take_if_named(const void *node, VISIT visit, void *context)
{
	const struct pesa_function *function = *(struct pesa_function *const *)node;
	struct search *search = context;

	if ((visit != postorder && visit != leaf) || !function->symbol.name ||
	    search->count == search->max)
		return;
	if (!strcmp(function->symbol.name, search->name) ||
	    !strcmp(function->symbol.linkage_name, search->name))
		search->found[search->count++] = &function->symbol;
}

size_t pesa_functions_by_name(const struct pesa_functions *functions, const char *name,
			      const struct pesa_symbol **found, size_t max)
{
	struct search search = {.name = name, .found = found, .max = max};

	twalk_r(functions->tree, take_if_named, &search);
	return search.count;
}
